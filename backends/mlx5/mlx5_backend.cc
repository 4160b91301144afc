#include "backends/mlx5/mlx5_backend.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <utility>

#include "backends/mlx5/agreement.h"
#include "backends/mlx5/dc_parts.h"
#include "backends/mlx5/doorbell_pages.h"
#include "backends/mlx5/emulation.h"
#include "backends/mlx5/open_nic.h"
#include "backends/mlx5/queue_pair.h"
#include "backends/mlx5/queue_watch.h"
#include "core/base/annotate.h"
#include "core/base/hex.h"
#include "core/host/ack_timeout.h"

namespace gdakit::mlx5 {
namespace {

constexpr std::uint32_t kPsnMask = 0xffffff;

class Mlx5Backend final : public Backend {
 public:
  Mlx5Backend(std::unique_ptr<OpenNic> nic, MemoryProvider& memory, const Options& options,
              const Log& log)
      : log_(log),
        nic_(std::move(nic)),
        memory_(memory),
        emulated_(options.backend == BackendChoice::mlx5_emulated),
        relaxed_ordering_(options.relaxed_ordering),
        ack_timeout_(ack_timeout_code(options.nic_timeout, QueuePair::kTries)),
        doorbells_(*nic_, memory),
        umems_(*nic_, memory),
        watch_(*nic_, memory, log),
        dc_(*nic_) {
    if (is_helped()) soft_nic_->expect_help();
  }

  ~Mlx5Backend() override {
    for (const auto& [keys, region] : regions_) nic_->libraries().dereg_mr(region);
    if (soft_nic_ == nullptr) return;
    const SoftNic::Calls calls = SoftNic::calls();
    log_.info("calls to soft NICs: " + std::to_string(calls.by_libraries) +
              " through libibverbs and libmlx5, " + std::to_string(calls.by_others) +
              " from elsewhere");
  }

  // ibv_mtu of its port, and that of targets and initiators of DC.
  std::uint8_t port_mtu() const { return nic_->address().mtu; }
  void set_dc_mtu(std::uint8_t mtu) { dc_.set_mtu(mtu); }

  // Takes the first doorbell page. Ok if there is one.
  Result<void> reserve_doorbells() { return doorbells_.reserve(); }
  // Behind that: whether the device's threads can ring, or why not.
  Result<void> map_doorbells() { return doorbells_.map_for_device(); }
  // Ok if the NIC takes queues in the device's memory, or why not: of a piece of that it is tried.
  Result<void> try_queue_memory() {
    const auto piece = memory_.allocate(memory_.granularity(), Place::device);
    if (!piece) return piece.error();
    const auto taken = Umem::make(*nic_, memory_, (*piece)->data(), (*piece)->size());
    return taken ? Result<void>() : taken.error().within(nic_->name());
  }
  void leave_queues_to_host() { device_queues_ = false; }
  // Who rings: the device's threads alone, they and host threads, or these alone.
  void set_ringers(bool device_rings, bool device_alone) {
    device_rings_ = device_rings;
    if (!device_alone) doorbells_.leave_to_host();
    has_recordless_ =
        device_alone && nic_->capabilities().recordless && doorbells_.reserve_recordless();
  }

  const char* name() const override { return emulated_ ? "mlx5-emulated" : "mlx5"; }
  BackendLimits limits() const override {
    BackendLimits limits;
    limits.needs_cst = !memory_.orders_nic_writes();
    limits.device_rings = device_rings_;
    limits.device_queues = device_queues_;
    limits.auto_direct = !emulated_;
    limits.on_bus = true;
    limits.has_dc = dc_.has_dc();
    limits.has_recordless = has_recordless_;
    return limits;
  }
  NicCounters counters() const override {
    const std::lock_guard lock(mutex_);
    return watch_.counters();
  }

  NicCount count() const override {
    const std::lock_guard lock(mutex_);
    return watch_.count();
  }

  Result<MemoryKeys> register_memory(void* base, std::uint64_t bytes, MemoryUse use) override;
  Result<void> deregister_memory(MemoryKeys keys) override;

  Result<QueueResources> create_queue(const QueueMemory& memory) override;
  Result<void> connect_queue(QueueNumber queue, const Bytes& card) override;
  Result<void> destroy_queue(QueueNumber queue) override;

  Result<Bytes> dc_target() override;
  Result<format::AvSegment> dc_address(const Bytes& card) override;

  std::string describe_queue(QueueNumber queue) const override {
    const std::lock_guard lock(mutex_);
    return watch_.describe(queue);
  }
  std::vector<BrokenQueue> broken_queues() const override {
    const std::lock_guard lock(mutex_);
    return watch_.broken();
  }

  // As the soft NIC's own backend has it.
  ProgressEngine* progress_engine() override { return is_helped() ? soft_nic_.get() : nullptr; }

  Result<void> pause() override {
    if (soft_nic_ == nullptr) return cannot_stop();
    soft_nic_->pause();
    return {};
  }
  Result<void> resume() override {
    if (soft_nic_ == nullptr) return cannot_stop();
    soft_nic_->resume();
    return {};
  }

 private:
  struct Queue {
    std::uint32_t first_psn = 0;
    mlx5dv_devx_uar* uar = nullptr;
    bool recordless = false;
    std::unique_ptr<QueuePair> pair = {};
  };

  static Error unknown(const char* call, QueueNumber queue) {
    return Error(Code::invalid_argument,
                 std::string(call) + ": there is no queue " + std::to_string(queue));
  }
  bool is_helped() const { return soft_nic_ != nullptr && !kThreadSanitizer && !memory_.gpu(); }
  static Error cannot_stop() {
    return Error(Code::unavailable,
                 "a ConnectX cannot be stopped; soft ones can (softnic, mlx5-emulated)");
  }
  Result<void> look_for_gid_of_dc();
  Result<std::optional<InitiatorOptions>> initiator_options(const QueueMemory& memory);
  void give_back_doorbell(const Queue& queue) {
    queue.recordless ? doorbells_.give_back_recordless(queue.uar) : doorbells_.give_back(queue.uar);
  }

  const Log log_;
  std::unique_ptr<OpenNic> nic_;
  const std::unique_ptr<SoftNic> soft_nic_ = SoftNic::of(nic_->context());  // null: it is real
  MemoryProvider& memory_;
  const bool emulated_;
  const bool relaxed_ordering_;
  const std::uint8_t ack_timeout_;
  bool device_rings_ = true;
  bool device_queues_ = true;
  bool has_recordless_ = false;
  mutable std::mutex mutex_;
  DoorbellPages doorbells_;
  QueueUmems umems_;
  mutable QueueWatch watch_;
  DcParts dc_;
  std::random_device random_;
  std::map<std::uint32_t, ibv_mr*> regions_;  // by lkey
  std::map<QueueNumber, Queue> queues_;       // by QPN
};

// What is written in any order into local buffers nobody reads before the CQE, which is written
// behind it. The symmetric heap has words that others wait for.
Result<MemoryKeys> Mlx5Backend::register_memory(void* base, std::uint64_t bytes, MemoryUse use) {
  const unsigned relaxed = relaxed_ordering_ ? unsigned{IBV_ACCESS_RELAXED_ORDERING} : 0;
  const unsigned access = use == MemoryUse::symmetric
                              ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
                                    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC
                              : IBV_ACCESS_LOCAL_WRITE | relaxed;
  const std::lock_guard lock(mutex_);
  const Result<ibv_mr*> region = register_region(*nic_, memory_, base, bytes, access);
  if (!region) return region.error();
  if (!regions_.emplace((*region)->lkey, *region).second) {
    const std::string key = hex_number((*region)->lkey);
    nic_->libraries().dereg_mr(*region);
    return nic_->wrong_answer("ibv_reg_mr", key + ", the key of other memory");
  }
  return MemoryKeys{Be32{(*region)->lkey}, Be32{(*region)->rkey}};
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

// What each call of DC begins with.
Result<void> Mlx5Backend::look_for_gid_of_dc() {
  if (auto usable = dc_.usable(); !usable) return usable;
  if (auto there = nic_->find_gid_again(); !there) return there;
  return dc_.in_place();
}

// Nothing: the queue is of RC.
Result<std::optional<InitiatorOptions>> Mlx5Backend::initiator_options(const QueueMemory& memory) {
  if (memory.type != QueueType::dc) return std::optional<InitiatorOptions>();
  if (memory.receive_depth != 0) {
    return Error(Code::invalid_argument, "create_queue: initiators of DC receive nothing");
  }
  if (auto there = look_for_gid_of_dc(); !there) return there.error().within("create_queue");
  const Result<InitiatorOptions> made = dc_.initiator_options(doorbells_);
  if (!made) return made.error();
  return std::optional(*made);
}

Result<QueueResources> Mlx5Backend::create_queue(const QueueMemory& memory) {
  const std::lock_guard lock(mutex_);
  const auto initiator = initiator_options(memory);
  if (!initiator) return initiator.error();
  const Result<DoorbellPages::Doorbell> doorbell =
      memory.recordless ? doorbells_.take_recordless() : doorbells_.take();
  if (!doorbell) return doorbell.error();
  // An initiator's numbers of packets are its connections'.
  Queue queue{.first_psn = *initiator ? 0 : random_() & kPsnMask,
              .uar = doorbell->page,
              .recordless = memory.recordless};
  Result<std::unique_ptr<QueuePair>> pair = QueuePair::create(*nic_, umems_,
                                                              {.memory = memory,
                                                               .uar = doorbell->page,
                                                               .first_psn = queue.first_psn,
                                                               .ack_timeout = ack_timeout_,
                                                               .counter_set = watch_.counter_set(),
                                                               .initiator = *initiator});
  if (!pair) {
    give_back_doorbell(queue);
    return pair.error();
  }
  queue.pair = std::move(*pair);
  const std::uint32_t qpn = queue.pair->qpn();
  if (queues_.contains(qpn)) {
    queue.pair.reset();
    give_back_doorbell(queue);
    return nic_->wrong_answer("CREATE_QP", hex_number(qpn) + ", the number of another queue");
  }
  ConnectionCard card;
  card.qpn = qpn;
  card.first_psn = queue.first_psn;
  card.address = nic_->address();
  watch_.add(qpn, *queue.pair, memory.cqe);
  queues_[qpn] = std::move(queue);
  return QueueResources{qpn, qpn, doorbell->host, doorbell->device,
                        *initiator ? Bytes() : bytes_of(card)};
}

Result<void> Mlx5Backend::connect_queue(QueueNumber queue, const Bytes& card) {
  const std::lock_guard lock(mutex_);
  const auto found = queues_.find(queue);
  if (found == queues_.end()) return unknown("connect_queue", queue);
  if (found->second.pair->is_initiator()) {
    return Error(Code::invalid_argument, "connect_queue: queue " + std::to_string(queue) +
                                             " is an initiator of DC, which has no peer");
  }
  const Result<ConnectionCard> peer = read_card(card, *nic_);
  if (!peer) return peer.error().within("connect_queue");
  if (auto there = nic_->find_gid_again(); !there) return there.error().within("connect_queue");
  return found->second.pair->connect(*peer);
}

Result<Bytes> Mlx5Backend::dc_target() {
  const std::lock_guard lock(mutex_);
  if (auto there = look_for_gid_of_dc(); !there) return there.error().within("dc_target");
  return dc_.target(doorbells_, watch_.counter_set());
}

Result<format::AvSegment> Mlx5Backend::dc_address(const Bytes& card) {
  const std::lock_guard lock(mutex_);
  if (auto there = look_for_gid_of_dc(); !there) return there.error().within("dc_address");
  Result<format::AvSegment> address = dc_.address(card);
  return address ? address : address.error().within("dc_address");
}

Result<void> Mlx5Backend::destroy_queue(QueueNumber queue) {
  const std::lock_guard lock(mutex_);
  const auto found = queues_.find(queue);
  if (found == queues_.end()) return unknown("destroy_queue", queue);
  if (auto gone = found->second.pair->destroy(); !gone) return gone;
  give_back_doorbell(found->second);
  watch_.remove(queue);
  queues_.erase(found);
  return {};
}

using Mlx5Backends = std::vector<std::unique_ptr<Mlx5Backend>>;

// Collective: packets of DC are no longer than the port of any NIC of any PE takes.
Result<void> choose_dc_mtu(const Mlx5Backends& backends, Bootstrap& bootstrap) {
  std::uint8_t least = backends.front()->port_mtu();
  for (const auto& backend : backends) least = std::min(least, backend->port_mtu());
  const Result<std::uint8_t> mtu = agree_on_mtu(bootstrap, least);
  if (!mtu) return mtu.error();
  for (const auto& backend : backends) backend->set_dc_mtu(*mtu);
  return {};
}

Result<void> map_all_doorbells(const Mlx5Backends& backends) {
  for (const auto& backend : backends) {
    if (auto mapped = backend->map_doorbells(); !mapped) return mapped;
  }
  return {};
}

// Collective: who rings the NICs. Where they are to be the GPUs, one that cannot ring one of its
// NICs is an error; else host threads ring for all PEs.
Result<void> choose_ringers(const Mlx5Backends& backends, NicHandler handler, Bootstrap& bootstrap,
                            const Log& log) {
  const bool by_host = handler == NicHandler::proxy || handler == NicHandler::commands;
  for (const auto& backend : backends) {
    if (auto taken = backend->reserve_doorbells(); !taken) return taken;
  }
  const Result<void> mine = by_host ? Result<void>() : map_all_doorbells(backends);
  const Result<void> all_can = agree_on_doorbells(bootstrap, mine);
  if (!all_can && (handler == NicHandler::gpu || all_can.error().code() != Code::unavailable)) {
    return all_can.error().within("GDAKIT_NIC_HANDLER=" + std::string(nic_handler_name(handler)));
  }
  if (!all_can && bootstrap.rank() == 0) {
    log.warn("host threads ring the NICs of all PEs (GDAKIT_NIC_HANDLER=proxy), for " +
             all_can.error().message());
  }
  for (const auto& backend : backends) backend->set_ringers(bool(all_can), !by_host && all_can);
  return {};
}

Result<void> try_all_queue_memory(const Mlx5Backends& backends) {
  for (const auto& backend : backends) {
    if (auto taken = backend->try_queue_memory(); !taken) return taken;
  }
  return {};
}

// Collective, behind choose_ringers: where queues lie that could lie in GPUs' memory. Where they
// must, a NIC that does not take them there is an error; else those of all PEs lie in the host's.
Result<void> choose_queue_memory(const Mlx5Backends& backends, QueuePlace wanted, bool on_gpu,
                                 Bootstrap& bootstrap, const Log& log) {
  const bool may_lie_there =
      on_gpu && wanted != QueuePlace::host && backends.front()->limits().device_rings;
  const Result<void> mine = may_lie_there ? try_all_queue_memory(backends) : Result<void>();
  const Result<void> all_can = agree_on_queue_memory(bootstrap, mine);
  if (all_can) return {};
  if (wanted == QueuePlace::device || all_can.error().code() != Code::unavailable) {
    return all_can.error();
  }
  if (bootstrap.rank() == 0) {
    log.warn("the queues of all PEs lie in host memory (GDAKIT_QUEUE_MEMORY=host), for " +
             all_can.error().message());
  }
  for (const auto& backend : backends) backend->leave_queues_to_host();
  return {};
}

}  // namespace

Result<std::vector<std::unique_ptr<Backend>>> make_backends(
    std::vector<std::unique_ptr<OpenNic>> nics, const Options& options, Bootstrap& bootstrap,
    MemoryProvider& memory) {
  const Log log(options.log, bootstrap.rank());
  Mlx5Backends backends;
  for (std::unique_ptr<OpenNic>& nic : nics) {
    backends.push_back(std::make_unique<Mlx5Backend>(std::move(nic), memory, options, log));
  }
  if (options.queue_type == QueueType::dc) {
    if (auto chosen = choose_dc_mtu(backends, bootstrap); !chosen) return chosen.error();
  }
  if (auto chosen = choose_ringers(backends, options.nic_handler, bootstrap, log); !chosen) {
    return chosen.error();
  }
  if (auto chosen = choose_queue_memory(backends, options.queue_memory, memory.gpu().has_value(),
                                        bootstrap, log);
      !chosen) {
    return chosen.error();
  }
  return std::vector<std::unique_ptr<Backend>>(std::make_move_iterator(backends.begin()),
                                               std::make_move_iterator(backends.end()));
}

}  // namespace gdakit::mlx5
