#include "backends/softnic/gpu/gpu_dma.h"

namespace gdakit::softnic {

const char* dma_method_name(DmaMethod method) {
  switch (method) {
    case DmaMethod::automatic: return "auto";
    case DmaMethod::copy_engine: return "copy-engine";
    case DmaMethod::kernels: return "kernels";
    case DmaMethod::gdrcopy: return "gdrcopy";
  }
  return "unknown";
}

DmaMethod dma_method(DmaChoice choice) {
  switch (choice) {
    case DmaChoice::automatic: return DmaMethod::automatic;
    case DmaChoice::copy_engine: return DmaMethod::copy_engine;
    case DmaChoice::kernels: return DmaMethod::kernels;
    case DmaChoice::gdrcopy: return DmaMethod::gdrcopy;
  }
  return DmaMethod::automatic;
}

EngineOptions gpu_engine_options() {
  EngineOptions options;
  options.window = 1024;
  options.packets_per_step = 256;
  options.bytes_per_step = std::uint64_t{1} << 30;
  options.queues_per_step = 64;
  options.sweep_interval_ns = 200'000;
  options.record_after_doorbell = false;
  options.short_cqes = true;
  return options;
}

}  // namespace gdakit::softnic
