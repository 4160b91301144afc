// The send queues of one PE: several to each peer, itself included, and the table of them that the
// device's threads read.
//
//   queue 0:  PE 0, PE 1, ... PE n-1      first connection: options.queues_per_peer rows
//   queue 1:  PE 0, PE 1, ... PE n-1
//   queue 2:  ...                         later additions: more rows, of either sharing
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/options.h"
#include "core/host/backend.h"
#include "core/host/memory/memory_provider.h"
#include "device/proxied_queue.h"

namespace gdakit {

inline constexpr std::uint32_t kMaxQueuesPerPeer = 1024;

struct QueueLayout;

// What the queues of a row have in common.
struct QueueShape {
  std::uint32_t depth;        // WQEBBs
  std::uint32_t fetch_slots;  // of the fetch ring
  Place place;                // of slots, CQEs and record
  Sharing sharing;
  Handler handler;
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
  bool has_keys_ = false;
  bool has_queue_ = false;
};

class QueueTable {
 public:
  static Result<std::unique_ptr<QueueTable>> create(const Options& options, Bootstrap& bootstrap,
                                                    Backend& backend, MemoryProvider& memory);

  // Collective. Adds `count` queues to each peer and connects them; returns the index of the first.
  Result<std::uint32_t> add(std::uint32_t count, Sharing sharing);

  const QueueView* views() const { return static_cast<const QueueView*>(table_->data()); }
  std::uint32_t queues_per_peer() const { return count_; }
  Handler handler() const { return handler_; }
  // Where the queues lie.
  Place place() const { return place_; }

  // All queues, in the order of the table.
  const std::vector<std::unique_ptr<HostQueue>>& queues() const { return queues_; }
  const HostQueue& at(std::uint32_t queue, int peer) const;

  // The states of all queues, in the order of the table, as they are now.
  Result<std::vector<QueueState>> read_states() const;

 private:
  QueueTable(const Options& options, Bootstrap& bootstrap, Backend& backend,
             MemoryProvider& memory);

  Result<void> choose_place();
  Result<void> make_tables();
  // Whole rows, in the order of the table.
  using Queues = std::vector<std::unique_ptr<HostQueue>>;
  Result<void> make_rows(std::uint32_t count, Sharing sharing, Queues& made);
  Result<std::vector<Bytes>> exchange_cards(const Queues& made);
  Result<void> connect(const Queues& made, const std::vector<Bytes>& cards);
  Result<void> show(const Queues& made);

  Options options_;
  Bootstrap& bootstrap_;
  Backend& backend_;
  MemoryProvider& memory_;
  Handler handler_ = Handler::gpu;
  Place place_ = Place::device;
  std::unique_ptr<MemoryBlock> table_;   // QueueView[kMaxQueuesPerPeer][size]
  std::unique_ptr<MemoryBlock> states_;  // QueueState[kMaxQueuesPerPeer][size]
  std::vector<std::unique_ptr<HostQueue>> queues_;
  std::uint32_t count_ = 0;
};

}  // namespace gdakit
