// A job of two PEs of which PE 0 is the caller and PE 1 only lends its memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <sys/types.h>
#include <thread>

#include "gdakit.h"

namespace gdakit::bench {

class TwoPes {
 public:
  // PE 1 is a thread, or a child process, which ends with this object. Each has `bytes` bytes to be
  // source and target of transfers. as_processes forks: call it while there is one thread.
  // With a directory of `trace` they trace (GDAKIT_TRACE).
  static Result<std::unique_ptr<TwoPes>> as_threads(std::size_t bytes,
                                                    const std::string& trace = "");
  // With a nic_address (GDAKIT_NIC_ADDRESS) the processes' NICs meet over UDP.
  static Result<std::unique_ptr<TwoPes>> as_processes(std::size_t bytes,
                                                      const std::string& nic_address = "");
  ~TwoPes();
  TwoPes(const TwoPes&) = delete;
  TwoPes& operator=(const TwoPes&) = delete;

  std::uint64_t* words() { return words_; }
  char* source() { return source_; }
  char* target() { return target_; }

  // One thread on PE 0.
  template <class Kernel>
  Result<void> launch(const Kernel& kernel) {
    return context_->launch(kernel, {.blocks = 1, .threads = 1});
  }

 private:
  TwoPes() = default;

  Result<void> allocate(std::size_t bytes);

  std::thread other_;
  pid_t child_ = -1;
  std::unique_ptr<BackendProvider> provider_;
  std::unique_ptr<Context> context_;
  std::uint64_t* words_ = nullptr;
  char* source_ = nullptr;
  char* target_ = nullptr;
};

}  // namespace gdakit::bench
