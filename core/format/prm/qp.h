// Mailboxes of queue pairs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/format/prm/command.h"

namespace gdakit::format::prm {

// Qpc::st of an initiator of DC; that of RC, UC, UD and XRC is 0, 1, 2 and 3.
inline constexpr std::uint64_t kStDci = 5;

// Qpc::rq_type.
enum class RqType : std::uint8_t { regular = 0, shared = 1, none = 3 };

// Qpc::state of a queue pair in state SQD whose send queue is not quiet yet.
inline constexpr std::uint64_t kSqDraining = 7;

// Qpc::pm_state: there is one path alone.
inline constexpr std::uint64_t kPathMigrated = 3;

// CreateQpIn::opt_param_mask and the like: fields that are given though the transition does not
// require them.
enum class OptParam : std::uint32_t {
  rre = 0x2,
  rae = 0x4,
  rwe = 0x8,
  pkey_index = 0x10,
  q_key = 0x20,
  min_rnr_nak = 0x40,
  primary_address_path = 0x80,
  log_sra_max = 0x100,
  log_rra_max = 0x200,
  retry_count = 0x1000,
  rnr_retry = 0x2000,
  ack_timeout = 0x4000,
  lag_tx_port_affinity = 0x8000,
};

struct Ads {
  static constexpr std::size_t kBytes = 44;
  static constexpr Field<Ads, 0, 1> fl{};
  static constexpr Field<Ads, 16, 16> pkey_index{};
  static constexpr Field<Ads, 40, 1> grh{};
  static constexpr Field<Ads, 41, 7> mlid{};
  static constexpr Field<Ads, 48, 16> rlid{};
  static constexpr Field<Ads, 64, 5> ack_timeout{};
  static constexpr Field<Ads, 72, 8> src_addr_index{};
  static constexpr Field<Ads, 84, 4> stat_rate{};
  static constexpr Field<Ads, 88, 8> hop_limit{};
  static constexpr Field<Ads, 100, 8> tclass{};
  static constexpr Field<Ads, 108, 20> flow_label{};
  static constexpr Octets<Ads, 128, 16> rgid_rip{};
  static constexpr Field<Ads, 266, 6> dscp{};
  static constexpr Field<Ads, 264, 2> ecn{};
  static constexpr Field<Ads, 272, 16> udp_sport{};
  static constexpr Field<Ads, 289, 3> eth_prio{};
  static constexpr Field<Ads, 292, 4> sl{};
  static constexpr Field<Ads, 296, 8> vhca_port_num{};
  static constexpr Field<Ads, 304, 16> rmac_47_32{};
  static constexpr Field<Ads, 320, 32> rmac_31_0{};
};

struct Qpc {
  static constexpr std::size_t kBytes = 232;
  static constexpr Field<Qpc, 0, 4> state{};
  static constexpr Field<Qpc, 4, 4> lag_tx_port_affinity{};
  static constexpr Field<Qpc, 8, 8> st{};
  static constexpr Field<Qpc, 19, 2> pm_state{};
  static constexpr Field<Qpc, 32, 1> wq_signature{};
  static constexpr Field<Qpc, 40, 24> pd{};
  static constexpr Field<Qpc, 64, 3> mtu{};
  static constexpr Field<Qpc, 67, 5> log_msg_max{};
  static constexpr Field<Qpc, 73, 4> log_rq_size{};
  static constexpr Field<Qpc, 77, 3> log_rq_stride{};
  static constexpr Field<Qpc, 80, 1> no_sq{};
  static constexpr Field<Qpc, 81, 4> log_sq_size{};
  static constexpr Field<Qpc, 91, 1> rlky{};
  static constexpr Field<Qpc, 96, 8> counter_set_id{};
  static constexpr Field<Qpc, 104, 24> uar_page{};
  static constexpr Field<Qpc, 128, 2> send_dbr_mode{};
  static constexpr Field<Qpc, 136, 24> user_index{};
  static constexpr Field<Qpc, 163, 5> log_page_size{};
  static constexpr Field<Qpc, 168, 24> remote_qpn{};
  static constexpr Part<Qpc, Ads, 192> primary_address_path{};
  static constexpr Field<Qpc, 896, 4> log_ack_req_freq{};
  static constexpr Field<Qpc, 904, 3> log_sra_max{};
  static constexpr Field<Qpc, 909, 3> retry_count{};
  static constexpr Field<Qpc, 912, 3> rnr_retry{};
  static constexpr Field<Qpc, 916, 1> fre{};
  static constexpr Field<Qpc, 968, 24> next_send_psn{};
  static constexpr Field<Qpc, 1000, 24> cqn_snd{};
  static constexpr Field<Qpc, 1032, 24> deth_sqpn{};
  static constexpr Field<Qpc, 1096, 24> last_acked_psn{};
  static constexpr Field<Qpc, 1160, 3> log_rra_max{};
  static constexpr Field<Qpc, 1164, 4> atomic_mode{};
  static constexpr Field<Qpc, 1168, 1> rre{};
  static constexpr Field<Qpc, 1169, 1> rwe{};
  static constexpr Field<Qpc, 1170, 1> rae{};
  static constexpr Field<Qpc, 1172, 6> page_offset{};
  static constexpr Field<Qpc, 1181, 1> cd_slave_receive{};
  static constexpr Field<Qpc, 1182, 1> cd_slave_send{};
  static constexpr Field<Qpc, 1183, 1> cd_master{};
  static constexpr Field<Qpc, 1187, 5> min_rnr_nak{};
  static constexpr Field<Qpc, 1192, 24> next_rcv_psn{};
  static constexpr Field<Qpc, 1224, 24> xrcd{};
  static constexpr Field<Qpc, 1256, 24> cqn_rcv{};
  static constexpr Field<Qpc, 1280, 64> dbr_addr{};
  static constexpr Field<Qpc, 1344, 32> q_key{};
  static constexpr Field<Qpc, 1381, 3> rq_type{};
  static constexpr Field<Qpc, 1384, 24> srqn_rmpn_xrqn{};
  static constexpr Field<Qpc, 1416, 24> rmsn{};
  static constexpr Field<Qpc, 1440, 16> hw_sq_wqebb_counter{};
  static constexpr Field<Qpc, 1456, 16> sw_sq_wqebb_counter{};
  static constexpr Field<Qpc, 1472, 32> hw_rq_counter{};
  static constexpr Field<Qpc, 1504, 32> sw_rq_counter{};
  static constexpr Field<Qpc, 1600, 64> dc_access_key{};
  static constexpr Field<Qpc, 1667, 1> dbr_umem_valid{};
  static constexpr Field<Qpc, 1824, 32> dbr_umem_id{};
};

struct CreateQpIn : MboxIn {
  static constexpr std::size_t kBytes = 272;
  static constexpr Field<CreateQpIn, 72, 24> input_qpn{};
  static constexpr Field<CreateQpIn, 128, 32> opt_param_mask{};
  static constexpr Field<CreateQpIn, 160, 32> ece{};
  static constexpr Part<CreateQpIn, Qpc, 192> qpc{};
  static constexpr Field<CreateQpIn, 2048, 64> wq_umem_offset{};
  static constexpr Field<CreateQpIn, 2112, 32> wq_umem_id{};
  static constexpr Field<CreateQpIn, 2144, 1> wq_umem_valid{};
};

struct CreateQpOut : MboxOut {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<CreateQpOut, 72, 24> qpn{};
  static constexpr Field<CreateQpOut, 96, 32> ece{};
};

struct Rst2initQpIn : MboxIn {
  static constexpr std::size_t kBytes = 272;
  static constexpr Field<Rst2initQpIn, 72, 24> qpn{};
  static constexpr Field<Rst2initQpIn, 128, 32> opt_param_mask{};
  static constexpr Field<Rst2initQpIn, 160, 32> ece{};
  static constexpr Part<Rst2initQpIn, Qpc, 192> qpc{};
};

using Init2rtrQpIn = Rst2initQpIn;
using Rtr2rtsQpIn = Rst2initQpIn;
using Rts2rtsQpIn = Rst2initQpIn;
using Init2initQpIn = Rst2initQpIn;

struct DestroyQpIn : MboxIn {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<DestroyQpIn, 72, 24> qpn{};
};

using Qp2errIn = DestroyQpIn;
using Qp2rstIn = DestroyQpIn;

struct QueryQpIn : MboxIn {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<QueryQpIn, 64, 1> qpc_ext{};  // QpcExt is asked for, too
  static constexpr Field<QueryQpIn, 72, 24> qpn{};
};

// What an error's CQE has of it.
struct CqeErrorSyndrome {
  static constexpr std::size_t kBytes = 4;
  static constexpr Field<CqeErrorSyndrome, 0, 8> hw_error_syndrome{};
  static constexpr Field<CqeErrorSyndrome, 8, 4> hw_syndrome_type{};
  static constexpr Field<CqeErrorSyndrome, 16, 8> vendor_error_syndrome{};
  static constexpr Field<CqeErrorSyndrome, 24, 8> syndrome{};
};

// Behind the mailbox that has a Qpc, where the command has the bit qpc_ext.
struct QpcExt {
  static constexpr std::size_t kBytes = 192;
  static constexpr Part<QpcExt, CqeErrorSyndrome, 96> error_syndrome{};
};

struct QueryQpOut : MboxOut {
  static constexpr std::size_t kBytes = 272;
  static constexpr Field<QueryQpOut, 128, 32> opt_param_mask{};
  static constexpr Field<QueryQpOut, 160, 32> ece{};
  static constexpr Part<QueryQpOut, Qpc, 192> qpc{};
};

}  // namespace gdakit::format::prm
