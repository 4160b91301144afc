// The bootstrap of this process, whatever started it.
#pragma once

#include <memory>

#include "core/base/log.h"
#include "core/base/options.h"
#include "core/base/result.h"
#include "core/host/bootstrap/bootstrap.h"
#include "core/host/launch/unique_id.h"

namespace gdakit {

// TCP for a job of several processes, local for a job of one. Collective.
Result<std::unique_ptr<Bootstrap>> open_bootstrap(const Options& options);

// PE `rank` of the `n_pes` PEs that have the same id; the launcher is not asked. Collective.
Result<std::unique_ptr<Bootstrap>> open_bootstrap(const Options& options, const UniqueId& id,
                                                  int rank, int n_pes);

}  // namespace gdakit
