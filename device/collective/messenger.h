// Messages between two members of a team: what all collective operations are made of.
//
//   sender                                   receiver
//   put   data -> receiver's memory
//   put   count -> arrived[sender]           waits until arrived[sender] >= its own count
//
// Data and count travel on the first queue, whatever queue the kernel uses, so that they arrive in
// the order of the sends. Where puts may arrive in any order (HeapView::any_placement) the count is
// set by an atomic, which comes behind them, and behind the count before. Both sides come through
// the same collectives in the same order, so that the n-th message sent is the n-th that is waited
// for, and nothing has ever to be reset.
#pragma once

#include "device/atomics.h"
#include "device/complete.h"
#include "device/rma.h"
#include "device/strided.h"
#include "device/wait_until.h"

namespace gdakit::collective {

// What goes to a member: `bytes` from `local` to `remote` there.
struct Message {
  void* remote;
  const void* local;
  std::uint64_t bytes;
};

// The same for `count` elements that lie apart, strides in elements.
struct StridedMessage {
  void* remote;
  const void* local;
  std::ptrdiff_t remote_stride;
  std::ptrdiff_t local_stride;
  std::uint64_t count;
  std::uint32_t element_bytes;
};

// Waits until member `pe` of the team, by its number in the job, has sent `number` messages, as
// `word` counts them.
template <class M>
GDAKIT_DEVICE Status await_count(M& m, const DeviceContext& context, const TeamView& team,
                                 const std::uint64_t* word, std::uint64_t number, std::int32_t pe) {
  Watchdog<M, DeviceContext, WaitsForTeam> watchdog(m, context, Site::team, {team});
  while (m.load(order::SignalBeforeData{}, word) < number) {
    if (watchdog.turn()) continue;
    if (watchdog.lost_pe() >= 0) return lost_status(watchdog.lost_pe());
    HandleMemo memo;
    const Poster<M, LonePublication> poster{m, context, 0, memo};
    const waiting::Wanted<std::uint64_t> wanted{word, Compare::ge, number};
    return waiting::stalled(poster, wanted, watchdog.waited_ns(), Site::team, pe);
  }
  return {};
}

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

  // The templates here have M as an argument of their own, or nvcc would give them external linkage
  // where M has internal one.

  // Puts the message, which may be empty, to member `to`, and its count behind it. What it is made
  // of may be reused after complete().
  template <class AnyMessage, class Machine = M>
  GDAKIT_DEVICE_CALL Status send(int to, const AnyMessage& message) {
    const Ticket data = post(team_.members[to], message);
    return data.status.ok() ? announce(to) : data.status;
  }

  // Whether messages to member `to` are copied by this PE's threads, who can share that out: each
  // calls copy_share with the same message, they meet, and one of them calls tell.
  GDAKIT_DEVICE bool is_direct(int to) const { return poster_.direct_base(team_.members[to]) != 0; }
  template <class AnyMessage, class Machine = M>
  GDAKIT_DEVICE_CALL void copy_share(Share share, int to, const AnyMessage& message) {
    const std::int32_t pe = team_.members[to];
    if (may_copy(pe, message)) copy(share, pe, message);
  }
  template <class AnyMessage, class Machine = M>
  GDAKIT_DEVICE_CALL Status tell(int to, const AnyMessage& message) {
    const std::int32_t pe = team_.members[to];
    if (may_copy(pe, message)) return announce(to);
    return refused(pe, message);
  }

  // A message without data. `ordered`: quiet has ordered what this thread did before.
  GDAKIT_DEVICE_CALL Status signal(int to, bool ordered) { return announce(to, ordered); }

  // Waits for the next message of member `from`, and until its data can be read and sent on.
  GDAKIT_DEVICE_CALL Status receive(int from) {
    M& m = poster_.m;
    const std::int32_t pe = team_.members[from];
    std::uint64_t* const count = &team_.peers[pe].received;
    const std::uint64_t number = m.load_weak(count) + 1;
    m.store_weak(count, number);
    const Status come = await_count(m, poster_.context, team_, &team_.arrived[pe], number, pe);
    return come.ok() ? waiting::see_data(poster_) : come;
  }

  // Waits until everything sent to member `to` is delivered.
  GDAKIT_DEVICE_CALL Status complete(int to) {
    const std::int32_t pe = team_.members[to];
    const std::uint64_t index = poster_.m.load_weak(&team_.peers[pe].posted);
    return completing::wait(poster_, Ticket{0, pe, index, {}});
  }

 private:
  GDAKIT_DEVICE Status refused(std::int32_t pe, const Message& message) {
    return rma::not_registered(poster_, Operation::collective, message.remote, message.local,
                               message.bytes, pe);
  }
  GDAKIT_DEVICE Status refused(std::int32_t pe, const StridedMessage& message) {
    const strided::Elements all = elements_of(message);
    return strided::refused(poster_, ThreadGroup{}, Operation::collective,
                            strided::unregistered_side(poster_, all), all, pe, Batch::more)
        .status;
  }

  GDAKIT_DEVICE Ticket post(std::int32_t pe, const Message& message) {
    return rma::post(poster_, ThreadGroup{}, rma::kPut, message.remote, message.local,
                     message.bytes, pe, Batch::more);
  }
  GDAKIT_DEVICE Ticket post(std::int32_t pe, const StridedMessage& message) {
    return strided::post_bytes(poster_, ThreadGroup{}, rma::kPut, elements_of(message),
                               message.remote_stride, message.local_stride, pe, Batch::more);
  }

  // Whether the NIC would take the message.
  GDAKIT_DEVICE bool may_copy(std::int32_t pe, const Message& message) const {
    return message.bytes == 0 ||
           rma::is_registered(poster_, message.remote, message.local, message.bytes, pe);
  }
  GDAKIT_DEVICE bool may_copy(std::int32_t pe, const StridedMessage& message) const {
    return strided::may_copy(poster_, elements_of(message), message.remote_stride,
                             message.local_stride, pe);
  }

  GDAKIT_DEVICE void copy(Share share, std::int32_t pe, const Message& message) {
    void* const there = direct::at(poster_.context.heap, poster_.direct_base(pe), message.remote);
    direct::copy_share<direct::Way::put>(poster_.m, share, there, message.local, message.bytes);
  }
  GDAKIT_DEVICE void copy(Share share, std::int32_t pe, const StridedMessage& message) {
    strided::copy_share(poster_, share, rma::kPut, elements_of(message), poster_.direct_base(pe));
  }
  GDAKIT_DEVICE static strided::Elements elements_of(const StridedMessage& message) {
    return strided::elements_of(message.remote, message.local, message.remote_stride,
                                message.local_stride, message.count, message.element_bytes);
  }

  GDAKIT_DEVICE Status announce(int to, bool ordered = false) {
    M& m = poster_.m;
    TeamPeer& peer = team_.peers[team_.members[to]];
    const std::uint64_t number = m.load_weak(&peer.sent) + 1;
    if (!ordered && poster_.direct_base(team_.members[to]) != 0) poster_.order_direct();
    const Ticket ticket = post_count(team_.members[to], number);
    if (!ticket.status) return ticket.status;
    m.store_weak(&peer.sent, number);
    m.store_weak(&peer.posted, ticket.index);
    return {};
  }

  // A put keeps its place behind the data. Where it does not, an atomic does.
  GDAKIT_DEVICE Ticket post_count(std::int32_t pe, std::uint64_t number) {
    std::uint64_t* const word = &team_.arrived[poster_.context.my_pe];
    if (poster_.context.heap.any_placement && poster_.direct_base(pe) == 0) {
      return atomics::post_anywhere(poster_, word, {atomics::Op::set, number}, pe, Batch::last,
                                    [](const QueueView& queue) { return sink_of(queue); });
    }
    return rma::post_value(poster_, word, number, pe, Batch::last);
  }

  HandleMemo memo_;
  Poster<M, LonePublication> poster_;  // each thread has peers of its own
  const TeamView& team_;
};

}  // namespace gdakit::collective
