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
};
struct Mpich {
  using Handle = int;
  static Handle byte() { return 0x4c00010d; }  // MPI_BYTE of MPICH's binary interface
};

template <class Mpi>
Result<MpiPlace> share(void* communicator, UniqueId* id, Result<UniqueId> (*make_id)()) {
  using Handle = typename Mpi::Handle;
  auto* const rank_of = find<int(Handle, int*)>("MPI_Comm_rank");
  auto* const size_of = find<int(Handle, int*)>("MPI_Comm_size");
  auto* const broadcast = find<int(void*, int, Handle, int, Handle)>("MPI_Bcast");
  const Handle comm = *static_cast<Handle*>(communicator);
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
    return Error(Code::system, "rank 0 of the communicator could not listen for the others " + why);
  }
  *id = given.id;
  return place;
}

}  // namespace

Result<MpiPlace> share_by_mpi(void* communicator, UniqueId* id, Result<UniqueId> (*make_id)()) {
  if (communicator == nullptr) {
    return Error(Code::invalid_argument,
                 "attributes.mpi_comm is null; give the address of an MPI_Comm");
  }
  if (::dlsym(RTLD_DEFAULT, "MPI_Bcast") == nullptr) {
    return Error(Code::unavailable,
                 "the program has loaded no MPI library; link it with MPI, or use a unique id");
  }
  return OpenMpi::byte() != nullptr ? share<OpenMpi>(communicator, id, make_id)
                                    : share<Mpich>(communicator, id, make_id);
}

}  // namespace gdakit::nvshmem
