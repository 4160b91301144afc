// MPI as the program has loaded it, found by the names of its functions: so that the library needs
// no MPI of its own, and takes any.
#pragma once

#include "core/base/result.h"
#include "core/host/unique_id.h"

namespace gdakit::nvshmem {

struct MpiPlace {
  int rank;
  int size;
};

// Collective. `communicator` is the address of an MPI_Comm. Broadcasts rank 0's `id`, which
// `make_id` makes there. Errors: the program has no MPI, or an unknown one; an MPI call failed.
Result<MpiPlace> share_by_mpi(void* communicator, UniqueId* id, Result<UniqueId> (*make_id)());

}  // namespace gdakit::nvshmem
