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

// What completed READs of a queue wrote here is visible after this.
template <class M>
GDAKIT_DEVICE Status make_visible(M& m, const DeviceContext& context, const QueueView& view) {
  if (!context.needs_cst) return {};
  QueueMemo memo;
  auto through = own_queue(m, context, memo);
  return flush_reads(m, view.state, through);
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
  return status.ok() ? make_visible(m, context, view) : status;
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
      return make_visible(poster.m, poster.context, poster.context.queues[index]);
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
  const QueueView& view = poster.context.queues[table_index(poster.context, ticket)];
  if (poll_completion(poster.m, view) < ticket.index) {
    *status = queue_status(poster.m, view);
    if (!status->ok()) poster.forget_queue();  // it then finds the error when it looks again
    return !status->ok();
  }
  *status = make_visible(poster.m, poster.context, view);
  return true;
}

}  // namespace gdakit::completing
