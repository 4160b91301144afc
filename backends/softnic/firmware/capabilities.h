// What the device says that it can do: pages of fields, of which capabilities.csv has those that
// are not 0, for each model.
//
//   std::array<std::uint8_t, kCapabilityPageBytes> page{};
//   write_capabilities(prm::CapabilityPage::cmd_hca_cap, device, page);
//
// The fields describe what programs under `gdakit verbs` have, by verbs and by commands.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/format/prm/caps.h"

namespace gdakit::softnic {

inline constexpr int kFirstModel = 6;  // ConnectX-6
inline constexpr int kLastModel = 8;
inline constexpr std::size_t kCapabilityPageBytes = 4096;

// What a device must have for the field not to be 0.
enum class CapabilityNeed : std::uint8_t { nothing, ethernet, infiniband, on_demand_memory };

struct CapabilityRow {
  format::prm::CapabilityPage page;
  std::uint16_t bit_offset;
  std::uint8_t bit_width;
  std::array<std::uint32_t, kLastModel - kFirstModel + 1> values;  // by model
  CapabilityNeed need;
};

// The table, in its order.
std::span<const CapabilityRow> capability_rows();

struct CapableDevice {
  int model = 7;
  bool ethernet = true;           // the link layer of its port; InfiniBand otherwise
  bool on_demand_memory = false;  // dma/on_demand.h
};

// Writes the page's fields to zeroes. False: there is no such page.
bool write_capabilities(format::prm::CapabilityPage page, const CapableDevice& device,
                        std::span<std::uint8_t, kCapabilityPageBytes> to);

}  // namespace gdakit::softnic
