// One queue of a PE on the host's side: its memory, and what the backend knows it by.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/host/backend.h"
#include "core/host/memory/memory_provider.h"
#include "device/channel_views.h"
#include "device/proxied_queue.h"

namespace gdakit {

struct QueueLayout;

// What the queues of a row have in common.
struct QueueShape {
  std::uint32_t depth;        // WQEBBs
  std::uint32_t fetch_slots;  // of the fetch ring
  Place place;                // of slots, CQEs and record
  Sharing sharing;
  Handler handler;
  Place words_place = Place::device;  // of what the threads that post share
  std::uint32_t receive_depth = 0;    // receive WQEs; 0: there is no receive queue
  std::uint8_t rnr_retry = 7;         // QueueMemory::rnr_retry
};

// One queue: its memory, its registered part, and what the backend knows it by.
class HostQueue {
 public:
  // `state` is zeroed memory of the device, `place` says where the rest of the queue lies.
  static Result<std::unique_ptr<HostQueue>> create(const QueueShape& shape, Backend& backend,
                                                   MemoryProvider& memory, QueueState* state,
                                                   int peer);
  ~HostQueue();
  HostQueue(const HostQueue&) = delete;
  HostQueue& operator=(const HostQueue&) = delete;

  // As the device's threads see it.
  const QueueView& view() const { return view_; }
  // Its receive side, whose state lies elsewhere; void if the shape has none.
  ReceiveView receive_view(ReceiveState* state) const {
    ReceiveView view = receive_view_;
    view.state = state;
    return view;
  }
  // For the proxy, if the handler is one.
  ProxiedQueue proxied() const { return ProxiedQueue::of(view_, nic_view_); }
  QueueNumber number() const { return resources_.number; }
  const Bytes& card() const { return resources_.card; }

 private:
  explicit HostQueue(Backend& backend) : backend_(backend) {}

  Result<void> allocate(const QueueShape& shape, const QueueLayout& layout, MemoryProvider& memory);
  void make_views(const QueueShape& shape, const QueueLayout& layout, QueueState* state, int peer);

  Backend& backend_;
  std::unique_ptr<MemoryBlock> memory_;    // slots, CQE, doorbell record
  std::unique_ptr<MemoryBlock> commands_;  // Handler::commands: the device's slots and CQE
  std::unique_ptr<MemoryBlock> words_;     // ready words, results
  MemoryKeys keys_;                        // of the part that the NIC writes results to
  QueueResources resources_;
  QueueView view_{};
  QueueView nic_view_{};  // of the queue that the NIC reads
  ReceiveView receive_view_{};
  bool has_keys_ = false;
  bool has_queue_ = false;
};

// Whole rows of queues: row 0 to PE 0, 1, ..., row 1 to PE 0, 1, ..., as the tables have them.
using HostQueues = std::vector<std::unique_ptr<HostQueue>>;

}  // namespace gdakit
