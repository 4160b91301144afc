// A send queue: how far the client has posted, private copies of its WQEs, decoding, and flushing.
// What a WQE then does is the transport's business.
//
//   completed          started             producer
//      v                  v                   v
//      | the transport's  | announced         |             in WQEBBs since the queue began
#pragma once

#include <cstdint>
#include <memory>

#include "backends/softnic/queues/list_read.h"
#include "backends/softnic/queues/qp_common.h"
#include "backends/softnic/queues/queue_core.h"
#include "backends/softnic/queues/request.h"

namespace gdakit::softnic {

class SendQueue {
 public:
  // Whether a WQE is at hand.
  enum class Read : std::uint8_t { done, pending };

  static constexpr std::uint64_t kEverything = ~std::uint64_t{0};

  // Its queue pair outlives it.
  explicit SendQueue(QpCommon& qp) : qp_(qp) {}

  // `counter` WQEBBs count as posted and completed: the first one to be read is behind them.
  void begin(std::uint64_t counter);

  // A doorbell announced the producer counter whose low 16 bits are `hint`.
  void ring(std::uint16_t hint);
  // One came that only hints at it: the record, to be looked at again, is what counts.
  void ring_for_record(std::uint16_t hint);
  // The record may have changed, just now or since it was last read.
  void look_at_record_again() {
    if (!qp_.attributes.no_send_record) record_.look_again();
  }
  void sweep_record(std::uint64_t now_ns);
  bool waits_for_record() const { return !record_.idle(); }
  // Takes over what the record says; true if the counter has moved.
  bool update_producer(QueueCore& core);

  // Decodes the WQE at started(), or again one that was started, of `wqebbs`. `fault` is why it
  // cannot be what it says.
  Read read_next(QueueCore& core, Request& request, Fault& fault);
  Read read_again(QueueCore& core, std::uint64_t index, std::uint32_t wqebbs, Request& request,
                  Fault& fault);

  // Whether one of `wqebbs` slots from `index` on is being read: once more, if the WQE was started.
  bool is_reading(QueueCore& core, std::uint64_t index, std::uint32_t wqebbs) const {
    return fetching_ && index < fetch_end_ && fetch_begin_ < index + wqebbs &&
           !core.done(fetch_op_);
  }

  void start(std::uint32_t wqebbs) { started_ += wqebbs; }
  void complete(std::uint32_t wqebbs) { completed_ += wqebbs; }

  // The transport has given up what was started: all that has not completed is to be flushed, with
  // what the record alone announces.
  void begin_flush();
  // Completes what is announced, in order, flushed, but nothing behind `end`: some of it in each
  // turn.
  Turn flush(QueueCore& core, std::uint64_t end = kEverything);

  // The private copy goes, if the WQE at started() is not in it. The transport needs none of those
  // before.
  void give_back_if_unneeded(QueueCore& core);
  // ... whatever it holds: no DMA writes to it any more.
  void give_back(QueueCore& core);

  std::uint64_t producer() const { return producer_; }
  std::uint64_t started() const { return started_; }
  std::uint64_t completed() const { return completed_; }
  bool record_behind() const { return record_.behind; }

 private:
  // WQEs that only the record has announced so far: their doorbell is late, or lost.
  struct Unrung {
    bool pending = false;
    bool is_expected = false;  // a doorbell, or the beginning, had the record looked at
    std::uint64_t since_ns = 0;
  };

  void record_arrived(std::uint64_t before, std::uint64_t now_ns);
  Read read_list(QueueCore& core, KeyChange& change, Fault& fault);
  const std::uint8_t* fetch(QueueCore& core, std::uint64_t index, std::uint64_t wqebbs);
  void begin_fetch(QueueCore& core, std::uint64_t index);
  Fault decode_at(std::uint64_t index, const std::uint8_t* wqe, Request& request) const;

  QpCommon& qp_;
  std::uint64_t producer_ = 0;
  std::uint64_t started_ = 0;
  std::uint64_t completed_ = 0;
  RecordRead record_;
  Unrung unrung_;

  // A linear copy of WQEBBs [fetch_begin_, fetch_end_); null while none is needed.
  std::uint8_t* fetched_ = nullptr;
  std::uint64_t fetch_begin_ = 0;
  std::uint64_t fetch_end_ = 0;
  std::uint64_t fetch_began_ns_ = 0;  // for a timeline
  bool fetching_ = false;
  DmaOp fetch_op_;
  std::unique_ptr<ListRead> list_;  // once a WQE has had its list elsewhere
};

}  // namespace gdakit::softnic
