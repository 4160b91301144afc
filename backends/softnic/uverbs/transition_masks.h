// Which attributes ibv_modify_qp must and may have, by the states it leads between: the table that
// every kernel checks calls against (InfiniBand Architecture, 11.2.5.2).
#pragma once

#include <cstdint>

#include "backends/softnic/objects/attributes.h"

namespace gdakit::softnic::uverbs {

// enum ibv_qp_attr_mask, which the uapi does not have.
namespace attr {
inline constexpr std::uint32_t kState = 1u << 0;
inline constexpr std::uint32_t kCurrentState = 1u << 1;
inline constexpr std::uint32_t kSqdNotify = 1u << 2;
inline constexpr std::uint32_t kAccess = 1u << 3;
inline constexpr std::uint32_t kPkeyIndex = 1u << 4;
inline constexpr std::uint32_t kPort = 1u << 5;
inline constexpr std::uint32_t kQkey = 1u << 6;
inline constexpr std::uint32_t kPath = 1u << 7;
inline constexpr std::uint32_t kPathMtu = 1u << 8;
inline constexpr std::uint32_t kTimeout = 1u << 9;
inline constexpr std::uint32_t kRetryCount = 1u << 10;
inline constexpr std::uint32_t kRnrRetry = 1u << 11;
inline constexpr std::uint32_t kReceivePsn = 1u << 12;
inline constexpr std::uint32_t kMaxReads = 1u << 13;
inline constexpr std::uint32_t kAlternatePath = 1u << 14;
inline constexpr std::uint32_t kMinRnrTimer = 1u << 15;
inline constexpr std::uint32_t kSendPsn = 1u << 16;
inline constexpr std::uint32_t kMaxPeerReads = 1u << 17;
inline constexpr std::uint32_t kMigration = 1u << 18;
inline constexpr std::uint32_t kCapacity = 1u << 19;
inline constexpr std::uint32_t kRemoteQpn = 1u << 20;
inline constexpr std::uint32_t kRateLimit = 1u << 25;
}  // namespace attr

// The attributes without those that are ignored, as they are of the half that the queue pair has
// not: clients ask the same of both ends of XRC. Of an ib_uverbs_qp_type.
std::uint32_t without_ignored(std::uint32_t type, std::uint32_t mask);

// Whether a modify_qp from one state to the other may have these attributes; of an
// ib_uverbs_qp_type.
bool may_modify(std::uint32_t type, QpState from, QpState to, std::uint32_t mask);

}  // namespace gdakit::softnic::uverbs
