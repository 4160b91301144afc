// Completing what stands on a queue, whoever asks.
//
// Any thread may wait for a shared queue, and close a batch that was left open there. An exclusive
// queue is posted to by its owner alone, so others wait for what was announced on it and leave an
// open batch to the owner: a Pe made by exclusively_on for that very queue.
#pragma once

#include "device/fetch.h"
#include "device/group.h"
#include "device/poster.h"

namespace gdakit::completing {

inline constexpr std::uint64_t kAll = ~std::uint64_t{0};

template <class M, class Publication>
GDAKIT_DEVICE constexpr bool owns(const Poster<M, Publication>& poster, std::uint32_t queue) {
  return Publication::sharing == Sharing::exclusive && poster.queue == queue;
}

// Waits until all below `target` on the queue at `index` of the table has completed and is visible
// here. ~0 stands for all that was posted, or, on another's exclusive queue, announced.
template <class M, class Publication>
GDAKIT_DEVICE Status complete(const Poster<M, Publication>& poster, std::uint32_t index,
                              std::uint64_t target) {
  M& m = poster.m;
  const QueueView& view = poster.context.queues[index];
  const std::uint32_t number = index / static_cast<std::uint32_t>(poster.context.n_pes);
  Status status;
  if (view.sharing == Sharing::exclusive) {
    SendQueue<M, ExclusivePublication> queue(m, poster.context, view, number);
    const bool own = owns(poster, number);
    const std::uint64_t all = own ? queue.reserved() : queue.posted();
    status = queue.wait(target == kAll ? all : target, own ? OpenBatch::close : OpenBatch::leave);
  } else {
    SendQueue<M, SharedPublication> queue(m, poster.context, view, number);
    status = queue.wait(target == kAll ? queue.reserved() : target);
  }
  if (!status) return status;
  auto through = own_queue(poster);
  return flush_reads(m, view.state, through);
}

// The queue of a ticket, in the table.
GDAKIT_HOST_DEVICE inline std::uint32_t table_index(const DeviceContext& context,
                                                    const Ticket& ticket) {
  return ticket.queue * static_cast<std::uint32_t>(context.n_pes) +
         static_cast<std::uint32_t>(ticket.peer);
}

// Whether a ticket names a queue that there is.
GDAKIT_HOST_DEVICE inline bool is_valid(const DeviceContext& context, const Ticket& ticket) {
  return ticket.peer >= 0 && ticket.peer < context.n_pes && ticket.queue < context.queue_count;
}

// Waits for one ticket.
template <class P>
GDAKIT_DEVICE Status wait(const P& poster, const Ticket& ticket) {
  if (!ticket.status || ticket.index == 0) return ticket.status;  // refused, or nothing to move
  if (!is_valid(poster.context, ticket)) {
    return poster.fault(StatusCode::invalid_argument, ticket.peer, 0, 0);
  }
  return complete(poster, table_index(poster.context, ticket), ticket.index);
}

// Whether a ticket is done, well or not; *status says which.
template <class P>
GDAKIT_DEVICE bool test(const P& poster, const Ticket& ticket, Status* status) {
  *status = ticket.status;
  if (!ticket.status || ticket.index == 0) return true;
  if (!is_valid(poster.context, ticket)) {
    *status = poster.fault(StatusCode::invalid_argument, ticket.peer, 0, 0);
    return true;
  }
  const QueueView& view = poster.context.queues[table_index(poster.context, ticket)];
  if (poll_completion(poster.m, view) < ticket.index) {
    *status = queue_status(poster.m, view);
    return !status->ok();
  }
  auto through = own_queue(poster);
  *status = flush_reads(poster.m, view.state, through);
  return true;
}

}  // namespace gdakit::completing
