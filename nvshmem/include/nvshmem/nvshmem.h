// NVSHMEM's interface over gdakit: a program written for NVSHMEM compiles with this header in the
// place of NVSHMEM's, and links gdakit_nvshmem (CMake: gdakit::nvshmem).
//
// docs/nvshmem.md lists the names: what is there, what is not, and what differs.
#pragma once

// An older C++ would fail at hundreds of places before anybody sees why.
#if __cplusplus < 201703L
#error "gdakit's nvshmem.h needs C++17 or newer: compile with -std=c++17"
#else

// What programs use of NVSHMEM's own headers without including it themselves.
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvshmem/detail/absent.h"
#include "nvshmem/detail/atomics.h"
#include "nvshmem/detail/collectives.h"
#include "nvshmem/detail/constants.h"
#include "nvshmem/detail/errors.h"
#include "nvshmem/detail/refused.h"
#include "nvshmem/detail/rma.h"
#include "nvshmem/detail/setup.h"
#include "nvshmem/detail/signal.h"
#include "nvshmem/detail/stream.h"
#include "nvshmem/detail/types.h"
#include "nvshmem/detail/wait.h"
#if GDAKIT_NVCC || __has_include(<cuda_runtime.h>)
#include "nvshmem/detail/launch.cuh"
#include "nvshmem/detail/maxloc.cuh"
#endif
#if GDAKIT_NVCC
#include "nvshmem/detail/kernel_bounds.cuh"
#endif

#endif  // C++17
