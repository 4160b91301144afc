// The wires of a job whose NICs are reached over UDP.
#pragma once

#include <memory>
#include <vector>

#include "backends/softnic/near_wire.h"
#include "backends/softnic/wire/port_share.h"
#include "backends/softnic/wire/udp_wire.h"
#include "core/base/options.h"
#include "core/base/result.h"
#include "core/host/bootstrap/bootstrap.h"

namespace gdakit::softnic {

// How the NICs of a job meet: all in memory, all over UDP, or as it goes by the hosts of each two.
enum class Meeting { in_memory, over_udp, by_place };

// As GDAKIT_NIC_ADDRESS and GDAKIT_NIC_NEAR say. Collective, one round. Errors: some PEs have an
// address and some none, or GDAKIT_NIC_NEAR, GDAKIT_NIC_TAGS or GDAKIT_NIC_CONGESTION are not the
// same on all, where every PE hears of the first that differs from PE 0; or an address that is none
// of this host.
Result<Meeting> find_meeting(const Options& options, Bootstrap& bootstrap);

struct UdpLink {
  std::unique_ptr<UdpWire> wire;
  std::vector<UdpAddress> addresses;  // of all PEs, by rank
  PortShare share;                    // what this NIC has of its port
};

// This PE's wire, connected to those of all others that are not near, with the longest MTU that the
// ways between all of them carry. `near`: by rank, which PEs this one reaches without it; itself
// may be among them. Those of one of the `hosts` that want one address share it. Collective, after
// find_meeting().
Result<UdpLink> open_udp_wire(const Options& options, Bootstrap& bootstrap, const Hosts& hosts,
                              const std::vector<bool>& near);

}  // namespace gdakit::softnic
