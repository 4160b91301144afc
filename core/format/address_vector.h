// The address vector: where a datagram, or a request of DC, goes, in its WQE behind the control
// segment.
//
//   | qkey | -  | dqp_dct | rate, lid |    the short form: kExtendedAv is clear
//   | DC's key  |                          in place of qkey, of DC
//   | -, MAC, class           | flow, |    and what follows it in the long one
//   | rgid                            |
//
// Source: tests/data/wqe_cqe.csv, rows av.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/annotate.h"
#include "core/base/endian.h"

namespace gdakit::format {

inline constexpr std::uint32_t kExtendedAv = 0x80000000u;
// Of a Q_Key in a WQE: the queue pair's own is meant.
inline constexpr std::uint32_t kOwnQkey = 0x80000000u;

struct AvSegment {
  Be32 qkey;
  Be32 reserved;
  Be32 dqp_dct;               // kExtendedAv[31] destination QPN[23:0]
  std::uint8_t stat_rate_sl;  // rate[7:4] sl[3:0]
  std::uint8_t fl_mlid;       // force loopback[7] source path bits[6:0]
  Be16 rlid;                  // InfiniBand: destination LID; RoCE: UDP source port
  std::uint8_t reserved0[4];
  std::uint8_t rmac[6];
  std::uint8_t tclass;
  std::uint8_t hop_limit;
  Be32 grh_gid_fl;  // GRH[30], of InfiniBand alone; sgid_index[27:20] flow label[19:0]
  std::uint8_t rgid[16];
};
// Of the short form, which ends behind rlid.
inline constexpr std::uint32_t kShortAvBytes = 16;

// The first eight bytes, of DC.
constexpr std::uint64_t dc_key(const AvSegment& av) {
  return std::uint64_t{std::uint32_t{av.qkey}} << 32 | std::uint32_t{av.reserved};
}
constexpr void set_dc_key(AvSegment& av, std::uint64_t key) {
  av.qkey = Be32{static_cast<std::uint32_t>(key >> 32)};
  av.reserved = Be32{static_cast<std::uint32_t>(key)};
}

static_assert(sizeof(AvSegment) == 48 && offsetof(AvSegment, dqp_dct) == 8);
static_assert(offsetof(AvSegment, reserved0) == kShortAvBytes && offsetof(AvSegment, rgid) == 32);

}  // namespace gdakit::format
