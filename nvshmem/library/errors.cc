#include "nvshmem/detail/errors.h"

const char* nvshmemx_status_string(int status) {
  switch (status) {
    case NVSHMEMX_SUCCESS: return "success";
    case NVSHMEMX_ERROR_INVALID_VALUE: return "invalid value";
    case NVSHMEMX_ERROR_OUT_OF_MEMORY: return "out of memory";
    case NVSHMEMX_ERROR_NOT_SUPPORTED: return "not supported";
    case NVSHMEMX_ERROR_SYMMETRY: return "not the same on all PEs";
    case NVSHMEMX_ERROR_GPU_NOT_SELECTED: return "no GPU was selected";
    case NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED: return "the collective launch failed";
    case NVSHMEMX_ERROR_INTERNAL: return "internal error";
    default: return "unknown status";
  }
}
