// PEs as processes, on one host or several, that meet over TCP: PE 0 runs the hub (tcp_hub.h).
#pragma once

#include <memory>

#include "core/base/log.h"
#include "core/base/result.h"
#include "core/host/bootstrap/bootstrap.h"
#include "core/host/launch/launch_info.h"

namespace gdakit {

// Joins the job and returns when every PE has joined. PE 0 may come last: the others try again
// until the timeout. Errors: PE 0 cannot be reached or refuses this process (its secret, its rank,
// the job's size), or some PE does not come.
Result<std::unique_ptr<Bootstrap>> open_tcp_bootstrap(const LaunchInfo& info, Log log);

}  // namespace gdakit
