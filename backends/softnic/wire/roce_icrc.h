// The invariant CRC at the end of a RoCEv2 packet, over all that does not change on its way.
//
//   8 bytes of ones | IP header | UDP header | BTH, other headers, payload, padding
//
// What routers change counts as ones: the traffic class, IPv6's flow label, the time to live, the
// checksums of IPv4 and UDP, and the BTH's byte of congestion bits. The CRC is Ethernet's CRC-32;
// its bytes go out little-endian. Source: InfiniBand Architecture Specification, volume 1, chapter
// 7.8, and annex A17.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "backends/softnic/wire/roce_headers.h"

namespace gdakit::softnic::roce {

struct IpAddress {
  std::array<std::uint8_t, 16> bytes = {};  // of IPv4 the first four
  bool is_v6 = false;

  bool operator==(const IpAddress&) const = default;
};

// What the IP and UDP headers say of a datagram, as far as the CRC covers it.
struct UdpWay {
  IpAddress source;
  IpAddress destination;  // of the same kind
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = kUdpPort;
  // IPv4 alone. A UDP socket does not tell it. Linux sends 0 from a socket that is not connected,
  // whose datagrams must not be fragmented (UdpSocket).
  std::uint16_t identification = 0;
  std::uint16_t fragment = 0x4000;  // flags[15:13] offset[12:0]: do not fragment
};

// From the BTH to the ICRC: what IPv4's length of 16 bits leaves.
inline constexpr std::size_t kMaxPacketBytes = 0xffff - 20 - 8;

// The packet behind the headers of IP and UDP that take it this way. UDP has no checksum over IPv4,
// as NICs send it, and one over IPv6, which demands it.
std::vector<std::uint8_t> frame_of(const UdpWay& way, std::span<const std::uint8_t> packet,
                                   std::uint8_t traffic_class = 0);

class Icrc {
 public:
  // Of a packet of so many bytes, from the BTH to the ICRC and with both: at most kMaxPacketBytes.
  Icrc(const UdpWay& way, std::size_t packet_bytes);
  // Begins with other headers, masked already and without the ones before them.
  explicit Icrc(std::span<const std::uint8_t> masked_headers);

  // Without what routers change.
  static Bth masked(Bth bth) {
    bth.qpn = Be32{std::uint32_t{bth.qpn} | 0xff000000};
    return bth;
  }
  void add_bth(const Bth& bth);
  void add(const void* bytes, std::size_t size);
  void add(std::span<const std::uint8_t> bytes) { add(bytes.data(), bytes.size()); }

  std::uint32_t value() const { return crc_; }

 private:
  friend class IcrcStarts;

  std::uint32_t crc_ = 0;
};

// The CRC up to the BTH of packets that take one way, which is remembered by their size.
class IcrcStarts {
 public:
  explicit IcrcStarts(const UdpWay& way) : way_(way) {}

  // As Icrc's constructor. `number` is added to the way's identification, which is 0 then; IPv6 has
  // none.
  Icrc of(std::size_t packet_bytes, std::uint32_t number = 0);

 private:
  struct Known {
    std::size_t packet_bytes = 0;  // none has so few
    Icrc start{std::span<const std::uint8_t>()};
  };

  UdpWay way_;
  std::array<Known, 8> known_;
};

// Tells a right CRC whose packet was numbered over IPv4 from a wrong one: the CRC is linear, so
// what the identification changes in it depends on that and the packet's size alone.
class IcrcNumbers {
 public:
  static constexpr std::uint32_t kCount = 64;

  // Of packets that are at most so long.
  explicit IcrcNumbers(std::size_t most_bytes) : changes_(most_bytes / 4 + 1) {}
  // Whether one identification below kCount in place of another makes this difference, by exclusive
  // or, for a packet of so many bytes.
  bool explain(std::uint32_t difference, std::size_t packet_bytes);

 private:
  // Of each bit of an identification; 0 where nobody has asked yet.
  using Changes = std::array<std::uint32_t, 6>;
  static_assert(kCount == 1u << std::tuple_size_v<Changes>);

  std::vector<Changes> changes_;  // by the packet's size in words
};

}  // namespace gdakit::softnic::roce
