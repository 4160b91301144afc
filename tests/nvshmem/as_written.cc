// What programs for NVSHMEM write outside of calls: include paths, types, constants, fields. It
// compiles, with the host's compiler and with nvcc.
#include <bootstrap_device_host/nvshmem_uniqueid.h>
#include <device/nvshmem_coll_defines.cuh>
#include <device/nvshmem_defines.h>
#include <device/nvshmemx_coll_defines.cuh>
#include <device/nvshmemx_collective_launch_apis.h>
#include <device/nvshmemx_defines.h>
#include <device_host/nvshmem_common.cuh>
#include <device_host/nvshmem_types.h>
#include <device_host_transport/nvshmem_common_transport.h>
#include <device_host_transport/nvshmem_constants.h>
#include <host/nvshmem_api.h>
#include <host/nvshmem_coll_api.h>
#include <host/nvshmemx_api.h>
#include <host/nvshmemx_coll_api.h>
#include <nvshmem.h>
#include <nvshmem_host.h>
#include <nvshmemx.h>

int main() {
  nvshmem_init();
  nvshmemx_hostlib_finalize();
}
