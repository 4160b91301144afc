// What core/format has for each row of tests/data/wqe_cqe.csv; layout_test.cc compares the two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/endian.h"
#include "core/format/address_vector.h"
#include "core/format/cqe.h"
#include "core/format/doorbell.h"
#include "core/format/srq.h"
#include "core/format/umr.h"
#include "core/format/wqe.h"

namespace gdakit::format::layout {

struct Field {
  std::string name;
  std::size_t offset;
  std::size_t width;
  bool big_endian;  // a Be16, Be32 or Be64; else bytes
};

// Where a field lies and how wide it is, measured on the struct itself.
template <class Owner, class Member>
Field field(std::string name, Member Owner::*member) {
  Owner owner{};
  const char* begin = reinterpret_cast<const char*>(&owner);
  const char* place = reinterpret_cast<const char*>(&(owner.*member));
  constexpr bool kBigEndian =
      std::is_same_v<Member, Be16> || std::is_same_v<Member, Be32> || std::is_same_v<Member, Be64>;
  return {std::move(name), static_cast<std::size_t>(place - begin), sizeof(Member), kBigEndian};
}

// One segment of the table: a struct and its fields in order.
struct Record {
  std::size_t size;
  std::vector<Field> fields;
};

// Segments of the table by name.
using Records = std::map<std::string, Record>;

inline Records wqe_records() {
  using C = ControlSegment;
  using Av = AvSegment;
  using Cs4 = MaskedAtomic4CsSegment;
  using Fa4 = MaskedAtomic4FaSegment;
  using Cs8 = MaskedAtomic8CsSegment;
  using Fa8 = MaskedAtomic8FaSegment;
  return {
      {"ctrl",
       {sizeof(C),
        {field("opmod_idx_opcode", &C::opmod_idx_opcode), field("qpn_ds", &C::qpn_ds),
         field("signature", &C::signature),
         field("dci_stream_channel_id", &C::dci_stream_channel_id), field("fm_ce_se", &C::fm_ce_se),
         field("imm", &C::imm)}}},
      {"raddr",
       {sizeof(RemoteAddressSegment),
        {field("raddr", &RemoteAddressSegment::raddr), field("rkey", &RemoteAddressSegment::rkey),
         field("reserved", &RemoteAddressSegment::reserved)}}},
      {"av",
       {sizeof(Av),
        {field("key.qkey.qkey", &Av::qkey), field("key.qkey.reserved", &Av::reserved),
         field("dqp_dct", &Av::dqp_dct), field("stat_rate_sl", &Av::stat_rate_sl),
         field("fl_mlid", &Av::fl_mlid), field("rlid", &Av::rlid),
         field("reserved0", &Av::reserved0), field("rmac", &Av::rmac), field("tclass", &Av::tclass),
         field("hop_limit", &Av::hop_limit), field("grh_gid_fl", &Av::grh_gid_fl),
         field("rgid", &Av::rgid)}}},
      {"data",
       {sizeof(DataSegment),
        {field("byte_count", &DataSegment::byte_count), field("lkey", &DataSegment::lkey),
         field("addr", &DataSegment::addr)}}},
      {"inline", {sizeof(InlineSegment), {field("byte_count", &InlineSegment::byte_count)}}},
      {"atomic",
       {sizeof(AtomicSegment),
        {field("swap_add", &AtomicSegment::swap_add), field("compare", &AtomicSegment::compare)}}},
      {"masked_atomic_4B_cs",
       {sizeof(Cs4),
        {field("swap_data", &Cs4::swap_data), field("compare_data", &Cs4::compare_data),
         field("swap_mask", &Cs4::swap_mask), field("compare_mask", &Cs4::compare_mask)}}},
      {"masked_atomic_4B_fa",
       {sizeof(Fa4),
        {field("add_data", &Fa4::add_data), field("field_boundary", &Fa4::field_boundary),
         field("reserved", &Fa4::reserved)}}},
      {"masked_atomic_8B_cs(both halves)",
       {sizeof(Cs8),
        {field("swap_add", &Cs8::swap_add), field("compare", &Cs8::compare),
         field("swap_add_mask", &Cs8::swap_add_mask), field("compare_mask", &Cs8::compare_mask)}}},
      {"masked_atomic_8B_fa",
       {sizeof(Fa8),
        {field("add_data", &Fa8::add_data), field("field_boundary", &Fa8::field_boundary)}}},
  };
}

inline Records cqe_records() {
  return {
      {"cqe64",
       {sizeof(Cqe64),
        {field("rsvd0", &Cqe64::rsvd0),
         field("wqe_id", &Cqe64::wqe_id),
         field("rsvd4", &Cqe64::rsvd4),
         field("ml_path", &Cqe64::ml_path),
         field("rsvd20", &Cqe64::rsvd20),
         field("slid", &Cqe64::slid),
         field("flags_rqpn", &Cqe64::flags_rqpn),
         field("hds_ip_ext", &Cqe64::hds_ip_ext),
         field("l4_hdr_type_etc", &Cqe64::l4_hdr_type_etc),
         field("vlan_info", &Cqe64::vlan_info),
         field("srqn_uidx", &Cqe64::srqn_uidx),
         field("imm_inval_pkey", &Cqe64::imm_inval_pkey),
         field("app", &Cqe64::app),
         field("app_op", &Cqe64::app_op),
         field("app_info", &Cqe64::app_info),
         field("byte_cnt", &Cqe64::byte_cnt),
         field("timestamp", &Cqe64::timestamp),
         field("sop_drop_qpn", &Cqe64::sop_drop_qpn),
         field("wqe_counter", &Cqe64::wqe_counter),
         field("signature", &Cqe64::signature),
         field("op_own", &Cqe64::op_own)}}},
      {"cqe_err",
       {sizeof(ErrorCqe),
        {field("rsvd0", &ErrorCqe::rsvd0), field("srqn", &ErrorCqe::srqn),
         field("rsvd1", &ErrorCqe::rsvd1), field("hw_err_synd", &ErrorCqe::hw_err_synd),
         field("hw_synd_type", &ErrorCqe::hw_synd_type),
         field("vendor_err_synd", &ErrorCqe::vendor_err_synd),
         field("syndrome", &ErrorCqe::syndrome),
         field("s_wqe_opcode_qpn", &ErrorCqe::s_wqe_opcode_qpn),
         field("wqe_counter", &ErrorCqe::wqe_counter), field("signature", &ErrorCqe::signature),
         field("op_own", &ErrorCqe::op_own)}}},
      {"dbr_qp",
       {sizeof(DoorbellRecord),
        {field("rcv_dbr", &DoorbellRecord::rcv_dbr), field("snd_dbr", &DoorbellRecord::snd_dbr)}}},
      {"dbr_srq", {sizeof(SrqDoorbellRecord), {field("counter", &SrqDoorbellRecord::counter)}}},
      {"srq_next",
       {sizeof(SrqNextSegment),
        {field("rsvd0", &SrqNextSegment::rsvd0),
         field("next_wqe_index", &SrqNextSegment::next_wqe_index),
         field("signature", &SrqNextSegment::signature), field("rsvd1", &SrqNextSegment::rsvd1)}}},
  };
}

inline Records umr_records() {
  using C = UmrControlSegment;
  using M = MkeyContextSegment;
  return {
      {"umr_ctrl",
       {sizeof(C),
        {field("flags", &C::flags), field("rsvd0", &C::rsvd0),
         field("klm_octowords", &C::klm_octowords),
         field("translation_offset", &C::translation_offset), field("mkey_mask", &C::mkey_mask),
         field("rsvd1", &C::rsvd1)}}},
      {"umr_mkey_context",
       {sizeof(M),
        {field("free", &M::free), field("reserved1", &M::reserved1),
         field("access_flags", &M::access_flags), field("sf", &M::sf),
         field("qpn_mkey", &M::qpn_mkey), field("reserved2", &M::reserved2),
         field("flags_pd", &M::flags_pd), field("start_addr", &M::start_addr),
         field("len", &M::len), field("bsf_octword_size", &M::bsf_octword_size),
         field("reserved3", &M::reserved3),
         field("translations_octword_size", &M::translations_octword_size),
         field("reserved4", &M::reserved4), field("log_page_size", &M::log_page_size),
         field("reserved", &M::reserved)}}},
      {"klm",
       {sizeof(KlmSegment),
        {field("byte_count", &KlmSegment::byte_count), field("mkey", &KlmSegment::mkey),
         field("address", &KlmSegment::address)}}},
      {"umr_repeat_block",
       {sizeof(RepeatBlockSegment),
        {field("byte_count", &RepeatBlockSegment::byte_count), field("op", &RepeatBlockSegment::op),
         field("repeat_count", &RepeatBlockSegment::repeat_count),
         field("reserved", &RepeatBlockSegment::reserved),
         field("num_ent", &RepeatBlockSegment::num_ent)}}},
      {"umr_repeat_entry",
       {sizeof(RepeatEntrySegment),
        {field("stride", &RepeatEntrySegment::stride),
         field("byte_count", &RepeatEntrySegment::byte_count),
         field("memkey", &RepeatEntrySegment::memkey), field("va", &RepeatEntrySegment::va)}}},
  };
}

inline const Records& records() {
  static const Records kRecords = [] {
    Records all = wqe_records();
    all.merge(cqe_records());
    all.merge(umr_records());
    return all;
  }();
  return kRecords;
}

// A range of bits inside a field, read by the accessor or the constant that client code uses, out
// of the field as a number in host order.
using Word = std::uint64_t;
struct BitField {
  Word (*read)(Word word);
};

inline ControlSegment control_with(Word dword0, Word dword1, Word flags) {
  ControlSegment segment{};
  segment.opmod_idx_opcode = Be32{static_cast<std::uint32_t>(dword0)};
  segment.qpn_ds = Be32{static_cast<std::uint32_t>(dword1)};
  segment.fm_ce_se = static_cast<std::uint8_t>(flags);
  return segment;
}

// The tail of a CQE whose dword at byte 56 is `word`.
inline CqeTail tail_with(Word word) { return {Be32{static_cast<std::uint32_t>(word)}.raw()}; }

// 1 if `word` has the bit in which two results of a builder differ.
inline Word has_difference(Word word, std::uint8_t one, std::uint8_t other) {
  return (word & static_cast<std::uint8_t>(one ^ other)) != 0 ? 1 : 0;
}

inline const std::map<std::string, BitField>& bit_fields() {
  static const std::map<std::string, BitField> kBitFields = {
      {"ctrl/opmod_idx_opcode.opmod", {[](Word w) { return Word{control_with(w, 0, 0).opmod()}; }}},
      {"ctrl/opmod_idx_opcode.wqe_index",
       {[](Word w) { return Word{control_with(w, 0, 0).wqe_index()}; }}},
      {"ctrl/opmod_idx_opcode.opcode",
       {[](Word w) { return Word{control_with(w, 0, 0).opcode()}; }}},
      {"ctrl/qpn_ds.qpn", {[](Word w) { return Word{control_with(0, w, 0).qpn()}; }}},
      {"ctrl/qpn_ds.ds", {[](Word w) { return Word{control_with(0, w, 0).ds()}; }}},
      {"ctrl/fm_ce_se.fm",
       {[](Word w) { return static_cast<Word>(control_with(0, 0, w).fence_mode()); }}},
      {"ctrl/fm_ce_se.ce",
       {[](Word w) { return static_cast<Word>(control_with(0, 0, w).completion()); }}},
      {"ctrl/fm_ce_se.se", {[](Word w) { return Word{control_with(0, 0, w).solicited()}; }}},
      {"av/dqp_dct.ext", {[](Word w) { return Word{(w & kExtendedAv) != 0}; }}},
      {"data/byte_count.inline", {[](Word w) { return Word{(w & kInline) != 0}; }}},
      {"data/byte_count.length", {[](Word w) { return w & ~Word{kInline}; }}},
      {"inline/byte_count.inline", {[](Word w) { return Word{(w & kInline) != 0}; }}},
      {"inline/byte_count.length", {[](Word w) { return w & kMaxInlineLength; }}},
      {"cqe64/sop_drop_qpn.send_opcode", {[](Word w) { return Word{tail_with(w).send_opcode()}; }}},
      {"cqe64/sop_drop_qpn.qpn", {[](Word w) { return Word{tail_with(w).qpn()}; }}},
      {"cqe_err/s_wqe_opcode_qpn.opcode",
       {[](Word w) { return Word{tail_with(w).send_opcode()}; }}},
      {"cqe_err/s_wqe_opcode_qpn.qpn", {[](Word w) { return Word{tail_with(w).qpn()}; }}},
      {"cqe64/op_own.opcode",
       {[](Word w) { return static_cast<Word>(cqe_opcode(static_cast<std::uint8_t>(w))); }}},
      {"cqe64/op_own.se", {[](Word w) {
         return has_difference(w, op_own(CqeOpcode::requester, false, true),
                               op_own(CqeOpcode::requester, false, false));
       }}},
      {"cqe64/op_own.owner", {[](Word w) {
         return has_difference(w, op_own(CqeOpcode::requester, true),
                               op_own(CqeOpcode::requester, false));
       }}},
  };
  return kBitFields;
}

// Rows that are constants, not fields: {offset, width}.
inline const std::map<std::string, std::pair<std::size_t, std::size_t>>& constants() {
  constexpr std::size_t kRegisterBytes = (kUarDoorbellEnd - kUarDoorbellBegin) / 2;
  static const std::map<std::string, std::pair<std::size_t, std::size_t>> kConstants = {
      {"uar_page/size", {0, kUarPageBytes}},
      {"uar_page/bf_buffer_0", {kUarDoorbellBegin, kUarHalfBytes}},
      {"uar_page/bf_buffer_1", {kUarDoorbellBegin + kUarHalfBytes, kUarHalfBytes}},
      {"uar_page/bf_register_1", {kUarDoorbellBegin + kRegisterBytes, kRegisterBytes}},
      // The two halves of doorbell_value(); doorbell_test.cc has their golden bytes.
      {"uar_doorbell_value/dword0", {0, sizeof(doorbell_value(0, 0)) / 2}},
      {"uar_doorbell_value/dword1",
       {sizeof(doorbell_value(0, 0)) / 2, sizeof(doorbell_value(0, 0)) / 2}},
  };
  return kConstants;
}

// Rows that core/format leaves out, and why. An entry without a row is a failure, too.
inline const std::map<std::string, std::string>& not_modelled() {
  constexpr char kTagMatching[] = "tag matching is not used";
  constexpr char kReceiver[] = "only datagram and tag-matching receivers look at it";
  constexpr char kHalf[] = "the same bytes as `both halves`";
  constexpr char kNoEvents[] = "completion queues are polled, there is no event queue";
  constexpr char kSame[] = "the bytes of the fields in it";
  constexpr char kWay[] = "the soft NIC's way needs none of it";
  constexpr char kWhole[] = "read with a mask where it is used";
  static const std::map<std::string, std::string> kNotModelled = {
      {"av/key", kSame},
      {"umr_ctrl/bsf_octowords", "no signatures: the bytes are translation_offset's"},
      {"umr_repeat_block/entries", "the entries that follow it"},
      {"umr_mkey_context/qpn_mkey.qpn", kWhole},
      {"umr_mkey_context/qpn_mkey.mkey_7_0", kWhole},
      {"av/key.qkey", kSame},
      {"av/key.dc_key", "of DC, which there is not"},
      {"av/dqp_dct.dqpn_dctn", kWhole},
      {"av/stat_rate_sl.stat_rate", kWay},
      {"av/stat_rate_sl.sl", kWhole},
      {"av/fl_mlid.fl", kWay},
      {"av/fl_mlid.mlid", kWay},
      {"av/grh_gid_fl.grh", kWay},
      {"av/grh_gid_fl.sgid_index", kWay},
      {"av/grh_gid_fl.flow_label", kWay},
      {"masked_atomic_8B_cs(one half)/(size)", kHalf},
      {"masked_atomic_8B_cs(one half)/swap", kHalf},
      {"masked_atomic_8B_cs(one half)/compare", kHalf},
      {"masked_atomic_8B_cs(both halves)/position in WQE",
       "the writer's matter: the third and fourth segment, after control and raddr"},
      {"cqe64/flags_rqpn.g", kReceiver},
      {"cqe64/flags_rqpn.sl_or_l3_type", kReceiver},
      {"cqe64/flags_rqpn.rqpn", kReceiver},
      {"cqe64/tm_cqe", kTagMatching},
      {"cqe64/tm_cqe.success", kTagMatching},
      {"cqe64/tm_cqe.hw_phase_cnt", kTagMatching},
      {"cqe64/tm_cqe.rsvd0", kTagMatching},
      {"cqe64/tmh", kTagMatching},
      {"cqe64/tmh.opcode", kTagMatching},
      {"cqe64/tmh.reserved", kTagMatching},
      {"cqe64/tmh.app_ctx", kTagMatching},
      {"cqe64/tmh.tag", kTagMatching},
      {"cqe64/srqn_uidx.uidx", "the word is read whole; its high byte is 0 in CQE version 1"},
      {"cqe64/op_own.format", "0: queues ask for neither inline scatter nor compression"},
      {"uar_page/eq_doorbell_arm", kNoEvents},
      {"uar_page/eq_doorbell_noarm", kNoEvents},
      {"uar_page/cq_doorbell", kNoEvents},
      {"uar_page/send_db_nodbr", "every queue has a doorbell record"},
  };
  return kNotModelled;
}

}  // namespace gdakit::format::layout
