// The calls of Pe and TeamHandle for the host, but for locks, tickets and queues: each runs as a
// small kernel on a stream.
//
//   auto now = HostCalls::blocking(context);       // returns when it is done
//   now.put(destination, source, 1024, 1);
//   auto later = HostCalls::on_stream(context, stream);
//   later.put(destination, source, 1024, 1);       // returns when it is in the stream
//   later.team(rows).reduce(sums, values, 1024, ReduceOp::sum);
//
// Names, arguments and ordering are those of device/pe.h and device/team_handle.h. Local buffers
// lie in the symmetric heap or are registered. On a stream, a call is ordered behind what the
// stream has to do and before what follows; a blocking one is ordered behind the PE's own stream.
// The nbi forms leave completion to quiet. Calls that return a value wait for the stream; one host
// thread at a time may make them.
//
// Errors: of the launch at once; of the operation itself from the blocking form, or from
// Context::synchronize.
#pragma once

#include "core/base/type_identity.h"
#include "device/value_bits.h"
#include "host_calls/word_calls.h"

namespace gdakit {

// Collectives of one team.
class HostTeamCalls {
 public:
  HostTeamCalls(const HostCallPlace& place, Team team) : place_(place), team_(team) {}

  Result<void> sync() const { return run(Kind::sync, nullptr, nullptr, 0, 1); }
  Result<void> barrier() const { return run(Kind::barrier, nullptr, nullptr, 0, 1); }

  template <class T>
  Result<void> broadcast(T* dest, const T* source, std::size_t count, int root) const {
    return run(Kind::broadcast, dest, source, count, sizeof(T), root);
  }
  template <class T>
  Result<void> fcollect(T* dest, const T* source, std::size_t count) const {
    return run(Kind::fcollect, dest, source, count, sizeof(T));
  }
  template <class T>
  Result<void> collect(T* dest, const T* source, std::size_t count) const {
    return run(Kind::collect, dest, source, count, sizeof(T));
  }
  template <class T>
  Result<void> alltoall(T* dest, const T* source, std::size_t count) const {
    return run(Kind::alltoall, dest, source, count, sizeof(T));
  }
  template <class T>
  Result<void> alltoalls(T* dest, const T* source, std::ptrdiff_t dest_stride,
                         std::ptrdiff_t source_stride, std::size_t count) const {
    HostOperation what = operation(Kind::alltoalls, dest, source, count, sizeof(T));
    what.dest_stride = dest_stride;
    what.source_stride = source_stride;
    return place_.run(what);
  }
  template <class T>
  Result<void> reduce(T* dest, const T* source, std::size_t count, ReduceOp op) const {
    return combine(Kind::reduce, dest, source, count, op);
  }
  template <class T>
  Result<void> reduce_scatter(T* dest, const T* source, std::size_t count, ReduceOp op) const {
    return combine(Kind::reduce_scatter, dest, source, count, op);
  }

 private:
  using Kind = HostOperation::Kind;

  HostOperation operation(Kind kind, void* dest, const void* source, std::size_t count,
                          std::size_t element_bytes) const {
    HostOperation what;
    what.kind = kind;
    what.team = team_;
    what.dest = dest;
    what.source = source;
    what.count = count;
    what.element_bytes = static_cast<std::uint32_t>(element_bytes);
    return what;
  }
  Result<void> run(Kind kind, void* dest, const void* source, std::size_t count,
                   std::size_t element_bytes, int root = 0) const {
    HostOperation what = operation(kind, dest, source, count, element_bytes);
    what.pe = root;
    return place_.run(what);
  }
  template <class T>
  Result<void> combine(Kind kind, T* dest, const T* source, std::size_t count, ReduceOp op) const {
    HostOperation what = operation(kind, dest, source, count, sizeof(T));
    what.type = element_type<T>();
    what.reduce_op = op;
    return place_.run(what);
  }

  HostCallPlace place_;
  Team team_;
};

class HostCalls : public HostWordCalls {
 public:
  static HostCalls blocking(Context& context) {
    return HostCalls(HostCallPlace(context, context.stream(), true));
  }
  static HostCalls on_stream(Context& context, Stream stream) {
    return HostCalls(HostCallPlace(context, stream, false));
  }

  HostTeamCalls team(Team team) const { return {place_, team}; }
  Result<void> barrier_all() const { return team(kTeamWorld).barrier(); }
  Result<void> sync_all() const { return team(kTeamWorld).sync(); }
  Result<void> quiet() const { return run({Kind::quiet}); }
  // What this PE's kernels have put may be on any queue: orders it by completing it.
  Result<void> fence() const { return quiet(); }

  // ---- Put and get.

  template <class T>
  Result<void> put(T* dest, const T* source, std::size_t count, int pe) const {
    return run(transfer(Kind::put, false, dest, source, count, sizeof(T), pe));
  }
  template <class T>
  Result<void> put_nbi(T* dest, const T* source, std::size_t count, int pe) const {
    return run(transfer(Kind::put, true, dest, source, count, sizeof(T), pe));
  }
  template <class T>
  Result<void> get(T* dest, const T* source, std::size_t count, int pe) const {
    return run(transfer(Kind::get, false, dest, source, count, sizeof(T), pe));
  }
  template <class T>
  Result<void> get_nbi(T* dest, const T* source, std::size_t count, int pe) const {
    return run(transfer(Kind::get, true, dest, source, count, sizeof(T), pe));
  }
  template <class T>
  Result<void> iput(T* dest, const T* source, std::ptrdiff_t dest_stride,
                    std::ptrdiff_t source_stride, std::size_t count, int pe) const {
    return run(strided<T>(Kind::iput, false, dest, source, dest_stride, source_stride, count, pe));
  }
  template <class T>
  Result<void> iput_nbi(T* dest, const T* source, std::ptrdiff_t dest_stride,
                        std::ptrdiff_t source_stride, std::size_t count, int pe) const {
    return run(strided<T>(Kind::iput, true, dest, source, dest_stride, source_stride, count, pe));
  }
  template <class T>
  Result<void> iget(T* dest, const T* source, std::ptrdiff_t dest_stride,
                    std::ptrdiff_t source_stride, std::size_t count, int pe) const {
    return run(strided<T>(Kind::iget, false, dest, source, dest_stride, source_stride, count, pe));
  }
  template <class T>
  Result<void> iget_nbi(T* dest, const T* source, std::ptrdiff_t dest_stride,
                        std::ptrdiff_t source_stride, std::size_t count, int pe) const {
    return run(strided<T>(Kind::iget, true, dest, source, dest_stride, source_stride, count, pe));
  }
  template <class T>
  Result<void> put_value(T* dest, type_identity_t<T> value, int pe) const {
    return run(on_word(Kind::put_value, dest, widen_bits(value), pe));
  }
  template <class T>
  Result<T> get_value(const T* source, int pe) const {
    return place_.run_for<T>(transfer(Kind::get_value, false, nullptr, source, 1, sizeof(T), pe));
  }

  // `bytes` bytes, whatever they are.
  Result<void> put_bytes(void* dest, const void* source, std::size_t bytes, int pe) const {
    return run(transfer(Kind::put, false, dest, source, bytes, 1, pe));
  }
  Result<void> put_bytes_nbi(void* dest, const void* source, std::size_t bytes, int pe) const {
    return run(transfer(Kind::put, true, dest, source, bytes, 1, pe));
  }
  Result<void> get_bytes(void* dest, const void* source, std::size_t bytes, int pe) const {
    return run(transfer(Kind::get, false, dest, source, bytes, 1, pe));
  }
  Result<void> get_bytes_nbi(void* dest, const void* source, std::size_t bytes, int pe) const {
    return run(transfer(Kind::get, true, dest, source, bytes, 1, pe));
  }

  // ---- Signals.

  template <class T>
  Result<void> put_signal(T* dest, const T* source, std::size_t count, std::uint64_t* word,
                          std::uint64_t value, SignalOp op, int pe) const {
    return signalled(false, dest, source, bytes_of<T>(count), word, value, op, pe);
  }
  template <class T>
  Result<void> put_signal_nbi(T* dest, const T* source, std::size_t count, std::uint64_t* word,
                              std::uint64_t value, SignalOp op, int pe) const {
    return signalled(true, dest, source, bytes_of<T>(count), word, value, op, pe);
  }
  Result<void> put_signal_bytes(void* dest, const void* source, std::size_t bytes,
                                std::uint64_t* word, std::uint64_t value, SignalOp op,
                                int pe) const {
    return signalled(false, dest, source, bytes, word, value, op, pe);
  }
  Result<void> put_signal_bytes_nbi(void* dest, const void* source, std::size_t bytes,
                                    std::uint64_t* word, std::uint64_t value, SignalOp op,
                                    int pe) const {
    return signalled(true, dest, source, bytes, word, value, op, pe);
  }
  Result<void> signal(std::uint64_t* word, std::uint64_t value, SignalOp op, int pe) const {
    return run(signalling(word, value, op, pe));
  }

  // ---- Atomics on words of 4 or 8 bytes. Those of fetch return the old value. Words of float and
  // double can be set, swapped (by the fetching set) and fetched.

  template <class T>
  Result<void> atomic(atomics::Op op, T* dest, type_identity_t<T> value, int pe) const {
    static_assert(atomics::is_number<T>, "atomics take OpenSHMEM's types for them");
    if (auto can = check_atomic<T>(op); !can) return can.error();
    HostOperation what = on_word(Kind::change, dest, widen_bits(value), pe);
    what.atomic = op;
    return run(what);
  }
  template <class T>
  Result<T> atomic_fetch(atomics::Op op, T* dest, type_identity_t<T> value, int pe) const {
    static_assert(atomics::is_number<T>, "atomics take OpenSHMEM's types for them");
    if (auto can = check_atomic<T>(op); !can) return can.error();
    HostOperation what = on_word(Kind::exchange, dest, widen_bits(value), pe);
    what.atomic = op;
    return place_.run_for<T>(what);
  }
  template <class T>
  Result<T> atomic_fetch(const T* source, int pe) const {
    static_assert(atomics::is_number<T>, "atomics take OpenSHMEM's types for them");
    HostOperation what = on_word(Kind::exchange, const_cast<T*>(source), 0, pe);
    what.atomic = atomics::Op::add;
    return place_.run_for<T>(what);
  }
  template <class T>
  Result<T> atomic_compare_swap(T* dest, type_identity_t<T> expected, type_identity_t<T> desired,
                                int pe) const {
    static_assert(atomics::is_integer<T>, "compare-and-swap takes integers");
    HostOperation what = on_word(Kind::exchange, dest, widen_bits(desired), pe);
    what.atomic = atomics::Op::compare_swap;
    what.expected = widen_bits(expected);
    return place_.run_for<T>(what);
  }
  // The old value is at `fetched`, in the heap or in registered memory, behind quiet.
  template <class T>
  Result<void> atomic_fetch_nbi(atomics::Op op, T* fetched, T* dest, type_identity_t<T> value,
                                int pe) const {
    static_assert(atomics::is_number<T>, "atomics take OpenSHMEM's types for them");
    if (auto can = check_atomic<T>(op); !can) return can;
    return run(exchange_nbi(op, fetched, dest, widen_bits(value), pe));
  }
  template <class T>
  Result<void> atomic_compare_swap_nbi(T* fetched, T* dest, type_identity_t<T> expected,
                                       type_identity_t<T> desired, int pe) const {
    static_assert(atomics::is_integer<T>, "compare-and-swap takes integers");
    HostOperation what =
        exchange_nbi(atomics::Op::compare_swap, fetched, dest, widen_bits(desired), pe);
    what.expected = widen_bits(expected);
    return run(what);
  }

 private:
  using Kind = HostOperation::Kind;

  explicit HostCalls(const HostCallPlace& place) : HostWordCalls(place) {}

  Result<void> run(const HostOperation& operation) const { return place_.run(operation); }

  template <class T>
  static HostOperation strided(Kind kind, bool nbi, void* dest, const void* source,
                               std::ptrdiff_t dest_stride, std::ptrdiff_t source_stride,
                               std::size_t count, int pe) {
    HostOperation what = transfer(kind, nbi, dest, source, count, sizeof(T), pe);
    what.dest_stride = dest_stride;
    what.source_stride = source_stride;
    return what;
  }
  Result<void> signalled(bool nbi, void* dest, const void* source, std::size_t bytes,
                         std::uint64_t* word, std::uint64_t value, SignalOp op, int pe) const {
    HostOperation what = transfer(Kind::put_signal, nbi, dest, source, bytes, 1, pe);
    what.word = word;
    what.value = value;
    what.signal_op = op;
    return run(what);
  }
  template <class T>
  static Result<void> check_atomic(atomics::Op op) {
    if (op == atomics::Op::compare_swap) {
      return Error(Code::invalid_argument,
                   "compare_swap takes two values: call atomic_compare_swap");
    }
    if (atomics::is_integer<T> || op == atomics::Op::set) return {};
    return Error(Code::invalid_argument, "words of float and double can be set and fetched only");
  }
  template <class T>
  static HostOperation exchange_nbi(atomics::Op op, T* fetched, T* dest, std::uint64_t value,
                                    int pe) {
    HostOperation what = on_word(Kind::exchange, dest, value, pe);
    what.atomic = op;
    what.nbi = true;
    what.fetched = fetched;
    return what;
  }
};

}  // namespace gdakit
