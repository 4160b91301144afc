// Options of a process that some launcher has started, by the variables that it sets.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/options.h"

namespace gdakit::testing_launch {

using Variables = std::vector<std::pair<std::string, std::string>>;

inline Options started_with(const Variables& variables, const Variables& changes = {}) {
  Variables all = variables;
  all.insert(all.end(), changes.begin(), changes.end());  // the last one of a name counts
  const Result<ParsedOptions> parsed = parse_options(all);
  EXPECT_TRUE(parsed) << parsed.error().message();
  EXPECT_TRUE(parsed->warnings.empty());
  Options options = parsed->options;
  for (const auto& [name, value] : changes) {
    if (value.empty()) options.set_by_launcher.erase(name);  // an empty one is not set
  }
  return options;
}

inline const Variables kTorchrun = {
    {"RANK", "3"},           {"WORLD_SIZE", "8"},      {"LOCAL_RANK", "1"},
    {"MASTER_ADDR", "gpu7"}, {"MASTER_PORT", "29500"}, {"TORCHELASTIC_RUN_ID", "a1b2"}};

inline const Variables kSlurm = {{"SLURM_PROCID", "5"},
                                 {"SLURM_STEP_NUM_TASKS", "8"},
                                 {"SLURM_NTASKS", "16"},
                                 {"SLURM_LOCALID", "1"},
                                 {"SLURM_JOB_ID", "1234"},
                                 {"SLURM_STEP_ID", "2"},
                                 {"SLURM_STEP_NODELIST", "gpu[07-08,11]"},
                                 {"SLURM_JOB_NODELIST", "gpu[01-20]"},
                                 {"SLURMD_NODENAME", "gpu08"}};

// As of a PMIx server that is not there.
inline const Variables kPmix = {{"PMIX_RANK", "2"}, {"PMIX_NAMESPACE", "nobody.1"}};

}  // namespace gdakit::testing_launch
