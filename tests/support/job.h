// Jobs for tests: PEs as threads of the test, each with its Context.
#pragma once

#include <gtest/gtest.h>

#include "gdakit.h"
#include "tests/support/checks.h"
#include "tests/support/settings.h"

namespace gdakit::test {

// Small enough for many PEs, and a watchdog that ends a hanging test with a report. Where the PEs
// run is the environment's to say (GDAKIT_DEVICE, GDAKIT_GPUS, GDAKIT_DMA, GDAKIT_QUEUE_MEMORY).
inline Options job_options() {
  const Result<Options> environment = Options::from_environment();
  EXPECT_TRUE(environment) << environment.error().message();
  Options options;
  if (environment) {
    options.log = environment->log;
    options.device = environment->device;
    options.gpus = environment->gpus;
    options.dma = environment->dma;
    options.queue_memory = environment->queue_memory;
  }
  options.symmetric_size = 1 << 20;
  options.heap_chunk = 1 << 20;
  options.heap_limit = 256 << 20;
  options.queue_depth = 256;
  options.fetch_slots = 64;
  options.queues_per_peer = 2;
  options.watchdog = patience(std::chrono::seconds(20));
  options.timeout = 2 * options.watchdog;
  return options;
}

inline void expect_job(int n_pes, const Options& options, const PeMain& pe_main) {
  const Result<void> done = run_in_process(n_pes, options, pe_main);
  EXPECT_TRUE(done) << done.error().message();
}

// The same with a backend of the test's own.
inline Result<void> run_job(int n_pes, const Options& options, BackendProvider& provider,
                            const PeMain& pe_main) {
  return run_in_process(n_pes, options, provider, pe_main, ThisCompiler::runs_on_gpu);
}
inline void expect_job(int n_pes, const Options& options, BackendProvider& provider,
                       const PeMain& pe_main) {
  const Result<void> done = run_job(n_pes, options, provider, pe_main);
  EXPECT_TRUE(done) << done.error().message();
}

}  // namespace gdakit::test
