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
  template <class M, class Allowed>
  GDAKIT_DEVICE static void announce(M& m, const QueueView& queue, std::uint64_t end,
                                     Allowed&& allowed) {
    m.fence(order::WqeBeforeDoorbellRecord{});
    if (!allowed()) return;
    m.store(order::RelaxedNic{}, queue.record, format::doorbell_record_value(end).raw());
    m.store(order::RelaxedGpu{}, &queue.state->posted, end);
    m.fence(order::RecordBeforeDoorbell{});
    m.store_mmio(queue.doorbell, format::doorbell_value(end, queue.qpn_shifted >> 8));
  }
};

// A host thread writes both, for machines where the GPU cannot reach the UAR page.
struct ProxyRing {
  template <class M, class Allowed>
  GDAKIT_DEVICE static void announce(M& m, const QueueView& queue, std::uint64_t end,
                                     Allowed&& allowed) {
    if (!allowed()) return;
    m.store(order::WqeBeforeProxyIndex{}, queue.proxy_index, end);
    m.store(order::RelaxedGpu{}, &queue.state->posted, end);
  }
};

// Announces, unless `allowed()`, asked last before the NIC could hear of anything, says no: what it
// looks at has had the time of the first fence to arrive. Returns whether the announcement is
// ordered before all that the thread does next.
template <class M, class Allowed>
GDAKIT_DEVICE bool ring(M& m, const QueueView& queue, std::uint64_t end, Allowed&& allowed) {
  const bool proxy = queue.handler == Handler::proxy;
  if (proxy) {
    ProxyRing::announce(m, queue, end, allowed);
  } else {
    DoorbellRing::announce(m, queue, end, allowed);
  }
  return !proxy;
}

template <class M>
GDAKIT_DEVICE bool ring(M& m, const QueueView& queue, std::uint64_t end) {
  return ring(m, queue, end, [] { return true; });
}

}  // namespace gdakit
