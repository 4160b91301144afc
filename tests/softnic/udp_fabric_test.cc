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
  const Result<bool> over_udp = goes_over_udp(options, bootstrap);
  if (!over_udp) return over_udp.error().message();
  EXPECT_EQ(*over_udp, !options.nic_address.empty());
  if (!*over_udp) return "";
  const auto wire = open_udp_wire(options, bootstrap);
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

TEST(UdpFabric, PesAgreeInOneRoundAndMeetInTwoMore) {
  Keyless bootstrap;
  EXPECT_TRUE(goes_over_udp(with(false), bootstrap));
  EXPECT_EQ(bootstrap.rounds, 1);
  EXPECT_TRUE(open_udp_wire(with(false), bootstrap));
  EXPECT_EQ(bootstrap.rounds, 3);
}

TEST(UdpFabric, TagsNeedASecret) {
  Keyless bootstrap;
  EXPECT_TRUE(open_udp_wire(with(false), bootstrap));
  const auto wire = open_udp_wire(with(true), bootstrap);
  ASSERT_FALSE(wire);
  EXPECT_THAT(wire.error().message(),
              AllOf(HasSubstr("GDAKIT_NIC_TAGS"), HasSubstr("set GDAKIT_SECRET")));
}

}  // namespace
}  // namespace gdakit::softnic
