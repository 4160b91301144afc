// A PE by mlx5-emulated: its threads run the steps of its soft ConnectX while they wait for it, and
// the NIC's own thread does not take the cores from them.
#include <chrono>
#include <filesystem>
#include <memory>
#include <sched.h>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "backends/mlx5/mlx5_backend.h"
#include "core/host/bootstrap/local_bootstrap.h"
#include "core/host/memory/host_memory.h"

namespace gdakit::mlx5 {
namespace {

constexpr auto kLimit = std::chrono::seconds(60);

bool has_real_time_threads() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (::sched_getscheduler(std::stoi(task.path().filename())) == SCHED_RR) return true;
  }
  return false;
}

bool comes_to(bool real_time) {
  const auto limit = std::chrono::steady_clock::now() + kLimit;
  while (has_real_time_threads() != real_time) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

bool may_be_real_time() {
  bool may = false;
  std::thread([&may] {
    const sched_param least{.sched_priority = 1};
    may = ::sched_setscheduler(0, SCHED_RR, &least) == 0;
  }).join();
  return may;
}

TEST(SoftNicThread, IsAnOrdinaryOneWhilePesHelp) {
  if (!may_be_real_time()) GTEST_SKIP() << "this process may have no threads in real time";
  const auto bootstraps = make_local_bootstraps(1, kLimit);
  ASSERT_TRUE(bootstraps);
  HostMemoryProvider memory;
  Options options;
  options.backend = BackendChoice::mlx5_emulated;
  auto opened = make_provider()->open(options, *bootstraps->front(), memory);
  ASSERT_TRUE(opened) << opened.error().message();
  ASSERT_NE((*opened)->progress_engine(), nullptr);
  EXPECT_TRUE(comes_to(false));
  opened->reset();
  EXPECT_TRUE(comes_to(true)) << "programs that only poll want it to be prompt again";
}

}  // namespace
}  // namespace gdakit::mlx5
