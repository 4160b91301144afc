// Block: the threads of one block, its warps, and the barrier of all its threads. Bookkeeping only,
// as warp.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/thread.h"
#include "sim/warp.h"

namespace gdakit::sim {

class Block {
 public:
  // `threads`: all threads of the block in order; they outlive it. Sets their block, warp and
  // scheduler.
  Block(Scheduler& scheduler, std::vector<Thread*> threads);
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  // Returns when every thread of the block has called it or ended, as CUDA's barrier does: whether
  // any of them came with a predicate that holds.
  bool sync(Thread& self, bool predicate = false);

  // The thread has ended; it counts as arrived at this barrier and every later one.
  void exit(Thread& self);

  // A word that all threads of the block share; they order their accesses by sync().
  std::uint64_t shared_word() const { return shared_word_; }
  void set_shared_word(std::uint64_t value) { shared_word_ = value; }

  // Who waits where: a line for each warp's every set of waiting lanes.
  std::string describe() const;

 private:
  bool all_arrived() const { return arrived_ + exited_ == threads_.size(); }
  void release();

  Scheduler& scheduler_;
  std::vector<Thread*> threads_;
  std::vector<Warp> warps_;
  std::size_t arrived_ = 0;
  std::size_t exited_ = 0;
  bool any_ = false;       // of those that have arrived
  bool last_any_ = false;  // of the last barrier
  std::uint64_t shared_word_ = 0;
};

}  // namespace gdakit::sim
