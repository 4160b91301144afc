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

// The options of this process by both. Warnings go to stderr once.
Result<Options> options_of_environment();

}  // namespace gdakit::nvshmem
