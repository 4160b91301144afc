// The transport map: who is a direct peer of whom, what follows from it, and what is said of it.
#include <string>
#include <thread>
#include <vector>

#include "core/host/bootstrap/local_bootstrap.h"
#include "tests/support/job.h"
#include "tests/support/limited_backend.h"

namespace gdakit {
namespace {

using test::expect_job;
using test::job_options;
using test::mismatch;
using test::same;

constexpr Reach kNone = Reach::none;
constexpr Reach kStores = Reach::loads_and_stores;
constexpr Reach kAll = Reach::atomics;

TEST(DirectPeers, OfAllPesAreAllPes) {
  const DirectPeers peers = direct_peers({{kAll, kAll}, {kAll, kAll}}, 1);
  EXPECT_EQ(peers.direct, (std::vector<bool>{true, true}));
  EXPECT_EQ(peers.atomics, (std::vector<bool>{true, true}));
  EXPECT_EQ(peers.alike, (std::vector<bool>{true, true}));
  EXPECT_FALSE(peers.mixed);
}

TEST(DirectPeers, ThroughTheNicAreNone) {
  const DirectPeers peers = direct_peers({{kNone, kNone}, {kNone, kNone}}, 0);
  EXPECT_EQ(peers.direct, (std::vector<bool>{false, false}));
  EXPECT_EQ(peers.atomics, (std::vector<bool>{false, false}));
  EXPECT_EQ(peers.alike, (std::vector<bool>{true, false}));
  EXPECT_FALSE(peers.mixed);
}

// One PE that does not reach another decides for all, the other one's own atomics included.
TEST(DirectPeers, HaveDirectAtomicsWhereEveryPeHas) {
  const std::vector<std::vector<Reach>> reach = {
      {kAll, kAll, kAll}, {kAll, kAll, kAll}, {kNone, kAll, kAll}};
  for (int pe = 0; pe < 3; ++pe) {
    EXPECT_EQ(direct_peers(reach, pe).atomics, (std::vector<bool>{false, true, true})) << pe;
  }
  EXPECT_TRUE(direct_peers(reach, 0).mixed);
  EXPECT_FALSE(direct_peers(reach, 2).mixed);
}

TEST(DirectPeers, WithoutAtomicsOnTheLinkAreMixed) {
  const DirectPeers peers = direct_peers({{kAll, kStores}, {kStores, kAll}}, 0);
  EXPECT_EQ(peers.direct, (std::vector<bool>{true, true}));
  EXPECT_EQ(peers.atomics, (std::vector<bool>{false, false}));
  EXPECT_EQ(peers.alike, (std::vector<bool>{true, true}));
  EXPECT_TRUE(peers.mixed);
}

// A ring in which each PE reaches its neighbours only: no two PEs would agree on a team.
TEST(DirectPeers, AreATeamOnlyWhereAllReachTheSame) {
  const std::vector<std::vector<Reach>> ring = {{kAll, kAll, kNone, kAll},
                                                {kAll, kAll, kAll, kNone},
                                                {kNone, kAll, kAll, kAll},
                                                {kAll, kNone, kAll, kAll}};
  for (int pe = 0; pe < 4; ++pe) {
    std::vector<bool> alone(4, false);
    alone[static_cast<std::size_t>(pe)] = true;
    EXPECT_EQ(direct_peers(ring, pe).alike, alone) << pe;
  }
}

Options with_transport(TransportChoice transport) {
  Options options = job_options();
  options.transport = transport;
  return options;
}

// What PE 0 says of all PEs.
std::string summary_of(int n_pes, TransportChoice transport) {
  std::string text;
  expect_job(n_pes, with_transport(transport), [&](Context& c) -> Result<void> {
    if (c.my_pe() == 0) text = c.transports().summary();
    const auto members = static_cast<int>(transport == TransportChoice::direct ? c.n_pes() : 1);
    return same(c.team_n_pes(kTeamShared), members, "members of the shared team");
  });
  return text;
}

TEST(TransportMap, IsDirectWithinAProcess) {
  EXPECT_EQ(summary_of(3, TransportChoice::direct), "PEs 0, 1, 2: loads, stores and atomics");
}

TEST(TransportMap, IsTheNicWhereTheOptionOrTheSoftNicSaySo) {
  EXPECT_EQ(summary_of(2, TransportChoice::nic), "PEs 0, 1: the NIC: GDAKIT_TRANSPORT=nic");
  EXPECT_EQ(summary_of(2, TransportChoice::automatic),
            "PEs 0, 1: the NIC: what GDAKIT_TRANSPORT=auto means with this NIC");
}

TEST(TransportMap, IsDirectByItselfWithANicThatAsksForIt) {
  BackendLimits limits;
  limits.auto_direct = true;
  test::LimitedProvider provider(limits);
  expect_job(2, with_transport(TransportChoice::automatic), provider, [](Context& c) {
    return same(c.transports().is_direct(1 - c.my_pe()), true, "direct");
  });
}

TEST(TransportMap, LeavesThePesOutThatAreNoPeers) {
  test::LimitedProvider provider([](int rank) {
    BackendLimits limits;
    limits.direct_peers = rank != 2;
    return limits;
  });
  expect_job(3, with_transport(TransportChoice::direct), provider, [](Context& c) -> Result<void> {
    const bool apart = c.my_pe() == 2;
    const TransportMap& map = c.transports();
    for (int pe = 0; pe < 3; ++pe) {
      const std::string what = "PE " + std::to_string(pe);
      const bool direct = !apart && pe != 2;
      if (auto ok = same(map.is_direct(pe), direct, what + " is direct"); !ok) return ok;
      if (auto ok = same(map.has_direct_atomics(pe), false, what + " has atomics"); !ok) return ok;
    }
    if (auto ok = same(c.team_n_pes(kTeamShared), apart ? 1 : 2, "members"); !ok) return ok;
    const std::string why = map.describe(apart ? 0 : 2);
    if (why != "the NIC: the backend of PE 2 leaves its heap to the NIC") return mismatch(why);
    return {};
  });
}

// What PE 0 says of all PEs where PE 1's device needs a flush, and PE `apart` is no direct peer.
std::string summary_with_flush(int apart) {
  test::LimitedProvider provider([apart](int rank) {
    BackendLimits limits;
    limits.needs_cst = rank == 1;
    limits.direct_peers = rank != apart;
    return limits;
  });
  std::string text;
  expect_job(3, with_transport(TransportChoice::direct), provider, [&](Context& c) -> Result<void> {
    if (c.my_pe() == 0) text = c.transports().summary();
    const int members = c.transports().is_direct(c.my_pe()) ? 3 : 1;
    return same(c.team_n_pes(kTeamShared), members, "members of the shared team");
  });
  return text;
}

// A load from a direct peer may tell of what the NIC has written here, and no flush follows it.
TEST(TransportMap, IsAllOrNothingWhereADeviceNeedsAFlush) {
  EXPECT_EQ(summary_with_flush(-1), "PEs 0, 1, 2: loads, stores and atomics");
  EXPECT_EQ(summary_with_flush(2),
            "PEs 0, 1, 2: the NIC: the GPU of PE 1 does not order what the NIC writes, and not all "
            "PEs reach each other by atomics");
}

TEST(TransportMap, NamesThePeWithAnotherOption) {
  auto members = make_local_bootstraps(2, std::chrono::seconds(20));
  ASSERT_TRUE(members);
  auto provider = make_backend_provider({}, JobKind::in_process);
  ASSERT_TRUE(provider);
  std::string messages[2];
  const auto run = [&](std::size_t pe) {
    const Options options =
        with_transport(pe == 0 ? TransportChoice::nic : TransportChoice::direct);
    auto made = Context::create(options, std::move((*members)[pe]), **provider);
    if (!made) messages[pe] = made.error().message();
  };
  std::thread other([&] { run(1); });
  run(0);
  other.join();
  for (const std::string& message : messages) {
    EXPECT_NE(message.find("GDAKIT_TRANSPORT: PE 1 gave direct where PE 0 gave nic"),
              std::string::npos)
        << message;
  }
}

}  // namespace
}  // namespace gdakit
