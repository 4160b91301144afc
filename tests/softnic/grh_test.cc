// What stands before a datagram in its receive buffer.
#include "backends/softnic/transport/grh.h"

#include <cstring>

#include <gtest/gtest.h>

#include "core/base/bits.h"
#include "tests/softnic/datagram_rig.h"

namespace gdakit::softnic::test {
namespace {

PacketHeader header_of(std::uint32_t payload) {
  PacketHeader header;
  header.service = ServiceType::ud;
  header.opcode = PacketOpcode::send_only;
  header.payload_size = payload;
  header.traffic_class = 0x20;
  header.service_level = 3;
  return header;
}

std::uint32_t word_at(const Grh& grh, std::size_t at) {
  return std::uint32_t{grh[at]} << 8 | grh[at + 1];
}

TEST(Grh, OfIpv4IsAnIpHeaderInTheLast20Bytes) {
  Addresses addresses(AddressKind::ipv4);
  const Grh grh = make_grh(addresses.address_of(0), addresses.address_of(1), header_of(5));
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(grh[i], 0);
  EXPECT_EQ(grh[20], 0x45);
  EXPECT_EQ(grh[21], 0x20);
  // IP, UDP, BTH, DETH, payload with its padding, ICRC.
  EXPECT_EQ(word_at(grh, 22), 20u + 8 + 12 + 8 + 8 + 4);
  EXPECT_EQ(grh[29], 17);
  std::uint32_t sum = 0;
  for (std::size_t i = 20; i < 40; i += 2) sum += word_at(grh, i);
  EXPECT_EQ((sum & 0xffff) + (sum >> 16), 0xffffu) << "the checksum is wrong";
  const std::uint8_t ends[] = {192, 168, 7, 1, 192, 168, 7, 2};
  EXPECT_EQ(std::memcmp(&grh[32], ends, sizeof ends), 0);
}

TEST(Grh, OfAnyOtherAddressHasBothGids) {
  for (const AddressKind kind : {AddressKind::ipv6, AddressKind::infiniband}) {
    Addresses addresses(kind);
    const PortAddress from = addresses.address_of(0);
    const PortAddress to = addresses.address_of(1);
    PacketHeader header = header_of(4);
    header.opcode = PacketOpcode::send_only_imm;
    const Grh grh = make_grh(from, to, header);
    const bool over_udp = kind == AddressKind::ipv6;
    EXPECT_EQ(grh[0] >> 4, 6);
    EXPECT_EQ(word_at(grh, 0) >> 4 & 0xff, 0x20u);
    EXPECT_EQ(word_at(grh, 4), (over_udp ? 8u : 0u) + 12 + 8 + 4 + 4 + 4);
    EXPECT_EQ(grh[6], over_udp ? 17 : 0x1b);
    EXPECT_EQ(std::memcmp(&grh[8], from.gid.data(), 16), 0);
    EXPECT_EQ(std::memcmp(&grh[24], to.gid.data(), 16), 0);
  }
}

TEST(Grh, TheCqeSaysOfWhichKindItIs) {
  const auto flags = [](AddressKind kind) {
    Addresses addresses(kind);
    return grh_flags(addresses.address_of(0), addresses.address_of(1), header_of(5));
  };
  EXPECT_EQ(flags(AddressKind::ipv4), 0x1a000000u);
  EXPECT_EQ(flags(AddressKind::ipv6), 0x19000000u);
  EXPECT_EQ(flags(AddressKind::infiniband), 0x13000000u) << "the service level";
}

}  // namespace
}  // namespace gdakit::softnic::test
