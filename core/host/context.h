// Context: one PE of a job. Owns everything: bootstrap, backend, memory, heap, queues. No global
// state, so that many PEs can live in one process.
//
//   Result<std::unique_ptr<Context>> context = gdakit::init();       // gdakit.h
//   Result<int*> numbers = (*context)->allocate<int>(1024);          // on every PE, same offset
//   Result<void> done = (*context)->launch(Kernel{*numbers}, {.blocks = 4, .threads = 128});
//
// Calls marked collective are made by all PEs in the same order. A Context serves one host thread
// at a time; its kernels may run while the host reads reports.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/options.h"
#include "core/base/result.h"
#include "core/host/backend.h"
#include "core/host/memory.h"
#include "core/host/proxy.h"
#include "core/host/queue_table.h"
#include "core/host/symmetric_heap.h"
#include "device/views.h"

namespace gdakit {

class Context {
 public:
  // Collective. Takes the bootstrap of this PE; opens a backend, makes the heap, connects the
  // queues.
  static Result<std::unique_ptr<Context>> create(const Options& options,
                                                 std::unique_ptr<Bootstrap> bootstrap,
                                                 BackendProvider& provider);
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

  // Collective. `count` objects of T in the symmetric heap, at the same offset on every PE; zeroed
  // when their memory is new. Owned by the heap until free.
  template <class T>
  Result<T*> allocate(std::size_t count) {
    if (count > ~std::size_t{0} / sizeof(T)) {
      return Error(Code::invalid_argument,
                   "allocate of " + std::to_string(count) + " objects: too many");
    }
    Result<void*> memory = heap_->allocate(count * sizeof(T));
    if (!memory) return memory.error();
    return static_cast<T*>(*memory);
  }
  // Collective. Gives an object of the heap back; no PE may use it any more.
  Result<void> free(void* object) { return heap_->free(object); }

  // Lets kernels launched from now on use memory outside the heap as the local side of transfers.
  // The memory stays the caller's and must outlive its registration. Not collective.
  Result<void> register_buffer(void* base, std::uint64_t bytes);
  Result<void> unregister_buffer(void* base);

  // Collective. Adds `count` queues to each peer; returns the index of the first, for Pe::on_queue
  // or, with Sharing::exclusive, Pe::exclusively_on.
  Result<std::uint32_t> add_queues(std::uint32_t count, Sharing sharing);

  // Collective. All host threads meet. Says nothing about what kernels have posted: that is
  // barrier_all's job on the device.
  Result<void> barrier() { return bootstrap_->barrier(); }

  // Ends the job: every PE that waits for this one in a collective call gets the message, now or
  // later, and this PE's end waits for nobody.
  void abort(const std::string& message);

  // What a kernel takes. Valid until memory is registered or queues are added.
  DeviceContext device_context() const;

  // Runs the kernel on the emulated GPU: calls kernel(pe) for every thread, where pe is a Pe of the
  // thread's machine. Returns when all threads have ended, with the first error that the device has
  // reported. Defined in gdakit.h.
  template <class Kernel>
  Result<void> launch(const Kernel& kernel, LaunchShape shape);

  // The first stall, bad argument or broken queue that the device has reported since the last call
  // of clear_reports, in words. May be called while a kernel runs.
  Result<void> check_device() const;
  // Forgets stalls and bad arguments; broken queues stay broken.
  void clear_reports();

  NicCounters nic_counters() const { return backend_->counters(); }

 private:
  Context(const Options& options, std::unique_ptr<Bootstrap> bootstrap);

  struct LocalBuffer {
    LocalRange range;
    MemoryKeys keys;
  };

  Result<void> make_parts(BackendProvider& provider);
  void publish_local_ranges();
  std::string queue_errors() const;

  Options options_;
  std::unique_ptr<Bootstrap> bootstrap_;
  std::unique_ptr<MemoryProvider> memory_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<SymmetricHeap> heap_;
  std::unique_ptr<QueueTable> queues_;
  std::unique_ptr<Proxy> proxy_;
  std::unique_ptr<MemoryBlock> state_;  // PeState
  std::unique_ptr<MemoryBlock> local_table_;
  std::vector<LocalBuffer> local_buffers_;
  std::uint64_t* barrier_flags_ = nullptr;
  bool aborted_ = false;
};

}  // namespace gdakit
