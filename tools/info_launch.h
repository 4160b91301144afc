// The section of `gdakit info` about what started this process.
#pragma once

#include <string>
#include <vector>

#include "core/base/options.h"

namespace gdakit::tools {

struct LaunchFact {
  std::string name;
  std::string text;
};

// The launcher in charge, this process's place, where PE 0 is, where the secret comes from, and
// then every other launcher with the reason why it is not in charge. Never the secret itself.
std::vector<LaunchFact> describe_launch(const Options& options);

}  // namespace gdakit::tools
