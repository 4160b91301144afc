#include "nvshmem/detail/mpi_by_name.h"

#include <dlfcn.h>

namespace gdakit::nvshmem {
namespace {

template <class Function>
Function* find(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

// Open MPI's handles are pointers, MPICH's and those of its kin integers.
struct OpenMpi {
  using Handle = void*;
  static Handle byte() { return ::dlsym(RTLD_DEFAULT, "ompi_mpi_byte"); }
  static Handle world() { return ::dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world"); }
};
struct Mpich {
  using Handle = int;
  // MPI_BYTE and MPI_COMM_WORLD of MPICH's binary interface.
  static Handle byte() { return 0x4c00010d; }
  static Handle world() { return 0x44000000; }
};

template <class Mpi>
Result<MpiPlace> share(void* communicator, UniqueId* id, Result<UniqueId> (*make_id)()) {
  using Handle = typename Mpi::Handle;
  auto* const rank_of = find<int(Handle, int*)>("MPI_Comm_rank");
  auto* const size_of = find<int(Handle, int*)>("MPI_Comm_size");
  auto* const broadcast = find<int(void*, int, Handle, int, Handle)>("MPI_Bcast");
  const Handle comm = communicator == nullptr ? Mpi::world() : *static_cast<Handle*>(communicator);
  MpiPlace place{};
  if (rank_of == nullptr || size_of == nullptr || broadcast == nullptr ||
      rank_of(comm, &place.rank) != 0 || size_of(comm, &place.size) != 0) {
    return Error(Code::unavailable, "MPI_Comm_rank and MPI_Comm_size failed on this communicator");
  }
  struct {
    UniqueId id;
    int made;
  } given{};
  std::string why;
  if (place.rank == 0) {
    const Result<UniqueId> made = make_id();
    given.made = made ? 1 : 0;
    if (made) given.id = *made;
    if (!made) why = made.error().message();
  }
  if (broadcast(&given, sizeof(given), Mpi::byte(), 0, comm) != 0) {
    return Error(Code::system, "MPI_Bcast failed");
  }
  if (given.made == 0) {
    return Error(Code::system,
                 "rank 0 of the communicator could not listen for the others: " + why);
  }
  *id = given.id;
  return place;
}

// What MPI_Initialized or MPI_Finalized says; false without MPI.
bool says(const char* name) {
  auto* const ask = find<int(int*)>(name);
  int answer = 0;
  return ask != nullptr && ask(&answer) == 0 && answer != 0;
}

bool initialized_here = false;

bool initialize() {
  auto* const init = find<int(int*, char***)>("MPI_Init");
  initialized_here = init != nullptr && init(nullptr, nullptr) == 0;
  return initialized_here;
}

template <class Mpi>
void abort_world(int status) {
  auto* const abort = find<int(typename Mpi::Handle, int)>("MPI_Abort");
  if (abort != nullptr) abort(Mpi::world(), status);
}

}  // namespace

bool has_mpi() { return ::dlsym(RTLD_DEFAULT, "MPI_Bcast") != nullptr; }

Result<MpiPlace> share_by_mpi(void* communicator, UniqueId* id, Result<UniqueId> (*make_id)()) {
  if (!has_mpi()) {
    return Error(Code::unavailable,
                 "the program has loaded no MPI library; link it with MPI, or use a unique id");
  }
  if (says("MPI_Finalized")) {
    return Error(Code::unavailable,
                 "MPI was finalized before, and cannot start again in this process; finalize it "
                 "behind the last NVSHMEM job, or use a unique id");
  }
  if (!says("MPI_Initialized") && !initialize()) {
    return Error(Code::system, "MPI_Init failed; call it before NVSHMEM's init");
  }
  return OpenMpi::byte() != nullptr ? share<OpenMpi>(communicator, id, make_id)
                                    : share<Mpich>(communicator, id, make_id);
}

void leave_mpi() {
  if (!initialized_here || says("MPI_Finalized")) return;
  if (auto* const finalize = find<int()>("MPI_Finalize")) finalize();
}

void abort_by_mpi(int status) {
  if (!says("MPI_Initialized") || says("MPI_Finalized")) return;
  if (OpenMpi::world() != nullptr) return abort_world<OpenMpi>(status);
  abort_world<Mpich>(status);
}

}  // namespace gdakit::nvshmem
