#include "backends/softnic/firmware/counter_sets.h"

#include "core/host/counter_table.h"

namespace gdakit::softnic {
namespace {

// Counters only grow, so that none is less than it was before.
QueueCounters since(const QueueCounters& before, const QueueCounters& now) {
  QueueCounters difference = now;
  for (const CounterRow& row : counter_table()) {
    if (row.of != CounterOf::queue) continue;
    difference.*static_cast<std::uint64_t QueueCounters::*>(row.member) -= value_of(before, row);
  }
  return difference;
}

}  // namespace

Outcome<CounterSet> CounterSets::alloc(Uid uid) {
  const auto number = numbers_.take();
  if (!number) return refusal(CommandSyndrome::mailbox_counter_sets, 0, kMostCounterSets);
  const auto set = static_cast<CounterSet>(*number);
  sets_[set].uid = uid;
  return set;
}

Outcome<> CounterSets::dealloc(CounterSet set, Uid uid) {
  const auto at = sets_.find(set);
  if (at == sets_.end() || at->second.uid != uid) {
    return refusal(CommandSyndrome::mailbox_counter_set_absent, set);
  }
  if (at->second.users != 0) return refusal(CommandSyndrome::mailbox_counter_set_busy, set);
  sets_.erase(at);
  numbers_.give_back(set);
  return {};
}

Outcome<> CounterSets::find(CounterSet set, Uid uid) const {
  const auto at = sets_.find(set);
  if (set == 0 || (at != sets_.end() && at->second.uid == uid)) return {};
  return refusal(CommandSyndrome::mailbox_counter_set_absent, set);
}

void CounterSets::join(CounterSet set, QpNumber qpn, const QueueCounters& counted) {
  leave(qpn, counted);
  if (set == 0) return;
  members_[qpn] = {set, counted};
  ++sets_.at(set).users;
}

void CounterSets::leave(QpNumber qpn, const QueueCounters& counted) {
  const auto member = members_.find(qpn);
  if (member == members_.end()) return;
  Set& set = sets_.at(member->second.set);
  set.gone += since(member->second.before, counted);
  --set.users;
  members_.erase(member);
}

QueueCounters CounterSets::counted(CounterSet set, const Counted& of) const {
  QueueCounters all = sets_.at(set).gone;
  for (const auto& [qpn, member] : members_) {
    if (member.set == set) all += since(member.before, of(qpn));
  }
  return since(sets_.at(set).cleared, all);
}

void CounterSets::clear(CounterSet set, const Counted& of) {
  sets_.at(set).cleared += counted(set, of);
}

}  // namespace gdakit::softnic
