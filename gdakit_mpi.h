// gdakit for programs that use MPI: the PEs are the processes of a communicator.
//
//   MPI_Init(&argc, &argv);
//   auto context = gdakit::init(options, MPI_COMM_WORLD);
//
// Header-only, and not part of gdakit.h, because it includes <mpi.h>: the program brings its MPI,
// the library knows none. MPI is used during init() only, so any MPI will do, with PMIx or without.
#pragma once

#include <array>
#include <memory>
#include <mpi.h>
#include <string>

#include "gdakit.h"

// With an older C++ gdakit.h has said what is wrong.
#if __cplusplus >= 201703L

namespace gdakit {

// Collective over `communicator`. PE r is its rank r, and takes its GPU by its number among the
// ranks that share its host, unless options.local_rank says otherwise. MPI must have been
// initialized. Either all ranks get a context or all get an error: that of the first rank that
// failed.
template <class Compiler = ThisCompiler>
Result<std::unique_ptr<Context>> init(const Options& options, MPI_Comm communicator);

namespace detail {

inline Result<void> mpi_result(const char* call, int code) {
  if (code == MPI_SUCCESS) return {};
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  return Error(Code::system, std::string(call) + " failed: " + text.data(), code);
}

// Collective. The error of the lowest rank that has one, on every rank.
inline Result<void> agree(MPI_Comm communicator, int rank, int size, const Result<void>& mine) {
  int failed = mine ? size : rank;
  int first = size;
  Result<void> met = mpi_result("MPI_Allreduce",
                                MPI_Allreduce(&failed, &first, 1, MPI_INT, MPI_MIN, communicator));
  if (!met || first == size) return met;
  struct Failure {
    Code code = Code::internal;
    std::array<char, 1020> text{};
  } failure;
  if (rank == first) {
    failure.code = mine.error().code();
    mine.error().message().copy(failure.text.data(), failure.text.size() - 1);
  }
  met =
      mpi_result("MPI_Bcast", MPI_Bcast(&failure, sizeof(failure), MPI_BYTE, first, communicator));
  if (!met) return met;
  return Error(failure.code, "init on rank " + std::to_string(first) +
                                 " of the communicator: " + failure.text.data());
}

// Collective. This rank's number among those of its host.
inline Result<int> mpi_local_rank(MPI_Comm communicator, int rank) {
  MPI_Comm host = MPI_COMM_NULL;
  Result<void> done = mpi_result(
      "MPI_Comm_split_type",
      MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host));
  if (!done) return done.error();
  int local = 0;
  done = mpi_result("MPI_Comm_rank", MPI_Comm_rank(host, &local));
  MPI_Comm_free(&host);
  if (!done) return done.error();
  return local;
}

// Collective. Rank 0's new id, on every rank.
inline Result<UniqueId> mpi_unique_id(const Options& options, MPI_Comm communicator, int rank,
                                      int size) {
  UniqueId id{};
  Result<void> mine = options.validate();
  if (mine && rank == 0) {
    const Result<UniqueId> made = make_unique_id(options);
    if (made) id = *made;
    if (!made) mine = made.error();
  }
  if (Result<void> all = agree(communicator, rank, size, mine); !all) return all.error();
  Result<void> sent =
      mpi_result("MPI_Bcast", MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, communicator));
  if (!sent) return sent.error();
  return id;
}

}  // namespace detail

template <class Compiler>
Result<std::unique_ptr<Context>> init(const Options& options, MPI_Comm communicator) {
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (initialized == 0 || communicator == MPI_COMM_NULL) {
    return Error(Code::invalid_argument,
                 initialized == 0 ? "init with an MPI communicator: MPI is not initialized; call "
                                    "MPI_Init first"
                                  : "init with an MPI communicator: it is MPI_COMM_NULL; call init "
                                    "on the ranks that are in it");
  }
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  const Result<UniqueId> id = detail::mpi_unique_id(options, communicator, rank, size);
  if (!id) return id.error();
  const Result<int> local = detail::mpi_local_rank(communicator, rank);
  if (!local) return local.error();
  Options placed = options;
  if (!placed.local_rank) placed.local_rank = static_cast<std::uint32_t>(*local);
  Result<std::unique_ptr<Context>> context = init<Compiler>(placed, *id, rank, size);
  const Result<void> mine = context ? Result<void>() : Result<void>(context.error());
  if (Result<void> all = detail::agree(communicator, rank, size, mine); !all) return all.error();
  return context;
}

}  // namespace gdakit

#endif  // C++17
