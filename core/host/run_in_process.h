// Jobs of several PEs in one process: each PE a host thread with its own Context.
#pragma once

#include <functional>

#include "core/host/context.h"

namespace gdakit {

// What one PE does. An error ends the job: PEs that wait for this one in a collective call are
// told.
using PeMain = std::function<Result<void>(Context&)>;

// Runs `pe_main` on `n_pes` PEs and returns when all have ended. The error is that of the PE that
// failed first; its message begins with that PE's number.
// `kernels_for_gpu` as in Context::create.
Result<void> run_in_process(int n_pes, const Options& options, BackendProvider& provider,
                            const PeMain& pe_main, bool kernels_for_gpu = false);

}  // namespace gdakit
