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

Options with_tags(bool tags) {
  Options options;
  options.nic_address = "127.0.0.1:0";
  options.nic_tags = tags;
  return options;
}

// Opens the wire of each PE; the result's [pe] is empty or an error.
std::vector<std::string> open_all(const std::vector<bool>& tags) {
  auto members = make_local_bootstraps(static_cast<int>(tags.size()), 20s);
  std::vector<std::string> errors(tags.size());
  std::vector<std::thread> threads;
  for (std::size_t pe = 0; pe < tags.size(); ++pe) {
    threads.emplace_back([&errors, &tags, pe, member = std::move((*members)[pe])] {
      const auto wire = open_udp_wire(with_tags(tags[pe]), *member);
      if (!wire) errors[pe] = wire.error().message();
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

 private:
  Result<std::vector<Bytes>> exchange(const CollectiveCall&, std::vector<Bytes> blobs) override {
    return blobs;
  }
  void send_abort(const std::string&) override {}
};

TEST(UdpFabric, PesThatGiveTheSameOfTagsMeet) {
  EXPECT_THAT(open_all({true, true, true}), testing::Each(""));
  EXPECT_THAT(open_all({false, false}), testing::Each(""));
}

TEST(UdpFabric, OnePeWithTagsAndOneWithoutIsAnErrorOnBoth) {
  EXPECT_THAT(open_all({true, false}),
              testing::Each("GDAKIT_NIC_TAGS: PE 1 gave off where PE 0 gave on; all PEs must give "
                            "the same"));
}

TEST(UdpFabric, TagsNeedASecret) {
  Keyless bootstrap;
  EXPECT_TRUE(open_udp_wire(with_tags(false), bootstrap));
  const auto wire = open_udp_wire(with_tags(true), bootstrap);
  ASSERT_FALSE(wire);
  EXPECT_THAT(wire.error().message(),
              AllOf(HasSubstr("GDAKIT_NIC_TAGS"), HasSubstr("set GDAKIT_SECRET")));
}

}  // namespace
}  // namespace gdakit::softnic
