// What a thread's handle remembers from one post to the next, in registers: while it posts to one
// queue, it looks neither the queue nor its indices up again.
#pragma once

#include "device/address.h"
#include "device/order.h"
#include "device/views.h"

namespace gdakit {

// Of the queue used last.
struct QueueMemo {
  static constexpr std::int32_t kNobody = -1;

  std::int32_t peer = kNobody;  // the PE at the other end; the rest is void for kNobody
  QueueView view;
  std::uint64_t completed;  // everything below has completed, and this thread has acquired that
  // The end of the handle's newest post. On an exclusive queue that is where the next one goes; on
  // a shared one it will go there if nobody else posts.
  std::uint64_t next;
  // Of an exclusive queue: the words of its state as they stood when the newest post that was to
  // ring began; `error` also as the handle found it first, or came to know of it by waiting.
  std::uint64_t reserved;
  std::uint64_t error;
  // Of a shared queue: the ready word of `next` as reserve() saw it, or 0 for not known. It is not
  // changed before publish(): if the mark is there, claim() has taken the baton up.
  std::uint64_t ready;
  bool unrivalled;            // of a shared queue: the newest post did go to `next`
  bool carries_puts = false;  // the NIC carries puts to `peer`; false: it may, and was not asked
};

template <class M>
GDAKIT_DEVICE void remember(M& m, QueueMemo& memo, std::int32_t peer, const QueueView& queue) {
  memo.peer = peer;
  memo.view = queue;
  memo.completed = 0;
  memo.next = 0;
  memo.error = 0;
  if (queue.sharing == Sharing::exclusive) {
    memo.next = m.load(order::RelaxedGpu{}, &queue.state->reserved);
    memo.error = m.load(order::RelaxedGpu{}, &queue.state->error);
  }
  memo.reserved = 0;
  memo.ready = 0;
  memo.unrivalled = true;
  memo.carries_puts = false;
}

struct HandleMemo {
  QueueMemo queue;
  AddressMemo addresses;
};

}  // namespace gdakit
