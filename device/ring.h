// Telling the NIC: all WQEs below an index are ready. Called by one thread of a queue at a time,
// with indices that never go back.
//
// Where there is a record, QueueState::posted follows it and not the doorbell, so that the fence
// between the two orders it as well before whatever lets another thread ring next.
#pragma once

#include "core/format/doorbell.h"
#include "device/order.h"
#include "device/views.h"

namespace gdakit {

// The thread itself writes the doorbell record, then the doorbell.
struct DoorbellRing {
  template <class M, class May>
  GDAKIT_DEVICE static bool announce(M& m, const QueueView& queue, std::uint64_t end, May&& may) {
    m.fence(order::WqeBeforeDoorbellRecord{});
    if (!may()) return false;
    m.store(order::RelaxedNic{}, queue.record, format::doorbell_record_value(end).raw());
    m.store(order::RelaxedGpu{}, &queue.state->posted, end);
    m.fence(order::RecordBeforeDoorbell{});
    m.store_mmio(queue.doorbell, format::doorbell_value(end, queue.qpn_shifted >> 8));
    return true;
  }
};

// The thread writes the doorbell alone, of a NIC that goes by that (QueueView::recordless). No
// doorbell may get lost there, so none may pass an earlier one on its way: PassBaton, or whatever
// the owners of an exclusive queue meet by, orders them. It orders QueueState::posted, too.
struct RecordlessRing {
  template <class M, class May>
  GDAKIT_DEVICE static bool announce(M& m, const QueueView& queue, std::uint64_t end, May&& may) {
    m.fence(order::WqeBeforeDoorbell{});
    if (!may()) return false;
    m.store(order::RelaxedGpu{}, &queue.state->posted, end);
    m.store_mmio(queue.doorbell, format::doorbell_value(end, queue.qpn_shifted >> 8));
    return true;
  }
};

// A host thread writes both (proxied_queue.h), for machines where the GPU cannot reach the UAR
// page.
struct ProxyRing {
  template <class M, class May>
  GDAKIT_DEVICE static bool announce(M& m, const QueueView& queue, std::uint64_t end, May&& may) {
    if (!may()) return false;
    tell(m, queue.doorbell, &queue.state->posted, end);
    return true;
  }

  // A call: as a part of the caller its instructions would be issued, and skipped one by one, by
  // threads that ring themselves.
  template <class M>
  GDAKIT_DEVICE_CALL static void tell(M m, std::uint64_t* index, std::uint64_t* posted,
                                      std::uint64_t end) {
    m.store(order::WqeBeforeProxyIndex{}, index, end);
    m.store(order::RelaxedGpu{}, posted, end);
  }
};

// Announces all WQEs below `end`, if `may()`, which is asked as late as can be: what it looks at
// arrives while the first fence waits. Returns its answer.
template <class M, class May>
GDAKIT_DEVICE bool ring(M& m, const QueueView& queue, std::uint64_t end, May&& may) {
  if (queue.handler != Handler::gpu) return ProxyRing::announce(m, queue, end, may);
  return queue.recordless ? RecordlessRing::announce(m, queue, end, may)
                          : DoorbellRing::announce(m, queue, end, may);
}

template <class M>
GDAKIT_DEVICE void ring(M& m, const QueueView& queue, std::uint64_t end) {
  ring(m, queue, end, [] { return true; });
}

}  // namespace gdakit
