// This process as a client of PMIx, the interface by which mpirun, prterun and srun tell their
// processes about each other. libpmix is loaded at run time, and only for a process that PMIx has
// started.
//
// PMIx is one for the whole process and cannot be opened again once it has been closed, so it stays
// open until the process exits; then it is closed in order, as the launcher expects. Programs that
// use MPI share it: PMIx counts who has opened it.
//
// Every call ends within `timeout`. One that did not leaves a thread in PMIx, and all later calls
// fail.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/base/result.h"

namespace gdakit {

struct PmixJob {
  int rank = 0;
  int size = 1;
  std::optional<int> local_rank;
  bool one_host = false;  // all processes of the job are on this one
};

// Asks the PMIx server of this host. Errors: no libpmix, no server.
Result<PmixJob> find_pmix_job(std::chrono::milliseconds timeout);

// Asks the launcher to end all processes of the job, with `status` as the job's, and to say `why`.
// It may end this process before the call returns. Errors: this process has not opened PMIx.
Result<void> abort_over_pmix(int status, const std::string& why, std::chrono::milliseconds timeout);

// Collective. What PE 0 gave as `text`, on every PE; what the others give is not looked at.
Result<std::string> broadcast_over_pmix(const std::string& text, std::chrono::milliseconds timeout);

}  // namespace gdakit
