// What `gdakit info` says of this machine's GPUs.
#pragma once

#include <string>
#include <vector>

#include "backends/softnic/gpu/gpu_dma.h"
#include "core/base/options.h"
#include "core/host/gpu/gpu.h"

namespace gdakit::tools {

struct GpuFacts {
  GpuInfo gpu;
  std::vector<softnic::DmaMethodReport> methods;
};

struct GpuSection {
  std::vector<GpuFacts> gpus;
  std::string driver;        // empty without one
  std::string sentence;      // why there are no GPUs; empty if there are some
  std::string mps;           // whether processes share a GPU side by side
  std::string dma;           // how the soft NIC will reach GPU memory, and why
  std::string queue_memory;  // where queues will lie
  std::string payload;       // how payload will go between processes
  std::string handler;       // who will write WQEs and ring the NIC
  std::string transport;     // how peers will be reached whose memory can be mapped
};

GpuSection describe_gpus(const Options& options);

// "143.8 GB", of 10^9 bytes as vendors count.
std::string memory_text(std::uint64_t bytes);

}  // namespace gdakit::tools
