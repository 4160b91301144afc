// Cards of one length, one behind the other, as a PE gives several of them to a peer at once.
#pragma once

#include <cstddef>
#include <span>

namespace gdakit {

// The card number `index` of `count`, 1 or more; empty: so many of one length these bytes are not.
inline std::span<const std::byte> nth_card(std::span<const std::byte> cards, std::size_t index,
                                           std::size_t count) {
  if (cards.size() % count != 0) return {};
  const std::size_t bytes = cards.size() / count;
  return cards.subspan(index * bytes, bytes);
}

}  // namespace gdakit
