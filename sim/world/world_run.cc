#include "sim/world/world_run.h"

#include "core/base/assert.h"
#include "core/base/bits.h"
#include "device/publication.h"
#include "sim/world/must.h"

namespace gdakit::sim {
namespace {

// Numbers of what stands apart from all blocks and GPUs.
constexpr std::uint32_t kApart = 1u << 16;

std::string pe_name(std::uint32_t pe) { return "PE " + std::to_string(pe); }

// A WQEBB's ready bit counts its laps.
std::uint64_t ready_word(std::uint64_t start, std::uint32_t depth, std::uint32_t word) {
  std::uint64_t bits = 0;
  for (std::uint32_t bit = 0; bit < kSlotsPerReadyWord; ++bit) {
    const std::uint64_t slot = std::uint64_t{word} * kSlotsPerReadyWord + bit;
    const std::uint64_t laps = start > slot ? (start - slot - 1) / depth + 1 : 0;
    bits |= (laps & 1) << bit;
  }
  const ReadyPlace first = ready_place(depth, start);
  return first.word == word ? bits | first.mark() : bits;
}

}  // namespace

WorldRun::WorldRun(World& of, Chooser& choices, Trace* to)
    : world(of),
      chooser(choices),
      trace(to),
      knobs(draw(chooser, of.options_.base, of.options_.knobs)),
      fabric(of.memory_, chooser, knobs),
      addresses(of.options_.nics * of.options_.pes),
      execution(of.memory_, of.stacks_, chooser),
      around{of.memory_, execution, of.sites_, of.space_, of.layout_, *this} {
  of.sites_.set_nic_scope(nic_scope(knobs, of.layout_));
  if (trace != nullptr) {
    trace->scenario = of.name_;
    trace->knobs = describe(knobs, of.options_.base);
  }
  add_threads();
  add_nics();
  add_host();
  for (std::uint32_t pe = 0; pe < of.options_.pes; ++pe) make_queues(pe);
  for (std::uint32_t pe = 0; pe < of.options_.pes; ++pe) {
    connect(pe);
    make_context(pe);
    initialize(pe);
  }
  // The NICs look at every record once when their queues come up.
  if (of.options_.nics_wake_ns == 0) {
    for (NicAgent& nic : nics) nic.run_plainly(0);
  }
}

std::uint32_t WorldRun::add_lane(std::string name, std::string group) {
  lane_names_.push_back(name);
  if (trace != nullptr) trace->lanes.push_back({std::move(name), std::move(group)});
  return static_cast<std::uint32_t>(lane_names_.size() - 1);
}

void WorldRun::add_threads() {
  for (std::uint32_t pe = 0; pe < world.options_.pes; ++pe) pes.emplace_back();
  for (const World::Launch& launch : world.launches_) {
    for (std::uint32_t index = 0; index < launch.shape.blocks; ++index) {
      SimBlock& block = blocks.emplace_back();
      const std::uint32_t place = places_++;
      for (std::uint32_t i = 0; i < launch.shape.threads; ++i) {
        SimThread& thread = block.threads.emplace_back();
        thread.shape = launch.shape;
        thread.block_index = index;
        thread.thread_index = i;
        thread.pe = launch.pe;
        thread.home = &block;
        thread.main = &launch.main;
        thread.around = &around;
        thread.context = &pes[launch.pe].context;
        thread.agent = world.memory_.add_agent({place, launch.pe, false});
        const std::uint32_t lane = add_lane(
            pe_name(launch.pe) + " block " + std::to_string(index) + " thread " + std::to_string(i),
            pe_name(launch.pe));
        world.memory_.set_lane(thread.agent, lane);
        agent_names_.push_back(lane_names_[lane]);
      }
      execution.add_block(block);
    }
  }
}

void WorldRun::add_nics() {
  for (std::uint32_t nic = 0; nic < world.options_.nics; ++nic) {
    for (std::uint32_t pe = 0; pe < world.options_.pes; ++pe) add_nic(pe, nic);
  }
}

void WorldRun::add_nic(std::uint32_t pe, std::uint32_t nic) {
  const std::string name = pe_name(pe) + " NIC" + (nic == 0 ? "" : " " + std::to_string(nic));
  PortPlace place;
  place.pe = pe;
  place.endpoint = number_of_nic(pe, nic);
  place.alone = world.options_.nics == 1;
  place.nic = nic_place(knobs, world.layout_, pe, kApart + places_++);
  place.owner_gpu = pe;
  place.lane = add_lane(name, pe_name(pe));
  nics.emplace_back(world.memory_, chooser, knobs, world.space_, world.layout_, fabric, place,
                    &addresses);
  agent_names_.resize(world.memory_.agent_count(), name);
  execution.add_actor(nic_actors.emplace_back(nics.back(), world.options_.nics_wake_ns));
}

void WorldRun::add_host() {
  for (std::uint32_t pe = 0; pe < world.options_.pes; ++pe) {
    if (world.options_.handler != Handler::gpu) {
      const weak::AgentId agent = add_host_thread(pe_name(pe) + " proxy", pe_name(pe));
      execution.add_actor(proxies.emplace_back(*this, pe, agent));
    }
    if (world.options_.watch_reports) {
      const weak::AgentId agent = add_host_thread(pe_name(pe) + " host", pe_name(pe));
      execution.add_actor(readers.emplace_back(*this, pe, agent));
    }
  }
  host = add_host_thread("host", "");
}

weak::AgentId WorldRun::add_host_thread(const std::string& name, const std::string& group) {
  const std::uint32_t own = kApart + places_++;
  const weak::AgentId agent = world.memory_.add_agent({own, own, false});
  agent_names_.push_back(name);
  world.memory_.set_lane(agent, add_lane(name, group));
  return agent;
}

std::string WorldRun::name_of(weak::AgentId agent) const {
  return agent < agent_names_.size() ? agent_names_[agent] : "agent " + std::to_string(agent);
}

void WorldRun::make_context(std::uint32_t pe) {
  SimPe& self = pes[pe];
  const WorldOptions& options = world.options_;
  self.rkeys.clear();
  const auto room = static_cast<std::uint32_t>(self.chunks.size() / options.nics);
  for (std::uint32_t i = 0; i < options.nics * room * options.pes; ++i) {
    const std::uint32_t peer = i % options.pes;
    const Be32 key = pes[peer].chunks[i / options.pes].lkey;
    const bool bad = peer == options.bad_rkeys_of && peer != pe;
    self.rkeys.push_back(bad ? Be32{key ^ 0xff00u} : key);
  }
  self.remote_bases.assign(options.pes, world.space_.arena_base + world.heap_);
  DeviceContext& context = self.context;
  context.my_pe = static_cast<std::int32_t>(pe);
  context.n_pes = static_cast<std::int32_t>(options.pes);
  if (options.dc_queues != 0) show_targets(pe);
  context.queues = self.views.data();
  context.dc_queues = options.dc_queues;
  context.queue_count = world.queues_per_peer();
  context.mapped_queues = spread_over(options.queues);
  const std::size_t first = std::size_t{world.queues_per_peer()} * options.pes;
  world.channels_[pe] = {self.views.data() + first, self.receives.data(), options.channels,
                         kFirstChannel};
  context.heap = {};
  context.heap.base = world.space_.arena_base + world.heap_;
  context.heap.end =
      options.check_memory ? context.heap.base : world.space_.arena_base + world.used_;
  context.heap.chunks = self.chunks.data();
  context.heap.chunk_count = room - 1;
  context.heap.chunk_room = room;
  context.heap.nics = options.nics;
  context.heap.rkeys = self.rkeys.data();
  context.heap.remote_bases = self.remote_bases.data();
  context.heap.any_placement = options.any_placement.value_or(places_in_any_order(knobs));
  context.local_ranges = self.local_ranges.data();
  context.local_range_count = context.local_range_room = options.local_buffers;
  context.max_message_bytes = options.max_message_bytes;
  context.watchdog_ns = options.watchdog_ns;
  context.needs_cst = options.needs_cst.value_or(needs_cst(knobs));
  show_direct_peers(pe, context);
  for (const World::TeamPlace& place : world.teams_) {
    TeamView& view = self.teams.emplace_back(place.view);
    view.my_pe = place.numbers[pe];
    view.members = place.members.data();
    view.numbers = place.numbers.data();
  }
  context.teams = self.teams.data();
  context.team_count = static_cast<std::uint32_t>(self.teams.size());
  context.algorithm = options.algorithm;
  context.words = world.words_;
  context.state = reinterpret_cast<PeState*>(world.space_.arena_base + world.report_);
}

// As a TransportMap has it.
void WorldRun::show_direct_peers(std::uint32_t pe, DeviceContext& context) {
  HeapView& heap = context.heap;
  const Reached reached = world.options_.reached;
  const std::uint32_t last = world.options_.pes - 1;
  const bool is_apart = reached == Reached::partly && pe == last;
  if (reached == Reached::through_nic || is_apart) return;
  if (reached != Reached::directly && context.needs_cst) return;
  std::vector<std::uint64_t>& bases = pes[pe].direct_bases;
  for (std::uint32_t peer = 0; peer <= last; ++peer) {
    const std::uint64_t at = peer == pe ? world.space_.arena_base : world.space_.window(peer);
    const bool is_direct = reached != Reached::partly || peer != last;
    bases.push_back(is_direct ? at + world.heap_ : 0);
  }
  const std::size_t n = bases.size();
  bases.resize(2 * n);
  if (reached == Reached::directly) {
    std::copy_n(bases.begin(), n, bases.begin() + std::ptrdiff_t(n));
    std::copy_n(bases.begin(), std::min<std::size_t>(n, kNearPes), heap.direct_near);
  }
  heap.direct_bases = bases.data();
  heap.direct_atomic_bases = bases.data() + n;
  heap.direct_mixed = reached != Reached::directly;
  heap.direct_only = reached == Reached::directly;
}

void WorldRun::initialize(std::uint32_t pe) {
  const std::uint64_t base = pe * world.space_.bytes_per_pe;
  const auto put = [&](std::uint64_t offset, const void* from, std::size_t bytes) {
    world.memory_.initialize(base + offset, from, bytes);
  };
  const std::uint64_t lost = world.space_.arena_base + world.lost_;
  put(world.report_ + offsetof(PeState, lost), &lost, sizeof(lost));
  const std::uint64_t start = world.options_.start_index;
  for (std::uint32_t number = 0; number < world.queues_.size(); ++number) {
    if (!world.has_qp(pe, number)) continue;
    const World::QueueOffsets& at = world.queues_[number];
    unsigned char cqe[sizeof(format::Cqe64)];
    std::fill(std::begin(cqe), std::end(cqe), format::kInvalidCqeByte);
    put(at.cqe, cqe, sizeof(cqe));
    if (world.options_.handler == Handler::commands) put(at.passed_on, cqe, sizeof(cqe));
    for (std::uint64_t i = 0; at.receive_cqes != 0 && i < world.options_.receive_depth; ++i) {
      put(at.receive_cqes + i * sizeof(cqe), cqe, sizeof(cqe));
    }
    for (std::uint32_t word = 0; word < world.options_.depth / kSlotsPerReadyWord; ++word) {
      const std::uint64_t value = ready_word(start, world.options_.depth, word);
      put(at.ready + word * sizeof(value), &value, sizeof(value));
    }
    if (start == 0) continue;
    QueueState state{};
    state.reserved = state.completed = state.posted = start;
    put(at.state, &state, sizeof(state));
    const std::uint32_t record = format::doorbell_record_value(start).raw();
    put(at.record + offsetof(format::DoorbellRecord, snd_dbr), &record, sizeof(record));
  }
  for (const World::Initial& initial : world.initial_) {
    if (initial.pe == pe) put(initial.offset, initial.bytes.data(), initial.bytes.size());
  }
}

void WorldRun::store(std::uint32_t pe, weak::AgentId agent, std::uint64_t offset,
                     std::uint64_t value, const weak::Site* site) {
  static_cast<void>(site);
  const std::uint64_t at = offset - world.doorbells_;
  const SimUar& page = pes[pe].uars[at / format::kUarPageBytes];
  nics[number_of_nic(pe, page.nic)].store_doorbell(
      agent, page.uar, static_cast<std::uint32_t>(at % format::kUarPageBytes), value);
}

void WorldRun::play() {
  if (world.options_.destroy_queues) execution.stop_with_threads();
  execution.run();
  if (world.options_.destroy_queues && !execution.is_over()) destroy_queues();
}

// Destroys every queue pair with its work under way. Once the engines say that nothing is in use
// any more, nothing may be written.
void WorldRun::destroy_queues() {
  constexpr int kTurns = 1000;
  weak::Memory& memory = world.memory_;
  const std::uint64_t now = execution.now_ns();
  for (std::uint32_t pe = 0; pe < pes.size(); ++pe) {
    for (std::uint32_t number = 0; number < pes[pe].qpns.size(); ++number) {
      if (world.has_qp(pe, number))
        must(nic_of(pe, number).engine().destroy_qp(pes[pe].qpns[number]));
    }
  }
  bool drained = false;
  for (int turn = 0; turn < kTurns && !drained; ++turn) {
    drained = true;
    for (NicAgent& nic : nics) {
      nic.run_plainly(now);
      drained = nic.engine().drained() && drained;
    }
  }
  if (!drained) memory.find(FindingKind::hang, "a destroyed queue stays in use for ever");
  const std::uint64_t version = memory.version();
  for (NicAgent& nic : nics) nic.run_plainly(now);
  if (memory.version() != version) {
    memory.find(FindingKind::invariant, "does not hold: a destroyed queue writes no more");
  }
}

RunResult WorldRun::judge() {
  weak::Memory& memory = world.memory_;
  RunResult result;
  result.redundant = chooser.redundant();
  if (!execution.is_over()) {
    memory.join_all(host);
    After after(*this);
    const char* const seen = world.witness_.failure();
    after.expect(seen == nullptr, seen == nullptr ? "" : seen);
    if (world.judge_) world.judge_(after);
    if (world.options_.expect_quiet) after.expect_quiet();
  }
  result.finding = memory.finding();
  result.text = memory.finding_text();
  result.outcome = outcome;
  result.accesses = memory.accesses();
  return result;
}

}  // namespace gdakit::sim
