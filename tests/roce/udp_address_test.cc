// Addresses of NICs as users write them.
#include "backends/softnic/wire/udp_address.h"

#include <string>

#include <gtest/gtest.h>

namespace gdakit::softnic {
namespace {

TEST(UdpAddress, IsReadAndWritten) {
  for (const char* text : {"10.0.0.7:4792", "127.0.0.1:0", "[fd00::7]:4792", "[::1]:65535"}) {
    const Result<UdpAddress> address = UdpAddress::parse(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->text(), text);
  }
}

TEST(UdpAddress, HasRocesPortIfItSaysNone) {
  EXPECT_EQ(UdpAddress::parse("10.0.0.7")->text(), "10.0.0.7:4791");
  EXPECT_EQ(UdpAddress::parse("fd00::7")->text(), "[fd00::7]:4791");
  EXPECT_EQ(UdpAddress::parse("[fd00::7]")->text(), "[fd00::7]:4791");
}

TEST(UdpAddress, OfWhatIsNoneSaysSo) {
  for (const char* text :
       {"", "host", "10.0.0", "10.0.0.7:", "10.0.0.7:65536", "10.0.0.7:-1", "10.0.0.7:1x",
        "[fd00::7", "[fd00::7]4792", "[fd00::7]:", "fd00::7::1", "[10.0.0.7]", "[10.0.0.7]:4791",
        "10.0.0.7 ", "fe80::1", "[fe80::1]:4791", "::ffff:10.0.0.7"}) {
    const Result<UdpAddress> address = UdpAddress::parse(text);
    ASSERT_FALSE(address) << text;
    EXPECT_EQ(address.error().code(), Code::invalid_argument);
    EXPECT_NE(address.error().message().find("\"" + std::string(text) + "\""), std::string::npos);
  }
}

TEST(UdpAddress, GoesToTheSystemAndBack) {
  for (const char* text : {"10.0.0.7:4792", "[fd00::7]:4792"}) {
    const UdpAddress address = *UdpAddress::parse(text);
    EXPECT_EQ(SocketAddress(address).address(), address) << text;
  }
}

}  // namespace
}  // namespace gdakit::softnic
