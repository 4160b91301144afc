// Messages between two members of a team: what all collective operations are made of.
//
//   sender                                   receiver
//   put   data -> receiver's memory
//   put   count -> arrived[sender]           waits until arrived[sender] >= its own count
//
// Data and count travel on the first queue, whatever queue the kernel uses, so that they arrive in
// the order of the sends. Both sides come through the same collectives in the same order, so that
// the n-th message sent is the n-th that is waited for, and nothing has ever to be reset.
#pragma once

#include "device/complete.h"
#include "device/rma.h"
#include "device/strided.h"
#include "device/wait_until.h"

namespace gdakit::collective {

// One thread's. The threads of a group share the members out: of one member's messages each is
// sent, and each is received, by the thread that sent or received the last one or by one that has
// met it since.
template <class M>
class Messenger {
 public:
  GDAKIT_DEVICE Messenger(M& m, const DeviceContext& context, const TeamView& team)
      : poster_{m, context, 0, memo_}, team_(team) {}
  Messenger(const Messenger&) = delete;
  Messenger& operator=(const Messenger&) = delete;

  // Puts `bytes`, which may be 0, to member `to`, and the message's count behind it. `local` may be
  // reused after complete().
  GDAKIT_DEVICE_CALL Status send(int to, void* remote, const void* local, std::uint64_t bytes) {
    const Ticket data = rma::post(poster_, ThreadGroup{}, rma::kPut, remote, local, bytes,
                                  team_.members[to], Batch::more);
    return data.status.ok() ? announce(to) : data.status;
  }

  // Whether messages to member `to` are copied by this PE's threads, who can share that out: each
  // calls copy_share with the same transfer, they meet, and one of them calls tell.
  GDAKIT_DEVICE bool is_direct(int to) const { return poster_.direct_base(team_.members[to]) != 0; }
  GDAKIT_DEVICE_CALL void copy_share(Share share, int to, void* remote, const void* local,
                                     std::uint64_t bytes) {
    const std::int32_t pe = team_.members[to];
    if (bytes == 0 || !rma::is_registered(poster_, remote, local, bytes, pe)) return;
    void* const there = direct::at(poster_.context.heap, poster_.direct_base(pe), remote);
    direct::copy_shares(poster_.m, share, static_cast<std::byte*>(there),
                        static_cast<const std::byte*>(local), bytes);
  }
  GDAKIT_DEVICE_CALL Status tell(int to, const void* remote, const void* local,
                                 std::uint64_t bytes) {
    const std::int32_t pe = team_.members[to];
    if (bytes == 0 || rma::is_registered(poster_, remote, local, bytes, pe)) return announce(to);
    return poster_.fault(StatusCode::invalid_address, pe, reinterpret_cast<std::uint64_t>(remote),
                         bytes);
  }

  // A message without data. `ordered`: quiet has ordered what this thread did before.
  GDAKIT_DEVICE_CALL Status signal(int to, bool ordered) { return announce(to, ordered); }

  // The same as send for `count` elements of `element_bytes` that lie apart, strides in elements.
  GDAKIT_DEVICE_CALL Status send_strided(int to, void* remote, std::ptrdiff_t remote_stride,
                                         const void* local, std::ptrdiff_t local_stride,
                                         std::uint64_t count, std::uint32_t element_bytes) {
    const Ticket data =
        strided::post_bytes(poster_, rma::kPut, remote, local, remote_stride, local_stride, count,
                            element_bytes, team_.members[to], Batch::more);
    return data.status.ok() ? announce(to) : data.status;
  }

  // Waits for the next message of member `from`, and until its data can be read and sent on.
  GDAKIT_DEVICE_CALL Status receive(int from) {
    M& m = poster_.m;
    const std::int32_t pe = team_.members[from];
    std::uint64_t* const count = &team_.peers[pe].received;
    const std::uint64_t number = m.load_weak(count) + 1;
    m.store_weak(count, number);
    const std::uint64_t* const word = &team_.arrived[pe];
    Watchdog<M> watchdog(m, poster_.context.watchdog_ns, Site::team);
    while (m.load(order::SignalBeforeData{}, word) < number) {
      if (watchdog.turn()) continue;
      const waiting::Wanted<std::uint64_t> wanted{word, Compare::ge, number};
      return waiting::stalled(poster_, wanted, watchdog.waited_ns(), Site::team, pe);
    }
    return waiting::see_data(poster_);
  }

  // Waits until everything sent to member `to` is delivered.
  GDAKIT_DEVICE_CALL Status complete(int to) {
    const std::int32_t pe = team_.members[to];
    const std::uint64_t index = poster_.m.load_weak(&team_.peers[pe].posted);
    return completing::wait(poster_, Ticket{0, pe, index, {}});
  }

  GDAKIT_DEVICE Status fault(const void* address, std::uint64_t bytes) const {
    return poster_.fault(StatusCode::invalid_argument, -1, reinterpret_cast<std::uint64_t>(address),
                         bytes);
  }

 private:
  GDAKIT_DEVICE Status announce(int to, bool ordered = false) {
    M& m = poster_.m;
    TeamPeer& peer = team_.peers[team_.members[to]];
    const std::uint64_t number = m.load_weak(&peer.sent) + 1;
    if (!ordered && poster_.direct_base(team_.members[to]) != 0) poster_.order_direct();
    std::uint64_t* const word = &team_.arrived[poster_.context.my_pe];
    const Ticket ticket = rma::post_value(poster_, word, number, team_.members[to], Batch::last);
    if (!ticket.status) return ticket.status;
    m.store_weak(&peer.sent, number);
    m.store_weak(&peer.posted, ticket.index);
    return {};
  }

  HandleMemo memo_;
  Poster<M, LonePublication> poster_;  // each thread has peers of its own
  const TeamView& team_;
};

}  // namespace gdakit::collective
