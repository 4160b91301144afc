// The list of a WQE that changes a key, where it is not in the WQE but somewhere in memory: in one
// piece, or in as many as it has bytes, of which each turn reads some.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/softnic/dma/dma.h"
#include "backends/softnic/memory/key_change.h"
#include "backends/softnic/queues/qp_common.h"
#include "backends/softnic/queues/queue_core.h"
#include "backends/softnic/queues/request.h"

namespace gdakit::softnic {

class ListRead {
 public:
  // For the WQE of this index, call after call until the result is true: then the entries are in
  // `change`, or `fault` says why they cannot be read, and nothing is under way.
  bool read(QueueCore& core, const QpCommon& qp, std::uint64_t wqe, KeyChange& change,
            Fault& fault);

 private:
  void begin(std::uint64_t wqe, const KeyChange::Place& place);
  Fault read_some(QueueCore& core, const QpCommon& qp);
  bool is_read() const { return fault_ || at_ == place_.bytes; }

  std::vector<KeyListEntry> entries_;  // DMA writes to them until `op_` is done
  DmaOp op_;
  bool reading_ = false;
  KeyChange::Place place_;
  std::uint64_t at_ = 0;   // of its bytes: those before are read, or under way
  Fault fault_;            // told when `op_` is done
  std::uint64_t wqe_ = 0;  // that they are read for
};

}  // namespace gdakit::softnic
