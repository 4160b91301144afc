// A job of two PEs of which PE 0 is the caller and PE 1 only lends its memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <sys/types.h>
#include <thread>
#include <vector>

#include "gdakit.h"

namespace gdakit::bench {

// What is not as usual, by the fields of Options.
struct PairSetting {
  BackendChoice backend = BackendChoice::automatic;
  std::string nic_address = {};  // with one the processes' NICs meet over UDP
  std::string trace = {};        // a directory, with which they trace
  // Where PE 1 runs, of processes; whatever the caller may use, if it is empty.
  std::vector<int> cores = {};
};

// The cores that the caller may use.
std::vector<int> usable_cores();
// From now on the caller, and threads and processes that it starts, use these.
void use_cores(const std::vector<int>& cores);

class TwoPes {
 public:
  using Pair = std::unique_ptr<TwoPes>;

  // PE 1 is a thread, or a child process, which ends with this object. Each has `bytes` bytes to be
  // source and target of transfers.
  static Result<Pair> as_threads(std::size_t bytes, const PairSetting& setting = {});
  // Forks: call it while there is one thread.
  static Result<Pair> as_processes(std::size_t bytes, const PairSetting& setting = {});
  // A pair for each setting, all of which live at the same time.
  static Result<std::vector<Pair>> as_processes(std::size_t bytes,
                                                const std::vector<PairSetting>& settings);
  ~TwoPes();
  TwoPes(const TwoPes&) = delete;
  TwoPes& operator=(const TwoPes&) = delete;

  std::uint64_t* words() { return words_; }
  char* source() { return source_; }
  char* target() { return target_; }

  // On PE 0.
  template <class Kernel>
  Result<void> launch(const Kernel& kernel, LaunchShape shape = {.blocks = 1, .threads = 1}) {
    return context_->launch(kernel, shape);
  }

 private:
  TwoPes() = default;

  // The child of a new pair is PE 1 of a job to which PE 0 is yet to come.
  static Result<Pair> fork_other(std::size_t bytes, const PairSetting& setting);
  Result<void> join_other(std::size_t bytes);
  Result<void> allocate(std::size_t bytes);

  std::thread other_;
  pid_t child_ = -1;
  Options options_;  // of a job of processes
  std::unique_ptr<BackendProvider> provider_;
  std::unique_ptr<Context> context_;
  std::uint64_t* words_ = nullptr;
  char* source_ = nullptr;
  char* target_ = nullptr;
};

}  // namespace gdakit::bench
