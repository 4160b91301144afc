// Names of NVSHMEM's that gdakit does not have: a call does not compile, and the compiler says why.
// Types and constants that stand in front of such calls are there, so that nothing fails before.
#pragma once

#include <cstdint>

#include "core/base/annotate.h"
#include "nvshmem/detail/types.h"

namespace gdakit::nvshmem {

template <class...>
inline constexpr bool is_there = false;
template <auto...>
inline constexpr bool is_value_there = false;

// What a call returns that makes something for other such calls.
struct Anything {};

}  // namespace gdakit::nvshmem

#define GDAKIT_NVSHMEM_SAY_ABSENT(IS_THERE, NAME, SENTENCE) \
  static_assert(gdakit::nvshmem::IS_THERE,                  \
                "gdakit has no " #NAME ": " SENTENCE " (docs/nvshmem.md)")

// RESULT is what the call returns, or int for void. Behind the sentence: the parameters of the
// template, the last of which is `class... Arguments`.
#define GDAKIT_NVSHMEM_ABSENT_OF(RESULT, NAME, SENTENCE, ...)          \
  template <__VA_ARGS__>                                               \
  GDAKIT_HOST_DEVICE RESULT NAME(Arguments&&...) {                     \
    GDAKIT_NVSHMEM_SAY_ABSENT(is_there<Arguments...>, NAME, SENTENCE); \
    return {};                                                         \
  }
#define GDAKIT_NVSHMEM_ABSENT(NAME, SENTENCE) \
  GDAKIT_NVSHMEM_ABSENT_OF(int, NAME, SENTENCE, class... Arguments)

#define GDAKIT_NVSHMEM_ABSENT_TYPE(NAME, SENTENCE)                     \
  template <class... Arguments>                                        \
  struct NAME {                                                        \
    template <class... From>                                           \
    GDAKIT_HOST_DEVICE NAME(From&&...) {}                              \
    GDAKIT_NVSHMEM_SAY_ABSENT(is_there<Arguments...>, NAME, SENTENCE); \
  };                                                                   \
  template <class... From>                                             \
  NAME(From...) -> NAME<From...>;

// ---- Teams made of unique ids, warp groups, flush, counted signals, sums by atomics, regions.

#define GDAKIT_NVSHMEM_USE_SPLIT "make teams by nvshmem_team_split_strided or _2d"
GDAKIT_NVSHMEM_ABSENT(nvshmemx_team_init, GDAKIT_NVSHMEM_USE_SPLIT)
GDAKIT_NVSHMEM_ABSENT(nvshmemx_team_get_uniqueid, GDAKIT_NVSHMEM_USE_SPLIT)

GDAKIT_NVSHMEM_ABSENT(nvshmemx_barrier_warpgroup, "use nvshmemx_barrier_warp or _block")

#define GDAKIT_NVSHMEM_USE_QUIET "use nvshmem_quiet, which waits for more"
GDAKIT_NVSHMEM_ABSENT(nvshmemx_flush, GDAKIT_NVSHMEM_USE_QUIET)
GDAKIT_NVSHMEM_ABSENT(nvshmemx_flush_warp, GDAKIT_NVSHMEM_USE_QUIET)
GDAKIT_NVSHMEM_ABSENT(nvshmemx_flush_block, GDAKIT_NVSHMEM_USE_QUIET)
GDAKIT_NVSHMEM_ABSENT(nvshmemx_flush_on_stream,
                      "use nvshmemx_quiet_on_stream, which waits for more")

#define GDAKIT_NVSHMEM_USE_ADD "use put_signal with NVSHMEM_SIGNAL_ADD"
GDAKIT_NVSHMEM_ABSENT(nvshmemx_putmem_signal_counted_nbi_block, GDAKIT_NVSHMEM_USE_ADD)
GDAKIT_NVSHMEM_ABSENT(nvshmemx_signal_counted_load, GDAKIT_NVSHMEM_USE_ADD)
GDAKIT_NVSHMEM_ABSENT(nvshmemx_signal_counted_reset, GDAKIT_NVSHMEM_USE_ADD)
GDAKIT_NVSHMEM_ABSENT(nvshmemx_signal_counted_wait_until, GDAKIT_NVSHMEM_USE_ADD)

#define GDAKIT_NVSHMEM_USE_INTEGERS "a NIC adds integers only; add those, or compare and swap"
#define GDAKIT_NVSHMEM_ABSENT_SUMS(NAME, TYPE)                                                    \
  GDAKIT_NVSHMEM_ABSENT(nvshmemx_##NAME##_atomic_add, GDAKIT_NVSHMEM_USE_INTEGERS)                \
  GDAKIT_NVSHMEM_ABSENT_OF(TYPE, nvshmemx_##NAME##_atomic_fetch_add, GDAKIT_NVSHMEM_USE_INTEGERS, \
                           class... Arguments)
GDAKIT_NVSHMEM_ABSENT_SUMS(half, gdakit::nvshmem::half_type)
GDAKIT_NVSHMEM_ABSENT_SUMS(float, float)
GDAKIT_NVSHMEM_ABSENT_SUMS(double, double)

typedef uint64_t nvshmemx_region_handle_t;
typedef enum {
  NVSHMEMX_REGION_HINT_NONE = 0,
  NVSHMEMX_REGION_HINT_BATCH_RMA = 1
} nvshmemx_region_hint_t;
typedef struct {
  uint32_t hints;
} nvshmemx_region_attrs_t;
#define NVSHMEMX_REGION_ATTRS_INITIALIZER \
  { NVSHMEMX_REGION_HINT_NONE }

#define GDAKIT_NVSHMEM_NO_REGIONS "puts and gets are not gathered; leave regions out"
GDAKIT_NVSHMEM_ABSENT(nvshmemx_region_start, GDAKIT_NVSHMEM_NO_REGIONS)
GDAKIT_NVSHMEM_ABSENT(nvshmemx_region_start_warp, GDAKIT_NVSHMEM_NO_REGIONS)
GDAKIT_NVSHMEM_ABSENT(nvshmemx_region_start_block, GDAKIT_NVSHMEM_NO_REGIONS)
GDAKIT_NVSHMEM_ABSENT(nvshmemx_region_stop, GDAKIT_NVSHMEM_NO_REGIONS)
GDAKIT_NVSHMEM_ABSENT(nvshmemx_region_stop_warp, GDAKIT_NVSHMEM_NO_REGIONS)
GDAKIT_NVSHMEM_ABSENT(nvshmemx_region_stop_block, GDAKIT_NVSHMEM_NO_REGIONS)
GDAKIT_NVSHMEM_ABSENT(nvshmemx_region_is_active, GDAKIT_NVSHMEM_NO_REGIONS)

// ---- Queue pairs, and calls on one of them.

GDAKIT_NVSHMEM_ABSENT(nvshmemx_qp_create, "queues are made by gdakit::Context::add_queues")

#define GDAKIT_NVSHMEM_USE_NO_QP "a call names no queue pair; use the one without qp"
#define GDAKIT_NVSHMEM_ABSENT_QP(NAME) GDAKIT_NVSHMEM_ABSENT(NAME, GDAKIT_NVSHMEM_USE_NO_QP)
#define GDAKIT_NVSHMEM_ABSENT_QP_SCOPES(NAME) \
  GDAKIT_NVSHMEM_ABSENT_QP(NAME)              \
  GDAKIT_NVSHMEM_ABSENT_QP(NAME##_warp)       \
  GDAKIT_NVSHMEM_ABSENT_QP(NAME##_block)
#define GDAKIT_NVSHMEM_ABSENT_QP_OF_TYPE(NAME, TYPE)                               \
  GDAKIT_NVSHMEM_ABSENT_QP(nvshmemx_qp_##NAME##_p)                                 \
  GDAKIT_NVSHMEM_ABSENT_OF(TYPE, nvshmemx_qp_##NAME##_g, GDAKIT_NVSHMEM_USE_NO_QP, \
                           class... Arguments)                                     \
  GDAKIT_NVSHMEM_ABSENT_QP_SCOPES(nvshmemx_qp_##NAME##_put)                        \
  GDAKIT_NVSHMEM_ABSENT_QP_SCOPES(nvshmemx_qp_##NAME##_get)                        \
  GDAKIT_NVSHMEM_ABSENT_QP_SCOPES(nvshmemx_qp_##NAME##_put_nbi)                    \
  GDAKIT_NVSHMEM_ABSENT_QP_SCOPES(nvshmemx_qp_##NAME##_get_nbi)                    \
  GDAKIT_NVSHMEM_ABSENT_QP_SCOPES(nvshmemx_qp_##NAME##_put_signal)                 \
  GDAKIT_NVSHMEM_ABSENT_QP_SCOPES(nvshmemx_qp_##NAME##_put_signal_nbi)
GDAKIT_NVSHMEM_TYPES(GDAKIT_NVSHMEM_ABSENT_QP_OF_TYPE)
GDAKIT_NVSHMEM_ABSENT_QP(nvshmemx_qp_signal_op)
GDAKIT_NVSHMEM_ABSENT_QP_SCOPES(nvshmemx_qp_quiet)
GDAKIT_NVSHMEM_ABSENT_QP_SCOPES(nvshmemx_qp_fence)

// ---- Tiles.

#define GDAKIT_NVSHMEM_NO_TILES \
  "the tile interface is not there; use reduce, fcollect, broadcast, put or get"

template <int kValue>
struct ConstInt {
  GDAKIT_NVSHMEM_SAY_ABSENT(is_value_there<kValue>, ConstInt, GDAKIT_NVSHMEM_NO_TILES);
};

namespace nvshmemx {

typedef enum {
  NVLS_ONE_SHOT_PUSH_NBI = 0,
  NVLS_ONE_SHOT_PULL_NBI,
  NVLS_TWO_SHOT_PUSH_NBI,
  NVLS_TWO_SHOT_PULL_NBI
} tile_coll_algo_t;
typedef enum {
  PEER_PUSH_NBI = 0,
  PEER_PULL_NBI = 0,
  REMOTE_PUSH_NBI = 1,
  REMOTE_PULL_NBI = 1
} tile_algo_t;

GDAKIT_NVSHMEM_ABSENT_TYPE(shape, GDAKIT_NVSHMEM_NO_TILES)
GDAKIT_NVSHMEM_ABSENT_TYPE(stride, GDAKIT_NVSHMEM_NO_TILES)
GDAKIT_NVSHMEM_ABSENT_TYPE(Layout, GDAKIT_NVSHMEM_NO_TILES)
GDAKIT_NVSHMEM_ABSENT_TYPE(Tensor, GDAKIT_NVSHMEM_NO_TILES)
#define GDAKIT_NVSHMEM_ABSENT_MAKER(NAME)                                            \
  GDAKIT_NVSHMEM_ABSENT_OF(gdakit::nvshmem::Anything, NAME, GDAKIT_NVSHMEM_NO_TILES, \
                           class... Arguments)
GDAKIT_NVSHMEM_ABSENT_MAKER(make_shape)
GDAKIT_NVSHMEM_ABSENT_MAKER(make_stride)
GDAKIT_NVSHMEM_ABSENT_MAKER(make_layout)

// With the types of both tensors and of a coordinate, and the algorithm; or without.
#define GDAKIT_NVSHMEM_ABSENT_TILE(NAME)                                                  \
  GDAKIT_NVSHMEM_ABSENT(NAME, GDAKIT_NVSHMEM_NO_TILES)                                    \
  GDAKIT_NVSHMEM_ABSENT_OF(int, NAME, GDAKIT_NVSHMEM_NO_TILES, class, class, class, auto, \
                           class... Arguments)
// With the algorithm.
#define GDAKIT_NVSHMEM_ABSENT_TILE_WAIT(NAME) \
  GDAKIT_NVSHMEM_ABSENT_OF(int, NAME, GDAKIT_NVSHMEM_NO_TILES, auto, class... Arguments)
#define GDAKIT_NVSHMEM_ABSENT_TILE_SCOPES(ABSENT, NAME) \
  ABSENT(NAME)                                          \
  ABSENT(NAME##_warp)                                   \
  ABSENT(NAME##_warpgroup)                              \
  ABSENT(NAME##_block)
#define GDAKIT_NVSHMEM_ABSENT_TILE_REDUCE(OP)                                          \
  GDAKIT_NVSHMEM_ABSENT_TILE_SCOPES(GDAKIT_NVSHMEM_ABSENT_TILE, tile_##OP##_reduce)    \
  GDAKIT_NVSHMEM_ABSENT_TILE_SCOPES(GDAKIT_NVSHMEM_ABSENT_TILE, tile_##OP##_allreduce) \
  GDAKIT_NVSHMEM_ABSENT_TILE_SCOPES(GDAKIT_NVSHMEM_ABSENT_TILE, tile_##OP##_rooted_reduce)

GDAKIT_NVSHMEM_ABSENT_TILE_SCOPES(GDAKIT_NVSHMEM_ABSENT_TILE, tile_put)
GDAKIT_NVSHMEM_ABSENT_TILE_SCOPES(GDAKIT_NVSHMEM_ABSENT_TILE, tile_get)
GDAKIT_NVSHMEM_ABSENT_TILE_SCOPES(GDAKIT_NVSHMEM_ABSENT_TILE, tile_allgather)
GDAKIT_NVSHMEM_ABSENT_TILE_SCOPES(GDAKIT_NVSHMEM_ABSENT_TILE, tile_broadcast)
GDAKIT_NVSHMEM_ABSENT_TILE_REDUCE(sum)
GDAKIT_NVSHMEM_ABSENT_TILE_REDUCE(max)
GDAKIT_NVSHMEM_ABSENT_TILE_REDUCE(min)
GDAKIT_NVSHMEM_ABSENT_TILE_SCOPES(GDAKIT_NVSHMEM_ABSENT_TILE_WAIT, tile_collective_wait)

}  // namespace nvshmemx
