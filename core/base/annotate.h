// The one place that knows which compiler is at work.
//
// Everything else is written once: a function that both sides call is GDAKIT_HOST_DEVICE, a
// function that only emulated or real GPU threads call is GDAKIT_DEVICE. Under a plain C++ compiler
// both are nothing, so that the CPU emulator runs the very same functions.
#pragma once

#if defined(__CUDACC__)
#define GDAKIT_NVCC 1
#define GDAKIT_HOST_DEVICE __host__ __device__
// Inlined whatever its size: then what a handle remembers stays in registers.
#define GDAKIT_DEVICE __host__ __device__ __forceinline__
// Called, and so there once in a kernel: for what is large, used in many places, and slow anyhow.
#define GDAKIT_DEVICE_CALL __host__ __device__ __noinline__
// For kernels alone, with nothing on the host.
#define GDAKIT_DEVICE_ONLY __device__ __forceinline__
// A result that nobody looks at is a warning; not with nvcc 13, which takes an assignment to such
// an object for a call whose result is dropped.
#define GDAKIT_NODISCARD
#else
#define GDAKIT_NVCC 0
#define GDAKIT_HOST_DEVICE
#define GDAKIT_DEVICE
#define GDAKIT_DEVICE_CALL
#define GDAKIT_DEVICE_ONLY inline
#define GDAKIT_NODISCARD [[nodiscard]]
#endif

// GDAKIT_EMULATED is for members of emulated machines. The protocol, which nvcc compiles for both
// sides, names them; they run on the host only. Between the two PRAGMAs nvcc takes calls of host
// functions from them without a warning.
#if defined(__CUDACC__)
#define GDAKIT_EMULATED __host__ __device__
#define GDAKIT_EMULATED_BEGIN _Pragma("nv_diagnostic push") _Pragma("nv_diag_suppress 20011, 20014")
#define GDAKIT_EMULATED_END _Pragma("nv_diagnostic pop")
#else
#define GDAKIT_EMULATED
#define GDAKIT_EMULATED_BEGIN
#define GDAKIT_EMULATED_END
#endif

// 1 while nvcc compiles the GPU's side of a function, and for which architecture (900: sm_90).
// GDAKIT_UNROLL stands before a loop over an array that is to stay in registers; the host's
// compiler does not know that pragma.
#if defined(__CUDA_ARCH__)
#define GDAKIT_UNROLL _Pragma("unroll")
#define GDAKIT_DEVICE_CODE 1
#define GDAKIT_CUDA_ARCH __CUDA_ARCH__
#else
#define GDAKIT_UNROLL
#define GDAKIT_DEVICE_CODE 0
#define GDAKIT_CUDA_ARCH 0
#endif

// 1 where nvcc compiles with -rdc=true: functions before their callers are known.
#if defined(__CUDACC_RDC__)
#define GDAKIT_RELOCATABLE 1
#else
#define GDAKIT_RELOCATABLE 0
#endif

// 1 where nvcc compiles with -G: nothing is optimized.
#if defined(__CUDACC_DEBUG__)
#define GDAKIT_DEVICE_DEBUG 1
#else
#define GDAKIT_DEVICE_DEBUG 0
#endif

// One instruction on either side; not for constant expressions.
#if defined(__CUDA_ARCH__)
#define GDAKIT_POPCOUNT32(value) __popc(value)
#define GDAKIT_POPCOUNT64(value) __popcll(value)
#define GDAKIT_BYTE_SWAP32(value) __byte_perm(value, 0, 0x0123)
#else
#define GDAKIT_POPCOUNT32(value) __builtin_popcount(value)
#define GDAKIT_POPCOUNT64(value) __builtin_popcountll(value)
#define GDAKIT_BYTE_SWAP32(value) __builtin_bswap32(value)
#endif

#if defined(__SANITIZE_THREAD__)
#define GDAKIT_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GDAKIT_TSAN 1
#endif
#endif
#if !defined(GDAKIT_TSAN)
#define GDAKIT_TSAN 0
#endif

#if defined(__SANITIZE_ADDRESS__)
#define GDAKIT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GDAKIT_ASAN 1
#endif
#endif
#if !defined(GDAKIT_ASAN)
#define GDAKIT_ASAN 0
#endif

namespace gdakit {

// What the compiler at work makes kernels for. Templates that differ between the two take it as an
// argument, so that a program may be put together from files of both compilers. A file that defines
// GDAKIT_ON_GPU_ONLY leaves its kernels' emulation out, and compiles in half the time.
struct CompiledForCpu {
  static constexpr bool runs_on_gpu = false;
  static constexpr bool runs_on_cpu = true;
};
struct CompiledForBoth {
  static constexpr bool runs_on_gpu = true;
  static constexpr bool runs_on_cpu = true;
};
struct CompiledForGpu {
  static constexpr bool runs_on_gpu = true;
  static constexpr bool runs_on_cpu = false;
};
#if GDAKIT_NVCC && defined(GDAKIT_ON_GPU_ONLY)
using ThisCompiler = CompiledForGpu;
#elif GDAKIT_NVCC
using ThisCompiler = CompiledForBoth;
#else
using ThisCompiler = CompiledForCpu;
#endif

// True in a ThreadSanitizer build. ThreadSanitizer does not understand fences, so accesses that a
// fence orders are strengthened there; what checks the fences themselves is the simulator.
inline constexpr bool kThreadSanitizer = GDAKIT_TSAN != 0;
inline constexpr bool kAddressSanitizer = GDAKIT_ASAN != 0;
}  // namespace gdakit
