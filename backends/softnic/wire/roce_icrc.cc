#include "backends/softnic/wire/roce_icrc.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <libdeflate.h>

#include "core/base/assert.h"

namespace gdakit::softnic::roce {
namespace {

constexpr std::uint8_t kUdpProtocol = 17;
constexpr std::uint8_t kChanges = 0xff;  // in place of what changes on the way
constexpr std::uint16_t kChecksum = 0xffff;

struct Ipv4Layout {
  std::uint8_t version_and_words;
  std::uint8_t type_of_service;
  Be16 length;
  Be16 identification;
  Be16 fragment;
  std::uint8_t time_to_live;
  std::uint8_t protocol;
  Be16 checksum;
  std::array<std::uint8_t, 4> source;
  std::array<std::uint8_t, 4> destination;
};
static_assert(sizeof(Ipv4Layout) == 20);

struct Ipv6Layout {
  Be32 version_class_flow;
  Be16 payload_length;
  std::uint8_t next_header;
  std::uint8_t hop_limit;
  std::array<std::uint8_t, 16> source;
  std::array<std::uint8_t, 16> destination;
};
static_assert(sizeof(Ipv6Layout) == 40);

struct UdpLayout {
  Be16 source_port;
  Be16 destination_port;
  Be16 length;
  Be16 checksum;
};
static_assert(sizeof(UdpLayout) == 8);

std::array<std::uint8_t, 4> first_four(const IpAddress& address) {
  return {address.bytes[0], address.bytes[1], address.bytes[2], address.bytes[3]};
}

// What routers change is 0.
Ipv4Layout ipv4_of(const UdpWay& way, std::uint16_t udp_length) {
  Ipv4Layout header{};
  header.version_and_words = 0x45;
  header.length = Be16{static_cast<std::uint16_t>(sizeof header + udp_length)};
  header.identification = Be16{way.identification};
  header.fragment = Be16{way.fragment};
  header.protocol = kUdpProtocol;
  header.source = first_four(way.source);
  header.destination = first_four(way.destination);
  return header;
}

Ipv6Layout ipv6_of(const UdpWay& way, std::uint16_t udp_length) {
  Ipv6Layout header{};
  header.version_class_flow = Be32{0x60000000};
  header.payload_length = Be16{udp_length};
  header.next_header = kUdpProtocol;
  header.source = way.source.bytes;
  header.destination = way.destination.bytes;
  return header;
}

UdpLayout udp_of(const UdpWay& way, std::uint16_t length) {
  return {Be16{way.source_port}, Be16{way.destination_port}, Be16{length}, Be16{0}};
}

std::uint16_t udp_length(std::size_t packet_bytes) {
  GDAKIT_ASSERT(packet_bytes <= kMaxPacketBytes);
  return static_cast<std::uint16_t>(sizeof(UdpLayout) + packet_bytes);
}

// Of the Internet: the ones' complement of the sum of all words, whose number of bytes is even.
class Checksum {
 public:
  void add(const void* bytes, std::size_t size) {
    const auto* const from = static_cast<const std::uint8_t*>(bytes);
    for (std::size_t i = 0; i < size; i += 2) sum_ += from[i] << 8 | from[i + 1];
  }
  std::uint16_t value() const {
    std::uint32_t sum = sum_;
    while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<std::uint16_t>(~sum);
  }

 private:
  std::uint32_t sum_ = 0;  // no more than 2^15 words
};

// Over the pseudo-header of IPv6. 0 would mean that there is none.
std::uint16_t udp_checksum(const Ipv6Layout& ip, const UdpLayout& udp,
                           std::span<const std::uint8_t> packet) {
  Checksum sum;
  sum.add(&ip.source, sizeof ip.source);
  sum.add(&ip.destination, sizeof ip.destination);
  sum.add(&ip.payload_length, sizeof ip.payload_length);
  const Be16 protocol{kUdpProtocol};
  sum.add(&protocol, sizeof protocol);
  sum.add(&udp, sizeof udp);
  sum.add(packet.data(), packet.size());
  return sum.value() == 0 ? 0xffff : sum.value();
}

template <class IpLayout>
std::vector<std::uint8_t> joined(const IpLayout& ip, const UdpLayout& udp,
                                 std::span<const std::uint8_t> packet) {
  std::vector<std::uint8_t> frame(sizeof ip + sizeof udp + packet.size());
  std::memcpy(frame.data(), &ip, sizeof ip);
  std::memcpy(frame.data() + sizeof ip, &udp, sizeof udp);
  std::copy(packet.begin(), packet.end(), frame.begin() + sizeof ip + sizeof udp);
  return frame;
}

// Of IPv4's and UDP's header behind the identification, and the IPv4 header's bytes before its low
// byte.
constexpr std::size_t kBehindNumber = 14 + sizeof(UdpLayout);
constexpr std::array<std::uint8_t, 16384> kZeros = {};

// What the CRC's change after a byte becomes by so many bytes more, whatever they are.
std::uint32_t carried(std::uint32_t change, std::size_t bytes) {
  std::uint32_t with = change, without = 0;
  while (bytes != 0) {
    const std::size_t piece = std::min(bytes, kZeros.size());
    with = libdeflate_crc32(with, kZeros.data(), piece);
    without = libdeflate_crc32(without, kZeros.data(), piece);
    bytes -= piece;
  }
  return with ^ without;
}

// What a low byte of the identification changes at once, in place of 0.
std::uint32_t change_by(std::uint8_t number) {
  return libdeflate_crc32(0, &number, 1) ^ libdeflate_crc32(0, kZeros.data(), 1);
}

// ... and behind the UDP header, by number.
const std::array<std::uint32_t, IcrcNumbers::kCount>& changes_of_starts() {
  static const auto table = [] {
    std::array<std::uint32_t, IcrcNumbers::kCount> changes{};
    for (std::uint8_t i = 0; i < changes.size(); ++i) {
      changes[i] = carried(change_by(i), kBehindNumber);
    }
    return changes;
  }();
  return table;
}

}  // namespace

Icrc IcrcStarts::of(std::size_t packet_bytes, std::uint32_t number) {
  GDAKIT_ASSERT(number < IcrcNumbers::kCount);
  Known& known = known_[packet_bytes / 4 % known_.size()];
  if (known.packet_bytes != packet_bytes) known = {packet_bytes, Icrc(way_, packet_bytes)};
  Icrc start = known.start;
  if (!way_.source.is_v6) start.crc_ ^= changes_of_starts()[number];
  return start;
}

bool IcrcNumbers::explain(std::uint32_t difference, std::size_t packet_bytes) {
  if (packet_bytes / 4 >= changes_.size()) return false;
  Changes& changes = changes_[packet_bytes / 4];
  if (changes[0] == 0) {
    for (unsigned bit = 0; bit < changes.size(); ++bit) {
      changes[bit] = carried(change_by(static_cast<std::uint8_t>(1 << bit)),
                             kBehindNumber + packet_bytes - kIcrcBytes);
    }
  }
  // In an order in which each number has one other bit than the last.
  std::uint32_t change = 0;
  for (std::uint32_t i = 1; i < kCount && change != difference; ++i) {
    change ^= changes[static_cast<std::size_t>(std::countr_zero(i))];
  }
  return change == difference;
}

Icrc::Icrc(std::span<const std::uint8_t> masked_headers) {
  constexpr std::array<std::uint8_t, 8> kOnes = {255, 255, 255, 255, 255, 255, 255, 255};
  add(kOnes);
  add(masked_headers);
}

Icrc::Icrc(const UdpWay& way, std::size_t packet_bytes) : Icrc({}) {
  const std::uint16_t length = udp_length(packet_bytes);
  if (way.source.is_v6) {
    Ipv6Layout header = ipv6_of(way, length);
    header.version_class_flow = Be32{0x6fffffff};
    header.hop_limit = kChanges;
    add(&header, sizeof header);
  } else {
    Ipv4Layout header = ipv4_of(way, length);
    header.type_of_service = header.time_to_live = kChanges;
    header.checksum = Be16{kChecksum};
    add(&header, sizeof header);
  }
  UdpLayout udp = udp_of(way, length);
  udp.checksum = Be16{kChecksum};
  add(&udp, sizeof udp);
}

std::vector<std::uint8_t> frame_of(const UdpWay& way, std::span<const std::uint8_t> packet,
                                   std::uint8_t traffic_class) {
  constexpr std::uint8_t kHops = 64;
  const std::uint16_t length = udp_length(packet.size());
  UdpLayout udp = udp_of(way, length);
  if (way.source.is_v6) {
    Ipv6Layout header = ipv6_of(way, length);
    header.version_class_flow = Be32{0x60000000 | std::uint32_t{traffic_class} << 20};
    header.hop_limit = kHops;
    udp.checksum = Be16{udp_checksum(header, udp, packet)};
    return joined(header, udp, packet);
  }
  Ipv4Layout header = ipv4_of(way, length);
  header.type_of_service = traffic_class;
  header.time_to_live = kHops;
  Checksum sum;
  sum.add(&header, sizeof header);
  header.checksum = Be16{sum.value()};
  return joined(header, udp, packet);
}

void Icrc::add_bth(const Bth& bth) {
  const Bth covered = masked(bth);
  add(&covered, sizeof covered);
}

void Icrc::add(const void* bytes, std::size_t size) {
  if (size != 0) crc_ = libdeflate_crc32(crc_, bytes, size);
}

}  // namespace gdakit::softnic::roce
