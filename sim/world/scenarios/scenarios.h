// The scenarios of the shipped protocol: small worlds, each about one thing that users do, which no
// schedule and no stale value may break. They are what `gdakit explore` runs and what `gdakit
// mutants` judges every order of device/order.h by.
#pragma once

#include <memory>

#include "sim/explore/scenario_list.h"
#include "sim/world/world.h"

namespace gdakit::sim::scenarios {

using WorldPointer = std::unique_ptr<World>;

// The world of a scenario at its default knobs: those of the GPU, and all knobs drawn that the
// protocol must stand.
WorldOptions options_for(const SubjectOptions& options);
WorldOptions options_for(const SubjectOptions& options, std::uint32_t pes,
                         CollectiveAlgorithm algorithm);
// A world with these options. Where threads reach peers otherwise than through the NIC, the same is
// a scenario of its own, whose name begins with "direct-", "mixed-" or "partly-".
WorldPointer world_of(const std::string& name, WorldOptions options, Reached reached);

// post.cc: one poster
WorldPointer put_quiet(const SubjectOptions& options);
WorldPointer put_source(const SubjectOptions& options);
WorldPointer exclusive_queues(const SubjectOptions& options);
WorldPointer batch(const SubjectOptions& options);
WorldPointer counter_wrap(const SubjectOptions& options);
WorldPointer proxy(const SubjectOptions& options);
WorldPointer commands(const SubjectOptions& options);

// crowd.cc: many posters
WorldPointer warp_post(const SubjectOptions& options);
WorldPointer warp_group(const SubjectOptions& options);
WorldPointer block_group(const SubjectOptions& options);
WorldPointer two_blocks(const SubjectOptions& options);
WorldPointer put_again(const SubjectOptions& options);
WorldPointer two_queues(const SubjectOptions& options);
WorldPointer ready_words(const SubjectOptions& options);
WorldPointer ready_words_lap(const SubjectOptions& options);
WorldPointer handed_over(const SubjectOptions& options);

// room.cc: full queues and slots used again
WorldPointer warp_laps(const SubjectOptions& options);
WorldPointer full_queue(const SubjectOptions& options);
WorldPointer far_in_line(const SubjectOptions& options);
WorldPointer slot_reuse(const SubjectOptions& options);
WorldPointer commands_laps(const SubjectOptions& options);
WorldPointer shared_wait(const SubjectOptions& options);
WorldPointer concurrent_quiet(const SubjectOptions& options);

// inbound.cc: data that comes here
WorldPointer get_value(const SubjectOptions& options);
WorldPointer commands_get(const SubjectOptions& options);
WorldPointer get_quiet(const SubjectOptions& options);
WorldPointer get_shared(const SubjectOptions& options);
WorldPointer fetch_add(const SubjectOptions& options);
WorldPointer fetch_slots(const SubjectOptions& options);

// signal.cc: PEs that wait for one another
WorldPointer put_signal(const SubjectOptions& options, Reached reached = Reached::through_nic);
WorldPointer signal_add(const SubjectOptions& options, Reached reached = Reached::through_nic);
WorldPointer fence_order(const SubjectOptions& options, Reached reached = Reached::through_nic);
WorldPointer ring_of_three(const SubjectOptions& options);
WorldPointer barrier(const SubjectOptions& options, Reached reached = Reached::through_nic);

// collective.cc: teams
WorldPointer team_sync(const SubjectOptions& options, Reached reached = Reached::through_nic);
WorldPointer sync_after_sync(const SubjectOptions& options, Reached reached = Reached::through_nic);
WorldPointer broadcast_tree(const SubjectOptions& options, Reached reached = Reached::through_nic);
WorldPointer broadcast_linear(const SubjectOptions& options,
                              Reached reached = Reached::through_nic);
WorldPointer fcollect_linear(const SubjectOptions& options, Reached reached = Reached::through_nic);
WorldPointer fcollect_ring(const SubjectOptions& options, Reached reached = Reached::through_nic);
WorldPointer fcollect_doubling(const SubjectOptions& options,
                               Reached reached = Reached::through_nic);
WorldPointer reduce_again(const SubjectOptions& options, Reached reached = Reached::through_nic);
WorldPointer commands_reduce(const SubjectOptions& options);
WorldPointer reduce_warp(const SubjectOptions& options, Reached reached = Reached::through_nic);
WorldPointer reduce_ring(const SubjectOptions& options, Reached reached = Reached::through_nic);
WorldPointer reduce_in_place_of_some(const SubjectOptions& options,
                                     Reached reached = Reached::through_nic);
WorldPointer reduce_doubling(const SubjectOptions& options, Reached reached = Reached::through_nic);
WorldPointer reduce_parts(const SubjectOptions& options, Reached reached = Reached::through_nic);
WorldPointer overlapping_teams(const SubjectOptions& options,
                               Reached reached = Reached::through_nic);

// exchange.cc: everyone has something for everyone, and places of teams
WorldPointer alltoall(const SubjectOptions& options, Reached reached = Reached::through_nic);
WorldPointer collect(const SubjectOptions& options, Reached reached = Reached::through_nic);
WorldPointer reduce_scatter(const SubjectOptions& options, Reached reached = Reached::through_nic);
WorldPointer reduce_scatter_of_three(const SubjectOptions& options,
                                     Reached reached = Reached::through_nic);
WorldPointer broadcast_ring(const SubjectOptions& options, Reached reached = Reached::through_nic);
WorldPointer place_used_again(const SubjectOptions& options,
                              Reached reached = Reached::through_nic);

// locks.cc: one at a time
WorldPointer lock(const SubjectOptions& options, Reached reached = Reached::through_nic);
WorldPointer lock_of_three(const SubjectOptions& options, Reached reached = Reached::through_nic);
WorldPointer lock_local(const SubjectOptions& options, Reached reached = Reached::through_nic);
WorldPointer lock_test(const SubjectOptions& options, Reached reached = Reached::through_nic);
WorldPointer lock_block(const SubjectOptions& options, Reached reached = Reached::through_nic);
WorldPointer lock_stall(const SubjectOptions& options);

// direct.cc: direct peers
WorldPointer direct_quiet(const SubjectOptions& options);
WorldPointer quiet_get(const SubjectOptions& options, Reached reached);
WorldPointer direct_barrier_get(const SubjectOptions& options);
WorldPointer direct_block(const SubjectOptions& options);
WorldPointer direct_fetch(const SubjectOptions& options);
WorldPointer direct_add(const SubjectOptions& options);
WorldPointer mixed_signal(const SubjectOptions& options);
WorldPointer mixed_fence(const SubjectOptions& options);
WorldPointer mixed_fetch(const SubjectOptions& options);

// handles.cc: batches and their ends, exclusive handles, several handles of one thread
WorldPointer batch_ends(const SubjectOptions& options, Reached reached = Reached::through_nic);
WorldPointer partly_batch(const SubjectOptions& options);
WorldPointer refused_batch(const SubjectOptions& options);
WorldPointer several_handles(const SubjectOptions& options);
WorldPointer exclusive_groups(const SubjectOptions& options);
WorldPointer exclusive_fetch(const SubjectOptions& options);
WorldPointer exclusive_error(const SubjectOptions& options);
WorldPointer exclusive_foreign(const SubjectOptions& options);

// looks.cc: threads that look whether something has come, and neighbours in memory
WorldPointer looks(const SubjectOptions& options, Reached reached = Reached::through_nic);
WorldPointer strided_warp(const SubjectOptions& options);
WorldPointer neighbours(const SubjectOptions& options, Reached reached = Reached::through_nic);
WorldPointer own_stores(const SubjectOptions& options, Reached reached = Reached::through_nic);

// failure.cc: errors, stalls and the end
WorldPointer error_flush(const SubjectOptions& options);
WorldPointer commands_error(const SubjectOptions& options);
WorldPointer watchdog(const SubjectOptions& options);
WorldPointer stall_again(const SubjectOptions& options);
WorldPointer impatient(const SubjectOptions& options);
WorldPointer proxy_stall(const SubjectOptions& options);
WorldPointer exclusive_stall(const SubjectOptions& options);
WorldPointer bad_argument(const SubjectOptions& options);
WorldPointer teardown(const SubjectOptions& options);

}  // namespace gdakit::sim::scenarios
