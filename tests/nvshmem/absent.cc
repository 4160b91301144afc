// What programs for NVSHMEM write and gdakit does not have: a sentence of the compiler's names each
// that a comment "no: ..." names, and it has nothing else to say.
#include <device/tile/nvshmemx_tile_api.hpp>
#include <device/tile/nvshmemx_tile_api_defines.cuh>
#include <device_host/nvshmem_tensor.h>
#include <nvshmem.h>
#include <nvshmemx.h>
#include <utility>

// no: nvshmemx_half_atomic_add nvshmemx_half_atomic_fetch_add
// no: nvshmemx_float_atomic_add nvshmemx_float_atomic_fetch_add
// no: nvshmemx_double_atomic_add nvshmemx_double_atomic_fetch_add
GDAKIT_DEVICE_ONLY void add_up(gdakit::nvshmem::half_type* h, float* f, double* d, int pe) {
  nvshmemx_half_atomic_add(h, *h, pe);
  *h = nvshmemx_half_atomic_fetch_add(h, *h, pe);
  nvshmemx_float_atomic_add(f, 1.0f, pe);
  *f = nvshmemx_float_atomic_fetch_add(f, 1.0f, pe);
  nvshmemx_double_atomic_add(d, 1.0, pe);
  *d = nvshmemx_double_atomic_fetch_add(d, 1.0, pe);
}

// no: nvshmemx_qp_create
nvshmemx_qp_handle_t* queues(int count) {
  nvshmemx_qp_handle_t* made = nullptr;
  if (nvshmemx_qp_create(count, &made) != 0) return nullptr;
  return made;
}

// no: nvshmemx_qp_int_put nvshmemx_qp_int_put_warp nvshmemx_qp_int_put_block
// no: nvshmemx_qp_half_get nvshmemx_qp_half_get_warp nvshmemx_qp_half_get_block
// no: nvshmemx_qp_float_p nvshmemx_qp_float_g
GDAKIT_DEVICE_ONLY void move_on(nvshmemx_qp_handle_t qp, int* dest, const int* source, float* f,
                                gdakit::nvshmem::half_type* h, int pe) {
  nvshmemx_qp_int_put(dest, source, 4, pe, qp);
  nvshmemx_qp_int_put_warp(dest, source, 4, pe, NVSHMEMX_QP_DEFAULT);
  nvshmemx_qp_int_put_block(dest, source, 4, pe, NVSHMEMX_QP_ANY);
  nvshmemx_qp_half_get(h, h, 4, pe, qp);
  nvshmemx_qp_half_get_warp(h, h, 4, pe, qp);
  nvshmemx_qp_half_get_block(h, h, 4, pe, qp);
  nvshmemx_qp_float_p(f, 1.0f, pe, qp);
  *f = nvshmemx_qp_float_g(f, pe, qp);
}

// no: nvshmemx_qp_double_put_nbi nvshmemx_qp_double_put_nbi_warp nvshmemx_qp_double_put_nbi_block
// no: nvshmemx_qp_uint8_get_nbi nvshmemx_qp_uint8_get_nbi_warp nvshmemx_qp_uint8_get_nbi_block
GDAKIT_DEVICE_ONLY void start_on(nvshmemx_qp_handle_t qp, double* d, uint8_t* bytes, int pe) {
  nvshmemx_qp_double_put_nbi(d, d, 4, pe, qp);
  nvshmemx_qp_double_put_nbi_warp(d, d, 4, pe, qp);
  nvshmemx_qp_double_put_nbi_block(d, d, 4, pe, qp);
  nvshmemx_qp_uint8_get_nbi(bytes, bytes, 4, pe, qp);
  nvshmemx_qp_uint8_get_nbi_warp(bytes, bytes, 4, pe, qp);
  nvshmemx_qp_uint8_get_nbi_block(bytes, bytes, 4, pe, qp);
}

// no: nvshmemx_qp_size_put_signal nvshmemx_qp_size_put_signal_warp
// no: nvshmemx_qp_size_put_signal_block nvshmemx_qp_signal_op
// no: nvshmemx_qp_char_put_signal_nbi nvshmemx_qp_char_put_signal_nbi_warp
// no: nvshmemx_qp_char_put_signal_nbi_block
GDAKIT_DEVICE_ONLY void signal_on(nvshmemx_qp_handle_t qp, size_t* s, char* c, uint64_t* word,
                                  int pe) {
  nvshmemx_qp_size_put_signal(s, s, 4, word, 1, NVSHMEM_SIGNAL_ADD, pe, qp);
  nvshmemx_qp_size_put_signal_warp(s, s, 4, word, 1, NVSHMEM_SIGNAL_ADD, pe, qp);
  nvshmemx_qp_size_put_signal_block(s, s, 4, word, 1, NVSHMEM_SIGNAL_ADD, pe, qp);
  nvshmemx_qp_char_put_signal_nbi(c, c, 4, word, 1, NVSHMEM_SIGNAL_SET, pe, qp);
  nvshmemx_qp_char_put_signal_nbi_warp(c, c, 4, word, 1, NVSHMEM_SIGNAL_SET, pe, qp);
  nvshmemx_qp_char_put_signal_nbi_block(c, c, 4, word, 1, NVSHMEM_SIGNAL_SET, pe, qp);
  nvshmemx_qp_signal_op(word, 1, NVSHMEM_SIGNAL_ADD, pe, qp);
}

// no: nvshmemx_qp_quiet nvshmemx_qp_quiet_warp nvshmemx_qp_quiet_block
// no: nvshmemx_qp_fence nvshmemx_qp_fence_warp nvshmemx_qp_fence_block
GDAKIT_DEVICE_ONLY void complete_on(nvshmemx_qp_handle_t* qps, int count) {
  nvshmemx_qp_quiet(NVSHMEMX_PE_ALL, qps, count);
  nvshmemx_qp_quiet_warp(0, qps, 1);
  nvshmemx_qp_quiet_block(NVSHMEMX_PE_ALL, nullptr, NVSHMEMX_QP_ALL);
  nvshmemx_qp_fence(NVSHMEMX_PE_ANY, qps, count);
  nvshmemx_qp_fence_warp(0, qps, count);
  nvshmemx_qp_fence_block(0, qps, count);
}

// no: nvshmemx_team_get_uniqueid nvshmemx_team_init
int team_by_id(nvshmem_team_t* made) {
  nvshmemx_team_uniqueid_t id;
  nvshmemx_team_get_uniqueid(&id);
  nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
  config.uniqueid = id;
  return nvshmemx_team_init(made, &config, NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID, 4, 0);
}

// no: nvshmemx_barrier_warpgroup nvshmemx_flush nvshmemx_flush_warp nvshmemx_flush_block
GDAKIT_DEVICE_ONLY int reuse(nvshmem_team_t team) {
  nvshmemx_flush();
  nvshmemx_flush_warp();
  nvshmemx_flush_block();
  return nvshmemx_barrier_warpgroup(team);
}
// no: nvshmemx_flush_on_stream
void reuse_on(gdakit::Stream stream) { nvshmemx_flush_on_stream(stream); }

// no: nvshmemx_putmem_signal_counted_nbi_block nvshmemx_signal_counted_reset
// no: nvshmemx_signal_counted_wait_until nvshmemx_signal_counted_load
GDAKIT_DEVICE_ONLY uint64_t counted(void* dest, const void* source, uint64_t* counter) {
  nvshmemx_signal_counted_reset(counter);
  int status = nvshmemx_putmem_signal_counted_nbi_block(dest, source, 256, counter, 1);
  if (status == NVSHMEMX_SUCCESS) nvshmemx_signal_counted_wait_until(counter, 256);
  return nvshmemx_signal_counted_load(counter);
}

// no: nvshmemx_region_start nvshmemx_region_stop nvshmemx_region_is_active
int region() {
  nvshmemx_region_attrs_t attributes = NVSHMEMX_REGION_ATTRS_INITIALIZER;
  attributes.hints = NVSHMEMX_REGION_HINT_BATCH_RMA;
  nvshmemx_region_handle_t handle = 0;
  int active = 0;
  nvshmemx_region_is_active(NVSHMEMX_REGION_HINT_NONE, &active);
  return nvshmemx_region_start(&handle, &attributes) != 0 ? active : nvshmemx_region_stop(handle);
}
// no: nvshmemx_region_start_block nvshmemx_region_stop_block
// no: nvshmemx_region_start_warp nvshmemx_region_stop_warp
GDAKIT_DEVICE_ONLY void regions(nvshmemx_region_handle_t* handle) {
  if (nvshmemx_region_start_block(handle, nullptr) != NVSHMEMX_SUCCESS) return;
  nvshmemx_region_stop_block(*handle);
  nvshmemx_region_start_warp(handle, nullptr);
  nvshmemx_region_stop_warp(*handle);
}

// Tensors and what they are made of.
// no: ConstInt make_shape make_stride make_layout Tensor Layout shape stride
GDAKIT_DEVICE_ONLY void tensors(float* data, int rows) {
  auto layout = nvshmemx::make_layout(nvshmemx::make_shape(rows, ConstInt<64>{}),
                                      nvshmemx::make_stride(64, 1));
  nvshmemx::Tensor source = nvshmemx::Tensor(data, layout);
  nvshmemx::shape<int, int> extents(rows, 64);
  nvshmemx::stride<int, int> steps(64, 1);
  nvshmemx::Layout<nvshmemx::shape<int, int>, nvshmemx::stride<int, int>> same(extents, steps);
  static_cast<void>(source);
  static_cast<void>(same);
}

// What a program has for tensors and coordinates may be anything.
struct Tile {
  float* data;
};
using Place = std::pair<int, int>;
constexpr auto kPull = nvshmemx::tile_coll_algo_t::NVLS_ONE_SHOT_PULL_NBI;
constexpr auto kPush = nvshmemx::tile_algo_t::REMOTE_PUSH_NBI;

// no: tile_put tile_put_warp tile_put_warpgroup tile_put_block
// no: tile_get tile_get_warp tile_get_warpgroup tile_get_block
GDAKIT_DEVICE_ONLY void tile_moves(Tile a, Tile b, Place at) {
  nvshmemx::tile_put<Tile, Tile, Place, kPush>(a, b, at, at, 1, 0);
  nvshmemx::tile_put_warp<Tile, Tile, Place, kPush>(a, b, at, at, 1, 0);
  nvshmemx::tile_put_warpgroup<Tile, Tile, Place, kPush>(a, b, at, at, 1, 0);
  nvshmemx::tile_put_block<Tile, Tile, Place, kPush>(a, b, at, at, 1, 0);
  nvshmemx::tile_get<Tile, Tile, Place, kPush>(a, b, at, at, 1, 0);
  nvshmemx::tile_get_warp<Tile, Tile, Place, kPush>(a, b, at, at, 1, 0);
  nvshmemx::tile_get_warpgroup<Tile, Tile, Place, kPush>(a, b, at, at, 1, 0);
  nvshmemx::tile_get_block<Tile, Tile, Place, kPush>(a, b, at, at, 1, 0);
}

#define CALL_TILE(NAME, ...) status |= nvshmemx::NAME<Tile, Tile, Place, kPull>(__VA_ARGS__)

// no: tile_allgather tile_allgather_warp tile_allgather_warpgroup tile_allgather_block
// no: tile_broadcast tile_broadcast_warp tile_broadcast_warpgroup tile_broadcast_block
// no: tile_collective_wait tile_collective_wait_warp tile_collective_wait_warpgroup
// no: tile_collective_wait_block
GDAKIT_DEVICE_ONLY int tile_collectives(nvshmem_team_t team, Tile a, Tile b, Place at) {
  int status = 0;
  CALL_TILE(tile_allgather, team, a, b, at, at, 0);
  CALL_TILE(tile_allgather_warp, team, a, b, at, at, 0);
  CALL_TILE(tile_allgather_warpgroup, team, a, b, at, at, 0);
  CALL_TILE(tile_allgather_block, team, a, b, at, at, 0);
  CALL_TILE(tile_broadcast, team, a, b, at, at, 0);
  CALL_TILE(tile_broadcast_warp, team, a, b, at, at, 0);
  CALL_TILE(tile_broadcast_warpgroup, team, a, b, at, at, 0);
  CALL_TILE(tile_broadcast_block, team, a, b, at, at, 0);
  nvshmemx::tile_collective_wait<kPull>(team, 0);
  nvshmemx::tile_collective_wait_warp<kPull>(team, 0);
  nvshmemx::tile_collective_wait_warpgroup<kPull>(team, 0);
  nvshmemx::tile_collective_wait_block<kPull>(team, 0);
  return status;
}

#define CALL_TILE_REDUCE(NAME)                           \
  CALL_TILE(NAME, team, a, b, at, at, 0, 0);             \
  CALL_TILE(NAME##_warp, team, a, b, at, at, 0);         \
  CALL_TILE(NAME##_warpgroup, team, a, b, at, at, 0, 0); \
  CALL_TILE(NAME##_block, team, a, b, at, at, 0)

// no: tile_sum_reduce tile_sum_reduce_warp tile_sum_reduce_warpgroup tile_sum_reduce_block
// no: tile_min_reduce tile_min_reduce_warp tile_min_reduce_warpgroup tile_min_reduce_block
// no: tile_max_reduce tile_max_reduce_warp tile_max_reduce_warpgroup tile_max_reduce_block
// no: tile_sum_allreduce tile_sum_allreduce_warp tile_sum_allreduce_warpgroup
// no: tile_sum_allreduce_block tile_max_allreduce tile_min_allreduce_block
// no: tile_sum_rooted_reduce tile_max_rooted_reduce_warp tile_min_rooted_reduce_warpgroup
GDAKIT_DEVICE_ONLY int tile_reductions(nvshmem_team_t team, Tile a, Tile b, Place at) {
  int status = 0;
  CALL_TILE_REDUCE(tile_sum_reduce);
  CALL_TILE_REDUCE(tile_min_reduce);
  CALL_TILE_REDUCE(tile_max_reduce);
  CALL_TILE_REDUCE(tile_sum_allreduce);
  CALL_TILE(tile_max_allreduce, team, a, b, at, at, 0);
  CALL_TILE(tile_min_allreduce_block, team, a, b, at, at, 0);
  CALL_TILE(tile_sum_rooted_reduce, team, a, b, at, at, 0, 0);
  CALL_TILE(tile_max_rooted_reduce_warp, team, a, b, at, at, 0, 0);
  CALL_TILE(tile_min_rooted_reduce_warpgroup, team, a, b, at, at, 0, 0);
  return status;
}
