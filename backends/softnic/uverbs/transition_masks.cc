#include "backends/softnic/uverbs/transition_masks.h"

#include <algorithm>
#include <array>
#include <rdma/ib_user_ioctl_verbs.h>

#include "backends/softnic/uverbs/objects.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace attr;

struct Row {
  QpState from = QpState::reset;
  QpState to = QpState::reset;
  std::uint32_t required = 0;
  std::uint32_t optional = 0;
};

constexpr std::uint32_t kMore = kCurrentState | kAlternatePath | kAccess | kMigration;

constexpr std::array kReliable = {
    Row{QpState::reset, QpState::init, kPkeyIndex | kPort | kAccess},
    Row{QpState::init, QpState::init, 0, kPkeyIndex | kPort | kAccess},
    Row{QpState::init, QpState::rtr,
        kPath | kPathMtu | kRemoteQpn | kReceivePsn | kMaxPeerReads | kMinRnrTimer,
        kAlternatePath | kAccess | kPkeyIndex},
    Row{QpState::rtr, QpState::rts, kTimeout | kRetryCount | kRnrRetry | kSendPsn | kMaxReads,
        kMore | kMinRnrTimer | kRateLimit},
    Row{QpState::rts, QpState::rts, 0, kMore | kMinRnrTimer | kRateLimit},
    Row{QpState::rts, QpState::sqd, 0, kSqdNotify},
    Row{QpState::sqd, QpState::rts, 0, kMore | kMinRnrTimer},
    Row{QpState::sqd, QpState::sqd, 0,
        kPort | kPath | kTimeout | kRetryCount | kRnrRetry | kMaxReads | kMaxPeerReads |
            kAlternatePath | kAccess | kPkeyIndex | kMinRnrTimer | kMigration},
};

// Of XRC each end has what its half of a connection needs.
constexpr std::array kXrcInitiator = {
    Row{QpState::reset, QpState::init, kPkeyIndex | kPort | kAccess},
    Row{QpState::init, QpState::init, 0, kPkeyIndex | kPort | kAccess},
    Row{QpState::init, QpState::rtr, kPath | kPathMtu | kRemoteQpn | kReceivePsn,
        kAlternatePath | kAccess | kPkeyIndex},
    Row{QpState::rtr, QpState::rts, kTimeout | kRetryCount | kRnrRetry | kSendPsn | kMaxReads,
        kMore | kRateLimit},
    Row{QpState::rts, QpState::rts, 0, kMore | kRateLimit},
    Row{QpState::rts, QpState::sqd, 0, kSqdNotify},
    Row{QpState::sqd, QpState::rts, 0, kMore},
    Row{QpState::sqd, QpState::sqd, 0,
        kPort | kPath | kTimeout | kRetryCount | kRnrRetry | kMaxReads | kAlternatePath | kAccess |
            kPkeyIndex | kMigration},
};

constexpr std::array kXrcTarget = {
    Row{QpState::reset, QpState::init, kPkeyIndex | kPort | kAccess},
    Row{QpState::init, QpState::init, 0, kPkeyIndex | kPort | kAccess},
    Row{QpState::init, QpState::rtr,
        kPath | kPathMtu | kRemoteQpn | kReceivePsn | kMaxPeerReads | kMinRnrTimer,
        kAlternatePath | kAccess | kPkeyIndex},
    Row{QpState::rtr, QpState::rts, kTimeout | kSendPsn, kMore | kMinRnrTimer | kRateLimit},
    Row{QpState::rts, QpState::rts, 0, kMore | kMinRnrTimer | kRateLimit},
    Row{QpState::rts, QpState::sqd, 0, kSqdNotify},
    Row{QpState::sqd, QpState::rts, 0, kMore | kMinRnrTimer},
    Row{QpState::sqd, QpState::sqd, 0,
        kPort | kPath | kTimeout | kMaxPeerReads | kAlternatePath | kAccess | kPkeyIndex |
            kMinRnrTimer | kMigration},
};

constexpr std::array kUnreliable = {
    Row{QpState::reset, QpState::init, kPkeyIndex | kPort | kAccess},
    Row{QpState::init, QpState::init, 0, kPkeyIndex | kPort | kAccess},
    Row{QpState::init, QpState::rtr, kPath | kPathMtu | kRemoteQpn | kReceivePsn,
        kAlternatePath | kAccess | kPkeyIndex},
    Row{QpState::rtr, QpState::rts, kSendPsn, kMore},
    Row{QpState::rts, QpState::rts, 0, kMore},
    Row{QpState::rts, QpState::sqd, 0, kSqdNotify},
    Row{QpState::sqd, QpState::rts, 0, kMore},
    Row{QpState::sqd, QpState::sqd, 0, kPath | kAlternatePath | kAccess | kPkeyIndex | kMigration},
    Row{QpState::sqer, QpState::rts, 0, kCurrentState | kAccess},
};

constexpr std::array kDatagram = {
    Row{QpState::reset, QpState::init, kPkeyIndex | kPort | kQkey},
    Row{QpState::init, QpState::init, 0, kPkeyIndex | kPort | kQkey},
    Row{QpState::init, QpState::rtr, 0, kPkeyIndex | kQkey},
    Row{QpState::rtr, QpState::rts, kSendPsn, kCurrentState | kQkey},
    Row{QpState::rts, QpState::rts, 0, kCurrentState | kQkey},
    Row{QpState::rts, QpState::sqd, 0, kSqdNotify},
    Row{QpState::sqd, QpState::rts, 0, kCurrentState | kQkey},
    Row{QpState::sqd, QpState::sqd, 0, kPkeyIndex | kQkey},
    Row{QpState::sqer, QpState::rts, 0, kCurrentState | kQkey},
};

// As the kernel's driver has them.
constexpr std::array kDcInitiator = {
    Row{QpState::reset, QpState::init, kPkeyIndex | kPort},
    Row{QpState::init, QpState::init, 0, kPkeyIndex | kPort},
    Row{QpState::init, QpState::rtr, kPathMtu, kPkeyIndex | kPath},
    Row{QpState::rtr, QpState::rts, kTimeout | kRetryCount | kRnrRetry | kSendPsn | kMaxReads,
        kMinRnrTimer},
    Row{QpState::rts, QpState::rts, 0, kMinRnrTimer},
};

constexpr std::array kDcTarget = {
    Row{QpState::reset, QpState::init, kPkeyIndex | kPort | kAccess},
    Row{QpState::init, QpState::rtr, kPath | kPathMtu | kMinRnrTimer},
};

template <class Rows>
bool allows(const Rows& rows, QpState from, QpState to, std::uint32_t mask) {
  const auto row = std::find_if(rows.begin(), rows.end(), [from, to](const Row& one) {
    return one.from == from && one.to == to;
  });
  if (row == rows.end()) return false;
  return (mask & row->required) == row->required &&
         (mask & ~(row->required | row->optional | kState)) == 0;
}

}  // namespace

std::uint32_t without_ignored(std::uint32_t type, std::uint32_t mask) {
  switch (type) {
    case IB_UVERBS_QPT_XRC_INI: return mask & ~(kMaxPeerReads | kMinRnrTimer);
    case IB_UVERBS_QPT_XRC_TGT: return mask & ~(kMaxReads | kRetryCount | kRnrRetry);
    default: return mask;
  }
}

bool may_modify(std::uint32_t type, QpState from, QpState to, std::uint32_t mask) {
  if (type == kDctType) return allows(kDcTarget, from, to, mask);
  if (from == QpState::reset && to == QpState::err) return false;
  if (to == QpState::reset || to == QpState::err) return (mask & ~kState) == 0;
  switch (type) {
    case IB_UVERBS_QPT_UC: return allows(kUnreliable, from, to, mask);
    case IB_UVERBS_QPT_UD: return allows(kDatagram, from, to, mask);
    case IB_UVERBS_QPT_XRC_INI: return allows(kXrcInitiator, from, to, mask);
    case IB_UVERBS_QPT_XRC_TGT: return allows(kXrcTarget, from, to, mask);
    case kDciType: return allows(kDcInitiator, from, to, mask);
    default: return allows(kReliable, from, to, mask);
  }
}

}  // namespace gdakit::softnic::uverbs
