// NVSHMEM's constants and plain types.
#pragma once

#include <cstddef>
#include <cstdint>

// OpenSHMEM's version, as NVSHMEM says it; that of NVSHMEM's interface below.
#define NVSHMEM_MAJOR_VERSION 1
#define NVSHMEM_MINOR_VERSION 3
#define NVSHMEM_VENDOR_STRING "gdakit: the NVSHMEM interface over gdakit"
#define NVSHMEM_MAX_NAME_LEN 256
#define NVSHMEM_VENDOR_MAJOR_VERSION 3
#define NVSHMEM_VENDOR_MINOR_VERSION 5
#define NVSHMEM_VENDOR_PATCH_VERSION 0
#define NVSHMEM_VENDOR_VERSION 30500

enum {
  NVSHMEMX_SUCCESS = 0,
  NVSHMEMX_ERROR_INVALID_VALUE,
  NVSHMEMX_ERROR_OUT_OF_MEMORY,
  NVSHMEMX_ERROR_NOT_SUPPORTED,
  NVSHMEMX_ERROR_SYMMETRY,
  NVSHMEMX_ERROR_GPU_NOT_SELECTED,
  NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED,
  NVSHMEMX_ERROR_INTERNAL
};

enum {
  NVSHMEM_CMP_EQ = 0,
  NVSHMEM_CMP_NE,
  NVSHMEM_CMP_GT,
  NVSHMEM_CMP_LE,
  NVSHMEM_CMP_LT,
  NVSHMEM_CMP_GE
};

enum { NVSHMEM_SIGNAL_SET = 9, NVSHMEM_SIGNAL_ADD = 10 };

enum {
  NVSHMEM_THREAD_SINGLE = 0,
  NVSHMEM_THREAD_FUNNELED,
  NVSHMEM_THREAD_SERIALIZED,
  NVSHMEM_THREAD_MULTIPLE
};

enum {
  NVSHMEM_STATUS_NOT_INITIALIZED = 0,
  NVSHMEM_STATUS_IS_BOOTSTRAPPED,
  NVSHMEM_STATUS_IS_INITIALIZED,
  NVSHMEM_STATUS_LIMITED_MPG,
  NVSHMEM_STATUS_FULL_MPG,
  NVSHMEM_STATUS_INVALID = 127
};

typedef int32_t nvshmem_team_t;

enum : nvshmem_team_t {
  NVSHMEM_TEAM_INVALID = -1,
  NVSHMEM_TEAM_WORLD = 0,
  NVSHMEM_TEAM_SHARED = 1,
  NVSHMEMX_TEAM_NODE = 2,
  NVSHMEMX_TEAM_SAME_MYPE_NODE = 3
};

typedef enum {
  NVSHMEMX_SMEM_RECOMMENDED = 0,
  NVSHMEMX_SMEM_MINIMUM,
  NVSHMEMX_SMEM_BARRIERS_ONLY
} nvshmemx_smem_amount_t;

#define NVSHMEM_TEAM_NUM_CONTEXTS (1L << 0)

typedef struct {
  int num_contexts;
} nvshmem_team_config_t;

// For nvshmemx_init_attr.
#define NVSHMEMX_INIT_THREAD_PES (1 << 0)
#define NVSHMEMX_INIT_WITH_MPI_COMM (1 << 1)
#define NVSHMEMX_INIT_WITH_SHMEM (1 << 2)
#define NVSHMEMX_INIT_WITH_UNIQUEID (1 << 3)

typedef struct {
  char internal[128];
} nvshmemx_uniqueid_t;

typedef struct {
  int version;
  nvshmemx_uniqueid_t* id;
  int myrank;
  int nranks;
} nvshmemx_uniqueid_args_t;

typedef struct {
  int version;
  nvshmemx_uniqueid_args_t uid_args;
  int cuda_device_id;  // the GPU; -1 for that of the PE's number
} nvshmemx_init_args_t;

typedef struct {
  int version;
  void* mpi_comm;  // the address of an MPI_Comm
  nvshmemx_init_args_t args;
} nvshmemx_init_attr_t;

// What the initializers leave in args.version: without it, cuda_device_id is not looked at.
#define NVSHMEMX_INIT_ARGS_VERSION ((2 << 16) + (int)sizeof(nvshmemx_init_args_t))

#define NVSHMEMX_UNIQUEID_INITIALIZER \
  {                                   \
    {}                                \
  }
#define NVSHMEMX_UNIQUEID_ARGS_INITIALIZER \
  { (int)sizeof(nvshmemx_uniqueid_args_t), nullptr, -1, -1 }
#define NVSHMEMX_INIT_ARGS_INITIALIZER \
  { NVSHMEMX_INIT_ARGS_VERSION, NVSHMEMX_UNIQUEID_ARGS_INITIALIZER, -1 }
#define NVSHMEMX_INIT_ATTR_INITIALIZER \
  { (int)sizeof(nvshmemx_init_attr_t), nullptr, NVSHMEMX_INIT_ARGS_INITIALIZER }
