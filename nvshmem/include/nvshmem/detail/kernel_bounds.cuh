// What kernels without __launch_bounds__ are compiled for, in files that include nvshmem.h. nvcc
// would give them as many registers as they like, those of NVSHMEM's calls included, and a launch
// of large blocks would fail for lack of registers.
//
// GDAKIT_NVSHMEM_MAX_THREADS is the largest block: 1,024, or 256 with -rdc=true and -G, where
// functions are compiled before their callers are known, and take more registers. Fewer threads
// leave a kernel more registers; 0 leaves all to nvcc.
#pragma once

#include <cuda_runtime.h>

#include "core/base/annotate.h"

#if !defined(GDAKIT_NVSHMEM_MAX_THREADS)
#if GDAKIT_RELOCATABLE && GDAKIT_DEVICE_DEBUG
#define GDAKIT_NVSHMEM_MAX_THREADS 256
#else
#define GDAKIT_NVSHMEM_MAX_THREADS 1024
#endif
#endif

// A kernel's own __launch_bounds__ win if they stand behind __global__. As the CUDA Toolkit defines
// both names.
#if GDAKIT_NVSHMEM_MAX_THREADS > 0
#undef __global__
#define __global__ __location__(global) __launch_bounds__(GDAKIT_NVSHMEM_MAX_THREADS)
#endif
