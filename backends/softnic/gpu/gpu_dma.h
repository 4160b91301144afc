// The soft NIC's DMA port for memory of a GPU, and the pages that a GPU rings doorbells in.
//
//   auto domain = make_gpu_order_domain();                  // one for all NICs of a loopback
//   fabric auto port = make_gpu_dma({.ordinal = 0, .domain = domain});
//
// Methods, which `automatic` chooses among for every batch:
//
//   copy_engine   copies and word writes on a stream: 6 us each, one after the other. Needs no room
//                 on the GPU. Copies within the GPU go by way of host memory.
//   kernels       one launch for a whole batch, 8 us; short, and cancelled if the GPU has no room
//                 for it, in which case the copy engine does the work.
//   gdrcopy       loads and stores of the host itself, through GDRCopy's mapping of GPU memory;
//                 needs its driver. What it is no good for goes the other ways.
//
// Nothing here is CUDA: a build without it has the same functions, which say so.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/softnic/dma/dma.h"
#include "backends/softnic/engine/engine.h"
#include "backends/softnic/engine/uar.h"
#include "core/base/options.h"
#include "core/base/result.h"

namespace gdakit::softnic {

enum class DmaMethod { automatic, copy_engine, kernels, gdrcopy };
const char* dma_method_name(DmaMethod method);
DmaMethod dma_method(DmaChoice choice);

// What NICs share that reach each other within this process: one order of writes on each GPU. While
// they all are on one GPU, a NIC need not wait for its writes before it acknowledges them.
class GpuOrderDomain;
std::shared_ptr<GpuOrderDomain> make_gpu_order_domain();

struct GpuDmaOptions {
  int ordinal = 0;  // of the NIC's own GPU
  DmaMethod method = DmaMethod::automatic;
  // Null: the NIC has peers in other processes, which see its writes in no order of its own.
  std::shared_ptr<GpuOrderDomain> domain;
  std::uint64_t stuck_ns = 100000;  // how long a launch may wait for room before it is cancelled
};

// Whether this build has CUDA.
bool has_gpu_dma();

// Errors: no CUDA in this build, no such GPU, a method that is not usable here (unavailable); no
// pinned memory left (exhausted).
Result<std::unique_ptr<DmaPort>> make_gpu_dma(const GpuDmaOptions& options);

// How an engine works best whose reads take microseconds and whose writes are launched in batches:
// more at a time, and no look at doorbell records but now and then.
EngineOptions gpu_engine_options();

// Pages in pinned host memory, which GPU threads can store doorbells to.
Result<std::shared_ptr<HostPages>> make_gpu_pages();

struct DmaMethodReport {
  DmaMethod method = DmaMethod::automatic;
  bool usable = false;
  std::string sentence;  // why it is not, or what `automatic` does with it
};
// One line for each method but `automatic`.
std::vector<DmaMethodReport> report_dma_methods(int ordinal);

}  // namespace gdakit::softnic
