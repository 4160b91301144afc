// What all commands to the firmware begin with, and all answers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/format/prm/mailbox.h"

namespace gdakit::format::prm {

enum class Opcode : std::uint16_t {
  query_hca_cap = 0x100,
  query_adapter = 0x101,
  query_issi = 0x10a,
  create_mkey = 0x200,
  query_mkey = 0x201,
  destroy_mkey = 0x202,
  create_cq = 0x400,
  destroy_cq = 0x401,
  query_cq = 0x402,
  modify_cq = 0x403,
  create_qp = 0x500,
  destroy_qp = 0x501,
  rst2init_qp = 0x502,
  init2rtr_qp = 0x503,
  rtr2rts_qp = 0x504,
  rts2rts_qp = 0x505,
  sqerr2rts_qp = 0x506,
  qp_2err = 0x507,
  rts2sqd_qp = 0x508,
  qp_2rst = 0x50a,
  query_qp = 0x50b,
  sqd2rts_qp = 0x50c,
  init2init_qp = 0x50e,
  sqd2sqd_qp = 0x511,
  create_srq = 0x700,
  destroy_srq = 0x701,
  query_srq = 0x702,
  arm_rq = 0x703,
  create_xrc_srq = 0x705,
  destroy_xrc_srq = 0x706,
  query_xrc_srq = 0x707,
  arm_xrc_srq = 0x708,
  create_dct = 0x710,
  destroy_dct = 0x711,
  drain_dct = 0x712,
  query_dct = 0x713,
  arm_dct_for_key_violation = 0x714,
  query_vport_state = 0x750,
  query_nic_vport_context = 0x754,
  query_roce_address = 0x760,
  query_hca_vport_context = 0x762,
  alloc_q_counter = 0x771,
  dealloc_q_counter = 0x772,
  query_q_counter = 0x773,
  alloc_pd = 0x800,
  dealloc_pd = 0x801,
  nop = 0x80d,
  alloc_xrcd = 0x80e,
  dealloc_xrcd = 0x80f,
  query_lag = 0x842,
  create_rmp = 0x90c,
  modify_rmp = 0x90d,
  destroy_rmp = 0x90e,
  query_rmp = 0x90f,
};

struct MboxIn {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<MboxIn, 0, 16> opcode{};
  static constexpr Field<MboxIn, 16, 16> uid{};  // of the user's context
  static constexpr Field<MboxIn, 48, 16> op_mod{};
};

struct MboxOut {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<MboxOut, 0, 8> status{};
  static constexpr Field<MboxOut, 32, 32> syndrome{};
};

}  // namespace gdakit::format::prm
