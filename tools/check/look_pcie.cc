// Step pcie: what stands between a NIC, memory and GPUs.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tools/check/pci.h"
#include "tools/check/steps.h"

namespace gdakit::tools::check {
namespace {

std::string text_of(const Tree& tree, const PciDevice& device, const char* file) {
  return tree.read(device.self.folder + "/" + file).value_or("");
}

bool is_virtual_machine(const Tree& tree) {
  const std::string processors = tree.read("/proc/cpuinfo").value_or("");
  return processors.find(" hypervisor") != std::string::npos;
}

// "16.0 GT/s PCIe": its number.
double speed_of(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

// ", reads of 4096 bytes, relaxed ordering"; empty where only root may read it.
std::string requests_text(const Tree& tree, const PciDevice& device) {
  const std::optional<ReadRequests> requests = read_requests(tree, device.self);
  if (!requests) return {};
  return ", reads of " + std::to_string(requests->bytes) + " bytes, relaxed ordering " +
         (requests->relaxed_ordering ? "on" : "off");
}

void judge_link(const Tree& tree, const std::string& on, const PciDevice& device,
                StepReport& report) {
  const std::string speed = text_of(tree, device, "current_link_speed");
  const std::string width = text_of(tree, device, "current_link_width");
  const std::string most_speed = text_of(tree, device, "max_link_speed");
  const std::string most_width = text_of(tree, device, "max_link_width");
  if (speed.empty() || width.empty()) return;
  report.say(on + " x" + width + " at " + speed + requests_text(tree, device));
  const bool slow = speed_of(speed) < speed_of(most_speed);
  const bool narrow = std::atoi(width.c_str()) < std::atoi(most_width.c_str());
  if (!slow && !narrow) return;
  report.add(
      {.verdict = Verdict::warning,
       .on = on + ", " + device.self.address,
       .tried = "the PCIe link now, against its maximum",
       .answer = "x" + width + " at " + speed + "; of at most x" + most_width + " at " + most_speed,
       .cause = "the slot has fewer or slower lanes, or the link came up degraded",
       .proof = "lspci -vv -s " + device.self.address + " | grep LnkSta",
       .remedy = "another slot; else reseat the card, or reset the link by a cold start",
       .otherwise = "all of it, with less bandwidth"});
}

void judge_ordering(const Tree& tree, const std::string& on, const PciDevice& device,
                    StepReport& report) {
  const std::optional<ReadRequests> requests = read_requests(tree, device.self);
  if (!requests || requests->relaxed_ordering) return;
  report.add({.verdict = Verdict::warning,
              .on = on + ", " + device.self.address,
              .tried = "PCI Express's device control, in its configuration space",
              .answer = "relaxed ordering off; wanted is on",
              .cause = "the BIOS or the kernel has switched it off, as on processors where it was "
                       "slow: what gets bring may then wait for other writes",
              .proof = "sudo lspci -vvv -s " + device.self.address + " | grep RlxdOrd",
              .remedy = "the BIOS's setting for PCI relaxed ordering; newer firmware of the host",
              .otherwise = "all of it, with less bandwidth"});
}

void judge_iommu(const Tree& tree, const std::string& on, const PciDevice& device,
                 StepReport& report) {
  const std::string type = text_of(tree, device, "iommu_group/type");
  if (!type.starts_with("DMA")) return;
  report.add({.verdict = Verdict::warning,
              .on = on + ", " + device.self.address,
              .tried = "the type of its IOMMU group",
              .answer = type + "; wanted is identity, or no IOMMU",
              .cause = "the IOMMU translates the NIC's addresses: puts to and from a GPU may hang, "
                       "bring wrong data, or be very slow",
              .proof = "cat /sys/bus/pci/devices/" + device.self.address +
                       "/iommu_group/type; cat /proc/cmdline",
              .remedy = "iommu=pt on the kernel's command line, and a reboot; in a virtual machine "
                        "the hypervisor's settings and ATS on the NIC",
              .otherwise = "memory of the host: GDAKIT_DEVICE=cpu"});
}

void judge_access_control(const Tree& tree, const std::string& on, const PciDevice& device,
                          StepReport& report) {
  const bool virtual_machine = is_virtual_machine(tree);
  bool unknown = false;
  for (const PciFunction& bridge : device.bridges) {
    const AccessControl services = access_control(tree, bridge);
    unknown = unknown || !services.known;
    if (!services.redirects || virtual_machine) continue;
    char control[16];
    std::snprintf(control, sizeof control, "0x%04x", unsigned{services.control});
    report.add({.verdict = Verdict::warning,
                .on = on + ", bridge " + bridge.address,
                .tried = "the bridge's Access Control Services, in its configuration space",
                .answer = std::string("control ") + control + ": peer traffic is redirected",
                .cause = "ACS sends traffic between NIC and GPU through the root complex: it may "
                         "hang, bring wrong data, or be very slow",
                .proof = "sudo lspci -vvv -s " + bridge.address + " | grep ACSCtl",
                .remedy = "switch ACS off in the BIOS; else, at every boot, sudo setpci -s " +
                          bridge.address +
                          " ECAP_ACS+6.w=0000 (in a virtual machine it has to stay on, with ATS)",
                .otherwise = "memory of the host: GDAKIT_DEVICE=cpu"});
  }
  if (unknown) report.say(on + ": ACS of its bridges is for root to read (sudo gdakit check)");
}

using Nics = std::vector<std::pair<std::string, PciDevice>>;

// A GPU and one of the NICs that a PE on it takes.
void judge_distance(const PciDevice& gpu, const mlx5::PlacedNic& placed, const Nics& nics,
                    StepReport& report) {
  report.say("GPU " + gpu.self.address + " takes " + placed.name + " (" + placed.why + ")");
  const auto nic =
      std::ranges::find_if(nics, [&](const auto& one) { return one.first == placed.name; });
  if (nic == nics.end() || gpu.numa_node < 0 || nic->second.numa_node < 0 ||
      gpu.numa_node == nic->second.numa_node) {
    return;
  }
  report.add({.verdict = Verdict::warning,
              .on = "GPU " + gpu.self.address,
              .tried = "the NUMA nodes of the GPU and of a NIC that a PE on it takes",
              .answer = placed.name + " is on node " + std::to_string(nic->second.numa_node) +
                        ", the GPU on " + std::to_string(gpu.numa_node),
              .cause = "the host has too few NICs on the GPU's socket, or GDAKIT_HCA_LIST or "
                       "GDAKIT_HCA_MAP leaves them out",
              .proof = "nvidia-smi topo -m",
              .remedy = "a NIC on that socket",
              .otherwise = "all of it, more slowly"});
}

// Each GPU and the NICs that a PE on it takes.
void judge_distances(const Surroundings& surroundings, const Nics& nics, StepReport& report) {
  std::vector<std::string> addresses;
  for (const PciDevice& gpu : nvidia_gpus(surroundings.tree)) {
    addresses.push_back(gpu.self.address);
    const Result<std::vector<mlx5::PlacedNic>> placed = surroundings.place_nics(addresses);
    if (!placed) continue;
    for (const mlx5::PlacedNic& nic : *placed) judge_distance(gpu, nic, nics, report);
  }
}

}  // namespace

StepReport look_at_pcie(const Surroundings& surroundings) {
  StepReport report;
  const Tree& tree = surroundings.tree;
  Nics nics;
  for (const mlx5::NicLook* nic : surroundings.own_nics()) {
    const auto device = find_pci_device(tree, "/sys/class/infiniband/" + nic->name + "/device");
    if (device) nics.emplace_back(nic->name, *device);
  }
  for (const auto& [name, device] : nics) {
    judge_link(tree, name, device, report);
    judge_ordering(tree, name, device, report);
    judge_iommu(tree, name, device, report);
    judge_access_control(tree, name, device, report);
  }
  judge_distances(surroundings, nics, report);
  if (nics.empty()) return skipped(surroundings.why_no_nic());
  if (report.summary.empty()) report.say("no link tells its width");
  return report;
}

}  // namespace gdakit::tools::check
