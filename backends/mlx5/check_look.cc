#include "backends/mlx5/check_look.h"

#include <algorithm>
#include <cerrno>
#include <dlfcn.h>
#include <filesystem>

#include "backends/mlx5/atomics.h"
#include "backends/mlx5/dc_ability.h"
#include "backends/mlx5/doorbell_pages.h"
#include "backends/mlx5/gids.h"
#include "backends/mlx5/judge.h"
#include "backends/mlx5/nic_capabilities.h"
#include "backends/mlx5/ports.h"

namespace gdakit::mlx5 {
namespace {

Answer answer_of(const std::string& call, int code) {
  if (code == 0) return {true, 0, {}};
  return {true, code, Error::from_errno(call, code).message()};
}
Answer answer_of(const std::string& call, bool succeeded) {
  if (succeeded) return {true, 0, {}};
  return answer_of(call, errno != 0 ? errno : EIO);
}
template <class T>
Answer answer_of(const Result<T>& result) {
  if (result) return {true, 0, {}};
  const int code = result.error().system_code();
  return {true, code != 0 ? code : ENOSYS, result.error().message()};
}

struct Close {
  const Libraries* libraries;
  void operator()(ibv_context* context) const { libraries->close_device(context); }
};
using Context = std::unique_ptr<ibv_context, Close>;

Context open(const Libraries& libraries, ibv_device* device, Answer& answer) {
  mlx5dv_context_attr attributes{};
  attributes.flags = MLX5DV_CONTEXT_FLAGS_DEVX;
  errno = 0;
  ibv_context* const context = libraries.open_device(device, &attributes);
  answer =
      answer_of("mlx5dv_open_device with DEVX, on /dev/infiniband/" + text_in(device->dev_name),
                context != nullptr);
  return Context(context, Close{&libraries});
}

Answer try_page(const Libraries& libraries, ibv_context* context, std::uint32_t type,
                const char* type_name) {
  errno = 0;
  mlx5dv_devx_uar* const page = libraries.alloc_uar(context, type);
  Answer answer =
      answer_of(std::string("mlx5dv_devx_alloc_uar of type ") + type_name, page != nullptr);
  if (page != nullptr) libraries.free_uar(page);
  return answer;
}

void look_at_atomics(const Libraries& libraries, ibv_context* context, NicLook& look) {
  const Result<Atomics> atomics = query_atomics(libraries, context);
  look.atomics = answer_of(atomics);
  if (!atomics) return;
  look.atomic_operations = atomics->operations;
  look.atomic_sizes = atomics->sizes;
  look.swaps_fetched = atomics->swaps_fetched;
}

GidLook look_at_gid(const ibv_gid_entry& entry) {
  GidLook gid;
  gid.index = entry.gid_index;
  gid.raw = bytes_of(entry.gid);
  gid.text = text_of(gid.raw);
  gid.is_v2 = entry.gid_type == IBV_GID_TYPE_ROCE_V2;
  gid.is_v1 = entry.gid_type == IBV_GID_TYPE_ROCE_V1;
  gid.is_link_local = is_link_local(gid.raw);
  gid.is_ipv4 = is_ipv4(gid.raw);
  return gid;
}

const char* state_name(std::uint32_t state) {
  switch (state) {
    case IBV_PORT_DOWN: return "DOWN";
    case IBV_PORT_INIT: return "INIT";
    case IBV_PORT_ARMED: return "ARMED";
    case IBV_PORT_ACTIVE: return "ACTIVE";
    default: return "unknown";
  }
}

PortLook look_at_port(const Libraries& libraries, ibv_context* context, std::uint8_t number) {
  PortLook port;
  port.number = number;
  const Result<ibv_port_attr> attributes = query_port(context, number);
  port.query = answer_of(attributes);
  if (!attributes) return port;
  port.state = state_name(state_of(*attributes));
  port.is_active = state_of(*attributes) == IBV_PORT_ACTIVE;
  port.is_ethernet = attributes->link_layer == IBV_LINK_LAYER_ETHERNET;
  port.is_infiniband = attributes->link_layer == IBV_LINK_LAYER_INFINIBAND;
  port.mtu = bytes_of(attributes->active_mtu);
  port.max_mtu = bytes_of(attributes->max_mtu);
  port.lid = attributes->lid;
  port.needs_grh = (attributes->flags & IBV_QPF_GRH_REQUIRED) != 0;
  port.pkeys = attributes->pkey_tbl_len;
  const auto gids = GidTable(libraries, context, number).entries();
  if (!gids) port.gids_read = answer_of("ibv_query_gid_table", gids.error().system_code());
  if (!gids) return port;
  for (const ibv_gid_entry& entry : *gids) port.gids.push_back(look_at_gid(entry));
  return port;
}

// Which file a function of a library comes from: the last one of a chain of links, whose name has
// the version.
std::string file_of(const void* function) {
  Dl_info info{};
  if (dladdr(function, &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code unreadable;
  const std::filesystem::path file = std::filesystem::canonical(info.dli_fname, unreadable);
  return unreadable ? info.dli_fname : file.string();
}

bool has_symbol(const std::string& file, const char* symbol, const char* version) {
  void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (handle == nullptr) return false;
  const bool found = dlvsym(handle, symbol, version) != nullptr;
  dlclose(handle);
  return found;
}

}  // namespace

NicLook look_at_nic(const Libraries& libraries, ibv_device* device, const HcaList& list) {
  NicLook look;
  look.name = name_of(libraries, device);
  look.node = text_in(device->dev_name);
  look.is_connectx = libraries.is_supported(device);
  look.is_allowed = may_be_used(list, look.name);
  if (!look.is_connectx || !look.is_allowed) return look;
  const Context context = open(libraries, device, look.open);
  if (context == nullptr) return look;
  ibv_device_attr attributes{};
  look.attributes =
      answer_of("ibv_query_device", libraries.query_device(context.get(), &attributes));
  look.dedicated_page = try_page(libraries, context.get(), kDedicatedPage, "NC_DEDICATED");
  look.uncached_page = try_page(libraries, context.get(), MLX5DV_UAR_ALLOC_TYPE_NC, "NC");
  look.blueflame_page = try_page(libraries, context.get(), MLX5DV_UAR_ALLOC_TYPE_BF, "BF");
  look_at_atomics(libraries, context.get(), look);
  look.lacks_dc = query_dc(libraries, context.get(), /*most_log_reads=*/0).lacks;
  look.has_recordless = NicCapabilities::query(libraries, context.get()).recordless;
  if (!look.attributes.ok()) return look;
  look.firmware = firmware_of(attributes);
  look.part = attributes.vendor_part_id;
  look.most_queue_pairs = static_cast<std::uint32_t>(attributes.max_qp);
  for (unsigned number = 1; number <= attributes.phys_port_cnt; ++number) {
    const auto port = static_cast<std::uint8_t>(number);
    if (list.allows(look.name, port)) {
      look.ports.push_back(look_at_port(libraries, context.get(), port));
    }
  }
  return look;
}

Result<LibrariesLook> look_at_libraries() {
  const Result<const Libraries*> libraries = Libraries::of_process();
  if (!libraries) return libraries.error();
  LibrariesLook look;
  look.verbs_file = file_of(reinterpret_cast<const void*>((*libraries)->get_device_list));
  look.mlx5_file = file_of(reinterpret_cast<const void*>((*libraries)->open_device));
  look.has_data_direct = has_symbol(look.mlx5_file, "mlx5dv_reg_dmabuf_mr", "MLX5_1.25");
  return look;
}

Result<std::vector<NicLook>> look_at_nics(const std::string& hca_list) {
  const Result<const Libraries*> libraries = Libraries::of_process();
  if (!libraries) return libraries.error();
  const Result<DeviceList> present = DeviceList::get(**libraries);
  if (!present) return present.error();
  const HcaList list = HcaList::parse(hca_list).value_or(HcaList());
  std::vector<NicLook> looks;
  for (ibv_device* const device : present->devices()) {
    looks.push_back(look_at_nic(**libraries, device, list));
  }
  return looks;
}

}  // namespace gdakit::mlx5
