// How a call of the control path fails, as firmware says it in the out mailbox of a command:
//
//   status     8 bits, the PRM's: what kind of failure
//   syndrome   32 bits, this NIC's own: which check
//
//   Outcome<PdNumber> pd = engine.alloc_pd();
//   if (!pd) return pd.status();
//   use(*pd);
//
// The sentences that users read are made above, in engine/status_text.h, from the sentence that
// each syndrome has here.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "core/base/annotate.h"
#include "core/base/assert.h"

namespace gdakit::softnic {

enum class CommandStatus : std::uint8_t {
  ok = 0x00,
  internal_error = 0x01,
  bad_op = 0x02,
  bad_param = 0x03,
  bad_sys_state = 0x04,
  bad_res = 0x05,  // an object that does not exist, or is another owner's
  res_busy = 0x06,
  lim_err = 0x08,  // as many as there may be
  bad_res_state = 0x09,
  ix_err = 0x0a,
  no_res = 0x0f,
  bad_qp_state = 0x10,
  bad_pkt = 0x30,
  bad_size_outs_cqes = 0x40,
  bad_inp_len = 0x50,
  bad_outp_len = 0x51,
};

// Number: the call, and the check within it. A number is never used again for something else, for
// it is what a client's log shows.
enum class CommandSyndrome : std::uint32_t {
  none = 0,

  alloc_pd_numbers = 0x0101,
  dealloc_pd_absent = 0x0201,
  dealloc_pd_busy = 0x0202,

  alloc_uar_numbers = 0x0301,
  free_uar_absent = 0x0401,
  free_uar_busy = 0x0402,

  reg_mr_pd = 0x0501,
  reg_mr_wraps = 0x0503,
  reg_mr_rights = 0x0504,
  reg_mr_numbers = 0x0505,
  reg_mr_page_size = 0x0506,
  reg_mr_page_count = 0x0507,
  reg_mr_page_alignment = 0x0508,
  dereg_mr_absent = 0x0601,
  rereg_mr_absent = 0x0602,

  create_cq_size = 0x0701,
  create_cq_entries = 0x0702,
  create_cq_record_alignment = 0x0703,
  create_cq_no_record = 0x0704,
  create_cq_numbers = 0x0705,
  create_cq_uar = 0x0706,
  create_cq_uar_type = 0x0707,
  destroy_cq_absent = 0x0801,
  destroy_cq_busy = 0x0802,

  create_qp_pd = 0x0901,
  create_qp_send_cq = 0x0902,
  create_qp_uar = 0x0903,
  create_qp_send_size = 0x0904,
  create_qp_send_queue = 0x0905,
  create_qp_record = 0x0906,
  create_qp_receive_cq = 0x0907,
  create_qp_receive_size = 0x0908,
  create_qp_receive_stride = 0x0909,
  create_qp_receive_queue = 0x090a,
  create_qp_numbers = 0x090b,
  create_qp_service = 0x090c,
  create_qp_srq = 0x0910,
  create_qp_two_sources = 0x0911,
  create_qp_second_without_record = 0x0912,
  create_qp_no_record_register = 0x0913,
  create_qp_xrc_domain = 0x0914,
  create_qp_initiator_receives = 0x0915,
  create_qp_xrc_srq = 0x0916,
  destroy_qp_absent = 0x0a01,
  query_qp_absent = 0x0b01,

  modify_qp_absent = 0x0c01,
  modify_qp_transition = 0x0c02,
  modify_qp_field_missing = 0x0c03,
  modify_qp_field_unknown = 0x0c04,
  modify_qp_remote_qpn = 0x0c10,
  modify_qp_next_receive_psn = 0x0c11,
  modify_qp_log_rra_max = 0x0c12,
  modify_qp_min_rnr_nak = 0x0c13,
  modify_qp_log_msg_max = 0x0c14,
  modify_qp_next_send_psn = 0x0c15,
  modify_qp_log_sra_max = 0x0c16,
  modify_qp_ack_timeout = 0x0c17,
  modify_qp_retry_count = 0x0c18,
  modify_qp_rnr_retry = 0x0c19,
  modify_qp_service_level = 0x0c1a,
  modify_qp_path_mtu = 0x0c1b,

  query_cq_absent = 0x0d01,

  create_srq_pd = 0x0e01,
  create_srq_form = 0x0e02,
  create_srq_size = 0x0e03,
  create_srq_stride = 0x0e04,
  create_srq_wqes = 0x0e05,
  create_srq_record = 0x0e06,
  create_srq_numbers = 0x0e07,
  create_srq_xrc_domain = 0x0e08,
  create_srq_xrc_cq = 0x0e09,
  destroy_srq_absent = 0x0f01,
  destroy_srq_busy = 0x0f02,
  query_srq_absent = 0x1001,
  arm_srq_absent = 0x1101,
  arm_srq_limit = 0x1102,

  resize_cq_absent = 0x1201,
  resize_cq_size = 0x1202,
  resize_cq_entries = 0x1203,
  resize_cq_collapsed = 0x1204,
  resize_cq_full = 0x1205,
  resize_cq_too_small = 0x1206,

  alloc_mw_pd = 0x1301,
  alloc_mw_type = 0x1302,
  alloc_mw_numbers = 0x1303,
  dealloc_mw_absent = 0x1401,

  alloc_xrcd_numbers = 0x1501,
  dealloc_xrcd_absent = 0x1601,
  dealloc_xrcd_busy = 0x1602,

  moderate_cq_absent = 0x1701,

  create_mkey_pd = 0x1801,
  create_mkey_list_size = 0x1802,
  create_mkey_list = 0x1803,
  create_mkey_length = 0x1804,
  create_mkey_umr = 0x1805,
  destroy_mkey_absent = 0x1901,
  query_mkey_absent = 0x1a01,

  create_dct_pd = 0x1b01,
  create_dct_cq = 0x1b02,
  create_dct_srq = 0x1b03,
  create_dct_min_rnr_nak = 0x1b04,
  create_dct_mtu = 0x1b05,
  create_dct_numbers = 0x1b06,
  query_dct_absent = 0x1c01,
  drain_dct_absent = 0x1d01,
  arm_dct_absent = 0x1e01,
  destroy_dct_absent = 0x1f01,
  destroy_dct_state = 0x1f02,

  // Of what mailboxes alone can say (firmware/firmware.h).
  mailbox_opcode = 0x2001,
  mailbox_in_length = 0x2002,
  mailbox_out_length = 0x2003,
  mailbox_capability = 0x2004,
  mailbox_function = 0x2005,
  mailbox_port = 0x2006,
  mailbox_roce_address = 0x2007,
  mailbox_link_layer = 0x2008,
  mailbox_no_umem = 0x2101,
  mailbox_umem_absent = 0x2102,
  mailbox_umem_range = 0x2103,
  mailbox_umem_busy = 0x2104,
  mailbox_umem_read_only = 0x2105,
  mailbox_cqe_size = 0x2201,
  mailbox_cq_change = 0x2202,
  mailbox_peer = 0x2301,
  mailbox_absent_feature = 0x2302,
  mailbox_rq_type = 0x2303,
  mailbox_wq_type = 0x2401,
  mailbox_rmp_change = 0x2402,
  mailbox_arm_mode = 0x2403,
  mailbox_counter_sets = 0x2501,
  mailbox_counter_set_absent = 0x2502,
  mailbox_counter_set_busy = 0x2503,
  mailbox_mkey_mode = 0x2601,
  mailbox_mkey_index = 0x2602,
};

struct Status {
  CommandStatus status = CommandStatus::ok;
  CommandSyndrome syndrome = CommandSyndrome::none;
  // For the sentence: number of the object, and the value that was refused.
  std::uint32_t object = 0;
  std::uint64_t detail = 0;

  bool ok() const { return status == CommandStatus::ok; }
};

// What a syndrome says. In the sentence stand {object} and {detail} for Status's numbers; {states}
// for the detail states_detail(), and {field} for a QpField.
struct SyndromeRow {
  CommandSyndrome syndrome = CommandSyndrome::none;
  CommandStatus status = CommandStatus::ok;
  const char* sentence = nullptr;  // what is wrong; the remedy
};
std::span<const SyndromeRow> syndrome_rows();
// The row of a syndrome other than none.
const SyndromeRow& syndrome_row(CommandSyndrome syndrome);

Status refusal(CommandSyndrome syndrome, std::uint32_t object = 0, std::uint64_t detail = 0);

// A value, or the Status of a failure.
template <class T = void>
class GDAKIT_NODISCARD Outcome {
 public:
  Outcome(T value) : value_(std::move(value)) {}
  Outcome(Status status) : status_(status) { GDAKIT_ASSERT(!status.ok()); }

  explicit operator bool() const { return status_.ok(); }
  Status status() const { return status_; }
  const T& operator*() const {
    GDAKIT_ASSERT(status_.ok());
    return value_;
  }
  const T* operator->() const { return &**this; }

 private:
  T value_{};
  Status status_;
};

template <>
class GDAKIT_NODISCARD Outcome<void> {
 public:
  Outcome() = default;
  Outcome(Status status) : status_(status) { GDAKIT_ASSERT(!status.ok()); }

  explicit operator bool() const { return status_.ok(); }
  Status status() const { return status_; }

 private:
  Status status_;
};

}  // namespace gdakit::softnic
