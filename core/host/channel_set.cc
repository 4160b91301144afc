#include "core/host/channel_set.h"

#include <string>
#include <utility>

#include "core/base/bits.h"
#include "core/host/bootstrap/same_on_all_pes.h"

namespace gdakit {
namespace {

constexpr std::uint8_t kRetriesForEver = 7;

Error refusal(const std::string& problem) {
  return Error(Code::invalid_argument, "add_channels: " + problem);
}

// All PEs see all problems: those of one PE alone are told to the others.
Result<void> check(const ChannelOptions& wanted, const BackendLimits& limits, std::uint32_t first) {
  const std::uint32_t left = kFirstChannel + kMaxChannelsPerPeer - first;
  if (wanted.count == 0 || wanted.count > left) {
    return refusal(std::to_string(wanted.count) + " more channels; there are " +
                   std::to_string(first - kFirstChannel) + " to each peer and at most " +
                   std::to_string(kMaxChannelsPerPeer));
  }
  if (!is_power_of_two(wanted.receive_depth) || wanted.receive_depth > limits.max_queue_depth) {
    return refusal("a receive_depth of " + std::to_string(wanted.receive_depth) +
                   "; give a power of two, " + std::to_string(limits.max_queue_depth) + " at most");
  }
  if (wanted.rnr_retry > kRetriesForEver) {
    return refusal("rnr_retry " + std::to_string(wanted.rnr_retry) +
                   "; give 0 to 6, or 7 to try for ever");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<ChannelSet>> ChannelSet::create(const Options& options, Bootstrap& bootstrap,
                                                       Backend& backend, MemoryProvider& memory,
                                                       const ChannelOptions& wanted,
                                                       std::uint32_t first, Handler handler,
                                                       Place place, const std::vector<int>& peers) {
  const Result<void> same = agree_on(bootstrap, "channels to each peer", wanted.count,
                                     [](std::uint32_t n) { return std::to_string(n); });
  if (!same) return same.error();
  const auto n = static_cast<std::size_t>(bootstrap.size());
  const bool by_host = wanted.end == ChannelEnd::host;
  QueueShape shape{options.queue_depth, 0, by_host ? Place::shared : place, Sharing::shared,
                   by_host ? Handler::gpu : handler};
  shape.words_place = by_host ? Place::shared : Place::device;
  shape.receive_depth = wanted.receive_depth;
  shape.rnr_retry = wanted.rnr_retry;
  shape.first_row = first;
  std::unique_ptr<ChannelSet> set(new ChannelSet(wanted.end, wanted.count, first));
  Result<void> ready = check(wanted, backend.limits(), first);
  if (ready) ready = set->make_tables(memory, wanted.count * n, shape.words_place);
  if (Result<void> all = all_succeed(bootstrap, ready); !all) return all.error();
  Result<RowsOfQueues> made =
      QueueRows(bootstrap, backend, memory).make(shape, wanted.count, peers);
  if (!made) return made.error().within("add_channels");
  set->rows_ = std::move(*made);
  ready = set->show(peers, n);
  if (Result<void> all = all_succeed(bootstrap, ready); !all) return all.error();
  return set;
}

Result<void> ChannelSet::make_tables(MemoryProvider& memory, std::size_t queues, Place place) {
  Result<void> done;
  const auto allocate = [&](std::unique_ptr<MemoryBlock>& table, std::size_t entry_bytes) {
    if (!done) return;
    auto made = memory.allocate(queues * entry_bytes, place);
    if (made) {
      table = std::move(*made);
    } else {
      done = made.error().within("tables of channels");
    }
  };
  allocate(queue_table_, sizeof(QueueView));
  allocate(receive_table_, sizeof(ReceiveView));
  allocate(receive_states_, sizeof(ReceiveState));
  return done;
}

Result<void> ChannelSet::show(const std::vector<int>& peers, std::size_t n) {
  auto* const states = static_cast<ReceiveState*>(receive_states_->data());
  std::vector<QueueView> queues(count_ * n);
  std::vector<ReceiveView> receives(count_ * n);
  for (std::size_t i = 0; i < rows_.queues.size(); ++i) {
    const HostQueue& queue = *rows_.queues[i];
    const std::size_t at = i / peers.size() * n + static_cast<std::size_t>(queue.view().peer);
    queues[at] = queue.view();
    receives[at] = queue.receive_view(states + at);
  }
  const Result<void> shown =
      queue_table_->write(0, queues.data(), queues.size() * sizeof(QueueView));
  if (!shown) return shown;
  return receive_table_->write(0, receives.data(), receives.size() * sizeof(ReceiveView));
}

Channels ChannelSet::channels() const {
  return {static_cast<const QueueView*>(queue_table_->data()),
          static_cast<const ReceiveView*>(receive_table_->data()), count_, first_};
}

}  // namespace gdakit
