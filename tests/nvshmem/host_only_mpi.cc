// The PEs of an MPI communicator: half of them, and then all. --give-up: the last one of them ends
// the job, while the others wait for it. --by-variable: NVSHMEM_BOOTSTRAP=MPI, and MPI is not
// initialized before. --without-finalize: likewise, and the program just ends.
#include <cstring>
#include <mpi.h>

#include "tests/nvshmem/host_only.h"

namespace {

// A null address is that of all.
bool start_in(MPI_Comm communicator) {
  nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
  attributes.mpi_comm = communicator == MPI_COMM_WORLD ? nullptr : &communicator;
  return nvshmemx_init_attr(NVSHMEMX_INIT_WITH_MPI_COMM, &attributes) == 0;
}

bool go_round_in(MPI_Comm communicator) {
  if (!start_in(communicator)) return false;
  const bool good = host_only::go_round();
  nvshmem_finalize();
  return good;
}

int give_up() {
  if (!start_in(MPI_COMM_WORLD)) return 1;
  if (nvshmem_my_pe() + 1 == nvshmem_n_pes()) nvshmem_global_exit(0);
  MPI_Barrier(MPI_COMM_WORLD);  // for what does not come
  return 1;
}

int start_by_variable() {
  nvshmem_init();
  int size = 0;
  const bool good = MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS &&
                    size == nvshmem_n_pes() && host_only::go_round();
  nvshmem_finalize();
  int finalized = 0;
  MPI_Finalized(&finalized);
  const bool refused = nvshmemx_init_attr(0, nullptr) != 0;  // MPI does not start again
  return good && finalized != 0 && refused ? 0 : 1;
}

int start_and_end() {
  nvshmem_init();
  return host_only::go_round() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--by-variable") == 0) return start_by_variable();
  if (argc == 2 && std::strcmp(argv[1], "--without-finalize") == 0) return start_and_end();
  MPI_Init(&argc, &argv);
  if (argc == 2) return give_up();
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
