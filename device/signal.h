// Put with signal: data and the update of a signal word in one reservation on one queue, so that
// whoever sees the signal sees the data.
#pragma once

#include "device/atomics.h"
#include "device/rma.h"

namespace gdakit {

// How a signal word is updated.
enum class SignalOp : std::uint8_t { set, add };

namespace signal {

GDAKIT_HOST_DEVICE constexpr atomics::Request request(SignalOp op, std::uint64_t value) {
  return {op == SignalOp::set ? atomics::Op::set : atomics::Op::add, value};
}

// The signal word at the other end and its update.
struct Target {
  Span span;
  atomics::Request request;

  // Behind one WQE of the data.
  GDAKIT_HOST_DEVICE PostShape shape(const QueueView& queue) const {
    return atomics::shape(queue, request.op, sizeof(std::uint64_t), PostShape::Tail::none, 1);
  }
};

// Posts the last piece of the data and the signal behind it, for each lane of `crew`.
template <class M, class Queue, class AnyCrew>
GDAKIT_DEVICE Ticket post_last(M& m, Queue& queue, const AnyCrew& crew, const rma::Piece& piece,
                               const Target& target, Batch batch) {
  const auto quiet = format::fm_ce_se(format::FenceMode::none, format::Completion::on_error);
  return queue.post(crew, target.shape(queue.view()), batch,
                    [&](std::uint64_t at, std::uint8_t fm_ce_se) {
                      write_rdma(m, queue.view(), at, rma::kPut.opcode, quiet, piece.remote,
                                 piece.local, piece.bytes);
                      atomics::write_atomic(m, queue.view(), cells_behind(queue.view(), at, 1),
                                            fm_ce_se, target.span, sink_of(queue.view()),
                                            target.request, sizeof(std::uint64_t));
                    });
}

// By one thread; lanes that call together with transfers of one piece post them together. The
// pieces of a transfer go by one queue, and the signal, an atomic, comes behind all of them there.
template <class P>
GDAKIT_DEVICE Ticket transfer(const P& poster, rma::Cutter cutter, const Target& target,
                              std::int32_t pe, Batch batch) {
  auto queue = poster.to(pe);
  rma::Piece piece = cutter.next();
  const bool single = cutter.done();
  const LaneMask mask = P::joins_lanes ? poster.m.active_mask() : LaneMask{0};
  const auto crew = form_crew(poster.m, queue, mask, pe, target.shape(queue.view()), single);
  while (!cutter.done()) {
    const Ticket ticket =
        rma::post_piece(poster.m, queue, LoneThread{}, rma::kPut, piece, Batch::more);
    if (!ticket.status) return ticket;
    piece = cutter.next();
  }
  return post_last(poster.m, queue, crew, piece, target, batch);
}

// The signal alone, behind all that this thread stored to direct peers. One that the NIC carries
// needs no order of its own: whoever rings for it has the thread's stores before the doorbell.
template <class P>
GDAKIT_DEVICE Ticket update(const P& poster, std::uint64_t* word, const atomics::Request& request,
                            std::int32_t pe, Batch batch) {
  if (std::uint64_t * there; atomics::is_near_word(poster, word, pe, &there)) {
    poster.order_direct();
    atomics::update_word(poster.m, there, request);
    return {poster.queue, pe, 0, {}};
  }
  return look_closer(poster, [=](const auto& p) {
    if (p.direct_atomic_base(pe) != 0) p.order_direct();
    if (Status status = complete_before_word(p, pe); !status) {
      return unposted(p, ThreadGroup{}, pe, batch, status);
    }
    return atomics::post_to_sink(p, word, request, pe, batch);
  });
}

// The put and the signal by loads, stores and atomics: to `there`, where this PE's threads reach
// the data's destination, and behind all of it to the word.
template <class P, class Group>
GDAKIT_DEVICE void copy_and_tell(const P& poster, Group group, std::uint64_t there,
                                 const void* local, std::uint64_t bytes, std::uint64_t* word,
                                 const atomics::Request& request) {
  rma::copy_direct(poster.m, group, rma::kPut, there, local, bytes);
  if (share_of(poster.m, group).first == 0) {
    poster.order_direct();
    atomics::update_word(poster.m, word, request);
  }
  meet(poster.m, group);
}

// The same into the heap that is mapped at `base`, after a closer look at the arguments.
template <class P, class Group>
GDAKIT_DEVICE Ticket post_direct(const P& poster, Group group, std::uint64_t base, void* remote,
                                 const void* local, std::uint64_t bytes, std::uint64_t* word,
                                 const atomics::Request& request, std::int32_t pe) {
  const auto at = reinterpret_cast<std::uint64_t>(word);
  if (Status status = atomics::check_direct(poster, at, sizeof(*word), pe); !status) {
    return {poster.queue, pe, 0, status};
  }
  const auto address = reinterpret_cast<std::uint64_t>(remote);
  if (bytes != 0 && !rma::is_registered(poster, remote, local, bytes, pe)) {
    return {poster.queue, pe, 0,
            rma::not_registered(poster, Operation::put_signal, remote, local, bytes, pe)};
  }
  copy_and_tell(poster, group, base + (address - poster.context.heap.base), local, bytes,
                atomics::word_at(poster, base, word), request);
  return {poster.queue, pe, 0, {}};
}

// The put, and when it has completed the signal, on the queue that words take; by one thread.
template <class P>
GDAKIT_DEVICE Ticket transfer_then_tell(const P& poster, const rma::Cutter& cutter,
                                        std::uint64_t* word, const atomics::Request& request,
                                        std::int32_t pe, Batch batch) {
  if (!cutter.done()) {
    const Ticket data = rma::transfer(poster, ThreadGroup{}, rma::kPut, cutter, pe, Batch::last);
    if (!data.status) return data;
  }
  return update(poster, word, request, pe, batch);
}

// Posts a put of `bytes` to any PE and the signal that follows it.
template <class P, class Group>
GDAKIT_DEVICE Ticket post_anywhere(const P& poster, Group group, void* remote, const void* local,
                                   std::uint64_t bytes, std::uint64_t* word,
                                   const atomics::Request& request, std::int32_t pe, Batch batch) {
  if (const std::uint64_t base = poster.direct_atomic_base(pe); base != 0) {
    return post_direct(poster, group, base, remote, local, bytes, word, request, pe);
  }
  Target target{{}, request};
  const auto address = reinterpret_cast<std::uint64_t>(word);
  if (Status status = atomics::locate(poster, address, sizeof(*word), pe, &target.span); !status) {
    return unposted(poster, group, pe, batch, status);
  }
  const rma::Cutter cutter(poster, remote, local, bytes, pe);
  if (!rma::is_registered(cutter)) {
    return unposted(poster, group, pe, batch,
                    rma::not_registered(poster, Operation::put_signal, remote, local, bytes, pe));
  }
  const bool apart = has_word_queue(poster, pe);
  return by_one(poster.m, group, [&] {
    if (apart) return transfer_then_tell(poster, cutter, word, request, pe, batch);
    return bytes == 0 ? atomics::post(poster, word, request, pe, batch)
                      : transfer(poster, cutter, target, pe, batch);
  });
}

// The same, the shortest way to direct peers. With 0 bytes it is the signal alone.
template <class P, class Group>
GDAKIT_DEVICE Ticket post(const P& poster, Group group, void* remote, const void* local,
                          std::uint64_t bytes, std::uint64_t* word, std::uint64_t value,
                          SignalOp op, std::int32_t pe, Batch batch) {
  const atomics::Request update = request(op, value);
  std::uint64_t there;
  std::uint64_t* word_there;
  if (rma::is_near(poster, remote, local, bytes, pe, &there) &
      atomics::is_near_word(poster, word, pe, &word_there)) {
    copy_and_tell(poster, group, there, local, bytes, word_there, update);
    return {poster.queue, pe, 0, {}};
  }
  return look_closer(poster, [=](const auto& p) {
    return post_anywhere(p, group, remote, local, bytes, word, update, pe, batch);
  });
}

}  // namespace signal
}  // namespace gdakit
