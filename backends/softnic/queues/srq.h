// A shared receive queue: WQEs of which each goes to the queue pair that asks first. Each of its
// queue pairs has an SrqShare, by which it asks.
//
//   taken               posted
//     v                    v
//     | for whoever asks   |                 in WQEs since the queue began
//
//   record --> how many are posted --> fetch of the next one --> a queue pair's ReceiveWqe
//
// There is no doorbell register: the record is read when a WQE is wanted and none is known of, and
// when fewer are known of than an armed limit. Only with the WQE comes the index of the next one,
// so one is fetched at a time, whoever wants it.
//
// One of XRC has no queue pairs of its own: a target of its domain asks when a packet names it, and
// the WQE's CQE goes to its own CQ.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/queues/qp_common.h"
#include "backends/softnic/queues/queue_core.h"
#include "backends/softnic/queues/receive_source.h"

namespace gdakit::softnic {

class Srq final : public SideWork {
 public:
  // Of a queue pair that is waiting for the record to be read.
  struct Ask {
    std::uint64_t reads = 0;  // how many such reads have ended then; 0: it is not waiting
  };

  // `cq`: of one of XRC; it outlives this.
  Srq(SrqNumber number, const SrqAttributes& attributes, Cq* cq = nullptr)
      : number_(number), attributes_(attributes), cq_(cq) {}

  // As ReceiveSource::claim.
  ReceiveSource::Claim claim(QueueCore& core, Ask& ask, ReceiveWqe& wqe);

  // One event will be told when fewer WQEs than this are posted and not taken: at once, if so now.
  // 0: none.
  void arm(QueueCore& core, std::uint32_t limit);
  // Looks whether the limit is reached.
  Turn work(QueueCore& core) override;

  SrqNumber number() const { return number_; }
  SrqInfo info() const;
  PdNumber pd() const { return attributes_.pd; }
  // Of XRC, or nothing.
  const std::optional<XrcSrqAttributes>& xrc() const { return attributes_.xrc; }
  Cq* cq() const { return cq_; }
  std::uint64_t depth() const { return std::uint64_t{1} << attributes_.log_wqes; }
  // What it reads.
  std::vector<MemoryRange> memory() const;

  std::uint32_t users = 0;  // queue pairs; whoever makes and destroys them counts

 private:
  void read_record(QueueCore& core);
  bool has_looked(QueueCore& core, Ask& ask);
  bool begin_fetch(QueueCore& core);
  void take(QueueCore& core, ReceiveWqe& wqe);
  std::uint64_t left() const { return producer_ - consumer_; }

  const SrqNumber number_;
  const SrqAttributes attributes_;
  Cq* const cq_;
  bool error_ = false;
  std::uint32_t limit_ = 0;

  std::uint64_t producer_ = 0;
  std::uint64_t consumer_ = 0;
  std::uint16_t next_ = 0;  // list: index of the WQE at consumer_
  RecordRead record_;
  std::uint64_t reads_ = 0;  // of the record that have ended

  bool fetching_ = false;
  DmaOp fetch_op_;
  std::vector<std::uint8_t> fetched_;
};

// A queue pair's way to take WQEs from one.
class SrqShare final : public ReceiveSource {
 public:
  // The shared receive queue and the queue pair outlive it.
  SrqShare(QpCommon& qp, Srq* srq) : qp_(qp), srq_(srq) {}

  Claim claim(QueueCore& core, ReceiveWqe& wqe) override { return srq_->claim(core, ask_, wqe); }

  // WQEs that nobody has claimed stay for others. The event that the queue pair takes no more is
  // told once, when the CQEs of those that it had are visible.
  Turn flush(QueueCore& core) override;

 private:
  enum class LastWqe : std::uint8_t { none, completes, told };

  QpCommon& qp_;
  Srq* const srq_;
  Srq::Ask ask_;
  LastWqe last_ = LastWqe::none;
  DmaOp fence_;
};

}  // namespace gdakit::softnic
