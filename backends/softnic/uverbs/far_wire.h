// The wire to the other hosts of a fabric: one over UDP that connects to whom it is to reach, and
// to who sends to it, as they come.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "backends/softnic/uverbs/far_hosts.h"
#include "backends/softnic/wire/udp_wire.h"
#include "backends/softnic/wire/wrapped_wire.h"
#include "core/base/result.h"

namespace gdakit::softnic::uverbs {

class FarWire final : public WrappedWire {
 public:
  // Of the NIC at this place, which is reached at `address`: the fabric's, with its first port.
  // `hosts` outlives the wire. Errors: the address is none of this host's, or the port is taken;
  // the MTU of its interface is too short for RoCE.
  static Result<std::unique_ptr<FarWire>> open(const UdpAddress& address, Endpoint place,
                                               FarHosts& hosts);

  // To an endpoint to which there is no way it is lost, which a warning says once; it is looked for
  // ten times a second.
  bool send(const Packet& packet) override;

 private:
  FarWire(std::unique_ptr<UdpWire> wire, FarHosts& hosts)
      : WrappedWire(std::move(wire)), udp_(static_cast<UdpWire&>(inner())), hosts_(hosts) {}

  // Whether the system has not refused just now.
  bool may_try(Endpoint endpoint) const;
  void connect(Endpoint endpoint);

  UdpWire& udp_;
  FarHosts& hosts_;
  std::unordered_set<Endpoint> connected_;
  std::unordered_map<Endpoint, std::uint64_t> refused_ns_;  // when last, of those that are not
};

}  // namespace gdakit::softnic::uverbs
