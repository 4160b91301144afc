#include "backends/softnic/uverbs/sysfs_pci.h"

#include <cstdio>
#include <string>

#include "backends/softnic/uverbs/cpu_list.h"
#include "backends/softnic/uverbs/pci_config.h"

namespace gdakit::softnic::uverbs {
namespace {

namespace fs = std::filesystem;

constexpr std::uint16_t kMellanox = 0x15b3;
constexpr std::uint32_t kNicClass = 0x020700;
constexpr const char* kDriver = "mlx5_core";

std::string hex(const char* format, unsigned value) {
  char text[16];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

fs::path root_port_folder(const Identity& identity) {
  return fs::path("devices/pci0000:00") /
         hex("0000:00:%02x.0", static_cast<unsigned>(identity.index()) + 1);
}

// What every device of PCI Express has.
void write_device(SysfsTree& tree, const fs::path& at, const PciConfig& config) {
  tree.file(at / "vendor", hex("0x%04x", config.vendor));
  tree.file(at / "device", hex("0x%04x", config.device));
  tree.file(at / "class", hex("0x%06x", config.class_code));
  tree.file(at / "numa_node", "0");
  const std::string cpus = online_cpus();
  tree.file(at / "local_cpus", cpu_mask(cpus));
  tree.file(at / "local_cpulist", cpus);
  tree.file(at / "current_link_speed", pci_speed_text(config.now.speed));
  tree.file(at / "max_link_speed", pci_speed_text(config.most.speed));
  tree.file(at / "current_link_width", std::to_string(config.now.width));
  tree.file(at / "max_link_width", std::to_string(config.most.width));
  tree.bytes(at / "config", config.bytes());
}

void write_root_port(SysfsTree& tree, const Identity& identity) {
  PciConfig config;
  config.vendor = 0x1b36;  // a root port as virtual machines have it
  config.device = 0x000c;
  config.class_code = 0x060400;
  config.is_root_port = true;
  config.now = config.most = {identity.model().pci_speed, kPciLanes};
  write_device(tree, root_port_folder(identity), config);
}

std::string uevent_text(const Identity& identity) {
  char id[16];
  std::snprintf(id, sizeof id, "%04X:%04X", kMellanox, identity.model().pci_device);
  return std::string("DRIVER=") + kDriver + "\nPCI_CLASS=20700\nPCI_ID=" + id +
         "\nPCI_SUBSYS_ID=15B3:0007\nPCI_SLOT_NAME=" + identity.pci_address();
}

}  // namespace

fs::path pci_folder(const Identity& identity) {
  return root_port_folder(identity) / identity.pci_address();
}

void write_pci(SysfsTree& tree, const Identity& identity) {
  write_root_port(tree, identity);
  const fs::path at = pci_folder(identity);
  PciConfig config;
  config.vendor = kMellanox;
  config.device = identity.model().pci_device;
  config.class_code = kNicClass;
  config.now = config.most = {identity.model().pci_speed, kPciLanes};
  write_device(tree, at, config);
  char modalias[80];
  std::snprintf(modalias, sizeof modalias, "pci:v000015B3d%08Xsv000015B3sd00000007bc02sc07i00",
                static_cast<unsigned>(config.device));
  tree.file(at / "modalias", modalias);
  tree.file(at / "subsystem_vendor", "0x15b3");
  tree.file(at / "subsystem_device", "0x0007");
  tree.file(at / "uevent", uevent_text(identity));
  tree.file(at / "iommu_group/type", "identity");
  const fs::path driver = fs::path("bus/pci/drivers") / kDriver;
  tree.link(at / "driver", driver);
  tree.link(driver / "module", fs::path("module") / kDriver);
}

}  // namespace gdakit::softnic::uverbs
