// Who holds a UDP address of this host, as far as the system tells this user.
#pragma once

#include <string>

#include "backends/softnic/wire/udp_address.h"

namespace gdakit::softnic {

// "process 4711 (ring_shift) of user 1000"; without the process if it is another user's, or runs
// where this one does not see it; empty if nobody is known to hold the address, or all addresses
// with its port.
std::string udp_holder(const UdpAddress& address);

}  // namespace gdakit::softnic
