#include "sim/world/world_problems.h"

#include <algorithm>

#include "core/base/bits.h"
#include "core/base/options.h"
#include "sim/weak/history.h"

namespace gdakit::sim::setup {
namespace {

constexpr std::uint32_t kMaxPes = 64;
constexpr std::uint32_t kMaxQueues = 64;
constexpr std::uint32_t kMaxDepth = 32768;  // as hardware has it
constexpr std::uint32_t kMaxFetchSlots = 4096;
constexpr std::uint32_t kMaxThreads = 1024;
constexpr std::uint32_t kMinHistory = 2;
constexpr std::uint64_t kMinStackBytes = 16 * 1024;
constexpr std::uint64_t kMaxStackBytes = std::uint64_t{16} << 20;

std::string sentence(const char* option, std::uint64_t value, const std::string& remedy) {
  return std::string("WorldOptions::") + option + " is " + std::to_string(value) + "; " + remedy;
}

std::string from_to(std::uint64_t first, std::uint64_t last) {
  return std::to_string(first) + " to " + std::to_string(last);
}

bool between(std::uint64_t value, std::uint64_t first, std::uint64_t last) {
  return first <= value && value <= last;
}

std::string problem_of_queues(const WorldOptions& options) {
  if (!between(options.queues, 1, kMaxQueues)) {
    return sentence("queues", options.queues,
                    "give " + from_to(1, kMaxQueues) + ": blocks are spread over the shared ones");
  }
  if (!between(options.nics, 1, kMaxNicsPerPe)) {
    return sentence("nics", options.nics, "give " + from_to(1, kMaxNicsPerPe));
  }
  if (options.queues % options.nics != 0) {
    return sentence("queues", options.queues,
                    "give a multiple of nics, which is " + std::to_string(options.nics));
  }
  if (options.exclusive_queues > kMaxQueues) {
    return sentence("exclusive_queues", options.exclusive_queues,
                    "give at most " + std::to_string(kMaxQueues));
  }
  if (options.dc_queues != 0 && options.handler == Handler::commands) {
    return sentence("dc_queues", options.dc_queues,
                    "give 0 where handler is commands: these know queues of RC alone");
  }
  if (options.recordless && options.handler != Handler::gpu) {
    return "WorldOptions::recordless is true; give false unless handler is gpu: a host thread "
           "keeps records";
  }
  for (const auto& [one, other] : options.unconnected) {
    if (one != other && std::max(one, other) < options.pes) continue;
    return "WorldOptions::unconnected has PEs " + std::to_string(one) + " and " +
           std::to_string(other) + "; give two PEs from 0 to " + std::to_string(options.pes - 1);
  }
  if (options.channels > kMaxQueues) {
    return sentence("channels", options.channels, "give at most " + std::to_string(kMaxQueues));
  }
  if (!is_power_of_two(options.receive_depth) || options.receive_depth > kMaxDepth) {
    return sentence("receive_depth", options.receive_depth,
                    "give a power of two from " + from_to(1, kMaxDepth));
  }
  if (!is_power_of_two(options.depth) || !between(options.depth, kSlotsPerReadyWord, kMaxDepth)) {
    return sentence("depth", options.depth,
                    "give a power of two from " + from_to(kSlotsPerReadyWord, kMaxDepth));
  }
  if (!is_power_of_two(options.fetch_slots) || options.fetch_slots > kMaxFetchSlots) {
    return sentence("fetch_slots", options.fetch_slots,
                    "give a power of two from " + from_to(1, kMaxFetchSlots));
  }
  return "";
}

}  // namespace

std::uint64_t own_agents(const WorldOptions& options) {
  const std::uint64_t threads_of_host =
      (options.handler != Handler::gpu ? 1 : 0) + (options.watch_reports ? 1 : 0);
  return 1 + options.pes * (options.nics + threads_of_host);
}

std::string problem_of(const WorldOptions& options) {
  if (!between(options.pes, 1, kMaxPes)) {
    return sentence("pes", options.pes, "give " + from_to(1, kMaxPes) + ", best 2 or 3");
  }
  if (std::string problem = problem_of_queues(options); !problem.empty()) return problem;
  if (options.max_message_bytes == 0) {
    return sentence("max_message_bytes", 0, "give the bytes after which a transfer is cut, say 64");
  }
  if (!between(options.stack_bytes, kMinStackBytes, kMaxStackBytes)) {
    return sentence("stack_bytes", options.stack_bytes,
                    "give " + from_to(kMinStackBytes, kMaxStackBytes));
  }
  for (const std::vector<std::int32_t>& members : options.teams) {
    for (const std::int32_t pe : members) {
      if (pe >= 0 && static_cast<std::uint32_t>(pe) < options.pes) continue;
      return "WorldOptions::teams has a member " + std::to_string(pe) + "; give PEs from 0 to " +
             std::to_string(options.pes - 1);
    }
  }
  if (options.bad_rkeys_of != kNobodysKeys && options.bad_rkeys_of >= options.pes) {
    return sentence("bad_rkeys_of", options.bad_rkeys_of,
                    "give a PE below " + std::to_string(options.pes) + ", or kNobodysKeys");
  }
  if (!between(options.memory.history, kMinHistory, weak::kMaxSlots)) {
    return sentence("memory.history", options.memory.history,
                    "give " + from_to(kMinHistory, weak::kMaxSlots));
  }
  // Queues have been looked at, so that nothing overflows here.
  if (options.heap_bytes > kMaxBytes || options.pes * World::bytes_of_pe(options) > kMaxBytes) {
    return "heaps and queues of " + std::to_string(options.pes) + " PEs (heap_bytes " +
           std::to_string(options.heap_bytes) + ", depth " + std::to_string(options.depth) +
           ") take more than " + std::to_string(kMaxBytes >> 20) +
           " MiB; make them smaller: a small world shows the same bugs sooner";
  }
  return "";
}

std::string problem_of_launch(const WorldOptions& options, std::uint32_t pe,
                              const LaunchShape& shape, std::uint64_t agents) {
  const std::string what = "a launch of " + std::to_string(shape.blocks) + " blocks of " +
                           std::to_string(shape.threads) + " threads on PE " + std::to_string(pe);
  if (pe >= options.pes) {
    return what + "; there are PEs 0 to " + std::to_string(options.pes - 1) +
           " (WorldOptions::pes)";
  }
  if (shape.blocks == 0 || !between(shape.threads, 1, kMaxThreads)) {
    return what + "; give at least one block, of " + from_to(1, kMaxThreads) + " threads";
  }
  if (agents + std::uint64_t{shape.blocks} * shape.threads > weak::kMaxAgents) {
    return what + "; a world has at most " + std::to_string(weak::kMaxAgents) +
           " agents, and threads, NICs and the host already are " + std::to_string(agents) +
           ": launch fewer threads, 2 to 4 of a block show most bugs";
  }
  return "";
}

std::string problem_of_heap(const WorldOptions& options, const std::string& name,
                            std::uint64_t bytes, std::uint64_t missing) {
  const std::string what = "allocate \"" + name + "\" of " + std::to_string(bytes) + " bytes";
  if (bytes == 0) return what + "; give a count of at least 1";
  return what + ": the heap is full; set WorldOptions::heap_bytes, which is " +
         std::to_string(options.heap_bytes) + ", to at least " +
         std::to_string(options.heap_bytes + missing);
}

std::string problem_of_fetch_slots(const WorldOptions& options, std::uint32_t lanes) {
  return sentence("fetch_slots", options.fetch_slots,
                  "a warp of " + std::to_string(lanes) +
                      " lanes fetches at once, and its lanes wait for slots that they hold "
                      "themselves; give a power of two of at least " +
                      std::to_string(lanes));
}

}  // namespace gdakit::sim::setup
