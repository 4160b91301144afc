// The configuration space of a PCI Express device: the bytes of the file `config` in /sys.
//
// Only what a program looks for that judges the way between a GPU and a NIC. Source: the PCI
// Express Base Specification, its chapter on configuration space.
#pragma once

#include <cstdint>
#include <string>

namespace gdakit::softnic::uverbs {

struct PciLink {
  std::uint32_t speed = 0;  // as LnkCap and LnkSta number it: 1 is 2.5 GT/s, 5 is 32 GT/s
  std::uint32_t width = 0;  // lanes
};

struct PciConfig {
  std::uint16_t vendor = 0;
  std::uint16_t device = 0;
  std::uint32_t class_code = 0;  // of 24 bits
  bool is_root_port = false;     // else an endpoint
  PciLink now = {}, most = {};
  std::uint32_t read_request_bytes = 4096;  // the longest read that it may ask for
  bool relaxed_ordering = true;
  // Of a root port alone: whether it sends what one device writes to another through the host's
  // memory controller.
  bool acs_redirects = false;

  // 4096 bytes.
  std::string bytes() const;
};

// "32.0 GT/s PCIe", as current_link_speed has it; of a speed that there is.
std::string pci_speed_text(std::uint32_t speed);

}  // namespace gdakit::softnic::uverbs
