// GpuOrder: puts the work of all ports that share it onto one GPU, in one order.
//
//   ports -- submit(work) --> works (FIFO) --> launches (kernels) or copies --> stream --> memory
//                                              `-- cancelled -- copies --> the other stream
//
// Work becomes visible in the order submitted, except that works which nobody can have made to
// follow each other may go together. It runs by helper kernels or by the copy engine. Kernels need
// room on the GPU, which a user's kernel may hold while it waits for this very work: a launch that
// has not begun in time is cancelled, and its operations go through the copy engine on another
// stream, until the launch has drained. Therefore copies, which nothing can cancel, are never
// issued behind a kernel that is still there.
//
// submit and advance may be called from any thread, and neither waits for a call of CUDA that
// another thread makes: one thread at a time puts work onto the GPU, the others' works included.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/softnic/dma/host_dma.h"
#include "backends/softnic/gpu/gpu_device.h"
#include "backends/softnic/gpu/gpu_ring.h"
#include "backends/softnic/gpu/gpu_work.h"
#include "backends/softnic/queues/fifo.h"

namespace gdakit::softnic {

struct GpuOrderOptions {
  bool kernels = true;                  // false: the copy engine alone
  std::uint32_t engine_ops = 3;         // so few operations go through the copy engine if they can
  std::uint64_t stuck_ns = 100000;      // how long a launch may wait for room
  std::uint64_t unissued_ns = 2000000;  // ... and for CUDA to take it
  std::uint64_t mark_ns = 4000;         // how long nobody may know that copies are complete
  std::size_t ring_bytes = 4u << 20;
};

class GpuOrder {
 public:
  // Null if there is no pinned memory left.
  static std::shared_ptr<GpuOrder> create(std::unique_ptr<GpuDevice> device,
                                          const GpuOrderOptions& options);
  ~GpuOrder();

  GpuDevice& device() { return *device_; }

  // Puts the work in its place in the order. Its owner leaves it alone until its state is
  // `finished`.
  void submit(GpuWork& work);
  // Lets everything go on, unless another thread is about that; cheap when there is nothing.
  void advance();

  // Works submitted so far; whether the first `count` are complete.
  std::uint64_t submitted() const { return submitted_.load(std::memory_order_acquire); }
  bool finished(std::uint64_t count) const {
    return finished_.load(std::memory_order_acquire) >= count;
  }
  bool quiet() const { return finished(submitted()); }
  // Somebody waits for completion: it is made known without delay.
  void hurry() { hurry_.store(true, std::memory_order_relaxed); }

  struct Counts {
    std::uint64_t launches = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t engine_ops = 0;
  };
  Counts counts();

 private:
  // Something issued to the current stream.
  struct Flight {
    bool kernel = false;
    bool told = false;        // its works know that it is complete
    std::uint32_t slot = 0;   // of a kernel
    std::uint32_t level = 0;  // of a kernel: its first level
    std::uint32_t up_to = 0;  // ... and the one behind its last
    std::uint64_t seq = 0;    // of copies: complete when the mark says so
    std::uint64_t begin = 0;  // numbers of the works
    std::uint64_t end = 0;
    bool last = false;  // of copies: the work is complete with them
    std::uint64_t ring_mark = 0;
  };

  GpuOrder(std::unique_ptr<GpuDevice> device, const GpuOrderOptions& options);
  bool allocate();

  // gpu_order.cc
  void advance_locked();
  void take_incoming();
  void retire();
  std::uint64_t begin_of(const Flight& flight) const;
  void finish(const Flight& flight);
  void start_works();
  void give_up();

  // gpu_order_kernels.cc
  // Works that go together are the next one up to `end`; levels those from `level` up to `up_to`.
  bool kernels_can(const GpuWork& work) const;
  bool few(const GpuWork& work) const;
  std::uint64_t end_of_group();
  bool fits_group(const GpuWork& work, std::uint64_t end);
  WorkLevel level_of(std::uint64_t end, std::uint32_t level);
  bool launch_levels(std::uint64_t end);
  std::uint32_t end_of_bulk(std::uint64_t end, std::uint32_t level);
  struct Small;
  bool launch_small(std::uint64_t end, std::uint32_t level);
  void add_small(GpuWork& work, Small& small, GpuLaunch& launch);
  static GpuOp small_op(GpuWork& work, const WorkOp& op, const Small& small);
  bool launch_bulk(std::uint64_t end, std::uint32_t level, std::uint32_t up_to);
  struct Bulk;
  void add_bulk(std::uint64_t end, std::uint32_t level, Bulk& bulk, GpuLaunch& launch);
  template <class Act>
  void for_lists(std::uint64_t end, std::uint32_t level, const Act& act);
  void fly(const GpuLaunch& launch, std::uint64_t end, std::uint32_t level, std::uint32_t up_to);
  GpuLaunch next_launch();

  // gpu_order_stuck.cc
  void look_for_stuck();
  bool cancel(std::uint32_t slot);
  void take_back(const Flight& flight);
  void look_for_drained();

  // gpu_order_copies.cc
  bool run_copies(GpuWork& work);
  bool run_op(GpuWork& work, const WorkOp& op);
  void queue_word(std::uint64_t to, std::uint64_t value, std::uint64_t size);
  void flush_words();
  GpuStream stream();
  bool run_word(const WorkOp& op);
  bool run_bytes(const GpuWork& work, const WorkOp& op);
  bool run_cqe(const GpuWork& work, const WorkOp& op);
  bool run_copy(GpuWork& work, const WorkOp& op);
  bool bounce(GpuWork& work, const WorkOp& op);
  bool fetch_word(GpuWork& work, const WorkOp& op, std::uint64_t from);
  bool bounce_words(GpuWork& work, const WorkOp& op);
  bool run_atomic(GpuWork& work, const WorkOp& op);
  bool copy_in_staged(std::uint64_t to, const void* from, std::size_t size, bool ordered = false);
  void copy_in_order(std::uint64_t to, const void* from, std::size_t size);
  bool copy_in_before_words(const WorkOp& op, const std::byte* from);
  void copy_to_or_from(const WorkOp& op);
  bool all_complete() const { return flights_.empty() && !open_; }
  void close_segment(bool last);
  void mark();

  const GpuOrderOptions options_;
  std::unique_ptr<GpuDevice> device_;
  std::mutex mutex_;
  std::mutex incoming_mutex_;       // never held for long
  std::vector<GpuWork*> incoming_;  // under incoming_mutex_
  std::atomic<std::uint64_t> submitted_{0};
  std::atomic<std::uint64_t> finished_{0};
  std::atomic<bool> hurry_{false};

  // All from here on under the mutex.
  GpuStream streams_[2] = {};
  std::uint32_t current_ = 0;  // the stream in use
  GpuControl* controls_ = nullptr;
  std::uint64_t* marks_ = nullptr;    // a stream's: the seq up to which copies are complete
  std::uint64_t* scratch_ = nullptr;  // a word on its way by the host
  GpuRing ring_;
  HostDma host_;

  Fifo<GpuWork*> works_;    // submitted and not complete
  std::uint64_t next_ = 0;  // the first that is not launched in full
  Fifo<Flight> flights_;
  std::uint32_t kernels_ = 0;           // among the flights
  std::uint64_t launched_ = 0;          // kernels ever; the next one's slot
  std::vector<std::uint32_t> blocked_;  // slots of launches that still stop the other stream
  std::uint64_t front_since_ns_ = 0;    // when the first flight became that, or finished
  bool open_ = false;                   // copies are queued that no flight stands for yet
  std::array<GpuWord, kGpuWordsAtOnce> words_;  // stores for the current stream, not issued yet
  std::size_t word_count_ = 0;
  std::uint64_t seq_ = 0;     // of the newest copies flight
  std::uint64_t marked_ = 0;  // up to which the stream's mark will tell
  std::uint64_t unmarked_since_ns_ = 0;
  std::uint64_t now_ns_ = 0;
  Counts counts_;
};

}  // namespace gdakit::softnic
