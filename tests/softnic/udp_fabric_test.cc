// What PEs agree on before their NICs meet over UDP.
#include "backends/softnic/udp_fabric.h"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "core/host/bootstrap/local_bootstrap.h"

namespace gdakit::softnic {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

Options with(bool tags, bool congestion = false) {
  Options options;
  options.nic_address = "127.0.0.1:0";
  options.nic_tags = tags;
  options.nic_congestion = congestion;
  return options;
}

std::string open_one(const Options& options, Bootstrap& bootstrap) {
  const Result<Meeting> meeting = find_meeting(options, bootstrap);
  if (!meeting) return meeting.error().message();
  EXPECT_EQ(*meeting == Meeting::in_memory, options.nic_address.empty());
  if (*meeting == Meeting::in_memory) return "";
  const std::vector<bool> near(static_cast<std::size_t>(bootstrap.size()));
  const auto wire = open_udp_wire(options, bootstrap, Hosts::one(bootstrap.size()), near);
  return wire ? "" : wire.error().message();
}

// Opens the wire of each PE; the result's [pe] is empty or an error.
std::vector<std::string> open_all(const std::vector<Options>& pes) {
  auto members = make_local_bootstraps(static_cast<int>(pes.size()), 20s);
  std::vector<std::string> errors(pes.size());
  std::vector<std::thread> threads;
  for (std::size_t pe = 0; pe < pes.size(); ++pe) {
    threads.emplace_back([&errors, &pes, pe, member = std::move((*members)[pe])] {
      errors[pe] = open_one(pes[pe], *member);
      EXPECT_TRUE(member->barrier());
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

// A job of one PE without a secret.
class Keyless final : public Bootstrap {
 public:
  Keyless() : Bootstrap(0, 1) {}

  int rounds = 0;

 private:
  Result<std::vector<Bytes>> exchange(const CollectiveCall&, std::vector<Bytes> blobs) override {
    ++rounds;
    return blobs;
  }
  void send_abort(const std::string&) override {}
};

TEST(UdpFabric, PesThatGiveTheSameOfTagsMeet) {
  EXPECT_THAT(open_all({with(true), with(true), with(true)}), testing::Each(""));
  EXPECT_THAT(open_all({with(false), with(false)}), testing::Each(""));
}

TEST(UdpFabric, OnePeWithTagsAndOneWithoutIsAnErrorOnBoth) {
  EXPECT_THAT(open_all({with(true), with(false)}),
              testing::Each("GDAKIT_NIC_TAGS: PE 1 gave off where PE 0 gave on; all PEs must give "
                            "the same"));
}

TEST(UdpFabric, PesThatGiveTheSameOfCongestionMeet) {
  EXPECT_THAT(open_all({with(false, true), with(false, true)}), testing::Each(""));
}

TEST(UdpFabric, OnePeWithoutCongestionControlIsAnErrorOnAll) {
  EXPECT_THAT(open_all({with(true, true), with(true, true), with(true, false)}),
              testing::Each("GDAKIT_NIC_CONGESTION: PE 2 gave off where PE 0 gave on; all PEs must "
                            "give the same"));
}

TEST(UdpFabric, NicsThatMeetInMemoryHaveTheSameCongestionControl) {
  Options with_control;
  with_control.nic_congestion = true;
  EXPECT_THAT(open_all({with_control, with_control}), testing::Each(""));
  EXPECT_THAT(open_all({Options(), with_control}),
              testing::Each(HasSubstr("GDAKIT_NIC_CONGESTION: PE 1 gave on where PE 0 gave off")));
}

TEST(UdpFabric, OnePeWithoutAnAddressIsNamedBeforeWhatElseDiffers) {
  EXPECT_THAT(open_all({with(true), Options()}),
              testing::Each("GDAKIT_NIC_ADDRESS: PE 1 gave none where PE 0 gave one; all PEs of a "
                            "job need one, or none"));
}

TEST(UdpFabric, PesAgreeInOneRoundAndMeetInThreeMore) {
  Keyless bootstrap;
  EXPECT_TRUE(find_meeting(with(false), bootstrap));
  EXPECT_EQ(bootstrap.rounds, 1);
  EXPECT_TRUE(open_udp_wire(with(false), bootstrap, Hosts::one(1), {false}));
  EXPECT_EQ(bootstrap.rounds, 4);
}

// PEs 0, 1 and 3 are of one host.
TEST(UdpFabric, NicsOfAHostThatWantOnePlaceShareIt) {
  Options options;
  options.nic_address = "127.7.7.7";
  auto members = make_local_bootstraps(4, 20s);
  std::vector<std::thread> threads;
  for (std::size_t pe = 0; pe < 4; ++pe) {
    threads.emplace_back([pe, options, member = std::move((*members)[pe])]() mutable {
      if (pe == 2) options.nic_address = "127.0.0.1:0";
      const std::vector<bool> near(4);
      const auto link = open_udp_wire(options, *member, Hosts({0, 0, 2, 0}), near);
      ASSERT_TRUE(link) << link.error().message();
      EXPECT_TRUE(link->addresses[pe] == link->wire->address());
      EXPECT_TRUE(link->addresses[1] == link->addresses[0]);
      EXPECT_TRUE(link->addresses[3] == link->addresses[0]);
      EXPECT_FALSE(link->addresses[2] == link->addresses[0]);
      static constexpr std::uint32_t kIndices[] = {0, 1, 0, 2};
      EXPECT_EQ(link->share.index, kIndices[pe]);
      EXPECT_EQ(link->share.bits, pe == 2 ? 0u : 2u);
      EXPECT_TRUE(member->barrier());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// As before, where the first PE cannot have the place.
TEST(UdpFabric, APlaceThatAnotherJobHasIsRefusedToAll) {
  const Result<UdpSocket> holder = UdpSocket::open(*UdpAddress::parse("127.0.0.1:0"));
  ASSERT_TRUE(holder);
  Options options;
  options.log = LogLevel::error;
  options.nic_address = holder->address().text();
  auto members = make_local_bootstraps(2, 20s);
  std::vector<std::thread> threads;
  for (std::size_t pe = 0; pe < 2; ++pe) {
    threads.emplace_back([options, member = std::move((*members)[pe])] {
      const auto link = open_udp_wire(options, *member, Hosts::one(2), {false, false});
      ASSERT_FALSE(link);
      EXPECT_THAT(link.error().message(),
                  AllOf(HasSubstr(options.nic_address), HasSubstr("has it")));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// PEs 0 and 1 are near each other.
TEST(UdpFabric, TheNearAreNotConnected) {
  auto members = make_local_bootstraps(3, 20s);
  std::vector<std::thread> threads;
  for (std::size_t pe = 0; pe < 3; ++pe) {
    threads.emplace_back([pe, member = std::move((*members)[pe])] {
      const std::vector<bool> near = {pe != 2, pe != 2, pe == 2};
      const auto link = open_udp_wire(with(false), *member, Hosts({0, 0, 2}), near);
      ASSERT_TRUE(link) << link.error().message();
      ASSERT_EQ(link->addresses.size(), 3u);
      EXPECT_TRUE(link->addresses[pe] == link->wire->address());
      for (Endpoint other = 0; other < 3; ++other) {
        const UdpAddress known = link->wire->address_of(other);
        EXPECT_EQ(known == link->addresses[other], other == pe || !near[other]) << other;
      }
      EXPECT_TRUE(member->barrier());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// What each PE is told of how the NICs of a job with these options meet.
std::vector<std::string> meetings(const std::vector<Options>& options) {
  auto members = make_local_bootstraps(static_cast<int>(options.size()), 20s);
  std::vector<std::string> told(options.size());
  std::vector<std::thread> threads;
  for (std::size_t pe = 0; pe < options.size(); ++pe) {
    threads.emplace_back([&told, &options, pe, member = std::move((*members)[pe])] {
      const auto meeting = find_meeting(options[pe], *member);
      static constexpr const char* kNames[] = {"in memory", "over UDP", "by place"};
      told[pe] = meeting ? kNames[static_cast<int>(*meeting)] : meeting.error().message();
      static_cast<void>(member->barrier());
    });
  }
  for (std::thread& thread : threads) thread.join();
  return told;
}

Options at(const std::string& address, NearWire near = NearWire::automatic) {
  Options options;
  options.nic_address = address;
  options.nic_near = near;
  return options;
}

TEST(Meeting, WithoutAddressesIsInMemory) {
  EXPECT_THAT(meetings({at("", NearWire::udp), at("")}), testing::Each("in memory"));
}

TEST(Meeting, IsAsTheOptionSays) {
  for (const std::string address : {"127.0.0.0/8", "10.0.0.7"}) {
    EXPECT_THAT(meetings({at(address, NearWire::udp), at(address, NearWire::udp)}),
                testing::Each("over UDP"));
    EXPECT_THAT(meetings({at(address, NearWire::memory), at(address, NearWire::memory)}),
                testing::Each("by place"));
  }
}

TEST(Meeting, IsByPlaceUnlessAllAddressesAreLoopback) {
  EXPECT_THAT(meetings({at("127.0.0.0/8"), at("127.0.0.1")}), testing::Each("over UDP"));
  EXPECT_THAT(meetings({at("127.0.0.0/8"), at("10.0.0.7")}), testing::Each("by place"));
}

TEST(Meeting, NeedsTheSameOfAllPes) {
  EXPECT_THAT(meetings({at("127.0.0.1"), at("")}),
              testing::Each(HasSubstr("GDAKIT_NIC_ADDRESS: PE 1 gave none where PE 0 gave one")));
  EXPECT_THAT(meetings({at("127.0.0.1"), at("127.0.0.1", NearWire::memory)}),
              testing::Each(HasSubstr("GDAKIT_NIC_NEAR: PE 1 gave memory where PE 0 gave auto")));
}

TEST(Meeting, NeedsAnAddressThatIsOne) {
  EXPECT_THAT(meetings({at("nowhere", NearWire::memory)}),
              testing::Each(HasSubstr("GDAKIT_NIC_ADDRESS: \"nowhere\" is no address")));
}

TEST(UdpFabric, TagsNeedASecret) {
  Keyless bootstrap;
  EXPECT_TRUE(open_udp_wire(with(false), bootstrap, Hosts::one(1), {false}));
  const auto wire = open_udp_wire(with(true), bootstrap, Hosts::one(1), {false});
  ASSERT_FALSE(wire);
  EXPECT_THAT(wire.error().message(),
              AllOf(HasSubstr("GDAKIT_NIC_TAGS"), HasSubstr("set GDAKIT_SECRET")));
}

}  // namespace
}  // namespace gdakit::softnic
