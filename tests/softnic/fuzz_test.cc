// The fuzz target on random and mutated inputs, for a few seconds of every test run.
#include <chrono>
#include <cstdlib>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/softnic/engine_fuzz.h"

namespace gdakit::softnic::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes random_bytes(std::mt19937& random) {
  Bytes bytes(64 + random() % 3000);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

Bytes mutate(Bytes bytes, std::mt19937& random) {
  for (std::uint32_t changes = 1 + random() % 8; changes != 0; --changes) {
    const std::size_t at = random() % bytes.size();
    switch (random() % 3) {
      case 0: bytes[at] = static_cast<std::uint8_t>(random()); break;
      case 1: bytes[at] ^= static_cast<std::uint8_t>(1u << (random() % 8)); break;
      default:
        bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                     bytes[random() % bytes.size()]);
    }
  }
  return bytes;
}

TEST(EngineFuzz, NothingAClientOrPeerDoesGetsOutOfBounds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  for (std::uint32_t seed = 1; std::chrono::steady_clock::now() < end; ++seed) {
    std::mt19937 random(seed);
    Bytes bytes = random_bytes(random);
    for (int mutation = 0; mutation < 4; ++mutation) {
      const std::string wrong = fuzz_one(bytes.data(), bytes.size());
      ASSERT_EQ(wrong, "") << "seed " << seed << " mutation " << mutation;
      bytes = mutate(std::move(bytes), random);
    }
  }
}

}  // namespace
}  // namespace gdakit::softnic::test
