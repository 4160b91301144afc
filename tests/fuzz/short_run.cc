#include "tests/fuzz/short_run.h"

#include <random>
#include <utility>

#include "core/base/hex.h"

namespace gdakit::fuzz {
namespace {

constexpr std::size_t kMostBytes = 4096;

// What parsers get wrong: the ends of the ranges of numbers.
constexpr std::uint8_t kEdges[] = {0, 1, 0x7f, 0x80, 0xfe, 0xff};

class Mutator {
 public:
  explicit Mutator(std::vector<Seed> seeds) : seeds_(std::move(seeds)) {}

  const Seed& any() { return seeds_[below(seeds_.size())]; }

  Seed mutate(Seed bytes) {
    for (std::size_t changes = 1 + below(6); changes != 0; --changes) change(bytes);
    if (bytes.size() > kMostBytes) bytes.resize(kMostBytes);
    return bytes;
  }

 private:
  std::size_t below(std::size_t limit) { return random_() % limit; }
  std::uint8_t byte() { return static_cast<std::uint8_t>(random_()); }
  static auto place(Seed& bytes, std::size_t at) {
    return bytes.begin() + static_cast<std::ptrdiff_t>(at);
  }

  void change(Seed& bytes) {
    if (bytes.empty()) return bytes.push_back(byte());
    const std::size_t at = below(bytes.size());
    const std::size_t count = 1 + below(std::min<std::size_t>(bytes.size() - at, 16));
    switch (below(7)) {
      case 0: bytes[at] = byte(); break;
      case 1: bytes[at] ^= static_cast<std::uint8_t>(1u << below(8)); break;
      case 2: bytes[at] = kEdges[below(std::size(kEdges))]; break;
      case 3: bytes.erase(place(bytes, at), place(bytes, at + count)); break;
      case 4: bytes.insert(place(bytes, at), count, byte()); break;
      case 5: bytes.resize(at); break;
      default: splice(bytes, at);
    }
  }

  // The rest comes from another seed.
  void splice(Seed& bytes, std::size_t at) {
    const Seed& other = any();
    bytes.resize(at);
    const std::size_t from = other.empty() ? 0 : below(other.size());
    bytes.insert(bytes.end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
  }

  std::vector<Seed> seeds_;
  std::mt19937 random_{1};
};

std::string play(const Target& target, const Seed& bytes) {
  const std::string wrong = target.play(bytes);
  if (wrong.empty()) return {};
  return std::string(target.name) + ": " + wrong + "; input " + hex_digits(bytes);
}

}  // namespace

std::string run_short(const Target& target, int rounds) {
  const std::vector<Seed> seeds = target.seeds();
  std::string wrong = play(target, {});
  for (const Seed& seed : seeds) {
    if (wrong.empty()) wrong = play(target, seed);
  }
  Mutator mutator(seeds);
  for (int round = 0; round < rounds && wrong.empty(); ++round) {
    wrong = play(target, mutator.mutate(mutator.any()));
  }
  return wrong;
}

}  // namespace gdakit::fuzz
