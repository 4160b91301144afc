// The UDP ports of a job's NICs: those of one host that want one address share it.
#pragma once

#include "backends/softnic/near_wire.h"
#include "backends/softnic/wire/nic_place.h"
#include "backends/softnic/wire/port_share.h"
#include "backends/softnic/wire/udp_wire.h"
#include "core/base/options.h"
#include "core/base/result.h"
#include "core/host/bootstrap/bootstrap.h"

namespace gdakit::softnic {

struct OpenPort {
  UdpPort port;
  PortShare share;
};

// The port of this PE's NIC at its place. The first PE of a host that wants a place makes a socket
// for each that does, and gives them to the others; where that fails, each opens one for itself, as
// open_at() does, which those say in their logs that got none. Where they are more than 64, each
// opens one for itself, too, and the first of them says so. Collective. Errors: those of open_at();
// more than 64 PEs of a host have named one port.
Result<OpenPort> open_port(const Options& options, Bootstrap& bootstrap, const NicPlace& place,
                           const Hosts& hosts);

}  // namespace gdakit::softnic
