// Compares the numbers of core/format with tests/data/opcodes.csv, both ways. The names come from
// switches without a default, so that an enumerator that is added without its name does not
// compile.
#include <cstdint>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "core/format/cqe.h"
#include "core/format/doorbell.h"
#include "core/format/umr.h"
#include "core/format/wqe.h"
#include "tests/format/csv.h"

namespace gdakit::format {
namespace {

std::string name_of(Opcode opcode) {
  switch (opcode) {
    case Opcode::nop: return "MLX5_OPCODE_NOP";
    case Opcode::send_inval: return "MLX5_OPCODE_SEND_INVAL";
    case Opcode::rdma_write: return "MLX5_OPCODE_RDMA_WRITE";
    case Opcode::rdma_write_imm: return "MLX5_OPCODE_RDMA_WRITE_IMM";
    case Opcode::send: return "MLX5_OPCODE_SEND";
    case Opcode::send_imm: return "MLX5_OPCODE_SEND_IMM";
    case Opcode::rdma_read: return "MLX5_OPCODE_RDMA_READ";
    case Opcode::atomic_cs: return "MLX5_OPCODE_ATOMIC_CS";
    case Opcode::atomic_fa: return "MLX5_OPCODE_ATOMIC_FA";
    case Opcode::atomic_masked_cs: return "MLX5_OPCODE_ATOMIC_MASKED_CS";
    case Opcode::atomic_masked_fa: return "MLX5_OPCODE_ATOMIC_MASKED_FA";
    case Opcode::dump: return "MLX5_OPCODE_DUMP";
    case Opcode::umr: return "MLX5_OPCODE_UMR";
  }
  return "";
}

std::string name_of(CqeOpcode opcode) {
  switch (opcode) {
    case CqeOpcode::requester: return "MLX5_CQE_REQ";
    case CqeOpcode::responder_write_imm: return "MLX5_CQE_RESP_WR_IMM";
    case CqeOpcode::responder_send: return "MLX5_CQE_RESP_SEND";
    case CqeOpcode::responder_send_imm: return "MLX5_CQE_RESP_SEND_IMM";
    case CqeOpcode::responder_send_inv: return "MLX5_CQE_RESP_SEND_INV";
    case CqeOpcode::resized: return "MLX5_CQE_RESIZE_CQ";
    case CqeOpcode::requester_error: return "MLX5_CQE_REQ_ERR";
    case CqeOpcode::responder_error: return "MLX5_CQE_RESP_ERR";
    case CqeOpcode::invalid: return "MLX5_CQE_INVALID";
  }
  return "";
}

std::string name_of(Syndrome syndrome) {
  switch (syndrome) {
    case Syndrome::none: return "";  // a CQE without an error; the table has no name for it
    case Syndrome::local_length: return "MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR";
    case Syndrome::local_qp_operation: return "MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR";
    case Syndrome::local_protection: return "MLX5_CQE_SYNDROME_LOCAL_PROT_ERR";
    case Syndrome::flushed: return "MLX5_CQE_SYNDROME_WR_FLUSH_ERR";
    case Syndrome::memory_window_bind: return "MLX5_CQE_SYNDROME_MW_BIND_ERR";
    case Syndrome::bad_response: return "MLX5_CQE_SYNDROME_BAD_RESP_ERR";
    case Syndrome::local_access: return "MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR";
    case Syndrome::remote_invalid_request: return "MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR";
    case Syndrome::remote_access: return "MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR";
    case Syndrome::remote_operation: return "MLX5_CQE_SYNDROME_REMOTE_OP_ERR";
    case Syndrome::transport_retry_exceeded: return "MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR";
    case Syndrome::rnr_retry_exceeded: return "MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR";
    case Syndrome::remote_aborted: return "MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR";
  }
  return "";
}

std::string name_of(Completion completion) {
  switch (completion) {
    case Completion::on_error: return "MLX5_WQE_CTRL_CE_CQE_ON_CQE_ERROR";
    case Completion::on_first_error: return "MLX5_WQE_CTRL_CE_CQE_ON_FIRST_CQE_ERROR";
    case Completion::always: return "MLX5_WQE_CTRL_CE_CQE_ALWAYS";
    case Completion::with_event: return "MLX5_WQE_CTRL_CE_CQE_AND_EQE";
  }
  return "";
}

std::string name_of(FenceMode mode) {
  switch (mode) {
    case FenceMode::none: return "MLX5_WQE_CTRL_FM_NO_FENCE";
    case FenceMode::small: return "MLX5_WQE_CTRL_FM_INITIATOR_SMALL_FENCE";
    case FenceMode::fence: return "MLX5_WQE_CTRL_FM_FENCE";
    case FenceMode::strong: return "MLX5_WQE_CTRL_FM_STRONG_ORDERING";
    case FenceMode::fence_and_small: return "MLX5_WQE_CTRL_FM_FENCE_AND_INITIATOR_SMALL_FENCE";
  }
  return "";
}

using Numbers = std::map<std::string, std::uint64_t>;

// The enumerators of an enum of one byte.
template <class Enum>
void add_enum(Numbers& numbers, const std::string& category) {
  for (unsigned value = 0; value < 256; ++value) {
    const std::string name = name_of(static_cast<Enum>(value));
    if (!name.empty()) numbers[category + "/" + name] = value;
  }
}

void add_vendor_syndromes(Numbers& numbers) {
  const std::string seen = "cqe_vendor_syndrome/OBSERVED ";
  numbers[seen + "0x52 with syndrome 0x04"] = vendor::local_protection;
  numbers[seen + "0x81 with syndrome 0x15"] = vendor::retry_exceeded;
  numbers[seen + "0x88 with syndrome 0x13"] = vendor::remote_access;
  numbers[seen + "0x8a with syndrome 0x12"] = vendor::remote_invalid_request;
  numbers[seen + "0xf9 with syndrome 0x05"] = vendor::flushed;
}

void add_umr(Numbers& numbers) {
  const std::string control = "umr/MLX5_WQE_UMR_CTRL_";
  numbers[control + "FLAG_CHECK_QPN"] = umr_flags::check_qpn;
  numbers[control + "FLAG_TRNSLATION_OFFSET"] = umr_flags::translation_offset;
  numbers[control + "FLAG_CHECK_FREE"] = umr_flags::check_free;
  numbers["umr/MLX5_UMR_CHECK_FREE"] = umr_flags::check_not_free;
  numbers[control + "FLAG_INLINE"] = umr_flags::inline_list;
  numbers[control + "MKEY_MASK_LEN"] = mkey_mask::length;
  numbers[control + "MKEY_MASK_START_ADDR"] = mkey_mask::start_address;
  numbers[control + "MKEY_MASK_MKEY"] = mkey_mask::key;
  numbers[control + "MKEY_MASK_QPN"] = mkey_mask::qpn;
  numbers[control + "MKEY_MASK_ACCESS_LOCAL_WRITE"] = mkey_mask::local_write;
  numbers[control + "MKEY_MASK_ACCESS_REMOTE_READ"] = mkey_mask::remote_read;
  numbers[control + "MKEY_MASK_ACCESS_REMOTE_WRITE"] = mkey_mask::remote_write;
  numbers[control + "MKEY_MASK_ACCESS_ATOMIC"] = mkey_mask::atomic;
  numbers[control + "MKEY_MASK_FREE"] = mkey_mask::free;
  const std::string mask = "umr/MLX5_MKEY_MASK_";
  numbers[mask + "EN_RINVAL"] = mkey_mask::remote_invalidate;
  numbers[mask + "LR"] = mkey_mask::local_read;
  numbers[mask + "SMALL_FENCE"] = mkey_mask::small_fence;
  numbers[mask + "RELAXED_ORDERING_WRITE"] = mkey_mask::relaxed_ordering_write;
  numbers[mask + "RELAXED_ORDERING_READ"] = mkey_mask::relaxed_ordering_read;
}

// Every number of core/format that the table has, by "category/name".
Numbers numbers() {
  Numbers all;
  add_enum<Opcode>(all, "wqe_opcode");
  add_enum<CqeOpcode>(all, "cqe_opcode");
  add_enum<Syndrome>(all, "cqe_syndrome");
  add_enum<Completion>(all, "ctrl_fm_ce_se");
  add_enum<FenceMode>(all, "ctrl_fm_ce_se");
  add_vendor_syndromes(all);
  add_umr(all);
  const auto flags = [](FenceMode mode) { return fm_ce_se(mode, Completion::on_error); };
  const FenceMode none = FenceMode::none;
  all["ctrl_fm_ce_se/MLX5_FENCE_MODE_INITIATOR_SMALL"] = flags(FenceMode::small);
  all["ctrl_fm_ce_se/MLX5_FENCE_MODE_FENCE"] = flags(FenceMode::fence);
  all["ctrl_fm_ce_se/MLX5_FENCE_MODE_STRONG_ORDERING"] = flags(FenceMode::strong);
  all["ctrl_fm_ce_se/MLX5_FENCE_MODE_SMALL_AND_FENCE"] = flags(FenceMode::fence_and_small);
  all["ctrl_fm_ce_se/MLX5_WQE_CTRL_SOLICITED"] = fm_ce_se(none, Completion::on_error, true);
  all["ctrl_fm_ce_se/MLX5_WQE_CTRL_CQ_UPDATE"] = fm_ce_se(none, Completion::always);
  all["ctrl_fm_ce_se/MLX5_WQE_CTRL_CQ_UPDATE_AND_EQE"] = fm_ce_se(none, Completion::with_event);
  all["wqe_opmod/IBGDA_4_BYTE_EXT_AMO_OPMOD"] = std::uint64_t{kOpmodAtomic4} << 24;
  all["wqe_opmod/IBGDA_8_BYTE_EXT_AMO_OPMOD"] = std::uint64_t{kOpmodAtomic8} << 24;
  all["dbr/MLX5_RCV_DBR"] = offsetof(DoorbellRecord, rcv_dbr) / sizeof(Be32);
  all["dbr/MLX5_SND_DBR"] = offsetof(DoorbellRecord, snd_dbr) / sizeof(Be32);
  all["uar/MLX5_BF_OFFSET"] = kUarDoorbellBegin;
  all["uar/MLX5_ADAPTER_PAGE_SIZE"] = kUarPageBytes;
  return all;
}

Numbers reference() {
  Numbers rows;
  for (const CsvRow& row : read_csv("tests/data/opcodes.csv")) {
    if (row.contains("malformed")) return {};
    rows[row.at("category") + "/" + row.at("name")] = std::stoull(row.at("value"));
  }
  return rows;
}

TEST(Opcodes, EveryRowIsANumberOfFormatAndEveryNumberARow) {
  const Numbers rows = reference();
  ASSERT_GE(rows.size(), 50u) << "tests/data/opcodes.csv could not be read";
  EXPECT_EQ(rows, numbers());
}

}  // namespace
}  // namespace gdakit::format
