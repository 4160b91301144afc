// A fuzz target: a function that plays any bytes as what comes from outside, and says what it found
// wrong.
//
//   a short run     fuzz_test, some seconds of every test run: seeds and mutants of them, by fixed
//                   random numbers
//   a long run      gdakit_fuzzer, libFuzzer with sanitizers; fuzzer_main.cc says how
//
// A target must do the same whenever it plays the same bytes, as far as threads and sockets let it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gdakit::fuzz {

using Input = std::span<const std::uint8_t>;
using Seed = std::vector<std::uint8_t>;

struct Target {
  const char* name;
  // What is wrong, in a sentence; empty: nothing.
  std::string (*play)(Input input);
  // Good inputs, from which mutants are made.
  std::vector<Seed> (*seeds)();
  // In the short run of a slow program; each is followed by some mutants.
  int rounds;
};

std::span<const Target> targets();
// Null: there is none.
const Target* find_target(std::string_view name);

// Of any bytes, 512 to 4096: for targets that make something nearly right of whatever comes.
std::vector<Seed> random_seeds();

inline Seed seed_of(std::string_view text) { return Seed(text.begin(), text.end()); }
inline std::string_view text_of(Input input) {
  return {reinterpret_cast<const char*>(input.data()), input.size()};
}

}  // namespace gdakit::fuzz
