// Locks: mutual exclusion between all threads of all PEs, first come first served.
//
// The PEs that want a lock form a queue, as in the lock of Mellor-Crummey and Scott: one word, at
// the lock's home PE, names the last of them; each tells the one before it that it is there, and
// spins on a word of its own memory until that one hands the lock over, by one message:
//
//   PE 2 holds           PE 0 waits           PE 1 waits          home PE
//   held 1, next 0 --->  held 0, next 1 --->  held 0, next -      tail PE 1
//
// A PE stands in the queue once. Its threads, warps and blocks take tickets in front of that place.
// While no other PE is known to wait, the lock goes from ticket to ticket inside the PE and costs
// the network nothing; else it goes to the PE behind, whatever the number of tickets.
//
// A wait that takes too long leaves the queue in disorder. The lock is then broken: for the PE that
// gave up every later call fails, and those that stand behind it in the queue stall in turn.
#pragma once

#include "device/atomics.h"
#include "device/quiet.h"
#include "device/rma.h"
#include "device/wait_until.h"

namespace gdakit {

// Lies in the symmetric heap. All zero: free. Memory of Context::allocate is zero only when it is
// new; what was used before must be cleared on all PEs before the lock's first use. A plain object,
// which nobody but the calls of Pe touches.
struct alignas(64) Lock {
  std::uint64_t tail;     // at the home PE: 1 + the PE that came last; 0: free
  std::uint64_t held;     // 1: this PE has the lock
  std::uint64_t next;     // 1 + the PE that waits behind this one; 0: not known of any
  std::uint64_t tickets;  // how many this PE's threads have taken
  std::uint64_t turn;     // the ticket whose turn it is, and kBroken

  static constexpr std::uint64_t kBroken = std::uint64_t{1} << 63;
};
static_assert(sizeof(Lock) == 64);

namespace locking {

// The PE that keeps the end of the queue: one and the same for all, and another one for the next
// lock of an array.
GDAKIT_HOST_DEVICE inline std::int32_t home_of(const DeviceContext& context, const Lock* lock) {
  const std::uint64_t offset = reinterpret_cast<std::uint64_t>(lock) - context.heap.base;
  return static_cast<std::int32_t>(offset / sizeof(Lock) %
                                   static_cast<std::uint64_t>(context.n_pes));
}

// How the queue names a PE.
GDAKIT_HOST_DEVICE constexpr std::uint64_t name_of(std::int32_t pe) {
  return static_cast<std::uint64_t>(pe) + 1;
}
GDAKIT_HOST_DEVICE constexpr std::int32_t pe_of(std::uint64_t name) {
  return static_cast<std::int32_t>(name - 1);
}

// The calls below act for one thread. `Poster` posts on the first, shared queue to each PE.
template <class M>
using Poster = gdakit::Poster<M, SharedPublication>;

template <class M>
GDAKIT_DEVICE Status check(const Poster<M>& poster, const Lock* lock) {
  const auto address = reinterpret_cast<std::uint64_t>(lock);
  const std::int32_t me = poster.context.my_pe;
  if (address % alignof(Lock) != 0) {
    return poster.fault(Operation::lock, Fault::alignment, me, address, sizeof(Lock));
  }
  if (poster.remote_span(address, me).bytes < sizeof(Lock)) {
    return poster.fault(Operation::lock, Fault::heap_memory, me, address, sizeof(Lock));
  }
  return {};
}

// Files a stall at a lock. `peer` is who should have let this thread go on: a PE, this PE itself
// for one of its threads, or -1 for the PE behind, which has not said who it is.
template <class M>
GDAKIT_DEVICE Status stalled(const Poster<M>& poster, const Lock* lock, std::int32_t peer,
                             std::uint64_t target, std::uint64_t value, std::uint64_t waited_ns) {
  const Stall stall{Site::lock, peer, 0, waited_ns, target};
  report_stall(poster.m, poster.context, stall, [&](StallReport& report) {
    note(poster.m, &report.address, reinterpret_cast<std::uint64_t>(lock));
    note(poster.m, &report.value, value);
  });
  return {StatusCode::stalled, format::Syndrome::none, peer};
}

// For this PE the lock is of no use from now on.
template <class M>
GDAKIT_DEVICE void give_up(const Poster<M>& poster, Lock* lock) {
  poster.m.fetch_or(order::RelaxedGpu{}, &lock->turn, Lock::kBroken);
}

// Why a broken lock is broken, as far as that can be seen.
template <class M>
GDAKIT_DEVICE Status why_broken(const Poster<M>& poster) {
  const Status status = first_error(poster.m, poster.context);
  if (!status.ok()) return status;
  const std::int32_t lost = any_lost(poster.m, poster.context);
  return lost >= 0 ? lost_status(lost)
                   : Status{StatusCode::stalled, format::Syndrome::none, poster.context.my_pe};
}

template <class M>
GDAKIT_DEVICE std::uint64_t turn_of(M& m, const Lock* lock) {
  return m.load(order::LockTaken{}, &lock->turn);
}

// The next ticket's turn has come. False if nobody will take it, as the lock is broken.
template <class M>
GDAKIT_DEVICE bool pass_turn(M& m, Lock* lock) {
  return (m.fetch_add(order::LockPassed{}, &lock->turn, std::uint64_t{1}) & Lock::kBroken) == 0;
}

template <class M>
GDAKIT_DEVICE Status await_turn(const Poster<M>& poster, Lock* lock) {
  M& m = poster.m;
  const std::uint64_t ticket = m.fetch_add(order::RelaxedGpu{}, &lock->tickets, std::uint64_t{1});
  Watchdog<M, DeviceContext, WaitsForAnybody> watchdog(m, poster.context, Site::lock);
  for (std::uint64_t turn = turn_of(m, lock); turn != ticket; turn = turn_of(m, lock)) {
    if ((turn & Lock::kBroken) != 0) return why_broken(poster);
    if (watchdog.turn()) continue;
    // Unless the turn is moving on just now: what a holder passes on somebody must take.
    if (m.compare_exchange(order::RelaxedGpu{}, &lock->turn, turn, turn | Lock::kBroken) != turn) {
      continue;
    }
    if (watchdog.lost_pe() >= 0) return lost_status(watchdog.lost_pe());
    return stalled(poster, lock, poster.context.my_pe, ticket, turn, watchdog.waited_ns());
  }
  return {};
}

// Waits for a word of this PE's lock that another PE writes: `held` or `next`.
template <class M>
GDAKIT_DEVICE Status await_word(const Poster<M>& poster, const Lock* lock,
                                const std::uint64_t* word, std::int32_t peer) {
  Watchdog<M, DeviceContext, WaitsForAnybody> watchdog(poster.m, poster.context, Site::lock);
  while (waiting::look(poster.m, word) == 0) {
    if (watchdog.turn()) continue;
    if (watchdog.lost_pe() >= 0) return lost_status(watchdog.lost_pe());
    return stalled(poster, lock, peer, 1, 0, watchdog.waited_ns());
  }
  return {};
}

// Writes a word of the lock at another PE: who waits behind it, or that it holds the lock.
template <class M>
GDAKIT_DEVICE Status tell(const Poster<M>& poster, std::uint64_t* word, std::uint64_t value,
                          std::int32_t pe) {
  poster.order_direct();
  return rma::post_value(poster, word, value, pe, Batch::last).status;
}

template <class M>
GDAKIT_DEVICE Status change_tail(const Poster<M>& poster, const Lock* lock,
                                 const atomics::Request& request, std::uint64_t* old) {
  poster.order_direct();
  const std::int32_t home = home_of(poster.context, lock);
  const Fetched<std::uint64_t> fetched = atomics::fetch(poster, &lock->tail, request, home);
  *old = fetched.value;
  return fetched.status;
}

// Of the words of this PE's lock, `held` needs no strong access of the thread that has the turn,
// unless it waits there: what other PEs wrote to it has come to the thread by the turn. `next` may
// be written at any time while it is 0.
template <class M>
GDAKIT_DEVICE bool is_held(M& m, const Lock* lock) {
  return m.load_weak(&lock->held) != 0;
}
template <class M>
GDAKIT_DEVICE std::uint64_t next_of(M& m, const Lock* lock) {
  return m.load(order::RelaxedSystem{}, &lock->next);
}
template <class M>
GDAKIT_DEVICE void note_held(M& m, Lock* lock) {
  m.store_weak(&lock->held, std::uint64_t{1});
}

// Brings the PE into the queue, and to its head.
template <class M>
GDAKIT_DEVICE Status enter(const Poster<M>& poster, Lock* lock) {
  const std::uint64_t me = name_of(poster.context.my_pe);
  std::uint64_t before = 0;
  const atomics::Request come_last{atomics::Op::set, me};
  if (Status status = change_tail(poster, lock, come_last, &before); !status) return status;
  if (before == 0) {
    note_held(poster.m, lock);
    return {};
  }
  const std::int32_t peer = pe_of(before);
  if (Status status = tell(poster, &lock->next, me, peer); !status) return status;
  if (Status status = await_word(poster, lock, &lock->held, peer); !status) return status;
  return waiting::see_data(poster);
}

// Takes the PE out of the queue, whose head it is.
template <class M>
GDAKIT_DEVICE Status leave(const Poster<M>& poster, Lock* lock) {
  M& m = poster.m;
  m.store_weak(&lock->held, std::uint64_t{0});
  if (next_of(m, lock) == 0) {
    const std::uint64_t me = name_of(poster.context.my_pe);
    std::uint64_t last = 0;
    const atomics::Request set_free{atomics::Op::compare_swap, 0, me};
    if (Status status = change_tail(poster, lock, set_free, &last); !status) return status;
    if (last == me) return {};
    if (Status status = await_word(poster, lock, &lock->next, -1); !status) return status;
  }
  const std::int32_t next = pe_of(next_of(m, lock));
  m.store_weak(&lock->next, std::uint64_t{0});
  return tell(poster, &lock->held, 1, next);
}

// Whether a thread of this PE waits, and no other PE that is known of.
template <class M>
GDAKIT_DEVICE bool may_stay(M& m, const Lock* lock) {
  const std::uint64_t turn = m.load(order::RelaxedGpu{}, &lock->turn);
  return next_of(m, lock) == 0 && (turn & Lock::kBroken) == 0 &&
         m.load(order::RelaxedGpu{}, &lock->tickets) != turn + 1;
}

// Waits for the lock.
template <class M>
GDAKIT_DEVICE Status set(const Poster<M>& poster, Lock* lock) {
  if (Status status = check(poster, lock); !status) return status;
  if (Status status = await_turn(poster, lock); !status) return status;
  if (is_held(poster.m, lock)) return waiting::see_data(poster);  // the last ticket left it here
  const Status status = enter(poster, lock);
  if (!status) give_up(poster, lock);
  return status;
}

// Takes the lock if nobody has it, nor waits for it. *taken says whether.
template <class M>
GDAKIT_DEVICE Status test(const Poster<M>& poster, Lock* lock, bool* taken) {
  M& m = poster.m;
  *taken = false;
  if (Status status = check(poster, lock); !status) return status;
  const std::uint64_t turn = turn_of(m, lock);
  if ((turn & Lock::kBroken) != 0) return why_broken(poster);
  if (m.compare_exchange(order::RelaxedGpu{}, &lock->tickets, turn, turn + 1) != turn) return {};
  std::uint64_t before = 0;
  const atomics::Request take{atomics::Op::compare_swap, name_of(poster.context.my_pe), 0};
  if (Status status = change_tail(poster, lock, take, &before); !status) {
    give_up(poster, lock);
    return status;
  }
  *taken = before == 0;
  if (*taken) {
    note_held(m, lock);
  } else {
    pass_turn(m, lock);
  }
  return {};
}

// Hands the lock on. A lock that this PE does not hold is refused.
template <class M>
GDAKIT_DEVICE Status clear(const Poster<M>& poster, Lock* lock) {
  if (Status status = check(poster, lock); !status) return status;
  M& m = poster.m;
  if (!is_held(m, lock)) {
    return poster.fault(Operation::lock, Fault::lock_not_held, poster.context.my_pe,
                        reinterpret_cast<std::uint64_t>(lock), sizeof(Lock));
  }
  const bool stay = may_stay(m, lock);
  if (stay && pass_turn(m, lock)) return {};
  const Status status = leave(poster, lock);
  if (!status) give_up(poster, lock);
  if (!stay) pass_turn(m, lock);
  return status;
}

}  // namespace locking

// A part of Pe, which is `Self`.
//
// Locks, by one thread, or by a warp() or block() whose threads then all have it. Fair: PEs get a
// lock in the order in which they asked for it, and so do the threads, warps and blocks of one PE
// among each other; a PE hands over as soon as it knows of another one that waits. Waiting costs
// the network nothing, handing over one message, and between threads of one PE none. Threads of one
// warp that take a lock one by one must not meet at a barrier of the warp while they have it. A
// lock that the PE does not have, or that is not aligned as Lock is, gives
// StatusCode::invalid_argument; what is not in the symmetric heap, StatusCode::invalid_address.
// Source: OpenSHMEM 1.5 section 9.12.
template <class Self, class Group>
class LockCalls {
 public:
  // Waits for the lock. What its last holder, or anybody before, put or wrote while he had it is
  // visible then.
  GDAKIT_DEVICE Status set_lock(Lock* lock) {
    return act([&](const auto& poster) {
             return waiting::answer(poster, 0, locking::set(poster, lock));
           })
        .status;
  }
  // Takes the lock if it is free, and does not wait for other holders. True: the caller has it now,
  // as after set_lock.
  GDAKIT_DEVICE bool test_lock(Lock* lock, Status* status = nullptr) {
    const Ticket answer = act([&](const auto& poster) {
      bool taken = false;
      const Status tested = locking::test(poster, lock, &taken);
      return waiting::answer(poster, taken ? 1 : 0, tested);
    });
    give(status, answer.status);
    return answer.index != 0;
  }
  // Completes all that this PE posted before, as quiet, then gives the lock back. It is given back
  // even if some of that failed, which is then what the call returns.
  GDAKIT_DEVICE Status clear_lock(Lock* lock) {
    const Status quieted = self().quiet();
    const Status cleared = act([&](const auto& poster) {
                             return waiting::answer(poster, 0, locking::clear(poster, lock));
                           }).status;
    return quieted.ok() ? cleared : quieted;
  }

 private:
  GDAKIT_DEVICE Self& self() { return static_cast<Self&>(*this); }

  // By one thread of the group, on the first queue, whatever the caller's.
  template <class Act>
  GDAKIT_DEVICE Ticket act(Act&& act) {
    auto& m = self().machine();
    HandleMemo memo;
    const Poster<typename Self::Machine, SharedPublication> poster{m, self().context(), 0, memo};
    return by_one(m, Group{}, [&] { return act(poster); });
  }
};

}  // namespace gdakit
