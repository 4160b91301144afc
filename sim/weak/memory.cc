// Executions, agents, clocks, barriers and messages.
#include "sim/weak/memory.h"

#include <algorithm>
#include <cstring>

#include "core/base/assert.h"

namespace gdakit::sim::weak {
namespace {

constexpr std::size_t kLatecomers = 2;
constexpr std::uint16_t kFirstWrites = 4;

}  // namespace

Memory::Memory(std::size_t bytes, const Names& names)
    : names_(names), granules_((bytes + 7) / 8), initial_(granules_.size()) {}

void Memory::begin(const MemoryOptions& options, Chooser& chooser, Trace* trace) {
  GDAKIT_ASSERT(options.history >= 2 && options.history <= kMaxSlots);
  options_ = options;
  chooser_ = &chooser;
  trace_ = trace;
  for (const std::uint64_t index : initial_touched_) initial_[index] = 0;
  initial_touched_.clear();
  ++epoch_;
  pool_.clear();
  heads_.clear();
  messages_.clear();
  laters_.clear();
  logged_.clear();
  sc_clocks_.clear();
  agent_count_ = stride_ = 0;
  open_count_ = open_rmws_ = 0;
  order_ = 0;
  accesses_ = 0;
  finding_ = FindingKind::none;
  finding_text_.clear();
  traced_.clear();
}

AgentId Memory::add_agent(const Place& place) {
  GDAKIT_ASSERT(stride_ == 0 || agent_count_ < stride_);
  if (agent_count_ == agents_.size()) agents_.emplace_back();
  Agent& agent = agents_[agent_count_];
  agent.place = place;
  agent.lane = static_cast<std::uint32_t>(agent_count_);
  agent.clock = nullptr;
  agent.fence_heads = {};
  agent.own_releases.clear();
  agent.pending.clear();
  agent.open = agent.stale_streak = agent.stale_turns = 0;
  agent.call = kNoCall;
  agent.stale_turn = agent.weak_turn = agent.strong_turn = agent.fresh = false;
  if (stride_ != 0) {
    agent.clock = pool_.take<std::uint32_t>(stride_);
    std::fill_n(agent.clock, stride_, 0u);
  }
  return static_cast<AgentId>(agent_count_++);
}

void Memory::initialize(Address to, const void* from, std::size_t bytes) {
  const auto* source = static_cast<const unsigned char*>(from);
  for (std::size_t i = 0; i < bytes; ++i) {
    const std::uint64_t index = (to + i) / 8;
    const std::uint64_t shift = (to + i) % 8 * 8;
    GDAKIT_ASSERT(index < granules_.size() && granules_[index].epoch != epoch_);
    if (initial_[index] == 0) initial_touched_.push_back(index);
    initial_[index] &= ~(std::uint64_t{0xff} << shift);
    initial_[index] |= std::uint64_t{source[i]} << shift;
  }
}

void Memory::begin_granule(std::uint64_t index) {
  Granule& granule = granules_[index];
  granule = Granule{};
  granule.epoch = epoch_;
  granule.capacity = kFirstWrites;
  granule.writes = pool_.take<Write>(kFirstWrites);
  granule.live = slot_bit(0);
  new (&granule.writes[0]) Write{.value = initial_[index]};
}

void Memory::grow(Granule& granule) {
  const auto capacity = static_cast<std::uint16_t>(granule.capacity * 2);
  Write* const writes = pool_.take<Write>(capacity);
  std::memcpy(static_cast<void*>(writes), granule.writes, granule.capacity * sizeof(Write));
  granule.writes = writes;
  granule.capacity = capacity;
}

void Memory::make_clocks() {
  stride_ = (agent_count_ + kLatecomers + 3) / 4 * 4;
  for (std::size_t i = 0; i < agent_count_; ++i) {
    agents_[i].clock = pool_.take<std::uint32_t>(stride_);
    std::fill_n(agents_[i].clock, stride_, 0u);
  }
}

Clock Memory::snapshot(Clock clock) {
  std::uint32_t* const copy = pool_.take<std::uint32_t>(stride_);
  std::memcpy(copy, clock, stride_ * sizeof(*copy));
  return copy;
}

void Memory::join_clock(AgentId agent, Clock clock) {
  if (open_rmws_ != 0) settle_rmws_known(clock);
  std::uint32_t* const own = agents_[agent].clock;
  for (std::size_t i = 0; i < stride_; ++i) own[i] = std::max(own[i], clock[i]);
}

void Memory::arrive(AgentId agent, BarrierClock& barrier, const char* what, EventKind kind) {
  const Op op = make_op(agent, 0, 1, {});
  if (barrier.clock.size() < stride_) barrier.clock.resize(stride_);
  for (std::size_t i = 0; i < stride_; ++i) {
    barrier.clock[i] = std::max(barrier.clock[i], op.clock[i]);
  }
  if (trace_ == nullptr) return;
  barrier.events.push_back(
      note({.lane = agents_[agent].lane, .kind = kind, .what = what, .call = agents_[agent].call}));
}

void Memory::leave(AgentId agent, const BarrierClock& barrier, const char* what, const Site* site,
                   EventKind kind) {
  make_op(agent, 0, 1, {});
  GDAKIT_ASSERT(barrier.clock.size() == stride_);
  join_clock(agent, barrier.clock.data());
  agents_[agent].strong_turn = true;
  if (trace_ == nullptr) return;
  Event event{.lane = agents_[agent].lane, .kind = kind, .what = what, .call = agents_[agent].call};
  put_site(event, site);
  event.follows = barrier.events;
  note(std::move(event));
}

Message Memory::send(AgentId agent) {
  const Op op = make_op(agent, 0, 1, {.sem = Sem::relaxed});
  messages_.push_back({agent, op.time, snapshot(agents_[agent].clock), agents_[agent].fence_heads});
  return {static_cast<std::uint32_t>(messages_.size() - 1)};
}

void Memory::receive(AgentId agent, Message message) {
  make_op(agent, 0, 1, {.sem = Sem::relaxed});
  const HeadRange heads = messages_[message.id].heads;
  for (std::uint32_t i = 0; i < heads.count; ++i) {
    const Head head = heads_[heads.begin + i];
    if (synchronizes(head, agent, Scope::system)) join_clock(agent, head.clock);
  }
}

bool Memory::known_before(Message first, Message then) const {
  const SentMessage& sent = messages_[first.id];
  return messages_[then.id].clock[sent.agent] >= sent.time;
}

bool Memory::released_before(Message first, Message then, AgentId receiver) const {
  const SentMessage& sent = messages_[first.id];
  const HeadRange heads = messages_[then.id].heads;
  for (std::uint32_t i = 0; i < heads.count; ++i) {
    const Head& head = heads_[heads.begin + i];
    if (synchronizes(head, receiver, Scope::system) && head.clock[sent.agent] >= sent.time) {
      return true;
    }
  }
  return false;
}

void Memory::join(AgentId to, AgentId from) {
  make_op(from, 0, 1, {});
  make_op(to, 0, 1, {});
  join_clock(to, agents_[from].clock);
}

void Memory::join_all(AgentId agent) {
  settle_all();
  for (std::size_t i = 0; i < agent_count_; ++i) {
    if (i != agent) join(agent, static_cast<AgentId>(i));
  }
}

void Memory::end_turn(AgentId agent, const Site* site) {
  Agent& self = agents_[agent];
  if (self.weak_turn && !self.strong_turn) {
    find(FindingKind::weak_poll,
         names_.agent(agent) + " waits by weak loads alone" +
             (site != nullptr && site->line != 0
                  ? " (" + std::string(site->file) + ":" + std::to_string(site->line) + ")"
                  : "") +
             ": a compiler may load once and never again; poll with a relaxed "
             "or acquire load");
  }
  self.stale_turns = self.stale_turn ? self.stale_turns + 1 : 0;
  self.weak_turn = self.strong_turn = self.stale_turn = false;
}

void Memory::find(FindingKind kind, std::string text) {
  if (finding_ != FindingKind::none) return;
  finding_ = kind;
  finding_text_ = std::move(text);
}

}  // namespace gdakit::sim::weak
