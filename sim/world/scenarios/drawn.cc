// Programs that each execution draws anew: many operations of all kinds, in any order and of any
// shape, of which drawn_program.h knows what they must leave behind. They are there for what no
// scenario has been written for.
#include "sim/world/scenarios/drawn_program.h"
#include "sim/world/scenarios/group_of.h"
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

constexpr std::uint32_t kPrograms = 1 << 20;
constexpr std::uint32_t kAsideWords = 8;

constexpr std::uint32_t kRefusals = 17;  // of calls that are no collectives
constexpr std::uint32_t kRefusedCollectives = 5;

// In no heap.
DrawnWord* stranger() {
  static DrawnWord words[2] = {};
  return words;
}

// What the kernels of a drawn world share.
struct DrawnState {
  DrawnShape shape;
  std::vector<Round> rounds;  // of the execution that runs
  const Witness* witness = nullptr;
  DrawnWord* places[kDrawnPlaces] = {};
  DrawnWord* aside = nullptr;  // in a registered buffer outside of the heap
};

// One PE's part of the program, by a group of threads.
template <class Group, class Pe>
class Player {
 public:
  Player(const DrawnState& state, Pe& pe)
      : state_(state),
        first_(group_of<Group>(pe)),
        second_(first_.on_queue(1)),
        exclusive_(first_.exclusively_on(2)),
        me_(static_cast<std::uint32_t>(pe.my_pe())) {}

  void play() {
    for (std::uint32_t i = 0; i < state_.shape.rounds; ++i) {
      const Round& round = state_.rounds[i];
      offer(i);
      if (!state_.shape.breaks) succeeds(first_.sync_all(), "sync_all succeeds");
      for (const Step& step : round.steps[me_]) play(step);
      answer_ = round.quiet;
      if (state_.shape.breaks) {
        succeeds(exclusive_.quiet(), "quiet says what has failed");
        fetch_from_oneself();
      } else {
        meet(round.meeting);
        gather(round.collective);
      }
      look(round.after[me_]);
    }
  }

 private:
  bool acts() { return first_.thread_index() == 0; }
  void expect(bool holds, const char* what) const { state_.witness->expect(holds, what); }
  // As far as it should.
  void succeeds(Status status, const char* what) const {
    const bool is_broken = status.code == StatusCode::queue_error && status.peer == 1;
    expect((status.ok() && answer_ != Answer::error) || (is_broken && answer_ != Answer::ok), what);
  }
  // A fetch, and what it returned.
  void brings(DrawnWord got, DrawnWord wanted, Status status, const char* what) const {
    succeeds(status, what);
    expect(got == (status.ok() ? wanted : 0), what);
  }
  DrawnWord* place(Place which) const { return state_.places[static_cast<std::size_t>(which)]; }

  void offer(std::uint32_t round) {
    if (!acts()) return;
    auto& m = first_.machine();
    for (std::uint32_t i = 0; i < kDrawnWords; ++i) {
      m.store_weak(place(Place::own) + i, own_word(round, me_, i));
      if (i < kAsideWords) m.store_weak(state_.aside + i, own_word(round, me_, i));
    }
    for (std::uint32_t i = 0; i < words_of(Place::gathered, state_.shape.pes()); ++i) {
      m.store_weak(place(Place::gathered) + i, word_before(round, me_, i));
    }
  }

  // A get makes visible what the PE's own NIC has put here, as a meeting of PEs does: quiet alone
  // does not, on a GPU that does not order inbound writes.
  void fetch_from_oneself() {
    answer_ = Answer::ok;
    if (!acts()) return;
    Status status;
    first_.get_value(place(Place::own), static_cast<int>(me_), &status);
    succeeds(status, "a get from oneself succeeds");
  }

  void play(const Step& step) {
    answer_ = step.answer;
    switch (step.way) {
      case Way::first: return play(step, first_);
      case Way::second: return play(step, second_);
      case Way::exclusive: return play(step, exclusive_);
    }
  }

  template <class Handle>
  void play(const Step& step, Handle& handle) {
    if (step.act <= Act::iget) {
      move(step, handle);
    } else if (step.act == Act::fence) {
      succeeds(handle.fence(), "fence succeeds");
    } else if (step.act == Act::quiet) {
      succeeds(exclusive_.quiet(), "quiet succeeds");
    } else if (step.act == Act::refused) {
      refuse(step, handle);
    } else if (acts()) {
      change(step, handle);
    }
  }

  template <class Handle>
  void move(const Step& step, Handle& handle) {
    DrawnWord* const remote = place(step.remote.place) + step.remote.first;
    DrawnWord* const local =
        step.aside ? state_.aside + step.local.first : place(step.local.place) + step.local.first;
    const auto pe = static_cast<int>(step.pe);
    const std::uint32_t count = step.count;
    const std::ptrdiff_t there = step.remote.stride;
    const std::ptrdiff_t here = step.local.stride;
    const Batch batch = step.more ? Batch::more : Batch::last;
    std::uint64_t* const word = place(Place::signals) + me_;
    const SignalOp op = step.adds ? SignalOp::add : SignalOp::set;
    Status status;
    switch (step.act) {
      case Act::put: return succeeds(handle.put(remote, local, count, pe), "put succeeds");
      case Act::put_nbi:
        return succeeds(handle.put_nbi(remote, local, count, pe, batch), "put_nbi succeeds");
      case Act::put_async:
        return succeeds(handle.wait(handle.put_async(remote, local, count, pe, batch)),
                        "put_async succeeds");
      case Act::put_value:
        if (acts()) succeeds(handle.put_value(remote, step.value, pe, batch), "put_value succeeds");
        return;
      case Act::iput:
        return succeeds(handle.iput(remote, local, there, here, count, pe), "iput succeeds");
      case Act::put_signal:
        return succeeds(handle.put_signal(remote, local, count, word, step.value, op, pe),
                        "put_signal succeeds");
      case Act::get: return succeeds(handle.get(local, remote, count, pe), "get succeeds");
      case Act::get_nbi:
        return succeeds(handle.get_nbi(local, remote, count, pe, batch), "get_nbi succeeds");
      case Act::get_value:
        if (acts()) {
          const DrawnWord got = handle.get_value(remote, pe, &status);
          brings(got, step.wanted, status, "get_value is right");
        }
        return;
      default: return succeeds(handle.iget(local, remote, here, there, count, pe), "iget succeeds");
    }
  }

  // Calls of single threads.
  template <class Handle>
  void change(const Step& step, Handle& handle) {
    std::uint64_t* const word = place(Place::counters) + me_;
    const auto pe = static_cast<int>(step.pe);
    const Batch batch = step.more ? Batch::more : Batch::last;
    DrawnWord got = 0;
    Status status;
    switch (step.act) {
      case Act::signal:
        return succeeds(handle.signal(place(Place::signals) + me_, step.value,
                                      step.adds ? SignalOp::add : SignalOp::set, pe, batch),
                        "signal succeeds");
      case Act::add:
        return succeeds(handle.atomic_add(word, step.value, pe, batch), "atomic_add succeeds");
      case Act::set:
        return succeeds(handle.atomic_set(word, step.value, pe, batch), "atomic_set succeeds");
      case Act::add_for_all:
        return succeeds(
            handle.atomic_add(place(Place::counters) + state_.shape.pes(), step.value, pe, batch),
            "atomic_add of all succeeds");
      case Act::fetch_add:
        got = handle.atomic_fetch_add(word, step.value, pe, &status);
        return brings(got, step.wanted, status, "atomic_fetch_add is right");
      case Act::swap:
        got = handle.atomic_swap(word, step.value, pe, &status);
        return brings(got, step.wanted, status, "atomic_swap is right");
      default:
        got = handle.atomic_compare_swap(word, step.compared, step.value, pe, &status);
        return brings(got, step.wanted, status, "atomic_compare_swap is right");
    }
  }

  // One of kRefusals calls.
  template <class Handle>
  void refuse(const Step& step, Handle& handle) {
    DrawnWord* const own = place(Place::own);
    DrawnWord* const inbox = place(Place::inbox) + me_ * kDrawnWords;
    const auto pe = static_cast<int>(step.pe);
    const auto nobody = static_cast<int>(state_.shape.pes());
    const Batch batch = step.more ? Batch::more : Batch::last;
    const auto is = [&](Status status, StatusCode code, const char* what) {
      expect(status.code == code, what);
    };
    constexpr StatusCode kArgument = StatusCode::invalid_argument;
    constexpr StatusCode kAddress = StatusCode::invalid_address;
    std::uint64_t* const word = place(Place::signals) + me_;
    switch (step.number) {
      case 0: return is(handle.put_nbi(inbox, own, 1, nobody, batch), kArgument, "put: no PE");
      case 1: return is(handle.get(inbox, own, 1, -1), kArgument, "get: no PE");
      case 2: return is(handle.put(stranger(), own, 1, pe), kAddress, "put: not in the heap");
      case 3:
        return is(handle.put_nbi(inbox, stranger(), 1, pe, batch), kAddress, "put: no source");
      case 4: return is(handle.get(stranger(), own, 1, pe), kAddress, "get: no destination");
      case 5: return is(handle.iput(inbox, own, 0, 1, 2, pe), kArgument, "iput: stride 0");
      case 6: return is(handle.iget(inbox, own, 0, 1, 2, pe), kArgument, "iget: stride 0");
      case 7:
        return is(handle.put_signal(inbox, own, 1, stranger(), 1, SignalOp::add, pe), kAddress,
                  "put_signal: no word");
      case 8:
        return is(handle.put_signal(stranger(), own, 1, word, 1, SignalOp::add, pe), kAddress,
                  "put_signal: not in the heap");
      case 9:
        return is(handle.put(inbox, own, std::size_t{1} << 40, pe), kAddress, "put: too much");
      case 10:
        return is(handle.iput(inbox, own, std::ptrdiff_t{1} << 40, 1, 3, pe), kAddress,
                  "iput: too far");
      default: break;
    }
    if (acts()) is(refuse_one(step, handle), step.number < 14 ? kArgument : kAddress, "one call");
  }

  // Calls of single threads.
  template <class Handle>
  Status refuse_one(const Step& step, Handle& handle) {
    const auto pe = static_cast<int>(step.pe);
    const auto nobody = static_cast<int>(state_.shape.pes());
    std::uint64_t* const word = place(Place::counters) + me_;
    std::uint64_t* const astride = reinterpret_cast<std::uint64_t*>(
        reinterpret_cast<std::uintptr_t>(place(Place::counters)) + 4);
    Status status;
    switch (step.number) {
      case 11: return handle.put_value(word, 1, nobody);
      case 12: handle.atomic_fetch_add(word, 1, nobody, &status); return status;
      case 13: return handle.atomic_add(astride, 1, pe);
      case 14: return handle.signal(stranger(), 1, SignalOp::set, pe);
      case 15: handle.get_value(stranger(), pe, &status); return status;
      default: return handle.atomic_set(stranger(), 1, pe);
    }
  }

  void meet(Meeting meeting) {
    if (meeting == Meeting::barrier_all) {
      return succeeds(exclusive_.barrier_all(), "barrier_all succeeds");
    }
    succeeds(exclusive_.quiet(), "the round's quiet succeeds");
    if (meeting == Meeting::quiet_and_sync) return succeeds(first_.sync_all(), "sync_all succeeds");
    succeeds(first_.team(kTeamWorld).barrier(), "barrier succeeds");
  }

  void gather(const Collective& what) {
    auto team = first_.team(Team{what.team});
    if (what.what == Gathering::none || team.my_pe() < 0) return;
    refuse(what, team);
    const std::uint32_t count = what.counts[static_cast<std::size_t>(team.my_pe())];
    DrawnWord* const dest = place(Place::gathered);
    const DrawnWord* source = what.in_place ? dest : place(Place::own);
    switch (what.what) {
      case Gathering::none: return;
      case Gathering::broadcast:
        return succeeds(team.broadcast(dest, source, count, what.root), "broadcast succeeds");
      case Gathering::fcollect:
        if (what.in_place) source += static_cast<std::uint32_t>(team.my_pe()) * count;
        return succeeds(team.fcollect(dest, source, count), "fcollect succeeds");
      case Gathering::collect:
        return succeeds(team.collect(dest, place(Place::own), count), "collect succeeds");
      case Gathering::alltoall:
        return succeeds(team.alltoall(dest, place(Place::own), count), "alltoall succeeds");
      case Gathering::alltoalls:
        return succeeds(team.alltoalls(dest, place(Place::own), what.stride, what.stride, count),
                        "alltoalls succeeds");
      case Gathering::reduce:
        return succeeds(team.reduce(dest, source, count, Sum{}), "reduce succeeds");
      case Gathering::reduce_scatter:
        return succeeds(team.reduce_scatter(dest, source, count, Sum{}), "reduce_scatter succeeds");
    }
  }

  // All members make the same call, which is wrong.
  template <class Team>
  void refuse(const Collective& what, Team& team) {
    DrawnWord* const dest = place(Place::gathered);
    DrawnWord* const own = place(Place::own);
    const auto is = [&](Status status, StatusCode code, const char* text) {
      expect(status.code == code, text);
    };
    constexpr StatusCode kAddress = StatusCode::invalid_address;
    switch (what.refused) {
      case 1:
        return is(team.broadcast(dest, own, 1, team.n_pes()), StatusCode::invalid_argument,
                  "broadcast: no root");
      case 2: return is(team.fcollect(stranger(), own, 1), kAddress, "fcollect: no destination");
      case 3: return is(team.reduce(dest, stranger(), 1, Sum{}), kAddress, "reduce: no source");
      case 4: return is(team.alltoall(stranger(), own, 1), kAddress, "alltoall: no destination");
      case 5:
        return is(team.alltoalls(dest, own, 0, 1, 1), StatusCode::invalid_argument,
                  "alltoalls: stride 0");
      default: return;
    }
  }

  // All that lies here is what the program has brought.
  void look(const Memory& wanted) {
    constexpr const char* kWhat[] = {"own is as it was",       "inbox has what came",
                                     "got has what was read",  "gathered is right",
                                     "the counters are right", "the signals are right"};
    if (!acts()) return;
    auto& m = first_.machine();
    for (std::size_t i = 0; i < kDrawnPlaces; ++i) {
      for (std::size_t word = 0; word < wanted[i].size(); ++word) {
        expect(m.load_weak(state_.places[i] + word) == wanted[i][word], kWhat[i]);
      }
    }
  }

  const DrawnState& state_;
  decltype(group_of<Group>(std::declval<Pe&>())) first_;
  decltype(first_.on_queue(1)) second_;
  decltype(first_.exclusively_on(2)) exclusive_;
  const std::uint32_t me_;
  Answer answer_ = Answer::ok;  // to the call that comes
};

template <class Group>
struct Play {
  const DrawnState* state;
  template <class Pe>
  void operator()(Pe& pe) const {
    Player<Group, Pe>(*state, pe).play();
  }
};

// A world whose kernels play another program in each execution.
class DrawnWorld final : public Subject {
 public:
  DrawnWorld(std::unique_ptr<Subject> world, std::shared_ptr<DrawnState> state)
      : world_(std::move(world)), state_(std::move(state)) {}

  const std::string& name() const override { return world_->name(); }
  RunResult run(Chooser& chooser, Trace* trace) override {
    state_->rounds = draw_program(state_->shape, chooser.choose(Choice::program, kPrograms));
    return world_->run(chooser, trace);
  }

 private:
  std::unique_ptr<Subject> world_;
  std::shared_ptr<DrawnState> state_;
};

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
    shape = breaking(shape);
    shape.bad_rkeys_of = 1;
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
  return std::make_unique<DrawnWorld>(with_mutation(std::move(world), options), state);
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
