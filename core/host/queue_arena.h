// The memory of queues that are made together: one piece of each kind for all of them, which each
// NIC registers once.
//
//   queues    receives, slots, CQE, doorbell record, CQEs of receives   what the NIC reads as queue
//   words     ready words of all, then results of all                   what the threads share
//   commands  slots and CQE, where a host thread makes the WQEs
//   states    QueueState of each
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/host/backend.h"
#include "core/host/memory/memory_provider.h"
#include "core/host/nic_keys.h"
#include "device/channel_views.h"
#include "device/views.h"

namespace gdakit {

// What queues that are made together have in common.
struct QueueShape {
  std::uint32_t depth;        // WQEBBs
  std::uint32_t fetch_slots;  // of the fetch ring
  Place place;                // of slots, CQEs and record
  Sharing sharing;
  Handler handler;
  Place words_place = Place::device;  // of what the threads that post share
  std::uint32_t receive_depth = 0;    // receive WQEs; 0: there is no receive queue
  std::uint8_t rnr_retry = 7;         // QueueMemory::rnr_retry
  QueueType type = QueueType::rc;
  bool recordless = false;      // the threads write no doorbell record
  std::uint32_t first_row = 0;  // the number of the first row among those to each peer
};

// Where the parts of one queue lie, from where its share of each piece begins.
struct QueueLayout {
  explicit QueueLayout(const QueueShape& shape);

  std::uint64_t receives = 0;  // a ConnectX has the slots right behind them
  std::uint64_t slots, cqe, record, proxy, receive_cqes, queue_bytes;
  std::uint64_t ready_bytes;
  std::uint64_t results = 0;
  std::uint64_t sink, result_bytes;
  std::uint64_t commands_bytes;
};

class QueueArena {
 public:
  // Memory for `rows` rows of `in_row` queues each, both 1 or more, that holds what new queues'
  // memory does: no CQE yet, and the baton at slot 0. What is given outlives it.
  static Result<std::shared_ptr<QueueArena>> create(const QueueShape& shape, std::uint32_t rows,
                                                    std::size_t in_row, Backend& backend,
                                                    MemoryProvider& memory);
  ~QueueArena();
  QueueArena(const QueueArena&) = delete;
  QueueArena& operator=(const QueueArena&) = delete;

  const QueueShape& shape() const { return shape_; }
  std::size_t count() const { return count_; }
  // All bytes of it, whatever for.
  std::uint64_t bytes() const;

  // Of queue `index`: its row's number among those to each peer, and by which NIC that goes.
  std::uint32_t row_of(std::size_t index) const {
    return shape_.first_row + static_cast<std::uint32_t>(index / in_row_);
  }
  std::uint32_t nic_of(std::size_t index) const { return row_of(index) % nics_; }

  // Of queue `index`: what the backend makes it of, and what threads see of its memory. The parts
  // that come from the backend are void.
  QueueMemory memory_of(std::size_t index) const;
  QueueView view_of(std::size_t index) const;
  ReceiveView receive_view_of(std::size_t index) const;
  // Where the device's threads write commands, and look for completions; null: in the queue itself.
  format::Segment* command_slots(std::size_t index) const;
  std::uint64_t* command_cqe(std::size_t index) const;
  // The index that a proxy watches.
  std::uint64_t* proxy_index(std::size_t index) const;

  // The states of all queues as they are now.
  Result<std::vector<QueueState>> read_states() const;

  // A queue could not be taken from the NIC, which may use its memory for ever.
  void leave_behind() { left_behind_ = true; }

 private:
  QueueArena(const QueueShape& shape, std::uint32_t rows, std::size_t in_row, Backend& backend)
      : shape_(shape),
        layout_(shape),
        in_row_(in_row),
        count_(rows * in_row),
        nics_(backend.limits().nics),
        backend_(backend) {}

  Result<void> allocate(MemoryProvider& memory);
  Result<void> initialize_cqes(MemoryBlock& block, std::uint64_t at, std::uint64_t cqes);
  Result<void> initialize();
  char* queue(std::size_t index) const;
  char* results(std::size_t index) const;
  std::uint64_t ready_end() const;

  const QueueShape shape_;
  const QueueLayout layout_;
  const std::size_t in_row_;
  const std::size_t count_;
  const std::uint32_t nics_;
  Backend& backend_;
  std::shared_ptr<MemoryBlock> queues_;
  std::shared_ptr<MemoryBlock> words_;
  std::shared_ptr<MemoryBlock> commands_;  // null but with Handler::commands
  std::shared_ptr<MemoryBlock> states_;
  NicKeys keys_;  // of the results
  bool left_behind_ = false;
};

}  // namespace gdakit
