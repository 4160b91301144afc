#include "tests/mlx5/played.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "tests/mlx5/played_calls.h"

namespace gdakit::mlx5 {
namespace calls {

namespace {

constexpr int kErrors[] = {EIO, ENOMEM, EINVAL, EREMOTEIO, EFAULT, -1};
constexpr std::uint32_t kFailsOneIn = 64, kSpoiltOneIn = 24, kCutOneIn = 96;

bool fails(const std::string& call, bool at_random) {
  const auto found = played().errors.find(call);
  errno = found != played().errors.end() ? found->second : 0;
  if (at_random && happens(kFailsOneIn)) {
    errno = kErrors[played().draw(static_cast<std::uint32_t>(std::size(kErrors)))];
  }
  return errno != 0;
}

}  // namespace

bool succeeds(const std::string& call) { return !fails(call, true); }
int code_of(const std::string& call) { return succeeds(call) ? 0 : errno; }
bool removes(const std::string& call) { return !fails(call, played().removals_fail); }

bool happens(std::uint32_t odds) { return played().draw && played().draw(odds) == 1; }

void spoil(std::span<std::uint8_t> answer) {
  if (!happens(kSpoiltOneIn)) return;
  const auto draw = [](std::size_t limit) {
    return played().draw(static_cast<std::uint32_t>(limit));
  };
  switch (draw(3)) {
    case 0: std::ranges::fill(answer, std::uint8_t{0}); break;
    case 1:
      for (int i = 0; i < 4; ++i) {
        answer[draw(answer.size())] = static_cast<std::uint8_t>(draw(2) == 0 ? 0xff : draw(256));
      }
      break;
    default:
      for (std::uint8_t& byte : answer) byte = static_cast<std::uint8_t>(draw(256));
  }
}

// Half of those that are cut are empty.
std::size_t arriving(const std::string& call, std::size_t bytes) {
  std::size_t comes = bytes;
  const auto wanted = played().arrives.find(call);
  if (wanted != played().arrives.end()) {
    comes = std::min(bytes, wanted->second);
  } else if (bytes != 0 && happens(kCutOneIn)) {
    comes = played().draw(2) == 0 ? 0 : played().draw(static_cast<std::uint32_t>(bytes));
  }
  if (comes != bytes) played().cut.insert(call);
  return comes;
}

void give(const std::string& call, std::span<std::uint8_t> to, std::vector<std::uint8_t> answer) {
  spoil(std::span<std::uint8_t>(answer));
  std::memcpy(to.data(), answer.data(), arriving(call, answer.size()));
}

}  // namespace calls

namespace {

using calls::arriving;
using calls::code_of;
using calls::give;
using calls::gone;
using calls::happens;
using calls::made;
using calls::removes;
using calls::spoil;
using calls::succeeds;

std::array<ibv_device, 3> devices;  // rocep1s0 and on
std::array<verbs_context, devices.size()> contexts;
mlx5_wqe_av vector;

void name_devices() {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    std::strcpy(devices[i].name, ("rocep" + std::to_string(i + 1) + "s0").c_str());
    std::strcpy(devices[i].dev_name, ("uverbs" + std::to_string(i + 3)).c_str());
    std::strcpy(devices[i].dev_path, "/sys/nowhere");
    std::strcpy(devices[i].ibdev_path,
                i < played().folders.size() ? played().folders[i].c_str() : "/nowhere");
  }
}
// All its names are cut: to nothing, or so that they have no end.
void cut_names(ibv_device& device) {
  const std::size_t comes = arriving("ibv_get_device_name", sizeof device.name);
  if (comes == sizeof device.name) return;
  const int letter = comes == 0 ? '\0' : 'n';
  std::memset(device.name, letter, sizeof device.name);
  std::memset(device.dev_name, letter, sizeof device.dev_name);
  std::memset(device.dev_path, letter, sizeof device.dev_path);
  std::memset(device.ibdev_path, letter, sizeof device.ibdev_path);
}

ibv_device** get_device_list(int* count) {
  if (!played().answers) return errno = ENOSYS, nullptr;
  if (!succeeds("ibv_get_device_list")) return nullptr;
  ++played().live["list"];
  const auto all = static_cast<std::size_t>(played().devices);
  auto** const list = new ibv_device*[all + 1]();
  name_devices();
  const std::size_t come = arriving("ibv_get_device_list", all);
  for (std::size_t i = 0; i < come; ++i) {
    list[i] = &devices[i];
    cut_names(devices[i]);
  }
  *count = played().devices_told.value_or(played().devices);
  return list;
}
void free_device_list(ibv_device** list) {
  --played().live["list"];
  delete[] list;
}
const char* get_device_name(ibv_device* of) { return of->name; }
bool is_supported(ibv_device*) { return played().is_mlx5 && !happens(64); }
ibv_context* open_device(ibv_device* device, mlx5dv_context_attr* attributes) {
  if (attributes->flags != MLX5DV_CONTEXT_FLAGS_DEVX) return nullptr;
  if (!succeeds("mlx5dv_open_device")) return nullptr;
  ++played().live["context"];
  verbs_context& opened = contexts[static_cast<std::size_t>(device - devices.data())];
  // Of a library with fewer functions than the headers have.
  opened.sz = arriving("mlx5dv_open_device", sizeof opened);
  return &opened.context;
}
int close_device(ibv_context*) {
  --played().live["context"];
  return 0;
}
int query_device(ibv_context*, ibv_device_attr* attributes) {
  ibv_device_attr device{};
  device.max_qp_rd_atom = device.max_qp_init_rd_atom = played().reads;
  device.node_guid = ~std::uint64_t{0};
  device.phys_port_cnt = static_cast<std::uint8_t>(played().ports.size());
  std::memcpy(device.fw_ver, played().firmware.data(),
              std::min(played().firmware.size(), sizeof device.fw_ver));
  give("ibv_query_device", *attributes, device);
  return code_of("ibv_query_device");
}
int query_port(ibv_context* of, std::uint8_t number, ibv_port_attr* attributes, std::size_t) {
  const bool later = played().live["pd"] != 0 && !played().ports_later.empty();
  const std::vector<ibv_port_attr>& ports = later ? played().ports_later : played().ports;
  if (number > ports.size()) return EINVAL;
  ibv_port_attr port = ports[number - 1u];
  port.gid_tbl_len = static_cast<int>(played().gids.size());
  const bool is_second = of == &contexts[1].context;
  if (is_second && played().second_mtu) port.active_mtu = *played().second_mtu;
  give("ibv_query_port", *attributes, port);
  return code_of("ibv_query_port");
}
int query_gid(ibv_context*, std::uint32_t, std::uint32_t index, ibv_gid_entry* entry, std::uint32_t,
              std::size_t) {
  played().last_gid = std::max(played().last_gid, index);
  if (index >= played().gids.size()) return EINVAL;
  const ibv_gid_entry& there = played().gids.at(index);
  if (there.gid_type == ~0u) return ENODATA;
  give("_ibv_query_gid_ex", *entry, there);
  return code_of("_ibv_query_gid_ex");
}

// Each port has the same, but for those that name theirs.
ssize_t query_gid_table(ibv_context*, ibv_gid_entry* entries, std::size_t room, std::uint32_t,
                        std::size_t) {
  std::vector<std::uint8_t> all;
  std::size_t count = 0;
  for (std::uint32_t port = 1; port <= played().ports.size(); ++port) {
    for (std::uint32_t index = 0; index < played().gids.size(); ++index) {
      ibv_gid_entry entry = played().gids[index];
      if (entry.gid_type == ~0u || (entry.port_num != 0 && entry.port_num != port)) continue;
      entry.gid_index = index;
      entry.port_num = port;
      const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&entry);
      all.insert(all.end(), bytes, bytes + sizeof entry);
      ++count;
    }
  }
  if (count > room) return -EINVAL;
  const std::span<std::uint8_t> to(reinterpret_cast<std::uint8_t*>(entries), all.size());
  if (count != 0) give("_ibv_query_gid_table", to, std::move(all));
  const int code = code_of("_ibv_query_gid_table");
  return code == 0 ? static_cast<ssize_t>(count) : -code;
}

ibv_pd* alloc_pd(ibv_context* of) {
  ibv_pd pd{};
  pd.context = of;
  return made("ibv_alloc_pd", "pd", pd);
}
int dealloc_pd(ibv_pd* pd) { return gone("pd", pd); }
ibv_mr* made_region(const char* call, ibv_pd* pd, void* base, std::size_t bytes, unsigned access) {
  played().accesses.push_back(access);
  ibv_mr region{};
  region.pd = pd;
  region.addr = base;
  region.length = bytes;
  const std::uint32_t key = played().next_key++;
  struct Keys {
    std::uint32_t local, remote;
  } keys{};
  give(call, keys, {key, key | 0x10000});
  region.lkey = keys.local;
  region.rkey = keys.remote;
  return made(call, "region", region);
}
ibv_mr* reg_mr(ibv_pd* pd, void* base, std::size_t bytes, std::uint64_t, unsigned access) {
  return made_region("ibv_reg_mr_iova2", pd, base, bytes, access);
}
ibv_mr* reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t bytes, std::uint64_t, int,
                      int access) {
  played().dma_buf_offset = offset;
  return made_region("ibv_reg_dmabuf_mr", pd, nullptr, bytes, static_cast<unsigned>(access));
}
int dereg_mr(ibv_mr* region) { return removes("ibv_dereg_mr") ? gone("region", region) : errno; }
ibv_ah* create_ah(ibv_pd*, ibv_ah_attr* attributes) {
  played().handle_port = attributes->port_num;
  return made("ibv_create_ah", "handle", ibv_ah{});
}
int destroy_ah(ibv_ah* handle) { return gone("handle", handle); }
int init_obj(mlx5dv_obj* objects, std::uint64_t kinds) {
  if ((kinds & MLX5DV_OBJ_PD) != 0) {
    give("mlx5dv_init_obj of PD", objects->pd.out->pdn, played().pd);
    return code_of("mlx5dv_init_obj of PD");
  }
  // Without a byte of it not even the vector is there.
  const std::size_t comes = arriving("mlx5dv_init_obj of AH", sizeof vector.rmac);
  vector = {};
  std::array<std::uint8_t, sizeof vector.rmac> mac = played().peer_mac;
  spoil(mac);
  std::memcpy(vector.rmac, mac.data(), comes);
  if (comes != 0) objects->ah.out->av = &vector;
  return code_of("mlx5dv_init_obj of AH");
}

Libraries make_libraries() {
  Libraries libraries;
  libraries.get_device_list = get_device_list;
  libraries.free_device_list = free_device_list;
  libraries.get_device_name = get_device_name;
  libraries.close_device = close_device;
  libraries.query_device = query_device;
  libraries.query_gid = query_gid;
  libraries.query_gid_table = query_gid_table;
  libraries.alloc_pd = alloc_pd;
  libraries.dealloc_pd = dealloc_pd;
  libraries.reg_mr = reg_mr;
  libraries.reg_dmabuf_mr = reg_dmabuf_mr;
  libraries.dereg_mr = dereg_mr;
  libraries.create_ah = create_ah;
  libraries.destroy_ah = destroy_ah;
  libraries.is_supported = is_supported;
  libraries.open_device = open_device;
  libraries.init_obj = init_obj;
  calls::add_firmware(libraries);
  return libraries;
}

}  // namespace

std::vector<std::string> Played::held() const {
  std::vector<std::string> kinds;
  for (const auto& [kind, count] : live) {
    if (count != 0) kinds.push_back(kind);
  }
  return kinds;
}

Played& played() {
  static Played the_one;
  return the_one;
}

const Libraries& played_libraries() {
  static const Libraries libraries = make_libraries();
  for (verbs_context& context : contexts) {
    context = {};
    context.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    context.sz = sizeof context;
    context.query_port = query_port;
  }
  name_devices();
  calls::put_pages_back();
  return libraries;
}

ibv_device* played_device() { return &devices[0]; }
verbs_context& played_context() { return contexts[0]; }

ibv_port_attr port_of(ibv_port_state state, std::uint8_t link_layer) {
  ibv_port_attr port{};
  port.state = state;
  port.link_layer = link_layer;
  port.active_mtu = IBV_MTU_1024;
  port.lid = 17;
  return port;
}

ibv_gid_entry gid_of(std::uint32_t type, std::uint8_t first, std::uint8_t last) {
  ibv_gid_entry entry{};
  entry.gid_type = type;
  entry.gid.raw[0] = first;
  if (first == 0xfe) entry.gid.raw[1] = 0x80;
  entry.gid.raw[15] = last;
  return entry;
}

}  // namespace gdakit::mlx5
