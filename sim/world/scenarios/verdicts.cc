// What every thread of a group, every queue behind a broken one, and every report behind another
// one says of what failed.
#include "device/watchdog.h"
#include "sim/world/scenarios/elsewhere.h"
#include "sim/world/scenarios/group_of.h"
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

constexpr std::uint64_t kLimitNs = 1'000'000;  // of the watchdog, where there is one

// A group's calls are refused, or stall, since nobody writes the words that it waits for: each of
// its threads is told so.
template <class Group>
struct AllAreTold {
  const Witness* witness;
  Word* data;  // 3
  std::uint64_t* signal;
  template <class Pe>
  void operator()(Pe& pe) const {
    refusals(pe);
    stalls(pe);
  }

 private:
  template <class Pe>
  void refusals(Pe& pe) const {
    auto group = group_of<Group>(pe);
    const auto refused = [&](Status status, const char* what) {
      witness->expect(status.code == StatusCode::invalid_address, what);
    };
    Word* const other = stranger();
    refused(group.put(data, other, 1, 1), "put is refused");
    refused(group.get(other, data, 1, 1), "get is refused");
    refused(group.put_nbi(data, other, 1, 1, Batch::more), "put_nbi is refused");
    refused(group.get_async(other, data, 1, 1).status, "get_async is refused");
    refused(group.iput(data, other, 2, 1, 2, 1), "iput is refused");
    refused(group.iget_nbi(other, data, 1, 2, 2, 1), "iget_nbi is refused");
    refused(group.put_signal(data, other, 1, signal, 1, SignalOp::set, 1), "put_signal is refused");
    refused(group.put_signal_nbi(other, data, 1, signal, 1, SignalOp::set, 1),
            "so is put_signal_nbi");
    witness->expect(group.put_nbi(data, data, 1, 7).code == StatusCode::invalid_argument,
                    "there is no PE 7");
    witness->expect(group.quiet().ok(), "quiet succeeds");
  }

  template <class Pe>
  void stalls(Pe& pe) const {
    auto& m = pe.machine();
    auto group = group_of<Group>(pe);
    // A world in which nothing changes for long has ended for the simulator.
    const auto stalled = [&](Status status, const char* what) {
      witness->expect(status.code == StatusCode::stalled, what);
      if (m.thread_index() == 0) m.store_weak(data + 2, m.load_weak(data + 2) + 1);
    };
    std::size_t index = 0;
    std::size_t found = 0;
    std::size_t some[2];
    stalled(group.wait_until(signal, Compare::ne, 0), "wait_until stalls");
    stalled(group.wait_until_all(signal, 2, nullptr, Compare::ne, 0), "wait_until_all stalls");
    stalled(group.wait_until_any(signal, 2, nullptr, Compare::ne, 0, &index),
            "wait_until_any stalls");
    stalled(group.wait_until_some(signal, 2, nullptr, Compare::ne, 0, some, &found),
            "wait_until_some stalls");
    Status status;
    group.signal_wait_until(signal, Compare::ne, 0, &status);
    stalled(status, "signal_wait_until stalls");
  }
};

template <class Group>
WorldPointer all_are_told(const SubjectOptions& options, Reached reached) {
  const char* const name = std::is_same_v<Group, WarpGroup> ? "warp-is-told" : "block-is-told";
  WorldOptions shape = options_for(options);
  shape.watchdog_ns = kLimitNs;
  shape.expect_quiet = false;  // the misuse is reported
  auto world = world_of(name, shape, reached);
  auto* data = world->allocate<Word>("data", 3);
  auto* signal = world->allocate<std::uint64_t>("signal", 2, RegionKind::signal);
  world->launch_on(0, {.blocks = 1, .threads = 2},
                   AllAreTold<Group>{world->witness(), data, signal});
  world->check([=](After& after) {
    after.expect(after.value(1, data) == 0 && after.value(1, signal) == 0, "PE 1 has got nothing");
  });
  return world;
}

// PE 1 refuses the key of what a group puts, gets or signals: so say all threads, then and later.
template <class Group>
struct AllHearOfError {
  const Witness* witness;
  Word* data;  // 3
  std::uint64_t* signal;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto group = group_of<Group>(pe);
    const auto broken = [&](Status status, const char* what) {
      witness->expect(status.code == StatusCode::queue_error && status.peer == 1, what);
    };
    broken(group.put_signal(data, data, 1, signal, 1, SignalOp::add, 1), "put_signal fails");
    broken(group.put(data, data, 1, 1), "so does put");
    broken(group.get(data, data + 1, 1, 1), "so does get");
    broken(group.iput(data, data, 2, 1, 2, 1), "so does iput");
    broken(group.put_nbi(data, data, 1, 1), "put_nbi is refused");
    broken(group.quiet(), "quiet says that the queue is broken");
  }
};

WorldOptions refused_options(const SubjectOptions& options) {
  WorldOptions shape = breaking(options_for(options), 1);
  return shape;
}

template <class Group>
WorldPointer all_hear_of_error(const SubjectOptions& options) {
  constexpr bool kIsWarp = std::is_same_v<Group, WarpGroup>;
  auto world = std::make_unique<World>(kIsWarp ? "warp-hears-of-error" : "block-hears-of-error",
                                       refused_options(options));
  auto* data = world->allocate<Word>("data", 3);
  auto* signal = world->allocate<std::uint64_t>("signal", 1, RegionKind::signal);
  world->launch_on(0, {.blocks = 1, .threads = 2},
                   AllHearOfError<Group>{world->witness(), data, signal});
  return world;
}

// A team of which a message failed: collectives of nothing say the same as the one that failed.
template <class Group>
struct NothingOfBrokenTeam {
  const Witness* witness;
  Word* source;  // 2
  Word* dest;    // 2
  template <class Pe>
  void operator()(Pe& pe) const {
    auto team = group_of<Group>(pe).team(kTeamWorld);
    const Status failed = team.broadcast(dest, source, 1, 0);
    witness->expect(failed.code == StatusCode::queue_error, "the broadcast says what has failed");
    const auto same = [&](Status status, const char* what) {
      witness->expect(status == failed, what);
    };
    same(team.broadcast(dest, source, 0, 0), "a broadcast of nothing says the same");
    same(team.broadcast(dest, source, 0, 1), "so does one to here");
    same(team.fcollect(dest, source, 0), "so does an fcollect of nothing");
    same(team.collect(dest, source, 0), "so does a collect of nothing");
    same(team.alltoall(dest, source, 0), "so does an alltoall of nothing");
    same(team.alltoalls(dest, source, 1, 1, 0), "so does an alltoalls of nothing");
    same(team.reduce(dest, source, 0, Sum{}), "so does a reduction of nothing");
    same(team.reduce(dest, source, 0, ElementType::uint64, ReduceOp::max),
         "so does one of a type that is known when it runs");
    same(team.reduce_scatter(dest, source, 0, Sum{}), "so does a reduce_scatter of nothing");
    same(team.sync(), "so does a sync");
  }
};

template <class Group>
WorldPointer nothing_of_broken_team(const SubjectOptions& options) {
  constexpr bool kIsThread = std::is_same_v<Group, ThreadGroup>;
  const char* const name = kIsThread ? "broken-team-of-nothing" : "broken-team-of-nothing-by-block";
  auto world = std::make_unique<World>(name, refused_options(options));
  auto* source = world->allocate<Word>("source", 2);
  auto* dest = world->allocate<Word>("dest", 2);
  world->launch_on(0, {.blocks = 1, .threads = kIsThread ? 1 : 2},
                   NothingOfBrokenTeam<Group>{world->witness(), source, dest});
  return world;
}

// PE 1 of three refuses all keys. A quiet, or a barrier of PEs 0 and 2, that says so has completed
// what goes to and comes from PE 2 all the same, of which some was not announced before.
template <class Group>
struct CompletesTheRest {
  const Witness* witness;
  Word* source;
  Word* data;  // 2
  Word* got;
  bool by_barrier;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto group = group_of<Group>(pe);
    const bool leads = m.thread_index() == 0;
    if (pe.my_pe() == 2) {
      witness->expect(!by_barrier || group.team(Team{1}).barrier().ok(), "the barrier succeeds");
      for (int i = 0; by_barrier && i < 2; ++i) {
        witness->expect(m.load_weak(data + i) == 7, "what PE 0 has put here is there");
      }
      return;
    }
    if (leads) {
      m.store_weak(source, 7);
      auto second = pe.on_queue(1);
      pe.put_value(data, 1, 1);
      witness->expect(second.get_nbi(got, source, 1, 2).ok(), "get_nbi is taken");
      witness->expect(pe.put_nbi(data, source, 1, 2, Batch::more).ok(), "put_nbi is taken");
      witness->expect(second.put_nbi(data + 1, source, 1, 2, Batch::more).ok(),
                      "put_nbi by another queue is taken");
    }
    const Status status = by_barrier ? group.team(Team{1}).barrier() : group.quiet();
    witness->expect(status.code == StatusCode::queue_error && status.peer == 1,
                    "the call says that the queue to PE 1 is broken");
    witness->expect(m.load_weak(got) == 9, "what was got from PE 2 is here");
    if (leads && !by_barrier) m.store_weak(source, 8);
  }
};

template <class Group, bool kByBarrier>
WorldPointer completes_the_rest(const SubjectOptions& options) {
  constexpr bool kIsThread = std::is_same_v<Group, ThreadGroup>;
  const char* const name = kByBarrier  ? "barrier-behind-broken"
                           : kIsThread ? "quiet-behind-broken"
                                       : "block-quiet-behind-broken";
  WorldOptions shape = refused_options(options);
  shape.pes = 3;
  shape.queues = 2;
  shape.teams = {{0, 2}};
  auto world = std::make_unique<World>(name, shape);
  auto* source = world->allocate<Word>("source", 1);
  auto* data = world->allocate<Word>("data", 2);
  auto* got = world->allocate<Word>("got", 1);
  world->set(2, source, 9);
  const LaunchShape launch{.blocks = 1, .threads = kIsThread ? 1 : 2};
  const CompletesTheRest<Group> kernel{world->witness(), source, data, got, kByBarrier};
  world->launch_on(0, launch, kernel);
  world->launch_on(2, launch, kernel);
  world->check([=](After& after) {
    for (int i = 0; i < 2; ++i) {
      after.expect_eq("word " + std::to_string(i) + " of PE 2", after.value(2, data + i), 7);
    }
  });
  return world;
}

// Two fetches of a lane fail, and keep their places for results. So do those of all lanes in one
// call behind them, of which the first ones find places and the last one does not.
struct FetchesBehindError {
  static constexpr std::uint32_t kLanes = 3;

  const Witness* witness;
  Word* word;
  StatusCode code;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    for (int i = 0; i < 2 && m.thread_index() + 1 == kLanes; ++i) expect_failed(pe);
    m.sync_warp((LaneMask{1} << kLanes) - 1);
    for (int i = 0; i < 2; ++i) expect_failed(pe);
  }

 private:
  template <class Pe>
  void expect_failed(Pe& pe) const {
    Status status;
    pe.atomic_fetch_add(word, 1, 1, &status);
    witness->expect(status.code == code, "the fetch says why it fails");
  }
};

// The NICs sleep for ever.
WorldOptions asleep_options(const SubjectOptions& options) {
  WorldOptions shape = options_for(options);
  shape.watchdog_ns = kLimitNs;
  shape.nics_wake_ns = ~std::uint64_t{0};
  shape.expect_quiet = false;
  return shape;
}

template <bool kStalls>
WorldPointer fetches_behind(const SubjectOptions& options) {
  WorldOptions shape = kStalls ? asleep_options(options) : refused_options(options);
  shape.fetch_slots = 4;
  auto world =
      std::make_unique<World>(kStalls ? "fetches-behind-stall" : "fetches-behind-error", shape);
  auto* word = world->allocate<Word>("word", 1);
  const StatusCode code = kStalls ? StatusCode::stalled : StatusCode::queue_error;
  world->launch_on(0, {.blocks = 1, .threads = FetchesBehindError::kLanes},
                   FetchesBehindError{world->witness(), word, code});
  world->check([=](After& after) { after.expect_eq("the word", after.value(1, word), 0); });
  return world;
}

// Two threads fill a queue that nobody empties, or wait for it: it then refuses all posts, and says
// that it has stalled. One thread may fill an exclusive queue likewise.
struct StalledRefuses {
  const Witness* witness;
  Word* data;
  bool fills;
  bool owns;
  template <class Pe>
  void operator()(Pe& pe) const {
    if (owns) {
      auto own = pe.exclusively_on(1);
      use(own);
    } else {
      use(pe);
    }
  }

 private:
  template <class Pe>
  void use(Pe& pe) const {
    const auto stalled = [&](Status status, const char* what) {
      witness->expect(status.code == StatusCode::stalled && status.peer == 1, what);
    };
    Status status = pe.put_value(data, 1, 1);
    for (int i = 0; fills && status.ok() && i < 40; ++i) status = pe.put_value(data, 1, 1);
    if (fills) stalled(status, "a post stalls for room");
    stalled(pe.quiet(), "quiet stalls");
    stalled(pe.put_value(data, 1, 1), "a later post is refused");
    stalled(pe.put_nbi(data, data, 1, 1, Batch::more), "so is one of a batch");
    stalled(pe.put_async(data, data, 1, 1).status, "so is one with a ticket");
    pe.get_value(data, 1, &status);
    stalled(status, "so is a get");
  }
};

template <bool kFills, bool kOwns>
WorldPointer stalled_refuses(const SubjectOptions& options) {
  WorldOptions shape = asleep_options(options);
  shape.exclusive_queues = kOwns ? 1 : 0;
  auto world = std::make_unique<World>(kOwns    ? "own-stall-refuses"
                                       : kFills ? "full-stall-refuses"
                                                : "stall-refuses",
                                       shape);
  auto* data = world->allocate<Word>("data", 1);
  world->launch_on(0, {.blocks = kOwns ? 1u : 2u, .threads = 1},
                   StalledRefuses{world->witness(), data, kFills, kOwns});
  world->check([=](After& after) {
    after.expect(is_complete_report(after.pe_state(0).stall.state), "the stall is reported");
  });
  return world;
}

// Block 0 misuses the library, or waits for what nobody writes, some times; behind each time block
// 1, which plays the host, finds a report of it and clears that.
struct ReportsAgain {
  static constexpr Word kTimes = 3;

  const Witness* witness;
  Word* data;  // kTimes
  Word* turn;
  bool of_stalls;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::uint32_t block = m.block_index();
    for (Word i = 0; i < kTimes; ++i) {
      while (m.load(order::Acquire<Scope::gpu>{}, turn) != 2 * i + block) m.spin(Site::user);
      if (block == 0) {
        fail(pe, i);
      } else {
        read_and_clear(pe, i);
      }
      m.store(order::Release<Scope::gpu>{}, turn, 2 * i + block + 1);
    }
  }

 private:
  template <class Pe>
  void read_and_clear(Pe& pe, Word i) const {
    auto& m = pe.machine();
    PeState* const state = pe.context().state;
    std::uint64_t* const report = of_stalls ? &state->stall.state : &state->fault.state;
    const Word* const address = of_stalls ? &state->stall.address : &state->fault.address;
    const Word now = m.load(order::Acquire<Scope::system>{}, report);
    witness->expect(is_complete_report(now), "there is a report");
    witness->expect(m.load_weak(address) == reinterpret_cast<Word>(data + i),
                    "it is of what happened last");
    m.store(order::RelaxedSystem{}, &state->gives_up, Word{0});
    m.store(order::Release<Scope::system>{}, report, now + 1);
  }

  template <class Pe>
  void fail(Pe& pe, Word i) const {
    const Status status = of_stalls ? pe.wait_until(data + i, Compare::ne, 0)
                                    : pe.put_value(data + i, 1, static_cast<int>(7 + i));
    witness->expect(status.code == (of_stalls ? StatusCode::stalled : StatusCode::invalid_argument),
                    "the call says what is wrong");
  }
};

template <bool kOfStalls>
WorldPointer reports_again(const SubjectOptions& options) {
  WorldOptions shape = options_for(options);
  shape.watchdog_ns = kOfStalls ? kLimitNs : 0;
  shape.expect_quiet = false;
  auto world =
      std::make_unique<World>(kOfStalls ? "stalls-told-again" : "faults-told-again", shape);
  auto* data = world->allocate<Word>("data", ReportsAgain::kTimes, RegionKind::signal);
  auto* turn = world->allocate<Word>("turn", 1);
  world->launch_on(0, {.blocks = 2, .threads = 1},
                   ReportsAgain{world->witness(), data, turn, kOfStalls});
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"warp-is-told", "Both lanes are told what is refused, and what stalls.",
     make<all_are_told<WarpGroup>, kNic>},
    {"block-is-told", "Both threads of a block are told what is refused, and what stalls.",
     make<all_are_told<BlockGroup>, kNic>},
    {"direct-block-is-told", "Both threads are told of a direct peer, too.",
     make<all_are_told<BlockGroup>, kDirect>},
    {"warp-hears-of-error", "A peer refuses the key; both lanes are told.",
     make<all_hear_of_error<WarpGroup>>},
    {"block-hears-of-error", "A peer refuses the key; both threads of a block are told.",
     make<all_hear_of_error<BlockGroup>>},
    {"broken-team-of-nothing", "Collectives of nothing say that their team is broken.",
     make<nothing_of_broken_team<ThreadGroup>>},
    {"broken-team-of-nothing-by-block", "Collectives of nothing tell each thread of a block, too.",
     make<nothing_of_broken_team<BlockGroup>>},
    {"quiet-behind-broken", "A quiet completes what goes by queues behind a broken one.",
     make<completes_the_rest<ThreadGroup, false>>},
    {"block-quiet-behind-broken", "A block's quiet completes what goes behind a broken queue.",
     make<completes_the_rest<BlockGroup, false>>},
    {"barrier-behind-broken", "A barrier completes what goes by queues behind a broken one.",
     make<completes_the_rest<ThreadGroup, true>>},
    {"fetches-behind-error", "Lanes fetch by a queue that is broken.", make<fetches_behind<false>>},
    {"fetches-behind-stall", "Lanes fetch by a queue that has stalled.",
     make<fetches_behind<true>>},
    {"stall-refuses", "A queue that a wait gave up refuses posts.",
     make<stalled_refuses<false, false>>},
    {"full-stall-refuses", "A queue in which there was no room refuses posts.",
     make<stalled_refuses<true, false>>},
    {"own-stall-refuses", "An exclusive queue in which there was no room refuses posts.",
     make<stalled_refuses<true, true>>},
    {"faults-told-again", "Faults are reported again once cleared.", make<reports_again<false>>},
    {"stalls-told-again", "Stalls are reported again once cleared.", make<reports_again<true>>},
};

}  // namespace

constinit const Table kVerdictsTable = kListed;

}  // namespace gdakit::sim::scenarios
