// Making rows of queues, one to each of some peers: for the queues of a PE and for its channels.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/host/bootstrap/bootstrap.h"
#include "core/host/host_queue.h"

namespace gdakit {

// Queues that were made together, row by row, and in a row in the order of the peers.
struct RowsOfQueues {
  HostQueues queues;
  std::shared_ptr<QueueArena> arena;  // null where there is no queue
};

class QueueRows {
 public:
  // What is given outlives it.
  QueueRows(Bootstrap& bootstrap, Backend& backend, MemoryProvider& memory)
      : bootstrap_(bootstrap), backend_(backend), memory_(memory) {}

  // Collective. Makes `count` rows of one shape to `peers`, who name this PE likewise, and connects
  // them, so that all PEs may post when this returns; the row number shape.first_row + i of all PEs
  // by the NIC of that place. On an error no PE has made any: each hears of a PE that could not,
  // and why.
  Result<RowsOfQueues> make(const QueueShape& shape, std::uint32_t count,
                            const std::vector<int>& peers);

 private:
  Result<RowsOfQueues> make_own(const QueueShape& shape, std::uint32_t count,
                                const std::vector<int>& peers);
  Result<std::vector<Bytes>> exchange_cards(const Result<RowsOfQueues>& made,
                                            const std::vector<int>& peers);
  Result<void> connect(const RowsOfQueues& made, std::uint32_t count, const std::vector<int>& peers,
                       const std::vector<Bytes>& cards);

  Bootstrap& bootstrap_;
  Backend& backend_;
  MemoryProvider& memory_;
};

}  // namespace gdakit
