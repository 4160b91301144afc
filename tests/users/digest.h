// What a world does for many seeds: to be the same whenever and wherever it runs.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/explore/mixed.h"
#include "tests/users/mail.h"

namespace gdakit::users {

inline constexpr std::uint64_t kSeeds = 200;
inline constexpr int kExecutions = 5;  // of each seed

struct Played {
  sim::RunResult result;
  std::vector<std::uint32_t> picks;
  std::vector<sim::Choice> kinds;
};

// Knobs are drawn, so that all of the model takes part; some settings are too much for the kernel,
// and what is found must be the same, too.
inline sim::WorldOptions any_knobs() {
  sim::WorldOptions options;
  options.knobs = sim::KnobSet::all();
  return options;
}

inline std::vector<Played> runs_of(sim::World& world, std::uint64_t seed) {
  sim::MixedStrategy strategy(seed);
  sim::Chooser chooser(strategy);
  std::vector<Played> runs;
  for (int i = 0; i < kExecutions; ++i) {
    chooser.begin();
    sim::RunResult result = world.run(chooser, nullptr);
    chooser.end();
    runs.push_back({std::move(result), chooser.taken(), chooser.taken_kinds()});
  }
  return runs;
}

class Digest {
 public:
  void add(std::uint64_t value) { value_ = (value_ ^ value) * 0x100000001b3u + 1; }
  void add(const Played& run) {
    add(static_cast<std::uint64_t>(run.result.finding));
    for (const char c : run.result.text) add(static_cast<unsigned char>(c));
    add(run.result.outcome);
    add(run.result.accesses);
    for (const std::uint32_t pick : run.picks) add(pick);
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

// Of all that kSeeds seeds do.
inline std::uint64_t digest() {
  sim::World world("digest", any_knobs());
  set_up<GoodHand>(world);
  Digest digest;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    for (const Played& run : runs_of(world, seed)) digest.add(run);
  }
  return digest.value();
}

}  // namespace gdakit::users
