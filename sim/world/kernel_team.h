// KernelTeam: the TeamHandle that the kernels of a world get. As KernelPe notes its calls
// (kernel_pe.h), so does KernelTeam with the collectives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "device/team_handle.h"
#include "sim/world/call_scope.h"

namespace gdakit::sim {

// "sum" for ReduceOp::sum and for Sum; "its own operation" for a function object of the kernel's.
const char* operation_text(ReduceOp op);
template <class Op>
const char* operation_text() {
  if constexpr (std::is_same_v<Op, Sum>) return operation_text(ReduceOp::sum);
  if constexpr (std::is_same_v<Op, Prod>) return operation_text(ReduceOp::prod);
  if constexpr (std::is_same_v<Op, Min>) return operation_text(ReduceOp::min);
  if constexpr (std::is_same_v<Op, Max>) return operation_text(ReduceOp::max);
  if constexpr (std::is_same_v<Op, And>) return operation_text(ReduceOp::bit_and);
  if constexpr (std::is_same_v<Op, Or>) return operation_text(ReduceOp::bit_or);
  if constexpr (std::is_same_v<Op, Xor>) return operation_text(ReduceOp::bit_xor);
  return "its own operation";
}

template <class Group>
class KernelTeam : public TeamHandle<SimMachine, Group> {
  using Base = TeamHandle<SimMachine, Group>;
  using At = CallPlace;

 public:
  KernelTeam(SimMachine& machine, const DeviceContext& context, Team team)
      : Base(machine, context, team), machine_(machine), team_(team) {}

  Status sync(At at = At::here()) {
    const CallScope call(machine_, at, "sync", team_, nullptr, [] { return std::string(); });
    return Base::sync();
  }
  Status barrier(At at = At::here()) {
    const CallScope call(machine_, at, "barrier", team_, nullptr, [] { return std::string(); });
    return Base::barrier();
  }

  template <class T>
  Status broadcast(T* dest, const T* source, std::size_t count, int root, At at = At::here()) {
    const CallScope call(machine_, at, "broadcast", team_, dest, [&] {
      return bytes_text(bytes_of<T>(count)) + " from " + pe_text(Base::world_pe(root));
    });
    return Base::broadcast(dest, source, count, root);
  }
  template <class T>
  Status fcollect(T* dest, const T* source, std::size_t count, At at = At::here()) {
    const CallScope call(machine_, at, "fcollect", team_, dest,
                         [&] { return bytes_text(bytes_of<T>(count)) + " of each PE"; });
    return Base::fcollect(dest, source, count);
  }
  template <class T>
  Status collect(T* dest, const T* source, std::size_t count, At at = At::here()) {
    const CallScope call(machine_, at, "collect", team_, dest,
                         [&] { return bytes_text(bytes_of<T>(count)) + " of this PE"; });
    return Base::collect(dest, source, count);
  }
  template <class T>
  Status alltoall(T* dest, const T* source, std::size_t count, At at = At::here()) {
    const CallScope call(machine_, at, "alltoall", team_, dest,
                         [&] { return bytes_text(bytes_of<T>(count)) + " to each PE"; });
    return Base::alltoall(dest, source, count);
  }
  template <class T>
  Status alltoalls(T* dest, const T* source, std::ptrdiff_t dest_stride,
                   std::ptrdiff_t source_stride, std::size_t count, At at = At::here()) {
    return alltoalls(dest, source, dest_stride, source_stride, count, sizeof(T), at);
  }
  Status alltoalls(void* dest, const void* source, std::ptrdiff_t dest_stride,
                   std::ptrdiff_t source_stride, std::size_t count, std::uint32_t element_bytes,
                   At at = At::here()) {
    const CallScope call(machine_, at, "alltoalls", team_, dest,
                         [&] { return elements_text(count, element_bytes) + " to each PE"; });
    return Base::alltoalls(dest, source, dest_stride, source_stride, count, element_bytes);
  }

  template <class T, class Op>
  Status reduce(T* dest, const T* source, std::size_t count, Op op, At at = At::here()) {
    const CallScope call(machine_, at, "reduce", team_, dest, [&] {
      return elements_text(count, sizeof(T)) + " by " + operation_text<Op>();
    });
    return Base::reduce(dest, source, count, op);
  }
  Status reduce(void* dest, const void* source, std::size_t count, ElementType type, ReduceOp op,
                At at = At::here()) {
    const CallScope call(machine_, at, "reduce", team_, dest, [&] {
      return elements_text(count, gdakit::bytes_of(type)) + " by " + operation_text(op);
    });
    return Base::reduce(dest, source, count, type, op);
  }
  template <class T, class Op>
  Status reduce_scatter(T* dest, const T* source, std::size_t count, Op op, At at = At::here()) {
    const CallScope call(machine_, at, "reduce_scatter", team_, dest, [&] {
      return elements_text(count, sizeof(T)) + " by " + operation_text<Op>();
    });
    return Base::reduce_scatter(dest, source, count, op);
  }
  Status reduce_scatter(void* dest, const void* source, std::size_t count, ElementType type,
                        ReduceOp op, At at = At::here()) {
    const CallScope call(machine_, at, "reduce_scatter", team_, dest, [&] {
      return elements_text(count, gdakit::bytes_of(type)) + " by " + operation_text(op);
    });
    return Base::reduce_scatter(dest, source, count, type, op);
  }

 private:
  SimMachine& machine_;
  Team team_;
};

}  // namespace gdakit::sim
