#include "sim/emulator.h"

#include <algorithm>
#include <deque>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "core/base/library_thread.h"

namespace gdakit::sim {
namespace {

Result<void> check(LaunchShape shape, const EmulatorOptions& options) {
  if (shape.blocks == 0) {
    return Error(Code::invalid_argument, "launch: blocks is 0; ask for at least 1");
  }
  if (shape.threads == 0 || shape.threads > kMaxBlockThreads) {
    return Error(Code::invalid_argument, "launch: a block of " + std::to_string(shape.threads) +
                                             " threads; ask for 1 to " +
                                             std::to_string(kMaxBlockThreads));
  }
  if (options.workers == 0) {
    return Error(Code::invalid_argument, "launch: workers is 0; ask for at least 1");
  }
  return {};
}

}  // namespace

Result<void> run_grid(LaunchShape shape, const EmulatorOptions& options, ThreadMain main) {
  if (Result<void> checked = check(shape, options); !checked) return checked;
  LaunchState state;
  std::deque<Worker> workers;
  const std::uint32_t count = std::min(options.workers, shape.blocks);
  for (std::uint32_t i = 0; i != count; ++i) {
    workers.emplace_back(state, main, options);
  }
  for (std::uint32_t block = 0; block != shape.blocks; ++block) {
    workers[block % count].add_block(shape, block);
  }
  std::vector<std::jthread> others;  // joined on leaving
  try {
    const SignalsBlocked blocked;
    for (std::uint32_t i = 1; i != count; ++i) others.emplace_back(&Worker::run, &workers[i]);
  } catch (const std::system_error& error) {
    state.fail(Error(Code::exhausted,
                     "launch: starting an OS thread for each of " + std::to_string(count) +
                         " workers failed; ask for fewer",
                     error.code().value()));
  }
  workers.front().run();
  others.clear();
  if (state.error().has_value()) return *state.error();
  return {};
}

}  // namespace gdakit::sim
