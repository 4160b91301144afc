// Where a NIC is reached, as users say it.
#include "backends/softnic/wire/nic_place.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gdakit::softnic {
namespace {

using testing::HasSubstr;

std::string place_of(std::string_view text, std::uint32_t nic = 0) {
  const Result<NicPlace> place = find_nic_place(text, nic);
  if (!place) return place.error().message();
  return place->address.text() + (place->has_port ? " for certain" : "");
}

TEST(NicPlace, IsAnAddress) {
  EXPECT_EQ(place_of("10.0.0.7"), "10.0.0.7:4791");
  EXPECT_EQ(place_of("10.0.0.7:4792"), "10.0.0.7:4792 for certain");
  EXPECT_EQ(place_of("10.0.0.7:4791"), "10.0.0.7:4791 for certain");
  EXPECT_EQ(place_of("fd00::7"), "[fd00::7]:4791");
  EXPECT_EQ(place_of("[fd00::7]:0"), "[fd00::7]:0 for certain");
}

TEST(NicPlace, IsAnInterface) {
  EXPECT_EQ(place_of("lo"), "127.0.0.1:4791");
  EXPECT_EQ(place_of("lo:4800"), "127.0.0.1:4800 for certain");
}

TEST(NicPlace, IsThisHostsAddressInANetwork) {
  EXPECT_EQ(place_of("127.0.0.0/16"), "127.0.0.1:4791");
  EXPECT_EQ(place_of("127.0.0.1/32", 5), "127.0.0.1:4791");
}

TEST(NicPlace, IsAnAddressForEachNicInTheNetworkOfTheLoopback) {
  EXPECT_EQ(place_of("127.0.0.0/8", 0), "127.0.0.1:4791");
  EXPECT_EQ(place_of("127.0.0.0/8", 299), "127.0.1.44:4791");
}

TEST(NicPlace, ThatThisHostHasNotIsAnErrorThatNamesThoseItHas) {
  EXPECT_THAT(place_of("203.0.113.0/24"),
              testing::AllOf(HasSubstr("\"203.0.113.0/24\""), HasSubstr("lo (127.0.0.1)")));
}

TEST(NicPlace, OfWhatIsNoneNamesWhatThereIs) {
  for (const char* text :
       {"no_such_interface", "lo:", "lo:65536", "lo:x", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1",
        "10.0.0.0/8x", "/8", "fd00::/129", "10.0.0.0:1/8", ""}) {
    EXPECT_THAT(place_of(text),
                testing::AllOf(HasSubstr("\"" + std::string(text) + "\""),
                               HasSubstr("is no address of a NIC"), HasSubstr("lo (127.0.0.1)")));
  }
}

TEST(NicPlace, TakesAnotherPortWhereRocesIsTaken) {
  const NicPlace place = *find_nic_place("127.77.0.1", 0);
  const Result<UdpSocket> first = open_at(place);
  ASSERT_TRUE(first) << first.error().message();
  if (first->address().port != 4791) GTEST_SKIP() << "port 4791 is another's";
  const Result<UdpSocket> second = open_at(place);
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_NE(second->address().port, 4791);
  EXPECT_EQ(second->address().ip, first->address().ip);
}

TEST(NicPlace, KeepsThePortThatTheUserSays) {
  const Result<UdpSocket> first = open_at(*find_nic_place("127.77.0.2:0", 0));
  ASSERT_TRUE(first) << first.error().message();
  const std::string taken = first->address().text();
  const Result<UdpSocket> second = open_at(*find_nic_place(taken, 0));
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message(), HasSubstr(taken));
}

TEST(NicPlace, InterfacesAreFoundByTheirAddress) {
  EXPECT_EQ(interface_of(find_nic_place("127.0.0.1", 0)->address), "lo");
  EXPECT_EQ(interface_of(find_nic_place("192.0.2.1", 0)->address), "lo") << "nobody has it";
  const Result<std::uint32_t> longest = longest_packet_of("lo");
  ASSERT_TRUE(longest) << longest.error().message();
  EXPECT_GE(*longest, 1500u);
  const Result<std::uint32_t> none = longest_packet_of("nowhere0");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message(), HasSubstr("nowhere0"));
}

}  // namespace
}  // namespace gdakit::softnic
