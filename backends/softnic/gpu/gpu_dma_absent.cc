// What a library without CUDA says when it is asked for GPU memory.
#include "backends/softnic/gpu/gpu_dma.h"

namespace gdakit::softnic {
namespace {

constexpr const char* kAbsent = "this library was built without CUDA; build it with GDAKIT_CUDA=ON";

}  // namespace

class GpuOrderDomain {};

std::shared_ptr<GpuOrderDomain> make_gpu_order_domain() {
  return std::make_shared<GpuOrderDomain>();
}

bool has_gpu_dma() { return false; }

Result<std::unique_ptr<DmaPort>> make_gpu_dma(const GpuDmaOptions&) {
  return Error(Code::unavailable, std::string("make_gpu_dma: ") + kAbsent);
}

Result<std::shared_ptr<HostPages>> make_gpu_pages() {
  return Error(Code::unavailable, std::string("make_gpu_pages: ") + kAbsent);
}

std::vector<DmaMethodReport> report_dma_methods(int) {
  return {{DmaMethod::copy_engine, false, kAbsent},
          {DmaMethod::kernels, false, kAbsent},
          {DmaMethod::gdrcopy, false, kAbsent}};
}

}  // namespace gdakit::softnic
