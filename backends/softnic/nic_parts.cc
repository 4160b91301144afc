#include "backends/softnic/nic_parts.h"

#include <cstdint>
#include <random>
#include <utility>

#include "backends/softnic/dma/host_dma.h"
#include "backends/softnic/gpu/gpu_dma.h"

namespace gdakit::softnic {
namespace {

// Strangers, who can send to a NIC over UDP, are not to guess what its packets name. Of the queue
// pairs' numbers that are the NIC's, and of all keys', half are left out at most.
void draw_numbers(EngineOptions& engine, const PortShare& port) {
  std::random_device random;
  const std::uint32_t half = port.qpns() / 2;
  engine.skipped_qps = port.first_qpn() + random() % half;
  // Numbers begin at 2.
  if (port.bits != 0) engine.max_qps = half - 2;
  engine.skipped_keys = random() % (kind_row(ObjectKind::mkey).limit / 2);
  engine.first_key_variant = static_cast<std::uint8_t>(random());
}

Result<NicParts> of_memory(const Options& options, const MemoryProvider& memory,
                           const std::shared_ptr<GpuOrderDomain>& domain) {
  NicParts parts;
  if (!memory.gpu()) {
    parts.port = std::make_unique<HostDma>();
    return parts;
  }
  GpuDmaOptions dma;
  dma.ordinal = *memory.gpu();
  dma.method = dma_method(options.dma);
  dma.domain = domain;
  Result<std::unique_ptr<DmaPort>> port = make_gpu_dma(dma);
  if (!port) return port.error().within("the soft NIC's DMA (GDAKIT_DMA)");
  parts.port = std::move(*port);
  Result<std::shared_ptr<HostPages>> pages = make_gpu_pages();
  if (!pages) return pages.error().within("the soft NIC's doorbell pages");
  parts.options.doorbell_pages = std::move(*pages);
  parts.options.engine = gpu_engine_options();
  parts.options.thread.pace.idle_spins = 64;  // those who wait are on the GPU and need no core
  return parts;
}

}  // namespace

Result<NicParts> make_nic_parts(const Options& options, const MemoryProvider& memory,
                                const std::shared_ptr<GpuOrderDomain>& domain,
                                const std::optional<PortShare>& port) {
  Result<NicParts> parts = of_memory(options, memory, domain);
  if (!parts) return parts;
  EngineOptions& engine = parts->options.engine;
  if (port) {
    engine.window = 1024;  // as many small packets are under way, and each may be a WQE
    draw_numbers(engine, *port);
  }
  engine.adaptive_retransmission = port || !options.nic_faults.empty();
  engine.selective_repeat = engine.adaptive_retransmission;
  engine.congestion_control = options.nic_congestion;
  engine.dc.responders = options.dc_responders;
  return parts;
}

}  // namespace gdakit::softnic
