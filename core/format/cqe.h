// Completion queue entries, as the NIC writes them. Source: tests/data/wqe_cqe.csv, rows cqe64,
// cqe_err.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/annotate.h"
#include "core/base/endian.h"

namespace gdakit::format {

enum class CqeOpcode : std::uint8_t {
  requester = 0x0,
  responder_write_imm = 0x1,
  responder_send = 0x2,
  responder_send_imm = 0x3,
  responder_send_inv = 0x4,
  resized = 0x5,  // a marker: what follows is in the CQ's new entries
  requester_error = 0xd,
  responder_error = 0xe,
  invalid = 0xf,
};

// Why a WQE failed (byte 55 of an error CQE).
enum class Syndrome : std::uint8_t {
  none = 0x00,
  local_length = 0x01,
  local_qp_operation = 0x02,
  local_protection = 0x04,
  flushed = 0x05,
  memory_window_bind = 0x06,
  bad_response = 0x10,
  local_access = 0x11,
  remote_invalid_request = 0x12,
  remote_access = 0x13,
  remote_operation = 0x14,
  transport_retry_exceeded = 0x15,
  rnr_retry_exceeded = 0x16,
  remote_aborted = 0x22,
};

// Vendor syndromes that public reports show beside the syndromes above.
namespace vendor {
inline constexpr std::uint8_t local_protection = 0x52;
inline constexpr std::uint8_t retry_exceeded = 0x81;
inline constexpr std::uint8_t remote_access = 0x88;
inline constexpr std::uint8_t remote_invalid_request = 0x8a;
inline constexpr std::uint8_t flushed = 0xf9;
}  // namespace vendor

struct Cqe64 {
  std::uint8_t rsvd0[2];
  Be16 wqe_id;
  std::uint8_t rsvd4[13];
  std::uint8_t ml_path;
  std::uint8_t rsvd20[4];
  Be16 slid;
  Be32 flags_rqpn;  // responder: kCqeGrhInBuffer[28] service level or CqeL3[27:24] remote QPN[23:0]
  std::uint8_t hds_ip_ext;
  std::uint8_t l4_hdr_type_etc;
  Be16 vlan_info;
  Be32 srqn_uidx;
  Be32 imm_inval_pkey;
  std::uint8_t app;
  std::uint8_t app_op;
  Be16 app_info;
  Be32 byte_cnt;
  Be64 timestamp;
  Be32 sop_drop_qpn;  // requester: send opcode[31:24] qpn[23:0]
  Be16 wqe_counter;   // requester: wqe_index of the completed WQE
  std::uint8_t signature;
  std::uint8_t op_own;  // opcode[7:4] format[3:2] se[1] owner[0]
};

struct ErrorCqe {
  std::uint8_t rsvd0[32];
  Be32 srqn;
  std::uint8_t rsvd1[16];
  std::uint8_t hw_err_synd;
  std::uint8_t hw_synd_type;
  std::uint8_t vendor_err_synd;
  std::uint8_t syndrome;
  Be32 s_wqe_opcode_qpn;  // opcode[31:24] qpn[23:0]
  Be16 wqe_counter;
  std::uint8_t signature;
  std::uint8_t op_own;
};

static_assert(sizeof(Cqe64) == 64 && sizeof(ErrorCqe) == 64);
static_assert(offsetof(Cqe64, srqn_uidx) == 32 && offsetof(Cqe64, byte_cnt) == 44);
static_assert(offsetof(Cqe64, sop_drop_qpn) == 56 && offsetof(Cqe64, wqe_counter) == 60);
static_assert(offsetof(Cqe64, op_own) == 63);
static_assert(offsetof(ErrorCqe, syndrome) == 55 && offsetof(ErrorCqe, wqe_counter) == 60);

// Of flags_rqpn. Datagrams: a GRH, or what stands for it, is the first kGrhBytes of the buffer.
inline constexpr std::uint32_t kCqeGrhInBuffer = 1u << 28;
inline constexpr std::uint32_t kGrhBytes = 40;
// ... of RoCE version 2: what kind of IP header that is.
enum class CqeL3 : std::uint8_t { udp_ipv6 = 0x9, udp_ipv4 = 0xa };

// What software writes into every byte of a CQ before the NIC owns it: opcode 0xf, and a counter of
// 0xffff, so that counter + 1 reads as "nothing has completed".
inline constexpr std::uint8_t kInvalidCqeByte = 0xff;

GDAKIT_HOST_DEVICE constexpr CqeOpcode cqe_opcode(std::uint8_t op_own) {
  return static_cast<CqeOpcode>(op_own >> 4);
}

GDAKIT_HOST_DEVICE constexpr std::uint8_t op_own(CqeOpcode opcode, bool owner,
                                                 bool solicited = false) {
  return static_cast<std::uint8_t>((static_cast<unsigned>(opcode) << 4) | (solicited ? 2u : 0u) |
                                   (owner ? 1u : 0u));
}

// The last eight bytes of a CQE, which one load reads and one store writes: sop_drop_qpn,
// wqe_counter, signature and op_own, as a little-endian processor sees them.
struct CqeTail {
  std::uint64_t raw;

  GDAKIT_HOST_DEVICE constexpr std::uint8_t send_opcode() const {
    return static_cast<std::uint8_t>(raw);
  }
  GDAKIT_HOST_DEVICE constexpr std::uint32_t qpn() const {
    return byte_swap(static_cast<std::uint32_t>(raw)) & 0xffffff;
  }
  GDAKIT_HOST_DEVICE constexpr std::uint16_t wqe_counter() const {
    return byte_swap(static_cast<std::uint16_t>(raw >> 32));
  }
  GDAKIT_HOST_DEVICE constexpr std::uint8_t op_own() const {
    return static_cast<std::uint8_t>(raw >> 56);
  }
  GDAKIT_HOST_DEVICE constexpr CqeOpcode opcode() const { return cqe_opcode(op_own()); }
};
inline constexpr std::size_t kCqeTailOffset = 56;

}  // namespace gdakit::format
