// Atomic operations on a word of the symmetric heap of a PE, executed by the NIC at the other end,
// or by this thread where every PE reaches that heap directly.
//
// The NIC adds and compares-and-swaps 8-byte words natively; everything else is a masked atomic:
//
//   masked compare-and-swap  if ((mem & compare_mask) == (compare & compare_mask))
//                              mem = (mem & ~swap_mask) | (swap & swap_mask)
//   masked fetch-and-add     mem = mem + add, without carries across the bits of field_boundary:
//                            a boundary of all ones is an xor
#pragma once

#include <type_traits>

#include "device/batch_end.h"
#include "device/direct.h"
#include "device/fetch.h"
#include "device/group.h"
#include "device/poster.h"
#include "device/word_queue.h"

namespace gdakit::atomics {

// OpenSHMEM's types for atomics: int, long, long long and their unsigned forms, by whichever of
// their names (int32_t, size_t, ptrdiff_t, ...); float and double can be fetched, set and swapped.
template <class T, class... List>
inline constexpr bool is_one_of = (std::is_same_v<T, List> || ...);
template <class T>
inline constexpr bool is_integer =
    is_one_of<T, int, long, long long, unsigned, unsigned long, unsigned long long>;
template <class T>
inline constexpr bool is_number = is_integer<T> || is_one_of<T, float, double>;

enum class Op : std::uint8_t { add, bit_and, bit_or, bit_xor, set, compare_swap };
inline constexpr Op kLastOp = Op::compare_swap;

// The kind of the command of an operation; kinds beyond kLastOp's are nobody's.
GDAKIT_HOST_DEVICE constexpr CommandKind command_kind(Op op) {
  return static_cast<CommandKind>(static_cast<std::uint8_t>(CommandKind::atomic) +
                                  static_cast<std::uint8_t>(op));
}
GDAKIT_HOST_DEVICE constexpr bool is_atomic(CommandKind kind) {
  return kind >= CommandKind::atomic && kind <= command_kind(kLastOp);
}
GDAKIT_HOST_DEVICE constexpr Op op_of(CommandKind kind) {
  return static_cast<Op>(static_cast<std::uint8_t>(kind) -
                         static_cast<std::uint8_t>(CommandKind::atomic));
}

// An operation on a word of 4 or 8 bytes; operands in the lowest bytes.
struct Request {
  Op op;
  std::uint64_t operand;
  std::uint64_t compare = 0;
};

// The operands of a masked compare-and-swap. `ones` is the word's all-ones value.
struct MaskedSwap {
  std::uint64_t swap, compare, swap_mask, compare_mask;
};

GDAKIT_HOST_DEVICE constexpr MaskedSwap masked_swap(const Request& request, std::uint64_t ones) {
  switch (request.op) {
    case Op::bit_and: return {request.operand, 0, ~request.operand & ones, 0};
    case Op::bit_or: return {request.operand, 0, request.operand, 0};
    case Op::compare_swap: return {request.operand, request.compare, ones, ones};
    default: return {request.operand, 0, ones, 0};
  }
}

GDAKIT_HOST_DEVICE constexpr bool is_addition(Op op) { return op == Op::add || op == Op::bit_xor; }

// How many cells of a queue the WQE of an operation takes. Of DC it ends with its cell at the
// latest.
GDAKIT_HOST_DEVICE inline std::uint32_t cells(const QueueView& queue, Op op, std::uint32_t bytes) {
  const bool two_operand_segments = bytes == 8 && !is_addition(op) && op != Op::compare_swap;
  return two_operand_segments && !is_dc(queue) ? 2 : 1;
}

// The shape of a post whose last WQE is this operation, behind `before` other cells.
GDAKIT_HOST_DEVICE inline PostShape shape(const QueueView& queue, Op op, std::uint32_t bytes,
                                          PostShape::Tail flush, std::uint32_t before = 0) {
  const std::uint32_t own = cells(queue, op, bytes);
  const PostShape::Tail tail =
      own > 1 && flush == PostShape::Tail::none ? PostShape::Tail::nop : flush;
  return {before + own, tail};
}

inline constexpr std::uint32_t kMaxOperandSegments = 2;

// Operand segments of an operation and what its control segment says of them.
struct Encoded {
  format::Opcode opcode;
  std::uint8_t opmod;
  std::uint32_t segments;
  format::Segment operand[kMaxOperandSegments];
};

GDAKIT_HOST_DEVICE inline Encoded encode4(const Request& request) {
  using namespace format;
  const auto word = [](std::uint64_t value) { return Be32{static_cast<std::uint32_t>(value)}; };
  if (is_addition(request.op)) {
    const Be32 boundary{request.op == Op::bit_xor ? 0xffffffffu : 0u};
    return {Opcode::atomic_masked_fa,
            kOpmodAtomic4,
            1,
            {to_segment(MaskedAtomic4FaSegment{word(request.operand), boundary, Be64{0}}), {}}};
  }
  const MaskedSwap swap = masked_swap(request, 0xffffffffu);
  return {Opcode::atomic_masked_cs,
          kOpmodAtomic4,
          1,
          {to_segment(MaskedAtomic4CsSegment{word(swap.swap), word(swap.compare),
                                             word(swap.swap_mask), word(swap.compare_mask)}),
           {}}};
}

GDAKIT_HOST_DEVICE inline Encoded encode8(const Request& request) {
  using namespace format;
  if (request.op == Op::add) {
    return {
        Opcode::atomic_fa, 0, 1, {to_segment(AtomicSegment{Be64{request.operand}, Be64{0}}), {}}};
  }
  if (request.op == Op::compare_swap) {
    return {Opcode::atomic_cs,
            0,
            1,
            {to_segment(AtomicSegment{Be64{request.operand}, Be64{request.compare}}), {}}};
  }
  if (request.op == Op::bit_xor) {
    const MaskedAtomic8FaSegment operands{Be64{request.operand}, Be64{~std::uint64_t{0}}};
    return {Opcode::atomic_masked_fa, kOpmodAtomic8, 1, {to_segment(operands), {}}};
  }
  const MaskedSwap swap = masked_swap(request, ~std::uint64_t{0});
  return {Opcode::atomic_masked_cs,
          kOpmodAtomic8,
          2,
          {to_segment(AtomicSegment{Be64{swap.swap}, Be64{swap.compare}}),
           to_segment(AtomicSegment{Be64{swap.swap_mask}, Be64{swap.compare_mask}})}};
}

// Writes the operation's WQE at slot `at`: control, remote address, operands, where the result
// goes.
template <class M>
GDAKIT_DEVICE void write_atomic(M& m, const QueueView& queue, std::uint64_t at,
                                std::uint8_t fm_ce_se, const Span& remote, const Span& result,
                                const Request& request, std::uint32_t bytes) {
  if (queue.handler == Handler::commands) {
    Command command{command_kind(request.op), fm_ce_se};
    command.bytes = bytes;
    command.remote = remote.address;
    command.rkey = remote.key;
    command.lkey = result.key;
    command.local = result.address;
    command.operand = request.operand;
    command.compare = request.compare;
    return store_command<3>(m, queue, at, command);
  }
  const Encoded code = bytes == 4 ? encode4(request) : encode8(request);
  const std::uint32_t head = head_of(queue);
  store_segment(
      m, queue, at, 0,
      control_segment(queue, at, code.opcode, code.opmod, head + 2 + code.segments, fm_ce_se));
  store_segment(m, queue, at, head,
                format::to_segment(format::remote_address(remote.address, remote.key)));
  GDAKIT_UNROLL
  for (std::uint32_t i = 0; i < kMaxOperandSegments; ++i) {
    if (i == code.segments) break;  // a bound that is known keeps the segments in registers
    store_segment(m, queue, at, head + 1 + i, code.operand[i]);
  }
  store_segment(m, queue, at, head + 1 + code.segments,
                format::to_segment(format::data(result.address, result.key, bytes)));
  store_address(m, queue, at);
}

// The word as the NIC names it. Not ok() when it is unaligned, not in the heap, or not to be
// reached.
template <class P>
GDAKIT_DEVICE Status locate(const P& poster, std::uint64_t address, std::uint32_t bytes,
                            std::int32_t pe, Span* span) {
  if (!poster.can_reach(pe))
    return poster.fault(Operation::atomic, poster.unreachable(pe), pe, address, bytes);
  if (address % bytes != 0)
    return poster.fault(Operation::atomic, Fault::alignment, pe, address, bytes);
  *span = poster.remote_span(address, pe);
  return span->bytes >= bytes
             ? Status{}
             : poster.fault(Operation::atomic, Fault::heap_memory, pe, address, bytes);
}

// Whether an operation on a word of a direct peer is one that the NIC would take, too.
template <class P>
GDAKIT_DEVICE Status check_direct(const P& poster, std::uint64_t address, std::uint32_t bytes,
                                  std::int32_t pe) {
  if (address % bytes != 0)
    return poster.fault(Operation::atomic, Fault::alignment, pe, address, bytes);
  return is_in_heap(poster.context.heap, address, bytes)
             ? Status{}
             : poster.fault(Operation::atomic, Fault::heap_memory, pe, address, bytes);
}

// Performs an operation by this thread, on a word of a direct peer, and returns the old value.
template <class Order, class M, class W>
GDAKIT_DEVICE W perform(M& m, W* word, const Request& request) {
  const auto operand = static_cast<W>(request.operand);
  switch (request.op) {
    case Op::add: return m.fetch_add(Order{}, word, operand);
    case Op::bit_and: return m.fetch_and(Order{}, word, operand);
    case Op::bit_or: return m.fetch_or(Order{}, word, operand);
    case Op::bit_xor: return m.fetch_xor(Order{}, word, operand);
    case Op::set: return m.exchange(Order{}, word, operand);
    case Op::compare_swap: break;
  }
  return m.compare_exchange(Order{}, word, static_cast<W>(request.compare), operand);
}

// The word of a symmetric address in the heap that is mapped at `base`.
template <class P, class T>
GDAKIT_DEVICE auto* word_at(const P& poster, std::uint64_t base, const T* remote) {
  using W = direct::WordOf<sizeof(T)>;
  auto* const word = reinterpret_cast<W*>(const_cast<std::remove_const_t<T>*>(remote));
  return direct::at(poster.context.heap, base, word);
}

// The same word if a quick look tells that it is a direct peer's.
template <class P, class T>
GDAKIT_DEVICE bool is_near_word(const P& poster, const T* remote, std::int32_t pe,
                                direct::WordOf<sizeof(T)>** word) {
  std::uint64_t there = 0;
  const auto address = reinterpret_cast<std::uint64_t>(remote);
  const bool is_near = poster.is_near_word(address, sizeof(T), pe, &there);
  *word = reinterpret_cast<direct::WordOf<sizeof(T)>*>(there);
  return is_near;
}

// Performs an operation on a word of a direct peer and delivers the old value, before all that the
// thread reads later.
template <class P, class T>
GDAKIT_DEVICE Status fetch_direct(const P& poster, std::uint64_t base, const T* remote,
                                  std::int32_t pe, const Request& request, T* old) {
  const auto address = reinterpret_cast<std::uint64_t>(remote);
  if (Status status = check_direct(poster, address, sizeof(T), pe); !status) return status;
  *old =
      bit_cast<T>(perform<order::DirectFetched>(poster.m, word_at(poster, base, remote), request));
  return {};
}

// The same where nobody wants the old value, in no order.
template <class M, class W>
GDAKIT_DEVICE void update_word(M& m, W* word, const Request& request) {
  if (request.op == Op::set) {
    m.store(order::RelaxedSystem{}, word, static_cast<W>(request.operand));
  } else {
    perform<order::RelaxedSystem>(m, word, request);
  }
}
template <class P, class T>
GDAKIT_DEVICE Status update_direct(const P& poster, std::uint64_t base, const T* remote,
                                   std::int32_t pe, const Request& request) {
  const auto address = reinterpret_cast<std::uint64_t>(remote);
  if (Status status = check_direct(poster, address, sizeof(T), pe); !status) return status;
  update_word(poster.m, word_at(poster, base, remote), request);
  return {};
}

// Posts an operation to any PE. Its result goes to the span result_of(queue).
template <class P, class T, class ResultOf>
GDAKIT_DEVICE Ticket post_anywhere(const P& poster, const T* remote, const Request& request,
                                   std::int32_t pe, Batch batch, ResultOf&& result_of) {
  if (const std::uint64_t base = poster.direct_atomic_base(pe); base != 0) {
    return {poster.queue, pe, 0, update_direct(poster, base, remote, pe, request)};
  }
  Span span;
  if (Status status = locate(poster, reinterpret_cast<std::uint64_t>(remote), sizeof(T), pe, &span);
      !status) {
    return unposted(poster, ThreadGroup{}, pe, batch, status);
  }
  auto queue = poster.to(pe);
  const PostShape form = shape(queue.view(), request.op, sizeof(T), PostShape::Tail::none);
  const LaneMask mask = P::joins_lanes ? poster.m.active_mask() : LaneMask{0};
  const auto crew = form_crew(poster.m, queue, mask, pe, form, true);
  return queue.post(crew, form, batch, [&](std::uint64_t at, std::uint8_t fm_ce_se) {
    write_atomic(poster.m, queue.view(), at, fm_ce_se, span, result_of(queue.view()), request,
                 sizeof(T));
  });
}

// The same for an operation whose result nobody wants, on the queue that words take.
template <class P, class T>
GDAKIT_DEVICE Ticket post_to_sink(const P& poster, T* remote, const Request& request,
                                  std::int32_t pe, Batch batch) {
  return on_word_queue(poster, pe, batch, [=](const auto& p, Batch b) {
    return post_anywhere(p, remote, request, pe, b,
                         [](const QueueView& queue) { return sink_of(queue); });
  });
}

// The same, the shortest way to direct peers.
template <class P, class T>
GDAKIT_DEVICE Ticket post(const P& poster, T* remote, const Request& request, std::int32_t pe,
                          Batch batch) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  if (direct::WordOf<sizeof(T)> * word; is_near_word(poster, remote, pe, &word)) {
    update_word(poster.m, word, request);
    return {poster.queue, pe, 0, {}};
  }
  return look_closer(poster,
                     [=](const auto& p) { return post_to_sink(p, remote, request, pe, batch); });
}

// Performs an operation at any PE and delivers the old value.
template <class P, class T>
GDAKIT_DEVICE Fetched<T> fetch_anywhere(const P& poster, const T* remote, const Request& request,
                                        std::int32_t pe) {
  Fetched<T> fetched;
  if (const std::uint64_t base = poster.direct_atomic_base(pe); base != 0) {
    fetched.status = fetch_direct(poster, base, remote, pe, request, &fetched.value);
    return fetched;
  }
  Span span;
  fetched.status = locate(poster, reinterpret_cast<std::uint64_t>(remote), sizeof(T), pe, &span);
  if (!fetched.status) {
    end_batch(poster, pe);
    return fetched;
  }
  auto queue = poster.to(pe);
  const PostShape form = shape(queue.view(), request.op, sizeof(T), flush_tail(poster.context));
  const LaneMask mask = P::joins_lanes ? poster.m.active_mask() : LaneMask{0};
  const auto crew = form_crew(poster.m, queue, mask, pe, form, true);
  const auto write = [&](std::uint64_t at, std::uint8_t fm_ce_se, const Span& result) {
    write_atomic(poster.m, queue.view(), at, fm_ce_se, span, result, request, sizeof(T));
  };
  fetched.status = gdakit::fetch(poster.m, queue, crew, form, &fetched.value, write,
                                 /*swap=*/sizeof(T) == 4);
  return fetched;
}

// The same, the shortest way to direct peers.
template <class P, class T>
GDAKIT_DEVICE Fetched<T> fetch(const P& poster, const T* remote, const Request& request,
                               std::int32_t pe) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  if (direct::WordOf<sizeof(T)> * word; is_near_word(poster, remote, pe, &word)) {
    return {{}, bit_cast<T>(perform<order::DirectFetched>(poster.m, word, request))};
  }
  return look_closer(poster, [=](const auto& p) {
    return on_word_queue(p, pe, Batch::last, [=](const auto& words, Batch) {
      return fetch_anywhere(words, remote, request, pe);
    });
  });
}

// Performs an operation whose old value the NIC writes to `old`, which is registered; visible after
// quiet. A 4-byte result comes back big-endian, so somebody must wait for it to turn it round.
template <class P, class T>
GDAKIT_DEVICE Status fetch_nbi_anywhere(const P& poster, const T* remote, const Request& request,
                                        std::int32_t pe, T* old, Batch batch) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  const auto to = reinterpret_cast<std::uint64_t>(old);
  const Span result = poster.local_span(to);
  const bool is_there = result.bytes >= sizeof(T);
  if (!is_there || (sizeof(T) > 4 && to % sizeof(T) != 0)) {
    const Fault what = is_there ? Fault::alignment : Fault::local_memory;
    return unposted(poster, ThreadGroup{}, pe, batch,
                    poster.fault(Operation::atomic, what, pe, to, sizeof(T)))
        .status;
  }
  if (sizeof(T) == 4 || poster.direct_atomic_base(pe) != 0) {
    const Fetched<T> fetched = fetch_anywhere(poster, remote, request, pe);
    if (fetched.status.ok()) poster.m.store_weak(old, fetched.value);
    return fetched.status;
  }
  const Ticket ticket =
      post_anywhere(poster, remote, request, pe, batch, [&](const QueueView&) { return result; });
  if (!ticket.status) return ticket.status;
  auto queue = poster.to(pe);
  note_read(poster.m, queue, ticket.index);
  return {};
}

// The same on the queue that words take.
template <class P, class T>
GDAKIT_DEVICE Status fetch_nbi(const P& poster, const T* remote, const Request& request,
                               std::int32_t pe, T* old, Batch batch) {
  return look_closer(poster, [=](const auto& p) {
    return on_word_queue(p, pe, batch, [=](const auto& words, Batch b) {
      return fetch_nbi_anywhere(words, remote, request, pe, old, b);
    });
  });
}

}  // namespace gdakit::atomics
