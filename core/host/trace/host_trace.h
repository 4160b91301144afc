// What a PE's host side adds to a timeline: kernels, blocks of the emulator, names of queues. A
// thread of its own adds a sign of life each second, for a PE that hangs and is killed.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "core/base/log.h"
#include "core/base/result.h"
#include "core/host/trace/kernel_span.h"
#include "core/host/trace/trace_file.h"

namespace gdakit {

class HostTrace {
 public:
  static Result<std::unique_ptr<HostTrace>> create(const std::string& directory, int pe, Log log);
  ~HostTrace();
  HostTrace(const HostTrace&) = delete;
  HostTrace& operator=(const HostTrace&) = delete;

  // From any thread. They wait for one another, for some nanoseconds, and never for the file.
  //
  // A kernel's number, for what follows.
  std::uint64_t begin_kernel(std::string_view name, std::uint32_t blocks, std::uint32_t threads);
  void end_kernel(std::uint64_t kernel);
  void begin_block(std::uint64_t kernel, std::uint32_t block);
  void end_block(std::uint64_t kernel, std::uint32_t block);
  // Which of the queues to `peer` a queue pair is.
  void name_queue(std::uint32_t queue_pair, int peer, std::uint32_t index);

 private:
  explicit HostTrace(std::unique_ptr<TraceFile> file);
  void add(const TraceRecord& record);
  void run();

  std::mutex mutex_;  // of what follows
  std::unique_ptr<TraceFile> file_;
  std::uint64_t kernels_ = 0;
  bool stopping_ = false;
  std::condition_variable changed_;
  std::thread thread_;
};

}  // namespace gdakit
