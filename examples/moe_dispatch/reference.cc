#include "examples/moe_dispatch/reference.h"

#include <bit>
#include <cstdio>

#include "examples/moe_dispatch/model.h"
#include "examples/moe_dispatch/text.h"

namespace moe {
namespace {

bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

std::string exact_text(float value) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.9g (0x%08x)", static_cast<double>(value),
                std::bit_cast<std::uint32_t>(value));
  return text;
}

}  // namespace

std::vector<float> reference_output(std::string_view word, const Shape& shape) {
  const Token token = token_of(word);
  const Route route = route_of(token, shape.experts, shape.top_k);
  std::vector<float> input(shape.hidden);
  for (std::uint32_t i = 0; i < shape.hidden; ++i) input[i] = embed(token, i);
  std::vector<float> output(shape.hidden);
  for (std::uint32_t j = 0; j < shape.top_k; ++j) {
    for (std::uint32_t i = 0; i < shape.hidden; ++i) {
      output[i] += weight(j) * apply_expert(route.expert[j], input[i]);
    }
  }
  return output;
}

gdakit::Result<void> verify(std::span<const std::string> words, std::uint64_t first,
                            std::span<const float> outputs, const Shape& shape) {
  std::uint64_t differ = 0;
  std::string first_difference;
  for (std::size_t t = 0; t < words.size(); ++t) {
    const std::vector<float> expected = reference_output(words[t], shape);
    const std::span<const float> got = outputs.subspan(t * shape.hidden, shape.hidden);
    for (std::uint32_t i = 0; i < shape.hidden; ++i) {
      if (same_bits(got[i], expected[i]) || differ++ != 0) continue;
      first_difference = "token " + std::to_string(first + t) + " (" + words[t] + "), value " +
                         std::to_string(i) + ": got " + exact_text(got[i]) + ", expected " +
                         exact_text(expected[i]);
    }
  }
  if (differ == 0) return {};
  return gdakit::Error(gdakit::Code::internal, first_difference + "; " + std::to_string(differ) +
                                                   " of " + std::to_string(words.size()) + " * " +
                                                   std::to_string(shape.hidden) +
                                                   " values of this batch are wrong");
}

}  // namespace moe
