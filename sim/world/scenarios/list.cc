#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim {
namespace {

std::unique_ptr<Subject> with_mutation(scenarios::WorldPointer world,
                                       const SubjectOptions& options) {
  if (!options.without.empty()) {
    world->set_mutations({{{.name = options.without, .file = "", .line = 0}, Operator::remove}});
  }
  return world;
}

template <auto kMake>
std::unique_ptr<Subject> make(const SubjectOptions& options) {
  return with_mutation(kMake(options), options);
}

// Those that can be made with either transport.
template <auto kMake, Reached kReached>
std::unique_ptr<Subject> make(const SubjectOptions& options) {
  return with_mutation(kMake(options, kReached), options);
}

namespace s = scenarios;
constexpr Reached kNic = Reached::through_nic;
constexpr Reached kDirect = Reached::directly;
constexpr Reached kMixed = Reached::mixed;

constexpr ScenarioEntry kScenarios[] = {
    {"put-quiet", "One thread puts a value and completes it.", make<s::put_quiet>},
    {"put-source", "One thread puts from memory that it then writes again.", make<s::put_source>},
    {"exclusive-queues", "Two blocks post to exclusive queues of their own.",
     make<s::exclusive_queues>},
    {"batch", "Doorbells and completions are left to later posts and to quiet.", make<s::batch>},
    {"counter-wrap", "The 16-bit counters of doorbell, record and CQE wrap.",
     make<s::counter_wrap>},
    {"proxy", "A host thread rings for the GPU.", make<s::proxy>},
    {"commands", "A host thread makes WQEs of the GPU's commands.", make<s::commands>},
    {"warp-post", "Three lanes of a warp put words of their own.", make<s::warp_post>},
    {"warp-group", "A warp puts as one what all its lanes wrote.", make<s::warp_group>},
    {"block-group", "A block puts as one what all its threads wrote.", make<s::block_group>},
    {"two-blocks", "Three blocks post to one queue at once.", make<s::two_blocks>},
    {"two-queues", "Two blocks of two threads, each on a queue of its own.", make<s::two_queues>},
    {"ready-words", "Posts that cross from one word of ready bits to the next.",
     make<s::ready_words>},
    {"handed-over", "One block puts what another one has written.", make<s::handed_over>},
    {"warp-laps", "A warp posts together more than once round the queue.", make<s::warp_laps>},
    {"full-queue", "Two blocks post more than the queue has room for.", make<s::full_queue>},
    {"far-in-line", "Six warps post as much as three queues hold.", make<s::far_in_line>},
    {"slot-reuse", "Slots are used again, over the wrap of the counter.", make<s::slot_reuse>},
    {"commands-laps", "Commands' slots are used again, over the wrap of the counter.",
     make<s::commands_laps>},
    {"shared-wait", "Three lanes wait for one ticket.", make<s::shared_wait>},
    {"concurrent-quiet", "Blocks call quiet while another one posts.", make<s::concurrent_quiet>},
    {"get-value", "Values are fetched through one fetch slot.", make<s::get_value>},
    {"commands-get", "Values are fetched by commands.", make<s::commands_get>},
    {"get-quiet", "A get is completed by quiet.", make<s::get_quiet>},
    {"get-shared", "Two blocks complete one another's gets.", make<s::get_shared>},
    {"fetch-add", "Two lanes add to one word and fetch it.", make<s::fetch_add>},
    {"fetch-slots", "Two blocks take turns at one fetch slot, a third one puts.",
     make<s::fetch_slots>},
    {"put-signal", "Data with a signal, and a PE that waits for it.", make<s::put_signal, kNic>},
    {"signal-add", "Two blocks add to one signal.", make<s::signal_add, kNic>},
    {"fence-order", "A put, a fence, and a put that tells of the first.",
     make<s::fence_order, kNic>},
    {"ring-of-three", "Three PEs pass a value on.", make<s::ring_of_three>},
    {"barrier", "What is put before a barrier is there after it.", make<s::barrier, kNic>},
    {"team-sync", "Three PEs meet by dissemination, with and without quiet.",
     make<s::team_sync, kNic>},
    {"sync-after-sync", "A thread of three PEs syncs, and its block at once after it.",
     make<s::sync_after_sync, kNic>},
    {"broadcast-tree", "Each of three PEs is the root of a tree once.",
     make<s::broadcast_tree, kNic>},
    {"fcollect-ring", "Blocks go round three PEs, twice.", make<s::fcollect_ring, kNic>},
    {"reduce-again", "Reductions use their scratch memory again.", make<s::reduce_again, kNic>},
    {"reduce-doubling", "Three PEs reduce by recursive doubling, twice.",
     make<s::reduce_doubling, kNic>},
    {"reduce-parts", "A reduction in place that takes several turns.", make<s::reduce_parts, kNic>},
    {"overlapping-teams", "Two teams share a PE, whose blocks work with one each.",
     make<s::overlapping_teams, kNic>},
    {"alltoall", "Two PEs' words cross, side by side and apart.", make<s::alltoall, kNic>},
    {"collect", "Two PEs give one word or two, in turn.", make<s::collect, kNic>},
    {"reduce-scatter", "Sums in place of what was sent, three times.",
     make<s::reduce_scatter, kNic>},
    {"broadcast-ring", "Parts of a broadcast go round three PEs.", make<s::broadcast_ring, kNic>},
    {"fcollect-doubling", "Four PEs collect twice as many blocks each time.",
     make<s::fcollect_doubling, kNic>},
    {"place-used-again", "A team is destroyed, and its place given to another one.",
     make<s::place_used_again, kNic>},
    {"lock", "Two PEs count under a lock.", make<s::lock, kNic>},
    {"lock-local", "Two blocks of one PE, and another PE, count under a lock.",
     make<s::lock_local, kNic>},
    {"lock-test", "A block waits for a lock, others take it if it is free.",
     make<s::lock_test, kNic>},
    {"lock-block", "Blocks of two threads count under a lock.", make<s::lock_block, kNic>},
    {"lock-stall", "A thread gives up waiting for a lock, which is broken then.",
     make<s::lock_stall>},
    {"direct-put-signal", "Data by stores, and a signal behind it.", make<s::put_signal, kDirect>},
    {"direct-signal-add", "Two blocks store, and add to one signal.", make<s::signal_add, kDirect>},
    {"direct-fence-order", "Stores, a fence, and a store that tells of the first.",
     make<s::fence_order, kDirect>},
    {"direct-barrier", "What is stored before a barrier is there after it.",
     make<s::barrier, kDirect>},
    {"direct-team-sync", "Three direct peers meet by dissemination, with and without quiet.",
     make<s::team_sync, kDirect>},
    {"direct-sync-after-sync", "A thread of three direct peers syncs, then its block.",
     make<s::sync_after_sync, kDirect>},
    {"direct-fcollect-ring", "Blocks go round three direct peers, twice.",
     make<s::fcollect_ring, kDirect>},
    {"direct-reduce-again", "Direct peers' reductions use their scratch memory again.",
     make<s::reduce_again, kDirect>},
    {"direct-broadcast-tree", "Each of three direct peers is the root of a tree once.",
     make<s::broadcast_tree, kDirect>},
    {"direct-reduce-doubling", "Three direct peers reduce by recursive doubling, twice.",
     make<s::reduce_doubling, kDirect>},
    {"direct-reduce-parts", "A reduction of direct peers in place that takes several turns.",
     make<s::reduce_parts, kDirect>},
    {"direct-overlapping-teams", "Two teams share a PE, all direct peers.",
     make<s::overlapping_teams, kDirect>},
    {"direct-alltoall", "Two direct peers' words cross, side by side and apart.",
     make<s::alltoall, kDirect>},
    {"direct-collect", "Two direct peers give one word or two, in turn.",
     make<s::collect, kDirect>},
    {"direct-reduce-scatter", "Direct peers' sums in place of what was sent.",
     make<s::reduce_scatter, kDirect>},
    {"direct-broadcast-ring", "Parts of a broadcast go round three direct peers.",
     make<s::broadcast_ring, kDirect>},
    {"direct-fcollect-doubling", "Four direct peers collect twice as many blocks each time.",
     make<s::fcollect_doubling, kDirect>},
    {"direct-place-used-again", "A team's place is given to another one, of direct peers.",
     make<s::place_used_again, kDirect>},
    {"direct-lock", "Two direct peers count under a lock.", make<s::lock, kDirect>},
    {"direct-lock-local", "Two blocks of one PE, and a direct peer, count under a lock.",
     make<s::lock_local, kDirect>},
    {"direct-lock-test", "A block waits for a lock, direct peers take it if it is free.",
     make<s::lock_test, kDirect>},
    {"direct-lock-block", "Blocks of two threads of direct peers count under a lock.",
     make<s::lock_block, kDirect>},
    {"direct-quiet", "Stores, quiet, and a store that tells of the first.", make<s::direct_quiet>},
    {"direct-quiet-get", "Two direct peers store, call quiet, and look for each other's word.",
     make<s::quiet_get, kDirect>},
    {"direct-barrier-get", "The same, where one of them has a barrier in place of quiet.",
     make<s::direct_barrier_get>},
    {"direct-block", "A block stores as one what all its threads wrote.", make<s::direct_block>},
    {"direct-fetch", "A PE fetches words until it finds data.", make<s::direct_fetch>},
    {"direct-add", "Two direct peers add to one word and fetch it.", make<s::direct_add>},
    {"mixed-signal", "Puts go directly, and signals behind them through the NIC.",
     make<s::mixed_signal>},
    {"mixed-fence", "A put goes directly, and an atomic before it through the NIC.",
     make<s::mixed_fence>},
    {"mixed-fetch", "A word fetched directly tells of an atomic through the NIC.",
     make<s::mixed_fetch>},
    {"mixed-quiet-get", "Two PEs put directly, add through the NIC, and look behind quiet.",
     make<s::quiet_get, kMixed>},
    {"mixed-barrier", "What is stored before a barrier through the NIC is there after it.",
     make<s::barrier, kMixed>},
    {"mixed-lock", "Two PEs count directly, under a lock through the NIC.", make<s::lock, kMixed>},
    {"error-flush", "A peer refuses the key; every thread learns of it.", make<s::error_flush>},
    {"commands-error", "A peer refuses the key of a command's WQE.", make<s::commands_error>},
    {"watchdog", "The NIC sleeps; waits end and are reported.", make<s::watchdog>},
    {"impatient", "Stalls are reported while NIC and other threads go on.", make<s::impatient>},
    {"proxy-stall", "A stall is reported while a host thread rings.", make<s::proxy_stall>},
    {"exclusive-stall", "One thread reports a stall of a queue that another one owns.",
     make<s::exclusive_stall>},
    {"bad-argument", "A bad argument is reported while the host watches.", make<s::bad_argument>},
    {"teardown", "Queues are destroyed with work under way.", make<s::teardown>},
};

}  // namespace

std::span<const ScenarioEntry> scenario_list() { return kScenarios; }

}  // namespace gdakit::sim
