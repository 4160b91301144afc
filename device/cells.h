// How a send queue is cut: into *cells*, of one slot each, or of two where the queue is of DC. All
// posts are of whole cells.
//
//   RC   | control, remote, data, -   |                                 WQE of one slot
//   DC   | control, address (3)       | remote, data, -, -   |          ... of both
//        | NOP                        | NOP or DUMP          |          ... without an address
//
// So on DC a WQE that goes to a peer begins at an even slot and takes its whole cell, whatever it
// does, and one that goes to nobody is the second in its cell. Of RC the longest WQEs take two
// cells.
#pragma once

#include "device/views.h"

namespace gdakit {

// Whether it is an initiator of DC, which several peers may share.
GDAKIT_HOST_DEVICE inline bool is_dc(const QueueView& queue) { return queue.address != nullptr; }

// The slots of a cell are 2 to the power of that; and 1, or 0, is also the last one's place in it.
GDAKIT_HOST_DEVICE inline std::uint32_t log_cell(const QueueView& queue) {
  return is_dc(queue) ? 1 : 0;
}

// The slot at which the cell begins that is `cells` behind the one at `index`.
GDAKIT_HOST_DEVICE inline std::uint64_t cells_behind(const QueueView& queue, std::uint64_t index,
                                                     std::uint64_t cells) {
  return index + (cells << log_cell(queue));
}

}  // namespace gdakit
