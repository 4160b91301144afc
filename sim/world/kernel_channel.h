// KernelChannel: the Channel that the kernels of a world get, as KernelPe is their Pe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/channel.h"
#include "sim/world/call_scope.h"
#include "sim/world/kernel_pe.h"

namespace gdakit::sim {

class KernelChannel : public Channel<SimMachine> {
  using Base = Channel<SimMachine>;
  using At = CallPlace;

 public:
  KernelChannel(SimMachine& m, const DeviceContext& context, const Channels& channels,
                std::uint32_t number)
      : Base(m, context, channels, number), machine_(m) {}

  // ---- Sending.

  template <class T>
  Status send(const T* local, std::size_t count, int pe, At at = At::here()) {
    const CallScope call(machine_, at, "send", bytes_of<T>(count), "to", pe);
    return Base::send(local, count, pe);
  }
  template <class T>
  Status send_nbi(const T* local, std::size_t count, int pe, Batch batch = Batch::last,
                  At at = At::here()) {
    const CallScope call(machine_, at, "send_nbi", bytes_of<T>(count), "to", pe);
    return Base::send_nbi(local, count, pe, batch);
  }
  template <class T>
  Ticket send_async(const T* local, std::size_t count, int pe, Batch batch = Batch::last,
                    At at = At::here()) {
    const CallScope call(machine_, at, "send_async", bytes_of<T>(count), "to", pe);
    return Base::send_async(local, count, pe, batch);
  }
  template <class T>
  Status put_nbi(T* remote, const T* local, std::size_t count, int pe, Batch batch = Batch::last,
                 At at = At::here()) {
    const CallScope call(machine_, at, "put_nbi", bytes_of<T>(count), "to", pe, remote);
    return Base::put_nbi(remote, local, count, pe, batch);
  }
  template <class T>
  Ticket put_async(T* remote, const T* local, std::size_t count, int pe, Batch batch = Batch::last,
                   At at = At::here()) {
    const CallScope call(machine_, at, "put_async", bytes_of<T>(count), "to", pe, remote);
    return Base::put_async(remote, local, count, pe, batch);
  }
  template <class T>
  Status put_with_immediate(T* remote, const T* local, std::size_t count, std::uint32_t immediate,
                            int pe, At at = At::here()) {
    const CallScope call(machine_, at, "put_with_immediate", bytes_of<T>(count), "to", pe, remote);
    return Base::put_with_immediate(remote, local, count, immediate, pe);
  }
  template <class T>
  Status put_with_immediate_nbi(T* remote, const T* local, std::size_t count,
                                std::uint32_t immediate, int pe, Batch batch = Batch::last,
                                At at = At::here()) {
    const CallScope call(machine_, at, "put_with_immediate_nbi", bytes_of<T>(count), "to", pe,
                         remote);
    return Base::put_with_immediate_nbi(remote, local, count, immediate, pe, batch);
  }
  template <class T>
  Ticket put_with_immediate_async(T* remote, const T* local, std::size_t count,
                                  std::uint32_t immediate, int pe, Batch batch = Batch::last,
                                  At at = At::here()) {
    const CallScope call(machine_, at, "put_with_immediate_async", bytes_of<T>(count), "to", pe,
                         remote);
    return Base::put_with_immediate_async(remote, local, count, immediate, pe, batch);
  }

  // ---- Completion.

  Status wait(const Ticket& ticket, At at = At::here()) {
    const CallScope call(machine_, at, "wait");
    return Base::wait(ticket);
  }
  bool test(const Ticket& ticket, Status* status = nullptr, At at = At::here()) {
    const CallScope call(machine_, at, "test");
    return Base::test(ticket, status);
  }
  Status quiet(At at = At::here()) {
    const CallScope call(machine_, at, "quiet");
    return Base::quiet();
  }

  // ---- Receiving.

  Status post_receive(void* buffer, std::size_t bytes, int pe, At at = At::here()) {
    const CallScope call(machine_, at, "post_receive", bytes, "from", pe);
    return Base::post_receive(buffer, bytes, pe);
  }
  Status post_receive(int pe, At at = At::here()) {
    const CallScope call(machine_, at, "post_receive", 0, "from", pe);
    return Base::post_receive(pe);
  }
  Received poll_receive(int pe, At at = At::here()) {
    const CallScope call(machine_, at, "poll_receive");
    return Base::poll_receive(pe);
  }
  Received poll_receive_any(At at = At::here()) {
    const CallScope call(machine_, at, "poll_receive_any");
    return Base::poll_receive_any();
  }
  Received wait_receive(int pe, At at = At::here()) {
    const CallScope call(machine_, at, "wait_receive");
    return Base::wait_receive(pe);
  }
  Received wait_receive_any(At at = At::here()) {
    const CallScope call(machine_, at, "wait_receive_any");
    return Base::wait_receive_any();
  }

 private:
  SimMachine& machine_;
};

template <class Group, class Publication>
KernelChannel KernelPe<Group, Publication>::channel(const Channels& channels,
                                                    std::uint32_t number) const {
  return {machine_, this->context(), channels, number};
}

}  // namespace gdakit::sim
