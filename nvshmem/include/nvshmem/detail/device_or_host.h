// Here: one name for the device and the host. A function of NVSHMEM's says what it does in a
// kernel, with a Pe, and what it does on the host, with HostCalls.
#pragma once

#include <cstdio>

#include "nvshmem/detail/library.h"
#if GDAKIT_NVCC
#include "device/cuda_machine.cuh"
#else
#include "sim/host_machine.h"
#endif

// A function of both sides, and one of the host alone. The library has each as a symbol.
#ifndef GDAKIT_NVSHMEM_KEPT
#define GDAKIT_NVSHMEM_KEPT
#endif
#define GDAKIT_NVSHMEM_CALL GDAKIT_HOST_DEVICE GDAKIT_NVSHMEM_KEPT inline
#define GDAKIT_NVSHMEM_HOST_CALL GDAKIT_NVSHMEM_KEPT inline

namespace gdakit::nvshmem {

// The threads of a call's name: none, _warp or _block.
template <class Group, class P>
GDAKIT_DEVICE auto as_group(P& pe) {
  if constexpr (std::is_same_v<Group, WarpGroup>) {
    return pe.warp();
  } else if constexpr (std::is_same_v<Group, BlockGroup>) {
    return pe.block();
  } else {
    return pe;
  }
}

// The handle of one call's thread.
template <class M>
using CallingPe = Pe<M, ThreadGroup, CalledPublication>;

#if GDAKIT_NVCC

// Every file has a copy, in constant memory, with or without relocatable device code.
static __constant__ DeviceContext constant_context;

static int fill_constant_context(const DeviceContext& context) {
  return cudaMemcpyToSymbol(constant_context, &context, sizeof(context));
}

class RegisteredModule {
 public:
  RegisteredModule() : module_{fill_constant_context} { add_module(&module_); }
  ~RegisteredModule() { remove_module(&module_); }
  RegisteredModule(const RegisteredModule&) = delete;
  RegisteredModule& operator=(const RegisteredModule&) = delete;

 private:
  Module module_;
};
static const RegisteredModule registered_module;

// Ends the kernel by a fault.
__host__ __device__ inline void exit_in_kernel(int pe, int status) {
  printf("PE %d: nvshmem_global_exit(%d) in a kernel\n", pe, status);
  if constexpr (GDAKIT_DEVICE_CODE != 0) ptx::trap();
}

// act(pe) in the kernel's thread, for threads that act as Group.
template <class Group, class Act>
__device__ __forceinline__ auto in_kernel(Act&& act) {
  CudaMachine machine(constant_context);
  CallingPe<CudaMachine> thread(machine, constant_context);
  auto pe = as_group<Group>(thread);
  return act(pe);
}

// device(pe) in a kernel, host(calls) elsewhere. `call` is the name for reports of the host.
template <class OnDevice, class OnHost>
__host__ __device__ __forceinline__ auto here(const char* call, OnDevice&& device, OnHost&& host) {
  if constexpr (GDAKIT_DEVICE_CODE != 0) {
    return in_kernel<ThreadGroup>(device);
  } else {
    return host(HostCalls::blocking(context(call)));
  }
}

// The same for what the host needs no calls for.
template <class OnDevice, class OnHost>
__host__ __device__ __forceinline__ auto ask_here(OnDevice&& device, OnHost&& host) {
  if constexpr (GDAKIT_DEVICE_CODE != 0) {
    return in_kernel<ThreadGroup>(device);
  } else {
    return host(0);
  }
}

#else

inline void exit_in_kernel(int, int status) { host_global_exit(status); }

template <class Group, class Act>
auto in_kernel(Act&& act) {
  sim::HostMachine machine(*sim::current_thread());
  CallingPe<sim::HostMachine> thread(machine, *device_context());
  auto pe = as_group<Group>(thread);
  return act(pe);
}

template <class OnDevice, class OnHost>
auto here(const char* call, OnDevice&& device, OnHost&& host) {
  if (sim::current_thread() != nullptr) return in_kernel<ThreadGroup>(device);
  return host(HostCalls::blocking(context(call)));
}

template <class OnDevice, class OnHost>
auto ask_here(OnDevice&& device, OnHost&& host) {
  return sim::current_thread() == nullptr ? host(0) : in_kernel<ThreadGroup>(device);
}

#endif

// What the host's forms do with results.
inline void done(const char* call, const Result<void>& result) { require(call, result); }
template <class T>
T done(const char* call, const Result<T>& result) {
  if (!result) fail(call, result.error());
  return *result;
}

GDAKIT_HOST_DEVICE constexpr Compare compare_of(int comparison) {
  switch (comparison) {
    case NVSHMEM_CMP_EQ: return Compare::eq;
    case NVSHMEM_CMP_NE: return Compare::ne;
    case NVSHMEM_CMP_GT: return Compare::gt;
    case NVSHMEM_CMP_LE: return Compare::le;
    case NVSHMEM_CMP_LT: return Compare::lt;
    default: return Compare::ge;
  }
}
GDAKIT_HOST_DEVICE constexpr SignalOp signal_op_of(int op) {
  return op == NVSHMEM_SIGNAL_ADD ? SignalOp::add : SignalOp::set;
}
// What collectives return.
GDAKIT_HOST_DEVICE constexpr int code_of(const Status& status) {
  return status.ok() ? NVSHMEMX_SUCCESS : NVSHMEMX_ERROR_INTERNAL;
}

}  // namespace gdakit::nvshmem
