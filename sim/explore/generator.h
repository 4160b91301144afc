// Generator: pseudo-random numbers that are the same with every compiler and library.
//
// xoshiro256**, started from two words by splitmix64: stream n of a seed can be had without the
// streams before it. Integers only; odds are whole parts of 2^32.
#pragma once

#include <bit>
#include <cstdint>

namespace gdakit::sim {

// A bijection of 64-bit words without visible structure (the output function of splitmix64).
constexpr std::uint64_t scramble(std::uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
  return word ^ (word >> 31);
}

// A probability: `parts` of 2^32, 0 never and 2^32 always.
struct Odds {
  std::uint64_t parts = 0;

  static constexpr Odds never() { return {0}; }
  static constexpr Odds always() { return {std::uint64_t{1} << 32}; }
  static constexpr Odds of(std::uint32_t some, std::uint32_t all) {
    return {(std::uint64_t{some} << 32) / all};
  }
};

class Generator {
 public:
  Generator() : Generator(0, 0) {}
  Generator(std::uint64_t seed, std::uint64_t stream) {
    constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;
    std::uint64_t state =
        scramble(seed + kGolden) ^ scramble(stream * kGolden + 0x632be59bd9b4e019u);
    for (std::uint64_t& word : words_) word = scramble(state += kGolden);
  }

  std::uint64_t next() {
    const std::uint64_t result = std::rotl(words_[1] * 5, 7) * 9;
    const std::uint64_t shifted = words_[1] << 17;
    words_[2] ^= words_[0];
    words_[3] ^= words_[1];
    words_[1] ^= words_[2];
    words_[0] ^= words_[3];
    words_[2] ^= shifted;
    words_[3] = std::rotl(words_[3], 45);
    return result;
  }

  // One of 0 .. count - 1; count is at least 1. No value is favoured by more than count / 2^32.
  std::uint32_t below(std::uint32_t count) {
    return static_cast<std::uint32_t>(((next() >> 32) * count) >> 32);
  }
  bool chance(Odds odds) { return (next() >> 32) < odds.parts; }

  // One of the entries of a table.
  template <class T, std::size_t kSize>
  const T& one_of(const T (&table)[kSize]) {
    return table[below(static_cast<std::uint32_t>(kSize))];
  }

 private:
  std::uint64_t words_[4];
};

}  // namespace gdakit::sim
