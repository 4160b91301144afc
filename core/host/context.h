// Context: one PE of a job. Owns everything: bootstrap, backend, memory, heap, queues. No global
// state, so that many PEs can live in one process, but the lock for launches that take turns
// (GDAKIT_LAUNCHES).
//
//   Result<std::unique_ptr<Context>> context = gdakit::init();       // gdakit.h
//   Result<int*> numbers = (*context)->allocate<int>(1024);          // on every PE, same offset
//   Result<void> done = (*context)->launch(Kernel{*numbers}, {.blocks = 4, .threads = 128});
//
// Its kernels run on a GPU or on emulated GPU threads (GDAKIT_DEVICE). On a GPU the heap lies in
// GPU memory: the host goes through upload and download.
//
// Calls marked collective are made by all PEs in the same order. A Context serves one host thread
// at a time; its kernels may run while the host reads reports.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/base/annotate.h"
#include "core/base/options.h"
#include "core/base/result.h"
#include "core/host/backend.h"
#include "core/host/bootstrap/stopped_peers.h"
#include "core/host/channel_set.h"
#include "core/host/device_reports.h"
#include "core/host/gpu/gpu.h"
#include "core/host/lost_pes.h"
#include "core/host/memory/memory_provider.h"
#include "core/host/nic_keys.h"
#include "core/host/proxy.h"
#include "core/host/queue_table.h"
#include "core/host/symmetric_heap.h"
#include "core/host/team_table.h"
#include "core/host/trace/kernel_span.h"
#include "device/views.h"

namespace gdakit {

class CounterFile;

namespace detail {

// How kernels of this kind of compiler are started, on a GPU and on the emulator. gdakit.h has it,
// which joins the two with this room.
template <class Compiler>
struct KernelLauncher;

}  // namespace detail

// Copies of what a DeviceContext points to, for a host thread where that lies in GPU memory.
struct HostTables {
  std::vector<LocalRange> chunks;           // [nic][chunk]
  std::vector<Be32> rkeys;                  // [nic][chunk][pe]
  std::vector<std::uint64_t> remote_bases;  // [pe]
  std::vector<LocalRange> local_ranges;     // [nic][range]
};

class Context {
 public:
  // Collective. Takes the bootstrap of this PE; opens a GPU if kernels shall run there, and a
  // backend; makes the heap, connects the queues. `kernels_for_gpu`: the program's kernels were
  // compiled by nvcc.
  static Result<std::unique_ptr<Context>> create(const Options& options,
                                                 std::unique_ptr<Bootstrap> bootstrap,
                                                 BackendProvider& provider,
                                                 bool kernels_for_gpu = false);
  // Collective: waits until all PEs have come here or have left, so that nobody's memory goes away
  // under a peer that still writes to it.
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  int my_pe() const { return bootstrap_->rank(); }
  int n_pes() const { return bootstrap_->size(); }
  const Options& options() const { return options_; }
  Bootstrap& bootstrap() { return *bootstrap_; }
  Backend& backend() { return *backend_; }
  // Null on the emulator.
  Gpu* gpu() const { return gpu_.get(); }
  bool on_gpu() const { return gpu_ != nullptr; }
  // Where kernels run, for people: "GPU 0 (NVIDIA H200)" or "the CPU emulator".
  std::string device_name() const;

  // Collective. `count` objects of T in the symmetric heap, at the same offset on every PE; zeroed
  // when their memory is new. Owned by the heap until free. Reports call them `name`, if it is
  // given, else by the number of the allocation; names need not be the same on all PEs.
  template <class T>
  Result<T*> allocate(std::size_t count, std::string name = {}) {
    if (count > ~std::size_t{0} / sizeof(T)) {
      return Error(Code::invalid_argument,
                   "allocate of " + std::to_string(count) + " objects: too many");
    }
    Result<void*> memory = heap_->allocate(count * sizeof(T), std::move(name));
    if (!memory) return memory.error();
    return static_cast<T*>(*memory);
  }
  // Collective. Gives an object of the heap back; no PE may use it any more.
  Result<void> free(void* object) { return heap_->free(object); }
  // What lies at an address of the heap, as reports tell it: "'counts' (4096 bytes) + 256".
  std::string object_at(const void* address) const { return heap_->describe(address); }

  // Copies `count` objects of T from the host's memory to this PE's heap, or the other way, and
  // returns when they are there. Not ordered with kernels or operations that are under way.
  // `object` may also lie in a registered buffer, or where ptr() shows a direct peer's. Errors
  // (invalid_argument), before anything is copied: not all of it lies in one object, or what is the
  // host's is no memory of this process.
  template <class T>
  Result<void> upload(T* object, const T* from, std::size_t count) {
    if (auto good = check_copy("upload", "to", object, from, count, sizeof(T)); !good) return good;
    return memory_->copy(object, from, count * sizeof(T));
  }
  template <class T>
  Result<void> download(T* to, const T* object, std::size_t count) const {
    if (auto good = check_copy("download", "from", object, to, count, sizeof(T)); !good) {
      return good;
    }
    return memory_->copy(to, object, count * sizeof(T));
  }

  // Lets kernels launched from now on use memory outside the heap as the local side of transfers.
  // The memory stays the caller's and must outlive its registration. Not collective.
  Result<void> register_buffer(void* base, std::uint64_t bytes);
  Result<void> unregister_buffer(void* base);

  // Collective. Adds `count` queues to each peer; returns the index of the first, for Pe::on_queue
  // or, with Sharing::exclusive, Pe::exclusively_on.
  Result<std::uint32_t> add_queues(std::uint32_t count, Sharing sharing);

  // Collective. Adds queues to the PEs of `peers`, and to those that name this one in the same
  // call, unless there are some already: for jobs that do not connect all with all from the start
  // (GDAKIT_CONNECT). Kernels launched from now on reach them; those that run go on. Channels are
  // not among them. Errors, on all PEs, and nothing is added: one names a PE that the job does not
  // have, or could not make its part.
  Result<void> connect(const std::vector<int>& peers);
  // The PEs to which there are queues, ascending.
  const std::vector<int>& connected_peers() const { return queues_->peers(); }
  // How much memory all its queues take, with what the threads share of them.
  std::uint64_t queue_bytes() const { return queues_->bytes(); }

  // Collective. Adds channels to each connected peer, for sends, receives and immediates
  // (device/channel.h, Pe::channel; host_calls/host_channel.h for host threads): queue pairs of
  // their own, with a receive queue of wanted.receive_depth receives and a CQ of as many CQEs. All
  // PEs ask for the same count, and may differ in the rest. A kernel takes what is returned by
  // value; it is valid as long as the Context. Errors: counts differ, or an option is out of range
  // (invalid_argument); a PE could not make its part (exhausted).
  Result<Channels> add_channels(const ChannelOptions& wanted = {});

  // Collective. All host threads meet. Says nothing about what kernels have posted: that is
  // barrier_all's job on the device. Where the job goes on without PEs that are lost, lost_pes() is
  // the same on all behind it, but for losses that are later.
  Result<void> barrier();

  // ---- Teams (device/team.h): collective over the parent, or over the team itself; by a small
  // kernel on this PE's stream.

  // The members start, start + stride, ... of `parent`, `size` of them (stride may be negative);
  // kTeamInvalid on PEs that are none of them. Members of the parent may ask for different teams,
  // as for the rows of a grid. Errors, on all members of the parent: one that is named asks for
  // another team, members that the parent does not have, GDAKIT_TEAMS used up.
  Result<Team> split_strided(Team parent, int start, int stride, int size);
  // The parent's members in rows of `xrange`: a team for this PE's row and one for its column.
  Result<TeamGrid> split_2d(Team parent, int xrange);
  // No member may use the team any more. Where it is broken it is gone at once, without the others.
  // Errors: a predefined team, or none of this PE's.
  Result<void> destroy_team(Team team);

  // As on the device; not collective.
  int team_my_pe(Team team) const { return teams_->my_pe(team); }
  int team_n_pes(Team team) const { return teams_->n_pes(team); }
  int team_translate_pe(Team team, int pe, Team in) const {
    return teams_->translate(team, pe, in);
  }

  // Ends the job, also while another thread is in a call: every PE that waits for this one in a
  // collective call gets the message, now or later, and this PE's end waits for nobody.
  void abort(const std::string& message);

  // The same, and asks the launcher to end the processes of the job now and to exit with `status`.
  // `gdakit run` and PMIx can do that; it may end this process, too, before the call returns.
  // Otherwise this process goes on, and should exit with `status`. Errors: no launcher was asked.
  Result<void> end_job(int status, const std::string& message);

  // The PEs that are gone without having left the job, ascending: their process has ended, their
  // host has not answered for GDAKIT_PEER_TIMEOUT, or they called abort. With GDAKIT_PEER_LOSS=end
  // every launch fails from then on (Code::aborted) with a sentence that names the PE.
  std::vector<int> lost_pes() const { return losses_->pes(); }
  // The same, for a job that goes on (GDAKIT_PEER_LOSS=go-on). Until this is called after a loss,
  // launches fail with Code::peer_lost, and waits for words and locks, which any PE may write, end
  // with StatusCode::peer_lost. Then launches and waits are as before, but for what needs the lost
  // PE: its queues break, and waits for a message from it, or for a team with it, end at once.
  std::vector<int> acknowledge_losses() { return losses_->acknowledge(); }
  // For host threads that wait by themselves.
  LostPes& losses() { return *losses_; }

  // What a kernel takes. Valid until the heap grows, memory is registered, or queues or channels
  // are added.
  DeviceContext device_context() const;

  // The same for host threads that drive channels (host_calls/host_channel.h): what it points to
  // the host reads in place, in `tables` where need be, but for queues, words and state.
  Result<DeviceContext> host_context(HostTables& tables) const;
  // Whether host threads can use these channels.
  bool host_drives(const Channels& channels) const;
  // By which waits are measured.
  const WaitClock& wait_clock() const { return stopped_peers_->clock(); }

  // Calls kernel(pe) for every thread, where pe is a Pe of the thread's machine. Returns when all
  // threads have ended, with the first error that the device has reported. On a GPU `kernel` is
  // copied as bytes, and only files compiled by nvcc can launch there. With GDAKIT_LAUNCHES=in-turn
  // it first waits until no other PE of this process is in launch. Needs gdakit.h.
  template <class Kernel, class Compiler = ThisCompiler>
  Result<void> launch(const Kernel& kernel, LaunchShape shape);

  // The same on a stream, without waiting: synchronize does, and says how it went. It takes no
  // turns, whatever GDAKIT_LAUNCHES is. The emulator has no streams and runs the kernel at once.
  template <class Kernel, class Compiler = ThisCompiler>
  Result<void> launch_on(Stream stream, const Kernel& kernel, LaunchShape shape);
  Result<void> synchronize(Stream stream);
  // This PE's own stream; null on the emulator.
  Stream stream() const { return gpu_ == nullptr ? nullptr : gpu_->stream(); }

  // The PE that is lost, if that ends the job; else the first stall, bad argument or broken queue
  // that the device has reported since the last call of clear_reports, in words. May be called
  // while a kernel runs. What nobody asks for within some 50 ms is a line of the log, too, as a
  // warning (GDAKIT_LOG).
  Result<void> check_device() const;
  // Forgets stalls and bad arguments; broken queues and teams stay broken, and check_device says
  // so. Waits that would give up because an earlier one has stalled wait again, as they do with the
  // next launch.
  void clear_reports();

  // The bits that the last call of host_calls/ left, behind synchronize.
  std::uint64_t host_result() const {
    return static_cast<const PeState*>(state_->data())->host_result;
  }

  // Which peers are reached without the NIC (GDAKIT_TRANSPORT), and why not the others.
  const TransportMap& transports() const { return heap_->transports(); }

  // Where kernels of this PE, and CUDA's copies, reach what lies at `symmetric` on another PE: as
  // Pe::ptr. Null: that PE is no direct peer, or the address is none of the heap.
  template <class T>
  T* ptr(T* symmetric, int pe) const {
    return static_cast<T*>(const_cast<void*>(direct_address(symmetric, pe)));
  }

  NicCounters nic_counters() const { return backend_->counters(); }

 private:
  Context(const Options& options, std::unique_ptr<Bootstrap> bootstrap);

  struct LocalBuffer {
    std::uint64_t begin;
    std::uint64_t end;
    NicKeys keys;
    bool on_gpu;
    bool pinned;  // by this context
  };

  // launch_on, within a span of the timeline that its caller has.
  template <class Kernel, class Compiler>
  Result<void> start(Stream stream, const Kernel& kernel, LaunchShape shape,
                     const KernelSpan& span);
  template <class Kernel>
  KernelSpan span_of(LaunchShape shape) const {
    return {host_trace_.get(), type_text<Kernel>(), shape.blocks, shape.threads};
  }
  // Held by a launch from begin to end. Owns nothing where launches may run side by side.
  std::unique_lock<std::mutex> wait_for_turn() const;
  // What comes before each launch: its waits shall wait.
  Result<void> begin_launch();
  // What GDAKIT_CHECK_MEMORY finds in this PE's heap.
  Result<void> check_heap() const;
  // Waits for the stream, whatever the device has reported.
  Result<void> wait_for(Stream stream);
  // An operation's, with the report that there may be of it.
  Error error_of(const Status& status) const;
  // Gives `mine` to the members of a team by a kernel.
  TeamExchange team_exchange();

  Result<void> choose_device(bool kernels_for_gpu);
  bool has_direct_peers() const { return transports().is_direct(my_pe()); }
  const void* direct_address(const void* symmetric, int pe) const;
  Result<void> make(BackendProvider& provider, bool kernels_for_gpu);
  Result<void> make_parts(BackendProvider& provider);
  Result<void> make_state();
  void watch_queues(std::size_t first);
  // ... this one, the number `row` among those to its peer.
  void watch_queue(const HostQueue& queue, std::uint32_t row);
  QueuePeers peers_of(const HostQueue& queue) const;
  Result<void> compare_devices();
  void leave_to_parent();
  // Whether `count` elements at `object` may be copied to or from the host's memory at `here`.
  Result<void> check_copy(const char* call, const char* direction, const void* object,
                          const void* here, std::size_t count, std::size_t element_bytes) const;
  // Why these bytes are not to be copied, as the end of a sentence about them.
  std::optional<std::string> problem_of(const void* object, std::uint64_t bytes) const;
  // Whether it can be registered.
  Result<void> check_buffer(void* base, std::uint64_t bytes, MemoryKind kind) const;
  // What register_buffer did, undone.
  Result<void> let_go(const LocalBuffer& buffer);
  // The registered buffers, as the NIC calls them.
  std::vector<LocalRange> local_ranges_of(std::uint32_t nic) const;
  Result<void> publish_local_ranges();
  Scope nic_scope() const;
  // Whether the job goes on, as far as PEs may be lost.
  Result<void> check_peers() const;
  Result<void> check_queues() const;
  // ... which are `queues`, and stand so.
  Result<void> check_states(const HostQueues& queues,
                            const Result<std::vector<QueueState>>& states) const;
  Result<void> check_teams() const;

  Options options_;
  std::unique_ptr<Bootstrap> bootstrap_;
  std::unique_ptr<StoppedPeers> stopped_peers_;
  std::unique_ptr<Gpu> gpu_;
  std::shared_ptr<MemoryProvider> memory_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<SymmetricHeap> heap_;
  std::unique_ptr<TeamTable> teams_;
  std::unique_ptr<QueueTable> queues_;
  std::vector<std::unique_ptr<ChannelSet>> channel_sets_;
  std::unique_ptr<Proxy> proxy_;
  std::unique_ptr<MemoryBlock> state_;  // PeState
  std::unique_ptr<LostPes> losses_;
  std::unique_ptr<DeviceReports> reports_;
  std::unique_ptr<CounterFile> counter_file_;  // where GDAKIT_COUNTERS asks for one
  std::unique_ptr<HostTrace> host_trace_;      // where GDAKIT_TRACE asks for one
  bool has_forgotten_ = false;                 // a report, which may have told of a broken team
  std::unique_ptr<MemoryBlock> local_table_;   // LocalRange[nic][kMaxLocalRanges]
  std::vector<LocalBuffer> local_buffers_;
  PeWords* words_ = nullptr;
  bool one_gpu_ = false;  // all PEs, this one included, are on the same
  std::atomic<bool> aborted_ = false;
  const pid_t process_ = ::getpid();
};

template <class Kernel, class Compiler>
Result<void> Context::start(Stream stream, const Kernel& kernel, LaunchShape shape,
                            const KernelSpan& span) {
  const auto in_words = [this](const Error& error) {
    return error.within("launch on PE " + std::to_string(my_pe()));
  };
  if (const Result<void> begun = begin_launch(); !begun) return in_words(begun.error());
  using Launcher = detail::KernelLauncher<Compiler>;
  const DeviceContext device = device_context();
  const Result<void> launched =
      gpu_ != nullptr ? Launcher::on_gpu(*gpu_, device, stream, kernel, shape)
                      : Launcher::on_emulator(options_, device, stopped_peers_->clock(),
                                              backend_->progress_engine(), kernel, shape, span);
  if (!launched) return in_words(launched.error());
  return {};
}

template <class Kernel, class Compiler>
Result<void> Context::launch_on(Stream stream, const Kernel& kernel, LaunchShape shape) {
  return start<Kernel, Compiler>(stream, kernel, shape, span_of<Kernel>(shape));
}

template <class Kernel, class Compiler>
Result<void> Context::launch(const Kernel& kernel, LaunchShape shape) {
  const std::unique_lock<std::mutex> turn = wait_for_turn();
  const KernelSpan span = span_of<Kernel>(shape);
  if (auto launched = start<Kernel, Compiler>(stream(), kernel, shape, span); !launched) {
    return launched;
  }
  return synchronize(stream());
}

}  // namespace gdakit
