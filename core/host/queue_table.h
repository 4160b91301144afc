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
#include "core/host/host_queue.h"
#include "core/host/memory/memory_provider.h"

namespace gdakit {

inline constexpr std::uint32_t kMaxQueuesPerPeer = 1024;

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
  const HostQueues& queues() const { return queues_; }
  const HostQueue& at(std::uint32_t queue, int peer) const;

  // The states of all queues, in the order of the table, as they are now.
  Result<std::vector<QueueState>> read_states() const;

 private:
  QueueTable(const Options& options, Bootstrap& bootstrap, Backend& backend,
             MemoryProvider& memory);

  Result<void> choose_place();
  Result<void> make_tables();
  Result<void> show(const HostQueues& made);

  Options options_;
  Bootstrap& bootstrap_;
  Backend& backend_;
  MemoryProvider& memory_;
  Handler handler_ = Handler::gpu;
  Place place_ = Place::device;
  std::unique_ptr<MemoryBlock> table_;   // QueueView[kMaxQueuesPerPeer][size]
  std::unique_ptr<MemoryBlock> states_;  // QueueState[kMaxQueuesPerPeer][size]
  HostQueues queues_;
  std::uint32_t count_ = 0;
};

}  // namespace gdakit
