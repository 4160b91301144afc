// What a bad network does to packets (faulty_wire.h), as options and as decisions.
//
//   Result<Faults> faults = parse_faults("drop=1%,reorder=5%,delay=50us..2ms,seed=7");
//
//   drop=1%            lost
//   repeat=0.1%        comes twice
//   reorder=5%         held back until some later packets were sent: 1 to reorder-depth of them
//   reorder-depth=8
//   corrupt=0.01%      1 to 3 bits change on the way
//   mark=5%            marked as having met a long queue, if its sender can be told (ECN)
//   delay=50us..2ms    takes so much longer, each packet another time between the two; or delay=1ms
//   down=200ms/5s      the link is down for the last 200 ms of every 5 s
//   partition=3+5      nothing that is sent to these endpoints arrives
//   seed=7             another one, another run
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "backends/softnic/wire/packet.h"
#include "core/base/result.h"

namespace gdakit::softnic {

struct Faults {
  static constexpr std::uint32_t kMaxDepth = 1024;
  static constexpr std::uint64_t kMaxNs = 1'000'000'000'000;  // of any time here

  std::uint64_t seed = 1;
  // Probabilities, 0 to 1, of each packet.
  double drop = 0;
  double repeat = 0;
  double reorder = 0;
  double corrupt = 0;
  double mark = 0;
  std::uint32_t reorder_depth = 8;  // 1 to kMaxDepth
  // Every packet takes so much longer, evenly spread between the two.
  std::uint64_t delay_min_ns = 0;
  std::uint64_t delay_max_ns = 0;
  // The link is down at the end of each period. 0: it stays up.
  std::uint64_t down_every_ns = 0;
  std::uint64_t down_for_ns = 0;
  std::vector<Endpoint> partitioned = {};

  bool operator==(const Faults&) const = default;
};

// The form above; times have ns, us, ms or s. An empty text has no faults. Errors name the part
// that is wrong, and say what is allowed.
Result<Faults> parse_faults(std::string_view text);

// What becomes of one packet.
struct Fate {
  bool drops = false;
  bool corrupts = false;
  bool marks = false;
  std::uint32_t repeats = 0;   // copies that follow it
  std::uint32_t behind = 0;    // it waits until so many later packets were sent
  std::uint64_t delay_ns = 0;  // and for so long, at least
};

// Where decisions come from. A wire asks once for each packet that it takes, in order.
class Fates {
 public:
  virtual ~Fates() = default;
  virtual Fate fate(const Packet& packet) = 0;
};

// Draws by the seed, on every machine alike. Each of several wires with one seed has a stream of
// its own. A rate that is changed leaves the fates of the other kinds as they were.
std::unique_ptr<Fates> drawn(const Faults& faults, std::uint64_t stream = 0);

// Pseudo-random words that are the same with every compiler and library (splitmix64).
class FaultWords {
 public:
  FaultWords(std::uint64_t seed, std::uint64_t stream)
      : state_(scramble(scramble(seed + kStep) + stream)) {}

  std::uint64_t next() { return scramble(state_ += kStep); }
  // `count` is not 0. Not quite even where it is huge.
  std::uint64_t below(std::uint64_t count) { return next() % count; }
  bool chance(double probability) {
    constexpr double kPart = 0x1p-53;
    return static_cast<double>(next() >> 11) * kPart < probability;
  }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;
  static constexpr std::uint64_t scramble(std::uint64_t word) {
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    return word ^ (word >> 31);
  }

  std::uint64_t state_;
};

}  // namespace gdakit::softnic
