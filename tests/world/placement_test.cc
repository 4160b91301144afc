// What each operation promises where puts are placed in any order: with the library told of it, and
// where nobody has told it.
#include <gtest/gtest.h>

#include "sim/world/scenarios/scenarios.h"
#include "tests/world/holds.h"

namespace gdakit::sim {
namespace {

using Word = std::uint64_t;

enum class Told : bool { no, yes };

WorldOptions options_for(Told told) {
  WorldOptions options = scenarios::options_for(SubjectOptions{.any_placement = true});
  options.any_placement = told == Told::yes;
  return options;
}

// What tells PE 1 that the data is there.
enum class Teller { put, fence_and_put, quiet_and_put, add, put_signal };

struct Telling {
  const Witness* witness;
  Word* source;
  Word* data;
  std::uint64_t* flag;
  Teller teller;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      m.store_weak(source, 5);
      tell(pe);
      pe.quiet();
      return;
    }
    pe.wait_until(flag, Compare::eq, 1);
    witness->expect(m.load_weak(data) == 5, "the data is there when the flag is");
  }

 private:
  template <class Pe>
  void tell(Pe& pe) const {
    if (teller == Teller::put_signal) {
      pe.put_signal_nbi(data, source, 1, flag, 1, SignalOp::set, 1);
      return;
    }
    pe.put_nbi(data, source, 1, 1);
    if (teller == Teller::add) return static_cast<void>(pe.atomic_add(flag, Word{1}, 1));
    if (teller == Teller::fence_and_put) pe.fence();
    if (teller == Teller::quiet_and_put) pe.quiet();
    pe.put_value(flag, 1, 1);
  }
};

bool telling_holds(Teller teller, Told told) {
  World world("telling", options_for(told));
  auto* source = world.allocate<Word>("source", 1);
  auto* data = world.allocate<Word>("data", 1);
  auto* flag = world.allocate<std::uint64_t>("flag", 1, RegionKind::signal);
  world.launch({.blocks = 1, .threads = 1}, Telling{world.witness(), source, data, flag, teller});
  return holds(world);
}

// An atomic waits for what came before it, and what was acknowledged is in its place.
TEST(Placement, SignalsAtomicsAndQuietOrderPutsByThemselves) {
  for (const Teller teller : {Teller::put_signal, Teller::add, Teller::quiet_and_put}) {
    EXPECT_TRUE(telling_holds(teller, Told::no)) << static_cast<int>(teller);
    EXPECT_TRUE(telling_holds(teller, Told::yes)) << static_cast<int>(teller);
  }
}

TEST(Placement, AFenceOrdersPutsWhereTheLibraryIsTold) {
  EXPECT_FALSE(telling_holds(Teller::fence_and_put, Told::no));
  EXPECT_TRUE(telling_holds(Teller::fence_and_put, Told::yes));
}

TEST(Placement, NothingElseOrdersTwoPuts) { EXPECT_FALSE(telling_holds(Teller::put, Told::yes)); }

// The root's word is there when the others' call returns.
struct Broadcasting {
  const Witness* witness;
  Word* source;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) m.store_weak(source, 5);
    witness->expect(pe.team(kTeamWorld).broadcast(data, source, 1, 0).ok(), "broadcast succeeds");
    witness->expect(m.load_weak(data) == 5, "the root's word is there");
  }
};

bool broadcast_holds(Told told) {
  World world("broadcast", options_for(told));
  auto* source = world.allocate<Word>("source", 1);
  auto* data = world.allocate<Word>("data", 1);
  world.launch({.blocks = 1, .threads = 1}, Broadcasting{world.witness(), source, data});
  return holds(world);
}

TEST(Placement, CollectivesCountByAtomicsWhereTheLibraryIsTold) {
  EXPECT_FALSE(broadcast_holds(Told::no));
  EXPECT_TRUE(broadcast_holds(Told::yes));
}

// Two words of one put that come in two packets: the second tells nothing of the first.
struct TwoPackets {
  static constexpr Word kWords = 64;

  const Witness* witness;
  Word* source;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      m.store_weak(source, 5);
      m.store_weak(source + kWords - 1, 6);
      pe.put_nbi(data, source, kWords, 1);
      pe.quiet();
      return;
    }
    pe.wait_until(data + kWords - 1, Compare::eq, 6);
    witness->expect(m.load_weak(data) == 5, "the first word is there when the last is");
  }
};

bool two_packets_hold(PlacementOrder order) {
  WorldOptions options = options_for(Told::yes);
  options.base.placement = order;
  options.max_message_bytes = 8 * TwoPackets::kWords;
  options.knobs = options.knobs.without(Knob::payload_write_order);
  World world("two packets", options);
  auto* source = world.allocate<Word>("source", TwoPackets::kWords);
  auto* data = world.allocate<Word>("data", TwoPackets::kWords);
  world.launch({.blocks = 1, .threads = 1}, TwoPackets{world.witness(), source, data});
  return holds(world);
}

TEST(Placement, PacketsOfOnePutKeepNoOrder) {
  EXPECT_TRUE(two_packets_hold(PlacementOrder::in_order));
  EXPECT_FALSE(two_packets_hold(PlacementOrder::any));
}

}  // namespace
}  // namespace gdakit::sim
