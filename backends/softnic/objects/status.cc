#include "backends/softnic/objects/status.h"

#include <algorithm>
#include <array>

namespace gdakit::softnic {
namespace {

using Sy = CommandSyndrome;
using St = CommandStatus;

constexpr std::array kRows = {
    SyndromeRow{Sy::alloc_pd_numbers, St::lim_err, "all numbers are in use; destroy some objects"},
    SyndromeRow{Sy::dealloc_pd_absent, St::bad_res,
                "there is no protection domain {object}; it was never created or is gone"},
    SyndromeRow{Sy::dealloc_pd_busy, St::res_busy,
                "protection domain {object} is still used by memory keys, queue pairs or shared "
                "receive queues; destroy those first"},

    SyndromeRow{Sy::alloc_uar_numbers, St::lim_err, "all numbers are in use; destroy some objects"},
    SyndromeRow{Sy::free_uar_absent, St::bad_res,
                "there is no doorbell page {object}; it was never created or is gone"},
    SyndromeRow{Sy::free_uar_busy, St::res_busy,
                "doorbell page {object} is still used by queue pairs or completion queues; destroy "
                "those first"},

    SyndromeRow{Sy::reg_mr_pd, St::bad_res,
                "there is no protection domain {object}; it was never created or is gone"},
    SyndromeRow{
        Sy::reg_mr_wraps, St::bad_param,
        "a region of {detail} bytes wraps around the end of the address space; give a shorter one"},
    SyndromeRow{Sy::reg_mr_rights, St::bad_param,
                "remote_write and remote_atomic need local_write too; add it"},
    SyndromeRow{Sy::reg_mr_numbers, St::lim_err,
                "all {detail} memory keys are in use; deregister some"},
    SyndromeRow{Sy::reg_mr_page_size, St::bad_param, "log_page_size is {detail}; give 12 to 31"},
    SyndromeRow{Sy::reg_mr_page_count, St::bad_param,
                "the region lies in {object} pages of 2^log_page_size bytes; {detail} are given"},
    SyndromeRow{Sy::reg_mr_page_alignment, St::bad_param,
                "page {object} is not aligned to 2^{detail} bytes"},
    SyndromeRow{Sy::dereg_mr_absent, St::bad_res,
                "no memory key {object}; it was never registered or is gone already"},
    SyndromeRow{Sy::rereg_mr_absent, St::bad_res,
                "no memory key {object} to register anew; it was never registered or is gone"},

    SyndromeRow{Sy::create_cq_size, St::bad_param,
                "2^{detail} entries are more than 2^22; give fewer"},
    SyndromeRow{Sy::create_cq_entries, St::bad_param,
                "the entries must be given and aligned to 64 bytes"},
    SyndromeRow{Sy::create_cq_record_alignment, St::bad_param,
                "the doorbell record must be aligned to 8 bytes"},
    SyndromeRow{Sy::create_cq_no_record, St::bad_param,
                "give a doorbell record, or set overrun_ignore and no doorbell page"},
    SyndromeRow{Sy::create_cq_numbers, St::lim_err, "all numbers are in use; destroy some objects"},
    SyndromeRow{Sy::create_cq_uar, St::bad_res,
                "there is no doorbell page {object}; it was never created or is gone"},
    SyndromeRow{Sy::create_cq_uar_type, St::bad_param,
                "doorbell page {object} is dense; a completion queue is armed through one of type "
                "registers"},
    SyndromeRow{Sy::destroy_cq_absent, St::bad_res,
                "there is no completion queue {object}; it was never created or is gone"},
    SyndromeRow{Sy::destroy_cq_busy, St::res_busy,
                "completion queue {object} is still used by queue pairs or shared receive queues; "
                "destroy those first"},

    SyndromeRow{Sy::create_qp_pd, St::bad_res,
                "there is no protection domain {object}; it was never created or is gone"},
    SyndromeRow{Sy::create_qp_send_cq, St::bad_res,
                "there is no completion queue {object}; it was never created or is gone"},
    SyndromeRow{Sy::create_qp_uar, St::bad_res,
                "there is no doorbell page {object}; it was never created or is gone"},
    SyndromeRow{Sy::create_qp_send_size, St::bad_param,
                "a send queue has at most 2^15 WQEBBs, not 2^{detail}"},
    SyndromeRow{Sy::create_qp_send_queue, St::bad_param,
                "the send queue must be given and aligned to 64 bytes"},
    SyndromeRow{Sy::create_qp_record, St::bad_param,
                "the doorbell record must be given and aligned to 8 bytes"},
    SyndromeRow{Sy::create_qp_receive_cq, St::bad_res,
                "there is no completion queue {object}; it was never created or is gone"},
    SyndromeRow{Sy::create_qp_receive_size, St::bad_param,
                "a receive queue has at most 2^15 WQEs, not 2^{detail}"},
    SyndromeRow{Sy::create_qp_receive_stride, St::bad_param,
                "a receive WQE has 16 to 512 bytes, not 2^{detail}"},
    SyndromeRow{Sy::create_qp_receive_queue, St::bad_param,
                "the receive queue must be given and aligned to 16 bytes"},
    SyndromeRow{Sy::create_qp_numbers, St::lim_err, "all numbers are in use; destroy some objects"},
    SyndromeRow{
        Sy::create_qp_service, St::bad_param,
        "this NIC has queue pairs of service types RC (0), UC (1), UD (2) and XRC (3), not of "
        "type {detail}"},
    SyndromeRow{Sy::create_qp_srq, St::bad_res,
                "there is no shared receive queue {object}; it was never created or is gone"},
    SyndromeRow{Sy::create_qp_two_sources, St::bad_param,
                "a queue pair has shared receive queue {object} or a receive queue of its own; "
                "give one of the two"},
    SyndromeRow{
        Sy::create_qp_second_without_record, St::bad_res_state,
        "doorbell page {object} has a queue pair without a doorbell record already; allocate "
        "another page"},
    SyndromeRow{
        Sy::create_qp_no_record_register, St::bad_param,
        "doorbell page {object} has no register for a queue pair without a doorbell record; "
        "allocate one of type registers"},
    SyndromeRow{Sy::create_qp_xrc_domain, St::bad_res,
                "there is no XRC domain {object}; it was never allocated or is gone"},
    SyndromeRow{Sy::create_qp_initiator_receives, St::bad_param,
                "an initiator of XRC or DC receives nothing; give it neither a receive queue nor a "
                "shared one"},
    SyndromeRow{Sy::create_qp_xrc_srq, St::bad_param,
                "shared receive queue {object} is one of XRC, whose packets name it; give this "
                "queue pair another one"},
    SyndromeRow{Sy::destroy_qp_absent, St::bad_res,
                "there is no queue pair {object}; it was never created or is gone"},
    SyndromeRow{Sy::query_qp_absent, St::bad_res,
                "there is no queue pair {object}; it was never created or is gone"},

    SyndromeRow{Sy::modify_qp_absent, St::bad_res,
                "there is no queue pair {object}; it was never created or is gone"},
    SyndromeRow{Sy::modify_qp_transition, St::bad_qp_state,
                "queue pair {object} cannot go {states}; the way is reset, init, rtr, rts, and "
                "from rts to sqd and back"},
    SyndromeRow{Sy::modify_qp_field_missing, St::bad_param,
                "queue pair {object} needs {field} for this transition; give it"},
    SyndromeRow{Sy::modify_qp_field_unknown, St::bad_param,
                "queue pair {object} takes no {field} with this transition; leave it out"},
    SyndromeRow{Sy::modify_qp_remote_qpn, St::bad_param,
                "remote_qpn of queue pair {object} is {detail}; it has at most 24 bits"},
    SyndromeRow{Sy::modify_qp_next_receive_psn, St::bad_param,
                "next_receive_psn of queue pair {object} is {detail}; it has at most 24 bits"},
    SyndromeRow{Sy::modify_qp_log_rra_max, St::bad_param,
                "log_rra_max of queue pair {object} is {detail}; it is at most 7"},
    SyndromeRow{Sy::modify_qp_min_rnr_nak, St::bad_param,
                "min_rnr_nak of queue pair {object} is {detail}; it is at most 31"},
    SyndromeRow{Sy::modify_qp_log_msg_max, St::bad_param,
                "log_msg_max of queue pair {object} is {detail}; it is at most 30"},
    SyndromeRow{Sy::modify_qp_next_send_psn, St::bad_param,
                "next_send_psn of queue pair {object} is {detail}; it has at most 24 bits"},
    SyndromeRow{Sy::modify_qp_log_sra_max, St::bad_param,
                "log_sra_max of queue pair {object} is {detail}; it is at most 7"},
    SyndromeRow{Sy::modify_qp_ack_timeout, St::bad_param,
                "ack_timeout of queue pair {object} is {detail}; it is at most 31"},
    SyndromeRow{Sy::modify_qp_retry_count, St::bad_param,
                "retry_count of queue pair {object} is {detail}; it is at most 7"},
    SyndromeRow{Sy::modify_qp_rnr_retry, St::bad_param,
                "rnr_retry of queue pair {object} is {detail}; it is at most 7"},
    SyndromeRow{Sy::modify_qp_service_level, St::bad_param,
                "the service level of queue pair {object} is {detail}; it is at most 15"},
    SyndromeRow{
        Sy::modify_qp_path_mtu, St::bad_param,
        "the path of queue pair {object} has an MTU of {detail} bytes; it is a power of two "
        "from 256 to what the wire carries, or 0 for that"},

    SyndromeRow{Sy::query_cq_absent, St::bad_res,
                "there is no completion queue {object}; it was never created or is gone"},

    SyndromeRow{Sy::create_srq_pd, St::bad_res,
                "there is no protection domain {object}; it was never created or is gone"},
    SyndromeRow{Sy::create_srq_form, St::bad_param,
                "a shared receive queue is a list, cyclic or basic_cyclic (0 to 2), not {detail}"},
    SyndromeRow{Sy::create_srq_size, St::bad_param,
                "a shared receive queue has at most 2^15 WQEs, not 2^{detail}"},
    SyndromeRow{Sy::create_srq_stride, St::bad_param,
                "a WQE of a shared receive queue has 32 to 512 bytes, or from 16 on if it is "
                "basic_cyclic, not 2^{detail}"},
    SyndromeRow{Sy::create_srq_wqes, St::bad_param,
                "the WQEs must be given and aligned to 16 bytes"},
    SyndromeRow{Sy::create_srq_record, St::bad_param,
                "the doorbell record must be given and aligned to 4 bytes"},
    SyndromeRow{Sy::create_srq_numbers, St::lim_err,
                "all numbers are in use; destroy some objects"},
    SyndromeRow{Sy::create_srq_xrc_domain, St::bad_res,
                "there is no XRC domain {object}; it was never allocated or is gone"},
    SyndromeRow{Sy::create_srq_xrc_cq, St::bad_res,
                "there is no completion queue {object}; it was never created or is gone"},
    SyndromeRow{Sy::destroy_srq_absent, St::bad_res,
                "there is no shared receive queue {object}; it was never created or is gone"},
    SyndromeRow{Sy::destroy_srq_busy, St::res_busy,
                "shared receive queue {object} is still used by queue pairs; destroy those first"},
    SyndromeRow{Sy::query_srq_absent, St::bad_res,
                "there is no shared receive queue {object}; it was never created or is gone"},
    SyndromeRow{Sy::arm_srq_absent, St::bad_res,
                "there is no shared receive queue {object}; it was never created or is gone"},
    SyndromeRow{Sy::arm_srq_limit, St::bad_param,
                "shared receive queue {object} has not {detail} WQEs to be its limit; give fewer"},

    SyndromeRow{Sy::resize_cq_absent, St::bad_res,
                "there is no completion queue {object}; it was never created or is gone"},
    SyndromeRow{Sy::resize_cq_size, St::bad_param,
                "2^{detail} entries are more than 2^22; give fewer"},
    SyndromeRow{Sy::resize_cq_entries, St::bad_param,
                "the entries must be given and aligned to 64 bytes"},
    SyndromeRow{Sy::resize_cq_collapsed, St::bad_param,
                "completion queue {object} is collapsed: it has one entry, and no size to change"},
    SyndromeRow{Sy::resize_cq_full, St::bad_size_outs_cqes,
                "completion queue {object} has no entry left for the marker that ends its old "
                "entries; poll it first, or make another one if it has overrun"},
    SyndromeRow{Sy::resize_cq_too_small, St::bad_size_outs_cqes,
                "completion queue {object} holds more CQEs than {detail} entries take; poll it "
                "first, or give more"},

    SyndromeRow{Sy::alloc_mw_pd, St::bad_res,
                "there is no protection domain {object}; it was never created or is gone"},
    SyndromeRow{Sy::alloc_mw_type, St::bad_param,
                "a memory window is of type 1 or 2, not {detail}"},
    SyndromeRow{Sy::alloc_mw_numbers, St::lim_err,
                "all {detail} memory keys are in use; deregister some"},
    SyndromeRow{Sy::dealloc_mw_absent, St::bad_res,
                "no memory window {object}; it was never allocated or is gone already"},

    SyndromeRow{Sy::alloc_xrcd_numbers, St::lim_err,
                "all numbers are in use; destroy some objects"},
    SyndromeRow{Sy::dealloc_xrcd_absent, St::bad_res,
                "there is no XRC domain {object}; it was never allocated or is gone"},
    SyndromeRow{
        Sy::dealloc_xrcd_busy, St::res_busy,
        "XRC domain {object} is still used by queue pairs or shared receive queues; destroy "
        "those first"},

    SyndromeRow{Sy::moderate_cq_absent, St::bad_res,
                "there is no completion queue {object} to moderate; it was never created or is "
                "gone"},
    SyndromeRow{Sy::create_mkey_pd, St::bad_res,
                "there is no protection domain {object}; it was never created or is gone"},
    SyndromeRow{Sy::create_mkey_list_size, St::bad_param,
                "the key's list has room for {detail} entries; give 1 to {object}"},
    SyndromeRow{Sy::create_mkey_list, St::bad_param,
                "the entries are more than the list has room for, or a repeat block whose head "
                "does not say what its entries do"},
    SyndromeRow{Sy::create_mkey_length, St::bad_param,
                "the key has {detail} bytes, which are more than the parts of its list have"},
    SyndromeRow{Sy::create_mkey_umr, St::bad_param,
                "a key of memory is changed by no WQE; set no umr_en, or give a list"},
    SyndromeRow{Sy::destroy_mkey_absent, St::bad_res,
                "no memory key of index {object}; it was never made by a command or is gone"},
    SyndromeRow{Sy::query_mkey_absent, St::bad_res,
                "no memory key of index {object}; it was never made by a command or is gone"},
    SyndromeRow{Sy::create_dct_pd, St::bad_res,
                "there is no protection domain {object}; it was never created or is gone"},
    SyndromeRow{Sy::create_dct_cq, St::bad_res,
                "there is no completion queue {object}; it was never created or is gone"},
    SyndromeRow{Sy::create_dct_srq, St::bad_res,
                "there is no shared receive queue {object}; it was never created or is gone"},
    SyndromeRow{Sy::create_dct_min_rnr_nak, St::bad_param, "min_rnr_nak is {detail}; give 0 to 31"},
    SyndromeRow{Sy::create_dct_mtu, St::bad_param,
                "a path has no MTU of {detail}; give a power of two from 256 to the wire's, or 0"},
    SyndromeRow{Sy::create_dct_numbers, St::lim_err,
                "all numbers are in use; destroy some objects"},
    SyndromeRow{Sy::query_dct_absent, St::bad_res,
                "there is no DC target {object}; it was never created or is gone"},
    SyndromeRow{Sy::drain_dct_absent, St::bad_res,
                "there is no DC target {object}; it was never created or is gone"},
    SyndromeRow{Sy::arm_dct_absent, St::bad_res,
                "there is no DC target {object}; it was never created or is gone"},
    SyndromeRow{Sy::destroy_dct_absent, St::bad_res,
                "there is no DC target {object}; it was never created or is gone"},
    SyndromeRow{Sy::destroy_dct_state, St::bad_res_state,
                "DC target {object} is not drained; drain it, and wait until it is"},

    SyndromeRow{Sy::mailbox_opcode, St::bad_op, "there is no command {detail}"},
    SyndromeRow{Sy::mailbox_in_length, St::bad_inp_len,
                "the command has {detail} bytes; it takes {object}"},
    SyndromeRow{Sy::mailbox_out_length, St::bad_outp_len,
                "there are {detail} bytes for the answer; it takes {object}"},
    SyndromeRow{Sy::mailbox_capability, St::bad_param,
                "there is no page {detail} of capabilities; ask for another one"},
    SyndromeRow{Sy::mailbox_function, St::bad_param,
                "there is no other function {detail}; ask for the device's own"},
    SyndromeRow{Sy::mailbox_port, St::bad_param,
                "there is no port {detail} for this command; give 1, or 0"},
    SyndromeRow{
        Sy::mailbox_roce_address, St::bad_param,
        "the table of RoCE addresses has {object} entries, counted from 0; there is no {detail}"},
    SyndromeRow{Sy::mailbox_link_layer, St::bad_param,
                "the port is one of Ethernet, and has no such context; ask for that of its NIC"},
    SyndromeRow{Sy::mailbox_no_umem, St::bad_param,
                "memory is named by physical addresses; register it (umem) and say so by the valid "
                "bit"},
    SyndromeRow{Sy::mailbox_umem_absent, St::bad_res,
                "there is no umem {object}; it was never registered or is gone"},
    SyndromeRow{Sy::mailbox_umem_range, St::bad_param,
                "umem {object} does not hold what is to lie at its byte {detail}"},
    SyndromeRow{Sy::mailbox_umem_busy, St::res_busy,
                "an object lies in umem {object}; destroy that first"},
    SyndromeRow{Sy::mailbox_umem_read_only, St::bad_param,
                "the NIC is to write to umem {object}; register it with local write access"},
    SyndromeRow{Sy::mailbox_cqe_size, St::bad_param,
                "cqe_sz is {detail}; give 0 (64 bytes) or 1 (128 bytes)"},
    SyndromeRow{Sy::mailbox_cq_change, St::bad_param,
                "completion queue {object} is to change by fields {detail}; give op_mod 0, and 1 "
                "(cq_period), 2 (cq_max_count) or both"},
    SyndromeRow{Sy::mailbox_peer, St::bad_param,
                "queue pair {object} is to be connected to an address that no NIC has"},
    SyndromeRow{Sy::mailbox_absent_feature, St::bad_param,
                "page_offset, wq_signature or user_index_equal_xrc_srqn is not 0, which this NIC "
                "does not know; leave them 0"},
    SyndromeRow{Sy::mailbox_rq_type, St::bad_param,
                "rq_type is {detail}; give 0 (regular), 1 (shared) or 3 (none)"},
    SyndromeRow{Sy::mailbox_wq_type, St::bad_param,
                "wq_type is {detail}; give 0 (list) or 1 (cyclic)"},
    SyndromeRow{Sy::mailbox_rmp_change, St::bad_param,
                "RMP {object} is to change by bitmask {detail}; give 1 (lwm)"},
    SyndromeRow{Sy::mailbox_arm_mode, St::bad_param,
                "{object} is to be armed with op_mod {detail}; give 1 (shared receive queue)"},
    SyndromeRow{Sy::mailbox_counter_sets, St::lim_err,
                "all {detail} sets of counters are in use; deallocate some"},
    SyndromeRow{Sy::mailbox_counter_set_absent, St::bad_res,
                "there is no set of counters {object}; it was never allocated or is gone"},
    SyndromeRow{Sy::mailbox_counter_set_busy, St::res_busy,
                "queue pairs count in set of counters {object}; destroy those first"},
    SyndromeRow{Sy::mailbox_mkey_mode, St::bad_param,
                "access mode {detail} of a memory key; give 1 (MTT), 2 (KLM) or 3 (KSM)"},
    SyndromeRow{Sy::mailbox_mkey_index, St::bad_param,
                "index {detail} is asked for; keys have those that the NIC chooses"},
};

constexpr bool in_order_and_unlike() {
  return std::adjacent_find(kRows.begin(), kRows.end(), [](const auto& a, const auto& b) {
           return a.syndrome >= b.syndrome;
         }) == kRows.end();
}
static_assert(in_order_and_unlike());

}  // namespace

std::span<const SyndromeRow> syndrome_rows() { return kRows; }

const SyndromeRow& syndrome_row(CommandSyndrome syndrome) {
  const auto* const row = std::lower_bound(
      kRows.begin(), kRows.end(), syndrome,
      [](const SyndromeRow& one, CommandSyndrome other) { return one.syndrome < other; });
  GDAKIT_ASSERT(row != kRows.end() && row->syndrome == syndrome);
  return *row;
}

Status refusal(CommandSyndrome syndrome, std::uint32_t object, std::uint64_t detail) {
  return {syndrome_row(syndrome).status, syndrome, object, detail};
}

}  // namespace gdakit::softnic
