// How a completion queue is armed, and the registers of a UAR page that are no send doorbells.
// Source: tests/data/wqe_cqe.csv, rows uar_page; tests/data/opcodes.csv, rows cq_arm.
//
//   thread                                  memory                    NIC
//   stores what it waits for       ------>  arm word of the record    reads it
//   stores that word and the CQN   ------>  arm register              looks at the record
//                                           CQE, then one event  <--  once there is such a CQE
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/annotate.h"
#include "core/base/endian.h"

namespace gdakit::format {

// Two words that belong to one CQ, in memory that the NIC reads.
struct alignas(8) CqDoorbellRecord {
  Be32 set_ci;  // consumer index & 0xffffff
  Be32 arm;     // cq_arm(), or kCqNotArmed
};
static_assert(sizeof(CqDoorbellRecord) == 8 && offsetof(CqDoorbellRecord, arm) == 4);

inline constexpr std::uint32_t kUarCqArm = 0x20;
// Event queues: consumer index and number, with and without arming.
inline constexpr std::uint32_t kUarEqArm = 0x40;
inline constexpr std::uint32_t kUarEqUpdate = 0x48;
// Send doorbells of queue pairs that have no doorbell record (qpc.send_dbr_mode).
inline constexpr std::uint32_t kUarNoRecordDoorbell = 0x600;

inline constexpr std::uint32_t kCqSolicitedOnly = 1u << 24;
inline constexpr std::uint32_t kCqIndexMask = 0xffffff;
// What no arm looks like.
inline constexpr std::uint32_t kCqNotArmed = 0xffffffff;

// Asks for one event once there is a CQE behind `consumer_index`; with solicited_only, one that is
// solicited or says of an error. `arm_sn`: how many events of this CQ have been read; two bits
// count.
GDAKIT_HOST_DEVICE constexpr Be32 cq_arm(std::uint32_t arm_sn, bool solicited_only,
                                         std::uint64_t consumer_index) {
  return Be32{((arm_sn & 3) << 28) | (solicited_only ? kCqSolicitedOnly : 0) |
              static_cast<std::uint32_t>(consumer_index & kCqIndexMask)};
}

// The eight bytes for the arm register, as one little-endian store writes them.
GDAKIT_HOST_DEVICE constexpr std::uint64_t cq_arm_value(Be32 arm, std::uint32_t cqn) {
  return std::uint64_t{arm.raw()} | (std::uint64_t{Be32{cqn}.raw()} << 32);
}

}  // namespace gdakit::format
