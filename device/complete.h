// Completing what stands on a queue, whoever asks.
//
// Any thread may wait for a shared queue, and close a batch that was left open there. An exclusive
// queue is posted to by its owner alone, so others wait for what was announced on it and leave an
// open batch to the owner: a Pe made by exclusively_on for that very queue.
#pragma once

#include "device/batch_end.h"
#include "device/cells.h"
#include "device/fetch.h"
#include "device/group.h"
#include "device/loss.h"
#include "device/poster.h"

namespace gdakit::completing {

inline constexpr std::uint64_t kAll = ~std::uint64_t{0};

// The place in the table of the queue number `queue` to `pe`.
GDAKIT_HOST_DEVICE inline std::uint32_t table_index(const DeviceContext& context,
                                                    std::uint32_t queue, std::int32_t pe) {
  return queue * static_cast<std::uint32_t>(context.n_pes) + static_cast<std::uint32_t>(pe);
}
GDAKIT_HOST_DEVICE inline std::uint32_t table_index(const DeviceContext& context,
                                                    const Ticket& ticket) {
  return table_index(context, ticket.queue, ticket.peer);
}

// A READ of one byte on a shared queue, the number `number` to its peer; waited for. A function of
// its own, of each file.
template <class M>
static GDAKIT_DEVICE_CALL Ticket read_there(M m, PostContext context, const QueueView* view,
                                            std::uint32_t number, Span remote) {
  return with_queue<SharedPublication>(m, context, view, number, [&](auto& queue) {
    const auto write = [&](std::uint64_t at, std::uint8_t fm_ce_se) {
      write_rdma(m, queue.view(), at, format::Opcode::rdma_read, fm_ce_se, remote,
                 sink_of(queue.view()), 1);
    };
    Ticket ticket = queue.post(LoneThread{}, PostShape{}, Batch::last, write);
    if (ticket.status.ok()) ticket.status = queue.wait(ticket.index);
    return ticket;
  });
}

// How far a queue has completed, unless all of that is flushed (below): then 0.
template <class M>
GDAKIT_DEVICE std::uint64_t unflushed_there(M& m, const QueueState* state) {
  const std::uint64_t completed = m.load(order::RelaxedGpu{}, &state->completed);
  return completed > m.load(order::FlushSeen{}, &state->flushed_there) ? completed : 0;
}

// From one peer to the next of those that share a queue, in a row of the table: of RC none do.
GDAKIT_HOST_DEVICE inline std::uint32_t peer_step(const DeviceContext& context,
                                                  const QueueView& view) {
  return is_dc(view) ? context.dc_queues : static_cast<std::uint32_t>(context.n_pes);
}

// Where a PE has several NICs: what has completed on a queue of one of them is in its peer's memory
// after this, whichever NIC comes there later; of DC, of all peers that share the queue, but for
// those that are lost. An acknowledge only says that the NIC there has it, which keeps the order of
// its own accesses, and of no other NIC's: a READ behind it comes back when it is in memory.
//
// A shared queue READs by itself, so that a READ covers all that was posted in front of it, to its
// peer. For an exclusive one, which has an owner, the NIC's first queue does.
template <class M>
GDAKIT_DEVICE Status flush_there(M& m, const DeviceContext& context, std::uint32_t index) {
  const QueueView& view = context.queues[index];
  std::uint64_t flushed = unflushed_there(m, view.state);
  if (flushed == 0) return {};
  const auto peers = static_cast<std::uint32_t>(context.n_pes);
  const std::uint32_t nic = nic_of(context.heap, index / peers);
  const bool by_itself = view.sharing == Sharing::shared;
  const std::uint32_t number = by_itself ? index / peers : nic;
  const auto step = static_cast<std::int32_t>(peer_step(context, view));
  bool first = by_itself;
  for (auto to = static_cast<std::int32_t>(index % peers) % step; to < context.n_pes; to += step) {
    if (is_lost(m, context.state, to)) continue;
    const QueueView* const through = &context.queues[table_index(context, number, to)];
    const Ticket read =
        read_there(m, post_context(context), through, number, first_byte(context, to, nic));
    if (!read.status) return read.status;
    // READs of others cover nothing that was posted to this peer between them.
    const bool next = by_itself && read.index == flushed + (std::uint64_t{1} << log_cell(view));
    if (first || next) flushed = read.index;
    first = false;
  }
  m.fetch_max(order::FlushForOthers{}, &view.state->flushed_there, flushed);
  return {};
}

// Whether this PE is at the other end of the queue at `index` of the table, alone or, of DC, as one
// of several: what went to the others is then flushed here in vain.
GDAKIT_HOST_DEVICE inline bool leads_here(const DeviceContext& context, std::uint32_t index) {
  const std::uint32_t step = peer_step(context, context.queues[index]);
  const auto me = static_cast<std::uint32_t>(context.my_pe);
  return index % static_cast<std::uint32_t>(context.n_pes) % step == me % step;
}

// What has completed on a queue of the NIC number `nic` with this state, and wrote here, is visible
// after this, by a DUMP of that NIC.
template <class M>
GDAKIT_DEVICE Status make_visible_here(M& m, const DeviceContext& context, QueueState* state,
                                       bool leads_here, std::uint32_t nic) {
  if (!context.needs_cst) return {};
  QueueMemo memo;
  auto through = own_queue(m, context, memo, nic);
  return flush_written(m, state, leads_here, through);
}

// What has completed on the queue at `index` of the table is visible after this: what it wrote
// here, and what went to others.
template <class M>
GDAKIT_DEVICE Status make_visible(M& m, const DeviceContext& context, std::uint32_t index) {
  const auto peers = static_cast<std::uint32_t>(context.n_pes);
  const Status here =
      make_visible_here(m, context, context.queues[index].state, leads_here(context, index),
                        nic_of(context.heap, index / peers));
  if (!here) return here;
  return context.heap.nics <= 1 ? Status{} : flush_there(m, context, index);
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
