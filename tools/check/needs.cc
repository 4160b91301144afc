#include "tools/check/needs.h"

#include <algorithm>

#include "core/host/queue_arena.h"

namespace gdakit::tools::check {

std::uint64_t queues_of_a_pe(const Surroundings& surroundings) {
  return queues_on_a_nic(surroundings) * surroundings.options.nics_per_pe;
}

// As many on each, so that the queues to a peer are rounded up. Those of DC are to several peers.
std::uint64_t queues_on_a_nic(const Surroundings& surroundings) {
  const Options& options = surroundings.options;
  const std::uint64_t to_a_peer =
      (options.queues_per_peer + options.nics_per_pe - 1) / options.nics_per_pe;
  const bool is_dc = options.queue_type == QueueType::dc;
  return to_a_peer * (is_dc ? std::min(options.dc_queues, surroundings.pes) : surroundings.pes);
}

std::uint64_t bytes_of_a_queue(const Options& options) {
  const QueueLayout layout(QueueShape{.depth = options.queue_depth,
                                      .fetch_slots = options.fetch_slots,
                                      .place = Place::shared,
                                      .sharing = Sharing::shared,
                                      .handler = Handler::gpu});
  return layout.queue_bytes + layout.result_bytes;
}

}  // namespace gdakit::tools::check
