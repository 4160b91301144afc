// The NVSHMEM_* environment variables that users know, as options of gdakit.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/options.h"

namespace gdakit::nvshmem {

using Variables = std::vector<std::pair<std::string, std::string>>;

// What NVSHMEM_* variables stand for among the GDAKIT_* ones, in front of those that are there,
// which win. Warnings name variables that mean nothing here, or whose value does not.
struct TranslatedVariables {
  Variables variables;
  std::vector<std::string> warnings;
};
TranslatedVariables translate(const Variables& environment);

// What NVSHMEM_VERSION=1 and NVSHMEM_INFO=1 ask a job to say when it begins: gdakit's version, and
// all options with their values and where these are from. Empty if they ask for nothing.
std::string introduction(const Variables& environment, const Options& options);

// Whether NVSHMEM_BOOTSTRAP asks for MPI.
bool asks_for_mpi(const Variables& environment);

// The options of this process by both. Warnings go to stderr once.
Result<Options> options_of_environment();

}  // namespace gdakit::nvshmem
