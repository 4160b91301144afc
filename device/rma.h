// Put and get: contiguous transfers between local memory and the symmetric heap of a PE.
#pragma once

#include "device/batch_end.h"
#include "device/direct.h"
#include "device/fetch.h"
#include "device/group.h"
#include "device/poster.h"
#include "device/value_bits.h"

namespace gdakit::rma {

// What one WQE moves.
struct Piece {
  Span remote;
  Span local;
  std::uint32_t bytes;
};

// A transfer, cut where a chunk ends on either side and at the maximum message size.
class Cutter {
 public:
  template <class P>
  GDAKIT_DEVICE Cutter(const P& poster, const void* remote, const void* local, std::uint64_t bytes,
                       std::int32_t pe)
      : context_(poster.context),
        memo_(poster.memo.addresses),
        remote_(reinterpret_cast<std::uint64_t>(remote)),
        local_(reinterpret_cast<std::uint64_t>(local)),
        left_(bytes),
        pe_(pe),
        nic_(poster.nic()) {}

  GDAKIT_DEVICE bool done() const { return left_ == 0; }

  // The next piece; one of 0 bytes if its memory is not registered.
  GDAKIT_DEVICE Piece next() {
    const Span remote = memo_.remote_span(context_, remote_, pe_, nic_);
    const Span local = memo_.local_span(context_, local_, nic_);
    std::uint64_t bytes = left_ < context_.max_message_bytes ? left_ : context_.max_message_bytes;
    if (remote.bytes < bytes) bytes = remote.bytes;
    if (local.bytes < bytes) bytes = local.bytes;
    remote_ += bytes;
    local_ += bytes;
    left_ -= bytes;
    return {remote, local, static_cast<std::uint32_t>(bytes)};
  }

 private:
  const DeviceContext& context_;
  AddressMemo& memo_;
  std::uint64_t remote_;
  std::uint64_t local_;
  std::uint64_t left_;
  std::int32_t pe_;
  std::uint32_t nic_;
};

// Whether every byte of the transfer is registered, so that nothing is posted of one that cannot
// end.
GDAKIT_HOST_DEVICE inline bool is_registered(Cutter cutter) {
  while (!cutter.done()) {
    if (cutter.next().bytes == 0) return false;
  }
  return true;
}

// One kind of transfer: its opcode, and whether the NIC writes to this PE's memory.
struct Direction {
  format::Opcode opcode;
  bool inbound;

  GDAKIT_HOST_DEVICE constexpr Operation operation() const {
    return inbound ? Operation::get : Operation::put;
  }
};
inline constexpr Direction kPut{format::Opcode::rdma_write, false};
inline constexpr Direction kGet{format::Opcode::rdma_read, true};

// Posts one piece for each lane of `crew`.
template <class M, class Queue, class AnyCrew>
GDAKIT_DEVICE Ticket post_piece(M& m, Queue& queue, const AnyCrew& crew, Direction direction,
                                const Piece& piece, Batch batch) {
  Ticket ticket =
      queue.post(crew, PostShape{}, batch, [&](std::uint64_t at, std::uint8_t fm_ce_se) {
        write_rdma(m, queue.view(), at, direction.opcode, fm_ce_se, piece.remote, piece.local,
                   piece.bytes);
      });
  if (direction.inbound && ticket.status.ok()) note_read(m, queue, ticket.index);
  return ticket;
}

// Posts one piece by one thread, as a function of its own, of each file.
template <class Publication, class M>
static GDAKIT_DEVICE_CALL Ticket post_piece_aside(M m, PostContext context, const QueueView* view,
                                                  std::uint32_t number, Direction direction,
                                                  Piece piece, Batch batch) {
  return with_queue<Publication>(m, context, view, number, [&](auto& queue) {
    return post_piece(m, queue, LoneThread{}, direction, piece, batch);
  });
}

// By one thread, one piece after the other.
template <class M, class Publication>
GDAKIT_DEVICE Ticket transfer(const Poster<M, Publication>& poster, ThreadGroup,
                              Direction direction, Cutter cutter, std::int32_t pe, Batch batch) {
  poster.forget_queue();
  for (;;) {
    const Piece piece = cutter.next();
    const bool last = cutter.done();
    const Ticket ticket =
        post_piece_aside<Publication>(poster.m, post_context(poster.context), poster.view_of(pe),
                                      poster.queue, direction, piece, last ? batch : Batch::more);
    if (last || !ticket.status) return ticket;
  }
}

// By the lanes of a warp, who all name the same transfer: each takes its share of the pieces.
template <class P>
GDAKIT_DEVICE Ticket transfer(const P& poster, WarpGroup, Direction direction, Cutter cutter,
                              std::int32_t pe, Batch batch) {
  M_of<P>& m = poster.m;
  auto queue = poster.to(pe);
  const LaneMask warp = whole_warp(m);
  const std::uint32_t width =
      lane_count(warp) < queue.max_post() ? lane_count(warp) : queue.max_post();
  Ticket ticket = queue.failed({});
  m.sync_warp(warp);  // what any lane stored before the call is part of the transfer
  while (!cutter.done()) {
    Piece mine{};
    std::uint32_t taken = 0;
    for (; taken < width && !cutter.done(); ++taken) {
      const Piece piece = cutter.next();
      if (taken == m.lane()) mine = piece;
    }
    const auto mask = static_cast<LaneMask>(low_bits(static_cast<int>(taken)));
    if (m.lane() < taken) {
      ticket = post_piece(m, queue, Crew{mask, m.lane()}, direction, mine,
                          cutter.done() ? batch : Batch::more);
    }
    ticket = agree_on(m, WarpGroup{}, ticket);
    if (!ticket.status) return ticket;
  }
  return ticket;
}

// By the threads of a block, who all name the same transfer: the first warp does the work.
template <class P>
GDAKIT_DEVICE Ticket transfer(const P& poster, BlockGroup, Direction direction, Cutter cutter,
                              std::int32_t pe, Batch batch) {
  meet(poster.m, BlockGroup{});
  Ticket ticket{};
  if (poster.m.warp() == 0) {
    ticket = transfer(poster, WarpGroup{}, direction, cutter, pe, batch);
  }
  return agree_on(poster.m, BlockGroup{}, ticket);
}

// Whether the NIC would take the transfer: what it refuses is refused, so that a kernel that runs
// with direct peers runs without. Where all lies in the heap that takes no load.
template <class P>
GDAKIT_DEVICE bool is_registered(const P& poster, const void* remote, const void* local,
                                 std::uint64_t bytes, std::int32_t pe) {
  const HeapView& heap = poster.context.heap;
  return is_in_heap(heap, remote, bytes) &&
         (is_in_heap(heap, local, bytes) ||
          is_registered(Cutter(poster, remote, local, bytes, pe)));
}

// Refuses a transfer of which one side is not where it should be.
template <class P>
GDAKIT_DEVICE Status not_registered(const P& poster, Operation operation, const void* remote,
                                    const void* local, std::uint64_t bytes, std::int32_t pe) {
  const bool there = is_in_heap(poster.context.heap, remote, bytes);
  return poster.fault(operation, there ? Fault::local_memory : Fault::heap_memory, pe,
                      reinterpret_cast<std::uint64_t>(there ? local : remote), bytes);
}

// The transfer by loads and stores, to or from what lies at `address` of this PE's threads.
template <class M, class Group>
GDAKIT_DEVICE void copy_direct(M& m, Group group, Direction direction, std::uint64_t address,
                               const void* local, std::uint64_t bytes) {
  void* const there = reinterpret_cast<void*>(address);
  void* const here = const_cast<void*>(local);
  if (direction.inbound) {
    direct::copy<direct::Way::get>(m, group, here, there, bytes);
  } else {
    direct::copy<direct::Way::put>(m, group, there, here, bytes);
  }
}

// The same as a call: nothing of it takes registers of transfers through the NIC.
template <class M, class Group>
GDAKIT_DEVICE_CALL void copy_aside(M m, Group group, Direction direction, std::uint64_t address,
                                   const void* local, std::uint64_t bytes) {
  copy_direct(m, group, direction, address, local, bytes);
}

// Posts a transfer of `bytes` to any PE and returns its ticket.
template <class P, class Group>
GDAKIT_DEVICE Ticket post_anywhere(const P& poster, Group group, Direction direction,
                                   const void* remote, const void* local, std::uint64_t bytes,
                                   std::int32_t pe, Batch batch) {
  const auto address = reinterpret_cast<std::uint64_t>(remote);
  const Operation operation = direction.operation();
  const std::uint64_t base = poster.direct_base(pe);
  Status status;
  if (base == 0 && !poster.can_reach(pe)) {
    status = poster.fault(operation, poster.unreachable(pe), pe, address, bytes);
  } else if (bytes == 0) {
    // nothing to move
  } else if (base != 0) {
    if (is_registered(poster, remote, local, bytes, pe)) {
      copy_aside(poster.m, group, direction, base + (address - poster.context.heap.base), local,
                 bytes);
    } else {
      status = not_registered(poster, operation, remote, local, bytes, pe);
    }
  } else {
    const Cutter cutter(poster, remote, local, bytes, pe);
    if (is_registered(cutter)) return transfer(poster, group, direction, cutter, pe, batch);
    status = not_registered(poster, operation, remote, local, bytes, pe);
  }
  return unposted(poster, group, pe, batch, status);
}

// Whether the handle remembers where both sides of a transfer lie, that they do so to the last
// byte, and so all that one WQE says of them.
template <class P>
GDAKIT_DEVICE bool is_covered(const P& poster, const void* remote, const void* local,
                              std::uint64_t bytes, std::int32_t pe) {
  return (bytes - 1 < poster.context.max_message_bytes) &
         poster.memo.addresses.covers(reinterpret_cast<std::uint64_t>(remote),
                                      reinterpret_cast<std::uint64_t>(local), bytes, pe);
}

// Has the handle remember that, and the queue. False if no single WQE does the transfer: then it
// takes several, or none.
template <class P>
GDAKIT_DEVICE bool look_up(const P& poster, const void* remote, const void* local,
                           std::uint64_t bytes, std::int32_t pe) {
  if (!poster.can_reach(pe) || poster.direct_base(pe) != 0) return false;
  poster.remote_span(reinterpret_cast<std::uint64_t>(remote), pe);
  poster.local_span(reinterpret_cast<std::uint64_t>(local));
  if (!is_covered(poster, remote, local, bytes, pe)) return false;
  poster.to(pe);
  poster.memo.queue.carries_puts = true;
  return true;
}

// Posts a transfer of one thread to any PE. Usually one WQE does it, all of which is remembered,
// and that way is kept short, for each jump over what is seldom takes time (docs/on-a-gpu.md).
// Lanes that come here together post together.
template <class P>
GDAKIT_DEVICE Ticket post_by_thread(const P& poster, Direction direction, const void* remote,
                                    const void* local, std::uint64_t bytes, std::int32_t pe,
                                    Batch batch) {
  const QueueMemo& known = poster.memo.queue;
  const bool remembered =
      (known.peer == pe) & known.carries_puts & is_covered(poster, remote, local, bytes, pe);
  if (!remembered && !look_up(poster, remote, local, bytes, pe)) {
    return post_anywhere(poster, ThreadGroup{}, direction, remote, local, bytes, pe, batch);
  }
  auto queue = poster.remembered();
  const LaneMask mask = P::joins_lanes ? poster.m.active_mask() : LaneMask{0};
  const auto crew = form_crew(poster.m, queue, mask, pe, PostShape{}, true);
  const AddressMemo& memo = poster.memo.addresses;
  const Piece whole{Span{reinterpret_cast<std::uint64_t>(remote) + memo.shift, bytes, memo.rkey},
                    Span{reinterpret_cast<std::uint64_t>(local), bytes, memo.local.lkey},
                    static_cast<std::uint32_t>(bytes)};
  return post_piece(poster.m, queue, crew, direction, whole, batch);
}

// Whether a quick look tells where this PE's threads reach the other end of a transfer: at *there.
template <class P>
GDAKIT_DEVICE bool is_near(const P& poster, const void* remote, const void* local,
                           std::uint64_t bytes, std::int32_t pe, std::uint64_t* there) {
  return is_surely_in_heap(poster.context.heap, reinterpret_cast<std::uint64_t>(local), bytes) &
         poster.is_near(reinterpret_cast<std::uint64_t>(remote), bytes, pe, there);
}

// The same, the shortest way to direct peers.
template <class P, class Group>
GDAKIT_DEVICE Ticket post(const P& poster, Group group, Direction direction, const void* remote,
                          const void* local, std::uint64_t bytes, std::int32_t pe, Batch batch) {
  if (std::uint64_t there; is_near(poster, remote, local, bytes, pe, &there)) {
    copy_direct(poster.m, group, direction, there, local, bytes);
    return {poster.queue, pe, 0, {}};
  }
  return look_closer(poster, [=](const auto& p) {
    if constexpr (std::is_same_v<Group, ThreadGroup>) {
      return post_by_thread(p, direction, remote, local, bytes, pe, batch);
    } else {
      return post_anywhere(p, group, direction, remote, local, bytes, pe, batch);
    }
  });
}

// Chunks end at multiples of a page, so that values which are aligned to their size lie in one.
template <class T>
inline constexpr bool may_cross_a_border = alignof(T) < sizeof(T);

// The same for a value that a border of the chunks cuts in two, or that is not in the heap.
template <class P>
GDAKIT_DEVICE Ticket post_value_in_pieces(const P& poster, std::uint64_t address,
                                          std::uint64_t bits, std::uint32_t bytes, std::int32_t pe,
                                          Batch batch) {
  if (!is_in_heap(poster.context.heap, address, bytes)) {
    return unposted(poster, ThreadGroup{}, pe, batch,
                    poster.fault(Operation::put, Fault::heap_memory, pe, address, bytes));
  }
  auto queue = poster.to(pe);
  for (;;) {
    const Span span = poster.remote_span(address, pe);
    const bool last = span.bytes >= bytes;
    const std::uint32_t part = last ? bytes : static_cast<std::uint32_t>(span.bytes);
    const Ticket ticket =
        queue.post(LoneThread{}, PostShape{}, last ? batch : Batch::more,
                   [&](std::uint64_t at, std::uint8_t fm_ce_se) {
                     write_inline(poster.m, queue.view(), at, fm_ce_se, span, bits, part);
                   });
    if (last || !ticket.status) return ticket;
    address += part;
    bits >>= 8 * part;
    bytes -= part;
  }
}

// Posts a put of one value, that travels inside the WQE, to any PE.
template <class P, class T>
GDAKIT_DEVICE Ticket post_value_anywhere(const P& poster, T* remote, T value, std::int32_t pe,
                                         Batch batch) {
  const auto address = reinterpret_cast<std::uint64_t>(remote);
  if (const std::uint64_t base = poster.direct_base(pe); base != 0) {
    Status status;
    if (is_in_heap(poster.context.heap, address, sizeof(T))) {
      direct::store_value(poster.m, direct::at(poster.context.heap, base, remote), value);
    } else {
      status = poster.fault(Operation::put, Fault::heap_memory, pe, address, sizeof(T));
    }
    return unposted(poster, ThreadGroup{}, pe, batch, status);
  }
  if (!poster.can_reach(pe)) {
    return {poster.queue, pe, 0,
            poster.fault(Operation::put, poster.unreachable(pe), pe, address, sizeof(T))};
  }
  const Span span = poster.remote_span(address, pe);
  if (span.bytes < sizeof(T)) {
    if constexpr (may_cross_a_border<T>) {
      return aside(poster, [=, bits = widen_bits(value)](const auto& p) {
        return post_value_in_pieces(p, address, bits, sizeof(T), pe, batch);
      });
    }
    return unposted(poster, ThreadGroup{}, pe, batch,
                    poster.fault(Operation::put, Fault::heap_memory, pe, address, sizeof(T)));
  }
  auto queue = poster.to(pe);
  const LaneMask mask = P::joins_lanes ? poster.m.active_mask() : LaneMask{0};
  const auto crew = form_crew(poster.m, queue, mask, pe, PostShape{}, true);
  return queue.post(crew, PostShape{}, batch, [&](std::uint64_t at, std::uint8_t fm_ce_se) {
    write_inline(poster.m, queue.view(), at, fm_ce_se, span, widen_bits(value), sizeof(T));
  });
}

// The same, the shortest way to direct peers.
template <class P, class T>
GDAKIT_DEVICE Ticket post_value(const P& poster, T* remote, T value, std::int32_t pe, Batch batch) {
  static_assert(sizeof(T) <= kMaxInlineBytes);
  const auto address = reinterpret_cast<std::uint64_t>(remote);
  if (std::uint64_t there; poster.is_near(address, sizeof(T), pe, &there)) {
    direct::store_value(poster.m, reinterpret_cast<T*>(there), value);
    return {poster.queue, pe, 0, {}};
  }
  return look_closer(
      poster, [=](const auto& p) { return post_value_anywhere(p, remote, value, pe, batch); });
}

// Reads a value that a border of the chunks cuts in two, byte by byte.
template <class T, class P>
GDAKIT_DEVICE Fetched<T> get_value_in_pieces(const P& poster, std::uint64_t address,
                                             std::int32_t pe) {
  if (!is_in_heap(poster.context.heap, address, sizeof(T))) {
    end_batch(poster, pe);
    return {poster.fault(Operation::get, Fault::heap_memory, pe, address, sizeof(T))};
  }
  auto queue = poster.to(pe);
  const PostShape shape{1, flush_tail(poster.context)};
  direct::WordOf<sizeof(T)> bits = 0;
  for (std::uint32_t i = 0; i < sizeof(T); ++i) {
    const Span span = poster.remote_span(address + i, pe);
    std::uint8_t byte = 0;
    const Status status = fetch(poster.m, queue, LoneThread{}, shape, &byte,
                                [&](std::uint64_t at, std::uint8_t fm_ce_se, const Span& result) {
                                  write_rdma(poster.m, queue.view(), at, format::Opcode::rdma_read,
                                             fm_ce_se, span, result, 1);
                                });
    if (!status) return {status};
    bits = static_cast<direct::WordOf<sizeof(T)>>(bits | std::uint64_t{byte} << (8 * i));
  }
  return {{}, bit_cast<T>(bits)};
}

// Reads one value of any PE; through the NIC by way of a fetch slot.
template <class P, class T>
GDAKIT_DEVICE Fetched<T> get_value_anywhere(const P& poster, const T* remote, std::int32_t pe) {
  const auto address = reinterpret_cast<std::uint64_t>(remote);
  const auto refused = [&](Fault what) {
    return Fetched<T>{poster.fault(Operation::get, what, pe, address, sizeof(T))};
  };
  if (const std::uint64_t base = poster.direct_base(pe); base != 0) {
    end_batch(poster, pe);
    if (!is_in_heap(poster.context.heap, address, sizeof(T))) {
      return refused(Fault::heap_memory);
    }
    return {{}, direct::load_value(poster.m, direct::at(poster.context.heap, base, remote))};
  }
  if (!poster.can_reach(pe)) return refused(poster.unreachable(pe));
  const Span span = poster.remote_span(address, pe);
  if (span.bytes < sizeof(T)) {
    if constexpr (may_cross_a_border<T>) {
      return aside(poster, [=](const auto& p) { return get_value_in_pieces<T>(p, address, pe); });
    }
    end_batch(poster, pe);
    return refused(Fault::heap_memory);
  }
  auto queue = poster.to(pe);
  const PostShape shape{1, flush_tail(poster.context)};
  const LaneMask mask = P::joins_lanes ? poster.m.active_mask() : LaneMask{0};
  const auto crew = form_crew(poster.m, queue, mask, pe, shape, true);
  Fetched<T> fetched;
  fetched.status = fetch(poster.m, queue, crew, shape, &fetched.value,
                         [&](std::uint64_t at, std::uint8_t fm_ce_se, const Span& result) {
                           write_rdma(poster.m, queue.view(), at, format::Opcode::rdma_read,
                                      fm_ce_se, span, result, sizeof(T));
                         });
  return fetched;
}

// The same, the shortest way to direct peers.
template <class P, class T>
GDAKIT_DEVICE Fetched<T> get_value(const P& poster, const T* remote, std::int32_t pe) {
  static_assert(sizeof(T) <= sizeof(FetchSlot::value));
  const auto address = reinterpret_cast<std::uint64_t>(remote);
  if (std::uint64_t there; poster.is_near(address, sizeof(T), pe, &there)) {
    return {{}, direct::load_value(poster.m, reinterpret_cast<const T*>(there))};
  }
  return look_closer(poster, [=](const auto& p) { return get_value_anywhere(p, remote, pe); });
}

}  // namespace gdakit::rma
