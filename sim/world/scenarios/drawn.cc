// Programs that each execution draws anew: many operations of all kinds, in any order and of any
// shape, of which drawn_program.h knows what they must leave behind. They are there for what no
// scenario has been written for.
#include <memory>
#include <type_traits>
#include <utility>

#include "sim/world/scenarios/drawn_player.h"
#include "sim/world/scenarios/drawn_program.h"
#include "sim/world/scenarios/program_world.h"
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

// What tells the drawn worlds apart.
struct DrawnKind {
  const char* name;
  const char* base = name;  // without what world_of puts before it
  std::uint32_t pes = 2;
  std::uint32_t nics = 1;
  Reached reached = Reached::through_nic;
  bool cut = false;      // the arrays lie in several chunks of the heap
  bool checked = false;  // operations may touch objects alone
  bool refuses = false;
  bool any_placement = false;
  bool dc = false;
  bool breaks = false;  // PE 1 refuses all that PE 0 asks of it
};

WorldOptions options_of(const DrawnKind& kind, const SubjectOptions& options) {
  SubjectOptions given = options;
  given.any_placement = kind.any_placement;
  WorldOptions shape = options_for(given);
  shape.pes = kind.pes;
  shape.nics = kind.nics;
  shape.queues = 2;
  shape.exclusive_queues = 1;
  shape.local_buffers = 1;
  shape.check_memory = kind.checked;
  if (kind.refuses) shape.expect_quiet = false;  // the misuse is reported
  if (kind.dc) shape.dc_queues = 1;
  if (kind.breaks) {
    shape = breaking(shape, 1);
  }
  if (kind.pes > 2) shape.teams = {{2, 0}};
  return shape;
}

DrawnShape shape_of(const DrawnKind& kind, const WorldOptions& options, bool alone) {
  DrawnShape shape;
  shape.teams.emplace_back();
  for (std::uint32_t pe = 0; pe < kind.pes; ++pe) {
    shape.teams[0].push_back(static_cast<std::int32_t>(pe));
  }
  shape.teams.insert(shape.teams.end(), options.teams.begin(), options.teams.end());
  // An execution has so many steps at most; and what is broken stays so.
  shape.rounds = kind.pes == 2 && !kind.breaks ? 2 : 1;
  shape.ordered = kind.reached == Reached::through_nic && !kind.any_placement;
  shape.alone = alone;
  shape.breaks = kind.breaks;
  if (kind.refuses) {
    shape.refusals = kRefusals;
    shape.refused_collectives = kRefusedCollectives;
  }
  return shape;
}

// On all PEs, unless one of them is there to refuse what it is asked.
template <class Kernel>
void launch(World& world, const DrawnKind& kind, LaunchShape shape, const Kernel& kernel) {
  if (!kind.breaks) return world.launch(shape, kernel);
  world.launch_on(0, shape, kernel);
  const DrawnState* const state = kernel.state;
  world.check([state](After& after) {
    for (std::size_t i = 0; i < kDrawnPlaces; ++i) {
      for (std::uint32_t word = 0; word < words_of(static_cast<Place>(i), 2); ++word) {
        after.expect(after.value(1, state->places[i] + word) == 0, "PE 1 has got nothing");
      }
    }
  });
}

template <class Group, const DrawnKind& kKind>
std::unique_ptr<Subject> make_drawn(const SubjectOptions& options) {
  constexpr bool kAlone = std::is_same_v<Group, ThreadGroup>;
  const WorldOptions world_options = options_of(kKind, options);
  WorldPointer world = world_of(kKind.base, world_options, kKind.reached);
  auto state = std::make_shared<DrawnState>();
  state->shape = shape_of(kKind, world_options, kAlone);
  state->witness = world->witness();
  constexpr const char* kNames[] = {"own", "inbox", "got", "gathered", "counters", "signals"};
  for (std::size_t i = 0; i < kDrawnPlaces; ++i) {
    const auto place = static_cast<Place>(i);
    const bool is_signal = place == Place::counters || place == Place::signals;
    state->places[i] = world->allocate<DrawnWord>(
        kNames[i], words_of(place, kKind.pes), is_signal ? RegionKind::signal : RegionKind::heap);
    if (kKind.cut) world->split_at(state->places[i] + 5);
  }
  state->aside = static_cast<DrawnWord*>(world->local_buffer(0));
  launch(*world, kKind, {.blocks = 1, .threads = kAlone ? 1u : 2u}, Play<Group>{state.get()});
  return std::make_unique<ProgramWorld<DrawnState>>(with_mutation(std::move(world), options),
                                                    state);
}

constexpr DrawnKind kDrawn{.name = "drawn"};
constexpr DrawnKind kOfThree{.name = "drawn-of-three", .pes = 3};
constexpr DrawnKind kByWarp{.name = "drawn-by-warp"};
constexpr DrawnKind kByBlock{.name = "drawn-by-block", .pes = 3};
constexpr DrawnKind kCut{.name = "drawn-across-chunks", .cut = true};
constexpr DrawnKind kChecked{.name = "drawn-checked", .checked = true, .refuses = true};
constexpr DrawnKind kRefuses{.name = "drawn-refused", .refuses = true};
constexpr DrawnKind kNics{.name = "nics-drawn", .nics = 2};
constexpr DrawnKind kDc{.name = "dc-drawn", .pes = 3, .dc = true};
constexpr DrawnKind kBreaks{.name = "drawn-breaking", .breaks = true};
constexpr DrawnKind kBreaksByBlock{.name = "drawn-breaking-by-block", .breaks = true};
constexpr DrawnKind kPlaced{.name = "placed-drawn", .base = "drawn", .any_placement = true};
constexpr DrawnKind kDirectly{.name = "direct-drawn", .base = "drawn", .reached = kDirect};
constexpr DrawnKind kDirectlyByBlock{.name = "direct-drawn-by-block",
                                     .base = "drawn-by-block",
                                     .pes = 3,
                                     .reached = kDirect,
                                     .cut = true};
constexpr DrawnKind kMixedly{.name = "mixed-drawn", .base = "drawn", .reached = kMixed};
constexpr DrawnKind kPartly{
    .name = "partly-drawn", .base = "drawn", .pes = 3, .reached = Reached::partly};

constexpr ScenarioEntry kListed[] = {
    {kDrawn.name, "A program that is drawn anew, by one thread of each PE.",
     make_drawn<ThreadGroup, kDrawn>},
    {kOfThree.name, "The same for three PEs and two teams.", make_drawn<ThreadGroup, kOfThree>},
    {kByWarp.name, "The same by warps.", make_drawn<WarpGroup, kByWarp>},
    {kByBlock.name, "The same by blocks.", make_drawn<BlockGroup, kByBlock>},
    {kCut.name, "The same where arrays lie in several chunks of the heap.",
     make_drawn<ThreadGroup, kCut>},
    {kRefuses.name, "The same with calls that are refused.", make_drawn<ThreadGroup, kRefuses>},
    {kChecked.name, "The same in a checked heap.", make_drawn<ThreadGroup, kChecked>},
    {kNics.name, "The same with two NICs a PE.", make_drawn<ThreadGroup, kNics>},
    {kDc.name, "The same by queues of DC.", make_drawn<ThreadGroup, kDc>},
    {kBreaks.name, "The same beside a PE that refuses everything.",
     make_drawn<ThreadGroup, kBreaks>},
    {kBreaksByBlock.name, "The same by blocks.", make_drawn<BlockGroup, kBreaksByBlock>},
    {kPlaced.name, "The same where puts are placed in any order.",
     make_drawn<ThreadGroup, kPlaced>},
    {kDirectly.name, "The same among direct peers.", make_drawn<ThreadGroup, kDirectly>},
    {kDirectlyByBlock.name, "The same among direct peers by blocks, across chunks.",
     make_drawn<BlockGroup, kDirectlyByBlock>},
    {kMixedly.name, "The same where puts go directly and atomics through the NIC.",
     make_drawn<ThreadGroup, kMixedly>},
    {kPartly.name, "The same where one PE of three is reached through the NIC alone.",
     make_drawn<ThreadGroup, kPartly>},
};

}  // namespace

constinit const Table kDrawnTable = kListed;

}  // namespace gdakit::sim::scenarios
