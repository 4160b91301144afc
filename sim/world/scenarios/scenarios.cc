#include "sim/world/scenarios/scenarios.h"

#include <array>

namespace gdakit::sim {
namespace scenarios {

WorldOptions options_for(const SubjectOptions& options) {
  WorldOptions world;
  world.queues = 1;  // the blocks of a PE meet on one queue, where more can go wrong
  world.base = options.gpu == GpuModel::ampere ? ampere() : hopper();
  if (options.any_placement) world.base.placement = PlacementOrder::any;
  // What the protocol does not stand: a path for signals of their own, by which they overtake the
  // data; a CQE whose last bytes do not come last; and acknowledges that say nothing of memory,
  // where threads reach it otherwise than through the NIC that acknowledged. How puts are placed
  // the library is told, so a world is of one kind or the other.
  world.knobs = KnobSet::all()
                    .without(Knob::signal_path)
                    .without(Knob::cqe_bytes)
                    .without(Knob::early_acks)
                    .without(Knob::placement);
  return world;
}

WorldOptions options_for(const SubjectOptions& options, std::uint32_t pes,
                         CollectiveAlgorithm algorithm) {
  WorldOptions world = options_for(options);
  world.pes = pes;
  world.queues = 2;  // what belongs together must go the same way
  world.algorithm = algorithm;
  return world;
}

WorldOptions recordless_options_for(const SubjectOptions& options) {
  WorldOptions world = options_for(options);
  world.recordless = true;
  world.knobs = world.knobs.without(Knob::doorbell_loss);
  return world;
}

WorldOptions two_nics(const SubjectOptions& options) {
  WorldOptions world = options_for(options);
  world.nics = world.queues = 2;
  return world;
}

WorldOptions breaking(WorldOptions world, std::uint32_t bad_rkeys_of) {
  world.bad_rkeys_of = bad_rkeys_of;
  world.knobs = world.knobs.without(Knob::wire_loss).without(Knob::wire_repeats);
  world.expect_quiet = false;
  return world;
}

WorldPointer world_of(const std::string& name, WorldOptions options, Reached reached) {
  options.reached = reached;
  constexpr std::array kPrefixes{"", "direct-", "mixed-", "partly-"};
  const std::string placed = places_in_any_order(options.base) ? "placed-" : "";
  return std::make_unique<World>(placed + kPrefixes[static_cast<std::size_t>(reached)] + name,
                                 options);
}

std::unique_ptr<Subject> with_mutation(WorldPointer world, const SubjectOptions& options) {
  if (!options.without.empty()) {
    world->set_mutations({{{.name = options.without, .file = "", .line = 0}, Operator::remove}});
  }
  return world;
}

}  // namespace scenarios

std::span<const ScenarioEntry> scenario_list() {
  using namespace scenarios;
  static const std::vector<ScenarioEntry> all = [] {
    std::vector<ScenarioEntry> joined;
    for (const Table table : {kPostTable,
                              kCrowdTable,
                              kPeersTable,
                              kGroupsTable,
                              kRoomTable,
                              kInboundTable,
                              kFlushesTable,
                              kSignalTable,
                              kValuesTable,
                              kBordersTable,
                              kCollectiveTable,
                              kReuseTable,
                              kExchangeTable,
                              kLocksTable,
                              kSignalDirectTable,
                              kCollectiveDirectTable,
                              kExchangeDirectTable,
                              kLocksDirectTable,
                              kDirectTable,
                              kSignalMixedTable,
                              kLocksMixedTable,
                              kHandlesTable,
                              kBatchesTable,
                              kBesideTable,
                              kLooksTable,
                              kFailureTable,
                              kRefusalsTable,
                              kChannelsTable,
                              kMessagesTable,
                              kDcTable,
                              kSeveralNicsTable,
                              kSignalPlacedTable,
                              kCollectivePlacedTable,
                              kExchangePlacedTable,
                              kLocksPlacedTable,
                              kMemoryTable,
                              kToldTable,
                              kWaysTable,
                              kMailboxesTable,
                              kCountsTable,
                              kOwnersTable,
                              kOutcomesTable,
                              kTogetherTable,
                              kMembersTable,
                              kMembersDirectTable,
                              kMembersPlacedTable,
                              kElementsTable,
                              kSurvivorsTable,
                              kVerdictsTable,
                              kLimitsTable,
                              kEdgesTable,
                              kPiecesTable,
                              kApartTable,
                              kAfterwardsTable,
                              kBrokenTable,
                              kDrawnTable,
                              kTalkTable}) {
      joined.insert(joined.end(), table.begin(), table.end());
    }
    return joined;
  }();
  return all;
}

}  // namespace gdakit::sim
