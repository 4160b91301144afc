#include "backends/softnic/softnic_backend.h"

#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "backends/softnic/dma/dma_address.h"
#include "backends/softnic/doorbell_registers.h"
#include "backends/softnic/engine/nic.h"
#include "backends/softnic/gpu/gpu_dma.h"
#include "backends/softnic/job_target.h"
#include "backends/softnic/memory/heap_sharing.h"
#include "backends/softnic/nic_link.h"
#include "backends/softnic/nic_parts.h"
#include "backends/softnic/udp_fabric.h"
#include "backends/softnic/wire/loopback_wire.h"
#include "backends/softnic/wire_options.h"
#include "core/base/annotate.h"
#include "core/base/bits.h"
#include "core/format/doorbell.h"
#include "core/host/ack_timeout.h"
#include "core/host/bootstrap/same_on_all_pes.h"
#include "core/host/stall.h"
#include "device/channel_views.h"

namespace gdakit::softnic {
namespace {

// What the two ends of a connection tell each other.
struct ConnectionCard {
  Endpoint endpoint;
  QpNumber qpn;
  std::uint32_t first_psn;
};

class SoftNicBackend final : public Backend {
 public:
  // The NICs of a job of `job_size` PEs have their ranks as endpoints.
  SoftNicBackend(std::unique_ptr<Nic> nic, PdNumber pd, std::uint32_t job_size,
                 std::uint8_t ack_timeout, MemoryProvider& memory,
                 std::unique_ptr<JobAddresses> addresses, std::unique_ptr<HeapSharing> sharing,
                 std::unique_ptr<NicTrace> trace)
      : addresses_(std::move(addresses)),
        sharing_(std::move(sharing)),
        trace_(std::move(trace)),
        nic_(std::move(nic)),
        pd_(pd),
        job_size_(job_size),
        ack_timeout_(ack_timeout),
        memory_(memory) {}

  const char* name() const override { return "softnic"; }
  BackendLimits limits() const override {
    BackendLimits limits;
    limits.has_dc = limits.has_recordless = true;
    return limits;
  }

  NicCounters counters() const override { return nic_->counters(); }
  NicCount count() const override { return nic_->count(); }

  Result<MemoryKeys> register_memory(void* base, std::uint64_t bytes, MemoryUse use) override {
    const Access access =
        use == MemoryUse::symmetric ? Access::all : Access::local_read | Access::local_write;
    MrAttributes attributes;
    attributes.pd = pd_;
    attributes.base = address_of(base);
    attributes.start = reinterpret_cast<std::uint64_t>(base);
    attributes.length = bytes;
    attributes.access = access;
    Result<MemoryKey> key = nic_->reg_mr(attributes);
    if (!key) return key.error();
    return MemoryKeys{Be32{*key}, Be32{*key}};
  }

  Result<void> deregister_memory(MemoryKeys keys) override { return nic_->dereg_mr(keys.lkey); }

  Result<void> share_heap(AddressRange& heap) override {
    return sharing_ == nullptr ? Result<void>() : sharing_->share(heap);
  }

  Result<QueueResources> create_queue(const QueueMemory& memory) override;
  Result<void> connect_queue(QueueNumber queue, const Bytes& card) override;
  Result<void> destroy_queue(QueueNumber queue) override;
  Result<Bytes> dc_target() override;
  Result<format::AvSegment> dc_address(const Bytes& card) override;
  void begin_end() override { nic_->begin_end(); }
  std::string describe_queue(QueueNumber queue) const override;
  std::vector<BrokenQueue> broken_queues() const override;
  std::vector<QueueNumber> recordless_queues() const override { return nic_->recordless_qps(); }

  // Threads of a GPU cannot run a NIC's steps. ThreadSanitizer would miss a fence that is missing
  // between a thread of the program and the NIC where the same thread is both.
  ProgressEngine* progress_engine() override {
    return kThreadSanitizer || memory_.gpu() ? nullptr : nic_.get();
  }

  Result<void> pause() override {
    nic_->pause();
    return {};
  }
  Result<void> resume() override {
    nic_->resume();
    return {};
  }

 private:
  struct Queue {
    CqNumber cq;
    std::optional<CqNumber> receive_cq;
    DoorbellRegisters::Register doorbell;
    std::uint32_t first_psn;
    std::uint8_t rnr_retry;
  };

  Result<Queue> create_cqs(const QueueMemory& memory);
  Result<void> destroy_cqs(const Queue& queue);
  Result<QpNumber> create_qp(const QueueMemory& memory, const Queue& queue);
  Result<void> make_ready(QpNumber qpn, const Queue& queue, QpModify modify);

  // As the NIC's DMA port names it.
  DmaAddress address_of(const void* memory) const { return dma_address(memory_, memory); }

  std::unique_ptr<JobAddresses> addresses_;  // outlives the NIC, which asks it
  std::unique_ptr<JobTarget> target_;        // likewise: the NIC has its memory
  std::unique_ptr<HeapSharing> sharing_;     // likewise, into which its wire looks
  std::unique_ptr<NicTrace> trace_;          // likewise, to which it tells what happens
  std::unique_ptr<Nic> nic_;
  PdNumber pd_;
  const std::uint32_t job_size_;
  const std::uint8_t ack_timeout_;
  MemoryProvider& memory_;
  std::mutex mutex_;
  // Of first PSNs: packets of a connection that was there before must not match a new one, whose
  // queue pairs may have the same numbers.
  std::random_device random_;
  DoorbellRegisters doorbells_;
  std::map<QueueNumber, Queue> queues_;  // by QPN
};

// The completion queues of a queue, and its doorbell register.
Result<SoftNicBackend::Queue> SoftNicBackend::create_cqs(const QueueMemory& memory) {
  Queue queue{};
  queue.first_psn = random_() & kPsnMask;
  queue.rnr_retry = memory.rnr_retry;
  CqAttributes attributes;
  attributes.entries = address_of(memory.cqe);
  attributes.collapsed = true;
  attributes.overrun_ignore = true;
  Result<CqNumber> cq = nic_->create_cq(attributes);
  if (!cq) return cq.error();
  queue.cq = *cq;
  if (memory.receive_depth != 0) {
    attributes.entries = address_of(memory.receive_cqes);
    attributes.collapsed = false;
    attributes.log_entries = static_cast<std::uint32_t>(log2_floor(memory.receive_depth));
    Result<CqNumber> receive_cq = nic_->create_cq(attributes);
    if (!receive_cq) {
      static_cast<void>(nic_->destroy_cq(*cq));
      return receive_cq.error();
    }
    queue.receive_cq = *receive_cq;
  }
  return queue;
}

Result<void> SoftNicBackend::destroy_cqs(const Queue& queue) {
  const Result<void> destroyed = nic_->destroy_cq(queue.cq);
  if (!queue.receive_cq) return destroyed;
  const Result<void> receive_destroyed = nic_->destroy_cq(*queue.receive_cq);
  return destroyed ? receive_destroyed : destroyed;
}

Result<QueueResources> SoftNicBackend::create_queue(const QueueMemory& memory) {
  const std::lock_guard lock(mutex_);
  Result<DoorbellRegisters::Register> doorbell = doorbells_.take(*nic_, memory.recordless);
  if (!doorbell) return doorbell.error();
  Result<Queue> queue = create_cqs(memory);
  if (!queue) {
    doorbells_.give_back(*nic_, *doorbell);
    return queue.error();
  }
  queue->doorbell = *doorbell;
  Result<QpNumber> qpn = create_qp(memory, *queue);
  if (!qpn) {
    static_cast<void>(destroy_cqs(*queue));
    doorbells_.give_back(*nic_, *doorbell);
    return qpn.error();
  }
  queues_[*qpn] = *queue;
  QueueResources resources{*qpn, *qpn, doorbell->word, doorbell->word, {}};
  if (memory.type == QueueType::dc) return resources;
  const ConnectionCard card{nic_->endpoint(), *qpn, queue->first_psn};
  resources.card.resize(sizeof(card));
  std::memcpy(resources.card.data(), &card, sizeof(card));
  return resources;
}

// An initiator of DC can post at once.
Result<QpNumber> SoftNicBackend::create_qp(const QueueMemory& memory, const Queue& queue) {
  const bool is_dc = memory.type == QueueType::dc;
  QpAttributes attributes;
  attributes.service = is_dc ? ServiceType::dc : ServiceType::rc;
  attributes.pd = pd_;
  attributes.send_cq = queue.cq;
  attributes.receive_cq = queue.receive_cq.value_or(queue.cq);
  attributes.uar = queue.doorbell.uar;
  attributes.no_send_record = memory.recordless;
  attributes.send_queue = address_of(memory.slots);
  attributes.log_send_wqebbs = static_cast<std::uint32_t>(log2_floor(memory.depth));
  attributes.doorbell_record = address_of(memory.doorbell_record);
  if (memory.receive_depth != 0) {
    attributes.has_receive_queue = true;
    attributes.receive_queue = address_of(memory.receive_slots);
    attributes.log_receive_wqes = static_cast<std::uint32_t>(log2_floor(memory.receive_depth));
    attributes.log_receive_stride = static_cast<std::uint32_t>(log2_floor(kReceiveWqeBytes));
  }
  Result<QpNumber> qpn = nic_->create_qp(attributes);
  if (!qpn || !is_dc) return qpn;
  if (Result<void> ready = make_ready(*qpn, queue, {}); !ready) {
    static_cast<void>(nic_->destroy_qp(*qpn));
    return ready.error();
  }
  return qpn;
}

// From its first state to that in which it posts; `modify` says to whom, unless it is of DC.
Result<void> SoftNicBackend::make_ready(QpNumber qpn, const Queue& queue, QpModify modify) {
  modify.access = Access::remote_read | Access::remote_write | Access::remote_atomic;
  modify.next_send_psn = queue.first_psn;
  modify.ack_timeout = ack_timeout_;
  modify.rnr_retry = queue.rnr_retry;
  for (const QpState state : {QpState::init, QpState::rtr, QpState::rts}) {
    modify.state = state;
    if (Result<void> done = nic_->modify_qp(qpn, modify); !done) return done;
  }
  return {};
}

// Once, and the same card again.
Result<Bytes> SoftNicBackend::dc_target() {
  const std::lock_guard lock(mutex_);
  if (target_ == nullptr) {
    auto target = JobTarget::create(*nic_, pd_, memory_);
    if (!target) return target.error().within("the target of DC");
    target_ = std::move(*target);
  }
  Bytes card(sizeof(TargetCard));
  std::memcpy(card.data(), &target_->card(), sizeof(TargetCard));
  return card;
}

Result<format::AvSegment> SoftNicBackend::dc_address(const Bytes& card) {
  TargetCard target;
  if (card.size() != sizeof(target)) {
    return Error(Code::invalid_argument, "dc_address: a target's card of " +
                                             std::to_string(card.size()) +
                                             " bytes; do all PEs use backend softnic?");
  }
  std::memcpy(&target, card.data(), sizeof(target));
  return address_of_target(target);
}

Result<void> SoftNicBackend::connect_queue(QueueNumber queue, const Bytes& card) {
  ConnectionCard peer;
  if (card.size() != sizeof(peer)) {
    return Error(Code::invalid_argument, "connect_queue: a connection card of " +
                                             std::to_string(card.size()) +
                                             " bytes; do all PEs use backend softnic?");
  }
  std::memcpy(&peer, card.data(), sizeof(peer));
  if (peer.endpoint >= job_size_) {
    return Error(Code::invalid_argument, "connect_queue: the connection card names endpoint " +
                                             std::to_string(peer.endpoint) +
                                             ", where the job has " + std::to_string(job_size_) +
                                             "; do all PEs run the same version of gdakit?");
  }
  const std::lock_guard lock(mutex_);
  const auto found = queues_.find(queue);
  if (found == queues_.end()) {
    return Error(Code::invalid_argument,
                 "connect_queue: there is no queue " + std::to_string(queue));
  }
  QpModify modify;
  modify.path.endpoint = peer.endpoint;
  modify.remote_qpn = peer.qpn;
  modify.next_receive_psn = peer.first_psn;
  return make_ready(queue, found->second, modify);
}

Result<void> SoftNicBackend::destroy_queue(QueueNumber queue) {
  const std::lock_guard lock(mutex_);
  const auto found = queues_.find(queue);
  if (found == queues_.end()) {
    return Error(Code::invalid_argument,
                 "destroy_queue: there is no queue " + std::to_string(queue));
  }
  // After a time-out the queue pair is gone as well.
  const Result<void> destroyed = nic_->destroy_qp(queue);
  if (!destroyed && destroyed.error().code() != Code::timed_out) return destroyed;
  const Queue gone = found->second;
  queues_.erase(found);
  doorbells_.give_back(*nic_, gone.doorbell);
  const Result<void> cqs_destroyed = destroy_cqs(gone);
  return destroyed ? cqs_destroyed : destroyed;
}

namespace {

std::string error_text(const QpError& error) {
  return describe(error.syndrome) +
         (error.responder
              ? ", on the receiving side"
              : ", at WQE " + std::to_string(error.wqe_index) + ", " + opcode_name(error.opcode));
}

}  // namespace

std::string SoftNicBackend::describe_queue(QueueNumber queue) const {
  Result<QpInfo> info = nic_->query_qp(queue);
  if (!info) return info.error().message();
  std::string text = "QP " + std::to_string(queue) + " is in state " + qp_state_name(info->state) +
                     "; WQEBBs announced " + std::to_string(info->send_producer) + ", started " +
                     std::to_string(info->send_started) + ", completed " +
                     std::to_string(info->send_completed);
  if (info->record_behind) text += "; it was rung for more than its doorbell record says";
  const QpError& error = info->first_error;
  if (error.syndrome == format::Syndrome::none) return text;
  return text + "; first error: " + error_text(error);
}

std::vector<BrokenQueue> SoftNicBackend::broken_queues() const {
  std::vector<BrokenQueue> broken;
  for (const QpNumber qpn : nic_->broken_qps()) {
    const Result<QpInfo> info = nic_->query_qp(qpn);
    if (info) broken.push_back({qpn, error_text(info->first_error)});
  }
  return broken;
}

// Hundreds of NICs without work that spin, or sleep for a microsecond at a time, take all of a few
// cores, and nobody waits for most of them. Who waits on a GPU can help none.
void spare_cores(NicThreadPace& pace, std::uint32_t nics, const MemoryProvider& memory) {
  constexpr std::uint32_t kFew = 64, kForEachUs = 50;
  if (nics <= kFew || memory.gpu()) return;
  pace.least_sleep_us = (nics - kFew) * kForEachUs;
  pace.idle_spins = pace.idle_yields = 2;
}

Result<std::unique_ptr<Backend>> open_on(NicLink link, const Options& options, int job_size,
                                         MemoryProvider& memory) {
  Result<NicParts> parts = make_nic_parts(options, memory, link.domain, link.port);
  if (!parts) return parts.error();
  spare_cores(parts->options.thread.pace, link.nics_of_process, memory);
  auto trace = open_trace(options, link.wire->endpoint());
  if (!trace) return trace.error();
  parts->options.engine.trace = trace->get();
  auto addresses = std::make_unique<JobAddresses>(static_cast<std::uint32_t>(job_size));
  parts->options.engine.addresses = addresses.get();
  auto wire = wrap_wire(std::move(link.wire), options, {link.address, trace->get()});
  if (!wire) return wire.error();
  Result<std::unique_ptr<Nic>> nic =
      Nic::open(parts->options, std::move(parts->port), std::move(*wire));
  if (!nic) return nic.error();
  Result<PdNumber> pd = (*nic)->alloc_pd();
  if (!pd) return pd.error();
  return std::unique_ptr<Backend>(std::make_unique<SoftNicBackend>(
      std::move(*nic), *pd, static_cast<std::uint32_t>(job_size),
      ack_timeout_code(options.nic_timeout, QpModify{}.retry_count + 1u), memory,
      std::move(addresses), std::move(link.sharing), std::move(*trace)));
}

Result<void> check_size(const Options& options, int size) {
  const auto most = static_cast<int>(options.softnic_pes);
  if (size <= most) return {};
  return Error(Code::invalid_argument, "a job of " + std::to_string(size) +
                                           " PEs: the soft NIC connects at most " +
                                           std::to_string(most) + "; raise GDAKIT_SOFTNIC_PES");
}

// Collective: the same for all PEs.
Result<void> check_nics(const Options& options, Bootstrap& bootstrap) {
  const auto text = [](std::uint32_t nics) { return std::to_string(nics); };
  auto same = agree_on(bootstrap, "GDAKIT_NICS_PER_PE", options.nics_per_pe, text);
  if (!same || options.nics_per_pe == 1) return same;
  return Error(Code::invalid_argument,
               "GDAKIT_NICS_PER_PE=" + text(options.nics_per_pe) +
                   ": the backend softnic gives a PE one NIC; set it to 1, or take one whose PEs "
                   "may have several: GDAKIT_BACKEND=mlx5 or mlx5-emulated");
}

class SoftNicProvider : public BackendProvider {
 public:
  Result<std::unique_ptr<Backend>> open(const Options& options, Bootstrap& bootstrap,
                                        MemoryProvider& memory) final {
    if (Result<void> fits = check_size(options, bootstrap.size()); !fits) return fits.error();
    if (Result<void> one = check_nics(options, bootstrap); !one) return one.error();
    Result<NicLink> link = meet(options, bootstrap, memory);
    if (!link) return link.error();
    return open_on(std::move(*link), options, bootstrap.size(), memory);
  }

 private:
  Result<NicLink> meet(const Options& options, Bootstrap& bootstrap, MemoryProvider& memory) {
    const Result<Meeting> meeting = find_meeting(options, bootstrap);
    if (!meeting) return meeting.error();
    switch (*meeting) {
      case Meeting::in_memory: return in_memory(options, bootstrap, memory);
      case Meeting::over_udp: return link_over_udp(options, bootstrap);
      case Meeting::by_place: return by_place(options, bootstrap, memory);
    }
    return Error(Code::internal, "the NICs meet nowhere");
  }
  virtual Result<NicLink> in_memory(const Options& options, Bootstrap& bootstrap,
                                    MemoryProvider& memory) = 0;
  virtual Result<NicLink> by_place(const Options& options, Bootstrap& bootstrap,
                                   MemoryProvider& memory) = 0;
};

class LoopbackProvider final : public SoftNicProvider {
 private:
  Result<NicLink> in_memory(const Options& options, Bootstrap& bootstrap,
                            MemoryProvider& memory) override {
    Result<std::unique_ptr<Wire>> wire =
        fabric(options, bootstrap.size(), memory)->attach(static_cast<Endpoint>(bootstrap.rank()));
    if (!wire) return wire.error();
    return NicLink{.wire = std::move(*wire),
                   .domain = domain_,
                   .nics_of_process = static_cast<std::uint32_t>(bootstrap.size())};
  }
  // All PEs are near.
  Result<NicLink> by_place(const Options& options, Bootstrap& bootstrap,
                           MemoryProvider& memory) override {
    return in_memory(options, bootstrap, memory);
  }

  // The first PE to come makes it; all PEs of a job are on GPUs or none.
  std::shared_ptr<LoopbackFabric> fabric(const Options& options, int size,
                                         const MemoryProvider& memory) {
    const std::lock_guard lock(mutex_);
    auto made = LoopbackOptions::for_endpoints(static_cast<std::uint32_t>(size));
    made.mtu = reference_mtu(memory);
    made.endpoints = options.softnic_pes;
    if (fabric_ == nullptr) fabric_ = LoopbackFabric::create(made);
    return fabric_;
  }

  std::mutex mutex_;
  std::shared_ptr<LoopbackFabric> fabric_;
  std::shared_ptr<GpuOrderDomain> domain_ = make_gpu_order_domain();
};

class ProcessesProvider final : public SoftNicProvider {
 private:
  Result<NicLink> in_memory(const Options& options, Bootstrap& bootstrap,
                            MemoryProvider& memory) override {
    return link_in_memory(options, bootstrap, memory);
  }
  Result<NicLink> by_place(const Options& options, Bootstrap& bootstrap,
                           MemoryProvider& memory) override {
    return link_by_place(options, bootstrap, memory);
  }
};

}  // namespace

std::unique_ptr<BackendProvider> make_loopback_provider() {
  return std::make_unique<LoopbackProvider>();
}

std::unique_ptr<BackendProvider> make_processes_provider() {
  return std::make_unique<ProcessesProvider>();
}

}  // namespace gdakit::softnic
