// Which PEs are near each other, and the wires between those.
#include "backends/softnic/near_wire.h"

#include <chrono>
#include <csignal>
#include <cstddef>
#include <functional>
#include <memory>
#include <sys/resource.h>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "core/host/bootstrap/local_bootstrap.h"
#include "core/host/memory/host_memory.h"

namespace gdakit::softnic {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

// Runs `body` on a thread for each PE.
void run_job(std::size_t pes, const std::function<void(Bootstrap&)>& body) {
  auto members = make_local_bootstraps(static_cast<int>(pes), 20s);
  std::vector<std::thread> threads;
  for (std::size_t pe = 0; pe < pes; ++pe) {
    threads.emplace_back([&body, member = std::move((*members)[pe])] { body(*member); });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Hosts, AreNamedByTheirFirstPes) {
  const Hosts hosts({0, 1, 0, 1, 4});
  EXPECT_EQ(hosts.size(), 5u);
  EXPECT_TRUE(hosts.are_near(0, 2) && hosts.are_near(3, 1) && hosts.are_near(4, 4));
  EXPECT_FALSE(hosts.are_near(0, 1) || hosts.are_near(4, 0));
  EXPECT_THAT(hosts.near(2), ElementsAre(true, false, true, false, false));
  EXPECT_THAT(hosts.members(3), ElementsAre(1, 3));
  EXPECT_THAT(hosts.members(4), ElementsAre(4));
  EXPECT_FALSE(hosts.are_one() || hosts.are_apart());
}

TEST(Hosts, AreOneOrApart) {
  EXPECT_TRUE(Hosts::one(3).are_one());
  EXPECT_FALSE(Hosts::one(3).are_apart());
  EXPECT_TRUE(Hosts({0, 1, 2}).are_apart());
  EXPECT_FALSE(Hosts({0, 1, 2}).are_one());
  EXPECT_TRUE(Hosts::one(1).are_one() && Hosts::one(1).are_apart());
}

TEST(Hosts, OfProcessesOfOneHostAreOne) {
  run_job(3, [](Bootstrap& bootstrap) {
    const Result<Hosts> hosts = find_hosts(bootstrap);
    ASSERT_TRUE(hosts) << hosts.error().message();
    EXPECT_TRUE(hosts->are_one());
    EXPECT_TRUE(bootstrap.barrier());
  });
}

// Each PE sends to all that are near; the PSN says from where.
void expect_near_to_meet(Bootstrap& bootstrap, const Hosts& hosts, Wire& wire) {
  const auto rank = static_cast<std::size_t>(bootstrap.rank());
  ASSERT_EQ(wire.endpoint(), rank);
  for (const Endpoint other : hosts.members(rank)) {
    Packet packet;
    packet.header.destination = other;
    packet.header.opcode = PacketOpcode::acknowledge;
    packet.header.psn = static_cast<std::uint32_t>(rank);
    packet.header.aeth = {};
    EXPECT_TRUE(wire.send(packet));
  }
  wire.flush();
  ASSERT_TRUE(bootstrap.barrier());
  std::vector<Endpoint> heard;
  while (const Packet* const packet = wire.receive()) {
    EXPECT_EQ(packet->header.source, packet->header.psn);
    heard.push_back(packet->header.source);
    wire.retire(packet);
  }
  EXPECT_THAT(heard, testing::UnorderedElementsAreArray(hosts.members(rank)));
}

TEST(NearWire, JoinsThePesOfEachHost) {
  const Hosts hosts({0, 1, 0, 1, 4});
  for (const PayloadPath payload : {PayloadPath::direct, PayloadPath::host}) {
    run_job(5, [&hosts, payload](Bootstrap& bootstrap) {
      HostMemoryProvider memory;
      Options options;
      options.payload = payload;
      auto link = open_near_wire(options, bootstrap, memory, hosts);
      ASSERT_TRUE(link) << link.error().message();
      EXPECT_TRUE(link->attached);
      EXPECT_EQ(link->hosts, hosts);
      EXPECT_EQ(link->sharing != nullptr, payload == PayloadPath::direct);
      ASSERT_NE(link->wire, nullptr);
      ASSERT_TRUE(bootstrap.barrier());
      expect_near_to_meet(bootstrap, hosts, *link->wire);
      EXPECT_TRUE(bootstrap.barrier());
    });
  }
}

// No file of this process grows beyond so many bytes.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  void (*const handler_)(int);
  rlimit before_{};
};

// The segment of four is too large for it, and that of one is not.
TEST(NearWire, PesOfAHostThatCannotHaveOneAreNearNobody) {
  const Hosts hosts({0, 0, 0, 0, 4});
  const FileLimit limit(4 << 20);
  run_job(5, [&hosts](Bootstrap& bootstrap) {
    HostMemoryProvider memory;
    Options options;
    options.payload = PayloadPath::host;
    const auto link = open_near_wire(options, bootstrap, memory, hosts);
    ASSERT_TRUE(link) << link.error().message();
    EXPECT_TRUE(link->hosts.are_apart());
    EXPECT_EQ(link->wire != nullptr, bootstrap.rank() == 4);
    EXPECT_EQ(static_cast<bool>(link->attached), bootstrap.rank() == 4);
    EXPECT_TRUE(bootstrap.barrier());
  });
}

}  // namespace
}  // namespace gdakit::softnic
