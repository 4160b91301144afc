#include "backends/mlx5/agreement.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/host/bootstrap/same_on_all_pes.h"

namespace gdakit::mlx5 {
namespace {

struct Ability {
  std::uint8_t has_it = 1;
  std::array<char, 1023> why{};  // not
};

// The first PE that lacks something.
struct Lack {
  std::size_t pe = 0;
  std::string why;
};

// Collective. Nothing if no PE does.
Result<std::optional<Lack>> first_that_lacks(Bootstrap& bootstrap, const Result<void>& mine) {
  Ability ability;
  if (!mine) {
    ability.has_it = 0;
    mine.error().message().copy(ability.why.data(), ability.why.size() - 1);
  }
  Result<std::vector<Ability>> all = allgather_value(bootstrap, ability);
  if (!all) return all.error();
  const auto found = std::ranges::find(*all, 0, &Ability::has_it);
  if (found == all->end()) return std::optional<Lack>();
  found->why.back() = '\0';
  return std::optional(Lack{static_cast<std::size_t>(found - all->begin()), found->why.data()});
}

}  // namespace

Result<void> agree_on_nics(Bootstrap& bootstrap, std::uint32_t mine) {
  return agree_on(
      bootstrap, "GDAKIT_NICS_PER_PE", mine,
      [](std::uint32_t nics) { return std::to_string(nics); }, "all PEs must have as many NICs");
}

Result<void> agree_on_doorbells(Bootstrap& bootstrap, const Result<void>& mine) {
  const auto lack = first_that_lacks(bootstrap, mine);
  if (!lack) return lack.error();
  if (!*lack) return {};
  return Error(Code::unavailable,
               "the GPU of PE " + std::to_string((*lack)->pe) +
                   " cannot ring its NIC: " + (*lack)->why +
                   ". NVIDIA's driver maps another device's registers where it was loaded with "
                   "PeerMappingOverride=1: `grep RegistryDwords /proc/driver/nvidia/params` shows "
                   "it");
}

Result<void> agree_on_queue_memory(Bootstrap& bootstrap, const Result<void>& mine) {
  const auto lack = first_that_lacks(bootstrap, mine);
  if (!lack) return lack.error();
  if (!*lack) return {};
  return Error(Code::unavailable, "the NIC of PE " + std::to_string((*lack)->pe) +
                                      " takes no queue in its GPU's memory: " + (*lack)->why);
}

Result<std::uint8_t> agree_on_mtu(Bootstrap& bootstrap, std::uint8_t mine) {
  const Result<std::vector<std::uint8_t>> all = allgather_value(bootstrap, mine);
  if (!all) return all.error();
  return std::ranges::min(*all);
}

}  // namespace gdakit::mlx5
