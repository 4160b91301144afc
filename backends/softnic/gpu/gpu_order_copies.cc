// Work by the copy engine: one operation after the other, in the order queued.
//
// Copies and word writes of one stream follow each other there. What only the host can do, an
// atomic or a store to memory that the GPU does not reach, waits until everything before it is
// complete. A run_* function returns false if it must be called again later.
#include <algorithm>
#include <cstring>

#include "backends/softnic/gpu/gpu_order.h"
#include "backends/softnic/gpu/two_row_copy.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint64_t kBouncePiece = 512 * 1024;
// The last piece is more than two words: the copy engine would be slow at one, and does not order
// two (two_row_copy.h).
constexpr std::uint64_t kShortestPiece = 32;

// Where the host reaches it.
DmaAddress on_host(DmaAddress address) { return {plain_address(address)}; }

bool is_stored_as_word(const WorkOp& op) {
  return (op.size == 4 || op.size == 8) && plain_address(op.to) % op.size == 0;
}
// The copy engine could not order them.
bool is_two_words_in_order(const WorkOp& op) { return op.tail >= 4 && op.size == 2 * op.tail; }

}  // namespace

bool GpuOrder::run_copies(GpuWork& work) {
  for (; work.next_op != work.ops.size(); ++work.next_op) {
    const WorkOp& op = work.ops[work.next_op];
    if (work.lists[op.list].level < work.next_level) continue;  // a kernel has done it
    if (flights_.full() || !run_op(work, op)) {
      close_segment(false);
      mark();
      return false;
    }
    ++counts_.engine_ops;
  }
  if (flights_.full()) {
    mark();
    return false;
  }
  close_segment(true);
  // A call for one word more costs next to nothing, but what follows it is seen later: the first of
  // two works, which may be a payload, goes without.
  if (word_count_ != 0 && seq_ - marked_ >= 2) mark();
  flush_words();
  return true;
}

void GpuOrder::close_segment(bool last) {
  if (!last && (!open_ || flights_.full())) return;
  if (flights_.empty()) front_since_ns_ = now_ns_;
  if (marked_ == seq_) unmarked_since_ns_ = now_ns_;
  Flight& flight = flights_.push();
  flight.seq = ++seq_;
  flight.begin = next_;
  flight.end = next_ + 1;
  flight.last = last;
  flight.ring_mark = ring_.mark();
  open_ = false;
}

void GpuOrder::mark() {
  if (marked_ != seq_) {
    queue_word(reinterpret_cast<std::uintptr_t>(&marks_[current_]), seq_, sizeof seq_);
    marked_ = seq_;
  }
  flush_words();
}

void GpuOrder::queue_word(std::uint64_t to, std::uint64_t value, std::uint64_t size) {
  if (word_count_ == words_.size()) flush_words();
  words_[word_count_++] = {to, value, static_cast<std::uint32_t>(size)};
}

void GpuOrder::flush_words() {
  if (word_count_ != 0) device_->write_words(streams_[current_], words_.data(), word_count_);
  word_count_ = 0;
}

// The stream, for what comes behind all words queued so far.
GpuStream GpuOrder::stream() {
  flush_words();
  return streams_[current_];
}

bool GpuOrder::run_op(GpuWork& work, const WorkOp& op) {
  switch (op.kind) {
    case WorkKind::word: return run_word(op);
    case WorkKind::bytes: return run_bytes(work, op);
    case WorkKind::cqe: return run_cqe(work, op);
    case WorkKind::copy: return run_copy(work, op);
    case WorkKind::atomic: return run_atomic(work, op);
  }
  return true;
}

bool GpuOrder::copy_in_staged(std::uint64_t to, const void* from, std::size_t size, bool ordered) {
  std::byte* const staged = ring_.take(size);
  if (staged == nullptr) return false;
  std::memcpy(staged, from, size);
  if (ordered) {
    copy_in_order(to, staged, size);
  } else {
    device_->copy_in(stream(), to, staged, size);
  }
  open_ = true;
  return true;
}

// The last byte is seen last.
void GpuOrder::copy_in_order(std::uint64_t to, const void* from, std::size_t size) {
  const OrderedCopy parts = ordered_copy(to, size);
  device_->copy_in(stream(), to, from, parts.first_bytes);
  if (parts.last_bytes == 0) return;
  const std::size_t at = size - parts.last_bytes;
  device_->copy_in(stream(), to + at, static_cast<const std::byte*>(from) + at, parts.last_bytes);
}

// Words that follow a copy cost next to nothing. Where an odd one would be left of the copy, which
// would then be two, there are two of them.
bool GpuOrder::copy_in_before_words(const WorkOp& op, const std::byte* from) {
  const std::uint64_t to = plain_address(op.to);
  const std::size_t word = row_word(to, op.size);
  if (word < 4) return copy_in_staged(to, from, op.size, /*ordered=*/true);
  const std::size_t words = op.size / word % 2 == 0 ? 2 : 1;
  std::size_t at = op.size - words * word;
  if (at != 0 && !copy_in_staged(to, from, at)) return false;
  for (; at != op.size; at += word) {
    std::uint64_t value = 0;
    std::memcpy(&value, from + at, word);
    queue_word(to + at, value, word);
  }
  open_ = true;
  return true;
}

bool GpuOrder::run_word(const WorkOp& op) {
  if (reached_by_gpu(op.to) && op.size >= 4) {
    queue_word(plain_address(op.to), op.value, op.size);
    open_ = true;
    return true;
  }
  if (is_gpu(op.to)) return copy_in_staged(plain_address(op.to), &op.value, op.size);
  if (!all_complete()) return false;
  host_.write(on_host(op.to), &op.value, op.size);
  return true;
}

bool GpuOrder::run_bytes(const GpuWork& work, const WorkOp& op) {
  const std::byte* const from = &work.bytes[op.extra];
  if (is_gpu(op.to) && is_stored_as_word(op)) {
    std::uint64_t value = 0;
    std::memcpy(&value, from, op.size);
    queue_word(plain_address(op.to), value, op.size);
    open_ = true;
    return true;
  }
  if (is_gpu(op.to) && op.tail != 0) return copy_in_before_words(op, from);
  if (is_gpu(op.to)) return copy_in_staged(plain_address(op.to), from, op.size);
  if (!all_complete()) return false;
  host_.write(on_host(op.to), from, op.size);
  return true;
}

bool GpuOrder::run_cqe(const GpuWork& work, const WorkOp& op) {
  const std::byte* const from = &work.bytes[op.extra];
  if (!reached_by_gpu(op.to)) {
    if (!all_complete()) return false;
    format::Cqe64 cqe;
    std::memcpy(&cqe, from, sizeof cqe);
    host_.write_cqe(op.to, cqe);
    return true;
  }
  // Nobody looks at the rest of a CQE before its tail says that it is there.
  if (is_pinned(op.to)) {
    host_.write(on_host(op.to), from, format::kCqeTailOffset);
  } else if (!copy_in_staged(plain_address(op.to), from, format::kCqeTailOffset)) {
    return false;
  }
  std::uint64_t tail;
  std::memcpy(&tail, from + format::kCqeTailOffset, sizeof tail);
  queue_word(plain_address(op.to) + format::kCqeTailOffset, tail, sizeof tail);
  open_ = true;
  return true;
}

bool GpuOrder::run_copy(GpuWork& work, const WorkOp& op) {
  const std::uint64_t to = plain_address(op.to);
  const std::uint64_t from = plain_address(op.from);
  if (!is_gpu(op.to) && !is_gpu(op.from)) {
    if (!all_complete()) return false;
    host_.copy({to}, {from}, op.size);
    return true;
  }
  if (is_gpu(op.to) && !op.across) {
    if (is_stored_as_word(op) || is_two_words_in_order(op)) return bounce_words(work, op);
    if (is_gpu(op.from)) return bounce(work, op);
  }
  // Memory that is not pinned may be read while the call lasts: what is to be written there before
  // must have been.
  if (!reached_by_gpu(op.from) && !all_complete()) return false;
  copy_to_or_from(op);
  open_ = true;
  return true;
}

// One side is not this GPU's.
void GpuOrder::copy_to_or_from(const WorkOp& op) {
  const std::uint64_t to = plain_address(op.to);
  const std::uint64_t from = plain_address(op.from);
  if (op.across) {
    const OrderedCopy parts = op.tail != 0 ? ordered_copy(to, op.size) : OrderedCopy{op.size, 0};
    device_->copy_across(stream(), to, from, parts.first_bytes);
    const std::uint64_t at = op.size - parts.last_bytes;
    if (parts.last_bytes != 0) {
      device_->copy_across(stream(), to + at, from + at, parts.last_bytes);
    }
  } else if (!is_gpu(op.to)) {
    auto* const memory = reinterpret_cast<std::byte*>(to);
    const std::uint64_t at = op.size - op.tail;
    device_->copy_out(stream(), memory, from, at);
    if (op.tail != 0) device_->copy_out(stream(), memory + at, from + at, op.tail);
  } else if (op.tail != 0) {
    copy_in_order(to, reinterpret_cast<const void*>(from), op.size);
  } else {
    device_->copy_in(stream(), to, reinterpret_cast<const void*>(from), op.size);
  }
}

// Within a GPU there is no copy that needs no kernel, but by way of the host.
bool GpuOrder::bounce(GpuWork& work, const WorkOp& op) {
  while (work.copied != op.size) {
    const std::uint64_t rest = op.size - work.copied;
    std::uint64_t piece = std::min(rest, kBouncePiece);
    if (piece != rest && rest - piece < kShortestPiece) piece -= kShortestPiece;
    std::byte* const staged = flights_.full() ? nullptr : ring_.take(piece);
    if (staged == nullptr) return false;
    device_->copy_out(stream(), staged, plain_address(op.from) + work.copied, piece);
    const std::uint64_t to = plain_address(op.to) + work.copied;
    if (op.tail != 0 && piece == rest) {
      copy_in_order(to, staged, piece);
    } else {
      device_->copy_in(stream(), to, staged, piece);
    }
    open_ = true;
    work.copied += piece;
    if (piece == rest) break;
    close_segment(false);
    mark();
  }
  work.copied = 0;
  return true;
}

// The operation's word, or two, at `from`: true when it is in *scratch_.
bool GpuOrder::fetch_word(GpuWork& work, const WorkOp& op, std::uint64_t from) {
  if (!work.reading) {
    *scratch_ = 0;
    device_->copy_out(stream(), scratch_, from, op.size);
    work.reading = open_ = true;
    return false;
  }
  if (!all_complete()) return false;
  work.reading = false;
  return true;
}

bool GpuOrder::bounce_words(GpuWork& work, const WorkOp& op) {
  const std::uint64_t from = plain_address(op.from);
  if (is_gpu(op.from)) {
    if (!fetch_word(work, op, from)) return false;
  } else {
    if (!all_complete()) return false;
    host_.copy({reinterpret_cast<std::uintptr_t>(scratch_)}, {from}, op.size);
  }
  const std::uint64_t word = op.tail != 0 ? op.tail : op.size;
  for (std::uint64_t at = 0; at != op.size; at += word) {
    std::uint64_t value = 0;
    std::memcpy(&value, reinterpret_cast<const std::byte*>(scratch_) + at, word);
    queue_word(plain_address(op.to) + at, value, word);
  }
  open_ = true;
  return true;
}

bool GpuOrder::run_atomic(GpuWork& work, const WorkOp& op) {
  WorkAtomic& atomic = work.atomics[op.extra];
  if (!is_gpu(op.to)) {
    if (!all_complete()) return false;
    host_.atomic(on_host(op.to), atomic.request, &atomic.result);
    return true;
  }
  if (!fetch_word(work, op, plain_address(op.to))) return false;
  atomic.result = *scratch_;
  atomic.place = nullptr;
  queue_word(plain_address(op.to), atomic_result(atomic.request, atomic.result), op.size);
  open_ = true;
  return true;
}

}  // namespace gdakit::softnic
