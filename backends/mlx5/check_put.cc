// Puts between NICs, each queue made and posted to as a PE's are: what `gdakit check` sends.
#include <cerrno>
#include <cstring>
#include <random>
#include <thread>
#include <utility>

#include "backends/mlx5/check_look.h"
#include "backends/mlx5/connection_card.h"
#include "backends/mlx5/counter_set.h"
#include "backends/mlx5/dc_parts.h"
#include "backends/mlx5/doorbell_pages.h"
#include "backends/mlx5/open_nic.h"
#include "backends/mlx5/queue_pair.h"
#include "core/base/file_descriptor.h"
#include "core/format/cqe.h"
#include "core/host/ack_timeout.h"
#include "core/host/memory/host_memory.h"
#include "core/host/proxy.h"
#include "core/host/stall.h"
#include "device/cells.h"
#include "device/ring.h"
#include "device/wqe_writer.h"

namespace gdakit::mlx5 {
namespace {

constexpr std::uint32_t kDepth = 64;
constexpr std::uint64_t kQueueBytes =
    kDepth * format::kWqebbBytes + sizeof(format::Cqe64) + sizeof(QueueRecords);
constexpr std::uint32_t kPsnMask = 0xffffff;
constexpr std::uint32_t kReadyToSend = 3;
// The NIC gives up by itself before a put's limit ends, and says why.
constexpr std::chrono::milliseconds kNicTimeout{1000};
constexpr std::size_t kCqeTailWord = format::kCqeTailOffset / sizeof(std::uint64_t);

struct PutCard {
  QueueType type = QueueType::rc;
  ConnectionCard connection;  // of RC
  DcCard target;              // of DC
  std::uint32_t rkey = 0;
  std::uint64_t address = 0;
};

std::uint8_t byte_at(std::uint64_t index, std::uint8_t seed) {
  return static_cast<std::uint8_t>(index * 131 + (index >> 8) + seed);
}

struct Deregister {
  const Libraries* libraries;
  void operator()(ibv_mr* region) const { libraries->dereg_mr(region); }
};
using Region = std::unique_ptr<ibv_mr, Deregister>;

Answer answer_of(const OpenNic& nic, const std::string& call, bool succeeded) {
  if (succeeded) return {true, 0, {}};
  const int code = errno != 0 ? errno : EIO;
  return {true, code, nic.failure(call, code).message()};
}

class OpenPutEnd final : public PutEnd {
 public:
  explicit OpenPutEnd(std::unique_ptr<OpenNic> nic)
      : nic_(std::move(nic)), doorbells_(*nic_, provider_), umems_(*nic_, provider_), dc_(*nic_) {
    if (auto set = CounterSet::make(*nic_)) counters_ = std::move(*set);
  }
  ~OpenPutEnd() override { drop_queue(); }

  Result<void> register_memory();

  Result<Bytes> make_queue(QueueType type) override;
  Result<void> connect(const Bytes& card) override;
  void prepare(std::uint64_t bytes, std::uint8_t seed) override;
  PutOutcome put(std::uint64_t bytes, std::uint8_t seed, std::chrono::milliseconds limit) override;
  std::uint64_t count_wrong(std::uint64_t bytes, std::uint8_t seed) const override;
  GpuMemoryTrial try_gpu_memory(MemoryProvider& memory, void* base, std::uint64_t bytes) override;
  std::optional<NicCounters> counters() override {
    return counters_ == nullptr ? std::nullopt : std::optional(counters_->read());
  }
  GpuDoorbellTrial try_gpu_doorbell(MemoryProvider& memory) override {
    DoorbellPages pages(*nic_, memory);
    GpuDoorbellTrial trial{.page = pages.reserve(), .mapped = {}};
    if (trial.page) trial.mapped = pages.map_for_device();
    return trial;
  }

 private:
  // A queue pair and what lies in memory that the NIC may use as long as it lives.
  struct Queue {
    std::unique_ptr<MemoryBlock> memory;
    mlx5dv_devx_uar* uar = nullptr;
    QueueState state{};
    QueueView view{};
    format::Segment address[kDcHead - 1] = {};  // of DC
    std::uint32_t first_psn = 0;
    std::unique_ptr<QueuePair> pair;
  };

  void drop_queue();
  std::uint8_t counter_set() const {
    return counters_ == nullptr ? std::uint8_t{0} : counters_->id();
  }
  void lay_out(Queue& queue, QueueMemory& memory) const;
  Result<std::optional<InitiatorOptions>> initiator_options(QueueType type);
  Result<Bytes> card_of(const Queue& queue);
  void post(std::uint64_t bytes);
  PutOutcome wait(std::chrono::milliseconds limit);
  PutOutcome failed(format::CqeTail tail);
  const std::uint8_t* target() const {
    return static_cast<const std::uint8_t*>(memory_->data()) + kMostBytes;
  }

  HostMemoryProvider provider_;
  std::unique_ptr<OpenNic> nic_;
  DoorbellPages doorbells_;
  QueueUmems umems_;
  std::unique_ptr<CounterSet> counters_;  // null: the NIC gives none
  DcParts dc_;
  std::unique_ptr<MemoryBlock> memory_;  // what is sent, then what peers write to
  Region region_;
  std::shared_ptr<Queue> queue_;
  Span remote_;
};

Result<void> OpenPutEnd::register_memory() {
  auto block = provider_.allocate(2 * kMostBytes, Place::shared);
  if (!block) return block.error();
  memory_ = std::move(*block);
  constexpr unsigned kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  ibv_mr* const region =
      nic_->libraries().reg_mr(nic_->pd(), memory_->data(), memory_->size(),
                               reinterpret_cast<std::uint64_t>(memory_->data()), kAccess);
  if (region == nullptr) return nic_->no_memory("ibv_reg_mr_iova2", memory_->size(), errno);
  region_ = Region(region, Deregister{&nic_->libraries()});
  return {};
}

void OpenPutEnd::drop_queue() {
  if (queue_ == nullptr) return;
  const bool gone = queue_->pair == nullptr || queue_->pair->destroy();
  if (gone) {
    doorbells_.give_back(queue_->uar);
  } else {
    leave_to_nic(std::move(queue_->memory));
  }
  queue_.reset();
}

void OpenPutEnd::lay_out(Queue& queue, QueueMemory& memory) const {
  auto* const base = static_cast<char*>(queue.memory->data());
  char* const cqe = base + kDepth * format::kWqebbBytes;
  auto* const records = reinterpret_cast<QueueRecords*>(cqe + sizeof(format::Cqe64));
  std::memset(cqe, format::kInvalidCqeByte, sizeof(format::Cqe64));
  memory = {base, kDepth, cqe, records};
  queue.view.slots = reinterpret_cast<format::Segment*>(base);
  queue.view.depth = kDepth;
  queue.view.record = reinterpret_cast<std::uint32_t*>(&records->queue.snd_dbr);
  queue.view.cqe = reinterpret_cast<std::uint64_t*>(cqe);
  queue.view.state = &queue.state;
  queue.view.handler = Handler::gpu;  // the thread that posts rings
}

// Nothing: the queue is of RC.
Result<std::optional<InitiatorOptions>> OpenPutEnd::initiator_options(QueueType type) {
  if (type != QueueType::dc) return std::optional<InitiatorOptions>();
  const Result<InitiatorOptions> made = dc_.initiator_options(doorbells_);
  if (!made) return made.error();
  return std::optional(*made);
}

Result<Bytes> OpenPutEnd::make_queue(QueueType type) {
  drop_queue();
  const auto initiator = initiator_options(type);
  if (!initiator) return initiator.error();
  auto queue = std::make_shared<Queue>();
  auto block = provider_.allocate(kQueueBytes, Place::shared);
  if (!block) return block.error();
  queue->memory = std::move(*block);
  const Result<DoorbellPages::Doorbell> doorbell = doorbells_.take();
  if (!doorbell) return doorbell.error();
  queue->uar = doorbell->page;
  queue_ = queue;
  QueueMemory memory;
  lay_out(*queue, memory);
  memory.type = type;
  queue->first_psn = *initiator ? 0 : std::random_device{}() & kPsnMask;
  Result<std::unique_ptr<QueuePair>> pair =
      QueuePair::create(*nic_, umems_,
                        {.memory = memory,
                         .uar = doorbell->page,
                         .first_psn = queue->first_psn,
                         .ack_timeout = ack_timeout_code(kNicTimeout, QueuePair::kTries),
                         .counter_set = counter_set(),
                         .initiator = *initiator});
  if (!pair) {
    drop_queue();
    return pair.error();
  }
  queue->pair = std::move(*pair);
  queue->view.qpn_shifted = Be32{queue->pair->qpn() << 8};
  queue->view.doorbell = doorbell->host;
  return card_of(*queue);
}

Result<Bytes> OpenPutEnd::card_of(const Queue& queue) {
  PutCard card;
  if (queue.pair->is_initiator()) {
    const Result<Bytes> target = dc_.target(doorbells_, counter_set());
    if (!target) return target.error();
    card.type = QueueType::dc;
    std::memcpy(static_cast<void*>(&card.target), target->data(), sizeof card.target);
  }
  card.connection.qpn = queue.pair->qpn();
  card.connection.first_psn = queue.first_psn;
  card.connection.address = nic_->address();
  card.rkey = region_->rkey;
  card.address = reinterpret_cast<std::uint64_t>(target());
  return to_bytes(&card, 1);
}

Result<void> OpenPutEnd::connect(const Bytes& bytes) {
  PutCard card;
  if (bytes.size() != sizeof card || queue_ == nullptr) {
    return Error(Code::invalid_argument, "a connection card that this version did not make");
  }
  std::memcpy(static_cast<void*>(&card), bytes.data(), sizeof card);
  const bool is_dc = queue_->pair->is_initiator();
  if (is_dc != (card.type == QueueType::dc)) {
    return Error(Code::invalid_argument,
                 "of the two ends one has a queue of DC and the other none");
  }
  remote_ = {card.address, kMostBytes, Be32{card.rkey}};
  if (is_dc) {
    const Result<format::AvSegment> address = dc_.address(bytes_of(card.target));
    if (!address) return address.error();
    std::memcpy(queue_->address, &*address, sizeof queue_->address);
    queue_->view.address = queue_->address;
    return {};
  }
  const Result<ConnectionCard> peer = read_card(bytes_of(card.connection), *nic_);
  if (!peer) return peer.error();
  if (auto there = nic_->find_gid_again(); !there) return there;
  return queue_->pair->connect(*peer);
}

void OpenPutEnd::prepare(std::uint64_t bytes, std::uint8_t seed) {
  auto* const to = const_cast<std::uint8_t*>(target());
  for (std::uint64_t i = 0; i < bytes; ++i) to[i] = static_cast<std::uint8_t>(~byte_at(i, seed));
}

std::uint64_t OpenPutEnd::count_wrong(std::uint64_t bytes, std::uint8_t seed) const {
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < bytes; ++i) wrong += target()[i] != byte_at(i, seed) ? 1 : 0;
  return wrong;
}

void OpenPutEnd::post(std::uint64_t bytes) {
  ProxyMachine machine;
  const std::uint64_t index = queue_->state.posted;
  const Span local{reinterpret_cast<std::uint64_t>(memory_->data()), kMostBytes,
                   Be32{region_->lkey}};
  write_rdma(machine, queue_->view, index, format::Opcode::rdma_write,
             format::fm_ce_se(format::FenceMode::none, format::Completion::always), remote_, local,
             static_cast<std::uint32_t>(bytes));
  ring(machine, queue_->view, cells_behind(queue_->view, index, 1));
}

PutOutcome OpenPutEnd::failed(format::CqeTail tail) {
  format::ErrorCqe cqe;
  std::memcpy(&cqe, queue_->view.cqe, sizeof cqe);
  PutOutcome outcome;
  outcome.kind = PutOutcome::Kind::failed;
  outcome.status = cqe.syndrome;
  outcome.vendor_status = cqe.vendor_err_synd;
  outcome.said =
      gdakit::describe(format::Syndrome{cqe.syndrome}) + ", at " + opcode_name(tail.send_opcode());
  return outcome;
}

PutOutcome OpenPutEnd::wait(std::chrono::milliseconds limit) {
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::steady_clock::now() - begin; };
  ProxyMachine machine;
  const auto wanted =
      static_cast<std::uint16_t>(queue_->state.posted - (1u << log_cell(queue_->view)));
  do {
    const format::CqeTail tail{
        machine.load(order::CompletionBeforeUse{}, &queue_->view.cqe[kCqeTailWord])};
    if (is_error(tail.opcode())) return failed(tail);
    if (tail.opcode() == format::CqeOpcode::requester && tail.wqe_counter() == wanted) {
      PutOutcome outcome;
      outcome.kind = PutOutcome::Kind::arrived;
      outcome.took = std::chrono::duration_cast<std::chrono::microseconds>(passed());
      return outcome;
    }
    std::this_thread::yield();
  } while (passed() < limit);
  PutOutcome outcome;
  outcome.kind = PutOutcome::Kind::silent;
  const Result<QueuePairReport> report = queue_->pair->report();
  outcome.said = report ? "QUERY_QP: the queue pair is in state " + std::to_string(report->state) +
                              (report->state == kReadyToSend ? ", RTS" : "")
                        : report.error().message();
  return outcome;
}

PutOutcome OpenPutEnd::put(std::uint64_t bytes, std::uint8_t seed,
                           std::chrono::milliseconds limit) {
  auto* const from = static_cast<std::uint8_t*>(memory_->data());
  for (std::uint64_t i = 0; i < bytes; ++i) from[i] = byte_at(i, seed);
  post(bytes);
  return wait(limit);
}

GpuMemoryTrial OpenPutEnd::try_gpu_memory(MemoryProvider& memory, void* base, std::uint64_t bytes) {
  GpuMemoryTrial trial;
  const Libraries& libraries = nic_->libraries();
  const auto address = reinterpret_cast<std::uint64_t>(base);
  constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  const auto region = [&](const char* call, ibv_mr* made) {
    Answer answer = answer_of(*nic_, call, made != nullptr);
    if (made != nullptr) libraries.dereg_mr(made);
    return answer;
  };
  const auto object = [&](const char* call, mlx5dv_devx_umem_in& in) {
    mlx5dv_devx_umem* const made = libraries.umem_reg(nic_->context(), &in);
    Answer answer = answer_of(*nic_, call, made != nullptr);
    if (made != nullptr) libraries.umem_dereg(made);
    return answer;
  };
  mlx5dv_devx_umem_in in{};
  in.addr = base;
  in.size = bytes;
  in.access = IBV_ACCESS_LOCAL_WRITE;
  in.pgsz_bitmap = umem_page_sizes(*nic_);
  trial.region_by_peer_memory = region("ibv_reg_mr_iova2 of memory of a GPU",
                                       libraries.reg_mr(nic_->pd(), base, bytes, address, kAccess));
  trial.object_by_peer_memory = object("mlx5dv_devx_umem_reg_ex of memory of a GPU", in);
  const Result<int> exported = memory.export_dma_buf(base, bytes);
  if (!exported) {
    const int code = exported.error().system_code();
    trial.region_by_dma_buf = {true, code != 0 ? code : EOPNOTSUPP, exported.error().message()};
    trial.object_by_dma_buf = trial.region_by_dma_buf;
    return trial;
  }
  const UniqueFileDescriptor dma_buf(*exported);
  trial.region_by_dma_buf =
      region("ibv_reg_dmabuf_mr",
             libraries.reg_dmabuf_mr(nic_->pd(), 0, bytes, address, dma_buf.get(), kAccess));
  in.addr = nullptr;
  in.comp_mask = MLX5DV_UMEM_MASK_DMABUF;
  in.dmabuf_fd = dma_buf.get();
  trial.object_by_dma_buf = object("mlx5dv_devx_umem_reg_ex of a dma-buf", in);
  return trial;
}

}  // namespace

Result<std::unique_ptr<PutEnd>> open_put_end(const Libraries& libraries, const std::string& nic,
                                             unsigned port, const Options& options) {
  const auto list = HcaList::parse(nic + ":" + std::to_string(port));
  if (!list) return Error(Code::invalid_argument, "\"" + nic + "\" is no name of a NIC");
  const auto to_byte = [](const std::optional<std::uint32_t>& number) {
    return number ? std::optional<std::uint8_t>(static_cast<std::uint8_t>(*number)) : std::nullopt;
  };
  NicOptions wanted;
  wanted.wish.list = *list;
  wanted.wish.gid = GidChoice::parse(options.gid).value_or(GidChoice());
  wanted.service_level = to_byte(options.service_level);
  wanted.traffic_class = to_byte(options.traffic_class);
  wanted.pkey_index = static_cast<std::uint16_t>(options.pkey_index);
  Result<std::unique_ptr<OpenNic>> open = OpenNic::open(libraries, wanted);
  if (!open) return open.error();
  auto end = std::make_unique<OpenPutEnd>(std::move(*open));
  if (auto registered = end->register_memory(); !registered) return registered.error();
  return std::unique_ptr<PutEnd>(std::move(end));
}

Result<std::unique_ptr<PutEnd>> open_put_end(const std::string& nic, unsigned port,
                                             const Options& options) {
  const Result<const Libraries*> libraries = Libraries::of_process();
  if (!libraries) return libraries.error();
  return open_put_end(**libraries, nic, port, options);
}

}  // namespace gdakit::mlx5
