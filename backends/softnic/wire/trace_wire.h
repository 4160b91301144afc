// A wire that tells a timeline what its NIC sends and receives.
//
//   engine --send()----> TraceWire --send()----> any wire
//          <-receive()--     |     <-receive()--
//                            v
//                         NicTrace
//
// A packet is told as sent when the inner wire has taken it, and as received when the inner wire
// hands it out.
#pragma once

#include <memory>
#include <utility>

#include "backends/softnic/objects/nic_trace.h"
#include "backends/softnic/wire/wire.h"

namespace gdakit::softnic {

class TraceWire final : public Wire {
 public:
  // The trace outlives the wire.
  TraceWire(std::unique_ptr<Wire> inner, NicTrace& trace)
      : inner_(std::move(inner)), trace_(trace) {}

  Endpoint endpoint() const override { return inner_->endpoint(); }
  std::uint32_t mtu() const override { return inner_->mtu(); }
  std::uint32_t value_mtu() const override { return inner_->value_mtu(); }
  std::uint32_t psn_bytes() const override { return inner_->psn_bytes(); }
  WirePath path(Endpoint endpoint) const override { return inner_->path(endpoint); }
  bool by_reference(const Packet& packet) const override { return inner_->by_reference(packet); }
  bool send(const Packet& packet) override;
  const Packet* receive() override;
  void retire(const Packet* packet) override { inner_->retire(packet); }
  void flush() override { inner_->flush(); }
  Recall recall(const RecallScope& scope) override { return inner_->recall(scope); }
  bool recalled(Recall& recall) override { return inner_->recalled(recall); }
  bool unread(Endpoint endpoint) const override { return inner_->unread(endpoint); }
  void add_counters(NicCounters& counters) const override { inner_->add_counters(counters); }

 private:
  std::unique_ptr<Wire> inner_;
  NicTrace& trace_;
};

}  // namespace gdakit::softnic
