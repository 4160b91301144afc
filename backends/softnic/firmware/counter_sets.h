// Sets of counters in which queue pairs count together (Q counters): what each has counted since it
// joined, until it leaves or is gone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/objects/kinds.h"
#include "backends/softnic/objects/number_space.h"
#include "backends/softnic/objects/status.h"
#include "core/host/counters.h"

namespace gdakit::softnic {

using CounterSet = std::uint8_t;  // 0: none

inline constexpr std::uint32_t kMostCounterSets = 255;

class CounterSets {
 public:
  // What a queue pair has counted since it was created.
  using Counted = std::function<QueueCounters(QpNumber qpn)>;

  Outcome<CounterSet> alloc(Uid uid);
  // Refused: a queue pair counts in it.
  Outcome<> dealloc(CounterSet set, Uid uid);
  // Whether it is there; 0 is.
  Outcome<> find(CounterSet set, Uid uid) const;

  // Queue pairs count in one set at most, from now on.
  void join(CounterSet set, QpNumber qpn, const QueueCounters& counted);
  void leave(QpNumber qpn, const QueueCounters& counted);

  // Of a set that is there: what has come since it was cleared last.
  QueueCounters counted(CounterSet set, const Counted& of) const;
  void clear(CounterSet set, const Counted& of);

 private:
  struct Set {
    Uid uid = kNicUid;
    std::uint32_t users = 0;
    QueueCounters gone;     // of those that have left
    QueueCounters cleared;  // does not count any more
  };
  struct Member {
    CounterSet set = 0;
    QueueCounters before;  // it joined
  };

  NumberSpace numbers_{1, kMostCounterSets + 1, 0};
  std::map<CounterSet, Set> sets_;
  std::map<QpNumber, Member> members_;
};

}  // namespace gdakit::softnic
