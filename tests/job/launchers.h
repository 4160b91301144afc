// The launchers that a test can start a job with, besides `gdakit run`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/job/launched.h"

namespace gdakit::testing_job {

// gdakit, mpirun, pmix (prterun, or where there is none mpirun), torchrun (its variables), slurm
// (srun without PMIx), slurm_pmix.
inline constexpr const char* kLaunchers[] = {"gdakit",   "mpirun", "pmix",
                                             "torchrun", "slurm",  "slurm_pmix"};

// Why this machine cannot start jobs with it; none if it can. An unknown name is a failure.
std::optional<std::string> launcher_missing(const std::string& launcher);

// The words of a command that runs `program` on `size` PEs.
std::vector<std::string> launch_words(const std::string& launcher, int size,
                                      const std::vector<std::string>& program);

// Starts it and waits. Nothing where the launcher finds out that it cannot work on this machine:
// `why_not` then holds the reason.
std::optional<Outcome> launch_job(const std::string& launcher, int size,
                                  const std::vector<std::string>& program, std::string& why_not);

}  // namespace gdakit::testing_job
