// A tag behind a RoCEv2 packet in its datagram, by which the receiver knows that who made it has
// the job's key, and that nothing of it has changed:
//
//   BTH | other headers | payload | padding | ICRC | tag
//
// It is BLAKE2b (RFC 7693) with that key, over the addresses and ports of sender and receiver and
// the packet from its BTH to its ICRC; so no packet may be sent on elsewhere, or back. The traffic
// class, which routers change, is not covered. Nor is time: a packet that is sent again has a right
// tag. The ICRC is that of a packet without a tag.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "backends/softnic/wire/roce_icrc.h"

namespace gdakit::softnic {

inline constexpr std::size_t kTagBytes = 16;

using TagKey = std::array<std::uint8_t, 32>;
using Tag = std::array<std::uint8_t, kTagBytes>;

// Of packets that take one way.
class PacketTags {
 public:
  PacketTags(const TagKey& key, const roce::UdpWay& way);

  Tag of(std::span<const std::uint8_t> packet) const;
  // Whether the datagram ends in the tag of what is before it; takes the same time wherever the
  // tags differ.
  bool fits(std::span<const std::uint8_t> datagram) const;

 private:
  TagKey key_;
  // Addresses, ports with the lower byte first, and which IP: source before destination.
  std::array<std::uint8_t, 2 * (16 + 2) + 1> way_{};
};

}  // namespace gdakit::softnic
