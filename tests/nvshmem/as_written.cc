// What programs for NVSHMEM write outside of calls: include paths, types, constants, fields. It
// compiles, with the host's compiler and with nvcc.
#include <bootstrap_device_host/nvshmem_uniqueid.h>
#include <device/nvshmem_coll_defines.cuh>
#include <device/nvshmem_defines.h>
#include <device/nvshmem_device_macros.h>
#include <device/nvshmemx_coll_defines.cuh>
#include <device/nvshmemx_collective_launch_apis.h>
#include <device/nvshmemx_defines.h>
#include <device/tile/nvshmemx_tile_api.hpp>
#include <device/tile/nvshmemx_tile_api_defines.cuh>
#include <device_host/nvshmem_common.cuh>
#include <device_host/nvshmem_tensor.h>
#include <device_host/nvshmem_types.h>
#include <device_host_transport/nvshmem_common_ibgda.h>
#include <device_host_transport/nvshmem_common_transport.h>
#include <device_host_transport/nvshmem_constants.h>
#include <host/nvshmem_api.h>
#include <host/nvshmem_coll_api.h>
#include <host/nvshmem_macros.h>
#include <host/nvshmemx_api.h>
#include <host/nvshmemx_coll_api.h>
#include <non_abi/device/threadgroup/nvshmemi_common_device_defines.cuh>
#include <non_abi/nvshmem_build_options.h>
#include <non_abi/nvshmem_version.h>
#include <non_abi/nvshmemx_error.h>
#include <nvshmem.h>
#include <nvshmem_host.h>
#include <nvshmemx.h>

nvshmemx_team_t team = NVSHMEM_TEAM_SAME_MYPE_NODE_INDEX;
nvshmem_team_id_t team_id = NVSHMEM_TEAM_NODE_INDEX;
nvshmemx_cmp_type_t comparison = NVSHMEM_CMP_GE;
enum nvshmemi_cmp_type sentinel = NVSHMEM_CMP_SENTINEL;
int last_ones[] = {NVSHMEM_TEAM_INDEX_MAX, NVSHMEM_THREAD_TYPE_SENTINEL, NVSHMEMX_ERROR_SENTINEL,
                   NVSHMEMX_INIT_MAX};
int versions[] = {NVSHMEM_INIT_ATTR_V1_IDENTIFIER, NVSHMEM_INIT_ATTR_V2_IDENTIFIER};
nvshmemx_signal_op_t op = NVSHMEM_SIGNAL_ADD;
nvshmemx_thread_support_t threads = NVSHMEM_THREAD_SERIALIZED;
nvshmemx_status status = NVSHMEMX_SUCCESS;
nvshmemx_qp_handle_t queues[] = {NVSHMEMX_QP_HOST, NVSHMEMX_QP_DEFAULT, NVSHMEMX_QP_ANY,
                                 NVSHMEMX_QP_ALL};
nvshmem_pe_index_t pes[] = {NVSHMEM_PE_INVALID, NVSHMEMX_PE_ANY, NVSHMEMX_PE_ALL};

// A unique id goes round as the bytes from its first field on.
int by_id(const char* bytes, int rank, int n_pes) {
  nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
  memcpy(&id.version, bytes, sizeof(nvshmemx_uniqueid_v1));
  static_assert(sizeof(id.version) + UNIQUEID_PADDING == 128);
  nvshmemx_init_attr_v1 attributes = NVSHMEMX_INIT_ATTR_V1_INITIALIZER;
  nvshmemx_init_init_attr_ver_only(attributes);
  attributes.args.content[0] = 0;
  nvshmemx_init_args_v1& args = attributes.args;
  nvshmemx_set_attr_uniqueid_args(rank, n_pes, &id, &attributes);
  const nvshmemx_uniqueid_args_v1& ids = args.uid_args;
  return ids.myrank == rank ? nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes) : 1;
}

int make_team(nvshmemx_team_uniqueid_t id, nvshmem_team_t* made) {
  nvshmem_team_config_t config;
  config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
  config.num_contexts = 1;
  config.uniqueid = id;
  return nvshmem_team_split_strided(
      NVSHMEM_TEAM_WORLD, 0, 1, 2, &config,
      NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS | NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID, made);
}

#if NVSHMEM_VENDOR_VERSION < 30000
#error "the version is for the preprocessor, too"
#endif
nvshmemi_version_t version = {NVSHMEM_VENDOR_MAJOR_VERSION, NVSHMEM_VENDOR_MINOR_VERSION,
                              NVSHMEM_VENDOR_PATCH_VERSION};

// How NVIDIA's own programs check what they call.
int checked(void* memory) {
  int result = 0;
  NVSHMEMI_NULL_ERROR_JMP(memory, result, NVSHMEMX_ERROR_OUT_OF_MEMORY, out, "no memory\n");
  result = nvshmemx_buffer_unregister(memory);
  NVSHMEMI_NZ_ERROR_JMP(result, NVSHMEMX_ERROR_INTERNAL, out, "unregister: %s\n",
                        nvshmemx_status_string(result));
  NVSHMEMI_EQ_ERROR_JMP(result, 77, NVSHMEMX_ERROR_INTERNAL, out, "%d\n", result);
  NVSHMEMI_NZ_EXIT(result, "%d\n", result);
out:
  if (result != 0) NVSHMEMI_ERROR_PRINT("gave up\n");
  return result;
}

// NVSHMEM's functions have C linkage: declared once more, or found by name.
extern "C" void nvshmem_init();
extern "C" void nvshmem_barrier_all();
extern "C" GDAKIT_HOST_DEVICE void nvshmem_int_p(int* dest, const int value, int pe);

// Null where nothing multicasts, in kernels and on the host.
GDAKIT_HOST_DEVICE inline bool has_multicast(nvshmem_team_t members, double* memory) {
  return static_cast<double*>(nvshmemx_mc_ptr(members, memory)) != nullptr;
}

// What a program makes for every type.
#define GIVE(NAME, TYPE)                                                                       \
  NVSHMEMI_HOSTDEVICE_PREFIX inline void give_##NAME(TYPE* dest, const TYPE* source, int pe) { \
    nvshmem_##NAME##_put(dest, source, 1, pe);                                                 \
  }
NVSHMEMI_REPT_FOR_STANDARD_RMA_TYPES(GIVE)
#undef GIVE
#define AWAIT(NAME, TYPE)                                                    \
  NVSHMEMI_HOSTDEVICE_PREFIX inline void await_##NAME(TYPE* word) {          \
    nvshmem_##NAME##_wait_until(word, NVSHMEM_CMP_NE, static_cast<TYPE>(0)); \
  }
NVSHMEMI_REPT_FOR_WAIT_TYPES(AWAIT)
#undef AWAIT

int main() {
  nvshmem_init();
  const auto now = static_cast<nvshmemx_init_status_t>(nvshmemx_init_status());
  nvshmemx_hostlib_finalize();
  return now == NVSHMEM_STATUS_IS_INITIALIZED ? 0 : 1;
}
