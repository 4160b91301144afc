#include "core/host/host_queue.h"

#include <utility>

namespace gdakit {
namespace {

// For errors.
std::string name_of(const QueueShape& shape, int peer) {
  if (shape.type == QueueType::dc) return "a DC initiator";
  const char* const kind = shape.receive_depth == 0 ? "a send queue" : "a channel";
  return kind + (" to PE " + std::to_string(peer));
}

}  // namespace

Result<std::unique_ptr<HostQueue>> HostQueue::create(std::shared_ptr<QueueArena> arena,
                                                     std::size_t index, Backend& backend,
                                                     int peer) {
  std::unique_ptr<HostQueue> queue(new HostQueue(std::move(arena), index, backend));
  Result<QueueResources> made = backend.create_queue(queue->arena_->memory_of(index));
  if (!made) return made.error().within("creation of " + name_of(queue->arena_->shape(), peer));
  queue->resources_ = std::move(*made);
  queue->has_queue_ = true;
  queue->make_views(peer);
  return queue;
}

void HostQueue::make_views(int peer) {
  const QueueShape& shape = arena_->shape();
  nic_view_ = arena_->view_of(index_);
  nic_view_.qpn_shifted = Be32{resources_.qpn << 8};
  nic_view_.doorbell = resources_.doorbell;
  nic_view_.peer = peer;
  view_ = nic_view_;
  if (shape.words_place == Place::device) view_.doorbell = resources_.device_doorbell;
  if (shape.handler != Handler::gpu) view_.doorbell = arena_->proxy_index(index_);
  if (shape.handler != Handler::commands) return;
  view_.slots = arena_->command_slots(index_);
  view_.cqe = arena_->command_cqe(index_);
}

ReceiveView HostQueue::receive_view(ReceiveState* state) const {
  ReceiveView view = arena_->receive_view_of(index_);
  view.state = state;
  return view;
}

HostQueue::~HostQueue() {
  if (has_queue_ && !backend_.destroy_queue(resources_.number)) arena_->leave_behind();
}

}  // namespace gdakit
