// Names of NVSHMEM's that gdakit does not have: a call does not compile, and the compiler says why.
#pragma once

#include "core/base/annotate.h"

namespace gdakit::nvshmem {

template <class...>
inline constexpr bool is_there = false;

// What such a call returns: it becomes whatever a program makes of it, so that no error about that
// stands in front of the sentence.
struct Anything {
  template <class T>
  GDAKIT_HOST_DEVICE operator T() const;
};

}  // namespace gdakit::nvshmem

#define GDAKIT_NVSHMEM_ABSENT(NAME, SENTENCE)                                 \
  template <class... Arguments>                                               \
  GDAKIT_HOST_DEVICE gdakit::nvshmem::Anything NAME(Arguments&&...) {         \
    static_assert(gdakit::nvshmem::is_there<Arguments...>,                    \
                  "gdakit has no " #NAME ": " SENTENCE " (docs/nvshmem.md)"); \
    return {};                                                                \
  }
#define GDAKIT_NVSHMEM_ABSENT_TILE(NAME) \
  GDAKIT_NVSHMEM_ABSENT(NAME,            \
                        "the tile interface is not there; use reduce, fcollect, broadcast or put")

GDAKIT_NVSHMEM_ABSENT(nvshmemx_qp_create, "queues are made by gdakit::Context::add_queues")
GDAKIT_NVSHMEM_ABSENT(nvshmemx_team_init, "make teams by nvshmem_team_split_strided or _2d")
GDAKIT_NVSHMEM_ABSENT(nvshmemx_team_get_uniqueid, "make teams by nvshmem_team_split_strided or _2d")

namespace nvshmemx {

GDAKIT_NVSHMEM_ABSENT_TILE(tile_put)
GDAKIT_NVSHMEM_ABSENT_TILE(tile_get)
GDAKIT_NVSHMEM_ABSENT_TILE(tile_allgather)
GDAKIT_NVSHMEM_ABSENT_TILE(tile_broadcast)
GDAKIT_NVSHMEM_ABSENT_TILE(tile_sum_reduce)
GDAKIT_NVSHMEM_ABSENT_TILE(tile_max_reduce)
GDAKIT_NVSHMEM_ABSENT_TILE(tile_min_reduce)
GDAKIT_NVSHMEM_ABSENT_TILE(tile_sum_rooted_reduce)
GDAKIT_NVSHMEM_ABSENT_TILE(tile_max_rooted_reduce)
GDAKIT_NVSHMEM_ABSENT_TILE(tile_min_rooted_reduce)
GDAKIT_NVSHMEM_ABSENT_TILE(tile_collective_wait)

}  // namespace nvshmemx
