// Pages of capabilities, which QUERY_HCA_CAP tells. The fields here are those that something of
// gdakit names; all that the soft NIC says is in backends/softnic/firmware/capabilities.csv.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/format/prm/mailbox.h"

namespace gdakit::format::prm {

// Bits 15:1 of the command's op_mod, by the page's layout.
enum class CapabilityPage : std::uint16_t {
  cmd_hca_cap = 0x00,
  per_protocol_networking_offload_caps = 0x01,
  odp_cap = 0x02,
  atomic_caps = 0x03,
  roce_cap = 0x04,
  ipoib_offloads = 0x05,
  ipoib_enhanced_offloads = 0x06,
  flow_table_nic_cap = 0x07,
  flow_table_eswitch_cap = 0x08,
  e_switch_cap = 0x09,
  qos_cap = 0x0c,
  debug_cap = 0x0d,
  nvmf_cap = 0x0e,
  device_mem_cap = 0x0f,
  tls_cap = 0x11,
  virtio_emulation_cap = 0x13,
  device_event_cap = 0x14,
  ipsec_cap = 0x15,
  crypto_cap = 0x1a,
  wqe_based_flow_table_cap = 0x1b,
  parse_graph_node_cap = 0x1c,
  shampo_cap = 0x1d,
  macsec_cap = 0x1f,
  cmd_hca_cap_2 = 0x20,
  port_selection_cap = 0x25,
  adv_virtualization_cap = 0x26,
  adv_rdma_cap = 0x28,
};

struct CmdHcaCap {
  static constexpr std::size_t kBytes = 256;
  static constexpr Field<CmdHcaCap, 32, 1> hca_cap_2{};
  static constexpr Field<CmdHcaCap, 128, 8> log_max_srq_sz{};
  static constexpr Field<CmdHcaCap, 136, 8> log_max_qp_sz{};
  static constexpr Field<CmdHcaCap, 155, 5> log_max_qp{};
  static constexpr Field<CmdHcaCap, 171, 5> log_max_srq{};
  static constexpr Field<CmdHcaCap, 200, 8> log_max_cq_sz{};
  static constexpr Field<CmdHcaCap, 219, 5> log_max_cq{};
  static constexpr Field<CmdHcaCap, 234, 6> log_max_mkey{};
  static constexpr Field<CmdHcaCap, 256, 8> max_indirection{};
  static constexpr Field<CmdHcaCap, 282, 6> log_max_klm_list_size{};
  static constexpr Field<CmdHcaCap, 298, 6> log_max_ra_req_dc{};
  static constexpr Field<CmdHcaCap, 330, 6> log_max_ra_req_qp{};
  static constexpr Field<CmdHcaCap, 346, 6> log_max_ra_res_qp{};
  static constexpr Field<CmdHcaCap, 400, 16> pkey_table_size{};  // 2^n * 128 entries
  static constexpr Field<CmdHcaCap, 427, 5> local_ca_ack_delay{};
  static constexpr Field<CmdHcaCap, 438, 2> port_type{};  // 0 InfiniBand, 1 Ethernet
  static constexpr Field<CmdHcaCap, 440, 8> num_ports{};
  static constexpr Field<CmdHcaCap, 451, 5> log_max_msg{};
  static constexpr Field<CmdHcaCap, 504, 1> init2_lag_tx_port_affinity{};
  static constexpr Field<CmdHcaCap, 508, 4> cqe_version{};
  static constexpr Field<CmdHcaCap, 538, 1> dct{};
  static constexpr Field<CmdHcaCap, 541, 1> roce{};
  static constexpr Field<CmdHcaCap, 542, 1> atomic{};
  static constexpr Field<CmdHcaCap, 551, 1> pg{};
  static constexpr Field<CmdHcaCap, 600, 8> log_pg_sz{};
  static constexpr Field<CmdHcaCap, 619, 5> log_bf_reg_size{};
  static constexpr Field<CmdHcaCap, 627, 1> qp_error_syndrome{};  // QpcExt has the first error
  static constexpr Field<CmdHcaCap, 632, 1> lag_tx_port_affinity{};
  static constexpr Field<CmdHcaCap, 636, 4> num_lag_ports{};
  static constexpr Field<CmdHcaCap, 656, 16> max_wqe_sz_sq{};  // bytes
  static constexpr Field<CmdHcaCap, 688, 16> max_wqe_sz_rq{};
  static constexpr Field<CmdHcaCap, 811, 5> log_max_pd{};
  static constexpr Field<CmdHcaCap, 899, 5> log_max_rmp{};
  static constexpr Field<CmdHcaCap, 1248, 32> device_frequency_khz{};
};

struct CmdHcaCap2 {
  static constexpr std::size_t kBytes = 256;
  static constexpr Field<CmdHcaCap2, 737, 1> send_dbr_mode_no_dbr_ext{};
};

// Bits of a transport's word.
namespace odp_transport {
inline constexpr std::uint32_t send = 1u << 31;
inline constexpr std::uint32_t receive = 1u << 30;
inline constexpr std::uint32_t write = 1u << 29;
inline constexpr std::uint32_t read = 1u << 28;
inline constexpr std::uint32_t atomic = 1u << 27;
inline constexpr std::uint32_t srq_receive = 1u << 26;
}  // namespace odp_transport

struct OdpCap {
  static constexpr std::size_t kBytes = 256;
  static constexpr Field<OdpCap, 128, 32> rc_odp_caps{};
  static constexpr Field<OdpCap, 160, 32> uc_odp_caps{};
  static constexpr Field<OdpCap, 192, 32> ud_odp_caps{};
};

struct AtomicCaps {
  static constexpr std::size_t kBytes = 256;
  static constexpr Field<AtomicCaps, 64, 2> atomic_req_8B_endianness_mode{};
  static constexpr Field<AtomicCaps, 70, 1> supported_atomic_req_8B_endianness_mode_1{};
  static constexpr Field<AtomicCaps, 144, 16> atomic_operations{};
  static constexpr Field<AtomicCaps, 176, 16> atomic_size_qp{};
  static constexpr Field<AtomicCaps, 208, 16> atomic_size_dc{};
};

struct RoceCap {
  static constexpr std::size_t kBytes = 256;
  static constexpr Field<RoceCap, 176, 16> r_roce_dest_udp_port{};
  static constexpr Field<RoceCap, 240, 16> roce_address_table_size{};
};

struct DeviceMemCap {
  static constexpr std::size_t kBytes = 256;
  static constexpr Field<DeviceMemCap, 160, 32> max_memic_size{};  // bytes
};

}  // namespace gdakit::format::prm
