// What the soft NIC's own backend refuses to open, on all PEs alike.
#include <array>
#include <chrono>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "backends/softnic/softnic_backend.h"
#include "core/host/bootstrap/local_bootstrap.h"
#include "core/host/memory/host_memory.h"

namespace gdakit::softnic {
namespace {

// What each of two PEs is told that give so many NICs; nothing: it has one.
std::array<std::string, 2> told_with(std::uint32_t first, std::uint32_t second) {
  const auto bootstraps = make_local_bootstraps(2, std::chrono::seconds(60));
  const auto provider = make_loopback_provider();
  HostMemoryProvider memory;
  std::array<std::string, 2> told;
  const auto open = [&](std::size_t pe, std::uint32_t nics) {
    Options options;
    options.nics_per_pe = nics;
    const auto backend = provider->open(options, *bootstraps->at(pe), memory);
    if (!backend) {
      told[pe] = backend.error().message();
    } else {
      EXPECT_EQ((*backend)->limits().nics, 1u);
    }
  };
  std::thread other([&] { open(1, second); });
  open(0, first);
  other.join();
  return told;
}

TEST(SoftNicProvider, GivesAPeOneNic) {
  EXPECT_EQ(told_with(1, 1), (std::array<std::string, 2>{}));
}

TEST(SoftNicProvider, SeveralNicsForAPeAreRefusedWithTheRemedy) {
  const auto told = told_with(2, 2);
  EXPECT_EQ(told[0], told[1]);
  EXPECT_EQ(told[0],
            "GDAKIT_NICS_PER_PE=2: the backend softnic gives a PE one NIC; set it to 1, or take "
            "one whose PEs may have several: GDAKIT_BACKEND=mlx5 or mlx5-emulated");
}

TEST(SoftNicProvider, PesThatGiveOtherNumbersOfNicsAreNamed) {
  const auto told = told_with(1, 2);
  EXPECT_EQ(told[0], told[1]);
  EXPECT_EQ(told[0],
            "GDAKIT_NICS_PER_PE: PE 1 gave 2 where PE 0 gave 1; all PEs must give the same");
}

}  // namespace
}  // namespace gdakit::softnic
