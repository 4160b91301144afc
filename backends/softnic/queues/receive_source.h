// Where a receiver takes its receive WQEs from: a receive queue of its own, or one that queue pairs
// share.
//
//   claim()  -->  ReceiveWqe, the receiver's alone  -->  scatter  -->  its CQE, or a flush
#pragma once

#include <cstdint>
#include <vector>

#include "backends/softnic/queues/queue_core.h"
#include "backends/softnic/queues/request.h"

namespace gdakit::softnic {

inline constexpr std::uint32_t kMaxReceiveStride = 512;

// A receive WQE that was claimed, and how far it is filled.
struct ReceiveWqe {
  // A data segment.
  struct Segment {
    std::uint64_t iova = 0;
    std::uint32_t size = 0;
    MemoryKey lkey = 0;
  };
  Segment segment(std::uint32_t number) const;

  // All its bytes are here, and `first` segments of them are none of data: counts the segments.
  void begin(std::uint32_t first = 0);
  // The next `size` bytes, which the current segment has, are filled.
  void advance(std::uint64_t size);

  std::uint16_t index = 0;  // what its CQE says as wqe_counter
  PdNumber pd = 0;          // whose keys its segments name
  std::vector<std::uint8_t> bytes;
  std::uint32_t segment_count = 0;  // with the first ones
  std::uint32_t current = 0;        // segment
  std::uint64_t offset = 0;         // in that
};

class ReceiveSource {
 public:
  enum class Claim : std::uint8_t {
    claimed,
    again,   // it is on its way; ask again with the same `wqe`
    none,    // the client has posted none
    broken,  // there will be none any more: the queue itself has failed
  };

  virtual ~ReceiveSource() = default;

  // The next WQE, which nobody else gets.
  virtual Claim claim(QueueCore& core, ReceiveWqe& wqe) = 0;

  // The queue pair has failed: WQEs that nobody has claimed complete in order, flushed, if they are
  // for this queue pair alone. Some of them in each turn.
  virtual Turn flush(QueueCore& core) = 0;
};

}  // namespace gdakit::softnic
