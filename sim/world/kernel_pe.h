// KernelPe: the Pe that the kernels of a world get. It does what Pe does, and notes which call of
// the kernel's source is under way, so that reports speak of the kernel and not of the protocol.
// Calls that are not here (strided transfers, collectives, ...) are Pe's own; what happens in them
// is shown as the protocol's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "device/pe.h"
#include "sim/world/call_scope.h"

namespace gdakit::sim {

template <class Group = ThreadGroup, class Publication = SharedPublication>
class KernelPe : public Pe<SimMachine, Group, Publication> {
  using Base = Pe<SimMachine, Group, Publication>;
  using At = CallPlace;

 public:
  KernelPe(const Base& base) : Base(base) {}

  KernelPe<WarpGroup, Publication> warp() const { return Base::warp(); }
  KernelPe<BlockGroup, Publication> block() const { return Base::block(); }
  KernelPe<Group, SharedPublication> on_queue(std::uint32_t queue) const {
    return Base::on_queue(queue);
  }
  KernelPe<Group, ExclusivePublication> exclusively_on(std::uint32_t queue) const {
    return Base::exclusively_on(queue);
  }

  // ---- Put and get (device/pe_rma.h).
  template <class T>
  Status put(T* remote, const T* local, std::size_t count, int pe, At at = At::here()) {
    const CallScope call(this->machine(), at, "put", bytes_of<T>(count), "to", pe, remote);
    return Base::put(remote, local, count, pe);
  }
  template <class T>
  Status put_nbi(T* remote, const T* local, std::size_t count, int pe, Batch batch = Batch::last,
                 At at = At::here()) {
    const CallScope call(this->machine(), at, "put_nbi", bytes_of<T>(count), "to", pe, remote);
    return Base::put_nbi(remote, local, count, pe, batch);
  }
  template <class T>
  Ticket put_async(T* remote, const T* local, std::size_t count, int pe, Batch batch = Batch::last,
                   At at = At::here()) {
    const CallScope call(this->machine(), at, "put_async", bytes_of<T>(count), "to", pe, remote);
    return Base::put_async(remote, local, count, pe, batch);
  }
  Status put_bytes(void* remote, const void* local, std::size_t bytes, int pe, At at = At::here()) {
    const CallScope call(this->machine(), at, "put_bytes", bytes, "to", pe, remote);
    return Base::put_bytes(remote, local, bytes, pe);
  }
  Status put_bytes_nbi(void* remote, const void* local, std::size_t bytes, int pe,
                       Batch batch = Batch::last, At at = At::here()) {
    const CallScope call(this->machine(), at, "put_bytes_nbi", bytes, "to", pe, remote);
    return Base::put_bytes_nbi(remote, local, bytes, pe, batch);
  }
  Ticket put_bytes_async(void* remote, const void* local, std::size_t bytes, int pe,
                         Batch batch = Batch::last, At at = At::here()) {
    const CallScope call(this->machine(), at, "put_bytes_async", bytes, "to", pe, remote);
    return Base::put_bytes_async(remote, local, bytes, pe, batch);
  }
  template <class T>
  Status get(T* local, const T* remote, std::size_t count, int pe, At at = At::here()) {
    const CallScope call(this->machine(), at, "get", bytes_of<T>(count), "from", pe, remote);
    return Base::get(local, remote, count, pe);
  }
  template <class T>
  Status get_nbi(T* local, const T* remote, std::size_t count, int pe, Batch batch = Batch::last,
                 At at = At::here()) {
    const CallScope call(this->machine(), at, "get_nbi", bytes_of<T>(count), "from", pe, remote);
    return Base::get_nbi(local, remote, count, pe, batch);
  }
  template <class T>
  Ticket get_async(T* local, const T* remote, std::size_t count, int pe, Batch batch = Batch::last,
                   At at = At::here()) {
    const CallScope call(this->machine(), at, "get_async", bytes_of<T>(count), "from", pe, remote);
    return Base::get_async(local, remote, count, pe, batch);
  }
  Status get_bytes(void* local, const void* remote, std::size_t bytes, int pe, At at = At::here()) {
    const CallScope call(this->machine(), at, "get_bytes", bytes, "from", pe, remote);
    return Base::get_bytes(local, remote, bytes, pe);
  }
  Status get_bytes_nbi(void* local, const void* remote, std::size_t bytes, int pe,
                       Batch batch = Batch::last, At at = At::here()) {
    const CallScope call(this->machine(), at, "get_bytes_nbi", bytes, "from", pe, remote);
    return Base::get_bytes_nbi(local, remote, bytes, pe, batch);
  }
  Ticket get_bytes_async(void* local, const void* remote, std::size_t bytes, int pe,
                         Batch batch = Batch::last, At at = At::here()) {
    const CallScope call(this->machine(), at, "get_bytes_async", bytes, "from", pe, remote);
    return Base::get_bytes_async(local, remote, bytes, pe, batch);
  }
  template <class T>
  Status put_value(T* remote, type_identity_t<T> value, int pe, Batch batch = Batch::last,
                   At at = At::here()) {
    const CallScope call(this->machine(), at, "put_value", shown(value), pe, remote);
    return Base::put_value(remote, value, pe, batch);
  }
  template <class T>
  T get_value(const T* remote, int pe, Status* status = nullptr, At at = At::here()) {
    const CallScope call(this->machine(), at, "get_value", "", pe, remote);
    return Base::get_value(remote, pe, status);
  }

  // ---- Signals.

  template <class T>
  Status put_signal(T* remote, const T* local, std::size_t count, std::uint64_t* word,
                    std::uint64_t value, SignalOp op, int pe, At at = At::here()) {
    const CallScope call(this->machine(), at, "put_signal", bytes_of<T>(count), pe, remote, op,
                         value);
    return Base::put_signal(remote, local, count, word, value, op, pe);
  }
  template <class T>
  Status put_signal_nbi(T* remote, const T* local, std::size_t count, std::uint64_t* word,
                        std::uint64_t value, SignalOp op, int pe, Batch batch = Batch::last,
                        At at = At::here()) {
    const CallScope call(this->machine(), at, "put_signal_nbi", bytes_of<T>(count), pe, remote, op,
                         value);
    return Base::put_signal_nbi(remote, local, count, word, value, op, pe, batch);
  }
  template <class T>
  Ticket put_signal_async(T* remote, const T* local, std::size_t count, std::uint64_t* word,
                          std::uint64_t value, SignalOp op, int pe, Batch batch = Batch::last,
                          At at = At::here()) {
    const CallScope call(this->machine(), at, "put_signal_async", bytes_of<T>(count), pe, remote,
                         op, value);
    return Base::put_signal_async(remote, local, count, word, value, op, pe, batch);
  }
  Status put_signal_bytes(void* remote, const void* local, std::size_t bytes, std::uint64_t* word,
                          std::uint64_t value, SignalOp op, int pe, At at = At::here()) {
    const CallScope call(this->machine(), at, "put_signal_bytes", bytes, pe, remote, op, value);
    return Base::put_signal_bytes(remote, local, bytes, word, value, op, pe);
  }
  Status put_signal_bytes_nbi(void* remote, const void* local, std::size_t bytes,
                              std::uint64_t* word, std::uint64_t value, SignalOp op, int pe,
                              Batch batch = Batch::last, At at = At::here()) {
    const CallScope call(this->machine(), at, "put_signal_bytes_nbi", bytes, pe, remote, op, value);
    return Base::put_signal_bytes_nbi(remote, local, bytes, word, value, op, pe, batch);
  }
  Ticket put_signal_bytes_async(void* remote, const void* local, std::size_t bytes,
                                std::uint64_t* word, std::uint64_t value, SignalOp op, int pe,
                                Batch batch = Batch::last, At at = At::here()) {
    const CallScope call(this->machine(), at, "put_signal_bytes_async", bytes, pe, remote, op,
                         value);
    return Base::put_signal_bytes_async(remote, local, bytes, word, value, op, pe, batch);
  }
  Status signal(std::uint64_t* word, std::uint64_t value, SignalOp op, int pe,
                Batch batch = Batch::last, At at = At::here()) {
    const CallScope call(this->machine(), at, op == SignalOp::set ? "signal set" : "signal add",
                         shown(value), pe, word);
    return Base::signal(word, value, op, pe, batch);
  }
  std::uint64_t signal_fetch(const std::uint64_t* word, Status* status = nullptr,
                             At at = At::here()) {
    const CallScope call(this->machine(), at, "signal_fetch", "", Base::my_pe(), word);
    return Base::signal_fetch(word, status);
  }
  std::uint64_t signal_wait_until(const std::uint64_t* word, Compare compare, std::uint64_t value,
                                  Status* status = nullptr, At at = At::here()) {
    const CallScope call(this->machine(), at, "signal_wait_until", compare, shown(value), word);
    return Base::signal_wait_until(word, compare, value, status);
  }

  // ---- Waits (device/pe_words.h).

  template <class T>
  Status wait_until(const T* word, Compare compare, type_identity_t<T> value, At at = At::here()) {
    const CallScope call(this->machine(), at, "wait_until", compare, shown(value), word);
    return Base::wait_until(word, compare, value);
  }
  template <class T>
  Status wait_until_all(const T* words, std::size_t count, const int* skip, Compare compare,
                        type_identity_t<T> value, At at = At::here()) {
    const CallScope call(this->machine(), at, "wait_until_all", compare, shown(value), words);
    return Base::wait_until_all(words, count, skip, compare, value);
  }
  template <class T>
  Status wait_until_any(const T* words, std::size_t count, const int* skip, Compare compare,
                        type_identity_t<T> value, std::size_t* index, At at = At::here()) {
    const CallScope call(this->machine(), at, "wait_until_any", compare, shown(value), words);
    return Base::wait_until_any(words, count, skip, compare, value, index);
  }
  template <class T>
  Status wait_until_some(const T* words, std::size_t count, const int* skip, Compare compare,
                         type_identity_t<T> value, std::size_t* indices, std::size_t* found,
                         At at = At::here()) {
    const CallScope call(this->machine(), at, "wait_until_some", compare, shown(value), words);
    return Base::wait_until_some(words, count, skip, compare, value, indices, found);
  }
  template <class T>
  bool test(const T* word, Compare compare, type_identity_t<T> value, At at = At::here()) {
    const CallScope call(this->machine(), at, "test", compare, shown(value), word);
    return Base::test(word, compare, value);
  }
  bool test(const Ticket& ticket, Status* status = nullptr, At at = At::here()) {
    const CallScope call(this->machine(), at, "test");
    return Base::test(ticket, status);
  }

  // ---- Completion and order (device/pe.h), locks (device/lock.h).

  Status wait(const Ticket& ticket, At at = At::here()) {
    const CallScope call(this->machine(), at, "wait");
    return Base::wait(ticket);
  }
  Status quiet(At at = At::here()) {
    const CallScope call(this->machine(), at, "quiet");
    return Base::quiet();
  }
  Status fence(At at = At::here()) {
    const CallScope call(this->machine(), at, "fence");
    return Base::fence();
  }
  Status barrier_all(At at = At::here()) {
    const CallScope call(this->machine(), at, "barrier_all");
    return Base::barrier_all();
  }
  Status sync_all(At at = At::here()) {
    const CallScope call(this->machine(), at, "sync_all");
    return Base::sync_all();
  }
  Status set_lock(Lock* lock, At at = At::here()) {
    const CallScope call(this->machine(), at, "set_lock");
    return Base::set_lock(lock);
  }
  Status clear_lock(Lock* lock, At at = At::here()) {
    const CallScope call(this->machine(), at, "clear_lock");
    return Base::clear_lock(lock);
  }
  bool test_lock(Lock* lock, Status* status = nullptr, At at = At::here()) {
    const CallScope call(this->machine(), at, "test_lock");
    return Base::test_lock(lock, status);
  }

  // ---- Atomics (device/pe_atomics.h).

  template <class T>
  Status atomic_add(T* remote, type_identity_t<T> value, int pe, Batch batch = Batch::last,
                    At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_add", shown(value), pe, remote);
    return Base::atomic_add(remote, value, pe, batch);
  }
  template <class T>
  Status atomic_set(T* remote, type_identity_t<T> value, int pe, Batch batch = Batch::last,
                    At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_set", shown(value), pe, remote);
    return Base::atomic_set(remote, value, pe, batch);
  }
  template <class T>
  Status atomic_and(T* remote, type_identity_t<T> value, int pe, Batch batch = Batch::last,
                    At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_and", shown(value), pe, remote);
    return Base::atomic_and(remote, value, pe, batch);
  }
  template <class T>
  Status atomic_or(T* remote, type_identity_t<T> value, int pe, Batch batch = Batch::last,
                   At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_or", shown(value), pe, remote);
    return Base::atomic_or(remote, value, pe, batch);
  }
  template <class T>
  Status atomic_xor(T* remote, type_identity_t<T> value, int pe, Batch batch = Batch::last,
                    At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_xor", shown(value), pe, remote);
    return Base::atomic_xor(remote, value, pe, batch);
  }
  template <class T>
  Status atomic_inc(T* remote, int pe, Batch batch = Batch::last, At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_inc", "", pe, remote);
    return Base::atomic_inc(remote, pe, batch);
  }
  template <class T>
  T atomic_fetch_add(T* remote, type_identity_t<T> value, int pe, Status* status = nullptr,
                     At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_fetch_add", shown(value), pe, remote);
    return Base::atomic_fetch_add(remote, value, pe, status);
  }
  template <class T>
  T atomic_swap(T* remote, type_identity_t<T> value, int pe, Status* status = nullptr,
                At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_swap", shown(value), pe, remote);
    return Base::atomic_swap(remote, value, pe, status);
  }
  template <class T>
  T atomic_fetch_and(T* remote, type_identity_t<T> value, int pe, Status* status = nullptr,
                     At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_fetch_and", shown(value), pe, remote);
    return Base::atomic_fetch_and(remote, value, pe, status);
  }
  template <class T>
  T atomic_fetch_or(T* remote, type_identity_t<T> value, int pe, Status* status = nullptr,
                    At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_fetch_or", shown(value), pe, remote);
    return Base::atomic_fetch_or(remote, value, pe, status);
  }
  template <class T>
  T atomic_fetch_xor(T* remote, type_identity_t<T> value, int pe, Status* status = nullptr,
                     At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_fetch_xor", shown(value), pe, remote);
    return Base::atomic_fetch_xor(remote, value, pe, status);
  }
  template <class T>
  T atomic_fetch(const T* remote, int pe, Status* status = nullptr, At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_fetch", "", pe, remote);
    return Base::atomic_fetch(remote, pe, status);
  }
  template <class T>
  T atomic_fetch_inc(T* remote, int pe, Status* status = nullptr, At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_fetch_inc", "", pe, remote);
    return Base::atomic_fetch_inc(remote, pe, status);
  }
  template <class T>
  T atomic_compare_swap(T* remote, type_identity_t<T> expected, type_identity_t<T> desired, int pe,
                        Status* status = nullptr, At at = At::here()) {
    const CallScope call(this->machine(), at, "atomic_compare_swap", shown(desired), pe, remote);
    return Base::atomic_compare_swap(remote, expected, desired, pe, status);
  }

 private:
  // Only traces want the text.
  template <class T>
  std::string shown(const T& value) {
    return this->machine().tracing() ? number_text(value) : std::string();
  }
};

}  // namespace gdakit::sim
