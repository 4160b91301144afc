// Does not compile, and says why.
#include <nvshmem.h>

void* multicast(void* memory) {
  nvshmemx_mc_ptr(NVSHMEM_TEAM_WORLD, memory);
  nvshmemx::tile_broadcast(memory);
  return memory;
}
