#include "sim/world/world.h"

#include <algorithm>
#include <numeric>

#include "core/base/assert.h"
#include "core/base/bits.h"
#include "device/publication.h"
#include "sim/world/world_problems.h"
#include "sim/world/world_run.h"

namespace gdakit::sim {
namespace {

// The memory of a PE is whole pages.
constexpr std::uint64_t kPage = 4096;

// One for all queues of a NIC that have a record, and one for each that has none.
std::uint64_t uar_pages(const WorldOptions& options) {
  const std::uint64_t queues = std::uint64_t{options.queues} + options.exclusive_queues;
  return options.nics + (options.recordless ? queues * options.pes : 0);
}

std::uint64_t scratch_of_team(const WorldOptions& options) {
  return std::max(options.team_scratch, least_scratch(options.pes));
}

}  // namespace

World::World(std::string name, const WorldOptions& options)
    : name_(std::move(name)),
      problem_(setup::problem_of(options)),
      options_(problem_.empty() ? options : WorldOptions{}),
      arena_((1 + options_.pes) * bytes_of_pe(options_), layout_),
      space_{arena_.base(), bytes_of_pe(options_), options_.pes},
      memory_(options_.pes * bytes_of_pe(options_), *this),
      stacks_(
          {.bytes = kStackFactor * options_.stack_bytes, .option = "WorldOptions::stack_bytes"}),
      agents_(setup::own_agents(options_)) {
  channels_.resize(options_.pes);
  const std::uint32_t rows = queues_per_peer() + options_.channels;
  for (std::uint32_t number = 0; number < rows * options_.pes; ++number) add_queue(number);
  doorbells_ = add_region("doorbells", uar_pages(options_) * format::kUarPageBytes,
                          RegionKind::doorbell, Owner::host);
  if (options_.dc_queues != 0) {
    target_ =
        add_region("DC targets", options_.nics * kTargetBytes, RegionKind::other, Owner::host);
  }
  report_ = add_region("report", sizeof(PeState), RegionKind::report, Owner::host);
  lost_ =
      add_region("lost PEs", options_.pes * sizeof(std::uint64_t), RegionKind::report, Owner::host);
  local_ = used_;
  for (std::uint32_t i = 0; i < options_.local_buffers; ++i) {
    add_region("local buffer " + std::to_string(i), kLocalBufferBytes, RegionKind::heap,
               options_.queue_memory);
  }
  used_ += kRegionAlignment;  // what lies behind the buffers is not registered
  heap_ = used_;
  // What NICs read to know that what they wrote before is in memory.
  if (options_.nics > 1) add_region("heap's begin", 1, RegionKind::sink, options_.queue_memory);
  words_ = allocate<PeWords>("words of the PE", 1);
  std::vector<std::int32_t> world(options_.pes);
  std::iota(world.begin(), world.end(), 0);
  add_team(world);
  for (const std::vector<std::int32_t>& members : options_.teams) add_team(members);
  users_ = used_;
  objects_ = {{heap_, users_}};
}

World::~World() = default;

std::uint64_t World::bytes_of_pe(const WorldOptions& options) {
  const std::uint64_t rings = options.handler == Handler::commands ? 2 : 1;
  const std::uint64_t queue = rings * options.depth * format::kWqebbBytes + 12 * kRegionAlignment +
                              options.depth / kSlotsPerReadyWord * 8 +
                              options.fetch_slots * sizeof(FetchSlot);
  const std::uint64_t channels = std::uint64_t{options.channels} * options.pes;
  const std::uint64_t queues =
      (std::uint64_t{options.queues} + options.exclusive_queues) * options.pes + channels;
  const std::uint64_t receive_queue =
      options.receive_depth * (kReceiveWqeBytes + sizeof(format::Cqe64)) + 3 * kRegionAlignment;
  const std::uint64_t team = options.pes * (sizeof(std::uint64_t) + sizeof(TeamPeer)) +
                             scratch_of_team(options) + 5 * kRegionAlignment;
  return round_up(queues * queue + channels * receive_queue + (1 + options.teams.size()) * team +
                      uar_pages(options) * format::kUarPageBytes + options.nics * kTargetBytes +
                      sizeof(PeState) + options.pes * sizeof(std::uint64_t) +
                      options.local_buffers * kLocalBufferBytes + options.heap_bytes +
                      8 * kRegionAlignment,
                  kPage);
}

// The first problem counts: the others may come of it.
void World::complain(const std::string& problem) {
  if (problem_.empty()) problem_ = problem;
}

std::uint64_t World::add_region(std::string name, std::uint64_t bytes, RegionKind kind, Owner owner,
                                Inbound inbound) {
  const std::uint64_t begin = used_;
  layout_.add({begin, begin + bytes, kind, std::move(name), owner, inbound});
  used_ = round_up(begin + bytes, kRegionAlignment);
  GDAKIT_ASSERT(used_ <= space_.bytes_per_pe);
  return begin;
}

bool World::is_void(std::uint32_t pe, std::uint32_t number) const {
  if (is_channel(number) || is_dc(number)) return false;
  const std::uint32_t peer = number % options_.pes;
  return std::ranges::any_of(options_.unconnected, [&](const auto& pair) {
    return pair == std::pair(pe, peer) || pair == std::pair(peer, pe);
  });
}

std::uint32_t World::home_of(std::uint32_t number) const {
  const std::uint32_t peer = number % options_.pes;
  return is_dc(number) ? number - peer + peer % options_.dc_queues : number;
}

void World::add_queue(std::uint32_t number) {
  if (home_of(number) != number) {
    queues_.push_back(queues_[home_of(number)]);
    return;
  }
  const std::uint32_t row = number / options_.pes;
  const std::string queue =
      (is_channel(number) ? "channel " + std::to_string(row - queues_per_peer())
                          : "queue " + std::to_string(row)) +
      (is_dc(number) ? " of DC, number " : " to PE ") + std::to_string(number % options_.pes);
  const Owner owner = options_.queue_memory;
  const bool commands = options_.handler == Handler::commands;
  const Owner queue_owner = commands ? Owner::host : owner;
  const std::uint64_t ring_bytes = options_.depth * format::kWqebbBytes;
  QueueOffsets at{};
  at.slots = add_region(queue, ring_bytes, RegionKind::slots, queue_owner);
  at.cqe = add_region(queue, sizeof(format::Cqe64), RegionKind::cqe, queue_owner);
  at.ready = add_region(queue + " ready bits", options_.depth / kSlotsPerReadyWord * 8,
                        RegionKind::other, owner);
  at.state = add_region(queue + " indices", sizeof(QueueState), RegionKind::state, owner);
  at.record = add_region(queue, sizeof(format::DoorbellRecord), RegionKind::record, queue_owner);
  at.proxy = add_region(queue, sizeof(std::uint64_t), RegionKind::proxy, Owner::host);
  at.fetch = add_region(queue, options_.fetch_slots * sizeof(FetchSlot), RegionKind::fetch, owner);
  at.sink = add_region(queue, sizeof(std::uint64_t), RegionKind::sink, owner);
  if (commands) {
    at.commands = add_region(queue, ring_bytes, RegionKind::command, Owner::host);
    at.passed_on =
        add_region(queue + " passed-on", sizeof(format::Cqe64), RegionKind::cqe, Owner::host);
  }
  if (is_channel(number)) add_receive_queue(queue, at);
  queues_.push_back(at);
}

void World::add_receive_queue(const std::string& name, QueueOffsets& at) {
  const Owner owner = options_.queue_memory;
  const std::uint64_t depth = options_.receive_depth;
  at.receives = add_region(name + " receive", depth * kReceiveWqeBytes, RegionKind::slots, owner);
  at.receive_cqes =
      add_region(name + " receive", depth * sizeof(format::Cqe64), RegionKind::cqe, owner);
  at.receive_state =
      add_region(name + " receive indices", sizeof(ReceiveState), RegionKind::other, owner);
}

void World::add_team(std::vector<std::int32_t> members) {
  const std::string team = "team " + std::to_string(teams_.size());
  TeamPlace place{std::move(members), std::vector<std::int32_t>(options_.pes, -1), {}};
  for (std::size_t i = 0; i < place.members.size(); ++i) {
    place.numbers[static_cast<std::size_t>(place.members[i])] = static_cast<std::int32_t>(i);
  }
  const bool follows = options_.teams_follow && teams_.size() > 1;
  TeamView& view = place.view;
  if (follows) view = teams_.back().view;
  view.n_pes = static_cast<std::int32_t>(place.members.size());
  if (!follows) make_place(team, view);
  teams_.push_back(std::move(place));
}

void World::make_place(const std::string& team, TeamView& view) {
  view.arrived = allocate<std::uint64_t>(team + " arrived", options_.pes, RegionKind::signal);
  view.scratch_bytes = scratch_of_team(options_);
  view.scratch = allocate<std::byte>(team + " scratch", view.scratch_bytes);
  view.peers = allocate<TeamPeer>(team + " counts", options_.pes);
  view.words = allocate<TeamWords>(team + " words", 1);
}

std::uint64_t World::allocate_bytes(const std::string& name, std::size_t bytes, RegionKind kind,
                                    Inbound inbound) {
  GDAKIT_ASSERT(running_ == nullptr);
  const std::uint64_t room = space_.bytes_per_pe - used_;
  if (bytes == 0 || bytes > room) {
    const std::uint64_t missing = round_up(bytes - std::min(bytes, room), kPage);
    complain(setup::problem_of_heap(options_, name, bytes, missing));
    return space_.arena_base + heap_;
  }
  const std::uint64_t begin = add_region(name, bytes, kind, options_.queue_memory, inbound);
  objects_.push_back({begin, begin + bytes});
  return space_.arena_base + begin;
}

void World::set_bytes(std::uint32_t pe, std::uint64_t address, const void* from,
                      std::size_t bytes) {
  if (pe >= options_.pes || !space_.contains(address, bytes)) {
    return complain("set on PE " + std::to_string(pe) +
                    "; give a PE of the world and a pointer that World::allocate returned");
  }
  const auto* first = static_cast<const unsigned char*>(from);
  initial_.push_back({pe, space_.offset(address), {first, first + bytes}});
}

void World::add_launch(std::uint32_t pe, LaunchShape shape, std::shared_ptr<const void> kernel,
                       void (*enter)(const void*, Thread&)) {
  std::string problem = setup::problem_of_launch(options_, pe, shape, agents_);
  if (!problem.empty()) return complain(problem);
  agents_ += std::uint64_t{shape.blocks} * shape.threads;
  const void* const erased = kernel.get();
  launches_.push_back({pe, shape, std::move(kernel), {erased, enter}});
}

SimSurroundings& World::surroundings(SimThread& thread) { return *thread.around; }

const DeviceContext& World::context(SimThread& thread) { return *thread.context; }

std::string World::place(weak::Address address) const {
  return place_name(space_, layout_, address);
}

std::string World::agent(weak::AgentId agent) const {
  return running_ == nullptr ? "agent " + std::to_string(agent) : running_->name_of(agent);
}

weak::PlaceFacts World::facts(weak::Address address) const {
  const std::uint64_t offset = space_.offset_of(address);
  const Region* const region = layout_.find(offset);
  if (region == nullptr) return {};
  return {part_name(region->kind), offset >= users_};
}

std::string World::problem_of_run() const {
  if (!problem_.empty()) return problem_;
  std::uint64_t begin = heap_;
  for (const std::uint64_t border : borders_) {
    if (border <= begin || border >= used_) {
      return "split_at: offset " + std::to_string(border) +
             " of the PE's memory is not inside of the heap, behind the border before it; name "
             "addresses of allocated objects, in ascending order";
    }
    begin = border;
  }
  return launches_.empty() ? "no kernel is launched; call launch or launch_on" : "";
}

// The lanes of the widest warp that hangs for want of more fetch slots than there are; 0 if none
// does.
std::uint32_t World::lanes_without_fetch_slot(const WorldRun& run) const {
  std::uint32_t most = 0;
  for (const SimBlock& block : run.blocks) {
    for (const SimThread& thread : block.threads) {
      if (thread.state == ThreadState::ended || thread.waits_at != Site::fetch_slot) continue;
      most = std::max(most, std::min(thread.shape.threads, kWarpSize));
    }
  }
  return most > options_.fetch_slots ? most : 0;
}

RunResult World::run(Chooser& chooser, Trace* trace) {
  if (std::string problem = problem_of_run(); !problem.empty()) {
    return {.finding = FindingKind::setup, .text = std::move(problem)};
  }
  witness_.forget();
  if (before_each_) before_each_();
  memory_.begin(options_.memory, chooser, trace);
  WorldRun run(*this, chooser, trace);
  running_ = &run;
  run.play();
  RunResult result = run.judge();
  running_ = nullptr;
  const std::uint32_t lanes =
      result.finding == FindingKind::hang ? lanes_without_fetch_slot(run) : 0;
  if (lanes != 0) {
    result.finding = FindingKind::setup;
    result.text = setup::problem_of_fetch_slots(options_, lanes);
  }
  return result;
}

}  // namespace gdakit::sim
