// The table of RoCE addresses, as the firmware tells it.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/format/prm/query.h"
#include "tests/softnic/asked_firmware.h"

namespace gdakit::softnic::test {
namespace {

using prm::MboxOut;
using prm::QueryRoceAddressIn;
using prm::QueryRoceAddressOut;
using Sy = CommandSyndrome;

constexpr Gid kLinkLocal = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8};
constexpr Gid kIpv4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 7};

class RoceAddresses : public testing::Test {
 protected:
  static Status ask_for_address(AskedFirmware& device, std::uint64_t index,
                                std::span<std::uint8_t> out, std::uint64_t port = 0) {
    prm::Mailbox<QueryRoceAddressIn> in;
    in.set(QueryRoceAddressIn::roce_address_index, index);
    in.set(QueryRoceAddressIn::vhca_port_num, port);
    return device.ask(prm::Opcode::query_roce_address, in, out);
  }
  static std::vector<RoceAddress> addresses() {
    const std::array<std::uint8_t, 6> mac = {0x0c, 0x42, 0xa1, 3, 4, 5};
    return {{kLinkLocal, mac, RoceVersion::v1},
            {kLinkLocal, mac, RoceVersion::v2},
            {kIpv4, mac, RoceVersion::v2}};
  }

  AskedFirmware device_{FirmwareIdentity{.addresses = addresses()}};
};

TEST_F(RoceAddresses, AreToldByIndex) {
  constexpr unsigned kL3Ipv4 = 0, kL3Ipv6 = 1;
  const std::vector<RoceAddress> expected = addresses();
  const unsigned l3_types[] = {kL3Ipv4, kL3Ipv6, kL3Ipv4};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    for (const std::uint64_t port : {0u, 1u}) {
      prm::Mailbox<QueryRoceAddressOut> out;
      ASSERT_TRUE(ask_for_address(device_, i, out.bytes(), port).ok());
      const auto address = std::as_const(out).at(QueryRoceAddressOut::roce_address);
      using prm::RoceAddrLayout;
      EXPECT_TRUE(
          std::ranges::equal(address.at(RoceAddrLayout::source_l3_address), expected[i].gid));
      EXPECT_EQ(address.get(RoceAddrLayout::source_mac_47_32), 0x0c42u);
      EXPECT_EQ(address.get(RoceAddrLayout::source_mac_31_0), 0xa1030405u);
      EXPECT_EQ(address.get(RoceAddrLayout::roce_version),
                static_cast<std::uint64_t>(expected[i].version));
      EXPECT_EQ(address.get(RoceAddrLayout::roce_l3_type), l3_types[i]);
    }
  }
}

TEST_F(RoceAddresses, AreZeroesWhereThereIsNone) {
  prm::Mailbox<QueryRoceAddressOut> out;
  for (std::uint64_t i = addresses().size(); i < kRoceAddresses; ++i) {
    ASSERT_TRUE(ask_for_address(device_, i, out.bytes()).ok());
    EXPECT_EQ(bits_set(out.bytes()), 0u);
  }
}

TEST_F(RoceAddresses, EndWithTheTable) {
  prm::Mailbox<QueryRoceAddressOut> out;
  for (const std::uint64_t index : {kRoceAddresses, std::size_t{0xffff}}) {
    const Status status = ask_for_address(device_, index, out.bytes());
    EXPECT_EQ(status.status, CommandStatus::bad_param);
    EXPECT_EQ(status.syndrome, Sy::mailbox_roce_address);
  }
  EXPECT_EQ(ask_for_address(device_, 0, out.bytes(), 2).syndrome, Sy::mailbox_port);
}

TEST_F(RoceAddresses, AreNoneOfInfiniBand) {
  AskedFirmware device({.ethernet = false, .addresses = addresses()});
  prm::Mailbox<QueryRoceAddressOut> out;
  EXPECT_EQ(ask_for_address(device, 0, out.bytes()).syndrome, Sy::mailbox_roce_address);
}

// Mailboxes of some clients end behind the header.
TEST_F(RoceAddresses, AreCutWhereTheAnswerEnds) {
  prm::Mailbox<QueryRoceAddressOut> whole;
  ASSERT_TRUE(ask_for_address(device_, 2, whole.bytes()).ok());
  std::array<std::uint8_t, QueryRoceAddressOut::kBytes> out;
  for (std::size_t size = MboxOut::kBytes; size < out.size(); ++size) {
    out.fill(0xee);
    ASSERT_TRUE(ask_for_address(device_, 2, std::span(out).first(size)).ok());
    EXPECT_TRUE(std::ranges::equal(std::span(out).first(size), whole.bytes().first(size)));
    EXPECT_EQ(out[size], 0xee);
  }
}

}  // namespace
}  // namespace gdakit::softnic::test
