// One operation that the host asks for, as plain data, and the kernels that perform them: a few for
// all operations and types, so that a library can hold them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "device/pe.h"

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
    exchange,  // an atomic with one
    wait_until,
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

  Kind kind{};
  bool nbi = false;  // completed by a later quiet
  SignalOp signal_op{};
  Compare compare{};
  ElementType type = ElementType::uint64;  // of the words that are waited for, or reduced
  ReduceOp reduce_op{};
  atomics::Op atomic{};
  Team team = kTeamWorld;
  std::int32_t pe = 0;  // the other end, or the root's number in the team
  std::uint32_t element_bytes = 1;
  void* dest = nullptr;
  const void* source = nullptr;
  std::size_t count = 0;  // elements
  std::ptrdiff_t dest_stride = 1;
  std::ptrdiff_t source_stride = 1;
  std::uint64_t* word = nullptr;  // the signal
  std::uint64_t value = 0;       // the signal's, the atomic's operand, what a word is compared with
  std::uint64_t expected = 0;    // of a compare_swap
  const void* values = nullptr;  // what word i is compared with, in place of `value`
  const int* skip = nullptr;
};
static_assert(std::is_trivially_copyable_v<HostOperation>);

// Each kernel performs its kinds of operations by one block; what fails is in the PE's reports. The
// result of get_value and exchange is left in PeState::host_result.

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
    if (posting.poster.direct_base(what.pe) != 0) {
      post(posting.poster, BlockGroup{});
    } else if (pe.machine().thread_index() == 0) {
      const Ticket ticket = post(posting.poster, ThreadGroup{});
      if (!what.nbi) completing::wait(posting.poster, ticket);
    }
  }

 private:
  using Kind = HostOperation::Kind;

  GDAKIT_DEVICE std::size_t bytes() const { return what.count * what.element_bytes; }

  template <class P, class Group>
  GDAKIT_DEVICE Ticket post(const P& poster, Group group) const {
    if (what.kind == Kind::put_signal) {
      return signal::post(poster, group, what.dest, what.source, bytes(), what.word, what.value,
                          what.signal_op, what.pe, Batch::last);
    }
    const bool is_put = what.kind == Kind::put || what.kind == Kind::iput;
    rma::Direction direction = rma::kPut;
    if (!is_put) direction = rma::kGet;
    const void* const remote = is_put ? what.dest : what.source;
    const void* const local = is_put ? what.source : what.dest;
    if (what.kind == Kind::put || what.kind == Kind::get) {
      return rma::post(poster, group, direction, remote, local, bytes(), what.pe, Batch::last);
    }
    const std::ptrdiff_t remote_stride = is_put ? what.dest_stride : what.source_stride;
    const std::ptrdiff_t local_stride = is_put ? what.source_stride : what.dest_stride;
    return strided::post_bytes(poster, group, direction,
                               strided::elements_of(remote, local, remote_stride, local_stride,
                                                    what.count, what.element_bytes),
                               remote_stride, local_stride, what.pe, Batch::last);
  }
};

// put_value, get_value, change, exchange
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
      return give(pe, rma::get_value(posting.poster, source, what.pe).value);
    }
    Ticket ticket{};
    if (what.kind == Kind::put_value) {
      ticket =
          rma::post_value(posting.poster, remote, static_cast<T>(what.value), what.pe, Batch::last);
    } else if constexpr (sizeof(T) >= 4) {
      const atomics::Request request{what.atomic, what.value, what.expected};
      if (what.kind == Kind::exchange) {
        return give(pe, atomics::fetch(posting.poster, remote, request, what.pe).value);
      }
      ticket = atomics::post(posting.poster, remote, request, what.pe, Batch::last);
    }
    if (!what.nbi) completing::wait(posting.poster, ticket);
  }

  template <class Pe, class T>
  GDAKIT_DEVICE static void give(Pe& pe, T result) {
    pe.machine().store_weak(&pe.context().state->host_result, widen_bits(result));
  }
};

// wait_until
struct WaitForWords {
  HostOperation what;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if (pe.machine().thread_index() != 0) return;
    switch (what.type) {
      case ElementType::int8: return wait_for<std::int8_t>(pe);
      case ElementType::int16: return wait_for<std::int16_t>(pe);
      case ElementType::int32: return wait_for<std::int32_t>(pe);
      case ElementType::int64: return wait_for<std::int64_t>(pe);
      case ElementType::uint8: return wait_for<std::uint8_t>(pe);
      case ElementType::uint16: return wait_for<std::uint16_t>(pe);
      case ElementType::uint32: return wait_for<std::uint32_t>(pe);
      default: return wait_for<std::uint64_t>(pe);
    }
  }

 private:
  template <class T, class Pe>
  GDAKIT_DEVICE_CALL void wait_for(Pe& pe) const {
    const auto* const words = static_cast<const T*>(what.source);
    if (what.values != nullptr) {
      pe.wait_until_all_vector(words, what.count, what.skip, what.compare,
                               static_cast<const T*>(what.values));
    } else {
      pe.wait_until_all(words, what.count, what.skip, what.compare, static_cast<T>(what.value));
    }
  }
};

// quiet, and the collectives that only move
struct MeetOthers {
  HostOperation what;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto block = pe.block();
    auto team = block.team(what.team);
    auto* const dest = static_cast<std::byte*>(what.dest);
    const auto* const source = static_cast<const std::byte*>(what.source);
    const std::size_t bytes = what.count * what.element_bytes;
    switch (what.kind) {
      case Kind::quiet: block.quiet(); break;
      case Kind::sync: team.sync(); break;
      case Kind::barrier: team.barrier(); break;
      case Kind::broadcast: team.broadcast(dest, source, bytes, what.pe); break;
      case Kind::fcollect: team.fcollect(dest, source, bytes); break;
      case Kind::collect: team.collect(dest, source, bytes); break;
      case Kind::alltoall: team.alltoall(dest, source, bytes); break;
      default:
        team.alltoalls(dest, source, what.dest_stride, what.source_stride, what.count,
                       what.element_bytes);
    }
  }

 private:
  using Kind = HostOperation::Kind;
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
  if (operation.kind == HostOperation::Kind::wait_until) return act(WaitForWords{operation});
  if (operation.kind <= HostOperation::Kind::alltoalls) return act(MeetOthers{operation});
  return act(CombineElements{operation});
}

}  // namespace gdakit
