// Talks that each execution draws anew: players that tell each other what they have done while
// others use the same queues. They are there for what no scenario has been written for.
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "sim/world/scenarios/program_world.h"
#include "sim/world/scenarios/scenarios.h"
#include "sim/world/scenarios/talk_meeting.h"
#include "sim/world/scenarios/talk_player.h"
#include "sim/world/scenarios/talk_program.h"

namespace gdakit::sim::scenarios {
namespace {

template <class Group>
struct Converse {
  const TalkState* state;
  template <class Pe>
  void operator()(Pe& pe) const {
    TalkPlayer<Group, Pe>(*state, pe).play();
  }
};

// What tells the worlds apart.
struct TalkKind {
  const char* name;
  const char* base = name;  // without what world_of puts before it
  std::uint32_t pes = 2;
  std::uint32_t players = 2;
  std::uint32_t steps = 5;
  std::uint32_t nics = 1;
  Reached reached = kNic;
  Handler handler = Handler::gpu;
  bool by_lanes = false;
  bool cut = false;  // the arrays lie in several chunks, and messages are short
  bool checked = false;
  bool placed = false;
  bool dc = false;
  std::uint32_t meetings = 0;  // few, as an execution has so many steps at most
  std::uint64_t start_index = 0;
};

WorldOptions options_of(const TalkKind& kind, const SubjectOptions& options) {
  SubjectOptions given = options;
  given.any_placement = kind.placed;
  WorldOptions shape = options_for(given);
  shape.pes = kind.pes;
  shape.nics = kind.nics;
  shape.queues = kind.nics > 2 ? kind.nics : 2;
  shape.exclusive_queues = 1;
  shape.channels = kind.players;
  shape.receive_depth = kLetters;
  shape.local_buffers = kind.players;
  shape.check_memory = kind.checked;
  shape.handler = kind.handler;
  shape.start_index = kind.start_index;
  for (std::uint32_t i = 0; kind.meetings != 0 && i < kind.players; ++i) {
    shape.teams.push_back(meeting_members(kind.pes, i));
  }
  if (kind.cut) shape.max_message_bytes = 32;
  if (kind.dc) shape.dc_queues = 1;
  return shape;
}

TalkShape shape_of(const TalkKind& kind, bool alone) {
  TalkShape shape;
  shape.pes = kind.pes;
  shape.players = kind.players;
  shape.steps = kind.steps;
  shape.alone = alone;
  shape.direct = kind.reached != kNic;
  shape.directly = kind.reached == kDirect;
  shape.partly = kind.reached == Reached::partly;
  shape.placed = kind.placed;
  shape.word_queues = kind.nics > 1;
  shape.meetings = kind.meetings;
  return shape;
}

void allocate(World& world, const TalkKind& kind, TalkState& state) {
  const std::uint32_t players = kind.players;
  const std::uint32_t all = state.shape.all();
  state.own = world.allocate<std::uint8_t>("own", kRowBytes);
  if (kind.cut) world.split_at(state.own + 16);
  state.drafts = world.allocate<std::uint8_t>("drafts", players * kDraftBytes);
  if (kind.cut) world.split_at(state.drafts + 16);
  state.got = world.allocate<std::uint8_t>("got", players * kRowBytes);
  if (kind.cut) world.split_at(state.got + 16);
  state.inbox = world.allocate<std::uint8_t>("inbox", all * kRowBytes);
  if (kind.cut) world.split_at(state.inbox + kRowBytes + 16);
  state.letters =
      world.allocate<std::uint8_t>("letters", players * kind.pes * kLetters * kLetterBytes);
  state.words = world.allocate<std::uint64_t>("words", players * all, RegionKind::signal);
  state.counters = world.allocate<std::uint64_t>("counters", (all + 1) * 2, RegionKind::signal);
  state.locks = world.allocate<Lock>("locks", kTalkLocks, RegionKind::signal);
  state.guarded = world.allocate<std::uint64_t>("guarded", kTalkLocks);
  if (kind.meetings != 0) {
    state.met = world.allocate<std::uint64_t>("met", players * kind.pes * kMetWords);
    if (kind.cut) world.split_at(state.met + kMetWords);
  }
  for (std::uint32_t i = 0; i < players; ++i) {
    state.asides.push_back(static_cast<std::uint8_t*>(world.local_buffer(i)));
  }
  for (std::uint32_t pe = 0; pe < kind.pes; ++pe) {
    for (std::uint32_t i = 0; i < kRowBytes; ++i) world.set(pe, state.own + i, own_byte(pe, i));
  }
}

template <class T>
void expect_all(After& after, std::uint32_t pe, const T* at, const std::vector<T>& wanted,
                const char* what) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    after.expect(after.value(pe, at + i) == wanted[i], what);
  }
}

// All that lies in the heap is what the talk has brought.
void judge(After& after, const TalkState& state) {
  for (std::uint32_t pe = 0; pe < state.shape.pes; ++pe) {
    const TalkMemory& wanted = state.talk.memory[pe];
    expect_all(after, pe, state.inbox, wanted.inbox, "the inbox has what came");
    expect_all(after, pe, state.words, wanted.words, "the words have their last values");
    expect_all(after, pe, state.counters, wanted.counters, "the counters are right");
    expect_all(after, pe, state.guarded, wanted.guarded, "what locks guard is right");
  }
}

template <class Group, const TalkKind& kKind>
std::unique_ptr<Subject> make_talk(const SubjectOptions& options) {
  constexpr bool kAlone = std::is_same_v<Group, ThreadGroup>;
  const WorldOptions world_options = options_of(kKind, options);
  WorldPointer world = world_of(kKind.base, world_options, kKind.reached);
  auto state = std::make_shared<TalkState>();
  state->shape = shape_of(kKind, kAlone);
  state->by_lanes = kKind.by_lanes;
  state->cut = kKind.cut;
  state->exclusive_queue = world_options.queues;
  state->witness = world->witness();
  state->channels = world->channels();
  allocate(*world, kKind, *state);
  const std::uint32_t threads = kAlone ? 1 : 2;
  const LaunchShape shape = kKind.by_lanes
                                ? LaunchShape{.blocks = 1, .threads = kKind.players}
                                : LaunchShape{.blocks = kKind.players, .threads = threads};
  world->launch(shape, Converse<Group>{state.get()});
  world->check([talk = state.get()](After& after) { judge(after, *talk); });
  return std::make_unique<ProgramWorld<TalkState>>(with_mutation(std::move(world), options), state);
}

constexpr TalkKind kTalk{.name = "talk"};
constexpr TalkKind kLong{.name = "talk-at-length", .players = 1, .steps = 20};
constexpr TalkKind kOfThree{.name = "talk-of-three", .pes = 3, .players = 1, .steps = 8};
constexpr TalkKind kByLanes{.name = "talk-by-lanes", .by_lanes = true};
constexpr TalkKind kByWarp{.name = "talk-by-warp", .players = 1, .steps = 8};
constexpr TalkKind kByBlock{.name = "talk-by-block"};
constexpr TalkKind kCut{.name = "talk-across-chunks", .cut = true};
constexpr TalkKind kChecked{.name = "talk-checked", .checked = true};
constexpr TalkKind kWraps{.name = "talk-wraps", .start_index = 0xffe0};
constexpr TalkKind kProxy{.name = "proxy-talk", .handler = Handler::proxy};
constexpr TalkKind kCommands{.name = "commands-talk", .handler = Handler::commands};
constexpr TalkKind kNics{.name = "nics-talk", .nics = 2};
constexpr TalkKind kThreeNics{.name = "nics-talk-of-three", .players = 1, .steps = 8, .nics = 3};
constexpr TalkKind kDc{.name = "dc-talk", .pes = 3, .players = 1, .steps = 8, .dc = true};
constexpr TalkKind kPlaced{.name = "placed-talk", .base = "talk", .placed = true};
constexpr TalkKind kMeets{.name = "meeting-talk", .meetings = 3};
constexpr TalkKind kMeetsOfThree{
    .name = "meeting-talk-of-three", .pes = 3, .players = 1, .steps = 4, .meetings = 1};
constexpr TalkKind kMeetsByLanes{.name = "meeting-talk-by-lanes", .by_lanes = true, .meetings = 3};
constexpr TalkKind kMeetsByBlock{.name = "meeting-talk-by-block", .meetings = 3};
constexpr TalkKind kMeetsCut{.name = "meeting-talk-across-chunks", .cut = true, .meetings = 3};
constexpr TalkKind kMeetsNics{.name = "meeting-talk-with-nics", .nics = 2, .meetings = 3};
constexpr TalkKind kMeetsDc{
    .name = "dc-meeting-talk", .pes = 3, .players = 1, .steps = 4, .dc = true, .meetings = 1};
constexpr TalkKind kMeetsPlaced{
    .name = "placed-meeting-talk", .base = "meeting-talk", .placed = true, .meetings = 3};
constexpr TalkKind kMeetsDirectly{
    .name = "direct-meeting-talk", .base = "meeting-talk", .reached = kDirect, .meetings = 3};
constexpr TalkKind kMeetsPartly{.name = "partly-meeting-talk",
                                .base = "meeting-talk",
                                .pes = 3,
                                .players = 1,
                                .steps = 4,
                                .reached = Reached::partly,
                                .meetings = 1};
constexpr TalkKind kDirectly{.name = "direct-talk", .base = "talk", .reached = kDirect};
constexpr TalkKind kDirectlyByBlock{
    .name = "direct-talk-by-block", .base = "talk-by-block", .reached = kDirect};
constexpr TalkKind kMixedly{.name = "mixed-talk", .base = "talk", .reached = kMixed};
constexpr TalkKind kPartly{.name = "partly-talk",
                           .base = "talk",
                           .pes = 3,
                           .players = 1,
                           .steps = 8,
                           .reached = Reached::partly};

constexpr ScenarioEntry kListed[] = {
    {kTalk.name, "Players of two blocks, which tell each other at once what they have done.",
     make_talk<ThreadGroup, kTalk>},
    {kLong.name, "The same by one thread of each PE, for long.", make_talk<ThreadGroup, kLong>},
    {kOfThree.name, "The same among three PEs.", make_talk<ThreadGroup, kOfThree>},
    {kByLanes.name, "The same by two lanes of a warp.", make_talk<ThreadGroup, kByLanes>},
    {kByWarp.name, "The same by warps.", make_talk<WarpGroup, kByWarp>},
    {kByBlock.name, "The same by two blocks of two threads.", make_talk<BlockGroup, kByBlock>},
    {kCut.name, "The same where arrays lie in several chunks of the heap.",
     make_talk<ThreadGroup, kCut>},
    {kChecked.name, "The same in a checked heap.", make_talk<ThreadGroup, kChecked>},
    {kWraps.name, "The same where queues' 16-bit counters wrap.", make_talk<ThreadGroup, kWraps>},
    {kProxy.name, "The same where a host thread rings.", make_talk<ThreadGroup, kProxy>},
    {kCommands.name, "The same where a host thread makes WQEs of commands.",
     make_talk<ThreadGroup, kCommands>},
    {kNics.name, "The same with two NICs a PE.", make_talk<ThreadGroup, kNics>},
    {kThreeNics.name, "The same with three NICs a PE.", make_talk<ThreadGroup, kThreeNics>},
    {kDc.name, "The same by queues of DC.", make_talk<ThreadGroup, kDc>},
    {kPlaced.name, "The same where puts are placed in any order.", make_talk<ThreadGroup, kPlaced>},
    {kDirectly.name, "The same among direct peers.", make_talk<ThreadGroup, kDirectly>},
    {kDirectlyByBlock.name, "The same among direct peers, by two blocks of two threads.",
     make_talk<BlockGroup, kDirectlyByBlock>},
    {kMixedly.name, "The same where puts go directly and atomics through the NIC.",
     make_talk<ThreadGroup, kMixedly>},
    {kPartly.name, "The same where one PE of three is reached through the NIC alone.",
     make_talk<ThreadGroup, kPartly>},
    {kMeets.name, "Players that meet now and then, by collectives, while others go on.",
     make_talk<ThreadGroup, kMeets>},
    {kMeetsOfThree.name, "The same among three PEs.", make_talk<ThreadGroup, kMeetsOfThree>},
    {kMeetsByLanes.name, "The same by two lanes of a warp.", make_talk<ThreadGroup, kMeetsByLanes>},
    {kMeetsByBlock.name, "The same by two blocks of two threads.",
     make_talk<BlockGroup, kMeetsByBlock>},
    {kMeetsCut.name, "The same where arrays lie in several chunks of the heap.",
     make_talk<ThreadGroup, kMeetsCut>},
    {kMeetsNics.name, "The same with two NICs a PE.", make_talk<ThreadGroup, kMeetsNics>},
    {kMeetsDc.name, "The same by queues of DC.", make_talk<ThreadGroup, kMeetsDc>},
    {kMeetsPlaced.name, "The same where puts are placed in any order.",
     make_talk<ThreadGroup, kMeetsPlaced>},
    {kMeetsDirectly.name, "The same among direct peers.", make_talk<ThreadGroup, kMeetsDirectly>},
    {kMeetsPartly.name, "The same where one PE of three is reached through the NIC alone.",
     make_talk<ThreadGroup, kMeetsPartly>},
};

}  // namespace

constinit const Table kTalkTable = kListed;

}  // namespace gdakit::sim::scenarios
