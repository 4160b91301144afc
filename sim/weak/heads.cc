// Releases and acquires: heads that travel with writes, and who may take them up.
#include <algorithm>

#include "sim/weak/memory.h"

namespace gdakit::sim::weak {

bool Memory::reaches(const Head& head, AgentId agent) const {
  const Place& place = agents_[agent].place;
  if (head.reach_gpu != kAnyGpu && head.reach_gpu != place.gpu) return false;
  return includes(agents_[head.agent].place, head.scope, place);
}

// Whether the release and an acquire by `agent` at `scope` are morally strong.
bool Memory::synchronizes(const Head& head, AgentId agent, Scope scope) const {
  if (head.agent == agent) return true;
  return reaches(head, agent) && includes(agents_[agent].place, scope, agents_[head.agent].place);
}

// Adds a head to the list that begins at `begin` and ends where heads_ ends. Of one agent and scope
// only the newest is kept: it covers the older ones.
void Memory::add_head(std::uint32_t begin, const Head& head) {
  for (std::size_t i = begin; i < heads_.size(); ++i) {
    Head& other = heads_[i];
    const bool same =
        other.agent == head.agent && other.scope == head.scope && other.reach_gpu == head.reach_gpu;
    if (!same) continue;
    if (other.clock[head.agent] < head.clock[head.agent]) other = head;
    return;
  }
  heads_.push_back(head);
}

// What a strong store of `op` carries: the agent's release fences and its own releases at the same
// place, itself if it releases, and what a read-modify-write inherits.
HeadRange Memory::heads_of_store(const Op& op, HeadRange inherited) {
  Agent& self = agents_[op.agent];
  if (!is_strong(op.access.sem)) return {};
  const bool own = releases(op.access.sem);
  if (!own && inherited.count == 0 && self.own_releases.empty()) return self.fence_heads;
  const auto begin = static_cast<std::uint32_t>(heads_.size());
  const auto add_range = [&](HeadRange range) {
    for (std::uint32_t i = 0; i < range.count; ++i) {
      const Head head = heads_[range.begin + i];
      add_head(begin, head);
    }
  };
  add_range(inherited);
  add_range(self.fence_heads);
  for (const OwnRelease& release : self.own_releases) {
    if (release.granule == op.granule && release.mask == op.mask) add_head(begin, release.head);
  }
  if (own) {
    const Head head{snapshot(agents_[op.agent].clock), op.agent, op.access.scope,
                    op.access.reach_gpu,
                    trace_ != nullptr ? static_cast<std::uint32_t>(trace_->events.size()) : 0};
    add_head(begin, head);
    const auto same = std::find_if(
        self.own_releases.begin(), self.own_releases.end(), [&](const OwnRelease& release) {
          return release.granule == op.granule && release.mask == op.mask &&
                 release.head.scope == head.scope && release.head.reach_gpu == head.reach_gpu;
        });
    if (same != self.own_releases.end()) {
      same->head = head;
    } else {
      self.own_releases.push_back({head, op.granule, op.mask});
    }
  }
  return {begin, static_cast<std::uint32_t>(heads_.size()) - begin};
}

HeadRange Memory::merged_heads(HeadRange own, HeadRange inherited) {
  const auto begin = static_cast<std::uint32_t>(heads_.size());
  for (const HeadRange range : {own, inherited}) {
    for (std::uint32_t i = 0; i < range.count; ++i) {
      const Head head = heads_[range.begin + i];
      add_head(begin, head);
    }
  }
  return {begin, static_cast<std::uint32_t>(heads_.size()) - begin};
}

void Memory::release_fence(AgentId agent, Scope scope, std::uint32_t event) {
  Agent& self = agents_[agent];
  const auto begin = static_cast<std::uint32_t>(heads_.size());
  // An older fence of a narrower scope covers less and reaches less far.
  for (std::uint32_t i = 0; i < self.fence_heads.count; ++i) {
    const Head head = heads_[self.fence_heads.begin + i];
    if (head.scope > scope) heads_.push_back(head);
  }
  heads_.push_back({snapshot(agents_[agent].clock), agent, scope, kAnyGpu, event});
  self.fence_heads = {begin, static_cast<std::uint32_t>(heads_.size()) - begin};
}

// An acquire fence takes up every pending head that it is morally strong with.
void Memory::acquire_pending(AgentId agent, Scope scope, std::vector<std::uint32_t>* follows) {
  std::vector<Pending>& pending = agents_[agent].pending;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < pending.size(); ++i) {
    const Pending one = pending[i];
    if (!synchronizes(one.head, agent, scope)) {
      pending[kept++] = one;
      continue;
    }
    join_clock(agent, one.head.clock);
    if (follows != nullptr) follows->push_back(one.head.event);
  }
  pending.resize(kept);
}

// An acquire access takes up what was read at its own place, by itself or before.
void Memory::acquire_at(const Op& op, std::vector<std::uint32_t>* follows) {
  std::vector<Pending>& pending = agents_[op.agent].pending;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < pending.size(); ++i) {
    const Pending one = pending[i];
    const bool here = one.granule == op.granule && one.mask == op.mask;
    if (!here || !synchronizes(one.head, op.agent, op.access.scope)) {
      pending[kept++] = one;
      continue;
    }
    join_clock(op.agent, one.head.clock);
    if (follows != nullptr) follows->push_back(one.head.event);
  }
  pending.resize(kept);
}

// A strong read that observed `write` holds its heads until an acquire.
void Memory::take_heads(const Op& op, const Write& write) {
  if (!is_strong(op.access.sem) || op.access.no_result || !morally_strong(op, write)) return;
  const auto covers = [this](Clock known, Clock wanted) {
    for (std::size_t i = 0; i < stride_; ++i) {
      if (known[i] < wanted[i]) return false;
    }
    return true;
  };
  std::vector<Pending>& pending = agents_[op.agent].pending;
  for (std::uint32_t i = 0; i < write.heads.count; ++i) {
    const Head head = heads_[write.heads.begin + i];
    if (head.agent == op.agent || covers(op.clock, head.clock)) continue;
    const auto same = std::find_if(pending.begin(), pending.end(), [&](const Pending& one) {
      return one.granule == op.granule && one.mask == op.mask && one.head.agent == head.agent &&
             one.head.scope == head.scope && one.head.reach_gpu == head.reach_gpu;
    });
    if (same == pending.end()) {
      pending.push_back({head, op.granule, op.mask});
    } else if (same->head.clock[head.agent] < head.clock[head.agent]) {
      same->head = head;
    }
  }
}

// fence.sc: all of them that are morally strong stand in one order. Every scope's group keeps what
// its fences knew; a fence takes that from the groups it belongs to and gives its own.
void Memory::sc_fence(AgentId agent, Scope scope) {
  const Place& place = agents_[agent].place;
  for (const Scope group : {Scope::block, Scope::gpu, Scope::system}) {
    if (group > scope) break;
    const std::uint32_t number =
        group == Scope::block ? place.block : (group == Scope::gpu ? place.gpu : 0);
    auto found = std::find_if(sc_clocks_.begin(), sc_clocks_.end(), [&](const ScClock& one) {
      return one.scope == group && one.number == number;
    });
    if (found == sc_clocks_.end()) {
      std::uint32_t* const clock = pool_.take<std::uint32_t>(stride_);
      std::fill_n(clock, stride_, 0u);
      found = sc_clocks_.insert(sc_clocks_.end(), {group, number, clock});
    }
    join_clock(agent, found->clock);
  }
  for (ScClock& one : sc_clocks_) {
    const std::uint32_t number =
        one.scope == Scope::block ? place.block : (one.scope == Scope::gpu ? place.gpu : 0);
    if (one.scope > scope || one.number != number) continue;
    for (std::size_t i = 0; i < stride_; ++i) {
      one.clock[i] = std::max(one.clock[i], agents_[agent].clock[i]);
    }
  }
}

}  // namespace gdakit::sim::weak
