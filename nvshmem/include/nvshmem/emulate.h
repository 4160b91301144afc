// Kernels written with NVSHMEM's names on the emulator: for tests without a GPU.
//
//   struct SimpleShift {
//     int* destination;
//     void operator()() const { nvshmem_int_p(destination, nvshmem_my_pe(), 1); }
//   };
//   gdakit::Result<void> ran = gdakit::nvshmem::emulate(SimpleShift{destination}, {1, 32});
#pragma once

#include "gdakit.h"
#include "nvshmem/nvshmem.h"

namespace gdakit::nvshmem {

inline const bool kEmulates = expect_emulated_kernels();

template <class Kernel>
struct EmulatedKernel {
  Kernel kernel;

  template <class Pe>
  void operator()(Pe&) const {
    kernel();
  }
};

// Calls kernel() for every thread and returns when all have ended. Errors: what the device reports.
template <class Kernel>
Result<void> emulate(const Kernel& kernel, LaunchShape shape) {
  return context("emulate").launch<EmulatedKernel<Kernel>, CompiledForCpu>({kernel}, shape);
}

}  // namespace gdakit::nvshmem
