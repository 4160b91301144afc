#include <atomic>
#include <cuda_runtime_api.h>
#include <map>
#include <mutex>

#include "backends/softnic/gpu/gpu_cuda.cuh"
#include "backends/softnic/gpu/gpu_dma.h"
#include "backends/softnic/gpu/gpu_port.h"
#include "core/host/gpu/cuda_driver.h"

namespace gdakit::softnic {
namespace {

GpuOrderOptions order_options(const GpuDmaOptions& options) {
  GpuOrderOptions out;
  out.kernels = options.method != DmaMethod::copy_engine;
  if (options.method == DmaMethod::kernels) out.engine_ops = 0;
  out.stuck_ns = options.stuck_ns;
  return out;
}

Result<std::shared_ptr<GpuOrder>> make_order(const GpuDmaOptions& options) {
  Result<std::unique_ptr<GpuDevice>> device = make_cuda_device(options.ordinal);
  if (!device) return device.error().within("make_gpu_dma");
  std::shared_ptr<GpuOrder> order = GpuOrder::create(std::move(*device), order_options(options));
  if (order == nullptr) {
    return Error(Code::exhausted,
                 "make_gpu_dma: no pinned memory left for GPU " + std::to_string(options.ordinal));
  }
  if (order->device().failed()) {
    return Error(Code::system, "make_gpu_dma: " + order->device().failure());
  }
  return order;
}

// What GDRCopy is used for: forced, or by itself where it works.
Result<std::shared_ptr<GdrCopy>> open_gdr(DmaMethod method) {
  if (method != DmaMethod::automatic && method != DmaMethod::gdrcopy) {
    return std::shared_ptr<GdrCopy>();
  }
  Result<std::unique_ptr<GdrCopy>> gdr = GdrCopy::open();
  if (gdr) return std::shared_ptr<GdrCopy>(std::move(*gdr));
  if (method == DmaMethod::gdrcopy) return gdr.error();
  return std::shared_ptr<GdrCopy>();
}

bool has_other_gpus() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 1;
}

}  // namespace

class GpuOrderDomain {
 public:
  Result<std::shared_ptr<GpuOrder>> order(const GpuDmaOptions& options) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<GpuOrder>& order = orders_[options.ordinal];
    if (order == nullptr) {
      Result<std::shared_ptr<GpuOrder>> made = make_order(options);
      if (!made) {
        orders_.erase(options.ordinal);
        return made.error();
      }
      order = *made;
    }
    // Between GPUs there is no order to rely on.
    alone_->store(orders_.size() == 1);
    return order;
  }

  std::shared_ptr<const std::atomic<bool>> alone() const { return alone_; }

 private:
  std::mutex mutex_;
  std::map<int, std::shared_ptr<GpuOrder>> orders_;  // by ordinal
  std::shared_ptr<std::atomic<bool>> alone_ = std::make_shared<std::atomic<bool>>(true);
};

std::shared_ptr<GpuOrderDomain> make_gpu_order_domain() {
  return std::make_shared<GpuOrderDomain>();
}

bool has_gpu_dma() { return true; }

Result<std::unique_ptr<DmaPort>> make_gpu_dma(const GpuDmaOptions& options) {
  Result<std::shared_ptr<GdrCopy>> gdr = open_gdr(options.method);
  if (!gdr) return gdr.error().within("make_gpu_dma");
  Result<std::shared_ptr<GpuOrder>> order =
      options.domain != nullptr ? options.domain->order(options) : make_order(options);
  if (!order) return order.error();
  GpuPortOptions port_options;
  port_options.order = *order;
  port_options.gdr = *gdr;
  if (options.domain != nullptr) port_options.early = options.domain->alone();
  port_options.other_gpus = has_other_gpus();
  std::unique_ptr<GpuPort> port = GpuPort::create(port_options);
  if (port == nullptr) {
    return Error(Code::exhausted, "make_gpu_dma: no pinned memory left for another port");
  }
  return std::unique_ptr<DmaPort>(std::move(port));
}

std::vector<DmaMethodReport> report_dma_methods(int ordinal) {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  std::string missing;
  if (code != cudaSuccess) {
    missing = cudaGetErrorString(code);
  } else if (ordinal < 0 || ordinal >= count) {
    missing = "there is no GPU " + std::to_string(ordinal);
  }
  if (!missing.empty()) {
    return {{DmaMethod::copy_engine, false, missing},
            {DmaMethod::kernels, false, missing},
            {DmaMethod::gdrcopy, false, missing}};
  }
  const Result<std::unique_ptr<GdrCopy>> gdr = GdrCopy::open();
  const std::string few = "up to " + std::to_string(GpuOrderOptions{}.engine_ops) + " operations";
  return {{DmaMethod::copy_engine, true,
           "auto uses it for all reads, for batches of " + few +
               ", and where kernels find no room on the GPU"},
          {DmaMethod::kernels, true,
           "auto uses them for larger batches, atomics and copies within the GPU"},
          {DmaMethod::gdrcopy, static_cast<bool>(gdr),
           gdr ? "auto uses it for small reads and writes" : gdr.error().message()}};
}

}  // namespace gdakit::softnic
