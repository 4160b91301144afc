// Which of the PEs of its host a PE is, as its host's name says it.
#pragma once

#include <unistd.h>
#include <vector>

#include "tests/nvshmem/where.h"

namespace where {

// Collective. 0 for the first of each host.
inline int rank_on_this_host() {
  constexpr std::size_t kRoom = 64;
  const auto n = static_cast<std::size_t>(nvshmem_n_pes());
  const auto me = static_cast<std::size_t>(nvshmem_my_pe());
  std::vector<char> name(kRoom);
  expect(::gethostname(name.data(), kRoom - 1) == 0, "gethostname");
  auto* const mine = static_cast<char*>(nvshmem_malloc(kRoom));
  auto* const all = static_cast<char*>(nvshmem_malloc(n * kRoom));
  write(mine, name);
  expect(nvshmem_fcollectmem(NVSHMEM_TEAM_WORLD, all, mine, kRoom) == 0, "fcollectmem of names");
  int rank = 0;
  for (std::size_t pe = 0; pe < me; ++pe) rank += read(all + pe * kRoom, kRoom) == name ? 1 : 0;
  nvshmem_barrier_all();
  nvshmem_free(mine);
  nvshmem_free(all);
  return rank;
}

}  // namespace where
