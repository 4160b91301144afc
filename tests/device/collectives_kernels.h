// Kernels that make collective operations by a thread, a warp or a block.
#pragma once

#include "tests/support/job.h"

namespace gdakit::test {

enum class By { thread, warp, block };

inline const char* name_of(By by) {
  return by == By::thread ? "thread" : by == By::warp ? "warp" : "block";
}

// The team for the group. One block of `threads` is launched; threads outside the group do nothing.
template <By kBy, class Pe, class Act>
GDAKIT_DEVICE void by_group(Pe& pe, Team team, Act&& act) {
  auto& m = pe.machine();
  if constexpr (kBy == By::thread) {
    auto group = pe.team(team);
    if (m.thread_index() == 0) act(group);
  } else if constexpr (kBy == By::warp) {
    auto group = pe.warp().team(team);
    if (m.warp() == 0) act(group);
  } else {
    auto group = pe.block().team(team);
    act(group);
  }
}

template <By kBy>
inline constexpr std::uint32_t kThreads = kBy == By::thread ? 1
                                          : kBy == By::warp ? 32
                                                            : 48;

// Where each operation of AllOperations leaves its result; symmetric.
template <class T>
struct Destinations {
  T* broadcast;
  T* broadcast_in_place;  // on the root the source, too
  T* fcollect;
  T* fcollect_in_place;  // this member's own place is the source
  T* collect;
  T* alltoall;
  T* alltoalls;
  T* reduce;
  T* reduce_in_place;
  T* scatter;
  T* scatter_in_place;  // n * count, the source too
};

// Every operation once, one behind the other, with nothing between them.
template <By kBy, class T>
struct AllOperations {
  Team team;
  const T* source;  // n * count elements; for alltoalls as many source strides
  Destinations<T> to;
  std::size_t count;
  std::size_t collect_count;
  int root;
  std::ptrdiff_t dest_stride;  // of alltoalls, like the next
  std::ptrdiff_t source_stride;
  Expect expect;

  static constexpr std::uint32_t kExpectations = 13;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    by_group<kBy>(pe, team, [&](auto& group) {
      expect(pe, group.sync().ok());
      expect(pe, group.broadcast(to.broadcast, source, count, root).ok());
      expect(pe, group.broadcast(to.broadcast_in_place, to.broadcast_in_place, count, root).ok());
      expect(pe, group.fcollect(to.fcollect, source, count).ok());
      T* const own = to.fcollect_in_place + static_cast<std::size_t>(group.my_pe()) * count;
      expect(pe, group.fcollect(to.fcollect_in_place, own, count).ok());
      expect(pe, group.collect(to.collect, source, collect_count).ok());
      expect(pe, group.alltoall(to.alltoall, source, count).ok());
      expect(pe, group.alltoalls(to.alltoalls, source, dest_stride, source_stride, count).ok());
      expect(pe, group.reduce(to.reduce, source, count, Sum{}).ok());
      expect(pe, group.reduce(to.reduce_in_place, to.reduce_in_place, count, Sum{}).ok());
      expect(pe, group.reduce_scatter(to.scatter, source, count, Sum{}).ok());
      expect(pe, group.reduce_scatter(to.scatter_in_place, to.scatter_in_place, count, Sum{}).ok());
      expect(pe, group.barrier().ok());
    });
  }
};

// One reduction and one reduce_scatter of elements of `type`.
template <By kBy>
struct Reductions {
  Team team;
  ElementType type;
  ReduceOp op;
  const void* source;
  void* dest;
  void* scattered;
  std::size_t count;
  Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    by_group<kBy>(pe, team, [&](auto& group) {
      expect(pe, group.reduce(dest, source, count, type, op).ok());
      expect(pe, group.reduce_scatter(scattered, source, count, type, op).ok());
    });
  }
};

}  // namespace gdakit::test
