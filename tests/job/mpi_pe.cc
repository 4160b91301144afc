// PEs of an MPI program. `mpi_pe world`: the PEs are MPI_COMM_WORLD. `halves`: two jobs at a time,
// of the even and of the odd ranks. `bad`: the last rank has options that are not allowed.
// `after`: as the launcher's job before MPI is initialized, and then over MPI_COMM_WORLD.
// `without`: MPI is not initialized at all.
#include <cstdio>
#include <string_view>

#include "gdakit_mpi.h"

namespace {

using namespace gdakit;

struct Shift {
  int* destination;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    pe.put_value(destination, pe.my_pe(), (pe.my_pe() + 1) % pe.n_pes());
    pe.barrier_all();
  }
};

Result<void> shift(Context& context) {
  auto destination = context.allocate<int>(1);
  if (!destination) return destination.error();
  auto done = context.launch(Shift{*destination}, {.blocks = 1, .threads = 1});
  if (!done) return done;
  const int left = (context.my_pe() + context.n_pes() - 1) % context.n_pes();
  if (**destination != left) return Error(Code::internal, "the wrong number arrived");
  std::printf("PE %d of %d, local rank %u\n", context.my_pe(), context.n_pes(),
              context.options().local_rank.value_or(0));
  return {};
}

Result<void> run_in(Result<std::unique_ptr<Context>> context) {
  const Result<void> done = context ? shift(**context) : Result<void>(context.error());
  if (!done) std::fprintf(stderr, "error: %s\n", done.error().message().c_str());
  return done;
}

Result<void> run(std::string_view mode) {
  Result<Options> options = Options::from_environment();
  if (!options) return options.error();
  options->device = DeviceChoice::cpu;
  if (mode == "without") return run_in(init(*options, MPI_COMM_WORLD));
  if (mode == "after") {
    if (Result<void> done = run_in(init(*options)); !done) return done;
  }
  MPI_Init(nullptr, nullptr);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (mode == "bad" && rank == size - 1) options->queue_depth = 100;
  MPI_Comm communicator = MPI_COMM_WORLD;
  if (mode == "halves") MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &communicator);
  Result<void> done = run_in(init(*options, communicator));
  MPI_Barrier(MPI_COMM_WORLD);  // mpirun ends the others when the first one has failed
  MPI_Finalize();
  return done;
}

}  // namespace

int main(int argc, char** argv) { return run(argc > 1 ? argv[1] : "world") ? 0 : 1; }
