// Names of collectives and of what completes and orders: by a thread, a warp or a block in kernels,
// and on the host.
#pragma once

#include "nvshmem/detail/device_or_host.h"
#include "nvshmem/detail/types.h"

namespace gdakit::nvshmem {

// A collective as all forms pass it: sizes in bytes, or an element type.
struct Collective {
  HostOperation::Kind kind;
  Team team;
  void* dest = nullptr;
  const void* source = nullptr;
  std::size_t count = 0;  // bytes, or elements of a reduction
  int root = 0;
  ElementType type = ElementType::uint8;
  ReduceOp op = ReduceOp::sum;

  template <class Group>
  GDAKIT_DEVICE Status by(Group& group) const {
    auto members = group.team(team);
    auto* const to = static_cast<unsigned char*>(dest);
    const auto* const from = static_cast<const unsigned char*>(source);
    switch (kind) {
      case HostOperation::Kind::sync: return members.sync();
      case HostOperation::Kind::barrier: return members.barrier();
      case HostOperation::Kind::broadcast: return members.broadcast(to, from, count, root);
      case HostOperation::Kind::fcollect: return members.fcollect(to, from, count);
      case HostOperation::Kind::alltoall: return members.alltoall(to, from, count);
      case HostOperation::Kind::reduce: return members.reduce(dest, source, count, type, op);
      default: return members.reduce_scatter(dest, source, count, type, op);
    }
  }

  HostOperation operation() const {
    HostOperation what;
    what.kind = kind;
    what.team = team;
    what.dest = dest;
    what.source = source;
    what.count = count;
    what.pe = root;
    what.type = type;
    what.reduce_op = op;
    return what;
  }
};

// Always inlined, so that of all collectives the one is left that a kernel names.
struct CollectInKernel {
  const Collective& what;

  template <class Group>
  GDAKIT_DEVICE int operator()(Group& group) const {
    return code_of(what.by(group));
  }
};

template <class Group>
GDAKIT_DEVICE_ONLY int collect_by(const Collective& what) {
  return in_kernel<Group>(CollectInKernel{what});
}

// On a stream, or on the PE's own and at once.
int collect_on_stream(const char* call, const Collective& what, Stream stream);
int collect_now(const char* call, const Collective& what);

GDAKIT_HOST_DEVICE inline int collect_here(const char* call, const Collective& what) {
  return here(call, CollectInKernel{what}, [&](auto) { return collect_now(call, what); });
}

// For calls without a result: ends the program if they fail.
void meet_on_stream(const char* call, const Collective& what, Stream stream);
void meet_now(const char* call, const Collective& what);
GDAKIT_HOST_DEVICE inline void meet_here(const char* call, const Collective& what) {
  here(call, CollectInKernel{what}, [&](auto) {
    meet_now(call, what);
    return 0;
  });
}

// NVSHMEM's fence orders what any thread of the PE has put, gdakit's what the calling one has.
// Through the NIC these are the same where all use one queue.
template <class P>
GDAKIT_DEVICE void fence(P& thread) {
  const DeviceContext& context = thread.context();
  if (context.mapped_queues.count > 1 && !context.heap.direct_only) {
    thread.quiet();
  } else {
    thread.fence();
  }
}

GDAKIT_HOST_DEVICE inline Collective meeting(HostOperation::Kind kind, nvshmem_team_t team) {
  return {kind, Team{team}};
}

}  // namespace gdakit::nvshmem

extern "C" {

// The four forms of a collective. CALL is what stands in its name before the form, ARGUMENTS its
// parameters in parentheses, WHAT the Collective that they make.
#define GDAKIT_NVSHMEM_UNPACK(...) __VA_ARGS__
#define GDAKIT_NVSHMEM_COLLECTIVE(CALL, ARGUMENTS, ...)                                     \
  GDAKIT_NVSHMEM_CALL int nvshmem_##CALL(GDAKIT_NVSHMEM_UNPACK ARGUMENTS) {                 \
    return gdakit::nvshmem::collect_here("nvshmem_" #CALL, __VA_ARGS__);                    \
  }                                                                                         \
  GDAKIT_DEVICE_ONLY int nvshmemx_##CALL##_warp(GDAKIT_NVSHMEM_UNPACK ARGUMENTS) {          \
    return gdakit::nvshmem::collect_by<gdakit::WarpGroup>(__VA_ARGS__);                     \
  }                                                                                         \
  GDAKIT_DEVICE_ONLY int nvshmemx_##CALL##_block(GDAKIT_NVSHMEM_UNPACK ARGUMENTS) {         \
    return gdakit::nvshmem::collect_by<gdakit::BlockGroup>(__VA_ARGS__);                    \
  }                                                                                         \
  GDAKIT_NVSHMEM_HOST_CALL int nvshmemx_##CALL##_on_stream(GDAKIT_NVSHMEM_UNPACK ARGUMENTS, \
                                                           gdakit::Stream stream) {         \
    return gdakit::nvshmem::collect_on_stream("nvshmemx_" #CALL "_on_stream", __VA_ARGS__,  \
                                              stream);                                      \
  }

#define GDAKIT_NVSHMEM_KIND(NAME) gdakit::HostOperation::Kind::NAME
#define GDAKIT_NVSHMEM_OF_TYPE(CALL, KIND, PARAMETER, ELEMENT)                                 \
  GDAKIT_NVSHMEM_COLLECTIVE(                                                                   \
      CALL, (nvshmem_team_t team, PARAMETER * dest, const PARAMETER* source, size_t nelems),   \
      gdakit::nvshmem::Collective{GDAKIT_NVSHMEM_KIND(KIND), gdakit::Team{team}, dest, source, \
                                  gdakit::bytes_of<ELEMENT>(nelems)})
#define GDAKIT_NVSHMEM_BROADCAST(CALL, PARAMETER, ELEMENT)                                  \
  GDAKIT_NVSHMEM_COLLECTIVE(                                                                \
      CALL,                                                                                 \
      (nvshmem_team_t team, PARAMETER * dest, const PARAMETER* source, size_t nelems,       \
       int PE_root),                                                                        \
      gdakit::nvshmem::Collective{GDAKIT_NVSHMEM_KIND(broadcast), gdakit::Team{team}, dest, \
                                  source, gdakit::bytes_of<ELEMENT>(nelems), PE_root})

#define GDAKIT_NVSHMEM_MOVING(NAME, TYPE)                       \
  GDAKIT_NVSHMEM_OF_TYPE(NAME##_fcollect, fcollect, TYPE, TYPE) \
  GDAKIT_NVSHMEM_OF_TYPE(NAME##_alltoall, alltoall, TYPE, TYPE) \
  GDAKIT_NVSHMEM_BROADCAST(NAME##_broadcast, TYPE, TYPE)
GDAKIT_NVSHMEM_TYPES(GDAKIT_NVSHMEM_MOVING)
GDAKIT_NVSHMEM_OF_TYPE(fcollectmem, fcollect, void, unsigned char)
GDAKIT_NVSHMEM_OF_TYPE(alltoallmem, alltoall, void, unsigned char)
GDAKIT_NVSHMEM_BROADCAST(broadcastmem, void, unsigned char)

#define GDAKIT_NVSHMEM_REDUCTION(CALL, KIND, TYPE, OP)                                         \
  GDAKIT_NVSHMEM_COLLECTIVE(                                                                   \
      CALL, (nvshmem_team_t team, TYPE * dest, const TYPE* source, size_t nreduce),            \
      gdakit::nvshmem::Collective{GDAKIT_NVSHMEM_KIND(KIND), gdakit::Team{team}, dest, source, \
                                  nreduce, 0, gdakit::nvshmem::element_of<TYPE>(),             \
                                  gdakit::ReduceOp::OP})
#define GDAKIT_NVSHMEM_REDUCTIONS(NAME, TYPE, CALL, OP)              \
  GDAKIT_NVSHMEM_REDUCTION(NAME##_##CALL##_reduce, reduce, TYPE, OP) \
  GDAKIT_NVSHMEM_REDUCTION(NAME##_##CALL##_reducescatter, reduce_scatter, TYPE, OP)
#define GDAKIT_NVSHMEM_SUMMING(NAME, TYPE)          \
  GDAKIT_NVSHMEM_REDUCTIONS(NAME, TYPE, sum, sum)   \
  GDAKIT_NVSHMEM_REDUCTIONS(NAME, TYPE, prod, prod) \
  GDAKIT_NVSHMEM_REDUCTIONS(NAME, TYPE, min, min)   \
  GDAKIT_NVSHMEM_REDUCTIONS(NAME, TYPE, max, max)
GDAKIT_NVSHMEM_SUMMED_TYPES(GDAKIT_NVSHMEM_SUMMING)
#define GDAKIT_NVSHMEM_BITWISE(NAME, TYPE)            \
  GDAKIT_NVSHMEM_REDUCTIONS(NAME, TYPE, and, bit_and) \
  GDAKIT_NVSHMEM_REDUCTIONS(NAME, TYPE, or, bit_or)   \
  GDAKIT_NVSHMEM_REDUCTIONS(NAME, TYPE, xor, bit_xor)
GDAKIT_NVSHMEM_BITWISE_TYPES(GDAKIT_NVSHMEM_BITWISE)

GDAKIT_NVSHMEM_COLLECTIVE(barrier, (nvshmem_team_t team),
                          gdakit::nvshmem::meeting(GDAKIT_NVSHMEM_KIND(barrier), team))
GDAKIT_NVSHMEM_COLLECTIVE(team_sync, (nvshmem_team_t team),
                          gdakit::nvshmem::meeting(GDAKIT_NVSHMEM_KIND(sync), team))
GDAKIT_NVSHMEM_COLLECTIVE(sync, (nvshmem_team_t team),
                          gdakit::nvshmem::meeting(GDAKIT_NVSHMEM_KIND(sync), team))

// Of all PEs: no team, no result.
#define GDAKIT_NVSHMEM_OF_ALL(CALL, KIND)                                                          \
  GDAKIT_NVSHMEM_CALL void nvshmem_##CALL() {                                                      \
    gdakit::nvshmem::meet_here(                                                                    \
        "nvshmem_" #CALL,                                                                          \
        gdakit::nvshmem::meeting(GDAKIT_NVSHMEM_KIND(KIND), NVSHMEM_TEAM_WORLD));                  \
  }                                                                                                \
  GDAKIT_DEVICE_ONLY void nvshmemx_##CALL##_warp() { nvshmemx_##KIND##_warp(NVSHMEM_TEAM_WORLD); } \
  GDAKIT_DEVICE_ONLY void nvshmemx_##CALL##_block() {                                              \
    nvshmemx_##KIND##_block(NVSHMEM_TEAM_WORLD);                                                   \
  }                                                                                                \
  GDAKIT_NVSHMEM_HOST_CALL void nvshmemx_##CALL##_on_stream(gdakit::Stream stream) {               \
    gdakit::nvshmem::meet_on_stream(                                                               \
        "nvshmemx_" #CALL "_on_stream",                                                            \
        gdakit::nvshmem::meeting(GDAKIT_NVSHMEM_KIND(KIND), NVSHMEM_TEAM_WORLD), stream);          \
  }
GDAKIT_NVSHMEM_OF_ALL(barrier_all, barrier)
GDAKIT_NVSHMEM_OF_ALL(sync_all, sync)

GDAKIT_NVSHMEM_CALL void nvshmem_quiet() {
  gdakit::nvshmem::here(
      "nvshmem_quiet", [](auto& thread) { thread.quiet(); },
      [](auto calls) { gdakit::nvshmem::done("nvshmem_quiet", calls.quiet()); });
}
GDAKIT_NVSHMEM_CALL void nvshmem_fence() {
  gdakit::nvshmem::here(
      "nvshmem_fence", [](auto& thread) { gdakit::nvshmem::fence(thread); },
      [](auto calls) { gdakit::nvshmem::done("nvshmem_fence", calls.fence()); });
}

}  // extern "C"
