// Strided put and get: element i of a transfer lies i * stride elements behind the first one, on
// either side by a stride of its own.
//
//   iput(remote, local, 2, 1, 3, pe)     local    [a][b][c]
//                                                  |   \     \.
//                                        remote   [a][ ][b][ ][c]
//
// Every element is a WQE of its own; many share a reservation and a doorbell, and the last one asks
// for the only completion. Elements of 1, 2, 4 or 8 bytes that are put travel inside their WQE.
#pragma once

#include <cstddef>

#include "device/rma.h"
#include "device/value_bits.h"

namespace gdakit::strided {

// A transfer. Strides are in bytes here; a stride may be negative, and that of the source 0.
struct Elements {
  std::uint64_t remote;
  std::uint64_t local;
  std::uint64_t remote_stride;  // two's complement, as addresses wrap
  std::uint64_t local_stride;
  std::uint64_t count;
  std::uint32_t bytes;  // of an element

  GDAKIT_HOST_DEVICE constexpr std::uint64_t remote_at(std::uint64_t i) const {
    return remote + i * remote_stride;
  }
  GDAKIT_HOST_DEVICE constexpr std::uint64_t local_at(std::uint64_t i) const {
    return local + i * local_stride;
  }
};

GDAKIT_HOST_DEVICE inline Elements elements_of(const void* remote, const void* local,
                                               std::ptrdiff_t remote_stride,
                                               std::ptrdiff_t local_stride, std::size_t count,
                                               std::uint32_t element_bytes) {
  return {reinterpret_cast<std::uint64_t>(remote),
          reinterpret_cast<std::uint64_t>(local),
          static_cast<std::uint64_t>(remote_stride) * element_bytes,
          static_cast<std::uint64_t>(local_stride) * element_bytes,
          count,
          element_bytes};
}

// Whether (count - 1) strides of a side fit into the address space; a heap is never larger.
GDAKIT_HOST_DEVICE constexpr bool is_finite(std::uint64_t count, std::ptrdiff_t stride,
                                            std::uint32_t bytes) {
  constexpr std::uint64_t kReach = std::uint64_t{1} << 62;
  const std::uint64_t step = stride < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(stride)
                                        : static_cast<std::uint64_t>(stride);
  return step == 0 || count - 1 <= kReach / bytes / step;
}

// Whether [address, address + bytes) lies in [begin, end).
GDAKIT_HOST_DEVICE constexpr bool lies_in(std::uint64_t begin, std::uint64_t end,
                                          std::uint64_t address, std::uint64_t bytes) {
  return address >= begin && address < end && bytes <= end - address;
}

// Both ends of one side lie in one range without gaps, hence all between them do.
GDAKIT_HOST_DEVICE inline bool both_in_heap(const HeapView& heap, std::uint64_t first,
                                            std::uint64_t last, std::uint32_t bytes) {
  if (!is_checked(heap)) return is_in_heap(heap, first, bytes) && is_in_heap(heap, last, bytes);
  const std::uint64_t begin = first < last ? first : last;
  return lies_in_chunks(heap.chunks, heap.chunk_count, begin,
                        (first < last ? last : first) + bytes - begin);
}
GDAKIT_HOST_DEVICE inline bool both_local(const DeviceContext& context, std::uint64_t first,
                                          std::uint64_t last, std::uint32_t bytes) {
  if (both_in_heap(context.heap, first, last, bytes)) return true;
  const LocalRange range = find_local(context, first);
  return lies_in(range.begin, range.end, first, bytes) &&
         lies_in(range.begin, range.end, last, bytes);
}

// Whether each side lies in one range, without a look at every element.
GDAKIT_HOST_DEVICE inline bool lies_in_ranges(const DeviceContext& context, const Elements& all) {
  const std::uint64_t last = all.count - 1;
  return both_in_heap(context.heap, all.remote, all.remote_at(last), all.bytes) &&
         both_local(context, all.local, all.local_at(last), all.bytes);
}

// Whether each element is one piece of registered memory on both sides. Chunks begin and end at
// multiples of a page, which a naturally aligned element of 2^n bytes never crosses.
GDAKIT_HOST_DEVICE inline bool is_plain(const DeviceContext& context, const Elements& all) {
  const std::uint64_t all_addresses =
      all.remote | all.local | all.remote_stride | all.local_stride | all.bytes;
  constexpr std::uint32_t kSmallestPage = 4096;
  if ((all.bytes & (all.bytes - 1)) != 0 || all.bytes > kSmallestPage) return false;
  if (all_addresses % all.bytes != 0 || all.bytes > context.max_message_bytes) return false;
  return lies_in_ranges(context, all);
}

// How many elements one lane posts at once.
inline constexpr std::uint32_t kElementsAtOnce = 16;

// Writes the WQE of one element.
template <class T, class P, class Queue>
GDAKIT_DEVICE void write_element(const P& poster, const Queue& queue, rma::Direction direction,
                                 const Elements& all, std::uint64_t i, std::int32_t pe,
                                 std::uint64_t at, std::uint8_t fm_ce_se) {
  const Span remote = poster.remote_span(all.remote_at(i), pe);
  if constexpr (is_one_word<T>) {
    if (!direction.inbound) {
      const T value = poster.m.load_weak(reinterpret_cast<const T*>(all.local_at(i)));
      write_inline(poster.m, queue.view(), at, fm_ce_se, remote, widen_bits(value), sizeof(T));
      return;
    }
  }
  const Span local = poster.local_span(all.local_at(i));
  write_rdma(poster.m, queue.view(), at, direction.opcode, fm_ce_se, remote, local, sizeof(T));
}

// Posts the elements by `width` lanes, of which the caller is number `lane`. In each turn every
// lane takes the same number of them, so that the crew reserves once. The caller's ticket.
template <class T, class P, class MakeCrew>
GDAKIT_DEVICE Ticket post_plain(const P& poster, std::uint32_t lane, std::uint32_t width,
                                rma::Direction direction, const Elements& all, std::int32_t pe,
                                Batch batch, MakeCrew&& make_crew) {
  const auto silent = format::fm_ce_se(format::FenceMode::none, format::Completion::on_error);
  auto queue = poster.to(pe);
  if (width > queue.max_post()) width = queue.max_post();
  const std::uint32_t room = queue.max_post() / width;
  const std::uint32_t most = room < kElementsAtOnce ? room : kElementsAtOnce;
  Ticket ticket = queue.failed({});
  for (std::uint64_t done = 0; done < all.count;) {
    const std::uint64_t left = all.count - done;
    const std::uint32_t lanes = left < width ? static_cast<std::uint32_t>(left) : width;
    const std::uint32_t each =
        left / lanes < most ? static_cast<std::uint32_t>(left / lanes) : most;
    const std::uint64_t next = done + std::uint64_t{lanes} * each;
    if (lane < lanes) {
      const auto crew = make_crew(lanes);
      ticket = queue.post(crew, PostShape{each}, next == all.count ? batch : Batch::more,
                          [&](std::uint64_t at, std::uint8_t fm_ce_se) {
                            for (std::uint32_t k = 0; k < each; ++k) {
                              const std::uint64_t i = done + std::uint64_t{k} * lanes + lane;
                              write_element<T>(poster, queue, direction, all, i, pe,
                                               cells_behind(queue.view(), at, k),
                                               k + 1 == each ? fm_ce_se : silent);
                            }
                          });
      if (direction.inbound && ticket.status.ok()) note_read(poster.m, queue, ticket.index);
    }
    if (width > 1) ticket = agree_on(poster.m, WarpGroup{}, ticket);
    if (!ticket.status) return ticket;
    done = next;
  }
  return ticket;
}

// By one thread, by the lanes of a warp, by the first warp of a block.
template <class T, class P>
GDAKIT_DEVICE Ticket post_by(const P& poster, ThreadGroup, rma::Direction direction,
                             const Elements& all, std::int32_t pe, Batch batch) {
  return post_plain<T>(poster, 0, 1, direction, all, pe, batch,
                       [](std::uint32_t) { return LoneThread{}; });
}
template <class T, class P>
GDAKIT_DEVICE Ticket post_by(const P& poster, WarpGroup, rma::Direction direction,
                             const Elements& all, std::int32_t pe, Batch batch) {
  M_of<P>& m = poster.m;
  const LaneMask warp = whole_warp(m);
  m.sync_warp(warp);  // what any lane stored before the call is part of the transfer
  return post_plain<T>(
      poster, m.lane(), lane_count(warp), direction, all, pe, batch, [&m](std::uint32_t lanes) {
        return Crew{static_cast<LaneMask>(low_bits(static_cast<int>(lanes))), m.lane()};
      });
}
template <class T, class P>
GDAKIT_DEVICE Ticket post_by(const P& poster, BlockGroup, rma::Direction direction,
                             const Elements& all, std::int32_t pe, Batch batch) {
  meet(poster.m, BlockGroup{});
  Ticket ticket{};
  if (poster.m.warp() == 0) {
    ticket = post_by<T>(poster, WarpGroup{}, direction, all, pe, batch);
  }
  return agree_on(poster.m, BlockGroup{}, ticket);
}

template <class P>
GDAKIT_DEVICE rma::Cutter cut(const P& poster, const Elements& all, std::uint64_t i,
                              std::int32_t pe) {
  return rma::Cutter(poster, reinterpret_cast<const void*>(all.remote_at(i)),
                     reinterpret_cast<const void*>(all.local_at(i)), all.bytes, pe);
}

// One thread's share of the elements, by loads and stores.
template <class P>
GDAKIT_DEVICE void copy_share(const P& poster, Share share, rma::Direction direction,
                              const Elements& all, std::uint64_t base) {
  const HeapView& heap = poster.context.heap;
  for (std::uint64_t i = share.first; i < all.count; i += share.step) {
    void* const there = direct::at(heap, base, reinterpret_cast<void*>(all.remote_at(i)));
    void* const here = reinterpret_cast<void*>(all.local_at(i));
    if (direction.inbound) {
      poster.m.copy_in(here, there, all.bytes);
    } else {
      poster.m.copy(there, here, all.bytes);
    }
  }
}

// By loads and stores; the threads of the group take turns at the elements.
template <class P, class Group>
GDAKIT_DEVICE Ticket copy_direct(const P& poster, Group group, rma::Direction direction,
                                 const Elements& all, std::uint64_t base, std::int32_t pe,
                                 Batch batch) {
  meet(poster.m, group);
  copy_share(poster, share_of(poster.m, group), direction, all, base);
  meet(poster.m, group);
  return unposted(poster, group, pe, batch, {});
}

// Whether every byte of every element is registered.
template <class P>
GDAKIT_DEVICE_CALL bool is_registered(const P& poster, const Elements& all, std::int32_t pe) {
  if (lies_in_ranges(poster.context, all)) return true;
  for (std::uint64_t i = 0; i < all.count; ++i) {
    if (!rma::is_registered(cut(poster, all, i, pe))) return false;
  }
  return true;
}

// Elements of any size at any address, which may lie across the borders of chunks: piece by piece,
// by one thread.
template <class P>
GDAKIT_DEVICE_CALL Ticket post_pieces(const P& poster, rma::Direction direction,
                                      const Elements& all, std::int32_t pe, Batch batch) {
  auto queue = poster.to(pe);
  Ticket ticket = queue.failed({});
  for (std::uint64_t i = 0; i < all.count; ++i) {
    rma::Cutter cutter = cut(poster, all, i, pe);
    while (!cutter.done()) {
      const rma::Piece piece = cutter.next();
      const bool last = i + 1 == all.count && cutter.done();
      ticket = rma::post_piece(poster.m, queue, LoneThread{}, direction, piece,
                               last ? batch : Batch::more);
      if (!ticket.status) return ticket;
    }
  }
  return ticket;
}

// Whether a transfer can be, but for whether its memory is registered. The elements of a
// destination whose stride is 0 would lie upon each other: refused, unless there is but one.
template <class P>
GDAKIT_DEVICE Fault judge(const P& poster, rma::Direction direction, const Elements& all,
                          std::ptrdiff_t remote_stride, std::ptrdiff_t local_stride,
                          std::int32_t pe) {
  if (poster.direct_base(pe) == 0 && !poster.can_reach(pe)) return poster.unreachable(pe);
  if (all.count == 0) return Fault::none;
  const std::ptrdiff_t destination = direction.inbound ? local_stride : remote_stride;
  if (destination == 0 && all.count > 1) return Fault::stride;
  if (!is_finite(all.count, remote_stride, all.bytes)) return Fault::heap_elements;
  return is_finite(all.count, local_stride, all.bytes) ? Fault::none : Fault::local_elements;
}

// Whether the NIC would take the put.
template <class P>
GDAKIT_DEVICE bool may_copy(const P& poster, const Elements& all, std::ptrdiff_t remote_stride,
                            std::ptrdiff_t local_stride, std::int32_t pe) {
  return judge(poster, rma::kPut, all, remote_stride, local_stride, pe) == Fault::none &&
         (all.count == 0 || is_registered(poster, all, pe));
}

// The report names the first element.
template <class P, class Group>
GDAKIT_DEVICE Ticket refused(const P& poster, Group group, Operation operation, Fault what,
                             const Elements& all, std::int32_t pe, Batch batch) {
  const std::uint64_t address = what == Fault::local_elements ? all.local : all.remote;
  return unposted(poster, group, pe, batch, poster.fault(operation, what, pe, address, all.bytes));
}

// Of elements that are not all registered: the first side of which some are not.
template <class P>
GDAKIT_DEVICE Fault unregistered_side(const P& poster, const Elements& all) {
  const std::uint64_t last = all.remote_at(all.count - 1);
  const bool there = both_in_heap(poster.context.heap, all.remote, last, all.bytes);
  return there ? Fault::local_elements : Fault::heap_elements;
}

// Posts the transfer and returns its ticket.
template <class T, class P, class Group>
GDAKIT_DEVICE Ticket post(const P& poster, Group group, rma::Direction direction,
                          const void* remote, const void* local, std::ptrdiff_t remote_stride,
                          std::ptrdiff_t local_stride, std::size_t count, std::int32_t pe,
                          Batch batch) {
  static_assert(std::is_trivially_copyable_v<T>, "the NIC copies bytes: T is trivially copyable");
  if (remote_stride == 1 && local_stride == 1) {
    return rma::post(poster, group, direction, remote, local, bytes_of<T>(count), pe, batch);
  }
  const Elements all = elements_of(remote, local, remote_stride, local_stride, count, sizeof(T));
  const Fault fault = judge(poster, direction, all, remote_stride, local_stride, pe);
  if (fault != Fault::none)
    return refused(poster, group, direction.operation(), fault, all, pe, batch);
  if (count == 0) return unposted(poster, group, pe, batch, {});
  const bool plain = is_plain(poster.context, all);
  if (!plain && !is_registered(poster, all, pe)) {
    return refused(poster, group, direction.operation(), unregistered_side(poster, all), all, pe,
                   batch);
  }
  if (const std::uint64_t base = poster.direct_base(pe); base != 0) {
    return copy_direct(poster, group, direction, all, base, pe, batch);
  }
  if (plain) return post_by<T>(poster, group, direction, all, pe, batch);
  return by_one(poster.m, group, [&] { return post_pieces(poster, direction, all, pe, batch); });
}

// The same for elements whose size is known at run time only: one thread posts them.
template <class P, class Group>
GDAKIT_DEVICE Ticket post_bytes(const P& poster, Group group, rma::Direction direction,
                                const Elements& all, std::ptrdiff_t remote_stride,
                                std::ptrdiff_t local_stride, std::int32_t pe, Batch batch) {
  const Fault fault = judge(poster, direction, all, remote_stride, local_stride, pe);
  if (fault != Fault::none)
    return refused(poster, group, direction.operation(), fault, all, pe, batch);
  if (all.count == 0) return unposted(poster, group, pe, batch, {});
  if (!is_registered(poster, all, pe)) {
    return refused(poster, group, direction.operation(), unregistered_side(poster, all), all, pe,
                   batch);
  }
  if (const std::uint64_t base = poster.direct_base(pe); base != 0) {
    return copy_direct(poster, group, direction, all, base, pe, batch);
  }
  return by_one(poster.m, group, [&] { return post_pieces(poster, direction, all, pe, batch); });
}

}  // namespace gdakit::strided
