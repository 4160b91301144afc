// HostChannel: a channel (device/channel.h) as host threads drive it: sends, receives and puts with
// an immediate without a kernel.
//
//   ChannelOptions wanted;
//   wanted.end = ChannelEnd::host;
//   Result<Channels> channels = context.add_channels(wanted);        // collective
//   auto channel = HostChannel::open(context, *channels);
//   (*channel)->post_receive(buffer, bytes, from);
//   Result<Received> got = (*channel)->wait_receive(from);
//
// The other end may be a kernel's or another host thread's. Calls, order and errors are those of
// device/channel.h, with these differences:
//   - One host thread at a time uses a HostChannel. Threads that work side by side take channels of
//     other numbers.
//   - On a GPU the channel was made with ChannelEnd::host; kernels do not use it, and it is of no
//     use to them. On the emulator kernels may use it, too, while no HostChannel does.
//   - Buffers are what kernels may name: the symmetric heap or registered memory, on a GPU, too.
//     The host reads what lies in GPU memory by Context::download, once the message is there.
//   - Calls return a Result: a bad argument is invalid_argument, a wait beyond GDAKIT_WATCHDOG
//     timed_out, one for a sender that is gone peer_lost, a broken channel system. check_device and
//     launch tell of broken channels, too.
// There are no get, atomics and signals here: those are HostCalls (host_calls.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/host/context.h"
#include "device/send_queue.h"

namespace gdakit {

class HostChannel {
 public:
  // Channel `number` of `channels`, which `context` has made; it outlives the HostChannel. Errors:
  // there is no such channel (invalid_argument); the host cannot reach it (unavailable).
  static Result<std::unique_ptr<HostChannel>> open(Context& context, const Channels& channels,
                                                   std::uint32_t number = 0);
  ~HostChannel();
  HostChannel(const HostChannel&) = delete;
  HostChannel& operator=(const HostChannel&) = delete;

  // ---- Sending. The first of each pair returns when the message is delivered.
  Result<void> send(const void* local, std::size_t bytes, int pe);
  Result<Ticket> send_async(const void* local, std::size_t bytes, int pe,
                            Batch batch = Batch::last);
  Result<void> put(void* remote, const void* local, std::size_t bytes, int pe);
  Result<Ticket> put_async(void* remote, const void* local, std::size_t bytes, int pe,
                           Batch batch = Batch::last);
  Result<void> put_with_immediate(void* remote, const void* local, std::size_t bytes,
                                  std::uint32_t immediate, int pe);
  Result<Ticket> put_with_immediate_async(void* remote, const void* local, std::size_t bytes,
                                          std::uint32_t immediate, int pe,
                                          Batch batch = Batch::last);

  Result<void> wait(const Ticket& ticket);
  Result<bool> test(const Ticket& ticket);
  Result<void> quiet();

  // ---- Receiving.
  Result<void> post_receive(void* buffer, std::size_t bytes, int pe);
  Result<void> post_receive(int pe) { return post_receive(nullptr, 0, pe); }
  // Received::arrived says whether there was one.
  Result<Received> poll_receive(int pe);
  Result<Received> poll_receive_any();
  Result<Received> wait_receive(int pe);
  Result<Received> wait_receive_any();

 private:
  struct State;

  explicit HostChannel(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace gdakit
