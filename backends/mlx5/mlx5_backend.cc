#include "backends/mlx5/mlx5_backend.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <utility>

#include "backends/mlx5/cq_records.h"
#include "backends/mlx5/doorbell_pages.h"
#include "backends/mlx5/open_nic.h"
#include "backends/mlx5/queue_pair.h"
#include "core/format/cqe.h"
#include "core/host/ack_timeout.h"
#include "core/host/stall.h"

namespace gdakit::mlx5 {
namespace {

constexpr std::uint32_t kPsnMask = 0xffffff;
// As firmware numbers them.
constexpr std::array kStates{"reset", "init", "rtr", "rts", "sqer", "sqd", "err"};
constexpr std::uint32_t kErrorState = 6;
constexpr auto kBetweenLooks = std::chrono::milliseconds(50);  // at the states of queues

class Mlx5Backend final : public Backend {
 public:
  Mlx5Backend(std::unique_ptr<OpenNic> nic, std::uint8_t timeout)
      : nic_(std::move(nic)), ack_timeout_(timeout), doorbells_(*nic_), cq_records_(*nic_) {}

  ~Mlx5Backend() override {
    for (const auto& [keys, region] : regions_) nic_->libraries().dereg_mr(region);
  }

  const char* name() const override { return "mlx5"; }
  BackendLimits limits() const override {
    BackendLimits limits;
    limits.direct_peers = false;
    return limits;
  }
  NicCounters counters() const override { return {}; }

  Result<MemoryKeys> register_memory(void* base, std::uint64_t bytes, MemoryUse use) override;
  Result<void> deregister_memory(MemoryKeys keys) override;

  Result<QueueResources> create_queue(const QueueMemory& memory) override;
  Result<void> connect_queue(QueueNumber queue, const Bytes& card) override;
  Result<void> destroy_queue(QueueNumber queue) override;

  std::string describe_queue(QueueNumber queue) const override;
  std::vector<BrokenQueue> broken_queues() const override;

  Result<void> pause() override { return cannot_stop(); }
  Result<void> resume() override { return cannot_stop(); }

 private:
  struct Queue {
    std::uint32_t first_psn = 0;
    mlx5dv_devx_uar* uar = nullptr;
    CqRecords::Record cq_record;
    const void* cqe = nullptr;
    std::unique_ptr<QueuePair> pair;
  };

  static std::string why_of(const Queue& queue);
  static Error unknown(const char* call, QueueNumber queue) {
    return Error(Code::invalid_argument,
                 std::string(call) + ": there is no queue " + std::to_string(queue));
  }
  static Error cannot_stop() {
    return Error(Code::unavailable, "a ConnectX cannot be stopped; the soft NIC can (softnic)");
  }
  void give_back(const Queue& queue) {
    doorbells_.give_back(queue.uar);
    cq_records_.give_back(queue.cq_record);
  }

  std::unique_ptr<OpenNic> nic_;
  const std::uint8_t ack_timeout_;
  mutable std::mutex mutex_;
  DoorbellPages doorbells_;
  CqRecords cq_records_;
  std::map<std::uint32_t, ibv_mr*> regions_;  // by lkey
  std::map<QueueNumber, Queue> queues_;       // by QPN
  mutable std::vector<BrokenQueue> broken_;   // at the last look
  mutable std::chrono::steady_clock::time_point looked_;
};

Result<MemoryKeys> Mlx5Backend::register_memory(void* base, std::uint64_t bytes, MemoryUse use) {
  const unsigned access = use == MemoryUse::symmetric
                              ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
                                    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC
                              : IBV_ACCESS_LOCAL_WRITE;
  const std::lock_guard lock(mutex_);
  ibv_mr* const region = nic_->libraries().reg_mr(nic_->pd(), base, bytes,
                                                  reinterpret_cast<std::uint64_t>(base), access);
  if (region == nullptr) {
    return nic_->failure("ibv_reg_mr_iova2 of " + std::to_string(bytes) + " bytes", errno);
  }
  regions_[region->lkey] = region;
  return MemoryKeys{Be32{region->lkey}, Be32{region->rkey}};
}

Result<void> Mlx5Backend::deregister_memory(MemoryKeys keys) {
  const std::lock_guard lock(mutex_);
  const auto found = regions_.find(keys.lkey);
  if (found == regions_.end()) {
    return Error(Code::invalid_argument, "deregister_memory: nothing has this key");
  }
  const int code = nic_->libraries().dereg_mr(found->second);
  if (code != 0) return nic_->failure("ibv_dereg_mr", code);
  regions_.erase(found);
  return {};
}

Result<QueueResources> Mlx5Backend::create_queue(const QueueMemory& memory) {
  const std::lock_guard lock(mutex_);
  Result<mlx5dv_devx_uar*> uar = doorbells_.take();
  if (!uar) return uar.error();
  Result<CqRecords::Record> record = cq_records_.take();
  if (!record) {
    doorbells_.give_back(*uar);
    return record.error();
  }
  Queue queue{std::random_device{}() & kPsnMask, *uar, *record, memory.cqe, nullptr};
  Result<std::unique_ptr<QueuePair>> pair =
      QueuePair::create(*nic_, {.memory = memory,
                                .uar = *uar,
                                .cq_records = record->umem,
                                .cq_record_offset = record->offset,
                                .first_psn = queue.first_psn,
                                .ack_timeout = ack_timeout_});
  if (!pair) {
    give_back(queue);
    return pair.error();
  }
  queue.pair = std::move(*pair);
  const std::uint32_t qpn = queue.pair->qpn();
  const ConnectionCard card{qpn, queue.first_psn, nic_->address()};
  Bytes bytes(sizeof card);
  std::memcpy(bytes.data(), &card, sizeof card);
  queues_[qpn] = std::move(queue);
  return QueueResources{qpn, qpn, static_cast<std::uint64_t*>((*uar)->reg_addr), std::move(bytes)};
}

Result<void> Mlx5Backend::connect_queue(QueueNumber queue, const Bytes& card) {
  ConnectionCard peer;
  if (card.size() != sizeof peer) {
    return Error(Code::invalid_argument, "connect_queue: a connection card of " +
                                             std::to_string(card.size()) +
                                             " bytes; do all PEs use backend mlx5?");
  }
  std::memcpy(&peer, card.data(), sizeof peer);
  if (peer.address.link_layer != nic_->address().link_layer) {
    return Error(Code::invalid_argument,
                 "connect_queue: of " + nic_->name() +
                     " and the peer's NIC one is on InfiniBand and the other on Ethernet; "
                     "GDAKIT_HCA_LIST chooses NICs");
  }
  const std::lock_guard lock(mutex_);
  const auto found = queues_.find(queue);
  if (found == queues_.end()) return unknown("connect_queue", queue);
  return found->second.pair->connect(peer);
}

Result<void> Mlx5Backend::destroy_queue(QueueNumber queue) {
  const std::lock_guard lock(mutex_);
  const auto found = queues_.find(queue);
  if (found == queues_.end()) return unknown("destroy_queue", queue);
  found->second.pair.reset();
  give_back(found->second);
  queues_.erase(found);
  return {};
}

// What the collapsed CQE says of a queue in error: of its own WQE, or nothing where it is the
// peer's that has failed here.
std::string Mlx5Backend::why_of(const Queue& queue) {
  format::ErrorCqe cqe;
  std::memcpy(&cqe, queue.cqe, sizeof cqe);
  if (format::cqe_opcode(cqe.op_own) != format::CqeOpcode::requester_error) {
    return "the queue pair is in error, by what its peer sent";
  }
  return gdakit::describe(format::Syndrome{cqe.syndrome}) + ", at WQE " +
         std::to_string(cqe.wqe_counter) + ", " +
         opcode_name(static_cast<std::uint8_t>(cqe.s_wqe_opcode_qpn >> 24));
}

std::string Mlx5Backend::describe_queue(QueueNumber queue) const {
  const std::lock_guard lock(mutex_);
  const auto found = queues_.find(queue);
  if (found == queues_.end()) return unknown("describe_queue", queue).message();
  const Result<std::uint32_t> state = found->second.pair->state();
  if (!state) return state.error().message();
  const char* const name = *state < kStates.size() ? kStates[*state] : "unknown";
  return "QP " + std::to_string(queue) + " of " + nic_->name() + " is in state " + name +
         (*state == kErrorState ? "; first error: " + why_of(found->second) : "");
}

std::vector<BrokenQueue> Mlx5Backend::broken_queues() const {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_ < kBetweenLooks) return broken_;
  looked_ = now;
  broken_.clear();
  for (const auto& [number, queue] : queues_) {
    const Result<std::uint32_t> state = queue.pair->state();
    if (state && *state == kErrorState) broken_.push_back({number, why_of(queue)});
  }
  return broken_;
}

class Provider final : public BackendProvider {
 public:
  Result<std::unique_ptr<Backend>> open(const Options& options, Bootstrap&,
                                        MemoryProvider& memory) override {
    if (memory.gpu()) {
      return Error(Code::unavailable,
                   "backend mlx5 takes memory of the host alone so far: GDAKIT_DEVICE=cpu, or "
                   "GDAKIT_BACKEND=softnic");
    }
    const Result<const Libraries*> libraries = Libraries::of_process();
    if (!libraries) return libraries.error();
    Result<std::unique_ptr<OpenNic>> nic =
        OpenNic::open(**libraries, HcaList::parse(options.hca_list).value_or(HcaList()));
    if (!nic) return nic.error();
    return std::unique_ptr<Backend>(std::make_unique<Mlx5Backend>(
        std::move(*nic), ack_timeout_code(options.nic_timeout, QueuePair::kTries)));
  }
};

}  // namespace

std::unique_ptr<BackendProvider> make_provider() { return std::make_unique<Provider>(); }

}  // namespace gdakit::mlx5
