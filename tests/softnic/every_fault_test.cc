// Every single and every double fault in a small case: three messages, a window of two PSNs.
//
// Packets of both sides are counted in the order in which they are sent, repetitions too; a case
// says what becomes of two of them. Memory must be exact, each atomic applied once, completions in
// order, and nothing may hang.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "backends/softnic/wire/faulty_wire.h"
#include "tests/softnic/engine_rig.h"
#include "tests/softnic/lossy_wire.h"

namespace gdakit::softnic::test {
namespace {

constexpr std::uint32_t kMtu = 256;

// Fates of the packets of both sides, by number.
struct Script {
  std::map<std::uint64_t, Fate> fates;
  std::uint64_t sent = 0;
};

class ScriptedFates final : public Fates {
 public:
  explicit ScriptedFates(std::shared_ptr<Script> script) : script_(std::move(script)) {}
  Fate fate(const Packet&) override {
    const auto found = script_->fates.find(script_->sent++);
    return found == script_->fates.end() ? Fate{} : found->second;
  }

 private:
  std::shared_ptr<Script> script_;
};

constexpr std::array<Fate, 6> kFaults = {Fate{.drops = true}, Fate{.corrupts = true},
                                         Fate{.repeats = 1},  Fate{.behind = 1},
                                         Fate{.behind = 3},   Fate{.delay_ns = 30'000}};
// Where packets can be marked.
constexpr std::array<Fate, 4> kFaultsAndMarks = {Fate{.marks = true}, Fate{.drops = true},
                                                 Fate{.marks = true, .repeats = 1},
                                                 Fate{.marks = true, .behind = 3}};

struct Case {
  const char* name;
  bool selective;
  bool by_value;
  bool congestion_control = false;

  std::span<const Fate> faults() const {
    return congestion_control ? std::span<const Fate>(kFaultsAndMarks) : kFaults;
  }
};

RigOptions rig_options(const Case& how, const std::shared_ptr<Script>& script,
                       const std::uint64_t& now_ns) {
  RigOptions options;
  options.engine.adaptive_retransmission = options.engine.selective_repeat = how.selective;
  options.engine.congestion_control = how.congestion_control;
  options.wire.mtu = kMtu;
  options.heap = 1 << 14;
  options.log_cq = 4;
  options.settings.ack_timeout = how.selective ? 14 : 5;
  options.wrap_wire = [&](std::unique_ptr<Wire> wire, int) -> std::unique_ptr<Wire> {
    auto faulty = std::make_unique<FaultyWire>(
        std::move(wire), std::make_unique<ScriptedFates>(script), [&now_ns] { return now_ns; });
    return std::make_unique<LossyWire>(std::move(faulty),
                                       Losses{.by_value = how.by_value, .psn_window = 2});
  };
  return options;
}

// Where things lie in the heaps.
constexpr std::size_t kSource = 0, kTarget = 4096, kCounter = 8192, kResult = 8200, kBack = 9000;

// A WRITE of three packets, an atomic, and a READ of what was written. False: it went wrong.
bool runs_right(const Case& how, const std::shared_ptr<Script>& script) {
  script->sent = 0;
  std::uint64_t now_ns = 1000;
  EngineRig rig(rig_options(how, script, now_ns));
  const std::uint32_t size = 2 * kMtu + 100;
  fill(rig.a.heap.data() + kSource, size, 7);
  rig.b.word<std::uint64_t>(kCounter) = 100;
  rig.a.post(write_wqe(rig, kTarget, kSource, size));
  rig.a.post(fetch_add_wqe(rig, kResult, kCounter, 5));
  rig.a.post(read_wqe(rig, kBack, kTarget, size));
  rig.a.ring();
  std::uint16_t completed = 0;
  bool in_order = true;
  const bool ended = rig.run_until(
      [&] {
        now_ns = rig.now_ns;
        for (const format::Cqe64& cqe : rig.a.send_cq.poll_all()) {
          in_order &= opcode_of(cqe) == format::CqeOpcode::requester;
          in_order &= cqe.wqe_counter == completed++;
        }
        return completed == 3 || rig.a.info().state != QpState::rts;
      },
      200'000);
  const std::uint8_t* const source = rig.a.heap.data() + kSource;
  return ended && in_order && completed == 3 &&
         std::memcmp(rig.b.heap.data() + kTarget, source, size) == 0 &&
         std::memcmp(rig.a.heap.data() + kBack, source, size) == 0 &&
         rig.b.word<std::uint64_t>(kCounter) == 105 && rig.a.word<std::uint64_t>(kResult) == 100;
}

std::string text_of(const Script& script) {
  std::string text;
  for (const auto& [number, fate] : script.fates) {
    text += "packet " + std::to_string(number) + (fate.drops ? " drops" : "") +
            (fate.corrupts ? " corrupts" : "") + (fate.marks ? " marks" : "") + " repeats " +
            std::to_string(fate.repeats) + " behind " + std::to_string(fate.behind) + " delay " +
            std::to_string(fate.delay_ns) + "; ";
  }
  return text;
}

class EveryFault : public testing::TestWithParam<Case> {};

TEST_P(EveryFault, OfOneOrTwoPacketsIsRepaired) {
  const auto script = std::make_shared<Script>();
  ASSERT_TRUE(runs_right(GetParam(), script));
  const std::uint64_t plain = script->sent;
  ASSERT_GE(plain, 8u);
  std::uint64_t cases = 0, most = 0;
  for (std::uint64_t first = 0; first < plain; ++first) {
    for (const Fate& one : GetParam().faults()) {
      script->fates = {{first, one}};
      ASSERT_TRUE(runs_right(GetParam(), script)) << text_of(*script);
      // The second fault may meet a packet that only the first one has caused.
      const std::uint64_t end = script->sent;
      most = std::max(most, end);
      for (std::uint64_t second = first + 1; second < end; ++second) {
        for (const Fate& two : GetParam().faults()) {
          script->fates = {{first, one}, {second, two}};
          ASSERT_TRUE(runs_right(GetParam(), script)) << text_of(*script);
          ++cases;
        }
      }
    }
  }
  EXPECT_GT(most, plain);  // faults cost packets
  RecordProperty("cases", std::to_string(cases));
}

INSTANTIATE_TEST_SUITE_P(, EveryFault,
                         testing::Values(Case{"GoBackN", false, true},
                                         Case{"SelectiveRepeat", true, true},
                                         Case{"GoBackNByReference", false, false},
                                         Case{"SelectiveRepeatByReference", true, false},
                                         Case{"GoBackNWithMarks", false, true, true},
                                         Case{"SelectiveRepeatWithMarks", true, true, true}),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace gdakit::softnic::test
