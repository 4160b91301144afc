// Jobs for tests: PEs as threads of the test, each with its Context.
#pragma once

#include <gtest/gtest.h>

#include "gdakit.h"

namespace gdakit::test {

// Small enough for many PEs, and a watchdog that ends a hanging test with a report.
inline Options job_options() {
  Options options;
  options.symmetric_size = 1 << 20;
  options.heap_chunk = 1 << 20;
  options.heap_limit = 256 << 20;
  options.queue_depth = 256;
  options.fetch_slots = 64;
  options.queues_per_peer = 2;
  options.watchdog = std::chrono::seconds(20);
  options.timeout = std::chrono::seconds(40);
  return options;
}

inline void expect_job(int n_pes, const Options& options, const PeMain& pe_main) {
  const Result<void> done = run_in_process(n_pes, options, pe_main);
  EXPECT_TRUE(done) << done.error().message();
}

// An error that names what a PE saw, for checks off the main thread.
inline Result<void> mismatch(const std::string& what) { return Error(Code::internal, what); }

template <class A, class B>
Result<void> same(const A& got, const B& expected, const std::string& what) {
  if (got == expected) return {};
  return mismatch(what + ": got " + std::to_string(got) + ", expected " + std::to_string(expected));
}

}  // namespace gdakit::test
