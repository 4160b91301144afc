// All seeded bugs. seed.py writes the source that defines them.
#pragma once

#include <span>
#include <string_view>

namespace gdakit::seeded {

struct Bug {
  std::string_view name;
  std::string_view header;
  std::string_view what;
  std::string_view missed;  // why no scenario finds it; "" for those that are found
};

// Number n, for seeded::chosen, is the one at n - 1.
std::span<const Bug> all_bugs();

}  // namespace gdakit::seeded
