#include "core/host/gpu/cuda_driver.h"

#include <optional>

#include "core/host/gpu/mps.h"

namespace gdakit::cuda {
namespace {

constexpr unsigned kVersion = 12000;  // the oldest driver interface that has all of them

// Names the first function that is missing.
class Loader {
 public:
  template <class Function>
  void find(const char* name, Function& function) {
    void* address = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    const cudaError_t code =
        cudaGetDriverEntryPointByVersion(name, &address, kVersion, cudaEnableDefault, &found);
    function = reinterpret_cast<Function>(address);
    if (error_) return;
    if (code != cudaSuccess) {
      error_ = Error(Code::unavailable, std::string("CUDA driver: ") + cudaGetErrorString(code));
    } else if (found != cudaDriverEntryPointSuccess) {
      error_ =
          Error(Code::unavailable, std::string("the CUDA driver has no ") + name + "; update it");
    }
  }

  const std::optional<Error>& error() const { return error_; }

 private:
  std::optional<Error> error_;
};

Result<Driver> load() {
  Driver table{};
  Loader loader;
  loader.find("cuGetErrorString", table.get_error_string);
  loader.find("cuMemAddressReserve", table.address_reserve);
  loader.find("cuMemAddressFree", table.address_free);
  loader.find("cuMemCreate", table.create);
  loader.find("cuMemRelease", table.release);
  loader.find("cuMemMap", table.map);
  loader.find("cuMemUnmap", table.unmap);
  loader.find("cuMemSetAccess", table.set_access);
  loader.find("cuMemGetAllocationGranularity", table.granularity);
  loader.find("cuMemExportToShareableHandle", table.export_handle);
  loader.find("cuMemImportFromShareableHandle", table.import_handle);
  loader.find("cuMemGetHandleForAddressRange", table.range_handle);
  loader.find("cuDeviceGetAttribute", table.device_attribute);
  loader.find("cuModuleGetLoadingMode", table.loading_mode);
  loader.find("cuStreamBatchMemOp", table.stream_words);
  loader.find("cuDeviceGet", table.device);
  loader.find("cuCtxCreate", table.context_create);
  loader.find("cuCtxDestroy", table.context_destroy);
  loader.find("cuCtxPushCurrent", table.context_push);
  loader.find("cuCtxPopCurrent", table.context_pop);
  loader.find("cuStreamCreateWithPriority", table.stream_create);
  loader.find("cuStreamDestroy", table.stream_destroy);
  loader.find("cuStreamSynchronize", table.stream_synchronize);
  loader.find("cuStreamQuery", table.stream_query);
  loader.find("cuMemcpyHtoDAsync", table.copy_in);
  loader.find("cuMemcpyDtoHAsync", table.copy_out);
  loader.find("cuMemcpyAsync", table.copy_across);
  loader.find("cuMemcpy2DAsync", table.copy_rows);
  loader.find("cuEventCreate", table.event_create);
  loader.find("cuEventDestroy", table.event_destroy);
  loader.find("cuEventRecord", table.event_record);
  if (loader.error()) return *loader.error();
  return table;
}

}  // namespace

Result<const Driver*> driver() {
  static const Result<Driver> table = load();
  if (!table) return table.error();
  return &*table;
}

Result<void> check(cudaError_t code, const std::string& call) {
  if (code == cudaSuccess) return {};
  const Code kind = code == cudaErrorMemoryAllocation ? Code::exhausted : Code::system;
  return Error(kind, call + ": " + cudaGetErrorString(code));
}

Result<void> check(const Driver& driver, CUresult code, const std::string& call) {
  if (code == CUDA_SUCCESS) return {};
  const char* text = nullptr;
  driver.get_error_string(code, &text);
  const Code kind = code == CUDA_ERROR_OUT_OF_MEMORY ? Code::exhausted : Code::system;
  return Error(kind, call + ": " + (text != nullptr ? text : "unknown CUDA error"));
}

Result<void> of_context(const Result<void>& made) {
  if (made || !mps_serves()) return made;
  return Error(made.error().code(),
               made.error().message() +
                   "; MPS has few connections to a GPU for all processes: start fewer on it, or "
                   "set CUDA_DEVICE_MAX_CONNECTIONS=1");
}

}  // namespace gdakit::cuda
