#include "backends/softnic/wire/packet_tag.h"

#include <algorithm>
#include <sodium.h>

#include "core/base/sodium_begin.h"

namespace gdakit::softnic {

static_assert(sizeof(TagKey) == crypto_generichash_KEYBYTES);
static_assert(kTagBytes >= crypto_generichash_BYTES_MIN);

PacketTags::PacketTags(const TagKey& key, const roce::UdpWay& way) : key_(key) {
  begin_sodium();
  auto at = way_.begin();
  const auto add = [&](const roce::IpAddress& ip, std::uint16_t port) {
    at = std::copy(ip.bytes.begin(), ip.bytes.end(), at);
    *at++ = static_cast<std::uint8_t>(port);
    *at++ = static_cast<std::uint8_t>(port >> 8);
  };
  add(way.source, way.source_port);
  add(way.destination, way.destination_port);
  *at = way.source.is_v6 ? 1 : 0;
}

Tag PacketTags::of(std::span<const std::uint8_t> packet) const {
  crypto_generichash_state state;
  Tag tag;
  ::crypto_generichash_init(&state, key_.data(), key_.size(), tag.size());
  ::crypto_generichash_update(&state, way_.data(), way_.size());
  ::crypto_generichash_update(&state, packet.data(), packet.size());
  ::crypto_generichash_final(&state, tag.data(), tag.size());
  return tag;
}

bool PacketTags::fits(std::span<const std::uint8_t> datagram) const {
  if (datagram.size() < kTagBytes) return false;
  const std::span<const std::uint8_t> found = datagram.last<kTagBytes>();
  const Tag right = of(datagram.first(datagram.size() - kTagBytes));
  return ::sodium_memcmp(found.data(), right.data(), kTagBytes) == 0;
}

}  // namespace gdakit::softnic
