// Kernels whose PTX ptx_test.py reads. Each makes one call, as a user's kernel would.
#include "device/cuda_machine.cuh"
#include "device/pe.h"

namespace gdakit::ptx_test {

extern "C" __global__ void put_shared(DeviceContext context, int* remote, const int* local) {
  CudaMachine m(context);
  Pe<CudaMachine> pe(m, context);
  pe.put_nbi(remote, local, 2, 1);
}

extern "C" __global__ void put_value_shared(DeviceContext context, int* remote) {
  CudaMachine m(context);
  Pe<CudaMachine> pe(m, context);
  pe.put_value(remote, 7, 1);
}

extern "C" __global__ void put_exclusive(DeviceContext context, int* remote, const int* local) {
  CudaMachine m(context);
  Pe<CudaMachine> pe(m, context);
  auto own = pe.exclusively_on(0);
  own.put_nbi(remote, local, 2, 1);
}

// What a bandwidth test does. Nothing that the loop could share may take registers for all of it.
extern "C" __global__ void put_loop(DeviceContext context, std::uint64_t* heap, std::uint32_t puts,
                                    std::uint32_t ring_every) {
  CudaMachine m(context);
  Pe<CudaMachine> pe(m, context);
  std::uint64_t* const word = heap + blockIdx.x * 1024 + threadIdx.x;
  for (std::uint32_t i = 1; i <= puts; ++i) {
    pe.put_nbi(word, word, 1, 0, i % ring_every == 0 ? Batch::last : Batch::more);
  }
}

extern "C" __global__ void quiet(DeviceContext context) {
  CudaMachine m(context);
  Pe<CudaMachine> pe(m, context);
  pe.quiet();
}

}  // namespace gdakit::ptx_test
