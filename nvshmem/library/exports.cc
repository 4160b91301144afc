// The functions of NVSHMEM that are inline in its headers, as symbols of the library: for who finds
// them by dlsym or declares them himself.
#define GDAKIT_NVSHMEM_KEPT __attribute__((used))
#include "nvshmem/nvshmem.h"
