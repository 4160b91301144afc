// Jobs for tests: PEs as threads of the test, each with its Context.
#pragma once

#include <gtest/gtest.h>

#include "core/host/gpu/gpu.h"
#include "gdakit.h"
#include "tests/support/checks.h"
#include "tests/support/settings.h"

namespace gdakit::test {

// Small enough for many PEs, and a watchdog that ends a hanging test with a report. By which NIC
// and where the PEs run, and how they post, is the environment's to say (GDAKIT_BACKEND,
// GDAKIT_DEVICE, GDAKIT_GPUS, GDAKIT_DMA, GDAKIT_QUEUE_MEMORY, GDAKIT_NIC_HANDLER,
// GDAKIT_TRANSPORT), whether memory is checked (GDAKIT_CHECK_MEMORY), of which kind queues are
// (GDAKIT_QUEUE_TYPE, GDAKIT_DC_QUEUES, GDAKIT_DOORBELL_RECORDS), and over how many NICs they are
// spread (GDAKIT_NICS_PER_PE).
inline Options job_options() {
  const Result<Options> environment = Options::from_environment();
  EXPECT_TRUE(environment) << environment.error().message();
  Options options;
  if (environment) {
    options.log = environment->log;
    options.backend = environment->backend;
    options.device = environment->device;
    options.gpus = environment->gpus;
    options.dma = environment->dma;
    options.queue_memory = environment->queue_memory;
    options.nic_handler = environment->nic_handler;
    options.transport = environment->transport;
    options.check_memory = environment->check_memory;
    options.queue_type = environment->queue_type;
    options.dc_queues = environment->dc_queues;
    options.doorbell_records = environment->doorbell_records;
    options.nics_per_pe = environment->nics_per_pe;
  }
  options.teams = 8;
  options.team_scratch = 4 << 10;
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

// Tools like compute-sanitizer run the kernels of one GPU one after the other, and hold CUDA's
// calls up meanwhile: where PEs that share a GPU launch side by side, the NICs may wait for ever.
// So a small run has no job with more PEs than GPUs but those whose kernels are of one PE, and
// those whose options are in_turn.

// Whether several PEs of a job have kernels running at the same time.
enum class Kernels { side_by_side, of_one_pe };

// For a job whose PEs all launch by Context::launch, and whose kernels can run one after the other:
// none waits for what another PE's has yet to do. They take turns in a small run, and in no other.
inline Options in_turn(Options options) {
  if (small()) options.launches = LaunchOrder::in_turn;
  return options;
}

inline bool too_many_for_tools(int n_pes, const Options& options, Kernels kernels) {
  if (!small() || !ThisCompiler::runs_on_gpu || kernels == Kernels::of_one_pe) return false;
  if (options.launches == LaunchOrder::in_turn) return false;
  const std::size_t gpus = options.gpus.empty() ? report_gpus().gpus.size() : options.gpus.size();
  return static_cast<std::size_t>(n_pes) > gpus;
}

// Skips the test if it cannot run; what comes behind it asks testing::Test::IsSkipped() then.
inline void expect_job(int n_pes, const Options& options, const PeMain& pe_main,
                       Kernels kernels = Kernels::side_by_side) {
  if (too_many_for_tools(n_pes, options, kernels)) {
    GTEST_SKIP() << n_pes << " PEs need as many GPUs in a small run";
  }
  const Result<void> done = run_in_process(n_pes, options, pe_main);
  EXPECT_TRUE(done) << done.error().message();
}

// The same with a backend of the test's own.
inline Result<void> run_job(int n_pes, const Options& options, BackendProvider& provider,
                            const PeMain& pe_main) {
  return run_in_process(n_pes, options, provider, pe_main, ThisCompiler::runs_on_gpu);
}
inline void expect_job(int n_pes, const Options& options, BackendProvider& provider,
                       const PeMain& pe_main, Kernels kernels = Kernels::side_by_side) {
  if (too_many_for_tools(n_pes, options, kernels)) {
    GTEST_SKIP() << n_pes << " PEs need as many GPUs in a small run";
  }
  const Result<void> done = run_job(n_pes, options, provider, pe_main);
  EXPECT_TRUE(done) << done.error().message();
}

}  // namespace gdakit::test
