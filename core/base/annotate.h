// The one place that knows which compiler is at work.
//
// Everything else is written once: a function that both sides call is GDAKIT_HOST_DEVICE, a
// function that only emulated or real GPU threads call is GDAKIT_DEVICE. Under a plain C++ compiler
// both are nothing, so that the CPU emulator runs the very same functions.
#pragma once

#if defined(__CUDACC__)
#define GDAKIT_HOST_DEVICE __host__ __device__
#define GDAKIT_DEVICE __host__ __device__
#else
#define GDAKIT_HOST_DEVICE
#define GDAKIT_DEVICE
#endif

// 1 while nvcc compiles the GPU's side of a function.
#if defined(__CUDA_ARCH__)
#define GDAKIT_DEVICE_CODE 1
#else
#define GDAKIT_DEVICE_CODE 0
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
// True in a ThreadSanitizer build. ThreadSanitizer does not understand fences, so accesses that a
// fence orders are strengthened there; what checks the fences themselves is the simulator.
inline constexpr bool kThreadSanitizer = GDAKIT_TSAN != 0;
inline constexpr bool kAddressSanitizer = GDAKIT_ASAN != 0;
}  // namespace gdakit
