// The kinds of objects that a NIC has, and the numbers they get.
//
// Kinds of one number space share its numbers: a packet or a CQE names a QP and a DCT alike, by the
// number alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gdakit::softnic {

// Who an object belongs to: a command's uid. Calls of one owner find no object of another's.
using Uid = std::uint16_t;
inline constexpr Uid kNicUid = 0;  // the NIC's own

enum class ObjectKind : std::uint8_t { pd, uar, cq, qp, dct, mkey, srq, xrcd };
enum class NumberSpaceName : std::uint8_t { pd, uar, cq, qp, mkey, srq, xrcd };

struct KindRow {
  ObjectKind kind = ObjectKind::pd;
  NumberSpaceName space = NumberSpaceName::pd;
  std::uint32_t first = 0;
  std::uint32_t limit = 0;    // numbers are below
  std::uint32_t resting = 0;  // others that are freed before a freed number comes back
};

inline constexpr std::array kKinds = {
    KindRow{ObjectKind::pd, NumberSpaceName::pd, 1, 1u << 24, 64},
    KindRow{ObjectKind::uar, NumberSpaceName::uar, 1, 1u << 24, 64},
    KindRow{ObjectKind::cq, NumberSpaceName::cq, 1, 1u << 24, 64},
    // Below are the ports' own queue pairs, SMI and GSI; the last number is that of multicast
    // packets.
    KindRow{ObjectKind::qp, NumberSpaceName::qp, 2, 0xffffff, 64},
    KindRow{ObjectKind::dct, NumberSpaceName::qp, 2, 0xffffff, 64},
    // Of the index. Keys of smaller ones mean something by themselves, as 0x100, which ends a
    // receive WQE's list; and a stale key is to meet no new one.
    KindRow{ObjectKind::mkey, NumberSpaceName::mkey, 16, 1u << 24, 4096},
    KindRow{ObjectKind::srq, NumberSpaceName::srq, 1, 1u << 24, 64},
    KindRow{ObjectKind::xrcd, NumberSpaceName::xrcd, 1, 1u << 24, 64},
};

constexpr const KindRow& kind_row(ObjectKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

constexpr bool kinds_fit_together() {
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (static_cast<std::size_t>(kKinds[i].kind) != i) return false;
    for (const KindRow& other : kKinds) {
      const KindRow& row = kKinds[i];
      const bool alike =
          row.first == other.first && row.limit == other.limit && row.resting == other.resting;
      if (row.space == other.space && !alike) return false;
    }
  }
  return true;
}
static_assert(kinds_fit_together());

}  // namespace gdakit::softnic
