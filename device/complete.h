// Completing what stands on a queue, whoever asks.
//
// Any thread may wait for a shared queue, and close a batch that was left open there. An exclusive
// queue is posted to by its owner alone, so others wait for what was announced on it and leave an
// open batch to the owner: a Pe made by exclusively_on for that very queue.
#pragma once

#include "device/cells.h"
#include "device/fetch.h"
#include "device/group.h"
#include "device/poster.h"

namespace gdakit::completing {

inline constexpr std::uint64_t kAll = ~std::uint64_t{0};

// A READ of the first byte of the heap of `pe` by a NIC, on its first queue to that PE; waited for.
template <class M>
GDAKIT_DEVICE Ticket read_there(M& m, const DeviceContext& context, std::int32_t pe,
                                std::uint32_t nic) {
  QueueMemo memo;
  const std::uint64_t row = std::uint64_t{nic} * static_cast<std::uint64_t>(context.n_pes);
  remember(m, memo, pe, context.queues[row + static_cast<std::uint64_t>(pe)]);
  SendQueue<M, SharedPublication> queue(m, context, memo, nic);
  const Span remote = remote_span(context, context.heap.chunks[0].begin, pe, nic);
  const auto write = [&](std::uint64_t at, std::uint8_t fm_ce_se) {
    write_rdma(m, queue.view(), at, format::Opcode::rdma_read, fm_ce_se, remote,
               sink_of(queue.view()), 1);
  };
  Ticket ticket = queue.post(LoneThread{}, PostShape{}, Batch::last, write);
  if (ticket.status.ok()) ticket.status = queue.wait(ticket.index);
  return ticket;
}

// How far a queue is flushed by a READ, the first one or one behind others, that flushed it up to
// `before`. On that queue itself a READ covers all that was posted in front of it; later ones, to
// other PEs, only if nothing was posted in between. They are no reason for others to READ again.
GDAKIT_HOST_DEVICE inline std::uint64_t flushed_by(const DeviceContext& context,
                                                   const QueueView& view, const Ticket& read,
                                                   bool is_first, std::uint64_t before) {
  const auto peers = static_cast<std::uint64_t>(context.n_pes);
  const std::uint64_t through = read.queue * peers + static_cast<std::uint64_t>(read.peer);
  if (context.queues[through].state != view.state) return before;
  const std::uint64_t cell = std::uint64_t{1} << log_cell(view);
  return is_first || read.index == before + cell ? read.index : before;
}

// What has completed on a queue of a NIC, to `pe`, is in the memory there after this, for whatever
// comes there later; of DC, to all that share the queue. An acknowledge only says that the NIC
// there has it, which keeps the order of its own accesses, and of no other NIC's: a READ behind it
// comes back when it is in memory. `m` is a copy: a reference in a call would keep the caller's in
// memory.
template <class M>
static GDAKIT_DEVICE_CALL Status flush_there(M m, const DeviceContext& context,
                                             const QueueView& view, std::int32_t pe,
                                             std::uint32_t nic) {
  const std::uint64_t completed = m.load(order::RelaxedGpu{}, &view.state->completed);
  if (completed <= m.load(order::FlushSeen{}, &view.state->flushed_there)) return {};
  const auto step = is_dc(view) ? static_cast<std::int32_t>(context.dc_queues) : context.n_pes;
  std::uint64_t flushed = completed;
  for (std::int32_t to = pe % step; to < context.n_pes; to += step) {
    const Ticket read = read_there(m, context, to, nic);
    if (!read.status) return read.status;
    flushed = flushed_by(context, view, read, to == pe % step, flushed);
  }
  m.fetch_max(order::FlushForOthers{}, &view.state->flushed_there, flushed);
  return {};
}

// What has completed on the queue at `index` of the table is visible after this: what READs wrote
// here, by a DUMP of the NIC that wrote it, and what went to others. The first NIC keeps what it
// writes there in the order in which others hear of it.
template <class M>
GDAKIT_DEVICE Status make_visible(M& m, const DeviceContext& context, std::uint32_t index) {
  const auto peers = static_cast<std::uint32_t>(context.n_pes);
  const std::uint32_t nic = nic_of(context.heap, index / peers);
  const QueueView& view = context.queues[index];
  if (context.needs_cst) {
    QueueMemo memo;
    auto through = own_queue(m, context, memo, nic);
    if (const Status flushed = flush_reads(m, view.state, through); !flushed) return flushed;
  }
  if (nic == 0) return {};
  return flush_there(m, context, view, static_cast<std::int32_t>(index % peers), nic);
}

// Whether there is a queue at `index` of the table.
GDAKIT_HOST_DEVICE inline bool is_queue(const DeviceContext& context, std::uint32_t index) {
  return context.queues[index].state != nullptr;
}

// Whether that is its only place in the table, or of DC, where several peers share a queue, the one
// among them that is asked for it.
GDAKIT_HOST_DEVICE inline bool is_asked(const DeviceContext& context, std::uint32_t index) {
  if (!is_queue(context, index)) return false;
  return !is_dc(context.queues[index]) ||
         index % static_cast<std::uint32_t>(context.n_pes) < context.dc_queues;
}

// Waits until all below `target` on the queue at `index` of the table has completed and is visible
// here. ~0 stands for all that was posted, or, on an exclusive queue, announced.
template <class M>
GDAKIT_DEVICE Status complete_for_any(M& m, const DeviceContext& context, std::uint32_t index,
                                      std::uint64_t target) {
  const QueueView& view = context.queues[index];
  const auto peers = static_cast<std::uint32_t>(context.n_pes);
  const std::uint32_t number = index / peers;
  QueueMemo memo;
  remember(m, memo, static_cast<std::int32_t>(index % peers), view);
  Status status;
  if (view.sharing == Sharing::exclusive) {
    SendQueue<M, ExclusivePublication> queue(m, context, memo, number);
    status = queue.wait_announced(target == kAll ? queue.posted() : target);
  } else {
    SendQueue<M, SharedPublication> queue(m, context, memo, number);
    status = queue.wait(target == kAll ? queue.reserved() : target);
  }
  return status.ok() ? make_visible(m, context, index) : status;
}

// The same for all that was posted by the owner of an exclusive queue, if that is who asks: a
// handle that takes a shared queue for its own can reach no PE by it.
template <class M, class Publication>
GDAKIT_DEVICE Status complete(const Poster<M, Publication>& poster, std::uint32_t index,
                              std::uint64_t target) {
  if constexpr (Publication::sharing == Sharing::exclusive) {
    const auto peers = static_cast<std::uint32_t>(poster.context.n_pes);
    const auto pe = static_cast<std::int32_t>(index % peers);
    if (index / peers == poster.queue && poster.can_reach(pe)) {
      auto queue = poster.to(pe);
      const Status status = queue.wait(target == kAll ? queue.reserved() : target);
      if (!status) return status;
      return make_visible(poster.m, poster.context, index);
    }
  }
  return complete_for_any(poster.m, poster.context, index, target);
}

// The queue of a ticket, in the table.
GDAKIT_HOST_DEVICE inline std::uint32_t table_index(const DeviceContext& context,
                                                    const Ticket& ticket) {
  return ticket.queue * static_cast<std::uint32_t>(context.n_pes) +
         static_cast<std::uint32_t>(ticket.peer);
}

// Whether a ticket names a queue that there is.
GDAKIT_HOST_DEVICE inline bool is_valid(const DeviceContext& context, const Ticket& ticket) {
  return ticket.peer >= 0 && ticket.peer < context.n_pes && ticket.queue < context.queue_count &&
         is_queue(context, table_index(context, ticket));
}

// Waits for one ticket.
template <class P>
GDAKIT_DEVICE Status wait(const P& poster, const Ticket& ticket) {
  if (!ticket.status || ticket.index == 0) return ticket.status;  // refused, or nothing to move
  if (!is_valid(poster.context, ticket)) {
    return poster.fault(Operation::await, Fault::ticket, ticket.peer, 0, 0);
  }
  return complete(poster, table_index(poster.context, ticket), ticket.index);
}

// Whether a ticket is done, well or not; *status says which.
template <class P>
GDAKIT_DEVICE bool test(const P& poster, const Ticket& ticket, Status* status) {
  *status = ticket.status;
  if (!ticket.status || ticket.index == 0) return true;
  if (!is_valid(poster.context, ticket)) {
    *status = poster.fault(Operation::await, Fault::ticket, ticket.peer, 0, 0);
    return true;
  }
  const std::uint32_t index = table_index(poster.context, ticket);
  const QueueView& view = poster.context.queues[index];
  if (poll_completion(poster.m, view) < ticket.index) {
    *status = queue_status(poster.m, view);
    if (!status->ok()) poster.forget_queue();  // it then finds the error when it looks again
    return !status->ok();
  }
  *status = make_visible(poster.m, poster.context, index);
  return true;
}

}  // namespace gdakit::completing
