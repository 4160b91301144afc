#include "sim/world/orders.h"

namespace gdakit::sim {
namespace {

template <class Order>
constexpr NamedOrder describe() {
  return {type_name<Order>(), Order::breaks, Order::kind, Order::scope};
}

constexpr NamedOrder kOrders[] = {
    describe<order::PublishReady>(),
    describe<order::ReadyBeforeRing>(),
    describe<order::PassBaton>(),
    describe<order::WqeBeforeDoorbellRecord>(),
    describe<order::WqeBeforeDoorbell>(),
    describe<order::RecordBeforeDoorbell>(),
    describe<order::WqeBeforeProxyIndex>(),
    describe<order::ProxyIndexSeen>(),
    describe<order::ProxyWqeBeforeRecord>(),
    describe<order::ProxyRecordBeforeDoorbell>(),
    describe<order::ProxyCompletionSeen>(),
    describe<order::ProxyCompletionPassedOn>(),
    describe<order::CompletionBeforeUse>(),
    describe<order::CompletionForOthers>(),
    describe<order::SlotFreeBeforeReuse>(),
    describe<order::FlushForOthers>(),
    describe<order::FlushSeen>(),
    describe<order::FetchSlotTaken>(),
    describe<order::FetchSlotGivenBack>(),
    describe<order::SignalBeforeData>(),
    describe<order::DirectBeforeLater>(),
    describe<order::DirectComplete>(),
    describe<order::DirectFetched>(),
    describe<order::LockPassed>(),
    describe<order::LockTaken>(),
    describe<order::ReceiveBeforeRecord>(),
    describe<order::MessageBeforeData>(),
    describe<order::ReportBeforeState>(),
};

}  // namespace

std::span<const NamedOrder> named_orders() { return kOrders; }

}  // namespace gdakit::sim
