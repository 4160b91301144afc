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
void write_device(SysfsTree& tree, const fs::path& at, const PciConfig& config,
                  const std::string& numa_node) {
  tree.file(at / "vendor", hex("0x%04x", config.vendor));
  tree.file(at / "device", hex("0x%04x", config.device));
  tree.file(at / "class", hex("0x%06x", config.class_code));
  tree.file(at / "numa_node", numa_node);
  const std::string cpus = online_cpus();
  tree.file(at / "local_cpus", cpu_mask(cpus));
  tree.file(at / "local_cpulist", cpus);
  tree.file(at / "current_link_speed", pci_speed_text(config.now.speed));
  tree.file(at / "max_link_speed", pci_speed_text(config.most.speed));
  tree.file(at / "current_link_width", std::to_string(config.now.width));
  tree.file(at / "max_link_width", std::to_string(config.most.width));
  tree.bytes(at / "config", config.bytes());
}

PciLink link_of(const Identity& identity) {
  const NicFailures& failures = identity.failures();
  return {failures.pci_speed.value_or(identity.model().pci_speed),
          failures.pci_width.value_or(kPciLanes)};
}

std::uint16_t vendor_of(const Identity& identity) {
  const OtherVendor* const other = identity.failures().other;
  return other == nullptr ? kMellanox : other->vendor;
}

std::uint16_t device_of(const Identity& identity) {
  const OtherVendor* const other = identity.failures().other;
  return other == nullptr ? identity.model().pci_device : other->device;
}

std::string driver_of(const Identity& identity) {
  const OtherVendor* const other = identity.failures().other;
  return std::string(other == nullptr ? "mlx5_core" : other->module);
}

void write_root_port(SysfsTree& tree, const Identity& identity) {
  PciConfig config;
  config.vendor = 0x1b36;  // a root port as virtual machines have it
  config.device = 0x000c;
  config.class_code = 0x060400;
  config.is_root_port = true;
  config.now = link_of(identity);
  config.most = {identity.model().pci_speed, kPciLanes};
  config.acs_redirects = identity.failures().acs_redirects;
  write_device(tree, root_port_folder(identity), config, identity.failures().numa_node);
}

std::string uevent_text(const Identity& identity) {
  char id[16];
  std::snprintf(id, sizeof id, "%04X:%04X", vendor_of(identity), device_of(identity));
  return "DRIVER=" + driver_of(identity) + "\nPCI_CLASS=20700\nPCI_ID=" + id +
         "\nPCI_SUBSYS_ID=15B3:0007\nPCI_SLOT_NAME=" + identity.pci_address();
}

}  // namespace

fs::path pci_folder(const Identity& identity) {
  return root_port_folder(identity) / identity.pci_address();
}

void write_pci(SysfsTree& tree, const Identity& identity) {
  write_root_port(tree, identity);
  const fs::path at = pci_folder(identity);
  const NicFailures& failures = identity.failures();
  PciConfig config;
  config.vendor = vendor_of(identity);
  config.device = device_of(identity);
  config.class_code = kNicClass;
  config.now = link_of(identity);
  config.most = {identity.model().pci_speed, kPciLanes};
  config.read_request_bytes = failures.read_request_bytes;
  config.relaxed_ordering = failures.relaxed_ordering;
  write_device(tree, at, config, failures.numa_node);
  char modalias[80];
  std::snprintf(modalias, sizeof modalias, "pci:v%08Xd%08Xsv000015B3sd00000007bc02sc07i00",
                static_cast<unsigned>(config.vendor), static_cast<unsigned>(config.device));
  tree.file(at / "modalias", modalias);
  tree.file(at / "subsystem_vendor", "0x15b3");
  tree.file(at / "subsystem_device", "0x0007");
  tree.file(at / "uevent", uevent_text(identity));
  tree.file(at / "iommu_group/type", failures.iommu);
  const fs::path driver = fs::path("bus/pci/drivers") / driver_of(identity);
  tree.link(at / "driver", driver);
  tree.link(driver / "module", fs::path("module") / driver_of(identity));
}

}  // namespace gdakit::softnic::uverbs
