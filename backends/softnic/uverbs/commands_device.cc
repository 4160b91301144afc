// What a client asks of the device as a whole.
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <net/if.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <unistd.h>

#include "backends/softnic/dma/on_demand.h"
#include "backends/softnic/uverbs/commands.h"
#include "backends/softnic/uverbs/limits.h"

namespace gdakit::softnic::uverbs {
namespace {

constexpr std::uint32_t kCompletionVectors = 1;
constexpr std::uint32_t kVendor = 0x02c9;  // as devices report it; the PCI vendor is another number

std::uint64_t to_big_endian(std::uint64_t value) { return __builtin_bswap64(value); }

mlx5_ib_alloc_ucontext_resp context_answer(const Identity& identity) {
  mlx5_ib_alloc_ucontext_resp answer{};
  answer.qp_tab_size = 1 << 18;
  answer.bf_reg_size = 512;
  answer.tot_bfregs = 0;  // pages of registers are allocated one by one
  answer.cache_line_size = 64;
  answer.max_sq_desc_sz = 1024;
  answer.max_rq_desc_sz = 512;
  answer.max_send_wqebb = kMostWqes;
  answer.max_recv_wr = kMostWqes;
  answer.max_srq_recv_wr = kMostSrqWqes;
  answer.num_ports = static_cast<std::uint8_t>(identity.ports());
  answer.response_length = sizeof answer;
  answer.cqe_version = 1;
  answer.cmds_supp_uhw = MLX5_USER_CMDS_SUPP_UHW_QUERY_DEVICE | MLX5_USER_CMDS_SUPP_UHW_CREATE_AH;
  answer.eth_min_inline = MLX5_USER_INLINE_MODE_NONE;
  answer.clock_info_versions = 1 << MLX5_IB_CLOCK_INFO_V1;
  answer.log_uar_size = 12;
  answer.num_uars_per_page = 1;
  return answer;
}

int answer_context(Context& context, Attributes& call, std::uint16_t vectors, std::uint16_t support,
                   std::uint16_t driver) {
  const std::uint64_t core_support = 0;  // IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS is not there
  if (const int error = call.write(vectors, kCompletionVectors)) return error;
  if (const int error = call.write(support, core_support)) return error;
  return call.write(driver, context_answer(context.device().identity()));
}

ib_uverbs_query_device_resp device_answer(const Identity& identity) {
  ib_uverbs_query_device_resp answer{};
  answer.fw_ver = identity.firmware_number();
  answer.node_guid = answer.sys_image_guid = to_big_endian(identity.guid());
  answer.max_mr_size = ~std::uint64_t{0};
  answer.page_size_cap = 0xfffffffffffff000;
  answer.vendor_id = kVendor;
  answer.vendor_part_id = identity.model().part_id;
  answer.max_qp = kQpnsOfAPlace / 2;
  answer.max_qp_wr = kMostWqes;
  answer.device_cap_flags = kDeviceCapFlags;
  answer.max_sge = 30;
  answer.max_sge_rd = 30;
  answer.max_cq = 1 << 20;
  answer.max_cqe = kMostCqes;
  answer.max_mr = 1 << 23;
  answer.max_mw = 1 << 23;
  answer.max_pd = 1 << 23;
  answer.max_qp_rd_atom = answer.max_qp_init_rd_atom = kMostReads;
  answer.max_res_rd_atom = kMostReads * answer.max_qp;
  const bool has_atomics = identity.failures().atomics != AtomicsOf::none;
  answer.atomic_cap = has_atomics ? 1 : 0;  // among QPs of this device
  answer.max_mcast_grp = kMostGroups;
  answer.max_mcast_qp_attach = kMostQpsOfAGroup;
  answer.max_total_mcast_qp_attach = kMostGroups * kMostQpsOfAGroup;
  answer.max_ah = 0x7fffffff;  // the greatest that programs see: an int
  answer.max_srq = 1 << 23;
  answer.max_srq_wr = kMostSrqWqes;
  answer.max_srq_sge = kMostSrqSges;
  answer.max_pkeys = 128;
  answer.local_ca_ack_delay = 16;
  answer.phys_port_cnt = static_cast<std::uint8_t>(identity.ports());
  return answer;
}

// enum ibv_odp_general_caps and ibv_odp_transport_cap_bits, which the uapi does not have. As
// ConnectX says of itself, which pages atomics as well and does not tell.
constexpr std::uint64_t kPagesOnDemand = 1, kPagesAllOfAProcess = 2;
constexpr std::uint32_t kPagedSend = 1, kPagedReceive = 2, kPagedWrite = 4, kPagedRead = 8,
                        kPagedSrqReceive = 32;

ib_uverbs_odp_caps paging_answer() {
  ib_uverbs_odp_caps answer{};
  if (!has_on_demand_memory()) return answer;
  answer.general_caps = kPagesOnDemand | kPagesAllOfAProcess;
  answer.per_transport_caps.rc_odp_caps =
      kPagedSend | kPagedReceive | kPagedWrite | kPagedRead | kPagedSrqReceive;
  answer.per_transport_caps.ud_odp_caps = kPagedSend;
  return answer;
}

}  // namespace

int get_context(Context& context, Attributes& call) {
  mlx5_ib_alloc_ucontext_req_v2 request{};
  if (const int error = call.read_known(UVERBS_ATTR_UHW_IN, request)) return error;
  if (context.begun()) return EINVAL;
  const bool with_devx = (request.flags & MLX5_IB_ALLOC_UCTX_DEVX) != 0;
  if (with_devx && context.device().failures().devx != 0) return context.device().failures().devx;
  if (const int error = answer_context(context, call, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS,
                                       UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, UVERBS_ATTR_UHW_OUT)) {
    return error;
  }
  return context.begin(with_devx);
}

int query_context(Context& context, Attributes& call) {
  return answer_context(context, call, UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS,
                        UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT,
                        MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX);
}

int query_port(Context& context, Attributes& call) {
  std::uint8_t port = 0;
  if (const int error = call.read(UVERBS_ATTR_QUERY_PORT_PORT_NUM, port)) return error;
  if (!context.device().has_port(port)) return EINVAL;
  const Identity& identity = context.device().identity();
  const bool ethernet = identity.link() == LinkLayer::ethernet;
  ib_uverbs_query_port_resp_ex answer{};
  ib_uverbs_query_port_resp& basic = answer.legacy_resp;
  basic.port_cap_flags = IB_UVERBS_PCF_CM_SUP;
  if (ethernet) basic.port_cap_flags |= IB_UVERBS_PCF_IP_BASED_GIDS;
  basic.max_msg_sz = 1 << 30;
  basic.gid_tbl_len = kGidTable;
  basic.pkey_tbl_len = ethernet ? 1 : 128;
  basic.lid = ethernet ? 0 : identity.lid(port);
  basic.sm_lid = ethernet ? 0 : kSubnetManagerLid;
  const NicFailures& failures = context.device().failures();
  basic.state = context.device().port_state(port);
  basic.max_mtu = 5;  // 4096 bytes
  basic.active_mtu = static_cast<std::uint8_t>(std::bit_width(context.device().mtu()) - 8);
  basic.max_vl_num = ethernet ? 0 : 4;
  basic.subnet_timeout = ethernet ? 0 : 18;
  basic.active_width = 2;  // four lanes
  basic.active_speed = identity.model().active_speed;
  basic.phys_state = basic.state == kStateDown ? 3 : 5;  // disabled, link up
  basic.link_layer = static_cast<std::uint8_t>(identity.link());
  if (ethernet || failures.needs_grh) basic.flags = IB_UVERBS_QPF_GRH_REQUIRED;
  return call.write(UVERBS_ATTR_QUERY_PORT_RESP, answer);
}

namespace {

ib_uverbs_gid_entry gid_entry(Device& device, unsigned port, int index) {
  const Identity& identity = device.identity();
  ib_uverbs_gid_entry entry{};
  const Gid gid = identity.gid(index, port);
  std::memcpy(entry.gid, gid.data(), gid.size());
  entry.gid_index = device.gids().slot_of(index);
  entry.port_num = port;
  entry.gid_type = identity.gid_type(index);
  if (identity.link() == LinkLayer::ethernet) {
    entry.netdev_ifindex = ::if_nametoindex(identity.interface().c_str());
  }
  return entry;
}

}  // namespace

int query_gid_table(Context& context, Attributes& call) {
  Device& device = context.device();
  std::uint64_t entry_size = 0;
  std::uint32_t flags = 0;
  if (const int error = call.read(UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, entry_size)) return error;
  if (const int error = call.read(UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, flags)) return error;
  if (flags != 0 || entry_size == 0) return EINVAL;
  const std::size_t room = call.length(UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES);
  const auto of_a_port = static_cast<unsigned>(device.gids().count());
  const std::uint64_t count = device.identity().ports() * of_a_port;
  if (room / entry_size < count) return EINVAL;
  std::vector<std::byte> entries(count * entry_size);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto number = static_cast<unsigned>(i);
    const ib_uverbs_gid_entry entry =
        gid_entry(device, 1 + number / of_a_port, static_cast<int>(number % of_a_port));
    std::memcpy(entries.data() + i * entry_size, &entry,
                std::min<std::size_t>(entry_size, sizeof entry));
  }
  device.gids().was_read();
  const int error =
      call.write_bytes(UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, entries.data(), entries.size());
  return error != 0 ? error : call.write(UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, count);
}

int query_gid_entry(Context& context, Attributes& call) {
  Device& device = context.device();
  std::uint32_t port = 0, index = 0, flags = 0;
  if (const int error = call.read(UVERBS_ATTR_QUERY_GID_ENTRY_PORT, port)) return error;
  if (const int error = call.read(UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, index)) return error;
  if (const int error = call.read(UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, flags)) return error;
  if (flags != 0 || !device.has_port(port) || index >= kGidTable) return EINVAL;
  const std::optional<int> found = device.gids().at(index);
  device.gids().was_read();
  if (!found) return ENODATA;
  return call.write(UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, gid_entry(device, port, *found));
}

int query_device(Context& context, Attributes& call) {
  return call.write(UVERBS_ATTR_CORE_OUT, device_answer(context.device().identity()));
}

int query_device_ex(Context& context, Attributes& call) {
  ib_uverbs_ex_query_device_resp answer{};
  answer.base = device_answer(context.device().identity());
  answer.odp_caps = paging_answer();
  answer.xrc_odp_caps = answer.odp_caps.per_transport_caps.rc_odp_caps;  // the same on this NIC
  answer.timestamp_mask = ~std::uint64_t{0};
  answer.hca_core_clock = 1'000'000;  // kHz: nanoseconds
  answer.max_dm_size = DeviceMemory::kMostBytes;
  answer.cq_moderation_caps = {.max_cq_moderation_count = 0xffff,
                               .max_cq_moderation_period = kMostCqPeriodUs,
                               .reserved = 0};
  answer.device_cap_flags_ex = answer.base.device_cap_flags;
  answer.response_length =
      static_cast<std::uint32_t>(std::min(sizeof answer, call.length(UVERBS_ATTR_CORE_OUT)));
  if (const int error = call.write(UVERBS_ATTR_CORE_OUT, answer)) return error;
  mlx5_ib_query_device_resp driver{};
  driver.response_length =
      static_cast<std::uint32_t>(std::min(sizeof driver, call.length(UVERBS_ATTR_UHW_OUT)));
  return call.write(UVERBS_ATTR_UHW_OUT, driver);
}

int alloc_async_events(Context& context, Attributes& call) {
  if (!call.has(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE)) return EINVAL;
  Result<std::shared_ptr<EventPipe>> pipe = EventPipe::open(sizeof(AsyncRecord));
  if (!pipe) return errno_of(pipe.error());
  const int file = (*pipe)->take_client_end();
  if (const int error = call.give_number(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE,
                                         static_cast<std::uint32_t>(file))) {
    ::close(file);
    return error;
  }
  context.device().events().add_port_listener(*pipe);
  context.set_errors(std::move(*pipe));
  return 0;
}

}  // namespace gdakit::softnic::uverbs
