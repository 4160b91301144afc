// Does not compile, and says why.
#include <nvshmem.h>

nvshmemx_qp_handle_t* queues(int count) {
  nvshmemx_qp_handle_t* made = nvshmemx_qp_create(count, &made);
  return made;
}

GDAKIT_DEVICE_ONLY int tile(void* memory) { return nvshmemx::tile_broadcast(memory); }
