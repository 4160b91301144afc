// What the kernels of worlds that draw their programs do: one PE's part of the program, step by
// step, and a look at all that lies there in the end.
#pragma once

#include <utility>
#include <vector>

#include "sim/world/scenarios/drawn_program.h"
#include "sim/world/scenarios/elsewhere.h"
#include "sim/world/scenarios/group_of.h"
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {

inline constexpr std::uint32_t kRefusals = 17;  // calls that are no collectives
inline constexpr std::uint32_t kRefusedCollectives = 5;

// What the kernels share.
struct DrawnState {
  DrawnShape shape;
  std::vector<Round> rounds;  // of the execution that runs
  const Witness* witness = nullptr;
  DrawnWord* places[kDrawnPlaces] = {};
  DrawnWord* aside = nullptr;  // in a registered buffer outside of the heap

  void draw(std::uint64_t number) { rounds = draw_program(shape, number); }
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
  void is(Status status, StatusCode code, const char* what) const {
    expect(status.code == code, what);
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
        return succeeds(team.collect(dest, source, count), "collect succeeds");
      case Gathering::alltoall:
        return succeeds(team.alltoall(dest, source, count), "alltoall succeeds");
      case Gathering::alltoalls:
        return succeeds(team.alltoalls(dest, source, what.stride, what.stride, count),
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

}  // namespace gdakit::sim::scenarios
