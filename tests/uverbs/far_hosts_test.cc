// Fabrics of several hosts: here of several names, at several addresses of this host.
#include "backends/softnic/uverbs/far_hosts.h"

#include <cerrno>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/softnic/wire/udp_socket.h"
#include "tests/uverbs/client.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace test;
using testing::HasSubstr;

roce::IpAddress ip(const char* text) { return UdpAddress::parse(text)->ip; }

TEST(UverbsFarHosts, GidsAreAddressesOfIp) {
  for (const char* text : {"10.0.0.7", "127.0.0.2", "fd00::7"}) {
    EXPECT_EQ(ip_of(gid_of(ip(text))), ip(text)) << text;
  }
  const Gid link_local = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  const Gid multicast = {0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  for (const Gid& gid : {Gid{}, link_local, multicast}) EXPECT_FALSE(ip_of(gid));
}

TEST(UverbsFarHosts, EachHostHasEndpointsOfItsOwn) {
  FarHosts hosts(4791);
  const auto one = hosts.endpoint_of(gid_of(ip("10.0.0.7")), 3);
  const auto other = hosts.endpoint_of(gid_of(ip("fd00::7")), 3);
  ASSERT_TRUE(one && other);
  EXPECT_GE(*one, kPlaces) << "those below are this host's";
  EXPECT_NE(*one, *other);
  EXPECT_EQ(hosts.endpoint_of(gid_of(ip("10.0.0.7")), 3), one);
  EXPECT_EQ(hosts.address_of(*one).text(), "10.0.0.7:4794");
  EXPECT_EQ(hosts.address_of(*other).text(), "[fd00::7]:4794");
  EXPECT_EQ(hosts.sender(*UdpAddress::parse("10.0.0.7:4794"), /*of_anyone=*/false), one);
  EXPECT_TRUE(hosts.address_of(0).is_unspecified());
  EXPECT_TRUE(hosts.address_of(*other + kPlaces).is_unspecified());
}

TEST(UverbsFarHosts, OtherPortsAreNobodys) {
  FarHosts hosts(4791);
  EXPECT_FALSE(hosts.sender(*UdpAddress::parse("10.0.0.7:4790"), /*of_anyone=*/true));
  EXPECT_FALSE(hosts.sender(*UdpAddress::parse("10.0.0.7:4855"), /*of_anyone=*/true));
  EXPECT_TRUE(hosts.sender(*UdpAddress::parse("10.0.0.7:4854"), /*of_anyone=*/true));
}

TEST(UverbsFarHosts, ThereIsAnEndOfHosts) {
  FarHosts hosts(4791);
  for (std::size_t i = 0; i < FarHosts::kMostHosts; ++i) {
    const std::string text = "10.1." + std::to_string(i / 256) + "." + std::to_string(i % 256);
    ASSERT_TRUE(hosts.endpoint_of(gid_of(ip(text.c_str())), 0));
  }
  EXPECT_FALSE(hosts.endpoint_of(gid_of(ip("10.2.0.0")), 0));
  EXPECT_TRUE(hosts.endpoint_of(gid_of(ip("10.1.0.0")), 0)) << "one that is known stays";
}

TEST(UverbsFarHosts, IsHeardOfByADatagramAloneAndLeavesRoomForThoseThatAreNamed) {
  FarHosts hosts(4791);
  const UdpAddress stranger = *UdpAddress::parse("10.3.0.1:4791");
  EXPECT_FALSE(hosts.sender(stranger, /*of_anyone=*/false)) << "no connection leads there";
  for (std::size_t i = 0; i < FarHosts::kMostHeardOf; ++i) {
    const std::string text =
        "10.1." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ":4791";
    ASSERT_TRUE(hosts.sender(*UdpAddress::parse(text), /*of_anyone=*/true));
  }
  EXPECT_FALSE(hosts.sender(stranger, /*of_anyone=*/true));
  const auto named = hosts.endpoint_of(gid_of(stranger.ip), 0);
  EXPECT_TRUE(named);
  EXPECT_EQ(hosts.sender(stranger, /*of_anyone=*/true), named);
}

Spec spec_at(const char* fabric, const std::string& address) {
  return *Spec::parse(own_spec(fabric).text().substr(0, own_spec(fabric).text().find(",fabric")) +
                      ",address=" + address + ",fabric=" + own_spec(fabric).fabric);
}

struct TwoHosts : testing::Test {
  const std::string port = std::to_string(free_port());
  Spec here = spec_at("here", "127.0.0.1:" + port), there = spec_at("there", "127.0.0.2:" + port);
};

TEST_F(TwoHosts, RcCarriesBytesBetweenThem) {
  const auto one = open_device(here), other = open_device(there);
  Client sender(*one), receiver(*other);
  sender.make_all();
  receiver.make_all();
  sender.gid_index = receiver.gid_index = 3;
  sender.connect(receiver);
  receiver.connect(sender);
  std::memset(sender.payload(), 'x', 3000);
  receiver.post_receive(4096, 3000);
  sender.post_send(0, 3000);
  EXPECT_EQ(format::cqe_opcode(sender.next(sender.send_cq).op_own), format::CqeOpcode::requester);
  EXPECT_EQ(receiver.next(receiver.receive_cq).byte_cnt, 3000u);
  EXPECT_EQ(std::memcmp(receiver.payload() + 4096, sender.payload(), 3000), 0);
  EXPECT_GE(one->nic().counters().udp_packets_sent, 1u);
}

// They have the same numbers of queue pairs, and each reaches its own host's by its own address.
TEST_F(TwoHosts, AGidSaysTheHost) {
  const auto one = open_device(here), other = open_device(there);
  Client first(*one), second(*other);
  first.make_all();
  second.make_all();
  EXPECT_EQ(first.qpn, second.qpn);
  first.gid_index = 3;
  first.connect(first);
  first.post_receive(4096, 100);
  first.post_send(0, 100);
  EXPECT_EQ(first.next(first.receive_cq).byte_cnt, 100u);
  EXPECT_EQ(one->nic().counters().udp_packets_sent, 0u);
  EXPECT_EQ(other->nic().counters().packets_received, 0u);
}

TEST_F(TwoHosts, APlaceWhosePortIsTakenSaysSo) {
  const auto taken = UdpSocket::open(here.reached_at.at(0));
  ASSERT_TRUE(taken);
  const auto refused = Device::open(here, 0);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("127.0.0.1:" + port));
}

TEST(UverbsAddresses, WithoutAnAddressOtherHostsAreNotReached) {
  const auto device = open_device();
  Client client(*device);
  client.make_all();
  ASSERT_EQ(client.modify(client.to_init()), 0);
  ib_uverbs_modify_qp rtr = client.to_rtr(client.qpn);
  const Gid elsewhere = gid_of(ip("192.168.7.7"));
  std::memcpy(rtr.dest.dgid, elsewhere.data(), elsewhere.size());
  EXPECT_EQ(client.modify(rtr), EHOSTUNREACH);
}

TEST(UverbsAddresses, OfAnotherHostAreRefusedWhereTheyAreOpened) {
  const auto device = Device::open(spec_at("elsewhere", "192.0.2.1"), 0);
  ASSERT_FALSE(device);
  EXPECT_THAT(device.error().message(), HasSubstr("192.0.2.1"));
}

TEST(UverbsAddresses, AreRefusedWithTheReason) {
  const auto none = Spec::parse("address=nowhere0");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message(), HasSubstr("address=nowhere0"));
  const auto on_infiniband = Spec::parse("link=ib,address=127.0.0.1");
  ASSERT_FALSE(on_infiniband);
  EXPECT_THAT(on_infiniband.error().message(), HasSubstr("link=roce"));
  for (const char* port : {"0", "65473", "65535"}) {
    const auto beyond = Spec::parse("address=127.0.0.1:" + std::string(port));
    ASSERT_FALSE(beyond) << port;
    EXPECT_THAT(beyond.error().message(), HasSubstr("a port of 1 to 65472"));
  }
  EXPECT_TRUE(Spec::parse("address=127.0.0.1:65472"));
  const Spec spec = *Spec::parse("address=127.0.0.1");
  EXPECT_EQ(Spec::parse(spec.text())->reached_at, spec.reached_at);
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
