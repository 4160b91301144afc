// What a page holds: words that follow from the request's seed, the page's number and the word's.
#pragma once

#include <cstdint>

#include "core/base/annotate.h"

namespace fill {

using Word = std::uint64_t;

// The finalizer of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
// 2014): every bit of the result depends on every bit of the input.
GDAKIT_HOST_DEVICE constexpr Word mix(Word value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

// `place` is the page's in the request's list, `page` its number at the client.
GDAKIT_HOST_DEVICE constexpr Word page_seed(std::uint64_t seed, std::uint32_t place,
                                            std::uint32_t page) {
  return mix(seed ^ (Word{place} << 32 | page));
}
GDAKIT_HOST_DEVICE constexpr Word word_of(Word page_seed, std::uint32_t index) {
  return mix(page_seed + index);
}

}  // namespace fill
