// What a Context does with its queues and channels.
#include <algorithm>

#include "core/host/connections.h"
#include "core/host/context.h"
#include "core/host/counter_file.h"
#include "core/host/stall.h"
#include "core/host/trace/host_trace.h"

namespace gdakit {

// The queues from this one on are rung for, and may break.
void Context::watch_queues(std::size_t first) {
  for (std::size_t i = first; i < queues_->queues().size(); ++i) {
    const HostQueue& queue = *queues_->queues()[i];
    watch_queue(queue, queues_->row_of(i));
    if (proxy_ != nullptr) proxy_->watch(queue.proxied());
  }
}

// Of an initiator of DC that has a peer for itself, as there are many of them, that one.
QueuePeers Context::peers_of(const HostQueue& queue) const {
  const int first = queue.view().peer;
  if (queue.type() != QueueType::dc) return {first};
  const auto step = static_cast<int>(queues_->dc_queues());
  return {first, first + step < n_pes() ? step : 0};
}

void Context::watch_queue(const HostQueue& queue, std::uint32_t row) {
  reports_->watch(queue.number(), peers_of(queue), row);
  const int peer = queue.view().peer;
  if (counter_file_ != nullptr) counter_file_->name_queue(queue.number(), {peer, row});
  if (host_trace_ != nullptr) host_trace_->name_queue(queue.qpn(), peer, row);
}

// Who reads after a doorbell, and what, decides how far a fence before it must reach.
Scope Context::nic_scope() const {
  const bool channels_on_gpu = std::all_of(
      channel_sets_.begin(), channel_sets_.end(),
      [](const std::unique_ptr<ChannelSet>& set) { return set->end() == ChannelEnd::kernels; });
  const bool all_on_gpu = on_gpu() && one_gpu_ && !backend_->limits().on_bus &&
                          queues_->place() == Place::device && channels_on_gpu &&
                          std::all_of(local_buffers_.begin(), local_buffers_.end(),
                                      [](const LocalBuffer& buffer) { return buffer.on_gpu; });
  return all_on_gpu ? Scope::gpu : Scope::system;
}

Result<std::uint32_t> Context::add_queues(std::uint32_t count, Sharing sharing) {
  const std::size_t before = queues_->queues().size();
  const Bootstrap::For purpose(*bootstrap_, Purpose::add_queues);
  Result<std::uint32_t> first = queues_->add(count, sharing);
  if (first) watch_queues(before);
  return first;
}

Result<void> Context::connect(const std::vector<int>& peers) {
  const std::size_t before = queues_->queues().size();
  const Bootstrap::For purpose(*bootstrap_, Purpose::connect);
  const auto more = more_peers(*bootstrap_, peers, queues_->peers());
  if (!more) return more.error();
  if (auto connected = queues_->connect(*more); !connected) {
    return connected.error().within("connect");
  }
  watch_queues(before);
  return {};
}

Result<Channels> Context::add_channels(const ChannelOptions& wanted) {
  const Bootstrap::For purpose(*bootstrap_, Purpose::add_channels);
  std::uint32_t first = kFirstChannel;
  for (const std::unique_ptr<ChannelSet>& set : channel_sets_) first += set->channels().count;
  // Commands are for what all queues do; on a channel the proxy rings, and WQEs are the kernels'.
  const Handler handler = queues_->handler() == Handler::gpu ? Handler::gpu : Handler::proxy;
  auto set = ChannelSet::create(options_, *bootstrap_, *backend_, *memory_, wanted, first, handler,
                                queues_->place(), queues_->peers());
  if (!set) return set.error();
  for (std::size_t i = 0; i < (*set)->queues().size(); ++i) {
    const HostQueue& queue = *(*set)->queues()[i];
    watch_queue(queue, first + static_cast<std::uint32_t>(i / queues_->peers().size()));
    if (queue.view().handler == Handler::proxy) proxy_->watch(queue.proxied());
  }
  channel_sets_.push_back(std::move(*set));
  return channel_sets_.back()->channels();
}

Result<void> Context::check_queues() const {
  Result<void> good = check_states(queues_->queues(), queues_->read_states());
  for (const std::unique_ptr<ChannelSet>& set : channel_sets_) {
    if (good) good = check_states(set->queues(), set->read_states());
  }
  return good;
}

Result<void> Context::check_states(const HostQueues& queues,
                                   const Result<std::vector<QueueState>>& states) const {
  if (!states) return states.error();
  for (std::size_t i = 0; i < states->size(); ++i) {
    const QueueError error{(*states)[i].error};
    const HostQueue& queue = *queues[i];
    if (!error || losses_->loss_of(queue.view().peer)) continue;
    reports_->note_said(queue.number());
    return Error(Code::system, "PE " + std::to_string(my_pe()) + ": " +
                                   describe(error, peers_of(queue)) +
                                   "\n  the NIC says: " + backend_->describe_queue(queue.number()));
  }
  return {};
}

}  // namespace gdakit
