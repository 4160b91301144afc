// Telling the NIC: all WQEs below an index are ready. Called by one thread of a queue at a time,
// with indices that never go back.
//
// QueueState::posted comes before what orders the WQEs: once the NIC may have executed any of them,
// whoever hears of that, by way of other PEs, too, sees that all of them were posted.
#pragma once

#include "core/format/doorbell.h"
#include "device/order.h"
#include "device/views.h"

namespace gdakit {

// The thread itself writes the doorbell record, then the doorbell.
struct DoorbellRing {
  template <class M>
  GDAKIT_DEVICE static void announce(M& m, const QueueView& queue, std::uint64_t end) {
    m.fence(order::WqeBeforeDoorbellRecord{});
    m.store(order::RelaxedNic{}, queue.record, format::doorbell_record_value(end).raw());
    m.fence(order::RecordBeforeDoorbell{});
    m.store_mmio(queue.doorbell, format::doorbell_value(end, queue.qpn_shifted >> 8));
  }
};

// The thread writes the doorbell alone, of a NIC that goes by that (QueueView::recordless). No
// doorbell may get lost there, so none may pass an earlier one on its way: PassBaton, or whatever
// the owners of an exclusive queue meet by, orders them.
struct RecordlessRing {
  template <class M>
  GDAKIT_DEVICE static void announce(M& m, const QueueView& queue, std::uint64_t end) {
    m.fence(order::WqeBeforeDoorbell{});
    m.store_mmio(queue.doorbell, format::doorbell_value(end, queue.qpn_shifted >> 8));
  }
};

// A host thread writes both (proxied_queue.h), for machines where the GPU cannot reach the UAR
// page.
struct ProxyRing {
  template <class M>
  GDAKIT_DEVICE static void announce(M& m, const QueueView& queue, std::uint64_t end) {
    tell(m, queue.doorbell, end);
  }

  // A call: as a part of the caller its instructions would be issued, and skipped one by one, by
  // threads that ring themselves.
  template <class M>
  GDAKIT_DEVICE_CALL static void tell(M m, std::uint64_t* index, std::uint64_t end) {
    m.store(order::WqeBeforeProxyIndex{}, index, end);
  }
};

// Announces all WQEs below `end`.
template <class M>
GDAKIT_DEVICE void ring(M& m, const QueueView& queue, std::uint64_t end) {
  m.store(order::RelaxedGpu{}, &queue.state->posted, end);
  if (queue.handler != Handler::gpu) return ProxyRing::announce(m, queue, end);
  if (queue.recordless) return RecordlessRing::announce(m, queue, end);
  DoorbellRing::announce(m, queue, end);
}

}  // namespace gdakit
