// The thread that launches helper kernels.
#include "backends/softnic/gpu/gpu_launcher.h"

#include <future>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gdakit::softnic {
namespace {

GpuLaunchRequest request(GpuStream stream) {
  GpuLaunchRequest made;
  made.stream = stream;
  return made;
}

TEST(GpuLauncher, LaunchesAllInOrderBeforeItEnds) {
  std::vector<GpuStream> launched;
  {
    GpuLauncher launcher({[&](const GpuLaunchRequest& next) { launched.push_back(next.stream); },
                          [] { return false; }});
    for (GpuStream i = 0; i < 1000; ++i) launcher.submit(request(i));
  }
  ASSERT_EQ(launched.size(), 1000u);
  for (GpuStream i = 0; i < 1000; ++i) EXPECT_EQ(launched[i], i);
}

TEST(GpuLauncher, WakesForALaunchAfterALongRest) {
  std::promise<GpuStream> launched;
  GpuLauncher launcher({[&](const GpuLaunchRequest& next) { launched.set_value(next.stream); },
                        [] { return false; }});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  launcher.submit(request(7));
  std::future<GpuStream> stream = launched.get_future();
  ASSERT_EQ(stream.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_EQ(stream.get(), 7u);
}

TEST(GpuLauncher, WhoAsksDoesNotWaitForALaunchThatStandsStill) {
  std::promise<void> goes_on;
  const std::shared_future<void> gate(goes_on.get_future());
  std::atomic<int> launched{0};
  GpuLauncher launcher({[&](const GpuLaunchRequest&) {
                          gate.wait();
                          ++launched;
                        },
                        [] { return false; }});
  for (GpuStream i = 0; i < 10; ++i) launcher.submit(request(i));  // a test that hangs here fails
  EXPECT_EQ(launched.load(), 0);
  goes_on.set_value();
  while (launched.load() != 10) std::this_thread::yield();
}

// So a failure of the program's context is found though nothing more is launched.
TEST(GpuLauncher, LooksAfterWhatItHasLaunchedUntilThatEnds) {
  std::atomic<int> looks{0};
  GpuLauncher launcher({[](const GpuLaunchRequest&) {}, [&] { return ++looks < 3; }});
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(looks.load(), 0);
  launcher.submit(request(0));
  while (looks.load() != 3) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(looks.load(), 3);
}

}  // namespace
}  // namespace gdakit::softnic
