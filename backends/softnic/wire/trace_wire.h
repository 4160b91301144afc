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
#include "backends/softnic/wire/wrapped_wire.h"

namespace gdakit::softnic {

class TraceWire final : public WrappedWire {
 public:
  // The trace outlives the wire.
  TraceWire(std::unique_ptr<Wire> inner, NicTrace& trace)
      : WrappedWire(std::move(inner)), trace_(trace) {}

  bool send(const Packet& packet) override;
  const Packet* receive() override;

 private:
  NicTrace& trace_;
};

}  // namespace gdakit::softnic
