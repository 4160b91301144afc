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

extern "C" __global__ void quiet(DeviceContext context) {
  CudaMachine m(context);
  Pe<CudaMachine> pe(m, context);
  pe.quiet();
}

}  // namespace gdakit::ptx_test
