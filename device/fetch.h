// Operations whose result comes back to the calling thread: the NIC writes it into a slot of the
// queue's fetch ring.
//
// Ticket number n of the ring uses slot n % count in that slot's turn n / count. A crew takes its
// tickets at once and in one piece: lanes that took them one by one could wait for a slot that
// their own warp holds.
#pragma once

#include "device/send_queue.h"

namespace gdakit {

// DUMP behind an operation that makes the NIC write here, where the device asks for it.
GDAKIT_HOST_DEVICE inline PostShape::Tail flush_tail(const DeviceContext& context) {
  return context.needs_cst ? PostShape::Tail::dump : PostShape::Tail::none;
}

// Where the result of an operation goes that nobody asked for.
GDAKIT_HOST_DEVICE inline Span sink_of(const QueueView& queue) {
  return {reinterpret_cast<std::uint64_t>(queue.sink), sizeof(std::uint64_t), queue.sink_lkey};
}

// What an operation brought back, if it is ok.
template <class T>
struct Fetched {
  Status status;
  T value{};
};

// One lane's slot and turn.
struct FetchTicket {
  FetchSlot* slot;
  std::uint64_t turn;
};

template <class M, class Queue, class AnyCrew>
GDAKIT_DEVICE FetchTicket take_fetch_ticket(M& m, const Queue& queue, const AnyCrew& crew) {
  const QueueView& view = queue.view();
  std::uint64_t first = 0;
  if (crew.leads()) {
    first = m.fetch_add(order::RelaxedGpu{}, &view.state->fetch_head, std::uint64_t{crew.size()});
  }
  if (crew.size() > 1) first = m.shuffle(crew.mask, first, crew.leader());
  const std::uint64_t number = first + crew.rank();
  return {&view.fetch_slots[number & (view.fetch_count - 1)],
          number >> log2_floor(view.fetch_count)};
}

// Waits for the slot's turn. False, with the queue broken, after the watchdog's limit.
template <class M, class Queue>
GDAKIT_DEVICE bool wait_for_turn(M& m, Queue& queue, const FetchTicket& ticket) {
  Watchdog<M> watchdog(m, queue.context(), Site::fetch_slot);
  while (m.load(order::FetchSlotTaken{}, &ticket.slot->turn) != ticket.turn) {
    if (!queue_status(m, queue.view())) return false;
    if (!watchdog.turn()) {
      queue.stalled(Site::fetch_slot, ticket.turn, watchdog.waited_ns());
      return false;
    }
  }
  return true;
}

// The result as a T, behind the acquire that saw the completion. An atomic's 4-byte result comes
// back big-endian; `swap` says so.
template <class T, class M>
GDAKIT_DEVICE T read_fetch_slot(M& m, const FetchSlot* slot, bool swap) {
  if constexpr (sizeof(T) == 4) {
    const auto raw = m.load_weak(reinterpret_cast<const std::uint32_t*>(&slot->value));
    return bit_cast<T>(swap ? byte_swap(raw) : raw);
  } else {
    static_assert(sizeof(T) == 8 || sizeof(T) == 2 || sizeof(T) == 1);
    return m.load_weak(reinterpret_cast<const T*>(&slot->value));
  }
}

template <class M>
GDAKIT_DEVICE void give_back(M& m, const FetchTicket& ticket) {
  m.store(order::FetchSlotGivenBack{}, &ticket.slot->turn, ticket.turn + 1);
}

// Gives the slot of a refused post back. On an exclusive queue that somebody else has posted to,
// the WQE may stand in the place of one that was announced, and be executed: nobody else gets the
// slot before that is over.
template <class M, class Queue>
GDAKIT_DEVICE void give_back_unused(M& m, Queue& queue, const FetchTicket& ticket) {
  static_cast<void>(queue.wait_announced(queue.posted()));
  give_back(m, ticket);
}

// Posts for the crew, waits, and delivers every lane's result. `write(index, fm_ce_se, result)`
// writes the calling lane's WQE, whose result goes to the span `result`.
template <class M, class Queue, class AnyCrew, class T, class Write>
GDAKIT_DEVICE Status fetch(M& m, Queue& queue, const AnyCrew& crew, PostShape shape, T* value,
                           Write&& write, bool swap = false) {
  const QueueView& view = queue.view();
  const FetchTicket slot = take_fetch_ticket(m, queue, crew);
  const bool ready = wait_for_turn(m, queue, slot);
  const bool all = crew.size() == 1 ? ready : m.ballot(crew.mask, ready) == crew.mask;
  if (!all) return queue.refusal();
  const Span result{reinterpret_cast<std::uint64_t>(&slot.slot->value), sizeof(T), view.fetch_lkey};
  const Ticket ticket =
      queue.post(crew, shape, Batch::last,
                 [&](std::uint64_t at, std::uint8_t fm_ce_se) { write(at, fm_ce_se, result); });
  if (!ticket.status) {
    if constexpr (Queue::sharing == Sharing::exclusive) give_back_unused(m, queue, slot);
    return ticket.status;
  }
  if (Status status = queue.wait(ticket.index); !status) return status;
  *value = read_fetch_slot<T>(m, slot.slot, swap);
  give_back(m, slot);
  return {};
}

// Remembers a READ that no DUMP follows yet.
template <class M, class Queue>
GDAKIT_DEVICE void note_read(M& m, const Queue& queue, std::uint64_t end) {
  if (!queue.context().needs_cst) return;
  m.fetch_max(order::RelaxedGpu{}, &queue.view().state->read_until, end);
}

// A DUMP by itself, on a queue to this PE: all that the NIC has written here when it is posted is
// visible afterwards. It waits for READs and atomics in front of it, and not for WRITEs, which may
// write here later. So it counts up to what had completed then, and for itself, too, if nothing
// stands between.
template <class M, class Queue>
GDAKIT_DEVICE Status flush_inbound(M& m, Queue& queue) {
  QueueState* const state = queue.view().state;
  const std::uint64_t completed = m.load(order::RelaxedGpu{}, &state->completed);
  const Ticket ticket = queue.post(LoneThread{}, {0, PostShape::Tail::dump}, Batch::last,
                                   [](std::uint64_t, std::uint8_t) {});
  if (!ticket.status) return ticket.status;
  if (Status status = queue.wait(ticket.index); !status) return status;
  const bool is_next = ticket.index == completed + (std::uint64_t{1} << log_cell(queue.view()));
  m.fetch_max(order::FlushForOthers{}, &state->flushed_here, is_next ? ticket.index : completed);
  return {};
}

// How far what has completed on a queue with this state wrote to this PE's memory: of a queue to
// another PE its READs alone did, of one to the PE itself, which `leads_here`, everything. READs
// that are still under way do not count, although they do in read_until: another thread may have
// posted them.
template <class M>
GDAKIT_DEVICE std::uint64_t written_here(M& m, const QueueState* state, bool leads_here) {
  const std::uint64_t completed = m.load(order::RelaxedGpu{}, &state->completed);
  if (leads_here) return completed;
  const std::uint64_t reads = m.load(order::RelaxedGpu{}, &state->read_until);
  return reads < completed ? reads : completed;
}

// Makes what it wrote here visible by a DUMP on `through`, a queue to this PE that the caller may
// post to.
template <class M, class Queue>
GDAKIT_DEVICE Status flush_written(M& m, QueueState* state, bool leads_here, Queue& through) {
  const std::uint64_t written = written_here(m, state, leads_here);
  if (written <= m.load(order::FlushSeen{}, &state->flushed_here)) return {};
  if (Status status = flush_inbound(m, through); !status) return status;
  m.fetch_max(order::FlushForOthers{}, &state->flushed_here, written);
  return {};
}

}  // namespace gdakit
