#include "tests/litmus/generator.h"

#include <string>
#include <vector>

#include "core/base/assert.h"
#include "sim/explore/generator.h"
#include "sim/litmus/parser.h"
#include "sim/litmus/symbols.h"

namespace gdakit::sim::litmus {
namespace {

constexpr const char* kScopes[] = {"cta", "gpu", "sys"};
constexpr const char* kLocations[] = {"x", "y"};
constexpr const char* kAtomicSems[] = {"relaxed", "acquire", "release", "acq_rel"};

// Threads near each other and far from each other, as text.
constexpr const char* kPlaces[] = {"cta 0,gpu 0", "cta 0,gpu 0", "cta 1,gpu 0", "cta 0,gpu 1"};

class Writer {
 public:
  Writer(std::uint64_t seed, std::uint64_t index) : random_(seed, index) {}

  std::string write(std::uint64_t index) {
    const std::uint32_t threads = 2 + random_.below(2);
    const std::uint32_t longest = threads == 2 ? 4 : 3;
    std::vector<std::vector<std::string>> code(threads);
    std::string text = "PTX random-" + std::to_string(index) + "\n{ x=0; y=0; }\n";
    for (std::uint32_t t = 0; t < threads; ++t) {
      text += (t == 0 ? "P" : " | P") + std::to_string(t) + "@" + random_.one_of(kPlaces);
      registers_ = 0;
      const std::uint32_t length = random_.below(4) == 0 ? 1 + random_.below(longest) : longest;
      for (std::uint32_t i = 0; i < length; ++i) code[t].push_back(instruction());
    }
    text += " ;\n";
    for (std::uint32_t row = 0; row < 4; ++row) {
      for (std::uint32_t t = 0; t < threads; ++t) {
        text += (t == 0 ? "" : " | ") + (row < code[t].size() ? code[t][row] : std::string());
      }
      text += " ;\n";
    }
    return text + "exists (x == x)\n";
  }

 private:
  std::string strength(const char* strongest) {
    switch (random_.below(3)) {
      case 0: return "weak";
      case 1: return std::string("relaxed.") + random_.one_of(kScopes);
      default: return std::string(strongest) + "." + random_.one_of(kScopes);
    }
  }

  std::string fresh_register() { return "r" + std::to_string(registers_++); }

  // A constant, or now and then what was read before.
  std::string value() {
    if (registers_ > 0 && random_.below(4) == 0) {
      return "r" + std::to_string(random_.below(registers_));
    }
    return std::to_string(++values_);
  }

  std::string atomic() {
    const std::string strong =
        std::string(random_.one_of(kAtomicSems)) + "." + random_.one_of(kScopes);
    const std::string place = random_.one_of(kLocations);
    switch (random_.below(4)) {
      case 0: return "red." + strong + ".add " + place + ", " + value();
      case 1: {
        const std::string operand = value();
        return "atom." + strong + ".exch " + fresh_register() + ", " + place + ", " + operand;
      }
      case 2: {
        const std::string operand = value();
        return "atom." + strong + ".cas " + fresh_register() + ", " + place + ", " +
               std::to_string(random_.below(3)) + ", " + operand;
      }
      default: return "atom." + strong + ".add " + fresh_register() + ", " + place + ", 1";
    }
  }

  std::string instruction() {
    switch (random_.below(8)) {
      case 0:
      case 1:
      case 2:
        return "ld." + strength("acquire") + " " + fresh_register() + ", " +
               random_.one_of(kLocations);
      case 3:
      case 4:
        return "st." + strength("release") + " " + random_.one_of(kLocations) + ", " + value();
      case 5: return std::string("fence.acq_rel.") + random_.one_of(kScopes);
      case 6:
        return std::string(random_.below(2) == 0 ? "fence.sc." : "fence.acq_rel.") +
               random_.one_of(kScopes);
      default: return atomic();
    }
  }

  Generator random_;
  std::uint32_t registers_ = 0;  // of the thread being written
  std::uint32_t values_ = 0;
};

}  // namespace

Program random_program(std::uint64_t seed, std::uint64_t index) {
  const std::string text = Writer(seed, index).write(index);
  Result<Program> parsed = parse(text, "random");
  GDAKIT_ASSERT(static_cast<bool>(parsed));
  Program program = std::move(*parsed);
  for (std::uint32_t t = 0; t < program.threads.size(); ++t) {
    for (std::uint32_t i = 0; i < program.threads[t].registers.size(); ++i) {
      observable_number(program, {true, t, i});
    }
  }
  for (std::uint32_t i = 0; i < program.locations.size(); ++i) {
    observable_number(program, {false, 0, i});
  }
  return program;
}

}  // namespace gdakit::sim::litmus
