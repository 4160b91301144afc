#include "sim/litmus/barriers.h"

#include <algorithm>

namespace gdakit::sim::litmus {

void Barriers::begin() {
  arrivals_.clear();
  meeting_count_ = 0;
}

std::uint32_t Barriers::count(std::uint32_t thread, std::uint32_t group, std::int64_t name) const {
  return static_cast<std::uint32_t>(
      std::count_if(arrivals_.begin(), arrivals_.end(), [&](const Arrival& arrival) {
        return arrival.thread == thread && arrival.group == group && arrival.name == name;
      }));
}

bool Barriers::has_passed(const BarrierGroup::Member& member) const {
  return std::any_of(arrivals_.begin(), arrivals_.end(), [&](const Arrival& arrival) {
    return arrival.thread == member.thread && arrival.at == member.instruction;
  });
}

Barriers::Ticket Barriers::arrive(std::uint32_t thread, std::uint32_t at, std::int64_t name,
                                  weak::Memory& memory) {
  const std::uint32_t group = shape_.group_of(thread, at);
  arrivals_.push_back({thread, at, group, name});
  const std::uint32_t round = count(thread, group, name);
  std::size_t i = 0;
  while (i < meeting_count_ && (meetings_[i].group != group || meetings_[i].name != name ||
                                meetings_[i].round != round)) {
    ++i;
  }
  if (i == meetings_.size()) meetings_.emplace_back();
  Meeting& meeting = meetings_[i];
  if (i == meeting_count_) {
    ++meeting_count_;
    meeting.group = group;
    meeting.name = name;
    meeting.round = round;
    meeting.clock.clock.clear();
    meeting.clock.events.clear();
  }
  memory.arrive(static_cast<weak::AgentId>(thread), meeting.clock);
  return {group, name, round, static_cast<std::uint32_t>(i)};
}

bool Barriers::may_leave(std::uint32_t thread, const Ticket& ticket) const {
  for (const BarrierGroup::Member& member : shape_.groups()[ticket.group].members) {
    if (member.thread == thread) continue;
    const Instruction& barrier = program_.threads[member.thread].code[member.instruction];
    const bool fixed = !barrier.named || !barrier.left.is_register;
    if (fixed && barrier.named && barrier.left.value != ticket.name) continue;
    if (count(member.thread, ticket.group, ticket.name) >= ticket.round) continue;
    if (fixed || !has_passed(member)) return false;
  }
  return true;
}

}  // namespace gdakit::sim::litmus
