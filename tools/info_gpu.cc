#include "tools/info_gpu.h"

#include <cstdio>

#include "core/host/gpu/mps.h"
#include "tools/mps.h"

namespace gdakit::tools {
namespace {

using softnic::DmaMethod;
using softnic::DmaMethodReport;

bool usable(const std::vector<DmaMethodReport>& methods, DmaMethod method) {
  for (const DmaMethodReport& report : methods) {
    if (report.method == method) return report.usable;
  }
  return false;
}

// In the words of GDAKIT_DMA. What `automatic` does is told by the methods themselves.
std::string dma_sentence(const Options& options, const std::vector<GpuFacts>& gpus) {
  if (gpus.empty()) return "host memory only: there is no GPU";
  if (options.dma != DmaChoice::automatic) {
    return std::string(dma_choice_name(options.dma)) + ": GDAKIT_DMA asks for it";
  }
  const std::vector<DmaMethodReport>& methods = gpus.front().methods;
  std::string names;
  for (const DmaMethodReport& report : methods) {
    if (!usable(methods, report.method)) continue;
    names += (names.empty() ? "" : ", ") + std::string(dma_method_name(report.method));
  }
  if (names.empty()) return "none is usable; each says why";
  return "auto: chooses for every batch among " + names;
}

std::string queue_sentence(const Options& options, bool has_gpu) {
  const bool by_proxy =
      options.nic_handler == NicHandler::proxy || options.nic_handler == NicHandler::commands;
  const char* const place = !has_gpu ? "host memory"
                            : by_proxy || options.queue_memory == QueuePlace::host
                                ? "pinned host memory"
                                : "GPU memory";
  const std::string why = by_proxy ? "the proxy's host thread reads and writes them"
                          : options.queue_memory == QueuePlace::automatic
                              ? "the choice of auto"
                              : "GDAKIT_QUEUE_MEMORY asks for it";
  return std::string(place) + (has_gpu ? ": " + why : ": there is no GPU");
}

std::string handler_sentence(const Options& options) {
  switch (options.nic_handler) {
    case NicHandler::automatic:
      return "auto: GPU threads, or a host thread where they cannot reach the doorbell";
    case NicHandler::gpu: return "gpu: GPU threads write WQEs and ring";
    case NicHandler::proxy: return "proxy: GPU threads write WQEs, a host thread rings";
    case NicHandler::commands:
      return "commands: a host thread writes WQEs, rings and polls, on commands of GPU threads";
  }
  return "";
}

std::string payload_sentence(const Options& options, const std::vector<GpuFacts>& gpus) {
  if (options.payload == PayloadPath::host) {
    return "through host memory: GDAKIT_PAYLOAD asks for it";
  }
  for (const GpuFacts& facts : gpus) {
    if (facts.gpu.shares_memory) continue;
    return "through host memory: GPU " + std::to_string(facts.gpu.ordinal) +
           " cannot share memory by file descriptors";
  }
  return "straight from heap to heap, which the processes of a host map of each other";
}

std::string transport_sentence(const Options& options) {
  switch (options.transport) {
    case TransportChoice::nic: return "the NIC for all peers: GDAKIT_TRANSPORT asks for it";
    case TransportChoice::direct:
      return "loads, stores and atomics for peers whose memory can be mapped; GDAKIT_LOG=info has "
             "a "
             "job say which";
    case TransportChoice::automatic: break;
  }
  return "the NIC for all peers: auto, with the soft NIC";
}

}  // namespace

std::string memory_text(std::uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GB", static_cast<double>(bytes) / 1e9);
  return text;
}

GpuSection describe_gpus(const Options& options) {
  GpuSection section;
  GpuReport report = report_gpus();
  section.driver = report.driver;
  section.sentence = report.sentence;
  for (GpuInfo& gpu : report.gpus) {
    std::vector<DmaMethodReport> methods = softnic::report_dma_methods(gpu.ordinal);
    section.gpus.push_back({std::move(gpu), std::move(methods)});
  }
  section.mps = mps_serves() ? "a daemon runs: processes share a GPU side by side"
                : Mps::installed()
                    ? "no daemon runs: gdakit run starts one for PEs that share a GPU"
                    : "no daemon runs, and there is no nvidia-cuda-mps-control on "
                      "the PATH: processes that share a GPU take turns";
  section.dma = dma_sentence(options, section.gpus);
  section.queue_memory = queue_sentence(options, !section.gpus.empty());
  section.payload = payload_sentence(options, section.gpus);
  section.handler = handler_sentence(options);
  section.transport = transport_sentence(options);
  return section;
}

}  // namespace gdakit::tools
