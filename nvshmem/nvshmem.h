// NVSHMEM's interface over gdakit: a program written for NVSHMEM compiles with this header in the
// place of NVSHMEM's, and links gdakit_nvshmem (CMake: gdakit::nvshmem).
//
// docs/nvshmem.md lists the names: what is there, what is not, and what differs.
#pragma once

#include "nvshmem/detail/absent.h"
#include "nvshmem/detail/atomics.h"
#include "nvshmem/detail/collectives.h"
#include "nvshmem/detail/constants.h"
#include "nvshmem/detail/rma.h"
#include "nvshmem/detail/setup.h"
#include "nvshmem/detail/signal.h"
#include "nvshmem/detail/stream.h"
#include "nvshmem/detail/types.h"
#include "nvshmem/detail/wait.h"
// Host files of NVSHMEM's users name the CUDA runtime without including it.
#if GDAKIT_NVCC || __has_include(<cuda_runtime.h>)
#include "nvshmem/detail/launch.cuh"
#endif
