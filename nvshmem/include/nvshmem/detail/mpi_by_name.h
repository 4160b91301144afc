// MPI as the program has loaded it, found by the names of its functions: so that the library needs
// no MPI of its own, and takes any.
#pragma once

#include "core/base/result.h"
#include "core/host/launch/unique_id.h"

namespace gdakit::nvshmem {

struct MpiPlace {
  int rank;
  int size;
};

bool has_mpi();

// Collective. `communicator` is the address of an MPI_Comm, or null for MPI_COMM_WORLD. Broadcasts
// rank 0's `id`, which `make_id` makes there. Initializes MPI if the program has not. Errors: the
// program has no MPI, or an unknown one; an MPI call failed.
Result<MpiPlace> share_by_mpi(void* communicator, UniqueId* id, Result<UniqueId> (*make_id)());

// Finalizes MPI if share_by_mpi has initialized it, and nobody has finalized it.
void leave_mpi();

// Ends all processes of the program's MPI job, if it has one: then this call does not return.
void abort_by_mpi(int status);

}  // namespace gdakit::nvshmem
