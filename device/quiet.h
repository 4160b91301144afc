// Completing what was posted: quiet, fence, and the barriers that build on them.
#pragma once

#include "device/rma.h"
#include "device/wait_until.h"

namespace gdakit {

// A share of the queues of a PE: of every `step` queues the one at `first`.
struct Share {
  std::uint32_t first;
  std::uint32_t step;
};

template <class M>
GDAKIT_DEVICE Share share_of(const M&, ThreadGroup) {
  return {0, 1};
}
template <class M>
GDAKIT_DEVICE Share share_of(const M& m, WarpGroup) {
  return {m.lane(), lane_count(whole_warp(m))};
}
template <class M>
GDAKIT_DEVICE Share share_of(const M& m, BlockGroup) {
  return {m.thread_index(), m.block_threads()};
}

template <class M>
GDAKIT_DEVICE void meet(M&, ThreadGroup) {}
template <class M>
GDAKIT_DEVICE void meet(M& m, WarpGroup) {
  m.sync_warp(whole_warp(m));
}
template <class M>
GDAKIT_DEVICE void meet(M& m, BlockGroup) {
  m.sync_block();
}

namespace completing {

// Waits until all that was posted on one queue before the call has completed and is visible here.
template <class M, class Queue>
GDAKIT_DEVICE Status complete(M& m, Queue& queue) {
  if (queue.is_dirty()) {
    if (Status status = queue.wait(queue.reserved()); !status) return status;
  }
  if (Status status = flush_reads(m, queue); !status) return status;
  return queue_status(m, queue.view());
}

// The queue at `index` of the table, as a queue of the sharing it was made for.
template <class M, class Act>
GDAKIT_DEVICE Status with_queue(M& m, const DeviceContext& context, std::uint32_t index,
                                Act&& act) {
  const QueueView& view = context.queues[index];
  const std::uint32_t number = index / static_cast<std::uint32_t>(context.n_pes);
  if (view.sharing == Sharing::exclusive) {
    SendQueue<M, ExclusivePublication> queue(m, context, view, number);
    return act(queue);
  }
  SendQueue<M, SharedPublication> queue(m, context, view, number);
  return act(queue);
}

GDAKIT_HOST_DEVICE inline std::uint32_t table_size(const DeviceContext& context) {
  return context.queue_count * static_cast<std::uint32_t>(context.n_pes);
}

// The first broken queue's status, or ok.
template <class M>
GDAKIT_DEVICE Status first_error(M& m, const DeviceContext& context) {
  for (std::uint32_t i = 0; i < table_size(context); ++i) {
    if (Status status = queue_status(m, context.queues[i]); !status) return status;
  }
  return {};
}

}  // namespace completing

// Completes all operations that this PE posted before, on every queue; the group shares the queues
// out. Queues without an outstanding operation cost one load each.
template <class M, class Group>
GDAKIT_DEVICE Status quiet(M& m, const DeviceContext& context, Group group) {
  meet(m, group);
  const Share share = share_of(m, group);
  Status status;
  for (std::uint32_t i = share.first; i < completing::table_size(context); i += share.step) {
    const Status one = completing::with_queue(
        m, context, i, [&](auto& queue) { return completing::complete(m, queue); });
    if (!one && status.ok()) status = one;
  }
  meet(m, group);
  if constexpr (std::is_same_v<Group, ThreadGroup>) return status;
  return completing::first_error(m, context);
}

// Orders the calling thread's earlier puts and atomics to each PE before its later ones to that PE.
// They stay on one queue, whose order the NIC keeps, so there is nothing to do.
template <class M, class Group>
GDAKIT_DEVICE Status fence(M& m, const DeviceContext&, Group group) {
  meet(m, group);
  return {};
}

namespace barrier {

// Tells PE `to` that this PE has come to `epoch`, and waits to hear it from the PE on the other
// side.
template <class P>
GDAKIT_DEVICE Status round(const P& poster, std::uint32_t number, std::uint64_t epoch) {
  const auto n = static_cast<std::uint32_t>(poster.context.n_pes);
  const auto me = static_cast<std::uint32_t>(poster.context.my_pe);
  const auto to = static_cast<std::int32_t>((me + (std::uint32_t{1} << number)) % n);
  std::uint64_t* flag = &poster.context.barrier_flags[number];
  const Ticket ticket = rma::post_value(poster, flag, epoch, to, Batch::last);
  if (!ticket.status) return ticket.status;
  Watchdog<M_of<P>> watchdog(poster.m, poster.context.watchdog_ns, Site::barrier);
  while (poster.m.load(order::SignalBeforeData{}, flag) < epoch) {
    if (!watchdog.turn()) {
      const auto from = static_cast<std::int32_t>((me + n - (std::uint32_t{1} << number)) % n);
      return waiting::stalled(poster, waiting::Wanted<std::uint64_t>{flag, Compare::ge, epoch},
                              watchdog.waited_ns(), Site::barrier, from);
    }
  }
  return {};
}

// A dissemination barrier: after round k every PE has heard of 2^(k+1) PEs.
template <class P>
GDAKIT_DEVICE Status all_rounds(const P& poster) {
  std::uint64_t* word = &poster.context.state->barrier_epoch;
  const std::uint64_t epoch = poster.m.load(order::RelaxedGpu{}, word) + 1;
  poster.m.store(order::RelaxedGpu{}, word, epoch);
  const auto n = static_cast<std::uint32_t>(poster.context.n_pes);
  for (std::uint32_t k = 0; (std::uint64_t{1} << k) < n; ++k) {
    if (Status status = round(poster, k, epoch); !status) return status;
  }
  return waiting::see_data(poster);
}

}  // namespace barrier

// All PEs meet; one group of each PE calls at a time. Orders nothing that was posted before.
template <class P, class Group>
GDAKIT_DEVICE Status sync_all(const P& poster, Group group) {
  const Ticket ticket = by_one(poster, group, poster.context.my_pe, [&] {
    return Ticket{poster.queue, poster.context.my_pe, 0, barrier::all_rounds(poster)};
  });
  return ticket.status;
}

// All PEs meet, and all that was posted by any of them before is complete and visible.
template <class P, class Group>
GDAKIT_DEVICE Status barrier_all(const P& poster, Group group) {
  if (Status status = quiet(poster.m, poster.context, group); !status) return status;
  return sync_all(poster, group);
}

}  // namespace gdakit
