#include "backends/softnic/gpu_reads.h"

#include <algorithm>
#include <cstring>

namespace gdakit::softnic {
namespace {

constexpr std::size_t kPiece = 128 * 1024;
// Reads between two words that tell of them: a word costs half as much as a read, and a read is
// known to be complete only with its word.
constexpr std::uint32_t kReadsPerMark = 8;

}  // namespace

bool GpuReads::allocate(std::size_t ring_bytes) {
  void* const ring = device_.pinned(ring_bytes);
  void* const word = device_.pinned(sizeof *word_);
  if (ring == nullptr || word == nullptr) return false;
  ring_ = GpuRing(ring, ring_bytes);
  word_ = static_cast<std::uint64_t*>(word);
  stream_ = device_.make_stream();
  return true;
}

std::uint64_t GpuReads::read(void* to, std::uint64_t from, std::size_t size) {
  auto* at = static_cast<std::byte*>(to);
  while (size != 0) {
    const std::size_t piece = std::min(size, kPiece);
    wanted_.push_back({at, from, piece});
    ++queued_;
    at += piece;
    from += piece;
    size -= piece;
  }
  return queued_;
}

void GpuReads::submit() {
  while (!wanted_.empty()) {
    Read& read = wanted_.front();
    std::byte* const staged = ring_.take(read.size);
    if (staged == nullptr) break;
    device_.copy_out(stream_, staged, read.from, read.size);
    read.staged = staged;
    read.ring_mark = ring_.mark();
    read.mark = next_mark_;
    issued_.push_back(read);
    wanted_.pop_front();
    if (++unmarked_ == kReadsPerMark) mark();
  }
  if (unmarked_ != 0) mark();
}

void GpuReads::mark() {
  const auto word = reinterpret_cast<std::uintptr_t>(word_);
  device_.write_word(stream_, word, next_mark_++, sizeof *word_);
  unmarked_ = 0;
}

void GpuReads::poll() {
  if (issued_.empty() && wanted_.empty()) return;
  const bool failed = device_.failed();
  // Acquire: the ring's bytes were written before.
  const std::uint64_t marked = __atomic_load_n(word_, __ATOMIC_ACQUIRE);
  while (!issued_.empty() && (failed || issued_.front().mark <= marked)) {
    const Read& read = issued_.front();
    if (failed) {
      std::memset(read.to, 0, read.size);
    } else {
      std::memcpy(read.to, read.staged, read.size);
    }
    ring_.give_back(read.ring_mark);
    ++finished_;
    issued_.pop_front();
  }
}

}  // namespace gdakit::softnic
