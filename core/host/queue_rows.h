// Making rows of queues, one to each peer: for the queues of a PE and for its channels.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/host/bootstrap/bootstrap.h"
#include "core/host/host_queue.h"

namespace gdakit {

class QueueRows {
 public:
  // What is given outlives it.
  QueueRows(Bootstrap& bootstrap, Backend& backend, MemoryProvider& memory)
      : bootstrap_(bootstrap), backend_(backend), memory_(memory) {}

  // Collective. Makes `count` rows of one shape, connects them, and has `show` tell the threads
  // that will post; `states` is zeroed memory, of one for each. On an error no PE has made any:
  // each hears of a PE that could not.
  Result<HostQueues> make(const QueueShape& shape, std::uint32_t count, QueueState* states,
                          const std::function<Result<void>(const HostQueues&)>& show);

 private:
  Result<HostQueues> make_own(const QueueShape& shape, std::uint32_t count, QueueState* states);
  Result<std::vector<Bytes>> exchange_cards(const HostQueues& made);
  Result<void> connect(const HostQueues& made, const std::vector<Bytes>& cards);

  Bootstrap& bootstrap_;
  Backend& backend_;
  MemoryProvider& memory_;
};

}  // namespace gdakit
