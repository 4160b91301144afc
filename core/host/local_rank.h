// The number of a PE among those of its host, by which it takes a GPU and a NIC.
#pragma once

#include <cstddef>

#include "core/base/options.h"
#include "core/host/bootstrap/bootstrap.h"

namespace gdakit {

// What the user says, else what the launcher does; on one host that is the rank.
inline std::size_t local_rank_of(const Options& options, const Bootstrap& bootstrap) {
  if (options.local_rank) return *options.local_rank;
  return static_cast<std::size_t>(bootstrap.local_rank().value_or(bootstrap.rank()));
}

}  // namespace gdakit
