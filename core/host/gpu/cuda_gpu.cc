#include <set>
#include <stdlib.h>

#include "core/host/gpu/cuda_memory.h"
#include "core/host/gpu/cuda_stream.h"
#include "core/host/gpu/gpu.h"
#include "core/host/gpu/gpu_rdma.h"
#include "core/host/gpu/mps.h"

namespace gdakit {
namespace {

// A kernel that is loaded by its first launch stops everything else on the GPU until the kernels
// that run there have ended: if one waits for another PE, or for the soft NIC, it never does. CUDA
// looks at this variable when it starts, which is after the program has.
[[maybe_unused]] const int eager_loading = ::setenv("CUDA_MODULE_LOADING", "EAGER", 0);

// Streams beyond this number share the GPU's hardware queues, and kernels of streams that share one
// wait for each other. CUDA has 8 if not told otherwise, and at most 32. Under MPS the processes of
// a GPU have some hundred in all, and PEs are processes there, with few streams.
[[maybe_unused]] const int connections = (set_connections(), 0);

// 0 if the driver does not know it.
int attribute_of(const cuda::Driver& driver, CUdevice_attribute attribute, int ordinal) {
  int value = 0;
  return driver.device_attribute(&value, attribute, ordinal) == CUDA_SUCCESS ? value : 0;
}

bool has_attribute(const cuda::Driver& driver, CUdevice_attribute attribute, int ordinal) {
  return attribute_of(driver, attribute, ordinal) != 0;
}

GpuInfo describe(const cuda::Driver& driver, int ordinal) {
  GpuInfo info;
  info.ordinal = ordinal;
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, ordinal) != cudaSuccess) return info;
  info.name = properties.name;
  info.compute_major = properties.major;
  info.compute_minor = properties.minor;
  info.memory_bytes = properties.totalGlobalMem;
  char bus[32] = {};
  cudaDeviceGetPCIBusId(bus, sizeof bus, ordinal);
  info.bus = bus;
  info.exports_dma_buf = has_attribute(driver, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, ordinal);
  info.shares_memory = has_attribute(
      driver, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, ordinal);
  return info;
}

class CudaGpu final : public Gpu {
 public:
  explicit CudaGpu(GpuInfo info) : info_(std::move(info)) {}
  ~CudaGpu() override {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  Result<void> start() {
    if (auto current = make_current(); !current) return current;
    const Result<cudaStream_t> stream = cuda::make_stream();
    if (!stream) return stream.error();
    stream_ = *stream;
    return {};
  }

  int ordinal() const override { return info_.ordinal; }
  const std::string& name() const override { return info_.name; }
  const std::string& bus() const override { return info_.bus; }
  Stream stream() const override { return stream_; }

  std::string warning() const override {
    const Result<const cuda::Driver*> driver = cuda::driver();
    CUmoduleLoadingMode mode = CU_MODULE_EAGER_LOADING;
    if (!driver || (*driver)->loading_mode(&mode) != CUDA_SUCCESS) return {};
    if (mode != CU_MODULE_LAZY_LOADING) return {};
    return "CUDA loads kernels when they are first launched, which waits for running kernels to "
           "end: those that wait for another PE, or for the soft NIC, hang; set "
           "CUDA_MODULE_LOADING=EAGER";
  }

  Result<void> make_current() override {
    return cuda::of_context(cuda::check(cudaSetDevice(info_.ordinal),
                                        "cudaSetDevice(" + std::to_string(info_.ordinal) + ")"));
  }

  Result<void> prepare(Stream stream) override {
    if (stream == stream_) return {};
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    unsigned long long id = 0;
    if (cudaStreamIsCapturing(stream, &capture) != cudaSuccess ||
        cudaStreamGetId(stream, &id) != cudaSuccess) {
      cudaGetLastError();  // the launch will say what is wrong with the stream
      return {};
    }
    if (capture != cudaStreamCaptureStatusNone) return {};
    const std::lock_guard lock(cuda::first_work());
    return prepared_.insert(id).second ? cuda::give_work(stream) : Result<void>();
  }

  Result<void> synchronize(Stream stream) override {
    if (auto current = make_current(); !current) return current;
    return cuda::check(cudaStreamSynchronize(stream), "kernel on GPU " + info_.name);
  }

  Result<std::unique_ptr<MemoryProvider>> make_memory() override {
    auto memory = CudaMemoryProvider::open(info_.ordinal);
    if (!memory) return memory.error();
    return std::unique_ptr<MemoryProvider>(std::move(*memory));
  }

 private:
  GpuInfo info_;
  cudaStream_t stream_ = nullptr;
  std::set<unsigned long long> prepared_;  // the program's own streams; under first_work()
};

}  // namespace

GpuReport report_gpus() {
  GpuReport report;
  int count = 0;
  const cudaError_t counted = cudaGetDeviceCount(&count);
  if (counted != cudaSuccess || count == 0) {
    cudaGetLastError();  // forgets it
    report.sentence =
        std::string("no GPU is usable here: ") +
        (count == 0 && counted == cudaSuccess ? "CUDA counts none" : cudaGetErrorString(counted));
    return report;
  }
  Result<const cuda::Driver*> driver = cuda::driver();
  if (!driver) {
    report.sentence = driver.error().message();
    return report;
  }
  int version = 0;
  if (cudaDriverGetVersion(&version) == cudaSuccess) {
    report.driver =
        "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  }
  for (int i = 0; i < count; ++i) report.gpus.push_back(describe(**driver, i));
  return report;
}

Result<GpuRdma> gpu_rdma(int ordinal) {
  const Result<const cuda::Driver*> driver = cuda::driver();
  if (!driver) return driver.error();
  const auto is = [&](CUdevice_attribute attribute, int least) {
    return attribute_of(**driver, attribute, ordinal) >= least;
  };
  return GpuRdma{.is_supported = is(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, 1),
                 .takes_heaps = is(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, 1),
                 .orders_writes = is(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING,
                                     CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER)};
}

Result<std::unique_ptr<Gpu>> Gpu::open(int ordinal) {
  const GpuReport report = report_gpus();
  for (const GpuInfo& info : report.gpus) {
    if (info.ordinal != ordinal) continue;
    auto gpu = std::make_unique<CudaGpu>(info);
    if (Result<void> started = gpu->start(); !started) return started.error();
    return std::unique_ptr<Gpu>(std::move(gpu));
  }
  if (report.gpus.empty()) return Error(Code::unavailable, report.sentence);
  return Error(Code::unavailable, "there is no GPU " + std::to_string(ordinal) +
                                      "; this process sees " + std::to_string(report.gpus.size()) +
                                      " (GDAKIT_GPUS, CUDA_VISIBLE_DEVICES)");
}

}  // namespace gdakit
