#include "tests/mlx5/played.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace gdakit::mlx5 {
namespace {

std::array<ibv_device, 3> devices;  // rocep1s0 and on
verbs_context context;
ibv_pd pd;
ibv_mr region;
ibv_ah address_handle;
mlx5_wqe_av vector;
std::array<mlx5dv_devx_uar, 3> uars;  // the last one is everybody's
mlx5dv_devx_umem umem;
std::array<ibv_device*, 3> list;

// Whether the call succeeds; errno is set.
bool succeeds(const char* call) {
  const auto found = played().errors.find(call);
  errno = found != played().errors.end() ? found->second : 0;
  return errno == 0;
}
int code_of(const char* call) { return succeeds(call) ? 0 : errno; }

template <class T>
T* made(const char* call, const char* kind, T* object) {
  if (!succeeds(call)) return nullptr;
  ++played().live[kind];
  return object;
}
int gone(const char* kind) {
  --played().live[kind];
  return 0;
}

ibv_device** get_device_list(int* count) {
  if (!played().answers) return errno = ENOSYS, nullptr;
  list.fill(nullptr);
  for (std::size_t i = 0; i < static_cast<std::size_t>(played().devices); ++i) {
    list[i] = &devices[i];
    if (i < played().folders.size())
      std::strcpy(devices[i].ibdev_path, played().folders[i].c_str());
  }
  *count = played().devices;
  return made("ibv_get_device_list", "list", list.data());
}
void free_device_list(ibv_device**) { gone("list"); }
const char* get_device_name(ibv_device* of) { return of->name; }
bool is_supported(ibv_device*) { return played().is_mlx5; }
ibv_context* open_device(ibv_device*, mlx5dv_context_attr* attributes) {
  if (attributes->flags != MLX5DV_CONTEXT_FLAGS_DEVX) return nullptr;
  return made("mlx5dv_open_device", "context", &context.context);
}
int close_device(ibv_context*) { return gone("context"); }
int query_device(ibv_context*, ibv_device_attr* attributes) {
  *attributes = {};
  attributes->max_qp_rd_atom = attributes->max_qp_init_rd_atom = played().reads;
  attributes->phys_port_cnt = static_cast<std::uint8_t>(played().ports.size());
  std::strcpy(attributes->fw_ver, "28.39.3004");
  return code_of("ibv_query_device");
}
int query_port(ibv_context*, std::uint8_t number, ibv_port_attr* attributes, std::size_t) {
  *attributes = played().ports.at(number - 1u);
  attributes->gid_tbl_len = static_cast<int>(played().gids.size());
  return code_of("ibv_query_port");
}
int query_gid(ibv_context*, std::uint32_t, std::uint32_t index, ibv_gid_entry* entry, std::uint32_t,
              std::size_t) {
  *entry = played().gids.at(index);
  return entry->gid_type == ~0u ? ENODATA : 0;
}
ibv_pd* alloc_pd(ibv_context*) { return made("ibv_alloc_pd", "pd", &pd); }
int dealloc_pd(ibv_pd*) { return gone("pd"); }
ibv_mr* reg_mr(ibv_pd*, void*, std::size_t, std::uint64_t, unsigned) {
  return made("ibv_reg_mr_iova2", "region", &region);
}
ibv_mr* reg_dmabuf_mr(ibv_pd*, std::uint64_t offset, std::size_t, std::uint64_t, int, int) {
  played().dma_buf_offset = offset;
  return made("ibv_reg_dmabuf_mr", "region", &region);
}
int dereg_mr(ibv_mr*) { return gone("region"); }
ibv_ah* create_ah(ibv_pd*, ibv_ah_attr*) {
  return made("ibv_create_ah", "handle", &address_handle);
}
int destroy_ah(ibv_ah*) { return gone("handle"); }
int init_obj(mlx5dv_obj* objects, std::uint64_t kinds) {
  if ((kinds & MLX5DV_OBJ_PD) != 0) {
    objects->pd.out->pdn = 77;
    return code_of("mlx5dv_init_obj of PD");
  }
  objects->ah.out->av = &vector;
  return code_of("mlx5dv_init_obj of AH");
}
int query_eqn(ibv_context*, std::uint32_t, std::uint32_t* eqn) {
  *eqn = 5;
  return code_of("mlx5dv_devx_query_eqn");
}
mlx5dv_devx_uar* alloc_uar(ibv_context*, std::uint32_t type) {
  if (type == MLX5DV_UAR_ALLOC_TYPE_NC) {
    return succeeds("mlx5dv_devx_alloc_uar") ? &uars.back() : nullptr;
  }
  if (!succeeds("mlx5dv_devx_alloc_uar of a dedicated one")) return nullptr;
  const auto made = static_cast<std::size_t>(played().live["uar"]++);
  if (made + 1 < uars.size()) return &uars[made];
  --played().live["uar"];
  errno = ENOSPC;
  return nullptr;
}
void free_uar(mlx5dv_devx_uar* page) {
  if (page != &uars.back()) gone("uar");
}
mlx5dv_devx_umem* umem_reg(ibv_context*, mlx5dv_devx_umem_in* in) {
  played().umems.push_back(*in);
  const std::string nth = "mlx5dv_devx_umem_reg_ex " + std::to_string(played().umems.size());
  if (!succeeds(nth.c_str())) return nullptr;
  return made("mlx5dv_devx_umem_reg_ex", "umem", &umem);
}
int umem_dereg(mlx5dv_devx_umem*) {
  return succeeds("mlx5dv_devx_umem_dereg") ? gone("umem") : errno;
}

bool firmware_takes(const void* in, std::size_t size, void* out) {
  const auto* const bytes = static_cast<const std::uint8_t*>(in);
  std::array<char, 8> opcode{};
  std::snprintf(opcode.data(), opcode.size(), "%02x%02x", bytes[0], bytes[1]);
  played().sent[opcode.data()].assign(bytes, bytes + size);
  if (succeeds(opcode.data())) return true;
  auto* const answer = static_cast<std::uint8_t*>(out);
  answer[0] = played().status;
  for (int i = 0; i < 4; ++i) {
    answer[4 + i] = static_cast<std::uint8_t>(played().syndrome >> (24 - 8 * i));
  }
  return false;
}
mlx5dv_devx_obj* obj_create(ibv_context*, const void* in, std::size_t size, void* out,
                            std::size_t) {
  if (!firmware_takes(in, size, out)) return nullptr;
  ++played().live["object"];
  return reinterpret_cast<mlx5dv_devx_obj*>(&played());
}
int obj_modify(mlx5dv_devx_obj*, const void* in, std::size_t size, void* out, std::size_t) {
  return firmware_takes(in, size, out) ? 0 : errno;
}
int obj_query(mlx5dv_devx_obj*, const void* in, std::size_t size, void* out, std::size_t) {
  return firmware_takes(in, size, out) ? 0 : errno;
}
int obj_destroy(mlx5dv_devx_obj*) {
  return succeeds("mlx5dv_devx_obj_destroy") ? gone("object") : errno;
}
// QUERY_HCA_CAP of atomics.
int general_cmd(ibv_context*, const void* in, std::size_t size, void* out, std::size_t) {
  if (!firmware_takes(in, size, out)) return errno;
  auto* const caps = static_cast<std::uint8_t*>(out) + 16;
  caps[18] = static_cast<std::uint8_t>(played().atomic_operations >> 8);
  caps[19] = static_cast<std::uint8_t>(played().atomic_operations);
  caps[22] = static_cast<std::uint8_t>(played().atomic_bytes >> 8);
  caps[23] = static_cast<std::uint8_t>(played().atomic_bytes);
  return 0;
}

Libraries make_libraries() {
  Libraries made;
  made.get_device_list = get_device_list;
  made.free_device_list = free_device_list;
  made.get_device_name = get_device_name;
  made.close_device = close_device;
  made.query_device = query_device;
  made.query_gid = query_gid;
  made.alloc_pd = alloc_pd;
  made.dealloc_pd = dealloc_pd;
  made.reg_mr = reg_mr;
  made.reg_dmabuf_mr = reg_dmabuf_mr;
  made.dereg_mr = dereg_mr;
  made.create_ah = create_ah;
  made.destroy_ah = destroy_ah;
  made.is_supported = is_supported;
  made.open_device = open_device;
  made.init_obj = init_obj;
  made.query_eqn = query_eqn;
  made.alloc_uar = alloc_uar;
  made.free_uar = free_uar;
  made.umem_reg = umem_reg;
  made.umem_dereg = umem_dereg;
  made.general_cmd = general_cmd;
  made.obj_create = obj_create;
  made.obj_modify = obj_modify;
  made.obj_query = obj_query;
  made.obj_destroy = obj_destroy;
  return made;
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
  context = {};
  context.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  context.sz = sizeof context;
  context.query_port = query_port;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    std::strcpy(devices[i].name, ("rocep" + std::to_string(i + 1) + "s0").c_str());
    std::strcpy(devices[i].dev_name, ("uverbs" + std::to_string(i + 3)).c_str());
    std::strcpy(devices[i].ibdev_path, "/nowhere");
  }
  return libraries;
}

ibv_device* played_device() { return &devices[0]; }
mlx5dv_devx_uar* played_uar(std::size_t index) { return &uars[index]; }
verbs_context& played_context() { return context; }

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
