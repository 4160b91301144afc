// KernelPe: the Pe that the kernels of a world get. It does what Pe does, and notes which call of
// the kernel's source is under way, so that reports speak of the kernel and not of the protocol.
// Every call that reads or writes memory is here or in kernel_words.h, kernel_atomics.h,
// kernel_team.h and kernel_channel.h; one that is not would be shown as what the protocol does in
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "device/pe.h"
#include "sim/world/call_scope.h"
#include "sim/world/kernel_atomics.h"
#include "sim/world/kernel_team.h"
#include "sim/world/kernel_words.h"

namespace gdakit::sim {

class KernelChannel;

template <class Group = ThreadGroup, class Publication = SharedPublication>
class KernelPe : public KernelWords<KernelAtomics<Pe<SimMachine, Group, Publication>>> {
  using Handle = Pe<SimMachine, Group, Publication>;
  using Base = KernelWords<KernelAtomics<Handle>>;
  using At = CallPlace;

 public:
  KernelPe(const Handle& pe) : Base(pe), machine_(Base::machine()) {}

  KernelPe<WarpGroup, Publication> warp() const { return Base::warp(); }
  KernelPe<BlockGroup, Publication> block() const { return Base::block(); }
  KernelPe<Group, SharedPublication> on_queue(std::uint32_t queue) const {
    return Base::on_queue(queue);
  }
  KernelPe<Group, ExclusivePublication> exclusively_on(std::uint32_t queue) const {
    return Base::exclusively_on(queue);
  }
  KernelTeam<Group> team(Team which) const { return {machine_, this->context(), which}; }
  // kernel_channel.h
  KernelChannel channel(const Channels& channels, std::uint32_t number = 0) const;

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
    const CallScope call(this->machine(), at, "put_value", shown(this->machine(), value), pe,
                         remote);
    return Base::put_value(remote, value, pe, batch);
  }
  template <class T>
  T get_value(const T* remote, int pe, Status* status = nullptr, At at = At::here()) {
    const CallScope call(this->machine(), at, "get_value", "", pe, remote);
    return Base::get_value(remote, pe, status);
  }

  // ---- Strided put and get.

  template <class T>
  Status iput(T* remote, const T* local, std::ptrdiff_t remote_stride, std::ptrdiff_t local_stride,
              std::size_t count, int pe, At at = At::here()) {
    const CallScope call(this->machine(), at, "iput", count, sizeof(T), "to", pe, remote);
    return Base::iput(remote, local, remote_stride, local_stride, count, pe);
  }
  template <class T>
  Status iput_nbi(T* remote, const T* local, std::ptrdiff_t remote_stride,
                  std::ptrdiff_t local_stride, std::size_t count, int pe, Batch batch = Batch::last,
                  At at = At::here()) {
    const CallScope call(this->machine(), at, "iput_nbi", count, sizeof(T), "to", pe, remote);
    return Base::iput_nbi(remote, local, remote_stride, local_stride, count, pe, batch);
  }
  template <class T>
  Ticket iput_async(T* remote, const T* local, std::ptrdiff_t remote_stride,
                    std::ptrdiff_t local_stride, std::size_t count, int pe,
                    Batch batch = Batch::last, At at = At::here()) {
    const CallScope call(this->machine(), at, "iput_async", count, sizeof(T), "to", pe, remote);
    return Base::iput_async(remote, local, remote_stride, local_stride, count, pe, batch);
  }
  template <class T>
  Status iget(T* local, const T* remote, std::ptrdiff_t local_stride, std::ptrdiff_t remote_stride,
              std::size_t count, int pe, At at = At::here()) {
    const CallScope call(this->machine(), at, "iget", count, sizeof(T), "from", pe, remote);
    return Base::iget(local, remote, local_stride, remote_stride, count, pe);
  }
  template <class T>
  Status iget_nbi(T* local, const T* remote, std::ptrdiff_t local_stride,
                  std::ptrdiff_t remote_stride, std::size_t count, int pe,
                  Batch batch = Batch::last, At at = At::here()) {
    const CallScope call(this->machine(), at, "iget_nbi", count, sizeof(T), "from", pe, remote);
    return Base::iget_nbi(local, remote, local_stride, remote_stride, count, pe, batch);
  }
  template <class T>
  Ticket iget_async(T* local, const T* remote, std::ptrdiff_t local_stride,
                    std::ptrdiff_t remote_stride, std::size_t count, int pe,
                    Batch batch = Batch::last, At at = At::here()) {
    const CallScope call(this->machine(), at, "iget_async", count, sizeof(T), "from", pe, remote);
    return Base::iget_async(local, remote, local_stride, remote_stride, count, pe, batch);
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
                         shown(this->machine(), value), pe, word);
    return Base::signal(word, value, op, pe, batch);
  }

  // ---- Completion and order (device/pe.h), locks (device/lock.h).

  using Base::test;
  bool test(const Ticket& ticket, Status* status = nullptr, At at = At::here()) {
    const CallScope call(this->machine(), at, "test");
    return Handle::test(ticket, status);
  }

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

 private:
  SimMachine& machine_;
};

}  // namespace gdakit::sim
