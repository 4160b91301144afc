// Telling the NIC: all WQEs below an index are ready. Called by one thread of a queue at a time,
// with indices that never go back.
//
// QueueState::posted follows the record and not the doorbell, so that the fence between the two
// orders it as well before whatever lets another thread ring next.
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
    m.store(order::RelaxedGpu{}, &queue.state->posted, end);
    m.fence(order::RecordBeforeDoorbell{});
    m.store_mmio(queue.doorbell, format::doorbell_value(end, queue.qpn_shifted >> 8));
  }
};

// A host thread writes both, for machines where the GPU cannot reach the UAR page.
struct ProxyRing {
  template <class M>
  GDAKIT_DEVICE static void announce(M& m, const QueueView& queue, std::uint64_t end) {
    m.store(order::WqeBeforeProxyIndex{}, queue.proxy_index, end);
    m.store(order::RelaxedGpu{}, &queue.state->posted, end);
  }
};

template <class M>
GDAKIT_DEVICE void ring(M& m, const QueueView& queue, std::uint64_t end) {
  if (queue.handler == Handler::proxy) {
    ProxyRing::announce(m, queue, end);
  } else {
    DoorbellRing::announce(m, queue, end);
  }
}

}  // namespace gdakit
