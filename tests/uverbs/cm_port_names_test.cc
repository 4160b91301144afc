// Ports of rdma_cm, as names that all processes of a host share.
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include "backends/softnic/uverbs/cm/port_names.h"

namespace gdakit::softnic::uverbs::cm {
namespace {

Gid ipv4(std::uint8_t last) { return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, last}; }
// The longest that a fabric may have.
std::string fabric() {
  std::string name = "ports-" + std::to_string(::getpid()) + "-";
  name.resize(40, 'x');
  return name;
}

class CmPortNames : public testing::Test {
 protected:
  std::optional<KeptFile> take(IpPort address, PortSpace space = PortSpace::tcp) {
    return names_.take(space, address);
  }

  PortNames names_{fabric()};
};

TEST_F(CmPortNames, GivesAnAddressOnce) {
  auto held = take({ipv4(1), 80});
  EXPECT_TRUE(held);
  EXPECT_FALSE(take({ipv4(1), 80}));
  EXPECT_TRUE(take({ipv4(2), 80}));
  EXPECT_TRUE(take({ipv4(1), 81}));
  EXPECT_TRUE(take({ipv4(1), 80}, PortSpace::udp));
  held.reset();
  EXPECT_TRUE(take({ipv4(1), 80}));
}

TEST_F(CmPortNames, TakesAnyForAll) {
  {
    const auto one = take({ipv4(1), 80});
    EXPECT_FALSE(take({{}, 80}));
  }
  const auto any = take({{}, 80});
  EXPECT_TRUE(any);
  EXPECT_FALSE(take({ipv4(1), 80}));
}

TEST_F(CmPortNames, FindsFreePorts) {
  IpPort one{ipv4(1), 0}, other{ipv4(1), 0};
  const auto first = names_.take(PortSpace::tcp, one);
  const auto second = names_.take(PortSpace::tcp, other);
  ASSERT_TRUE(first && second);
  EXPECT_NE(one.port, 0);
  EXPECT_NE(one.port, other.port);
}

TEST_F(CmPortNames, SaysWhoListensForAsLongAsOneDoes) {
  Gid ipv6{0xfd};
  ipv6[15] = 1;
  for (const Gid& ip : {ipv4(1), ipv6}) {
    EXPECT_FALSE(names_.find_listener(PortSpace::tcp, {ip, 80}));
    {
      const auto listens = names_.listen(PortSpace::tcp, {ip, 80}, 63);
      EXPECT_TRUE(listens);
      EXPECT_EQ(names_.find_listener(PortSpace::tcp, {ip, 80}), 63u);
      EXPECT_FALSE(names_.find_listener(PortSpace::tcp, {ipv4(2), 80}));
      EXPECT_FALSE(names_.find_listener(PortSpace::udp, {ip, 80}));
      EXPECT_TRUE(names_.has_listener(PortSpace::tcp, 80));
      EXPECT_FALSE(names_.has_listener(PortSpace::tcp, 8));
    }
    EXPECT_FALSE(names_.find_listener(PortSpace::tcp, {ip, 80}));
  }
}

}  // namespace
}  // namespace gdakit::softnic::uverbs::cm
