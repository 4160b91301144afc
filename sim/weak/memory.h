// Memory: PTX's scoped weak memory model as a machine that runs.
//
// Every granule of 8 bytes keeps a history of its writes with a partial coherence order
// (history.h). An agent has a clock of what it knows. A load may return any write that is not
// older, in coherence order, than one the agent knows. Releases leave their clock, as a *head*,
// with the writes that follow them; acquires join the heads that came with the writes they read, if
// the scopes of the two include each other's agents.
//
//   agent 0                                     agent 1
//   store x                                     load flag      reads the store below: its head is
//   fence.release.gpu   head {agent 0, gpu,                    pending
//                             clock with x}     fence.acquire.gpu   joins the head's clock: x known
//   store flag          carries the head        load x         cannot be older than the store of x
//
// One agent acts at a time: whoever calls decides who is next, and calls in program order of each
// agent. Everything else that is open is asked of the Chooser.
//
// Source of the rules: PTX ISA, chapter "Memory Consistency Model". What is modelled: scopes block,
// gpu, system; weak, relaxed, acquire, release and acq_rel accesses; acquire, release, acq_rel and
// sc fences; barriers; release and acquire patterns; base causality and observation; atomicity of
// morally strong read-modify-writes; load buffering of accesses that are settled later. fence.sc is
// also acq_rel.
//
// What it cannot show: load buffering of acquires; of strong loads behind an acquire fence or an
// acquire of their place; of read-modify-writes behind an own access to their place or behind
// whatever knows of them; of any load behind an instruction that uses its value, even if what
// follows does not depend on it. tests/litmus/hand has a program for each, not-shown in its
// verdicts.csv. Worlds settle all accesses at once, as nobody knows what a kernel in C++ does with
// a value that is still open, so they show no load buffering. Further: values out of thin air (PTX
// forbids them); proxies (texture, constant, async copies); clusters.
// Accesses of different sizes to the same bytes have no meaning in PTX unless something orders
// them: that is a finding, and each group of bytes then reads for itself. A granule forgets its
// oldest writes beyond MemoryOptions::history.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/assert.h"
#include "sim/choice/choice.h"
#include "sim/choice/subject.h"
#include "sim/weak/accesses.h"
#include "sim/weak/history.h"
#include "sim/weak/pool.h"

namespace gdakit::sim::weak {

// How places and agents are called in findings and traces.
class Names {
 public:
  virtual ~Names() = default;
  virtual std::string place(Address address) const = 0;
  virtual std::string agent(AgentId agent) const = 0;
  virtual PlaceFacts facts(Address) const { return {}; }
};

struct MemoryOptions {
  std::uint32_t history = 16;  // writes that a granule remembers; 2 to 32
  // What an agent may overlook one after the other, so that loops come to their end: so many loads,
  // and so many turns of a wait loop (end_turn) that each had a stale load.
  std::uint32_t max_stale = 64;
  std::uint32_t max_stale_turns = 8;
  bool deferral = true;  // load_later and rmw_later may really be later
  bool find_races = true;
};

// Names an access that may be settled later than its place in the program (load buffering).
struct Later {
  std::uint32_t id = 0;
};

// The clock and the releases that a store carried which does not go to memory: a doorbell on its
// way.
struct Message {
  std::uint32_t id = 0;
};

struct BarrierClock {
  std::vector<std::uint32_t> clock;
  std::vector<std::uint32_t> events;  // of the arrivals, for traces
};

class Memory {
 public:
  // An address space of `bytes` bytes. `names` outlives the memory.
  Memory(std::size_t bytes, const Names& names);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // A new execution: no agents, all bytes zero, no finding. `trace` may be null; its lanes are the
  // caller's, agent n writes to lane n unless set_lane says otherwise.
  void begin(const MemoryOptions& options, Chooser& chooser, Trace* trace);
  // Agents are added before the first access, but for a few latecomers.
  AgentId add_agent(const Place& place);
  void set_lane(AgentId agent, std::uint32_t lane) { agents_[agent].lane = lane; }
  const Place& place_of(AgentId agent) const { return agents_[agent].place; }
  std::size_t agent_count() const { return agent_count_; }

  // What is there at the beginning, for all agents. Before any access to these bytes.
  void initialize(Address to, const void* from, std::size_t bytes);

  // Accesses of 1, 2, 4 or 8 bytes, naturally aligned; values in the lowest bytes.
  std::uint64_t load(AgentId agent, Address from, std::uint32_t size, const Access& access);
  void store(AgentId agent, Address to, std::uint32_t size, std::uint64_t value,
             const Access& access);
  // Returns the old value.
  std::uint64_t rmw(AgentId agent, Address at, std::uint32_t size, const Update& update,
                    const Access& access);
  void fence(AgentId agent, Sem sem, Scope scope, const Site* site = nullptr);

  // The same, settled at the latest by settle(), which returns the value read. What follows in the
  // program may take effect before. Acquires are settled at once.
  Later load_later(AgentId agent, Address from, std::uint32_t size, const Access& access);
  Later rmw_later(AgentId agent, Address at, std::uint32_t size, const Update& update,
                  const Access& access);
  std::uint64_t settle(Later later);
  bool is_settled(Later later) const { return laters_[later.id].settled; }
  // All that is open of this agent, or of every agent.
  void settle_all(AgentId agent);
  void settle_all();

  // Barriers: every agent that arrives adds what it knows to the clock, every agent that leaves
  // knows what is in it.
  void arrive(AgentId agent, BarrierClock& barrier, const char* what = "arrives at a barrier",
              EventKind kind = EventKind::barrier);
  void leave(AgentId agent, const BarrierClock& barrier, const char* what = "leaves a barrier",
             const Site* site = nullptr, EventKind kind = EventKind::barrier);

  // A store that does not go to memory, with the strength of a relaxed store at system scope: what
  // the agent's releases before it cover, its receiver knows.
  Message send(AgentId agent);
  void receive(AgentId agent, Message message);
  // Whether `first` was sent before `then` as far as the sender of `then` knows.
  bool known_before(Message first, Message then) const;
  // Whether a release that reaches `receiver` orders `first` before `then`.
  bool released_before(Message first, Message then, AgentId receiver) const;

  // `to` knows all that `from` knows.
  void join(AgentId to, AgentId from);
  // `agent` knows everything: the end of a kernel, seen by the host.
  void join_all(AgentId agent);

  // A turn of a wait loop has ended: finds weak polls.
  void end_turn(AgentId agent, const Site* site = nullptr);
  // Whether a load of this agent since its last end_turn might have returned something newer.
  bool read_stale(AgentId agent) const { return agents_[agent].stale_turn; }
  // From now on the agent reads the newest values only (true), or as the choices say.
  void set_fresh(AgentId agent, bool fresh) { agents_[agent].fresh = fresh; }
  // Counts writes: polling again makes sense when it has changed.
  std::uint64_t version() const { return order_; }

  // Puts an event of the caller's own into the trace; returns its index, or 0 without a trace.
  std::uint32_t note(Event event);
  bool tracing() const { return trace_ != nullptr; }
  std::uint32_t lane_of(AgentId agent) const { return agents_[agent].lane; }

  // With a trace: what the agent does from now on, until end_call, is part of this call.
  void begin_call(AgentId agent, Event call);
  void end_call(AgentId agent) { agents_[agent].call = kNoCall; }

  // With a trace: whether what event `first` did is known to whoever did event `then`. Both are
  // loads, stores or read-modify-writes.
  bool traced_before(std::uint32_t first, std::uint32_t then) const;
  // Why it is not: a clause.
  std::string why_not_before(std::uint32_t first, std::uint32_t then) const;

  // The first thing that went wrong, kind none if nothing did. Going on is harmless.
  FindingKind finding() const { return finding_; }
  const std::string& finding_text() const { return finding_text_; }
  void find(FindingKind kind, std::string text);

  std::uint64_t accesses() const { return accesses_; }

 private:
  // A release, as it travels with the writes behind it.
  struct Head {
    Clock clock;    // what it covers
    AgentId agent;  // who released
    Scope scope;    // how far it reaches
    std::uint32_t reach_gpu;
    std::uint32_t event;
  };
  // A head that came with a strong read, not acquired yet.
  struct Pending {
    Head head;
    std::uint64_t granule;
    std::uint8_t mask;
  };
  // A release store of the agent's own: its later strong stores to the same place carry it, too.
  struct OwnRelease {
    Head head;
    std::uint64_t granule;
    std::uint8_t mask;
  };
  struct Agent {
    Place place;
    std::uint32_t lane = 0;
    std::uint32_t* clock = nullptr;
    HeadRange fence_heads;  // of its release fences: one for each scope at most
    std::vector<OwnRelease> own_releases;
    std::vector<Pending> pending;
    std::uint32_t open = 0;          // accesses to be settled
    std::uint32_t stale_streak = 0;  // loads
    std::uint32_t stale_turns = 0;
    bool stale_turn = false;
    bool weak_turn = false;    // loaded weakly since its last turn ended
    bool strong_turn = false;  // did anything else
    bool fresh = false;
    std::int32_t call = kNoCall;
  };
  // An access of the trace: what its agent knew.
  struct Traced {
    AgentId agent = kNobody;
    std::uint32_t time = 0;
    Clock clock = nullptr;
  };
  // An access, with the granule's bytes that it means.
  struct Op {
    AgentId agent;
    std::uint64_t granule;
    std::uint8_t mask;
    std::uint32_t shift;  // of the value in the granule, bits
    Access access;
    Clock clock;         // what the agent knew
    std::uint32_t time;  // of the operation
  };
  struct Open {
    Op op;
    Update update;
    HeadRange heads;
    std::uint64_t value = 0;
    bool is_rmw = false;
    bool settled = false;
  };
  // A read that happened while an access to the same granule was open.
  struct LoggedRead {
    std::uint64_t granule;
    AgentId agent;
    Clock clock;
    std::uint32_t slot;
  };
  struct SentMessage {
    AgentId agent;
    std::uint32_t time;
    Clock clock;
    HeadRange heads;
  };
  // The earlier one of two accesses that race.
  struct Rival {
    AgentId agent;
    std::uint8_t mask;
    bool strong;
    bool wrote;
    bool op_writes;  // the later access does
    std::uint32_t event;
    std::uint32_t time;
  };
  // What a read returned.
  struct Seen {
    std::uint64_t value = 0;
    std::uint32_t slot = kNoSlot;  // where parts came from several writes: the newest of these
    Slots newer = 0;               // the writes behind what it returned, for any part
    Slots unknown = 0;             // the writes there that its agent did not know of
  };
  // The writes that touch some bytes, and those of them that an agent knows.
  struct Sight {
    Slots writes;
    Slots known;
  };
  // One side of a pair of accesses.
  struct Party {
    AgentId agent;
    std::uint8_t mask;
    bool strong;
    Scope scope;

    Party(const Op& op)
        : agent(op.agent),
          mask(op.mask),
          strong(is_strong(op.access.sem)),
          scope(op.access.scope) {}
    Party(const Write& write)
        : agent(write.agent), mask(write.mask), strong(write.strong), scope(write.scope) {}
  };
  // Where a new write may go.
  struct Places {
    Slots required;               // come before it
    Slots rivals;                 // must be ordered with it
    std::array<Slots, 32> later;  // each a set of rivals that it may go before
    std::uint32_t count = 0;
  };

  // memory.cc
  void make_clocks();
  void begin_granule(std::uint64_t index);
  Granule& granule_at(std::uint64_t index);
  void grow(Granule& granule);
  Op make_op(AgentId agent, Address at, std::uint32_t size, const Access& access);
  Clock snapshot(Clock clock);
  void join_clock(AgentId agent, Clock clock);

  // heads.cc
  bool reaches(const Head& head, AgentId agent) const;
  bool synchronizes(const Head& head, AgentId agent, Scope scope) const;
  void add_head(std::uint32_t begin, const Head& head);
  HeadRange heads_of_store(const Op& op, HeadRange inherited);
  HeadRange merged_heads(HeadRange own, HeadRange inherited);
  void release_fence(AgentId agent, Scope scope, std::uint32_t event);
  void acquire_pending(AgentId agent, Scope scope, std::vector<std::uint32_t>* follows);
  void acquire_at(const Op& op, std::vector<std::uint32_t>* follows);
  void take_heads(const Op& op, const Write& write);
  void sc_fence(AgentId agent, Scope scope);

  // access.cc
  bool morally_strong(const Party& one, const Party& other) const;
  bool happened(const Write& write, Clock clock) const;
  Slots known(const Granule& granule, Slots among, Clock clock) const;
  Sight sight(const Granule& granule, const Op& op, std::uint8_t mask) const;
  static Slots candidates(const Granule& granule, const Sight& sight);
  std::uint32_t choose_write(const Granule& granule, Slots slots, AgentId agent);
  Seen read_group(Granule& granule, const Op& op, std::uint8_t mask);
  Seen read(Granule& granule, const Op& op);
  void observe(const Op& op, const Sight& sight, Write& write);
  Seen read_for_update(Granule& granule, const Op& op, const Update& update);
  std::uint64_t do_rmw(const Op& op, const Update& update, const HeadRange* own_heads);

  // coherence.cc
  std::uint32_t new_slot(Granule& granule);
  void make_room(Granule& granule);
  void evict(Granule& granule);
  bool may_relate(const Granule& granule, Slots earlier, Slots later, const Op* between) const;
  Slots required_before(const Granule& granule, const Op& op, std::uint32_t read) const;
  Slots unordered_rivals(const Granule& granule, const Op& op, Slots required) const;
  Places find_places(const Granule& granule, const Op& op, std::uint32_t read) const;
  std::uint32_t place(Granule& granule, const Op& op, std::uint64_t value, std::uint32_t read,
                      bool atomic, HeadRange heads);
  Slots rmw_candidates(const Granule& granule, const Op& op, const Sight& sight,
                       const Update& update) const;

  // later.cc
  bool may_defer(Address at, std::uint32_t size, const Access& access);
  Later settled_now(std::uint64_t value);
  Later open_later(const Op& op, const Update& update, bool is_rmw);
  void settle_place(const Op& op);
  void settle_for_acquire(AgentId agent, Scope scope);
  void settle_rmws_known(Clock clock);
  void settle_open(std::uint32_t id);
  std::uint64_t settle_load(const Op& op);
  Slots followers_of(const Granule& granule, const Op& op) const;
  Slots later_candidates(const Granule& granule, const Op& op, const Sight& sight) const;
  bool consistent(const Granule& granule, const Op& op, std::uint32_t slot) const;
  void log_read(const Op& op, std::uint32_t slot);

  // races.cc
  void check_known(const Granule& granule, const Op& op, Slots unknown, bool op_writes,
                   std::uint32_t event);
  void check_write(const Granule& granule, const Op& op, std::uint32_t event);
  void record_read(Granule& granule, const Op& op, std::uint32_t event);
  void report_race(const Op& op, const Rival& rival, std::uint32_t event);

  // trace.cc
  static void put_site(Event& event, const Site* site);
  std::uint32_t trace_access(const Op& op, EventKind kind, std::uint64_t value, std::uint64_t old,
                             const Seen& seen, std::int32_t reads_from);
  void trace_fence(AgentId agent, Sem sem, Scope scope, const Site* site,
                   std::vector<std::uint32_t> follows);
  void explain_stale(const Granule& granule, const Op& op, Slots newer, std::uint32_t event);
  std::string missing_order(AgentId writer, std::uint32_t time, AgentId reader) const;

  const Names& names_;
  MemoryOptions options_;
  Chooser* chooser_ = nullptr;
  Trace* trace_ = nullptr;
  std::vector<Traced> traced_;  // by event

  std::vector<Granule> granules_;
  std::vector<std::uint64_t> initial_;          // values at the beginning
  std::vector<std::uint64_t> initial_touched_;  // which of them are not zero
  std::uint64_t epoch_ = 0;

  Pool pool_;
  std::vector<Agent> agents_;  // the first agent_count_ are in use
  std::size_t agent_count_ = 0;
  std::size_t stride_ = 0;  // of clocks; 0 until the first is made
  std::vector<Head> heads_;
  std::vector<SentMessage> messages_;
  std::vector<Open> laters_;
  std::uint32_t open_count_ = 0;
  std::uint32_t open_rmws_ = 0;
  std::vector<LoggedRead> logged_;

  struct ScClock {
    Scope scope;
    std::uint32_t number;  // of the block or GPU
    std::uint32_t* clock;
  };
  std::vector<ScClock> sc_clocks_;

  std::uint32_t order_ = 0;
  std::uint64_t accesses_ = 0;
  FindingKind finding_ = FindingKind::none;
  std::string finding_text_;
};

// Every access comes past these two, from several files.
inline Granule& Memory::granule_at(std::uint64_t index) {
  GDAKIT_ASSERT(index < granules_.size());
  if (granules_[index].epoch != epoch_) begin_granule(index);
  return granules_[index];
}

inline Memory::Op Memory::make_op(AgentId agent, Address at, std::uint32_t size,
                                  const Access& access) {
  GDAKIT_ASSERT(agent < agent_count_ && size <= 8 && at % size == 0);
  if (stride_ == 0) make_clocks();
  ++accesses_;
  std::uint32_t* const clock = agents_[agent].clock;
  const auto offset = static_cast<std::uint32_t>(at % 8);
  const auto mask = static_cast<std::uint8_t>(((1u << size) - 1) << offset);
  return {agent, at / 8, mask, offset * 8, access, clock, ++clock[agent]};
}

}  // namespace gdakit::sim::weak
