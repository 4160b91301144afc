// A receive queue of one queue pair: a ring of WQEs, and how far the client has posted.
//
//   consumer            producer
//      v                   v
//      | posted            |          in WQEs since the queue began
#pragma once

#include <cstdint>

#include "backends/softnic/queues/qp_common.h"
#include "backends/softnic/queues/receive_source.h"

namespace gdakit::softnic {

class ReceiveQueue final : public ReceiveSource {
 public:
  // Its queue pair outlives it.
  explicit ReceiveQueue(QpCommon& qp) : qp_(qp) {}

  // More may have been posted.
  void look_at_record() { record_.look(); }

  std::uint64_t producer() const { return producer_; }
  std::uint64_t consumer() const { return consumer_; }

  Claim claim(QueueCore& core, ReceiveWqe& wqe) override;
  Turn flush(QueueCore& core) override;

 private:
  bool update_producer(QueueCore& core);

  QpCommon& qp_;
  std::uint64_t producer_ = 0;
  std::uint64_t consumer_ = 0;
  RecordRead record_;
  bool flushing_ = false;
  bool fetching_ = false;
  DmaOp fetch_op_;
};

}  // namespace gdakit::softnic
