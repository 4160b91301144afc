// Completing what was posted: quiet, fence, and the barriers that build on them.
#pragma once

#include "device/complete.h"
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

// Completes all operations that this PE posted before, on every queue; the group shares the queues
// out. Queues without an outstanding operation cost a few loads each. A batch that is open on an
// exclusive queue is its owner's to close (complete.h).
template <class P, class Group>
GDAKIT_DEVICE Status quiet(const P& poster, Group group) {
  meet(poster.m, group);
  const Share share = share_of(poster.m, group);
  Status status;
  for (std::uint32_t i = share.first; i < table_size(poster.context); i += share.step) {
    const Status one = completing::complete(poster, i, completing::kAll);
    if (!one && status.ok()) status = one;
  }
  meet(poster.m, group);
  if constexpr (std::is_same_v<Group, ThreadGroup>) {
    return status.ok() ? first_error(poster.m, poster.context) : status;
  } else {
    return agree_on(poster.m, group, first_error(poster.m, poster.context));
  }
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
  std::uint64_t* word = &poster.context.words->barrier_epoch;
  const std::uint64_t epoch = poster.m.load_weak(word) + 1;  // one caller at a time
  poster.m.store_weak(word, epoch);
  const auto n = static_cast<std::uint32_t>(poster.context.n_pes);
  for (std::uint32_t k = 0; (std::uint64_t{1} << k) < n; ++k) {
    if (Status status = round(poster, k, epoch); !status) return status;
  }
  return waiting::see_data(poster);
}

}  // namespace barrier

// All PEs meet; one group of each PE calls at a time. Orders nothing that was posted before. The
// flags travel on the first queue, whatever the caller's, so that those of one barrier never pass
// those of the next.
template <class P, class Group>
GDAKIT_DEVICE Status sync_all(const P& poster, Group group) {
  HandleMemo memo;
  const Poster<M_of<P>, SharedPublication> flags{poster.m, poster.context, 0, memo};
  return by_one(poster.m, group,
                [&] {
                  return Ticket{0, poster.context.my_pe, 0, barrier::all_rounds(flags)};
                })
      .status;
}

// All PEs meet, and all that was posted by any of them before is complete and visible. A PE whose
// own operations failed comes all the same, so that the others need not wait for it.
template <class P, class Group>
GDAKIT_DEVICE Status barrier_all(const P& poster, Group group) {
  const Status quieted = quiet(poster, group);
  const Status met = sync_all(poster, group);
  return quieted.ok() ? met : quieted;
}

}  // namespace gdakit
