#include "core/host/context.h"

#include <algorithm>
#include <cstring>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "core/host/connections.h"
#include "core/host/counter_file.h"
#include "core/host/launch/exit_pipe.h"
#include "core/host/launch/pmix_client.h"
#include "core/host/local_rank.h"
#include "core/host/memory/host_memory.h"
#include "core/host/memory/mapped_memory.h"
#include "core/host/stall.h"
#include "core/host/trace/host_trace.h"
#include "device/direct.h"

namespace gdakit {
namespace {

constexpr std::uint32_t kMaxLocalRanges = 1024;

// The GPU of this PE.
Result<std::unique_ptr<Gpu>> open_gpu(const Options& options, const Bootstrap& bootstrap) {
  const std::size_t place = local_rank_of(options, bootstrap);
  if (!options.gpus.empty()) {
    return Gpu::open(static_cast<int>(options.gpus[place % options.gpus.size()]));
  }
  const GpuReport report = report_gpus();
  if (report.gpus.empty()) return Error(Code::unavailable, report.sentence);
  return Gpu::open(report.gpus[place % report.gpus.size()].ordinal);
}

// A heap's memory, and what it came from, which must outlive it.
struct HeapMemory {
  std::shared_ptr<MemoryProvider> provider;
  std::shared_ptr<AddressRange> range;
};

}  // namespace

Context::Context(const Options& options, std::unique_ptr<Bootstrap> bootstrap)
    : options_(options), bootstrap_(std::move(bootstrap)) {}

Result<std::unique_ptr<Context>> Context::create(const Options& options,
                                                 std::unique_ptr<Bootstrap> bootstrap,
                                                 BackendProvider& provider, bool kernels_for_gpu) {
  if (Result<void> valid = options.validate(); !valid) return valid.error();
  std::unique_ptr<Context> context(new Context(options, std::move(bootstrap)));
  const Bootstrap::For purpose(*context->bootstrap_, Purpose::init);
  const Result<void> made = context->make(provider, kernels_for_gpu);
  if (!made) {
    context->bootstrap_->abort(made.error().message());
    return made.error();
  }
  return context;
}

// A thread that the system does not give is an error like others: the other PEs hear of it.
Result<void> Context::make(BackendProvider& provider, bool kernels_for_gpu) {
  try {
    if (Result<void> chosen = choose_device(kernels_for_gpu); !chosen) return chosen;
    auto stopped_peers = StoppedPeers::watch(*bootstrap_, Log(options_.log, my_pe()));
    if (!stopped_peers) return stopped_peers.error();
    stopped_peers_ = std::move(*stopped_peers);
    return make_parts(provider);
  } catch (const std::system_error& error) {
    return Error::from_errno("a thread of the PE could not be started (see ulimit -u)",
                             error.code().value());
  }
}

// A GPU where one is asked for, or where there is one and the program can use it.
Result<void> Context::choose_device(bool kernels_for_gpu) {
  const bool must = options_.device == DeviceChoice::gpu;
  if (must && !kernels_for_gpu) {
    return Error(Code::unavailable,
                 "GDAKIT_DEVICE=gpu: this program's kernels were compiled for the CPU emulator "
                 "only; compile it with nvcc");
  }
  memory_ = std::make_unique<HostMemoryProvider>();
  if (options_.device == DeviceChoice::cpu || !kernels_for_gpu) return {};
  Result<std::unique_ptr<Gpu>> gpu = open_gpu(options_, *bootstrap_);
  if (!gpu && (must || !options_.gpus.empty())) return gpu.error().within("GDAKIT_DEVICE");
  if (!gpu) {
    Log(options_.log, my_pe()).info("kernels run on the CPU emulator: " + gpu.error().message());
    return {};
  }
  gpu_ = std::move(*gpu);
  const std::string warning = gpu_->warning();
  if (!warning.empty()) Log(options_.log, my_pe()).warn(warning);
  Result<std::unique_ptr<MemoryProvider>> memory = gpu_->make_memory();
  if (!memory) return memory.error();
  memory_ = std::move(*memory);
  if (options_.check_memory) {
    return Error(Code::unavailable,
                 "GDAKIT_CHECK_MEMORY=on is for the CPU emulator, and kernels run on " +
                     device_name() + "; set GDAKIT_DEVICE=cpu, or ask compute-sanitizer there");
  }
  return {};
}

std::string Context::device_name() const {
  if (gpu_ == nullptr) return "the CPU emulator";
  return "GPU " + std::to_string(gpu_->ordinal()) + " (" + gpu_->name() + ")";
}

Result<void> Context::make_parts(BackendProvider& provider) {
  Result<std::unique_ptr<Backend>> backend = provider.open(options_, *bootstrap_, *memory_);
  if (!backend) return backend.error();
  backend_ = std::move(*backend);

  auto heap = SymmetricHeap::create(options_, *bootstrap_, *backend_, *memory_);
  if (!heap) return heap.error();
  heap_ = std::move(*heap);
  if (Result<void> made = make_state(); !made) return made;
  if (Result<void> found = compare_devices(); !found) return found;
  const TransportMap& transports = heap_->transports();
  // Threads of other PEs may store to the heap until they know that this PE has left.
  if (has_direct_peers()) {
    bootstrap_->keep(std::make_shared<HeapMemory>(HeapMemory{memory_, heap_->memory()}));
  }
  Log(options_.log, my_pe()).info("peers are reached by\n" + transports.summary());
  auto teams = TeamTable::create(options_, *bootstrap_, *heap_, *memory_, transports.reachable());
  if (!teams) return teams.error();
  teams_ = std::move(*teams);

  const auto peers = first_peers(options_, *bootstrap_, transports);
  if (!peers) return peers.error();
  auto queues = QueueTable::create(options_, *bootstrap_, *backend_, *memory_, *peers);
  if (!queues) return queues.error();
  queues_ = std::move(*queues);
  if (queues_->handler() != Handler::gpu) proxy_ = std::make_unique<Proxy>();
  reports_ =
      std::make_unique<DeviceReports>(my_pe(), Log(options_.log, my_pe()),
                                      *static_cast<PeState*>(state_->data()), *heap_, *backend_);
  if (!options_.counters.empty()) {
    auto file =
        CounterFile::open(options_.counters, my_pe(), Log(options_.log, my_pe()), *backend_);
    if (!file) return file.error();
    counter_file_ = std::move(*file);
  }
  if (!options_.trace.empty()) {
    auto trace = HostTrace::create(options_.trace, my_pe(), Log(options_.log, my_pe()));
    if (!trace) return trace.error().within("GDAKIT_TRACE");
    host_trace_ = std::move(*trace);
  }
  watch_queues(0);
  return {};
}

const void* Context::direct_address(const void* symmetric, int pe) const {
  if (pe < 0 || pe >= n_pes() || !heap_->contains(symmetric)) return nullptr;
  if (pe == my_pe()) return symmetric;
  const std::uint64_t base = transports().direct_base(pe);
  return base == 0 ? nullptr : direct::at(heap_->view(), base, symmetric);
}

Result<void> Context::make_state() {
  Result<void*> words = heap_->allocate_own(sizeof(PeWords), "words for reports");
  if (!words) return words.error();
  words_ = static_cast<PeWords*>(*words);
  auto state = memory_->allocate(sizeof(PeState), Place::shared);
  if (!state) return state.error();
  state_ = std::move(*state);
  if (gpu_ != nullptr) {
    stopped_peers_->tell(&static_cast<PeState*>(state_->data())->calm_ns);
  }
  auto losses = LostPes::watch(*bootstrap_, *memory_, Log(options_.log, my_pe()));
  if (!losses) return losses.error();
  losses_ = std::move(*losses);
  losses_->tell(*static_cast<PeState*>(state_->data()));
  const std::uint64_t rows = backend_->limits().nics * kMaxLocalRanges;
  auto ranges = memory_->allocate(rows * sizeof(LocalRange), Place::device);
  if (!ranges) return ranges.error();
  local_table_ = std::move(*ranges);
  return {};
}

// A child by fork has nothing of this PE to end; checkers of leaks find it here.
void Context::leave_to_parent() {
  static auto* const left = new std::vector<std::shared_ptr<void>>;
  left->insert(left->end(), {std::move(bootstrap_), std::move(stopped_peers_), std::move(gpu_),
                             std::move(memory_), std::move(backend_), std::move(heap_),
                             std::move(teams_), std::move(queues_), std::move(proxy_),
                             std::move(losses_), std::move(reports_), std::move(counter_file_),
                             std::move(host_trace_), std::move(state_), std::move(local_table_)});
  for (std::unique_ptr<ChannelSet>& set : channel_sets_) left->push_back(std::move(set));
}

Context::~Context() {
  if (process_ != ::getpid()) {
    leave_to_parent();
    return;
  }
  // Kernels that were launched without waiting may still post.
  if (gpu_ != nullptr) static_cast<void>(gpu_->synchronize(gpu_->stream()));
  reports_.reset();  // before peers leave: their silence is no error
  if (stopped_peers_ != nullptr) stopped_peers_->tell(nullptr);
  if (losses_ != nullptr) losses_->stop();
  if (queues_ != nullptr && !aborted_) {
    const Bootstrap::For purpose(*bootstrap_, Purpose::end);
    if (Result<void> met = bootstrap_->barrier(); !met) {
      Log(options_.log, my_pe()).info("leaving without the others: " + met.error().message());
    }
  }
  if (heap_ != nullptr) {
    if (Result<void> found = check_heap(); !found) {
      Log(options_.log, my_pe()).error(found.error().message());
    }
  }
  counter_file_.reset();  // with all that peers have done here, and with the queues still there
  if (backend_ != nullptr) backend_->begin_end();
  for (const LocalBuffer& buffer : local_buffers_) static_cast<void>(let_go(buffer));
  // The proxy reads the queues' memory.
  proxy_.reset();
}

void Context::abort(const std::string& message) {
  if (aborted_.exchange(true)) return;  // the first reason is the one to tell
  bootstrap_->abort(message);
}

Result<void> Context::end_job(int status, const std::string& message) {
  abort(message);
  if (options_.exit_pipe.empty()) return abort_over_pmix(status, message, options_.timeout);
  const int rank = options_.rank ? static_cast<int>(*options_.rank) : my_pe();
  return send_exit_request(options_.exit_pipe, {rank, status & 0xff});
}

Result<void> Context::check_buffer(void* base, std::uint64_t bytes, MemoryKind kind) const {
  const auto begin = reinterpret_cast<std::uint64_t>(base);
  const auto error = [bytes](const std::string& problem) {
    return Error(Code::invalid_argument,
                 "register_buffer of " + std::to_string(bytes) + " bytes: " + problem);
  };
  if (base == nullptr || bytes == 0 || bytes > ~begin) return error("needs an address and a size");
  if (local_buffers_.size() == kMaxLocalRanges) {
    return error(std::to_string(kMaxLocalRanges) + " buffers are registered, and no more can be");
  }
  for (const LocalBuffer& other : local_buffers_) {
    if (begin < other.end && other.begin < begin + bytes) {
      return error("overlaps a buffer that is registered already");
    }
  }
  if (kind == MemoryKind::gpu) return {};
  const Result<void> usable = check_readable_writable(base, bytes);
  return usable ? usable : error(usable.error().message());
}

Result<void> Context::register_buffer(void* base, std::uint64_t bytes) {
  const MemoryKind kind = memory_->kind_of(base);
  if (Result<void> good = check_buffer(base, bytes, kind); !good) return good;
  // What goes to direct peers is read and written by this PE's threads.
  const Result<bool> pinned = has_direct_peers() ? memory_->pin(base, bytes) : Result<bool>(false);
  if (!pinned) return pinned.error().within("register_buffer: GDAKIT_TRANSPORT=direct");
  Result<NicKeys> keys = NicKeys::create(*backend_, base, bytes, MemoryUse::local);
  if (!keys) {
    if (*pinned) static_cast<void>(memory_->unpin(base));
    return keys.error().within("register_buffer");
  }
  const auto begin = reinterpret_cast<std::uint64_t>(base);
  local_buffers_.push_back(
      {begin, begin + bytes, std::move(*keys), kind == MemoryKind::gpu, *pinned});
  return publish_local_ranges();
}

Result<void> Context::unregister_buffer(void* base) {
  const auto begin = reinterpret_cast<std::uint64_t>(base);
  const auto found =
      std::find_if(local_buffers_.begin(), local_buffers_.end(),
                   [begin](const LocalBuffer& buffer) { return buffer.begin == begin; });
  if (found == local_buffers_.end()) {
    return Error(Code::invalid_argument,
                 "unregister_buffer: no registered buffer begins at this address");
  }
  const LocalBuffer buffer = *found;
  local_buffers_.erase(found);
  if (Result<void> known = publish_local_ranges(); !known) return known;
  return let_go(buffer);
}

Result<void> Context::let_go(const LocalBuffer& buffer) {
  const Result<void> deregistered = buffer.keys.deregister(*backend_);
  if (!buffer.pinned) return deregistered;
  const Result<void> unpinned = memory_->unpin(reinterpret_cast<void*>(buffer.begin));
  return deregistered ? unpinned : deregistered;
}

std::vector<LocalRange> Context::local_ranges_of(std::uint32_t nic) const {
  std::vector<LocalRange> ranges;
  for (const LocalBuffer& buffer : local_buffers_) {
    ranges.push_back({buffer.begin, buffer.end, buffer.keys.lkey(nic)});
  }
  return ranges;
}

Result<void> Context::publish_local_ranges() {
  for (std::uint32_t nic = 0; nic < backend_->limits().nics; ++nic) {
    const std::vector<LocalRange> ranges = local_ranges_of(nic);
    const Result<void> written =
        local_table_->write(nic * kMaxLocalRanges * sizeof(LocalRange), ranges.data(),
                            ranges.size() * sizeof(LocalRange));
    if (!written) return written;
  }
  return {};
}

// Finds out whether all PEs are on one GPU.
Result<void> Context::compare_devices() {
  struct Bus {
    char text[32];
  };
  Bus mine{};
  if (gpu_ != nullptr) gpu_->bus().copy(mine.text, sizeof mine.text - 1);
  Result<std::vector<Bus>> all = allgather_value(*bootstrap_, mine);
  if (!all) return all.error();
  one_gpu_ = std::all_of(all->begin(), all->end(), [&mine](const Bus& other) {
    return std::strcmp(other.text, mine.text) == 0;
  });
  return {};
}

DeviceContext Context::device_context() const {
  const BackendLimits limits = backend_->limits();
  const std::chrono::nanoseconds watchdog = options_.watchdog;
  DeviceContext context{};
  context.my_pe = bootstrap_->rank();
  context.n_pes = bootstrap_->size();
  context.queues = queues_->views();
  context.queue_count = queues_->queues_per_peer();
  context.dc_queues = queues_->dc_queues();
  context.mapped_queues = spread_over(queues_->mapped_queues());
  context.heap = heap_->view();
  context.heap.any_placement = options_.placement == Placement::any;
  context.local_ranges = static_cast<const LocalRange*>(local_table_->data());
  context.local_range_count = static_cast<std::uint32_t>(local_buffers_.size());
  context.local_range_room = kMaxLocalRanges;
  context.max_message_bytes = limits.max_message_bytes;
  context.watchdog_ns = static_cast<std::uint64_t>(watchdog.count());
  context.needs_cst = limits.needs_cst;
  context.nic_scope = nic_scope();
  context.teams = teams_->views();
  context.team_count = teams_->count();
  context.algorithm = static_cast<CollectiveAlgorithm>(options_.collectives);
  context.words = words_;
  context.state = static_cast<PeState*>(state_->data());
  return context;
}

Result<void> Context::check_peers() const {
  if (const auto loss = losses_->end_of_job()) return Error(Code::aborted, loss->why);
  const std::optional<LostPe> loss = losses_->new_loss();
  if (!loss) return {};
  return Error(Code::peer_lost, loss->why + "; call acknowledge_losses to go on without PE " +
                                    std::to_string(loss->pe));
}

Result<void> Context::check_device() const {
  if (Result<void> together = check_peers(); !together) return together;
  if (Result<void> reported = reports_->check(); !reported) return reported;
  if (Result<void> queues = check_queues(); !queues) return queues;
  return has_forgotten_ ? check_teams() : Result<void>{};
}

Result<void> Context::check_teams() const {
  const Result<BrokenTeam> broken =
      teams_->find_broken([this](int pe) { return losses_->loss_of(pe).has_value(); });
  if (!broken) return broken.error();
  if (broken->team == kTeamInvalid) return {};
  return Error(Code::system, "PE " + std::to_string(my_pe()) + ": team " +
                                 std::to_string(broken->team.id) +
                                 " is broken since a collective ended with " +
                                 describe(broken->status) + "; its collectives fail from then on");
}

Result<void> Context::wait_for(Stream stream) {
  if (gpu_ == nullptr) return {};
  Result<void> ended = gpu_->synchronize(stream);
  if (!ended) return ended.error().within("launch on PE " + std::to_string(my_pe()));
  return {};
}

Result<void> Context::synchronize(Stream stream) {
  if (Result<void> ended = wait_for(stream); !ended) return ended;
  const Result<void> reported = check_device();
  return reported ? check_heap() : reported;
}

Result<void> Context::check_heap() const {
  const Result<void> found = heap_->verify();
  return found ? found : found.error().within("PE " + std::to_string(my_pe()));
}

Result<void> Context::barrier() {
  const Bootstrap::For purpose(*bootstrap_, Purpose::barrier);
  const Result<void> met = bootstrap_->barrier();
  losses_->look();
  return met ? check_heap() : met;
}

Error Context::error_of(const Status& status) const {
  const Result<void> reported = check_device();
  if (!reported) return reported.error();
  return Error(Code::system, "PE " + std::to_string(my_pe()) + ": " + describe(status));
}

void Context::clear_reports() {
  if (reports_->clear()) has_forgotten_ = true;
}

std::unique_lock<std::mutex> Context::wait_for_turn() const {
  static std::mutex of_process;
  if (options_.launches == LaunchOrder::side_by_side) return {};
  return std::unique_lock(of_process);
}

// A child by fork has no threads of gdakit's: neither its NIC nor the clock of its waits goes on.
Result<void> Context::begin_launch() {
  if (process_ != ::getpid()) {
    return Error(Code::invalid_argument,
                 "this process is a child by fork of the PE, and no PE of the job; launch kernels "
                 "in the process that called init");
  }
  if (Result<void> together = check_peers(); !together) return together;
  reports_->let_wait();
  return {};
}

}  // namespace gdakit
