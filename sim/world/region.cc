#include "sim/world/region.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/assert.h"
#include "core/base/hex.h"
#include "core/format/cqe.h"
#include "core/format/wqe.h"
#include "device/command.h"

namespace gdakit::sim {
namespace {

std::string plus(std::uint64_t offset) {
  return offset == 0 ? std::string() : " +" + std::to_string(offset);
}

// The words of QueueState (device/views.h) in their order.
constexpr std::array<std::string_view, 8> kQueueWords = {"reserved",   "completed",  "posted",
                                                         "open_until", "read_until", "flushed_here",
                                                         "error",      "fetch_head"};

std::string place_in(const Region& region, std::uint64_t offset) {
  switch (region.kind) {
    case RegionKind::slots:
      return " WQE " + std::to_string(offset / format::kWqebbBytes) +
             plus(offset % format::kWqebbBytes);
    case RegionKind::cqe: {
      const bool one = region.end - region.begin <= sizeof(format::Cqe64);
      const std::string which =
          one ? std::string() : " " + std::to_string(offset / sizeof(format::Cqe64));
      return " CQE" + which + plus(offset % sizeof(format::Cqe64));
    }
    case RegionKind::record: return " record" + plus(offset);
    case RegionKind::state:
      if (offset < 8 * kQueueWords.size()) {
        return " " + std::string(kQueueWords[offset / 8]) + plus(offset % 8);
      }
      return " state" + plus(offset);
    case RegionKind::sink: return " sink" + plus(offset);
    case RegionKind::proxy: return " proxy index" + plus(offset);
    case RegionKind::command:
      return " command " + std::to_string(offset / sizeof(Command)) +
             plus(offset % sizeof(Command));
    default: return offset == 0 ? std::string() : " +" + hex_number(offset);
  }
}

}  // namespace

const char* part_name(RegionKind kind) {
  switch (kind) {
    case RegionKind::slots: return "WQE";
    case RegionKind::cqe: return "CQE";
    case RegionKind::record: return "doorbell record";
    case RegionKind::state: return "index";
    case RegionKind::heap:
    case RegionKind::signal: return "data";
    case RegionKind::fetch: return "fetched value";
    case RegionKind::sink: return "sink";
    case RegionKind::proxy: return "proxy index";
    case RegionKind::command: return "command";
    case RegionKind::report: return "report";
    case RegionKind::doorbell: return "doorbell";
    case RegionKind::other: break;
  }
  return "";
}

void Layout::add(Region region) {
  GDAKIT_ASSERT(region.begin < region.end);
  const auto after = std::find_if(regions_.begin(), regions_.end(),
                                  [&](const Region& other) { return other.begin >= region.begin; });
  GDAKIT_ASSERT(after == regions_.end() || region.end <= after->begin);
  GDAKIT_ASSERT(after == regions_.begin() || (after - 1)->end <= region.begin);
  regions_.insert(after, std::move(region));
}

const Region* Layout::find(std::uint64_t offset) const {
  const auto after =
      std::upper_bound(regions_.begin(), regions_.end(), offset,
                       [](std::uint64_t at, const Region& region) { return at < region.begin; });
  if (after == regions_.begin() || offset >= (after - 1)->end) return nullptr;
  return &*(after - 1);
}

std::string Layout::name(std::uint64_t offset) const {
  const Region* region = find(offset);
  if (region == nullptr) return "offset " + hex_number(offset);
  return region->name + place_in(*region, offset - region->begin);
}

bool Layout::all_of_gpu() const {
  return std::all_of(regions_.begin(), regions_.end(), [](const Region& region) {
    switch (region.kind) {
      // Nothing that a NIC touches.
      case RegionKind::state:
      case RegionKind::proxy:
      case RegionKind::command:
      case RegionKind::report:
      case RegionKind::doorbell: return true;
      default: return region.owner == Owner::gpu;
    }
  });
}

std::string place_name(const AddressSpace& space, const Layout& layout, weak::Address address) {
  return "PE " + std::to_string(space.pe_of(address)) + " " + layout.name(space.offset_of(address));
}

}  // namespace gdakit::sim
