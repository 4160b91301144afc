// The send queues of one PE, itself included as a peer, and the table of them that the device's
// threads read.
//
//   row 0:  PE 0, PE 1, ... PE n-1      first connection: options.queues_per_peer rows
//   row 1:  PE 0, PE 1, ... PE n-1
//   row 2:  ...                         later additions: more rows, of either sharing
//
// A row of RC has a queue to each connected peer, and void views for the others. A row of DC, as
// all shared ones are with GDAKIT_QUEUE_TYPE=dc, has some queues that all peers share. Row r goes
// by NIC r modulo the number of NICs, on all PEs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/options.h"
#include "core/host/backend.h"
#include "core/host/dc_targets.h"
#include "core/host/memory/memory_provider.h"
#include "core/host/queue_rows.h"

namespace gdakit {

inline constexpr std::uint32_t kMaxQueuesPerPeer = 1024;

class QueueTable {
 public:
  // Collective. `peers` are those to be connected, ascending.
  static Result<std::unique_ptr<QueueTable>> create(const Options& options, Bootstrap& bootstrap,
                                                    Backend& backend, MemoryProvider& memory,
                                                    const std::vector<int>& peers);

  // Collective. Adds `count` queues to each peer and connects them; returns the index of the first.
  Result<std::uint32_t> add(std::uint32_t count, Sharing sharing);

  // Collective. Adds queues of all rows to more peers, who name this PE likewise.
  Result<void> connect(const std::vector<int>& peers);

  // The table as it is now. Kernels that have an older one may go on with it.
  const QueueView* views() const { return static_cast<const QueueView*>(tables_.back()->data()); }
  std::uint32_t queues_per_peer() const { return static_cast<std::uint32_t>(rows_.size()); }
  // Among how many of them threads are spread by their block: the first ones, as many by each NIC.
  std::uint32_t mapped_queues() const;
  // The queues of a row of DC.
  std::uint32_t dc_queues() const;
  Handler handler() const { return handler_; }
  // Where the queues lie.
  Place place() const { return place_; }
  // Those that are connected, ascending.
  const std::vector<int>& peers() const { return peers_; }

  // All queues, as they came, and the row of each.
  const HostQueues& queues() const { return queues_; }
  std::uint32_t row_of(std::size_t queue) const { return places_[queue].row; }

  // The states of all queues, in the order of queues(), as they are now.
  Result<std::vector<QueueState>> read_states() const;
  // The memory of all queues.
  std::uint64_t bytes() const;

 private:
  // Where in the table a queue begins: of DC, those of the same row that are dc_queues() on are its
  // peers, too.
  struct PlaceInTable {
    std::uint32_t row;
    int peer;
  };

  QueueTable(const Options& options, Bootstrap& bootstrap, Backend& backend,
             MemoryProvider& memory);

  Result<void> choose(const BackendLimits& limits);
  Result<void> choose_place();
  bool is_dc(Sharing sharing) const;
  QueueShape shape_of(Sharing sharing, std::uint32_t first_row) const;
  Result<RowsOfQueues> make_rows(Sharing sharing, std::uint32_t first_row, std::uint32_t count,
                                 const std::vector<int>& peers);
  Result<RowsOfQueues> make_initiators(const QueueShape& shape, std::uint32_t count);
  void take(RowsOfQueues made);
  Result<std::unique_ptr<MemoryBlock>> make_table() const;
  std::vector<QueueView> make_views() const;
  Result<void> publish();
  void drop_from(std::size_t first_queue);

  Options options_;
  Bootstrap& bootstrap_;
  Backend& backend_;
  MemoryProvider& memory_;
  Handler handler_ = Handler::gpu;
  Place place_ = Place::device;
  std::vector<int> peers_;
  std::vector<Sharing> rows_;
  std::unique_ptr<DcTargets> dc_targets_;             // null: no DC
  std::vector<std::unique_ptr<MemoryBlock>> tables_;  // QueueView[rows][size], the newest last
  std::vector<std::shared_ptr<QueueArena>> arenas_;   // in the order of their queues
  HostQueues queues_;
  std::vector<PlaceInTable> places_;  // of queues_
};

}  // namespace gdakit
