// A send queue with a memo of its own, for tests that have no Pe whose handle remembers.
#pragma once

#include "device/send_queue.h"

namespace gdakit::test {

template <class M>
struct OwnMemo {
  GDAKIT_DEVICE OwnMemo(M& m, const QueueView& queue) { remember(m, memo, queue.peer, queue); }
  QueueMemo memo;
};

template <class M, class Publication>
class OwnQueue : private OwnMemo<M>, public SendQueue<M, Publication> {
 public:
  GDAKIT_DEVICE OwnQueue(M& m, const DeviceContext& context, const QueueView& queue,
                         std::uint32_t index)
      : OwnMemo<M>(m, queue), SendQueue<M, Publication>(m, context, this->memo, index) {}
};

}  // namespace gdakit::test
