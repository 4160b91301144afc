#include "core/host/context.h"

#include <algorithm>
#include <cstring>

#include "core/host/host_memory.h"
#include "core/host/stall.h"
#include "device/watchdog.h"

namespace gdakit {
namespace {

constexpr std::size_t kMaxLocalRanges = 1024;

// A report that the device has finished, or nothing.
template <class Report>
const Report* finished(const Report& report) {
  return __atomic_load_n(&report.state, __ATOMIC_ACQUIRE) == kReportComplete ? &report : nullptr;
}

}  // namespace

Context::Context(const Options& options, std::unique_ptr<Bootstrap> bootstrap)
    : options_(options),
      bootstrap_(std::move(bootstrap)),
      memory_(std::make_unique<HostMemoryProvider>()) {}

Result<std::unique_ptr<Context>> Context::create(const Options& options,
                                                 std::unique_ptr<Bootstrap> bootstrap,
                                                 BackendProvider& provider) {
  if (Result<void> valid = options.validate(); !valid) return valid.error();
  std::unique_ptr<Context> context(new Context(options, std::move(bootstrap)));
  if (Result<void> made = context->make_parts(provider); !made) {
    context->bootstrap_->abort(made.error().message());
    return made.error();
  }
  return context;
}

Result<void> Context::make_parts(BackendProvider& provider) {
  Result<std::unique_ptr<Backend>> backend = provider.open(options_, *bootstrap_);
  if (!backend) return backend.error();
  backend_ = std::move(*backend);

  auto heap = SymmetricHeap::create(options_, *bootstrap_, *backend_, *memory_);
  if (!heap) return heap.error();
  heap_ = std::move(*heap);
  Result<std::uint64_t*> flags = allocate<std::uint64_t>(kMaxBarrierRounds);
  if (!flags) return flags.error();
  barrier_flags_ = *flags;

  const auto allocate_block = [&](std::uint64_t bytes) { return memory_->allocate(bytes); };
  Result<std::unique_ptr<MemoryBlock>> state = allocate_block(sizeof(PeState));
  if (!state) return state.error();
  state_ = std::move(*state);
  Result<std::unique_ptr<MemoryBlock>> ranges =
      allocate_block(kMaxLocalRanges * sizeof(LocalRange));
  if (!ranges) return ranges.error();
  local_table_ = std::move(*ranges);

  auto queues = QueueTable::create(options_, *bootstrap_, *backend_, *memory_);
  if (!queues) return queues.error();
  queues_ = std::move(*queues);
  if (queues_->handler() == Handler::proxy) {
    proxy_ = std::make_unique<Proxy>();
    for (const auto& queue : queues_->queues()) proxy_->watch(queue->view());
  }
  return {};
}

Context::~Context() {
  if (queues_ != nullptr && !aborted_) {
    if (Result<void> met = bootstrap_->barrier(); !met) {
      Log(options_.log, my_pe()).info("leaving without the others: " + met.error().message());
    }
  }
  for (const LocalBuffer& buffer : local_buffers_) {
    static_cast<void>(backend_->deregister_memory(buffer.keys));
  }
  // The proxy reads the queues' memory.
  proxy_.reset();
}

void Context::abort(const std::string& message) {
  aborted_ = true;
  bootstrap_->abort(message);
}

Result<void> Context::register_buffer(void* base, std::uint64_t bytes) {
  const auto begin = reinterpret_cast<std::uint64_t>(base);
  if (base == nullptr || bytes == 0 || bytes > ~begin || local_buffers_.size() == kMaxLocalRanges) {
    return Error(Code::invalid_argument, "register_buffer of " + std::to_string(bytes) +
                                             " bytes: needs an address, a " + "size, and at most " +
                                             std::to_string(kMaxLocalRanges) + " buffers");
  }
  for (const LocalBuffer& other : local_buffers_) {
    if (begin < other.range.end && other.range.begin < begin + bytes) {
      return Error(Code::invalid_argument,
                   "register_buffer: overlaps a buffer that is registered already");
    }
  }
  Result<MemoryKeys> keys = backend_->register_memory(base, bytes, MemoryUse::local);
  if (!keys) return keys.error().within("register_buffer");
  local_buffers_.push_back({{begin, begin + bytes, keys->lkey}, *keys});
  publish_local_ranges();
  return {};
}

Result<void> Context::unregister_buffer(void* base) {
  const auto begin = reinterpret_cast<std::uint64_t>(base);
  const auto found =
      std::find_if(local_buffers_.begin(), local_buffers_.end(),
                   [begin](const LocalBuffer& buffer) { return buffer.range.begin == begin; });
  if (found == local_buffers_.end()) {
    return Error(Code::invalid_argument,
                 "unregister_buffer: no registered buffer begins at this address");
  }
  const MemoryKeys keys = found->keys;
  local_buffers_.erase(found);
  publish_local_ranges();
  return backend_->deregister_memory(keys);
}

void Context::publish_local_ranges() {
  auto* table = static_cast<LocalRange*>(local_table_->data());
  for (const LocalBuffer& buffer : local_buffers_) *table++ = buffer.range;
}

Result<std::uint32_t> Context::add_queues(std::uint32_t count, Sharing sharing) {
  const std::size_t before = queues_->queues().size();
  Result<std::uint32_t> first = queues_->add(count, sharing);
  if (!first) return first;
  if (proxy_ != nullptr) {
    for (std::size_t i = before; i < queues_->queues().size(); ++i) {
      proxy_->watch(queues_->queues()[i]->view());
    }
  }
  return first;
}

DeviceContext Context::device_context() const {
  const BackendLimits limits = backend_->limits();
  const std::chrono::nanoseconds watchdog = options_.watchdog;
  DeviceContext context{};
  context.my_pe = bootstrap_->rank();
  context.n_pes = bootstrap_->size();
  context.queues = queues_->views();
  context.queue_count = queues_->queues_per_peer();
  context.mapped_queues = options_.queues_per_peer;
  context.heap = heap_->view();
  context.local_ranges = static_cast<const LocalRange*>(local_table_->data());
  context.local_range_count = static_cast<std::uint32_t>(local_buffers_.size());
  context.max_message_bytes = limits.max_message_bytes;
  context.watchdog_ns = static_cast<std::uint64_t>(watchdog.count());
  context.needs_cst = limits.needs_cst;
  context.barrier_flags = barrier_flags_;
  context.state = static_cast<PeState*>(state_->data());
  return context;
}

Result<void> Context::check_device() const {
  const auto* state = static_cast<const PeState*>(state_->data());
  if (const StallReport* stall = finished(state->stall)) {
    std::string text = describe(*stall, my_pe());
    if (stall->peer >= 0 && stall->site != Site::barrier) {
      const HostQueue& queue = queues_->at(stall->queue, stall->peer);
      text += "\n  the NIC says: " + backend_->describe_queue(queue.number());
    }
    return Error(Code::timed_out, text);
  }
  if (const FaultReport* fault = finished(state->fault)) {
    return Error(Code::invalid_argument, describe(*fault, my_pe()));
  }
  if (std::string errors = queue_errors(); !errors.empty()) return Error(Code::system, errors);
  return {};
}

std::string Context::queue_errors() const {
  for (const auto& queue : queues_->queues()) {
    const QueueView& view = queue->view();
    const QueueError error{__atomic_load_n(&view.state->error, __ATOMIC_RELAXED)};
    if (!error) continue;
    return "PE " + std::to_string(my_pe()) + ": " + describe(error, view.peer) +
           "\n  the NIC says: " + backend_->describe_queue(queue->number());
  }
  return "";
}

void Context::clear_reports() {
  // A report that is still being written stays.
  const auto forget = [](std::uint64_t* state) {
    std::uint64_t complete = kReportComplete;
    __atomic_compare_exchange_n(state, &complete, kReportNone, false, __ATOMIC_ACQ_REL,
                                __ATOMIC_RELAXED);
  };
  auto* state = static_cast<PeState*>(state_->data());
  forget(&state->stall.state);
  forget(&state->fault.state);
}

}  // namespace gdakit
