// Opens a PE's NICs, as the options want them.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/mlx5/agreement.h"
#include "backends/mlx5/emulation.h"
#include "backends/mlx5/mlx5_backend.h"
#include "backends/mlx5/open_nic.h"
#include "core/base/log.h"
#include "core/host/bootstrap/host_name.h"
#include "core/host/local_rank.h"
#include "core/host/nic_set.h"

namespace gdakit::mlx5 {
namespace {

template <class T>
std::optional<std::uint8_t> to_byte(const std::optional<T>& value) {
  return value ? std::optional(static_cast<std::uint8_t>(*value)) : std::nullopt;
}

template <class Value>
Result<Value> parsed(const char* variable, const std::string& text) {
  const std::optional<Value> value = Value::parse(text);
  if (value) return *value;
  return Error(Code::invalid_argument, std::string(variable) + "=\"" + text +
                                           "\" cannot be read; `gdakit info` says what it may be");
}

// Where a PE is, as others that take NICs near it need to know.
struct Place {
  HostName host{};
  std::uint32_t local_rank = 0;
  std::array<char, 32> gpu{};  // its PCI address; empty: none
};

// Collective. The GPUs of the PEs of this host that have lower local ranks.
Result<std::vector<std::string>> gpus_before(const Place& mine, Bootstrap& bootstrap) {
  Result<std::vector<Place>> places = allgather_value(bootstrap, mine);
  if (!places) return places.error();
  std::vector<std::string> gpus;
  for (Place& place : *places) {
    place.gpu.back() = '\0';
    if (place.host == mine.host && place.local_rank < mine.local_rank) {
      gpus.emplace_back(place.gpu.data());
    }
  }
  return gpus;
}

// Collective.
Result<NicOptions> nic_options(const Options& options, Bootstrap& bootstrap,
                               const MemoryProvider& memory) {
  const Result<HcaList> list = parsed<HcaList>("GDAKIT_HCA_LIST", options.hca_list);
  if (!list) return list.error();
  const Result<HcaMap> map = parsed<HcaMap>("GDAKIT_HCA_MAP", options.hca_map);
  if (!map) return map.error();
  const Result<GidChoice> gid = parsed<GidChoice>("GDAKIT_GID", options.gid);
  if (!gid) return gid.error();
  const std::size_t local_rank = local_rank_of(options, bootstrap);
  const std::string gpu = memory.bus();
  Place mine{this_host(), static_cast<std::uint32_t>(local_rank)};
  gpu.copy(mine.gpu.data(), mine.gpu.size() - 1);
  Result<std::vector<std::string>> before = gpus_before(mine, bootstrap);
  if (!before) return before.error();
  return NicOptions{
      .wish = {options.nics_per_pe, *list, *map, *gid, local_rank, gpu, std::move(*before)},
      .service_level = to_byte(options.service_level),
      .traffic_class = to_byte(options.traffic_class),
      .pkey_index = static_cast<std::uint16_t>(options.pkey_index)};
}

Result<void> check_emulated(const Options& options, const OpenNic& nic) {
  const bool is_real = SoftNic::of(nic.context()) == nullptr;
  if (options.backend != BackendChoice::mlx5_emulated || !is_real) return {};
  return Error(Code::unavailable, "GDAKIT_BACKEND=mlx5-emulated: " + nic.name() +
                                      " is a real NIC; GDAKIT_BACKEND=mlx5 drives such");
}

class Provider final : public BackendProvider {
 public:
  explicit Provider(const Libraries* libraries) : libraries_(libraries) {}

  Result<std::unique_ptr<Backend>> open(const Options& options, Bootstrap& bootstrap,
                                        MemoryProvider& memory) override {
    if (options.backend == BackendChoice::mlx5_emulated && !SoftNic::given()) {
      return Error(Code::unavailable,
                   "GDAKIT_BACKEND=mlx5-emulated: this process has no soft ConnectX; start it by "
                   "`gdakit run`, or by `gdakit verbs -- PROGRAM`");
    }
    const Result<const Libraries*> libraries =
        libraries_ == nullptr ? Libraries::of_process() : Result<const Libraries*>(libraries_);
    if (!libraries) return libraries.error();
    if (auto same = agree_on_nics(bootstrap, options.nics_per_pe); !same) return same.error();
    const Result<NicOptions> wanted = nic_options(options, bootstrap, memory);
    if (!wanted) return wanted.error();
    auto nics = OpenNic::open_all(**libraries, *wanted);
    if (!nics) return nics.error();
    const Log log(options.log, bootstrap.rank());
    for (const std::unique_ptr<OpenNic>& nic : *nics) {
      if (auto fits = check_emulated(options, *nic); !fits) return fits.error();
      log.info("NIC " + nic->device() + ", port " + std::to_string(nic->port()) + ": " +
               nic->why());
    }
    auto backends = make_backends(std::move(*nics), options, bootstrap, memory);
    if (!backends) return backends.error();
    return backends->size() == 1 ? std::move(backends->front())
                                 : make_nic_set(std::move(*backends));
  }

 private:
  const Libraries* const libraries_;  // null: those of this process
};

}  // namespace

std::unique_ptr<BackendProvider> make_provider() { return std::make_unique<Provider>(nullptr); }

std::unique_ptr<BackendProvider> make_provider(const Libraries& libraries) {
  return std::make_unique<Provider>(&libraries);
}

}  // namespace gdakit::mlx5
