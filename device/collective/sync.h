// Sync: all members of a team meet.
#pragma once

#include "device/collective/session.h"

namespace gdakit::collective {

// Up to so many members everyone tells everyone: one message's time in place of several.
inline constexpr int kLinearSync = 8;

// After round k every member has heard of 2^(k+1) members.
template <class S>
GDAKIT_DEVICE_CALL Status disseminate(S& session) {
  for (int reach = 1; reach < session.n(); reach *= 2) {
    if (Status status = session.signal(session.after_me(reach)); !status) return status;
    if (Status status = session.receive(session.before_me(reach)); !status) return status;
  }
  return {};
}

// Orders nothing that was posted before.
template <class S>
GDAKIT_DEVICE_CALL Status sync(S& session) {
  if (!session.begin()) return session.status();
  const bool linear = session.algorithm() == CollectiveAlgorithm::automatic
                          ? session.n() <= kLinearSync
                          : session.algorithm() == CollectiveAlgorithm::linear;
  if (linear) {
    session.each_peer([&](int peer) { return session.signal(peer); });
    session.each_peer([&](int peer) { return session.receive(peer); });
  } else {
    session.by_one([&] { return disseminate(session); });
  }
  session.agree();
  return session.status();
}

}  // namespace gdakit::collective
