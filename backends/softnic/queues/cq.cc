#include "backends/softnic/queues/cq.h"

#include <algorithm>
#include <cstring>

#include "core/format/cq_doorbell.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint8_t kSolicited = format::op_own(format::CqeOpcode::requester, false, true);
constexpr std::uint32_t kArmFields = (3u << 28) | format::kCqSolicitedOnly | format::kCqIndexMask;

bool is_error(const format::Cqe64& cqe) {
  return format::cqe_opcode(cqe.op_own) >= format::CqeOpcode::requester_error;
}

// The XOR of a signed CQE's bytes is all ones.
void sign(format::Cqe64& cqe) {
  std::uint8_t bytes[sizeof cqe];
  cqe.signature = 0;
  std::memcpy(bytes, &cqe, sizeof cqe);
  std::uint8_t all = 0;
  for (const std::uint8_t byte : bytes) all ^= byte;
  cqe.signature = static_cast<std::uint8_t>(~all);
}

std::uint32_t index_of(std::uint64_t count) {
  return static_cast<std::uint32_t>(count & format::kCqIndexMask);
}

}  // namespace

Cq::Cq(CqNumber number, const CqAttributes& attributes, DmaPort& port, bool short_cqes)
    : port_(port),
      ordered_(port.ordered()),
      // Only then does nobody look at the rest of an entry, or at how many there were.
      short_cqes_(short_cqes && attributes.collapsed && attributes.overrun_ignore),
      number_(number),
      attributes_(attributes),
      entry_bytes_(entry_bytes(attributes.cqe_size)),
      first_(attributes.entries + (entry_bytes_ - sizeof(format::Cqe64))) {}

CqInfo Cq::info() const {
  return {.status = status_,
          .armed = armed_,
          .producer_counter = index_of(producer_),
          .consumer_counter = index_of(consumer_),
          .last_notified_index = index_of(last_notified_),
          .last_solicit_index = index_of(last_solicited_)};
}

std::vector<MemoryRange> Cq::memory() const {
  std::vector<MemoryRange> ranges = {entries()};
  if (!attributes_.overrun_ignore || attributes_.uar != 0) {
    ranges.push_back({attributes_.doorbell_record, sizeof(format::CqDoorbellRecord)});
  }
  return ranges;
}

MemoryRange Cq::entries() const {
  const std::uint32_t log_entries = attributes_.collapsed ? 0 : attributes_.log_entries;
  return {attributes_.entries, std::uint64_t{entry_bytes_} << log_entries};
}

// How far the consumer is behind the producer, as its record says; nothing yet if that is on its
// way.
std::optional<std::uint64_t> Cq::read_behind() {
  if (!reading_) {
    read_ = port_.read(&record_, attributes_.doorbell_record, sizeof record_);
    reading_ = true;
  }
  if (!done(read_)) return std::nullopt;
  reading_ = false;
  // The record holds the low 24 bits of the consumer index, which never passes the producer.
  if (record_.raw() != record_at_move_.raw()) markers_ = 0;
  return index_of(producer_ - record_ - markers_);
}

// Looks up how far the consumer is.
Cq::Posted Cq::make_room() {
  const std::optional<std::uint64_t> behind = read_behind();
  if (!behind) return Posted::not_yet;
  if (*behind >= capacity()) {
    status_ = CqStatus::overflow;
    lost_ = true;
    return Posted::lost;
  }
  consumer_ = producer_ - *behind;
  return Posted::written;
}

Cq::Posted Cq::post(format::Cqe64& cqe, std::uint64_t now_ns) {
  if (status_ != CqStatus::ok) {
    lost_ |= !is_error(cqe);
    return Posted::lost;
  }
  // An earlier CQE that lands later would hide this one; a queue pair's own chain keeps the order.
  const bool shared = users > 1;
  if ((!ordered_ || shared) && !done(last_)) return Posted::not_yet;
  if (!attributes_.overrun_ignore && producer_ - consumer_ >= capacity()) {
    const Posted room = make_room();
    if (room != Posted::written) return room;
  }
  now_ns_ = now_ns;
  cqe.op_own = static_cast<std::uint8_t>(cqe.op_own | (owner() ? 1 : 0));
  if (is_error(cqe)) {
    sign(cqe);
  } else {
    cqe.timestamp = Be64{now_ns};  // an error CQE has its syndromes in these bytes
  }
  write(cqe);
  ++producer_;
  if ((cqe.op_own & kSolicited) != 0 || is_error(cqe)) last_solicited_ = producer_;
  return armed_ != CqArmed::fired && fire() ? Posted::due : Posted::written;
}

void Cq::write(const format::Cqe64& cqe) {
  const bool before = succeeded_;
  succeeded_ = !is_error(cqe);
  if (short_cqes_ && before && succeeded_) {
    std::uint64_t tail;
    std::memcpy(&tail, reinterpret_cast<const std::byte*>(&cqe) + format::kCqeTailOffset,
                sizeof tail);
    last_ = port_.write(first_ + format::kCqeTailOffset, &tail, sizeof tail);
    return;
  }
  last_ = port_.write_cqe(place(), cqe);
}

// Of the next CQE.
DmaAddress Cq::place() const {
  const std::uint64_t slot = attributes_.collapsed ? 0 : producer_ & (capacity() - 1);
  return first_ + slot * entry_bytes_;
}

Cq::Resized Cq::resize(const CqResize& to) {
  // An arm that was stored before means an index before the marker.
  if (!resizing_ && attributes_.uar != 0) arm_wanted_ = true;
  resizing_ = true;
  if (arm_wanted_ || arm_reading_) read_arm();
  if (arm_wanted_ || arm_reading_ || !done(last_)) return Resized::not_yet;
  if (status_ == CqStatus::ok && !attributes_.overrun_ignore) {
    const std::optional<std::uint64_t> behind = read_behind();
    if (!behind) return Resized::not_yet;
    resizing_ = false;
    if (*behind >= capacity()) return Resized::full;
    if (*behind >= std::uint64_t{1} << to.log_entries) return Resized::too_small;
    consumer_ = producer_ - *behind;
  }
  resizing_ = false;
  if (status_ != CqStatus::ok) return Resized::full;
  move(to);
  return Resized::moved;
}

void Cq::move(const CqResize& to) {
  format::Cqe64 marker{};
  marker.op_own = format::op_own(format::CqeOpcode::resized, owner());
  last_ = port_.write_cqe(place(), marker);
  // What these counters mean of CQEs that are not consumed, they mean of their copies.
  ++producer_;
  ++consumer_;
  ++markers_;
  record_at_move_ = record_;
  ++last_solicited_;
  ++last_notified_;
  ++seen_;
  attributes_.entries = to.entries;
  attributes_.log_entries = to.log_entries;
  attributes_.cqe_size = to.cqe_size;
  entry_bytes_ = entry_bytes(to.cqe_size);
  first_ = to.entries + (entry_bytes_ - sizeof(format::Cqe64));
}

void Cq::moderate(const CqModeration& by) { attributes_.moderation = by; }

// Whether an event that tells of so many CQEs is to be told now.
bool Cq::is_due(std::uint64_t unseen) {
  const CqModeration& by = attributes_.moderation;
  if (by.max_count == 0 && by.period_us == 0) return true;
  if (!holding_) held_since_ns_ = now_ns_;
  holding_ = true;
  if (by.max_count != 0 && unseen >= by.max_count) return true;
  return by.period_us != 0 && now_ns_ - held_since_ns_ >= std::uint64_t{1000} * by.period_us;
}

// Disarms the CQ and begins to tell its event, if there is a CQE that it waits for. True: it has
// begun, or it holds the event back and wants steps.
bool Cq::fire() {
  const std::uint64_t there = armed_ == CqArmed::any ? producer_ : last_solicited_;
  const std::uint64_t known = std::max(seen_, last_notified_);
  if (there <= known) return holding_ = false;
  if (!is_due(there - known)) return true;
  holding_ = false;
  armed_ = CqArmed::fired;
  last_notified_ = producer_;
  events_ = (events_ + 1) & 3;
  telling_ = true;
  return true;
}

void Cq::read_arm() {
  if (!arm_reading_) {
    if (!arm_wanted_) return;
    arm_wanted_ = false;
    arm_read_ = port_.read(&arm_word_,
                           attributes_.doorbell_record + offsetof(format::CqDoorbellRecord, arm),
                           sizeof arm_word_);
    arm_reading_ = true;
  }
  if (!done(arm_read_)) return;
  arm_reading_ = false;
  take_arm(arm_word_);
}

void Cq::take_arm(std::uint32_t word) {
  const bool is_arm = (word & ~kArmFields) == 0;
  if (!is_arm || word >> 28 != events_) return;
  // Its index says nothing new, and would mean another CQE once 2^23 have come since.
  if (armed_ != CqArmed::fired && word == taken_arm_) return;
  taken_arm_ = word;
  const bool solicited_only = (word & format::kCqSolicitedOnly) != 0;
  if (armed_ != CqArmed::any) armed_ = solicited_only ? CqArmed::solicited : CqArmed::any;
  // How far the consumer is behind the producer, as a number of 24 bits with a sign: an index ahead
  // waits until CQEs have passed it.
  const auto ahead = static_cast<std::int32_t>((word - index_of(producer_)) << 8) >> 8;
  seen_ = ahead >= 0 ? producer_ + static_cast<std::uint32_t>(ahead)
                     : producer_ - std::min<std::uint64_t>(producer_, -std::int64_t{ahead});
  fire();
}

Cq::News Cq::step(std::uint64_t now_ns) {
  now_ns_ = now_ns;
  read_arm();
  if (holding_) fire();
  News news;
  if (telling_) {
    // A consumer that is told of a CQE before it can see it would find nothing, and wait for ever.
    if (!fencing_) fence_ = port_.fence();
    fencing_ = !done(fence_);
    news.completion = !fencing_;
    telling_ = fencing_;
  }
  news.lost = lost_;
  news.error = lost_ && !error_told_;
  error_told_ |= lost_;
  lost_ = false;
  const bool waits_for_time = holding_ && attributes_.moderation.period_us != 0;
  news.pending = telling_ || arm_reading_ || arm_wanted_ || waits_for_time;
  return news;
}

}  // namespace gdakit::softnic
