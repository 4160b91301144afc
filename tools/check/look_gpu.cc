// Steps gpu-memory, gpu-doorbell, gpu-objects and gpu-put.
#include "tools/check/pci.h"
#include "tools/check/steps.h"

namespace gdakit::tools::check {
namespace {

constexpr std::uint64_t kSmallBytes = 4096;
constexpr std::uint64_t kLargerBytes = 65536;
constexpr const char* kOnTheCpu = "memory of the host: GDAKIT_DEVICE=cpu";

// One GPU and one NIC.
struct Pairing {
  const GpuInfo& gpu;
  const Surroundings::UsablePort& port;
  std::string name() const { return "GPU " + std::to_string(gpu.ordinal) + " and " + port.name(); }
};

std::string why_skipped(const Surroundings& surroundings) {
  if (surroundings.gpus.gpus.empty()) {
    const std::size_t shown = nvidia_gpus(surroundings.tree).size();
    const std::string seen =
        shown == 0 ? "" : "; the host shows " + std::to_string(shown) + " on its PCI bus";
    return surroundings.gpus.sentence + seen;
  }
  return surroundings.usable_ports().empty() ? surroundings.why_no_nic() : "";
}

Result<mlx5::GpuMemoryTrial> try_memory(const Surroundings& surroundings, const Pairing& pairing,
                                        std::uint64_t bytes) {
  Result<GpuMemory> memory = surroundings.take_gpu_memory(pairing.gpu.ordinal, bytes);
  if (!memory) return memory.error();
  Result<std::unique_ptr<mlx5::PutEnd>> end =
      surroundings.open_put_end(pairing.port.nic->name, pairing.port.port->number);
  if (!end) return end.error();
  return (*end)->try_gpu_memory(*memory->provider, memory->base, bytes);
}

std::string said_of(const mlx5::Answer& answer) { return answer_text(answer.said, answer.code); }

Finding not_begun(const Pairing& pairing, const Error& error) {
  return {.on = pairing.name(),
          .tried = "memory of the GPU, and the NIC to register it",
          .answer = answer_text(error.message(), error.system_code()),
          .cause = "the GPU gave no such memory, or the NIC cannot be opened",
          .proof = "nvidia-smi",
          .remedy = "what the answer names",
          .otherwise = kOnTheCpu};
}

// Of what CUDA says, what keeps all NICs from the GPU's memory; empty: nothing.
std::string closed_to_nics(const GpuRdma& rdma) {
  if (!rdma.is_supported) {
    return "CUDA says that NICs cannot reach this GPU's memory "
           "(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED is 0), as of GPUs for games";
  }
  if (!rdma.takes_heaps) {
    return "CUDA says that NICs cannot reach memory of this GPU that is mapped into a range, as "
           "the heap's (CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED is 0)";
  }
  return {};
}

Finding no_way(const Surroundings& surroundings, const Pairing& pairing, std::uint64_t bytes,
               const mlx5::GpuMemoryTrial& trial, bool small_ones_passed) {
  Finding finding{.on = pairing.name(),
                  .tried = "registration of " + std::to_string(bytes) +
                           " bytes of the GPU's memory, by dma-buf and by peer memory",
                  .answer = "dma-buf: " + said_of(trial.region_by_dma_buf) +
                            "; peer memory: " + said_of(trial.region_by_peer_memory),
                  .otherwise = kOnTheCpu};
  if (small_ones_passed) {
    finding.cause = "the GPU's BAR1 aperture is smaller than the buffer";
    finding.proof = "nvidia-smi -q | grep -A3 BAR1";
    finding.remedy = "a smaller heap: GDAKIT_SYMMETRIC_SIZE, GDAKIT_HEAP_CHUNK";
    return finding;
  }
  const Result<GpuRdma> rdma = surroundings.gpu_rdma(pairing.gpu.ordinal);
  const std::string closed = rdma ? closed_to_nics(*rdma) : "";
  if (!closed.empty()) {
    finding.cause = closed;
    finding.proof = "nvidia-smi --query-gpu=name,driver_version --format=csv";
    finding.remedy = "a GPU for data centres or workstations, and a newer driver";
  } else {
    finding.cause = pairing.gpu.exports_dma_buf
                        ? "the kernel is older than 5.12, or mlx5_ib does not import dma-bufs; and "
                          "nvidia_peermem is not loaded"
                        : "the driver exports no dma-buf (its kernel module is the closed one, or "
                          "the kernel is old), and nvidia_peermem is not loaded";
    finding.proof = "lsmod | grep nvidia_peermem; uname -r; modinfo -F license nvidia";
    finding.remedy =
        "NVIDIA's open kernel modules and Linux 5.12 or later; or modprobe "
        "nvidia-peermem, after mlx5_ib";
  }
  return finding;
}

void look_at_memory(const Surroundings& surroundings, const Pairing& pairing, StepReport& report) {
  std::string ways;
  bool passed = false;
  for (const std::uint64_t bytes :
       {kSmallBytes, kLargerBytes, surroundings.options.symmetric_size}) {
    const Result<mlx5::GpuMemoryTrial> trial = try_memory(surroundings, pairing, bytes);
    if (!trial) return report.add(not_begun(pairing, trial.error()));
    const bool by_dma_buf = trial->region_by_dma_buf.ok();
    const bool by_peer_memory = trial->region_by_peer_memory.ok();
    if (!by_dma_buf && !by_peer_memory) {
      return report.add(no_way(surroundings, pairing, bytes, *trial, passed));
    }
    passed = true;
    ways = std::string(by_dma_buf ? "dma-buf" : "") +
           (by_dma_buf && by_peer_memory ? " and " : "") + (by_peer_memory ? "peer memory" : "");
  }
  report.say(pairing.name() + ": by " + ways + ", up to " +
             std::to_string(surroundings.options.symmetric_size) + " bytes");
  report.facts["registration of GPU memory"] = ways;
}

// In the words of CUDA's attributes, which others' documents name.
void tell_rdma(const GpuInfo& gpu, const GpuRdma& rdma, StepReport& report) {
  report.facts["GPUDirect RDMA"] = closed_to_nics(rdma).empty() ? "yes" : "no";
  report.facts["order of NICs' writes to GPUs"] = rdma.orders_writes ? "kept" : "by reads";
  report.say(
      "GPU " + std::to_string(gpu.ordinal) +
      (rdma.is_supported ? ": GPUDirect RDMA" : ": CUDA says that it has no GPUDirect RDMA") +
      (rdma.orders_writes ? ", NICs' writes in order"
                          : ", NICs' writes in order where a read comes behind them"));
}

void look_at_objects(const Surroundings& surroundings, const Pairing& pairing, StepReport& report) {
  const Result<mlx5::GpuMemoryTrial> trial = try_memory(surroundings, pairing, kLargerBytes);
  if (!trial) return report.add(not_begun(pairing, trial.error()));
  const bool by_dma_buf = trial->object_by_dma_buf.ok();
  if (by_dma_buf || trial->object_by_peer_memory.ok()) {
    report.say(pairing.name() + ": by " + (by_dma_buf ? "dma-buf" : "peer memory"));
    return;
  }
  report.add({.verdict = Verdict::warning,
              .on = pairing.name(),
              .tried = "a umem of the GPU's memory, for queues and CQEs",
              .answer = "dma-buf: " + said_of(trial->object_by_dma_buf) +
                        "; peer memory: " + said_of(trial->object_by_peer_memory),
              .cause = "the kernel is older than 6.1, or a vendor's that knows dma-bufs for "
                       "registrations and not for umems",
              .proof = "uname -r",
              .remedy = "Linux 6.1 or later, or nvidia_peermem",
              .otherwise = "queues in memory of the host: GDAKIT_QUEUE_MEMORY=host"});
}

bool has_override(const std::string& settings) {
  return settings.find("PeerMappingOverride=1") != std::string::npos;
}

Finding no_mapping(const std::string& on, const std::string& tried, const std::string& answer) {
  return {.verdict = Verdict::warning,
          .on = on,
          .tried = tried,
          .answer = answer,
          .cause =
              "without PeerMappingOverride the driver refuses to map a NIC's page for a GPU "
              "(cudaHostRegister: error 800, not permitted)",
          .proof = "grep RegistryDwords /proc/driver/nvidia/params",
          .remedy =
              "options nvidia NVreg_EnableStreamMemOPs=1 "
              "NVreg_RegistryDwords=\"PeerMappingOverride=1;\" in "
              "/etc/modprobe.d/nvidia.conf, a new initramfs, and a reboot",
          .otherwise =
              "doorbells rung by host threads, which a job then takes by itself "
              "(GDAKIT_NIC_HANDLER=proxy)"};
}

Finding no_page(const std::string& on, const Error& error) {
  return {.verdict = Verdict::warning,
          .on = on,
          .tried = "a doorbell page of the NIC, for the GPU",
          .answer = answer_text(error.message(), error.system_code()),
          .cause = "nobody gets such a page here, host threads as little as the GPU",
          .proof = "gdakit check --only device",
          .remedy = "what step device names",
          .otherwise = "the soft NIC: GDAKIT_BACKEND=softnic"};
}

void look_at_doorbell(const Surroundings& surroundings, const Pairing& pairing,
                      StepReport& report) {
  Result<GpuMemory> memory = surroundings.take_gpu_memory(pairing.gpu.ordinal, kSmallBytes);
  if (!memory) return report.add(not_begun(pairing, memory.error()));
  Result<std::unique_ptr<mlx5::PutEnd>> end =
      surroundings.open_put_end(pairing.port.nic->name, pairing.port.port->number);
  if (!end) return report.add(not_begun(pairing, end.error()));
  const auto [page, mapped] = (*end)->try_gpu_doorbell(*memory->provider);
  report.facts["doorbells of GPUs"] = page && mapped ? "mapped" : "refused";
  if (!page) return report.add(no_page(pairing.name(), page.error()));
  if (mapped) return report.say(pairing.name() + ": a doorbell page can be mapped");
  report.add(no_mapping(pairing.name(), "a doorbell page of the NIC, mapped for the GPU",
                        mapped.error().message()));
}

constexpr const char* kPutsOfAJob =
    "a job of one PE on the GPU, whose threads put 8 bytes and 1 MiB to itself";

Finding no_put_rung_by_gpu(const Pairing& pairing, const Error& error) {
  return {.verdict = Verdict::warning,
          .on = pairing.name(),
          .tried = std::string(kPutsOfAJob) + " and ring the NIC",
          .answer = answer_text(error.message(), error.system_code()) +
                    "; where a host thread rings for them every byte is right",
          .cause =
              "if step gpu-doorbell fails, what it names; else the GPU's stores do not reach the "
              "NIC's registers (step pcie), or the NIC does not do what GPU threads use",
          .proof = "gdakit check --only gpu-doorbell,pcie",
          .remedy = "what these steps name; newer firmware",
          .otherwise = "doorbells rung by host threads: GDAKIT_NIC_HANDLER=proxy"};
}

Finding no_put_at_all(const Pairing& pairing, const Error& error) {
  return {.on = pairing.name(),
          .tried = kPutsOfAJob,
          .answer = answer_text(error.message(), error.system_code()),
          .cause =
              "if steps gpu-memory or gpu-doorbell fail, what they name; if step put is ok "
              "and they are, what stands between GPU and NIC (step pcie), or a NIC or "
              "firmware that does not do what GPU threads use",
          .proof = "gdakit check --only gpu-memory,gpu-doorbell,gpu-objects,pcie,put",
          .remedy = "what these steps name; newer firmware",
          .otherwise =
              "doorbells and WQEs by the CPU: GDAKIT_NIC_HANDLER=commands; memory of "
              "the host: GDAKIT_DEVICE=cpu"};
}

// By threads that ring the NIC themselves and, where that fails, with a host thread that rings for
// them: what differs is the way from the GPU to the NIC's registers.
void look_at_put_by_gpu(const Surroundings& surroundings, const Pairing& pairing,
                        StepReport& report) {
  const auto put = [&](NicHandler handler) {
    return surroundings.put_by_gpu(pairing.port.nic->name, pairing.port.port->number,
                                   pairing.gpu.ordinal, handler);
  };
  const NicHandler asked = surroundings.options.nic_handler;
  const bool may_choose = asked == NicHandler::automatic;
  const NicHandler first = may_choose ? NicHandler::gpu : asked;
  const Result<void> arrived = put(first);
  if (arrived) {
    return report.say(pairing.name() + ": 8 bytes and 1 MiB, every byte right, by handler " +
                      nic_handler_name(first));
  }
  const bool by_host = may_choose && put(NicHandler::proxy);
  report.add(by_host ? no_put_rung_by_gpu(pairing, arrived.error())
                     : no_put_at_all(pairing, arrived.error()));
}

template <class LookAtPair>
StepReport for_each_pair(const Surroundings& surroundings, LookAtPair look) {
  if (const std::string why = why_skipped(surroundings); !why.empty()) return skipped(why);
  StepReport report;
  for (const GpuInfo& gpu : surroundings.gpus.gpus) {
    for (const Surroundings::UsablePort& port : surroundings.usable_ports()) {
      look(surroundings, Pairing{gpu, port}, report);
    }
  }
  return report;
}

}  // namespace

StepReport look_at_gpu_memory(const Surroundings& surroundings) {
  StepReport report = for_each_pair(surroundings, look_at_memory);
  if (report.verdict == Verdict::skipped) return report;
  for (const GpuInfo& gpu : surroundings.gpus.gpus) {
    report.facts["dma-buf of GPUs"] = gpu.exports_dma_buf ? "yes" : "no";
    if (const Result<GpuRdma> rdma = surroundings.gpu_rdma(gpu.ordinal); rdma) {
      tell_rdma(gpu, *rdma, report);
    }
  }
  return report;
}

StepReport look_at_gpu_objects(const Surroundings& surroundings) {
  return for_each_pair(surroundings, look_at_objects);
}

// By the mapping itself where CUDA has a GPU; else by the driver's setting.
StepReport look_at_gpu_doorbell(const Surroundings& surroundings) {
  if (why_skipped(surroundings).empty()) return for_each_pair(surroundings, look_at_doorbell);
  const auto settings = surroundings.tree.read("/proc/driver/nvidia/params");
  if (!settings) return skipped(why_skipped(surroundings));
  StepReport report = skipped(why_skipped(surroundings) + "; of the driver's settings, " +
                              (has_override(*settings) ? "PeerMappingOverride=1 is there"
                                                       : "PeerMappingOverride=1 is missing"));
  if (!has_override(*settings)) {
    report.add(no_mapping("the host", "RegistryDwords in /proc/driver/nvidia/params",
                          "PeerMappingOverride=1 is not among them"));
  }
  return report;
}

StepReport look_at_gpu_put(const Surroundings& surroundings) {
  return for_each_pair(surroundings, look_at_put_by_gpu);
}

}  // namespace gdakit::tools::check
