// Sync: all members of a team meet.
#pragma once

#include "device/collective/direct_sync.h"

namespace gdakit::collective {

// After round k every member has heard of 2^(k+1) members.
template <class S>
GDAKIT_DEVICE_CALL Status disseminate(S& session, bool ordered) {
  for (int reach = 1; reach < session.n(); reach *= 2) {
    const bool first = reach == 1;  // later ones tell of what was received, too
    if (Status status = session.signal(session.after_me(reach), ordered && first); !status) {
      return status;
    }
    if (Status status = session.receive(session.before_me(reach)); !status) return status;
  }
  return {};
}

// Orders nothing that was posted before. `ordered`: the group comes from quiet, which has ordered
// what its threads stored.
template <class S>
GDAKIT_DEVICE_CALL Status sync(S& session, bool ordered) {
  if (!session.begin()) return session.status();
  if (is_linear_sync(session.algorithm(), session.n())) {
    session.each_peer([&](int peer) { return session.signal(peer, ordered); });
    session.each_peer([&](int peer) { return session.receive(peer); });
  } else {
    session.by_one([&] { return disseminate(session, ordered); });
  }
  session.agree();
  return session.status();
}

}  // namespace gdakit::collective
