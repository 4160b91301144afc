// To which PEs this one has queues (GDAKIT_CONNECT), as all PEs come to it alike.
#pragma once

#include <vector>

#include "core/base/options.h"
#include "core/base/result.h"
#include "core/host/bootstrap/bootstrap.h"
#include "core/host/transport_map.h"

namespace gdakit {

// Collective. The PEs to which there are queues from the start, ascending, this one included; a
// direct peer is one in any case. Errors, on all PEs (invalid_argument): GDAKIT_CONNECT is not the
// same on all, or names a PE that the job does not have.
Result<std::vector<int>> first_peers(const Options& options, Bootstrap& bootstrap,
                                     const TransportMap& transports);

// Collective. The PEs of `wanted`, and those that want this one, ascending, without those of
// `known`. Errors, on all PEs: one wants a PE that the job does not have.
Result<std::vector<int>> more_peers(Bootstrap& bootstrap, const std::vector<int>& wanted,
                                    const std::vector<int>& known);

}  // namespace gdakit
