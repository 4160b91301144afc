// One operation that the host asks for, as plain data, and the kernels that perform them: a few for
// all operations and types, so that a library can hold them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "device/pe.h"
#include "device/value_bits.h"

namespace gdakit {

struct HostOperation {
  enum class Kind : std::uint8_t {
    put,
    get,
    iput,
    iget,
    put_signal,
    put_value,
    get_value,
    change,    // an atomic without a result
    signal,    // the same, behind what was put before
    exchange,  // an atomic with one
    wait,      // for words
    test,      // what words hold
    quiet,
    sync,
    barrier,
    broadcast,
    fcollect,
    collect,
    alltoall,
    alltoalls,
    reduce,
    reduce_scatter,
  };

  // What is asked of words. The answer to all is 1 or 0, to any an index, to some a number, and
  // value is about a signal.
  enum class Which : std::uint8_t { all, any, some, value };

  Kind kind{};
  Which which{};
  bool nbi = false;  // completed by a later quiet
  SignalOp signal_op{};
  Compare compare{};
  ElementType type = ElementType::uint64;  // of the words that are asked, or of what is reduced
  ReduceOp reduce_op{};
  atomics::Op atomic{};
  Team team = kTeamWorld;
  std::int32_t pe = 0;  // the other end, or the root's number in the team
  std::uint32_t element_bytes = 1;
  void* dest = nullptr;  // of some words: where their indices go
  const void* source = nullptr;
  std::size_t count = 0;  // elements
  std::ptrdiff_t dest_stride = 1;
  std::ptrdiff_t source_stride = 1;
  std::uint64_t* word = nullptr;  // the signal
  std::uint64_t value = 0;     // the signal's, the atomic's operand, what words are compared with
  std::uint64_t expected = 0;  // of a compare_swap
  bool each = false;           // word i is compared with values[i] instead
  const void* values = nullptr;
  const int* skip = nullptr;
  void* fetched = nullptr;  // where an exchange that is completed later leaves the old value
  bool tells = false;       // a collective: leaves its Status as the result

  // ~0, which no memory holds, where that does not fit.
  GDAKIT_HOST_DEVICE std::size_t bytes() const {
    return count > ~std::size_t{0} / element_bytes ? ~std::size_t{0} : count * element_bytes;
  }
};
static_assert(std::is_trivially_copyable_v<HostOperation>);

inline HostOperation transfer(HostOperation::Kind kind, bool nbi, void* dest, const void* source,
                              std::size_t count, std::size_t element_bytes, int pe) {
  HostOperation what;
  what.kind = kind;
  what.nbi = nbi;
  what.dest = dest;
  what.source = source;
  what.count = count;
  what.element_bytes = static_cast<std::uint32_t>(element_bytes);
  what.pe = pe;
  return what;
}

template <class T>
HostOperation on_word(HostOperation::Kind kind, T* dest, std::uint64_t value, int pe) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 1 || sizeof(T) == 2);
  HostOperation what = transfer(kind, false, dest, nullptr, 1, sizeof(T), pe);
  what.value = value;
  return what;
}

// The update of a signal word, behind what was put before.
inline HostOperation signalling(std::uint64_t* word, std::uint64_t value, SignalOp op, int pe) {
  HostOperation what = on_word(HostOperation::Kind::signal, word, value, pe);
  what.atomic = signal::request(op, value).op;
  return what;
}

// Each kernel performs its kinds of operations by one block; what fails is in the PE's reports.

// Leaves what a call returns where the host finds it.
template <class Pe, class T>
GDAKIT_DEVICE void leave_result(Pe& pe, T result) {
  pe.machine().store_weak(&pe.context().state->host_result, widen_bits(result));
}

// What a kernel posts with, by one thread: the types of a handle's calls are made of bytes here.
template <class M>
struct Posting {
  HandleMemo memo;
  Poster<M, LonePublication> poster;

  GDAKIT_DEVICE Posting(M& m, const DeviceContext& context) : poster{m, context, 0, memo} {}
};

// put, get, iput, iget, put_signal
struct MoveBytes {
  HostOperation what;

  // The NIC moves the bytes, those of a direct peer all threads together.
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    Posting posting(pe.machine(), pe.context());
    const bool first = pe.machine().thread_index() == 0;
    Ticket ticket{};
    if (posting.poster.direct_base(what.pe) != 0) {
      ticket = post(posting.poster, BlockGroup{});
    } else if (first) {
      ticket = post(posting.poster, ThreadGroup{});
    }
    // The signal behind a direct put may be the NIC's.
    if (first && !what.nbi) completing::wait(posting.poster, ticket);
  }

 private:
  using Kind = HostOperation::Kind;

  template <class P, class Group>
  GDAKIT_DEVICE Ticket post(const P& poster, Group group) const {
    if (what.kind == Kind::put_signal) {
      return signal::post(poster, group, what.dest, what.source, what.bytes(), what.word,
                          what.value, what.signal_op, what.pe, Batch::last);
    }
    const bool is_put = what.kind == Kind::put || what.kind == Kind::iput;
    rma::Direction direction = rma::kPut;
    if (!is_put) direction = rma::kGet;
    const void* const remote = is_put ? what.dest : what.source;
    const void* const local = is_put ? what.source : what.dest;
    if (what.kind == Kind::put || what.kind == Kind::get) {
      return rma::post(poster, group, direction, remote, local, what.bytes(), what.pe, Batch::last);
    }
    const std::ptrdiff_t remote_stride = is_put ? what.dest_stride : what.source_stride;
    const std::ptrdiff_t local_stride = is_put ? what.source_stride : what.dest_stride;
    return strided::post_bytes(poster, group, direction,
                               strided::elements_of(remote, local, remote_stride, local_stride,
                                                    what.count, what.element_bytes),
                               remote_stride, local_stride, what.pe, Batch::last);
  }
};

// put_value, get_value, change, signal, exchange
struct ActOnWord {
  HostOperation what;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if (pe.machine().thread_index() != 0) return;
    switch (what.element_bytes) {
      case 1: return act_on<std::uint8_t>(pe);
      case 2: return act_on<std::uint16_t>(pe);
      case 4: return act_on<std::uint32_t>(pe);
      default: return act_on<std::uint64_t>(pe);
    }
  }

 private:
  using Kind = HostOperation::Kind;

  template <class T, class Pe>
  GDAKIT_DEVICE_CALL void act_on(Pe& pe) const {
    Posting posting(pe.machine(), pe.context());
    auto* const remote = static_cast<T*>(what.dest);
    if (what.kind == Kind::get_value) {
      const auto* const source = static_cast<const T*>(what.source);
      return leave_result(pe, rma::get_value(posting.poster, source, what.pe).value);
    }
    Ticket ticket{};
    if (what.kind == Kind::put_value) {
      ticket =
          rma::post_value(posting.poster, remote, static_cast<T>(what.value), what.pe, Batch::last);
    } else if constexpr (sizeof(T) >= 4) {
      const atomics::Request request{what.atomic, what.value, what.expected};
      if (what.kind == Kind::exchange) return exchange(pe, posting.poster, remote, request);
      ticket = change(posting.poster, remote, request);
    }
    if (!what.nbi) completing::wait(posting.poster, ticket);
  }

  template <class P, class T>
  GDAKIT_DEVICE Ticket change(const P& poster, T* remote, const atomics::Request& request) const {
    if constexpr (std::is_same_v<T, std::uint64_t>) {
      if (what.kind == Kind::signal) {
        return signal::update(poster, remote, request, what.pe, Batch::last);
      }
    }
    return atomics::post(poster, remote, request, what.pe, Batch::last);
  }

  template <class Pe, class P, class T>
  GDAKIT_DEVICE void exchange(Pe& pe, const P& poster, T* remote,
                              const atomics::Request& request) const {
    if (what.nbi) {
      atomics::fetch_nbi(poster, remote, request, what.pe, static_cast<T*>(what.fetched),
                         Batch::last);
    } else {
      leave_result(pe, atomics::fetch(poster, remote, request, what.pe).value);
    }
  }
};

// wait, test
struct AskWords {
  HostOperation what;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if (pe.machine().thread_index() != 0) return;
    Posting posting(pe.machine(), pe.context());
    const Ticket found = answer(posting.poster);
    // Nobody waits for the result of this one, so that it may end while another call has left its.
    const bool is_asked = what.kind == Kind::test || what.which != Which::all;
    if (is_asked) leave_result(pe, found.index);
  }

 private:
  using Kind = HostOperation::Kind;
  using Which = HostOperation::Which;

  template <class P>
  GDAKIT_DEVICE Ticket answer(const P& poster) const {
    switch (what.type) {
      case ElementType::int8: return about<std::int8_t>(poster);
      case ElementType::int16: return about<std::int16_t>(poster);
      case ElementType::int32: return about<std::int32_t>(poster);
      case ElementType::int64: return about<std::int64_t>(poster);
      case ElementType::uint8: return about<std::uint8_t>(poster);
      case ElementType::uint16: return about<std::uint16_t>(poster);
      case ElementType::uint32: return about<std::uint32_t>(poster);
      default:
        return what.which == Which::value ? about_signal(poster) : about<std::uint64_t>(poster);
    }
  }

  template <class T, class P>
  GDAKIT_DEVICE_CALL Ticket about(const P& poster) const {
    const auto* const words = static_cast<const T*>(what.source);
    if (what.each) {
      const waiting::Each<T> values{static_cast<const T*>(what.values)};
      return about_words(poster,
                         waiting::words_of(words, what.count, what.skip, what.compare, values));
    }
    const waiting::Same<T> value{static_cast<T>(what.value)};
    return about_words(poster,
                       waiting::words_of(words, what.count, what.skip, what.compare, value));
  }

  template <class P, class Words>
  GDAKIT_DEVICE Ticket about_words(const P& poster, const Words& words) const {
    const bool waits = what.kind == Kind::wait;
    auto* const indices = static_cast<std::size_t*>(what.dest);
    switch (what.which) {
      case Which::any:
        return waits ? waiting::for_any(poster, words) : waiting::which_holds(poster, words);
      case Which::some:
        return waits ? waiting::for_some(poster, words, indices)
                     : waiting::which_hold(poster, words, indices);
      default: return waits ? waiting::for_all(poster, words) : waiting::all_hold(poster, words);
    }
  }

  template <class P>
  GDAKIT_DEVICE Ticket about_signal(const P& poster) const {
    const auto* const word = static_cast<const std::uint64_t*>(what.source);
    return what.kind == Kind::wait ? waiting::until_value(poster, word, what.compare, what.value)
                                   : waiting::fetch(poster, word);
  }
};

// quiet, and the collectives that only move
struct MeetOthers {
  HostOperation what;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto block = pe.block();
    auto team = block.team(what.team);
    const Status status = meet(block, team);
    if (what.tells && pe.machine().thread_index() == 0) {
      leave_result(pe, bit_cast<std::uint64_t>(status));
    }
  }

 private:
  using Kind = HostOperation::Kind;

  template <class Block, class TeamOfBlock>
  GDAKIT_DEVICE Status meet(Block& block, TeamOfBlock& team) const {
    auto* const dest = static_cast<std::byte*>(what.dest);
    const auto* const source = static_cast<const std::byte*>(what.source);
    switch (what.kind) {
      case Kind::quiet: return block.quiet();
      case Kind::sync: return team.sync();
      case Kind::barrier: return team.barrier();
      case Kind::broadcast: return team.broadcast(dest, source, what.bytes(), what.pe);
      case Kind::fcollect: return team.fcollect(dest, source, what.bytes());
      case Kind::collect: return team.collect(dest, source, what.bytes());
      case Kind::alltoall: return team.alltoall(dest, source, what.bytes());
      default:
        return team.alltoalls(dest, source, what.dest_stride, what.source_stride, what.count,
                              what.element_bytes);
    }
  }
};

// reduce, reduce_scatter
struct CombineElements {
  HostOperation what;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto team = pe.block().team(what.team);
    if (what.kind == HostOperation::Kind::reduce) {
      team.reduce(what.dest, what.source, what.count, what.type, what.reduce_op);
    } else {
      team.reduce_scatter(what.dest, what.source, what.count, what.type, what.reduce_op);
    }
  }
};

// Calls act(kernel) with the kernel that performs the operation.
template <class Act>
auto with_kernel_for(const HostOperation& operation, Act&& act) {
  if (operation.kind <= HostOperation::Kind::put_signal) return act(MoveBytes{operation});
  if (operation.kind <= HostOperation::Kind::exchange) return act(ActOnWord{operation});
  if (operation.kind <= HostOperation::Kind::test) return act(AskWords{operation});
  if (operation.kind <= HostOperation::Kind::alltoalls) return act(MeetOthers{operation});
  return act(CombineElements{operation});
}

}  // namespace gdakit
