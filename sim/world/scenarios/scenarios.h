// The scenarios of the shipped protocol: small worlds, each about one thing that users do, which no
// schedule and no stale value may break. They are what `gdakit explore` runs and what `gdakit
// mutants` judges every order of device/order.h by. Each file lists its own in tables at its end.
#pragma once

#include <memory>
#include <span>
#include <type_traits>

#include "sim/explore/scenario_list.h"
#include "sim/world/world.h"

namespace gdakit::sim::scenarios {

using WorldPointer = std::unique_ptr<World>;

// The world of a scenario at its default knobs: those of the GPU, and all knobs drawn that the
// protocol must stand.
WorldOptions options_for(const SubjectOptions& options);
WorldOptions options_for(const SubjectOptions& options, std::uint32_t pes,
                         CollectiveAlgorithm algorithm);
// With queues that have no doorbell record: no doorbell may be lost there.
WorldOptions recordless_options_for(const SubjectOptions& options);
// With two NICs a PE, and a shared queue to each peer on each of them.
WorldOptions two_nics(const SubjectOptions& options);
// Where queues break, by the wrong keys that others have of a PE or otherwise: no packet is lost,
// for a NAK that is lost looks like a peer that is silent, and the end finds them broken.
WorldOptions breaking(WorldOptions world, std::uint32_t bad_rkeys_of = kNobodysKeys);
// A world with these options. Where threads reach peers otherwise than through the NIC, the same is
// a scenario of its own, whose name begins with "direct-", "mixed-" or "partly-"; so is one whose
// NICs place puts in any order, "placed-".
WorldPointer world_of(const std::string& name, WorldOptions options,
                      Reached reached = Reached::through_nic);

// What makes an entry's world, without the order that the options leave out.
std::unique_ptr<Subject> with_mutation(WorldPointer world, const SubjectOptions& options);

template <auto kMake>
std::unique_ptr<Subject> make(const SubjectOptions& options) {
  return with_mutation(kMake(options), options);
}

// Those that can be made with several transports.
template <auto kMake, Reached kReached>
std::unique_ptr<Subject> make(const SubjectOptions& options) {
  return with_mutation(kMake(options, kReached), options);
}

// Those whose NICs place puts in any order, which the library is told.
template <auto kMake>
std::unique_ptr<Subject> make_placed(const SubjectOptions& options) {
  SubjectOptions placed = options;
  placed.any_placement = true;
  if constexpr (std::is_invocable_v<decltype(kMake), const SubjectOptions&>) {
    return make<kMake>(placed);
  } else {
    return make<kMake, Reached::through_nic>(placed);
  }
}

inline constexpr Reached kNic = Reached::through_nic;
inline constexpr Reached kDirect = Reached::directly;
inline constexpr Reached kMixed = Reached::mixed;

using Table = std::span<const ScenarioEntry>;

// What each file lists, in the order of scenario_list().

// post.cc: one poster
extern const Table kPostTable;
// crowd.cc: many posters
extern const Table kCrowdTable;
// room.cc: full queues and slots used again
extern const Table kRoomTable;
// inbound.cc: data that comes here
extern const Table kInboundTable;
// signal.cc: PEs that wait for one another
extern const Table kSignalTable;
// collective.cc: teams
extern const Table kCollectiveTable;
// exchange.cc: everyone has something for everyone, and places of teams
extern const Table kExchangeTable;
// locks.cc: one at a time
extern const Table kLocksTable;
// Those of direct peers
extern const Table kSignalDirectTable;
extern const Table kCollectiveDirectTable;
extern const Table kExchangeDirectTable;
extern const Table kLocksDirectTable;
// direct.cc: direct peers
extern const Table kDirectTable;
// Those whose signals and atomics alone go through the NIC
extern const Table kSignalMixedTable;
extern const Table kLocksMixedTable;
// handles.cc: batches and their ends, exclusive handles, several handles of one thread
extern const Table kHandlesTable;
// batches.cc: tickets of open batches, and batches that are handed over or answered
extern const Table kBatchesTable;
// borders.cc: heaps of several chunks
extern const Table kBordersTable;
// values.cc: what operations compute
extern const Table kValuesTable;
// refusals.cc: what is refused, and what happens then
extern const Table kRefusalsTable;
// peers.cc: several peers of one handle, and lanes that do not post the same
extern const Table kPeersTable;
// groups.cc: groups that act as one
extern const Table kGroupsTable;
// reuse.cc: collectives whose memory is written again at once
extern const Table kReuseTable;
// flushes.cc: what makes visible what a NIC has written here
extern const Table kFlushesTable;
// beside.cc: one thread in the middle of something, another one beside it
extern const Table kBesideTable;
// messages.cc: channels at their limits
extern const Table kMessagesTable;
// looks.cc: threads that look whether something has come, and neighbours in memory
extern const Table kLooksTable;
// channels.cc: sends, receives and immediates
extern const Table kChannelsTable;
// dc.cc: peers that share queues, peers without one, and queues without a doorbell record
extern const Table kDcTable;
// several_nics.cc: PEs with two NICs
extern const Table kSeveralNicsTable;
// memory.cc: buffers outside of the heap, and checked heaps
extern const Table kMemoryTable;
// told.cc: lost and stopped PEs
extern const Table kToldTable;
// Those of puts that are placed in any order
extern const Table kSignalPlacedTable;
extern const Table kCollectivePlacedTable;
extern const Table kExchangePlacedTable;
extern const Table kLocksPlacedTable;
// failure.cc: errors, stalls and the end
extern const Table kFailureTable;
// ways.cc: words that tell of what goes by another NIC
extern const Table kWaysTable;
// mailboxes.cc: channels of which not all is well or usual
extern const Table kMailboxesTable;
// counts.cc: what is counted and answered once
extern const Table kCountsTable;
// owners.cc: owners of exclusive queues, who goes beside them, and queues far on
extern const Table kOwnersTable;
// outcomes.cc: what calls say of their own operation where another one fails or is refused
extern const Table kOutcomesTable;
// together.cc: lanes and threads unlike the others of their group, and transfers in pieces
extern const Table kTogetherTable;
// members.cc: roots, reversed teams, and parts that are short
extern const Table kMembersTable;
extern const Table kMembersDirectTable;
extern const Table kMembersPlacedTable;
// elements.cc: elements that lanes share unevenly, and words that are compared by their types
extern const Table kElementsTable;
// survivors.cc: locks that are handed on, and those who go on beside lost and failing PEs
extern const Table kSurvivorsTable;
// verdicts.cc: what threads, queues and reports say of what failed
extern const Table kVerdictsTable;
// limits.cc: values at their limits
extern const Table kLimitsTable;
// edges.cc: the last places of memory, and those behind them
extern const Table kEdgesTable;
// pieces.cc: what borders of chunks and rounds cut
extern const Table kPiecesTable;
// apart.cc: what goes by different ways, and who stands apart
extern const Table kApartTable;
// afterwards.cc: teams whose members are refused, fail or are lost, and what they are good for then
extern const Table kAfterwardsTable;
// broken.cc: queues and channels that are broken
extern const Table kBrokenTable;
// drawn.cc: programs that each execution draws
extern const Table kDrawnTable;
// talk.cc: the same of players that tell each other at once
extern const Table kTalkTable;

}  // namespace gdakit::sim::scenarios
