// One queue of a PE on the host's side: its part of an arena, and what the backend knows it by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/host/queue_arena.h"
#include "device/proxied_queue.h"

namespace gdakit {

class HostQueue {
 public:
  // Queue `index` of the arena; `peer` is the PE at the other end, or, of DC, the first of those
  // that share it.
  static Result<std::unique_ptr<HostQueue>> create(std::shared_ptr<QueueArena> arena,
                                                   std::size_t index, Backend& backend, int peer);
  ~HostQueue();
  HostQueue(const HostQueue&) = delete;
  HostQueue& operator=(const HostQueue&) = delete;

  // As the device's threads see it.
  const QueueView& view() const { return view_; }
  // Its receive side, whose state lies elsewhere; void if the shape has none.
  ReceiveView receive_view(ReceiveState* state) const;
  // For the proxy, if the handler is one.
  ProxiedQueue proxied() const { return ProxiedQueue::of(view_, nic_view_); }
  QueueNumber number() const { return resources_.number; }
  std::uint32_t qpn() const { return resources_.qpn; }
  const Bytes& card() const { return resources_.card; }
  QueueType type() const { return arena_->shape().type; }

 private:
  HostQueue(std::shared_ptr<QueueArena> arena, std::size_t index, Backend& backend)
      : arena_(std::move(arena)), index_(index), backend_(backend) {}

  void make_views(int peer);

  const std::shared_ptr<QueueArena> arena_;
  const std::size_t index_;
  Backend& backend_;
  QueueResources resources_;
  QueueView view_{};
  QueueView nic_view_{};  // of the queue that the NIC reads
  bool has_queue_ = false;
};

using HostQueues = std::vector<std::unique_ptr<HostQueue>>;

}  // namespace gdakit
