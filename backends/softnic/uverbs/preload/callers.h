// Through which libraries a program's calls come to its soft ConnectXes.
#pragma once

#include <cstdint>

namespace gdakit::softnic::uverbs {

struct CallCounts {
  std::uint64_t by_libraries = 0;  // from code of libibverbs or libmlx5
  std::uint64_t by_others = 0;
};

// A call on an open device, which returns to that address.
void count_call(const void* return_address);
CallCounts counted_calls();

}  // namespace gdakit::softnic::uverbs
