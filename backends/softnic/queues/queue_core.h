// What all queues of an engine share: its port, its keys, the time, and the ways to read a doorbell
// record, to post a CQE and to let a queue pair fail.
#pragma once

#include <cstdint>
#include <optional>

#include "backends/softnic/dma/dma.h"
#include "backends/softnic/memory/keys.h"
#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/objects/events.h"
#include "backends/softnic/objects/nic_trace.h"
#include "backends/softnic/queues/cq.h"
#include "backends/softnic/queues/fetch_buffers.h"
#include "backends/softnic/queues/linked_list.h"
#include "backends/softnic/queues/qp_common.h"
#include "core/base/endian.h"
#include "core/host/counters.h"

namespace gdakit::softnic {

// What a turn of work on something came to.
struct Turn {
  bool worked = false;   // something has changed
  bool pending = false;  // it waits for DMA or for room on the wire: look again soon

  Turn& operator|=(Turn other) {
    worked |= other.worked;
    pending |= other.pending;
    return *this;
  }
};

// A dword of a doorbell record on its way here.
struct RecordRead {
  bool wanted = false;
  bool reading = false;
  bool rung = false;    // a doorbell has moved the counter
  bool behind = false;  // ... further than the record said afterwards
  Be32 word{0};
  DmaOp op;
  std::uint64_t since = 0;  // the producer counter when the read began

  bool idle() const { return !wanted && !reading; }
  // It may say more by now than when a read began that is on its way.
  void look_again() { wanted = true; }
  void look() { wanted = wanted || !reading; }
};

class QueueCore;

// Who has work that is no queue pair's turn: in the list of those until it comes to its end.
class SideWork {
 public:
  virtual ~SideWork() = default;
  virtual Turn work(QueueCore& core) = 0;

  Link<SideWork> active;
};

class QueueCore {
 public:
  // `sink`: who listens to events; null: nobody. It outlives the engine.
  QueueCore(DmaPort& dma_port, EventSink* sink)
      : port(dma_port), ordered(dma_port.ordered()), events_(sink) {}

  bool done(DmaOp op) { return op.id == 0 || port.done(op); }
  // `last` is the last operation of a series: what must be done for all of the series to be.
  DmaOp all_of(DmaOp last) { return ordered || last.id == 0 ? last : port.fence(); }

  // False: the CQ's last CQE is still on its way; try again. A CQE for an overrun CQ is lost.
  bool post_cqe(QpCommon& qp, Cq& cq, format::Cqe64& cqe) {
    return trace == nullptr ? post_untold(qp, cq, cqe) : post_told(qp, cq, cqe);
  }
  void activate(Cq& cq) {
    if (!active_cqs.holds(cq)) active_cqs.push_back(cq);
  }
  void activate(SideWork& some) {
    if (!side_work.holds(some)) side_work.push_back(some);
  }

  // Reads a dword of a doorbell record, if that is wanted. True when it has arrived: `producer` is
  // what it says, unless a doorbell has said more meanwhile.
  bool poll_record(RecordRead& record, DmaAddress address, std::uint64_t& producer,
                   std::uint64_t depth);

  void tell(const Event& event) {
    if (events_ != nullptr) events_->event(event);
  }
  // From now on the queue pair flushes. Its parts notice it when they have their turn. The event is
  // told if it was this that made the queue pair fail.
  void fail(QpCommon& qp, const QpError& error, std::optional<EventKind> event = {});
  // ... its send queue alone does, until it is brought back to state rts.
  void fail_send_queue(QpCommon& qp, const QpError& error);

  DmaPort& port;
  const bool ordered;
  KeyTable keys;
  FetchBuffers fetch_buffers;
  NicCounters counters;  // of no queue pair, or of those that are gone
  std::uint64_t now_ns = 0;
  LinkedList<Cq, &Cq::active> active_cqs;  // those that must step
  LinkedList<SideWork, &SideWork::active> side_work;
  // There may be queue pairs that an error has broken, or whose record was behind. Where there are
  // none, nobody need look at each of them many times a second.
  bool any_broken = false;
  bool any_behind = false;
  NicTrace* trace = nullptr;  // null: nobody wants a timeline

 private:
  bool post_untold(QpCommon& qp, Cq& cq, format::Cqe64& cqe) {
    const Cq::Posted posted = cq.post(cqe, now_ns);
    if (posted == Cq::Posted::not_yet) return false;
    ++(posted == Cq::Posted::lost ? qp.counters.cq_overflow : qp.counters.cqes);
    if (posted != Cq::Posted::written) activate(cq);
    return true;
  }
  bool post_told(QpCommon& qp, Cq& cq, format::Cqe64& cqe);
  void note(QpCommon& qp, const QpError& error);

  EventSink* const events_;
};

// How far `value`, the low 16 bits of a producer counter, is ahead of `producer`; 0 if it is not,
// or is further than the queue is deep.
constexpr std::uint64_t producer_advance(std::uint64_t producer, std::uint16_t value,
                                         std::uint64_t depth) {
  const std::uint16_t distance =
      static_cast<std::uint16_t>(value - static_cast<std::uint16_t>(producer));
  return distance <= depth ? distance : 0;
}

}  // namespace gdakit::softnic
