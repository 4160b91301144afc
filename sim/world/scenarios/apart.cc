// What goes by different ways, and who stands apart: words that are changed directly and by NICs,
// channels of another NIC, teams of some of the PEs, and results that are combined in different
// places.
#include <string>

#include "sim/world/kernel_channel.h"
#include "sim/world/scenarios/group_of.h"
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

constexpr std::uint32_t kSecondNic = 1;  // the shared queue, and the channel, of that NIC

// PE 0 puts by the second NIC, on a channel and on a queue, looks until that is done, and tells of
// it by the first NIC.
struct TestedPuts {
  const Witness* witness;
  const Channels* channels;
  Word* source;  // 2
  Word* data;    // 2
  std::uint64_t* flag;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) return put(pe);
    for (Word i = 0; i < 2; ++i) {
      witness->expect(pe.wait_until(flag, Compare::gt, i).ok(), "the flag comes");
      witness->expect(m.load_weak(data + i) == 8 + i, "the data is there when the flag is");
    }
  }

 private:
  template <class Pe>
  void put(Pe& pe) const {
    for (Word i = 0; i < 2; ++i) pe.machine().store_weak(source + i, 8 + i);
    auto channel = pe.channel(channels[0], kSecondNic);
    look(pe, channel, channel.put_async(data, source, 1, 1));
    tell(pe, 1);
    auto second = pe.on_queue(kSecondNic);
    look(pe, second, second.put_async(data + 1, source + 1, 1, 1));
    tell(pe, 2);
  }

  template <class Pe, class Poster>
  void look(Pe& pe, Poster& poster, const Ticket& ticket) const {
    Status status;
    while (!poster.test(ticket, &status)) pe.machine().spin(Site::user);
    witness->expect(status.ok(), "the put succeeds");
  }
  template <class Pe>
  void tell(Pe& pe, Word number) const {
    witness->expect(pe.on_queue(0).put_value(flag, number, 1).ok(), "put_value is taken");
  }
};

WorldPointer tested_puts(const SubjectOptions& options) {
  WorldOptions shape = two_nics(options);
  shape.channels = 2;
  auto world = std::make_unique<World>("nics-tested-puts", shape);
  auto* source = world->allocate<Word>("source", 2);
  auto* data = world->allocate<Word>("data", 2);
  auto* flag = world->allocate<std::uint64_t>("flag", 1, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1},
                TestedPuts{world->witness(), world->channels(), source, data, flag});
  return world;
}

// All PEs add to one word of PE 1, by all that adds: PE 0, which reaches it directly for puts
// alone, PE 1 itself, and PE 2, which reaches it by its NIC alone. PE 2 takes the first queue, and
// the others the last one.
struct AddsOfAll {
  static constexpr Word kAdds = 6;  // of each PE

  const Witness* witness;
  Word* source;
  Word* data;  // one word of each PE
  Word* sum;
  Word* seen;
  std::uint32_t last_queue;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto by = pe.on_queue(pe.my_pe() == 2 ? 0 : last_queue);
    Status status;
    by.atomic_fetch_add(sum, Word{1}, 1, &status);
    taken(status);
    put_with_signal(by);
    taken(by.signal(sum, 1, SignalOp::add, 1));
    taken(by.atomic_inc(sum, 1));
    taken(by.atomic_fetch_add_nbi(seen, sum, Word{1}, 1));
    put_with_signal(by);
  }

 private:
  template <class Handle>
  void put_with_signal(Handle& by) const {
    taken(by.put_signal_nbi(data + by.my_pe(), source, 1, sum, 1, SignalOp::add, 1));
  }
  void taken(Status status) const { witness->expect(status.ok(), "an addition is taken"); }
};

WorldPointer adds_of_all(const char* name, WorldOptions shape, Reached reached) {
  shape.pes = 3;
  auto world = world_of(name, shape, reached);
  auto* source = world->allocate<Word>("source", 1);
  auto* data = world->allocate<Word>("data", 3);
  auto* sum = world->allocate<Word>("sum", 1, RegionKind::signal);
  auto* seen = world->allocate<Word>("seen", 1);
  world->launch({.blocks = 1, .threads = 1},
                AddsOfAll{world->witness(), source, data, sum, seen, shape.nics - 1});
  world->check(
      [=](After& after) { after.expect_eq("the sum", after.value(1, sum), 3 * AddsOfAll::kAdds); });
  return world;
}

WorldPointer all_adds(const SubjectOptions& options, Reached reached) {
  return adds_of_all("all-adds", options_for(options), reached);
}

WorldPointer nics_all_adds(const SubjectOptions& options, Reached reached) {
  return adds_of_all("nics-all-adds", two_nics(options), reached);
}

// PEs 0 and 1 are a team, PE 2 is not in it. One thread of PE 0 puts to PE 2, its group comes to
// the team's barrier, and another thread tells PE 2 of what was put; then likewise with quiet.
template <class Group>
struct ToldOutside {
  const Witness* witness;
  Word* data;  // 2
  std::uint64_t* flag;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 2) {
      for (Word i = 0; i < 2; ++i) {
        witness->expect(pe.wait_until(flag, Compare::gt, i).ok(), "the flag comes");
        witness->expect(m.load_weak(data + i) == 7 + i, "the data is there when the flag is");
      }
      return;
    }
    auto group = group_of<Group>(pe);
    auto team = group.team(Team{1});
    for (Word i = 0; i < 2; ++i) {
      const bool acts = pe.my_pe() == 0;
      if (acts && m.thread_index() == 0) pe.put_value(data + i, 7 + i, 2);
      const Status done = i == 0 ? team.barrier() : group.quiet();
      witness->expect(done.ok(), "barrier and quiet succeed");
      if (acts && m.thread_index() == 1) pe.put_value(flag, i + 1, 2);
    }
  }
};

template <class Group>
WorldPointer told_outside(const SubjectOptions& options, Reached reached) {
  constexpr bool kIsWarp = std::is_same_v<Group, WarpGroup>;
  WorldOptions shape = options_for(options);
  shape.pes = 3;
  shape.teams = {{0, 1}};
  auto world = world_of(kIsWarp ? "warp-tells-outside" : "block-tells-outside", shape, reached);
  auto* data = world->allocate<Word>("data", 2);
  auto* flag = world->allocate<std::uint64_t>("flag", 1, RegionKind::signal);
  const ToldOutside<Group> kernel{world->witness(), data, flag};
  for (std::uint32_t pe = 0; pe < 3; ++pe) {
    world->launch_on(pe, {.blocks = 1, .threads = pe == 2 ? 1u : 2u}, kernel);
  }
  return world;
}

// PEs 0 and 1 are a team. PEs 0 and 2 each put a word to PE 1, complete it, PE 0 by the team's
// barrier and PE 2 by quiet, and get the other one's: whoever is second finds the first one's.
struct BarrierBesideQuiet {
  const Witness* witness;
  Word* words;  // 2
  Word* seen;
  template <class Pe>
  void operator()(Pe& pe) const {
    const int number = pe.my_pe() / 2;
    const bool puts = pe.my_pe() != 1;
    if (puts) pe.put_value(words + number, 1, 1);
    const Status done = pe.my_pe() == 2 ? pe.quiet() : pe.team(Team{1}).barrier();
    witness->expect(done.ok(), "barrier and quiet succeed");
    if (puts) pe.machine().store_weak(seen, pe.get_value(words + (1 - number), 1));
  }
};

WorldPointer barrier_beside_quiet(const SubjectOptions& options, Reached reached) {
  WorldOptions shape = options_for(options);
  shape.pes = 3;
  shape.teams = {{0, 1}};
  auto world = world_of("team-barrier-beside-quiet", shape, reached);
  auto* words = world->allocate<Word>("words", 2, RegionKind::signal);
  auto* seen = world->allocate<Word>("seen", 1);
  world->launch({.blocks = 1, .threads = 1}, BarrierBesideQuiet{world->witness(), words, seen});
  world->check([=](After& after) {
    after.expect(after.value(0, seen) + after.value(2, seen) != 0,
                 "one of them has found what the other one made complete");
  });
  return world;
}

// Members combine numbers where the order shows: zeros with and without a sign, of which neither is
// less, and fractions of very different sizes.
struct SameBits {
  static constexpr int kCount = 3;

  const Witness* witness;
  double* source;  // 2 * kCount
  double* dest;    // 2 * kCount
  template <class Pe>
  void operator()(Pe& pe) const {
    constexpr double kSizes[] = {1e17, 1.0, -1e17};
    auto& m = pe.machine();
    auto team = pe.team(kTeamWorld);
    double* const sizes = source + kCount;
    for (int i = 0; i < kCount; ++i) {
      const int turned = (i + pe.my_pe()) % kCount;
      m.store_weak(source + i, turned == 0 ? 0.0 : -0.0);
      m.store_weak(sizes + i, kSizes[turned]);
    }
    witness->expect(team.reduce(dest, source, kCount, Min{}).ok(), "reduce succeeds");
    witness->expect(team.reduce(dest + kCount, sizes, kCount, Sum{}).ok(), "reduce succeeds");
  }
};

WorldPointer same_bits(const char* name, CollectiveAlgorithm algorithm,
                       const SubjectOptions& options, Reached reached) {
  constexpr int kCount = SameBits::kCount;
  const std::uint32_t pes = reached == kNic ? 2 : 3;
  auto world = world_of(name, options_for(options, pes, algorithm), reached);
  auto* source = world->allocate<double>("source", 2 * kCount);
  auto* dest = world->allocate<double>("dest", 2 * kCount);
  world->launch({.blocks = 1, .threads = 1}, SameBits{world->witness(), source, dest});
  world->check([=](After& after) {
    const auto* const bits = reinterpret_cast<const Word*>(dest);
    for (int i = 0; i < 2 * kCount; ++i) {
      const Word first = after.value(0, bits + i);
      for (std::uint32_t pe = 1; pe < pes; ++pe) {
        after.expect(after.value(pe, bits + i) == first, "all members have the same bits");
      }
    }
  });
  return world;
}

WorldPointer same_bits_linear(const SubjectOptions& options, Reached reached) {
  return same_bits("same-bits", CollectiveAlgorithm::linear, options, reached);
}

WorldPointer same_bits_tree(const SubjectOptions& options, Reached reached) {
  return same_bits("same-bits-tree", CollectiveAlgorithm::logarithmic, options, reached);
}

constexpr Reached kPartly = Reached::partly;

constexpr ScenarioEntry kListed[] = {
    {"nics-tested-puts", "Puts by the second NIC are tested, and told of by the first.",
     make<tested_puts>},
    {"partly-all-adds", "PEs that reach a word by themselves and by NICs add to it in every way.",
     make<all_adds, kPartly>},
    {"partly-nics-all-adds", "The same by handles of two NICs.", make<nics_all_adds, kPartly>},
    {"direct-block-tells-outside",
     "A block comes to a team's barrier, and tells a PE outside of it of what one thread put.",
     make<told_outside<BlockGroup>, kDirect>},
    {"direct-warp-tells-outside", "The same of a warp.", make<told_outside<WarpGroup>, kDirect>},
    {"team-barrier-beside-quiet", "A team's barrier completes what a PE outside of it looks for.",
     make<barrier_beside_quiet, kNic>},
    {"direct-team-barrier-beside-quiet", "The same of direct peers.",
     make<barrier_beside_quiet, kDirect>},
    {"mixed-team-barrier-beside-quiet", "The same of PEs that are direct for puts alone.",
     make<barrier_beside_quiet, kMixed>},
    {"same-bits", "PEs reduce numbers where the order shows, and have the same bits.",
     make<same_bits_linear, kNic>},
    {"same-bits-tree", "The same by a tree.", make<same_bits_tree, kNic>},
    {"direct-same-bits-tree", "The same by a tree of three direct peers.",
     make<same_bits_tree, kDirect>},
};

}  // namespace

constinit const Table kApartTable = kListed;

}  // namespace gdakit::sim::scenarios
