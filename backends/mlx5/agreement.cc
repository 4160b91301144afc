#include "backends/mlx5/agreement.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/host/bootstrap/same_on_all_pes.h"

namespace gdakit::mlx5 {
namespace {

struct Ability {
  std::uint8_t rings = 1;
  std::array<char, 255> why{};  // not
};

}  // namespace

Result<void> agree_on_nics(Bootstrap& bootstrap, std::uint32_t mine) {
  return agree_on(
      bootstrap, "GDAKIT_NICS_PER_PE", mine,
      [](std::uint32_t nics) { return std::to_string(nics); }, "all PEs must have as many NICs");
}

Result<void> agree_on_doorbells(Bootstrap& bootstrap, const Result<void>& mine) {
  Ability ability;
  if (!mine) {
    ability.rings = 0;
    mine.error().message().copy(ability.why.data(), ability.why.size() - 1);
  }
  Result<std::vector<Ability>> all = allgather_value(bootstrap, ability);
  if (!all) return all.error();
  const auto cannot = std::ranges::find(*all, 0, &Ability::rings);
  if (cannot == all->end()) return {};
  cannot->why.back() = '\0';
  return Error(Code::unavailable,
               "the GPU of PE " + std::to_string(cannot - all->begin()) +
                   " cannot ring its NIC: " + cannot->why.data() +
                   ". NVIDIA's driver maps another device's registers where it was loaded with "
                   "PeerMappingOverride=1: `grep RegistryDwords /proc/driver/nvidia/params` shows "
                   "it");
}

Result<std::uint8_t> agree_on_mtu(Bootstrap& bootstrap, std::uint8_t mine) {
  const Result<std::vector<std::uint8_t>> all = allgather_value(bootstrap, mine);
  if (!all) return all.error();
  return std::ranges::min(*all);
}

}  // namespace gdakit::mlx5
