#include "tools/check/pci.h"

#include <cstdlib>
#include <sstream>

namespace gdakit::tools::check {
namespace {

// Of the PCI Express specification. Capabilities have their number and the place of the next one in
// a byte each; extended ones, which begin at kFirstExtended, in 16 bits and 12.
constexpr std::size_t kFirstCapability = 0x34;
constexpr std::size_t kHeaderBytes = 64;
constexpr std::uint32_t kExpress = 0x10;
constexpr std::size_t kDeviceControlOffset = 8;
constexpr std::uint32_t kRelaxedOrdering = 1 << 4;
constexpr std::size_t kFirstExtended = 0x100;
constexpr std::uint32_t kAccessControlServices = 0x000d;
constexpr std::size_t kControlOffset = 6;
// P2P request redirect, P2P completion redirect, upstream forwarding.
constexpr std::uint16_t kRedirects = 0x4 | 0x8 | 0x10;

bool is_address(const std::string& word) {  // dddd:bb:dd.f
  return word.size() >= 12 && word[word.size() - 2] == '.' && word[word.size() - 5] == ':';
}

std::uint32_t word_at(const std::string& bytes, std::size_t at, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    value |= std::uint32_t{static_cast<std::uint8_t>(bytes[at + i])} << (8 * i);
  }
  return value;
}

}  // namespace

std::optional<PciDevice> find_pci_device(const Tree& tree, const std::string& path) {
  std::istringstream parts(tree.real(path));
  PciDevice device;
  std::string part, folder;
  while (std::getline(parts, part, '/')) {
    if (!part.empty()) folder += '/' + part;
    if (is_address(part)) device.bridges.push_back({part, folder});
  }
  if (device.bridges.empty()) return std::nullopt;
  device.self = device.bridges.back();
  device.bridges.pop_back();
  const std::string node = tree.read(device.self.folder + "/numa_node").value_or("");
  device.numa_node = node.empty() ? -1 : std::atoi(node.c_str());
  return device;
}

std::vector<PciDevice> nvidia_gpus(const Tree& tree) {
  std::vector<PciDevice> gpus;
  for (const std::string& address : tree.list("/sys/bus/pci/devices")) {
    const std::string at = "/sys/bus/pci/devices/" + address;
    if (tree.read(at + "/vendor") != "0x10de") continue;
    if (!tree.read(at + "/class").value_or("").starts_with("0x03")) continue;
    if (const auto gpu = find_pci_device(tree, at)) gpus.push_back(*gpu);
  }
  return gpus;
}

AccessControl access_control(const Tree& tree, const PciFunction& bridge) {
  const std::string bytes = tree.read_bytes(bridge.folder + "/config");
  AccessControl found;
  if (bytes.size() <= kFirstExtended) return found;
  found.known = true;
  std::size_t at = kFirstExtended;
  for (std::size_t steps = 0; steps < bytes.size() / 4; ++steps) {
    if (at < kFirstExtended || at + kControlOffset + 2 > bytes.size()) break;
    const std::uint32_t header = word_at(bytes, at, 4);
    if ((header & 0xffff) == kAccessControlServices) {
      found.control = static_cast<std::uint16_t>(word_at(bytes, at + kControlOffset, 2));
      found.redirects = (found.control & kRedirects) != 0;
      break;
    }
    at = header >> 20;
  }
  return found;
}

std::optional<ReadRequests> read_requests(const Tree& tree, const PciFunction& device) {
  const std::string bytes = tree.read_bytes(device.folder + "/config");
  if (bytes.size() <= kHeaderBytes) return std::nullopt;
  std::size_t at = word_at(bytes, kFirstCapability, 1);
  for (std::size_t steps = 0; steps < kFirstExtended / 4; ++steps) {
    if (at < kHeaderBytes || at + kDeviceControlOffset + 2 > bytes.size()) break;
    if (word_at(bytes, at, 1) == kExpress) {
      const std::uint32_t control = word_at(bytes, at + kDeviceControlOffset, 2);
      return ReadRequests{128u << (control >> 12 & 7), (control & kRelaxedOrdering) != 0};
    }
    at = word_at(bytes, at + 1, 1);
  }
  return std::nullopt;
}

}  // namespace gdakit::tools::check
