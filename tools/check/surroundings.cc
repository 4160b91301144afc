#include "tools/check/surroundings.h"

#include <sys/resource.h>
#include <utility>

#include "core/base/bits.h"
#include "tools/check/put_by_pe.h"
#include "tools/gpus.h"

namespace gdakit::tools::check {
namespace {

std::optional<std::uint64_t> limit_of_locked_memory() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return limit.rlim_cur;
}

Result<GpuMemory> take_gpu_memory(int ordinal, std::uint64_t bytes) {
  struct Owner {
    std::unique_ptr<Gpu> gpu;
    std::unique_ptr<MemoryProvider> memory;
    std::unique_ptr<AddressRange> range;
  };
  auto owner = std::make_shared<Owner>();
  Result<std::unique_ptr<Gpu>> gpu = Gpu::open(ordinal);
  if (!gpu) return gpu.error();
  owner->gpu = std::move(*gpu);
  Result<std::unique_ptr<MemoryProvider>> memory = owner->gpu->make_memory();
  if (!memory) return memory.error();
  owner->memory = std::move(*memory);
  const std::uint64_t whole = round_up(bytes, owner->memory->granularity());
  Result<std::unique_ptr<AddressRange>> range = owner->memory->reserve(whole);
  if (!range) return range.error();
  owner->range = std::move(*range);
  if (auto committed = owner->range->commit(whole); !committed) return committed.error();
  char* const base = owner->range->base();
  MemoryProvider* const provider = owner->memory.get();
  return GpuMemory{owner, provider, base};
}

}  // namespace

std::string Surroundings::UsablePort::name() const {
  return nic->name + " port " + std::to_string(port->number);
}

std::string Surroundings::UsablePort::address() const {
  constexpr std::string_view kIpv4 = "::ffff:";
  if (gid == nullptr) return "none";
  return gid->is_ipv4 && gid->text.starts_with(kIpv4) ? gid->text.substr(kIpv4.size()) : gid->text;
}

const mlx5::GidLook* chosen_gid(const mlx5::PortLook& port, const GidChoice& choice) {
  const mlx5::GidLook* best = nullptr;
  const auto rank = [](const mlx5::GidLook& gid) {
    return (gid.is_v2 ? 4 : 0) + (gid.is_link_local ? 0 : 2) + (gid.is_ipv4 ? 1 : 0);
  };
  const auto allowed = [&](const mlx5::GidLook& gid) {
    if (choice.index()) return *choice.index() == gid.index;
    return !port.is_ethernet || choice.allows(gid.raw, gid.is_v2 ? 2 : 1);
  };
  for (const mlx5::GidLook& gid : port.gids) {
    if (!allowed(gid)) continue;
    if (best == nullptr || rank(gid) > rank(*best)) best = &gid;
  }
  return best;
}

std::vector<const mlx5::NicLook*> Surroundings::own_nics() const {
  std::vector<const mlx5::NicLook*> own;
  if (!nics) return own;
  for (const mlx5::NicLook& nic : *nics) {
    if (nic.is_connectx && nic.is_allowed) own.push_back(&nic);
  }
  return own;
}

std::vector<Surroundings::UsablePort> Surroundings::usable_ports() const {
  const GidChoice choice = GidChoice::parse(options.gid).value_or(GidChoice());
  std::vector<UsablePort> usable;
  for (const mlx5::NicLook* nic : own_nics()) {
    if (!nic->open.ok()) continue;
    for (const mlx5::PortLook& port : nic->ports) {
      if (port.is_active) usable.push_back({nic, &port, chosen_gid(port, choice)});
    }
  }
  return usable;
}

std::string Surroundings::why_no_nic() const {
  if (!libraries) return "libibverbs and libmlx5 cannot be used (step libraries)";
  if (own_nics().empty()) return "there is no ConnectX to ask (step device)";
  return "no ConnectX has a port that is ACTIVE (steps device and port)";
}

Result<std::vector<mlx5::PlacedNic>> Surroundings::nics_of_this_pe() const {
  const std::size_t rank = options.local_rank.value_or(0);
  const bool on_gpu = options.device != DeviceChoice::cpu;
  const std::vector<std::string> buses =
      buses_of_pes(options, on_gpu ? gpus.gpus : std::vector<GpuInfo>());
  std::vector<std::string> taken;
  for (std::size_t i = 0; i <= rank; ++i) taken.push_back(buses[i % buses.size()]);
  return place_nics(taken);
}

Surroundings look_around(const Options& options, bool with_gpus,
                         std::chrono::milliseconds put_limit) {
  Surroundings found;
  found.put_limit = put_limit;
  found.options = options;
  found.locked_bytes = limit_of_locked_memory();
  found.libraries = mlx5::look_at_libraries();
  found.nics = mlx5::look_at_nics(options.hca_list);
  if (with_gpus) found.gpus = report_gpus();
  found.open_put_end = [options](const std::string& nic, unsigned port) {
    return mlx5::open_put_end(nic, port, options);
  };
  found.put_by_gpu = [options, limit = found.put_limit](const std::string& nic, unsigned port,
                                                        int gpu, NicHandler handler) {
    return put_by_pe(options, {nic, port, gpu, handler, limit});
  };
  found.place_nics = [options](const std::vector<std::string>& gpus) {
    return mlx5::place_nics(options.nics_per_pe,
                            HcaList::parse(options.hca_list).value_or(HcaList()),
                            HcaMap::parse(options.hca_map).value_or(HcaMap()),
                            GidChoice::parse(options.gid).value_or(GidChoice()), gpus);
  };
  found.take_gpu_memory = take_gpu_memory;
  found.gpu_rdma = gpu_rdma;
  return found;
}

}  // namespace gdakit::tools::check
