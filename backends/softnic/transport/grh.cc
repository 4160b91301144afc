#include "backends/softnic/transport/grh.h"

#include <algorithm>
#include <cstring>

#include "core/base/bits.h"
#include "core/base/endian.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint32_t kUdp = 17, kIbGlobalHeader = 0x1b;  // the next header
constexpr std::uint8_t kHops = 64;
// Behind the IP header: UDP's, BTH, DETH, ICRC.
constexpr std::uint32_t kUdpHeader = 8, kTransport = 12 + 8 + 4, kImmediate = 4;

struct Ipv6 {
  Be32 version_class_flow;  // version[31:28] class[27:20] flow label[19:0]
  Be16 length;              // behind this header
  std::uint8_t next;
  std::uint8_t hops;
  std::uint8_t source[16];
  std::uint8_t destination[16];
};
static_assert(sizeof(Ipv6) == format::kGrhBytes);

struct Ipv4 {
  std::uint8_t version_words;
  std::uint8_t traffic_class;
  Be16 length;  // with this header
  Be16 identification;
  Be16 fragment;  // do not fragment[14]
  std::uint8_t hops;
  std::uint8_t protocol;
  Be16 checksum;
  std::uint8_t source[4];
  std::uint8_t destination[4];
};
static_assert(sizeof(Ipv4) == 20);

bool is_infiniband(const PortAddress& port) { return port.lid != 0; }
bool is_over_ipv4(const PortAddress& from, const PortAddress& to) {
  return !is_infiniband(to) && is_ipv4(from.gid) && is_ipv4(to.gid);
}

std::uint32_t transport_bytes(const PacketHeader& header) {
  const std::uint32_t immediate = has_immediate(header.opcode) ? kImmediate : 0;
  return kTransport + immediate + static_cast<std::uint32_t>(round_up(header.payload_size, 4u));
}

// One's complement of the one's complement sum of all 16-bit words.
std::uint16_t checksum_of(const Ipv4& ip) {
  const auto words = bit_cast<std::array<Be16, sizeof(Ipv4) / 2>>(ip);
  std::uint32_t sum = 0;
  for (const Be16 word : words) sum += std::uint16_t{word};
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

Ipv4 make_ipv4(const PortAddress& from, const PortAddress& to, const PacketHeader& header) {
  constexpr std::size_t kAddressAt = 12;  // in a GID
  const std::size_t length = sizeof(Ipv4) + kUdpHeader + transport_bytes(header);
  Ipv4 ip{};
  ip.version_words = 0x45;
  ip.traffic_class = header.traffic_class;
  ip.length = Be16{static_cast<std::uint16_t>(length)};
  ip.fragment = Be16{0x4000};
  ip.hops = kHops;
  ip.protocol = kUdp;
  std::copy_n(from.gid.begin() + kAddressAt, sizeof ip.source, ip.source);
  std::copy_n(to.gid.begin() + kAddressAt, sizeof ip.destination, ip.destination);
  ip.checksum = Be16{checksum_of(ip)};
  return ip;
}

Ipv6 make_ipv6(const PortAddress& from, const PortAddress& to, const PacketHeader& header) {
  const bool over_udp = !is_infiniband(to);
  const std::uint32_t length = (over_udp ? kUdpHeader : 0) + transport_bytes(header);
  Ipv6 ip{};
  ip.version_class_flow = Be32{(6u << 28) | (std::uint32_t{header.traffic_class} << 20)};
  ip.length = Be16{static_cast<std::uint16_t>(length)};
  ip.next = over_udp ? kUdp : kIbGlobalHeader;
  ip.hops = kHops;
  std::copy(from.gid.begin(), from.gid.end(), ip.source);
  std::copy(to.gid.begin(), to.gid.end(), ip.destination);
  return ip;
}

}  // namespace

Grh make_grh(const PortAddress& from, const PortAddress& to, const PacketHeader& header) {
  if (!is_over_ipv4(from, to)) return bit_cast<Grh>(make_ipv6(from, to, header));
  Grh grh = {};
  const Ipv4 ip = make_ipv4(from, to, header);
  std::memcpy(grh.data() + grh.size() - sizeof ip, &ip, sizeof ip);
  return grh;
}

std::uint32_t grh_flags(const PortAddress& from, const PortAddress& to,
                        const PacketHeader& header) {
  using format::CqeL3;
  if (is_infiniband(to)) {
    return format::kCqeGrhInBuffer | std::uint32_t{header.service_level} << 24;
  }
  const CqeL3 l3 = is_over_ipv4(from, to) ? CqeL3::udp_ipv4 : CqeL3::udp_ipv6;
  return format::kCqeGrhInBuffer | static_cast<std::uint32_t>(l3) << 24;
}

}  // namespace gdakit::softnic
