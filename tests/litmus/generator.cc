#include "tests/litmus/generator.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/assert.h"
#include "sim/explore/generator.h"
#include "sim/litmus/parser.h"
#include "sim/litmus/symbols.h"

namespace gdakit::sim::litmus {
namespace {

constexpr const char* kScopes[] = {"cta", "gpu", "sys"};
constexpr const char* kLocations[] = {"x", "y", "z"};
constexpr const char* kAtomicSems[] = {"relaxed", "acquire", "release", "acq_rel"};
constexpr const char* kFenceSems[] = {"acquire", "release", "acq_rel", "sc"};

// Threads near each other and far from each other, as text.
constexpr const char* kPlaces[] = {"cta 0,gpu 0", "cta 0,gpu 0", "cta 1,gpu 0", "cta 0,gpu 1"};

class Writer {
 public:
  Writer(std::uint64_t seed, std::uint64_t index) : random_(seed, index) {}

  std::string write(std::uint64_t index) {
    const std::uint32_t threads = 2 + random_.below(2);
    const std::uint32_t longest = threads == 2 ? 4 : 3;
    for (std::uint32_t t = 0; t < threads; ++t) {
      begin_thread();
      const std::uint32_t length = random_.below(4) == 0 ? 1 + random_.below(longest) : longest;
      for (std::uint32_t i = 0; i < length; ++i) code_[t].push_back(instruction());
    }
    return text(index);
  }

  std::string write(std::uint64_t index, const ProgramSize& size) {
    locations_ = 2 + random_.below(2);
    one_sided_ = true;
    const bool barriers = random_.below(4) == 0;
    for (std::uint32_t t = 0; t < size.threads; ++t) {
      begin_thread();
      const std::uint32_t barrier = barriers ? random_.below(size.operations) : size.operations;
      for (std::uint32_t i = 0; i < size.operations; ++i) {
        code_[t].push_back(i == barrier ? "bar.cta.sync 0" : instruction());
      }
    }
    return text(index);
  }

 private:
  void begin_thread() {
    places_.push_back(random_.one_of(kPlaces));
    code_.emplace_back();
    registers_ = 0;
  }

  std::string text(std::uint64_t index) const {
    std::string text = "PTX random-" + std::to_string(index) + "\n{ x=0; y=0; }\n";
    std::size_t rows = 0;
    for (std::size_t t = 0; t < code_.size(); ++t) {
      text += (t == 0 ? "P" : " | P") + std::to_string(t) + "@" + places_[t];
      rows = std::max(rows, code_[t].size());
    }
    text += " ;\n";
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t t = 0; t < code_.size(); ++t) {
        text += (t == 0 ? "" : " | ") + (row < code_[t].size() ? code_[t][row] : std::string());
      }
      text += " ;\n";
    }
    return text + "exists (x == x)\n";
  }

  const char* location() { return kLocations[random_.below(locations_)]; }

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
    const std::string place = location();
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
      case 2: return "ld." + strength("acquire") + " " + fresh_register() + ", " + location();
      case 3:
      case 4: return "st." + strength("release") + " " + location() + ", " + value();
      case 5: return fence("fence.acq_rel.");
      case 6: return fence(random_.below(2) == 0 ? "fence.sc." : "fence.acq_rel.");
      default: return atomic();
    }
  }

  std::string fence(const std::string& two_sided) {
    const std::string start =
        one_sided_ ? std::string("fence.") + random_.one_of(kFenceSems) + "." : two_sided;
    return start + random_.one_of(kScopes);
  }

  Generator random_;
  std::vector<const char*> places_;             // of each thread
  std::vector<std::vector<std::string>> code_;  // of each thread
  std::uint32_t locations_ = 2;
  bool one_sided_ = false;
  std::uint32_t registers_ = 0;  // of the thread being written
  std::uint32_t values_ = 0;
};

Program observed(const std::string& text) {
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

}  // namespace

Program random_program(std::uint64_t seed, std::uint64_t index) {
  return observed(Writer(seed, index).write(index));
}

Program random_program(std::uint64_t seed, std::uint64_t index, const ProgramSize& size) {
  return observed(Writer(seed, index).write(index, size));
}

}  // namespace gdakit::sim::litmus
