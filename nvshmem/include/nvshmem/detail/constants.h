// NVSHMEM's constants and plain types.
#pragma once

#include <cstddef>
#include <cstdint>

#include <climits>

#include "nvshmem/non_abi/nvshmem_version.h"

// OpenSHMEM's version, as NVSHMEM says it; that of NVSHMEM's interface below.
#define NVSHMEM_MAJOR_VERSION 1
#define NVSHMEM_MINOR_VERSION 3
#define NVSHMEM_VENDOR_STRING "gdakit: the NVSHMEM interface over gdakit"
#define NVSHMEM_MAX_NAME_LEN 256
#define NVSHMEM_VENDOR_VERSION                                                 \
  (NVSHMEM_VENDOR_MAJOR_VERSION * 10000 + NVSHMEM_VENDOR_MINOR_VERSION * 100 + \
   NVSHMEM_VENDOR_PATCH_VERSION)

typedef struct {
  int major;
  int minor;
  int patch;
} nvshmemi_version_t;

enum nvshmemx_status {
  NVSHMEMX_SUCCESS = 0,
  NVSHMEMX_ERROR_INVALID_VALUE,
  NVSHMEMX_ERROR_OUT_OF_MEMORY,
  NVSHMEMX_ERROR_NOT_SUPPORTED,
  NVSHMEMX_ERROR_SYMMETRY,
  NVSHMEMX_ERROR_GPU_NOT_SELECTED,
  NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED,
  NVSHMEMX_ERROR_INTERNAL,
  NVSHMEMX_ERROR_SENTINEL = INT_MAX
};

typedef enum nvshmemi_cmp_type {
  NVSHMEM_CMP_EQ = 0,
  NVSHMEM_CMP_NE,
  NVSHMEM_CMP_GT,
  NVSHMEM_CMP_LE,
  NVSHMEM_CMP_LT,
  NVSHMEM_CMP_GE,
  NVSHMEM_CMP_SENTINEL = INT_MAX
} nvshmemx_cmp_type_t;

typedef enum { NVSHMEM_SIGNAL_SET = 9, NVSHMEM_SIGNAL_ADD = 10 } nvshmemx_signal_op_t;

typedef enum nvshmemi_thread_support {
  NVSHMEM_THREAD_SINGLE = 0,
  NVSHMEM_THREAD_FUNNELED,
  NVSHMEM_THREAD_SERIALIZED,
  NVSHMEM_THREAD_MULTIPLE,
  NVSHMEM_THREAD_TYPE_SENTINEL = INT_MAX
} nvshmemx_thread_support_t;

typedef enum {
  NVSHMEM_STATUS_NOT_INITIALIZED = 0,
  NVSHMEM_STATUS_IS_BOOTSTRAPPED,
  NVSHMEM_STATUS_IS_INITIALIZED,
  NVSHMEM_STATUS_LIMITED_MPG,
  NVSHMEM_STATUS_FULL_MPG,
  NVSHMEM_STATUS_INVALID = INT_MAX
} nvshmemx_init_status_t;

typedef int32_t nvshmem_team_t;
typedef nvshmem_team_t nvshmemx_team_t;
typedef uint64_t nvshmemx_team_uniqueid_t;

typedef enum : nvshmem_team_t {
  NVSHMEM_TEAM_INVALID = -1,
  NVSHMEM_TEAM_WORLD = 0,
  NVSHMEM_TEAM_WORLD_INDEX = 0,
  NVSHMEM_TEAM_SHARED = 1,
  NVSHMEM_TEAM_SHARED_INDEX = 1,
  NVSHMEMX_TEAM_NODE = 2,
  NVSHMEM_TEAM_NODE_INDEX = 2,
  NVSHMEMX_TEAM_SAME_MYPE_NODE = 3,
  NVSHMEM_TEAM_SAME_MYPE_NODE_INDEX = 3,
  NVSHMEM_TEAM_INDEX_MAX = INT_MAX
} nvshmem_team_id_t;

// Any and all PEs; no call of gdakit's takes them for a PE.
typedef enum {
  NVSHMEM_PE_INVALID = -1,
  NVSHMEMX_PE_ANY = 1 << 15,
  NVSHMEMX_PE_ALL = 1 << 15
} nvshmem_pe_index_t;

// Queue pairs: there are none that a program could make (nvshmemx_qp_create).
typedef int nvshmemx_qp_handle_t;
typedef enum {
  NVSHMEMX_QP_HOST = 0,
  NVSHMEMX_QP_DEFAULT = 1,
  NVSHMEMX_QP_ANY = INT_MAX,
  NVSHMEMX_QP_ALL = INT_MAX
} nvshmemx_qp_handle_index_t;

typedef enum {
  NVSHMEMX_SMEM_RECOMMENDED = 0,
  NVSHMEMX_SMEM_MINIMUM,
  NVSHMEMX_SMEM_BARRIERS_ONLY
} nvshmemx_smem_amount_t;

// How a type with a version says which one it is.
#define GDAKIT_NVSHMEM_VERSION_OF(NUMBER, TYPE) (((NUMBER) << 16) + (int)sizeof(TYPE))

// Configurations of teams and the masks of their fields are there to be written, not looked at.
#define NVSHMEM_TEAM_NUM_CONTEXTS (1L << 0)
#define NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS 0x1
#define NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID 0x2

typedef struct {
  int version;
  int num_contexts;
  nvshmemx_team_uniqueid_t uniqueid;
  char padding[48];
} nvshmem_team_config_v2;
typedef nvshmem_team_config_v2 nvshmem_team_config_v1;
typedef nvshmem_team_config_v2 nvshmem_team_config_t;
static_assert(sizeof(nvshmem_team_config_t) == 64);

#define NVSHMEM_TEAM_CONFIG_INITIALIZER                                       \
  {                                                                           \
    GDAKIT_NVSHMEM_VERSION_OF(2, nvshmem_team_config_t), -1, ~uint64_t{0}, {} \
  }

// For nvshmemx_init_attr. Programs name the versions of these types, send them to each other as
// bytes and count those: the sizes are NVSHMEM's.
#define NVSHMEMX_INIT_THREAD_PES (1 << 0)
#define NVSHMEMX_INIT_WITH_MPI_COMM (1 << 1)
#define NVSHMEMX_INIT_WITH_SHMEM (1 << 2)
#define NVSHMEMX_INIT_WITH_UNIQUEID (1 << 3)
#define NVSHMEMX_INIT_MAX INT_MIN

#define UNIQUEID_PADDING 124
#define UNIQUEID_ARGS_INVALID -1

// All of it is gdakit's UniqueId, `version` too.
typedef struct {
  int version;
  char internal[UNIQUEID_PADDING];
} nvshmemx_uniqueid_v1;
typedef nvshmemx_uniqueid_v1 nvshmemx_uniqueid_t;
static_assert(sizeof(nvshmemx_uniqueid_t) == 128);

typedef struct {
  int version;
  nvshmemx_uniqueid_t* id;
  int myrank;
  int nranks;
} nvshmemx_uniqueid_args_v1;
typedef nvshmemx_uniqueid_args_v1 nvshmemx_uniqueid_args_t;

typedef struct {
  int version;
  nvshmemx_uniqueid_args_t uid_args;
  int cuda_device_id;  // the GPU; -1 for that of the PE's number
  char content[92];    // not looked at
} nvshmemx_init_args_v2;
typedef nvshmemx_init_args_v2 nvshmemx_init_args_v1;
typedef nvshmemx_init_args_v2 nvshmemx_init_args_t;
static_assert(sizeof(nvshmemx_init_args_t) == 128);

typedef struct {
  int version;
  void* mpi_comm;  // the address of an MPI_Comm
  nvshmemx_init_args_t args;
} nvshmemx_init_attr_v2;
typedef nvshmemx_init_attr_v2 nvshmemx_init_attr_v1;
typedef nvshmemx_init_attr_v2 nvshmemx_init_attr_t;
static_assert(sizeof(nvshmemx_init_attr_t) == 144);

// What the initializers leave in args.version: without it, cuda_device_id is not looked at.
#define NVSHMEMX_INIT_ARGS_VERSION GDAKIT_NVSHMEM_VERSION_OF(2, nvshmemx_init_args_t)

#define NVSHMEMX_UNIQUEID_INITIALIZER                     \
  {                                                       \
    GDAKIT_NVSHMEM_VERSION_OF(1, nvshmemx_uniqueid_t), {} \
  }
#define NVSHMEMX_UNIQUEID_ARGS_INITIALIZER \
  { GDAKIT_NVSHMEM_VERSION_OF(1, nvshmemx_uniqueid_args_t), nullptr, -1, -1 }
#define NVSHMEMX_INIT_ARGS_INITIALIZER                                     \
  {                                                                        \
    NVSHMEMX_INIT_ARGS_VERSION, NVSHMEMX_UNIQUEID_ARGS_INITIALIZER, -1, {} \
  }
#define NVSHMEM_INIT_ATTR_V1_IDENTIFIER GDAKIT_NVSHMEM_VERSION_OF(1, nvshmemx_init_attr_t)
#define NVSHMEM_INIT_ATTR_V2_IDENTIFIER GDAKIT_NVSHMEM_VERSION_OF(2, nvshmemx_init_attr_t)
#define NVSHMEMX_INIT_ATTR_INITIALIZER \
  { NVSHMEM_INIT_ATTR_V2_IDENTIFIER, nullptr, NVSHMEMX_INIT_ARGS_INITIALIZER }

// Version 1 of the attributes has no cuda_device_id.
#define NVSHMEMX_INIT_ATTR_V1_INITIALIZER                                                         \
  {                                                                                               \
    NVSHMEM_INIT_ATTR_V1_IDENTIFIER, nullptr, {                                                   \
      GDAKIT_NVSHMEM_VERSION_OF(1, nvshmemx_init_args_t), NVSHMEMX_UNIQUEID_ARGS_INITIALIZER, -1, \
      {}                                                                                          \
    }                                                                                             \
  }
// The versions alone, of attributes that may hold anything else. NVSHMEM's own ends with a
// semicolon, on which programs may count.
#define nvshmemx_init_init_attr_ver_only(attr)                                             \
  do {                                                                                     \
    (attr).version = NVSHMEM_INIT_ATTR_V1_IDENTIFIER;                                      \
    (attr).args.version = GDAKIT_NVSHMEM_VERSION_OF(1, nvshmemx_init_args_t);              \
    (attr).args.uid_args.version = GDAKIT_NVSHMEM_VERSION_OF(1, nvshmemx_uniqueid_args_t); \
  } while (0);
