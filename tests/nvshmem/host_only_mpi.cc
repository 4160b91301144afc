// The PEs of an MPI communicator: half of them, and then all.
#include <mpi.h>

#include "tests/nvshmem/host_only.h"

namespace {

bool go_round_in(MPI_Comm communicator) {
  nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
  attributes.mpi_comm = &communicator;
  if (nvshmemx_init_attr(NVSHMEMX_INIT_WITH_MPI_COMM, &attributes) != 0) return false;
  const bool good = host_only::go_round();
  nvshmem_finalize();
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  bool good = go_round_in(half);
  MPI_Barrier(MPI_COMM_WORLD);
  good = go_round_in(MPI_COMM_WORLD) && good;
  MPI_Barrier(MPI_COMM_WORLD);  // mpirun ends the others when the first one has failed
  MPI_Finalize();
  return good ? 0 : 1;
}
