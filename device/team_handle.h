// TeamHandle: what a kernel does with a team. Made by Pe::team, for a thread, a warp or a block.
//
//   auto row = pe.block().team(rows);
//   row.reduce(dest, source, count, Sum{});   // by all threads of the block, on every member
//   row.barrier();
//
// Collective calls: all members of the team make the same calls in the same order, with the same
// arguments where nothing else is said; one group of threads of each PE at a time for each team,
// but several teams at a time. Groups of different kinds (a warp here, a block there) may meet.
//
// Addresses. `dest` lies in the symmetric heap, `source` there or in registered memory. They are
// aligned as T asks for, and must not overlap unless a call allows it. `dest` must be ready on all
// members before any of them calls.
//
// Ordering. What any thread of the group stored before a call is part of it. When a call has
// returned, `dest` is complete here and may be read by all threads of the group, and `source` may
// be reused. Members are not otherwise synchronised, and earlier puts are not completed, but by
// sync and barrier. Calls may follow each other at once; but a member that is ahead may write into
// the next call's `dest` already.
//
// Errors. A team that this PE is no member of, and a root that is no member, are refused with
// StatusCode::invalid_argument; a `dest` or `source` of which a part lies elsewhere, with
// invalid_address. Nothing is done then; if that is so on some members only (a bad `source` of the
// root, say), the others wait for them as for a member that does not come. A failure under way (a
// queue that broke, a member that does not come within the watchdog's limit) breaks the team on
// this PE: later calls return the same Status at once, those without elements, too.
//
// Source: OpenSHMEM 1.5 section 9.11 for the semantics of the operations.
#pragma once

#include "device/collective/alltoall.h"
#include "device/collective/any_combine.h"
#include "device/collective/broadcast.h"
#include "device/collective/gather.h"
#include "device/collective/reduce.h"
#include "device/collective/sync.h"
#include "device/quiet.h"
#include "device/value_bits.h"

namespace gdakit {

template <class M, class Group, class Publication>
class Pe;

template <class M, class Group = ThreadGroup>
class TeamHandle {
 public:
  // `context` must outlive the handle.
  GDAKIT_DEVICE TeamHandle(M& m, const DeviceContext& context, Team team)
      : m_(m), context_(context), team_(team) {}

  // This PE's number in the team, how many members it has, and a member's number among all PEs and
  // in another team. -1 where there is none. Not collective.
  GDAKIT_DEVICE int my_pe() const { return team_my_pe(context_, team_); }
  GDAKIT_DEVICE int n_pes() const { return team_n_pes(context_, team_); }
  GDAKIT_DEVICE int world_pe(int pe) const { return translate(pe, kTeamWorld); }
  GDAKIT_DEVICE int translate(int pe, Team in) const {
    return team_translate_pe(context_, team_, pe, in);
  }

  // All members meet. barrier also completes what this PE posted before, on every queue and to
  // every PE, before it tells the others; of a batch that was left open on an exclusive queue, that
  // is for its owner to do. A PE whose own operations failed comes all the same.
  GDAKIT_DEVICE Status sync() { return sync(false); }
  GDAKIT_DEVICE Status barrier() {
    if (Status met; sync_directly(true, &met)) return met;
    HandleMemo memo;
    const Poster<M, SharedPublication> poster{m_, context_, 0, memo};
    const Status quieted = quiet(poster, Group{});
    const Status met = sync(true);
    return quieted.ok() ? met : quieted;
  }

  // `count` elements of member `root` come to `dest` on all members, the root included, where
  // `dest` may be `source`.
  template <class T>
  GDAKIT_DEVICE Status broadcast(T* dest, const T* source, std::size_t count, int root) {
    if (root < 0 || root >= n_pes()) return refuse(Fault::root, dest, bytes_of<T>(count));
    if (!fits<T>(count)) return refuse(Fault::count, dest, bytes_of<T>(count));
    return run([=](auto& session) {
      return collective::broadcast(session, dest, source, count * sizeof(T), root);
    });
  }

  // `count` elements of each member: those of member i come to dest + i * count on all members.
  // `source` may be this member's own place in `dest`.
  template <class T>
  GDAKIT_DEVICE Status fcollect(T* dest, const T* source, std::size_t count) {
    if (!fits<T>(count)) return refuse(Fault::count, dest, bytes_of<T>(count));
    return run([=](auto& session) {
      return collective::fcollect(session, dest, source, count * sizeof(T));
    });
  }
  // The same for counts that differ from member to member; they stand behind one another in `dest`
  // in the order of the members.
  template <class T>
  GDAKIT_DEVICE Status collect(T* dest, const T* source, std::size_t count) {
    if (!fits<T>(count)) return refuse(Fault::count, dest, bytes_of<T>(count));
    return run([=](auto& session) {
      return collective::collect(session, dest, source, count * sizeof(T));
    });
  }

  // Block j of `source`, of `count` elements, comes to block my_pe() of `dest` on member j.
  template <class T>
  GDAKIT_DEVICE Status alltoall(T* dest, const T* source, std::size_t count) {
    if (!fits<T>(count)) return refuse(Fault::count, dest, bytes_of<T>(count));
    return run([=](auto& session) {
      return collective::alltoall(session, dest, source, count * sizeof(T));
    });
  }
  // The same for elements that lie `dest_stride` and `source_stride` elements apart (at least 1):
  // element i of block j is the one at (j * count + i) * stride.
  template <class T>
  GDAKIT_DEVICE Status alltoalls(T* dest, const T* source, std::ptrdiff_t dest_stride,
                                 std::ptrdiff_t source_stride, std::size_t count) {
    return alltoalls(dest, source, dest_stride, source_stride, count, sizeof(T));
  }
  GDAKIT_DEVICE Status alltoalls(void* dest, const void* source, std::ptrdiff_t dest_stride,
                                 std::ptrdiff_t source_stride, std::size_t count,
                                 std::uint32_t element_bytes) {
    if (dest_stride < 1 || source_stride < 1) return refuse(Fault::stride, dest, count);
    if (!fits(count, element_bytes)) return refuse(Fault::count, dest, count);
    const collective::Strides strides{element_bytes, dest_stride, source_stride};
    return run([=](auto& session) {
      return collective::alltoalls(session, dest, source, strides, count);
    });
  }

  // Element i of `dest` becomes the members' elements i of `source`, combined by `op` (combine.h:
  // Sum, Prod, Min, Max, And, Or, Xor, or a function object of one's own), on all members, with the
  // same bits. `dest` may be `source`, on all members or on some: which way the messages take is
  // the same on all of them. Sums and products of integers wrap round.
  template <class T, class Op>
  GDAKIT_DEVICE Status reduce(T* dest, const T* source, std::size_t count, Op) {
    if (!fits<T>(count)) return refuse(Fault::count, dest, bytes_of<T>(count));
    return run([=](auto& session) {
      return collective::reduce(session, reduction<T, Op>(dest, source, count));
    });
  }
  // With a type and an operation that are known at run time only; and, or and xor of floating-point
  // numbers are refused. Likewise reduce_scatter.
  GDAKIT_DEVICE Status reduce(void* dest, const void* source, std::size_t count, ElementType type,
                              ReduceOp op) {
    if (!is_valid(type, op)) return refuse(Fault::operation, dest, count);
    if (!fits(count, gdakit::bytes_of(type))) return refuse(Fault::count, dest, count);
    return run([=](auto& session) {
      return collective::reduce(session, any_reduction(dest, source, count, type, op));
    });
  }
  // Of n_pes() * count combined elements, those from my_pe() * count on. `dest` may be `source`.
  template <class T, class Op>
  GDAKIT_DEVICE Status reduce_scatter(T* dest, const T* source, std::size_t count, Op) {
    if (!fits<T>(count)) return refuse(Fault::count, dest, bytes_of<T>(count));
    return run([=](auto& session) {
      return collective::reduce_scatter(session, reduction<T, Op>(dest, source, count));
    });
  }
  GDAKIT_DEVICE Status reduce_scatter(void* dest, const void* source, std::size_t count,
                                      ElementType type, ReduceOp op) {
    if (!is_valid(type, op)) return refuse(Fault::operation, dest, count);
    if (!fits(count, gdakit::bytes_of(type))) return refuse(Fault::count, dest, count);
    return run([=](auto& session) {
      return collective::reduce_scatter(session, any_reduction(dest, source, count, type, op));
    });
  }

 private:
  template <class, class, class>
  friend class Pe;

  // `ordered`: the group comes from quiet.
  GDAKIT_DEVICE Status sync(bool ordered) {
    if (Status met; sync_directly(false, &met)) return met;
    return run([=](auto& session) { return collective::sync(session, ordered); });
  }

  // A sync or a barrier, if it is one among direct peers alone.
  GDAKIT_DEVICE bool sync_directly(bool is_barrier, Status* met) {
    if (!context_.heap.direct_only) return false;
    const TeamView* const view = find_team(context_, team_);
    if (view == nullptr || !collective::can_sync_directly(m_, context_, Group{}, *view)) {
      return false;
    }
    *met = collective::direct_sync(m_, context_, Group{}, *view, is_barrier);
    return true;
  }

  template <class T, class Op>
  GDAKIT_DEVICE static collective::Reduction<collective::Combine<T, Op>> reduction(
      T* dest, const T* source, std::size_t count) {
    static_assert(sizeof(T) <= kMaxReducedBytes, "an element must fit into the scratch memory");
    return {
        {}, reinterpret_cast<std::byte*>(dest), reinterpret_cast<const std::byte*>(source), count};
  }

  GDAKIT_DEVICE static collective::Reduction<collective::AnyCombine> any_reduction(
      void* dest, const void* source, std::size_t count, ElementType type, ReduceOp op) {
    return {
        {type, op}, static_cast<std::byte*>(dest), static_cast<const std::byte*>(source), count};
  }

  // All threads of the group get the same Status.
  template <class Act>
  GDAKIT_DEVICE Status run(Act&& act) {
    const TeamView* const view = find_team(context_, team_);
    if (view == nullptr) return refuse(Fault::not_a_member, nullptr, 0);
    collective::Session<M, Group> session(m_, context_, Group{}, *view);
    return act(session);
  }
  // Whether so many elements fit into a heap, so that nothing that is computed of them overflows.
  GDAKIT_DEVICE bool fits(std::size_t count, std::size_t element_bytes) const {
    constexpr std::uint64_t kMostOfAnyHeap = std::uint64_t{1} << 46;
    const HeapView& heap = context_.heap;
    return count <= (is_checked(heap) ? kMostOfAnyHeap : heap.end - heap.base) / element_bytes;
  }
  template <class T>
  GDAKIT_DEVICE bool fits(std::size_t count) const {
    return fits(count, sizeof(T));
  }
  GDAKIT_DEVICE Status refuse(Fault what, const void* address, std::size_t bytes) const {
    return report_fault(m_, context_, Operation::collective, what, -1,
                        reinterpret_cast<std::uint64_t>(address), bytes);
  }

  M& m_;
  const DeviceContext& context_;
  Team team_;
};

}  // namespace gdakit
