// What a queue's Status says of the NIC's faults, on a GPU: queue, words and doorbells lie in
// pinned host memory.
#include "backends/softnic/gpu/gpu_dma.h"
#include "device/cuda_machine.cuh"
#include "tests/device/nic_status.h"
#include "tests/gpu/streams.cuh"

namespace gdakit::test {
namespace {

class PinnedMemory final : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t) override {
    void* memory = nullptr;  // aligned to a page at least
    if (cudaMallocHost(&memory, bytes) != cudaSuccess) throw std::bad_alloc();
    return memory;
  }
  void do_deallocate(void* memory, std::size_t, std::size_t) override { cudaFreeHost(memory); }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

template <class Kernel>
__global__ void run_once(const __grid_constant__ Kernel kernel) {
  CudaMachine machine(Scope::system);
  kernel(machine);
}

struct OnGpu {
  static std::pmr::memory_resource* memory() {
    static PinnedMemory pinned;
    return &pinned;
  }
  static std::shared_ptr<softnic::HostPages> doorbell_pages() { return *softnic::make_gpu_pages(); }

  template <class Kernel>
  static Result<void> run(const Kernel& kernel) {
    run_once<<<1, 1>>>(kernel);
    return cuda_ok(cudaDeviceSynchronize(), "a queue on the GPU");
  }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, QueueOnNic, OnGpu);

}  // namespace
}  // namespace gdakit::test
