#include "backends/softnic/queues/receive_queue.h"

#include <cstring>

#include "backends/softnic/queues/make_cqe.h"
#include "core/format/doorbell.h"
#include "core/format/wqe.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint32_t kFlushesPerTurn = 64;
constexpr MemoryKey kEndOfList = 0x100;  // the lkey behind the last data segment of a receive WQE

}  // namespace

ReceiveWqe::Segment ReceiveWqe::segment(std::uint32_t number) const {
  format::DataSegment data;
  std::memcpy(&data, &bytes[number * sizeof data], sizeof data);
  const std::uint32_t size = data.byte_count == 0 ? 1u << 31 : data.byte_count & ~format::kInline;
  return {data.addr, size, data.lkey};
}

void ReceiveWqe::begin(std::uint32_t first) {
  const auto most = static_cast<std::uint32_t>(bytes.size() / sizeof(format::DataSegment));
  segment_count = first;
  while (segment_count != most && segment(segment_count).lkey != kEndOfList) ++segment_count;
  current = first;
  offset = 0;
}

void ReceiveWqe::advance(std::uint64_t size) {
  offset += size;
  if (offset != segment(current).size) return;
  ++current;
  offset = 0;
}

// Takes over what the record says, if it has arrived; false while it is on its way.
bool ReceiveQueue::update_producer(QueueCore& core) {
  const DmaAddress record =
      qp_.attributes.doorbell_record + offsetof(format::DoorbellRecord, rcv_dbr);
  return core.poll_record(record_, record, producer_, qp_.receive_depth()) || !record_.reading;
}

ReceiveSource::Claim ReceiveQueue::claim(QueueCore& core, ReceiveWqe& wqe) {
  if (consumer_ == producer_) {
    record_.look();
    if (!update_producer(core)) return Claim::again;
    if (consumer_ == producer_) return Claim::none;
  }
  if (!fetching_) {
    const std::size_t stride = std::size_t{1} << qp_.attributes.log_receive_stride;
    const std::uint64_t slot = consumer_ & (qp_.receive_depth() - 1);
    wqe.bytes.resize(stride);
    fetch_op_ =
        core.port.read(wqe.bytes.data(), qp_.attributes.receive_queue + slot * stride, stride);
    fetching_ = true;
  }
  if (!core.done(fetch_op_)) return Claim::again;
  fetching_ = false;
  wqe.index = static_cast<std::uint16_t>(consumer_++);
  wqe.pd = qp_.attributes.pd;
  wqe.begin();
  return Claim::claimed;
}

Turn ReceiveQueue::flush(QueueCore& core) {
  Turn turn;
  // What the record alone announces is flushed too.
  if (!flushing_) record_.look_again();
  flushing_ = true;
  if (!record_.idle() && !update_producer(core)) {
    turn.pending = true;
    return turn;
  }
  for (std::uint32_t i = 0; i < kFlushesPerTurn && consumer_ != producer_; ++i) {
    format::Cqe64 cqe = make_error_cqe(qp_, format::CqeOpcode::responder_error,
                                       static_cast<std::uint16_t>(consumer_), 0, kFlushed);
    if (!core.post_cqe(qp_, *qp_.receive_cq, cqe)) {
      turn.pending = true;
      return turn;
    }
    ++consumer_;
    ++qp_.counters.resp_cqe_error;
    ++qp_.counters.resp_cqe_flush_error;
    turn.worked = true;
  }
  turn.pending = consumer_ != producer_ || !record_.idle();
  return turn;
}

}  // namespace gdakit::softnic
