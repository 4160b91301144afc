#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim {
namespace {

template <scenarios::WorldPointer (*kMake)(const SubjectOptions&)>
std::unique_ptr<Subject> make(const SubjectOptions& options) {
  scenarios::WorldPointer world = kMake(options);
  if (!options.without.empty()) {
    world->set_mutations({{{.name = options.without, .file = "", .line = 0}, Operator::remove}});
  }
  return world;
}

namespace s = scenarios;

constexpr ScenarioEntry kScenarios[] = {
    {"put-quiet", "One thread puts a value and completes it.", make<s::put_quiet>},
    {"put-source", "One thread puts from memory that it then writes again.", make<s::put_source>},
    {"exclusive-queues", "Two blocks post to exclusive queues of their own.",
     make<s::exclusive_queues>},
    {"batch", "Doorbells and completions are left to later posts and to quiet.", make<s::batch>},
    {"counter-wrap", "The 16-bit counters of doorbell, record and CQE wrap.",
     make<s::counter_wrap>},
    {"proxy", "A host thread rings for the GPU.", make<s::proxy>},
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
    {"slot-reuse", "Slots are used again, over the wrap of the counter.", make<s::slot_reuse>},
    {"shared-wait", "Three lanes wait for one ticket.", make<s::shared_wait>},
    {"concurrent-quiet", "Blocks call quiet while another one posts.", make<s::concurrent_quiet>},
    {"get-value", "Values are fetched through one fetch slot.", make<s::get_value>},
    {"get-quiet", "A get is completed by quiet.", make<s::get_quiet>},
    {"get-shared", "Two blocks complete one another's gets.", make<s::get_shared>},
    {"fetch-add", "Two lanes add to one word and fetch it.", make<s::fetch_add>},
    {"fetch-slots", "Two blocks take turns at one fetch slot, a third one puts.",
     make<s::fetch_slots>},
    {"put-signal", "Data with a signal, and a PE that waits for it.", make<s::put_signal>},
    {"signal-add", "Two blocks add to one signal.", make<s::signal_add>},
    {"fence-order", "A put, a fence, and a put that tells of the first.", make<s::fence_order>},
    {"ring-of-three", "Three PEs pass a value on.", make<s::ring_of_three>},
    {"barrier", "What is put before a barrier is there after it.", make<s::barrier>},
    {"error-flush", "A peer refuses the key; every thread learns of it.", make<s::error_flush>},
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
