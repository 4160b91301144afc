// The network that the example evaluates: what a token's values are, which experts it goes to, and
// what an expert makes of it. Made up, but exact: every product and every sum below is a multiple
// of 2^-17 of magnitude below 8, which a float holds without rounding. So the outputs do not depend
// on the order of evaluation, and can be compared with a reference bit for bit.
#pragma once

#include <cstdint>

#include "core/base/annotate.h"

namespace moe {

// A token is a word of a text, known by its hash.
using Token = std::uint64_t;

// With more, a weight would be too small for the sums to stay exact.
inline constexpr std::uint32_t kMaxTopK = 8;

// The experts of a token, the one with the greatest weight first. They are distinct.
struct Route {
  std::uint16_t expert[kMaxTopK];
};

// Spreads a number over all 64 bits (the finalizer of SplitMix64).
GDAKIT_HOST_DEVICE constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

GDAKIT_HOST_DEVICE constexpr bool goes_to(const Route& route, std::uint32_t count,
                                          std::uint32_t expert) {
  for (std::uint32_t j = 0; j < count; ++j) {
    if (route.expert[j] == expert) return true;
  }
  return false;
}

// The router. Equal words go to equal experts, so the frequent words of a natural text make some
// experts busier than others. `top_k` is at most `experts`.
GDAKIT_HOST_DEVICE constexpr Route route_of(Token token, std::uint32_t experts,
                                            std::uint32_t top_k) {
  Route route{};
  for (std::uint32_t j = 0; j < top_k; ++j) {
    auto expert = static_cast<std::uint32_t>(mix(token + j) % experts);
    while (goes_to(route, j, expert)) expert = (expert + 1) % experts;
    route.expert[j] = static_cast<std::uint16_t>(expert);
  }
  return route;
}

// The weight of the j-th expert's answer: 1/2, 1/4, ...
GDAKIT_HOST_DEVICE constexpr float weight(std::uint32_t j) {
  return 1.0f / static_cast<float>(2u << j);
}

// Value `i` of a token's hidden vector, a multiple of 1/64 in [-1/2, 1/2).
GDAKIT_HOST_DEVICE constexpr float embed(Token token, std::uint32_t i) {
  const std::uint64_t bits = (token + i) * 0x9e3779b97f4a7c15u;
  return static_cast<float>(static_cast<int>(bits >> 58) - 32) / 64;
}

// What an expert does with one value: a * x + b, a in eighths up to 2, b a small integer.
GDAKIT_HOST_DEVICE constexpr float apply_expert(std::uint32_t expert, float x) {
  const auto a = static_cast<float>(expert % 16 + 1) / 8;
  const auto b = static_cast<float>(static_cast<int>(expert % 9) - 4);
  return a * x + b;
}

}  // namespace moe
