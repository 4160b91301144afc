// What the firmware is told of its device, and tells clients.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backends/softnic/objects/addresses.h"

namespace gdakit::softnic {

// As roce_addr_layout.roce_version.
enum class RoceVersion : std::uint8_t { v1 = 0, v1_5 = 1, v2 = 2 };

// An address of the port.
struct RoceAddress {
  Gid gid = {};
  std::array<std::uint8_t, 6> mac = {};  // as its bytes lie on the wire
  RoceVersion version = RoceVersion::v2;
};

struct FirmwareIdentity {
  int model = 7;         // ConnectX-6, 7 or 8
  bool ethernet = true;  // the link layer of its ports; InfiniBand otherwise
  unsigned ports = 1;    // by which queue pairs may send; what follows is of the first one
  // By index, as in the port's table of GIDs. Of Ethernet alone, and at most kRoceAddresses.
  std::vector<RoceAddress> addresses = {};
  std::uint64_t guid = 0;
  std::array<std::uint8_t, 6> mac = {};
  std::uint16_t mtu = 1500;  // of the port of Ethernet, in bytes
  // Of InfiniBand: its own, and the subnet manager's.
  std::uint16_t lid = 0, sm_lid = 0;
  std::string board = {};  // its PSID, of at most 16 characters
  std::function<bool()> port_is_up = [] { return true; };
};

// Entries of the table; those without an address are zeroes. roce_cap.roce_address_table_size.
inline constexpr std::size_t kRoceAddresses = 256;

}  // namespace gdakit::softnic
