// Where a target of XRC takes its receive WQEs from: the shared receive queue that the message in
// hand names, a message at a time. A responder of DC takes them so from its target's.
#pragma once

#include "backends/softnic/queues/receive_source.h"
#include "backends/softnic/queues/srq.h"

namespace gdakit::softnic {

class TargetSource final : public ReceiveSource {
 public:
  TargetSource() = default;
  explicit TargetSource(Srq& srq) : srq_(&srq) {}

  // The message in hand names this one.
  void turn_to(Srq& srq) {
    if (srq_ == &srq) return;
    srq_ = &srq;
    ask_ = {};
  }
  // It goes.
  void forget(const Srq& srq) {
    if (srq_ == &srq) srq_ = nullptr;
  }

  Claim claim(QueueCore& core, ReceiveWqe& wqe) override { return srq_->claim(core, ask_, wqe); }
  // None are for this queue pair alone.
  Turn flush(QueueCore&) override { return {}; }

 private:
  Srq* srq_ = nullptr;
  Srq::Ask ask_;
};

}  // namespace gdakit::softnic
