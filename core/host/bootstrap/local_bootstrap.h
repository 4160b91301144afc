// PEs as threads of one process: tests, examples, and the job of one PE.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "core/base/result.h"
#include "core/host/bootstrap/bootstrap.h"

namespace gdakit {

// The bootstraps of a job of `size` PEs, by rank. Each is then used by its own thread; all of them
// make the same checks, and give the same errors, as over TCP.
Result<std::vector<std::unique_ptr<Bootstrap>>> make_local_bootstraps(
    int size, std::chrono::milliseconds timeout);

}  // namespace gdakit
