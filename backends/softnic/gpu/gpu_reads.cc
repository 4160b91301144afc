#include "backends/softnic/gpu/gpu_reads.h"

#include <algorithm>
#include <cstring>

#include "core/base/wait_clock.h"

namespace gdakit::softnic {
namespace {

constexpr std::size_t kPiece = 128 * 1024;
// Reads between two words that tell of them: a word costs half as much as a read, and a read is
// known to be complete only with its word.
constexpr std::uint32_t kReadsPerMark = 8;
// A short read is watched: so many bytes at most, for so long.
constexpr std::size_t kShortRead = 256;
constexpr std::uint64_t kWatchNs = 20000;

// Whole words on both sides: none arrives in two parts.
bool is_words(std::uint64_t from, std::size_t size) {
  return from % sizeof GpuReads::kUnwritten == 0 && size % sizeof GpuReads::kUnwritten == 0;
}

std::uint64_t* words_of(std::byte* staged) { return reinterpret_cast<std::uint64_t*>(staged); }

}  // namespace

bool GpuReads::allocate(std::size_t ring_bytes) {
  void* const ring = device_.pinned(ring_bytes);
  void* const word = device_.pinned(sizeof *word_);
  if (ring == nullptr || word == nullptr) return false;
  ring_ = GpuRing(ring, ring_bytes);
  word_ = static_cast<std::uint64_t*>(word);
  stream_ = device_.make_stream(StreamFor::copies);
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
    const bool is_short = read.size <= kShortRead && is_words(read.from, read.size);
    if (is_short)
      std::fill_n(words_of(staged), read.size / sizeof GpuReads::kUnwritten, GpuReads::kUnwritten);
    device_.copy_out(stream_, staged, read.from, read.size);
    read.staged = staged;
    read.ring_mark = ring_.mark();
    read.mark = next_mark_;
    read.issued_ns = is_short ? steady_ns() : 0;
    issued_.push_back(read);
    wanted_.pop_front();
    unmarked_ += is_short ? 0 : 1;
    if (unmarked_ == kReadsPerMark) mark();
  }
  if (unmarked_ != 0) mark();
}

bool GpuReads::arrived(const Read& read, std::uint64_t marked) {
  if (read.mark <= marked) return true;
  if (read.issued_ns == 0) return false;
  const auto written = [](std::uint64_t& word) {
    // Acquire: later reads of the engine come after this one.
    return __atomic_load_n(&word, __ATOMIC_ACQUIRE) != GpuReads::kUnwritten;
  };
  std::uint64_t* const words = words_of(read.staged);
  if (std::all_of(words, words + read.size / sizeof *words, written)) return true;
  const bool told = read.mark != next_mark_;
  if (!told && steady_ns() - read.issued_ns > kWatchNs) mark();
  return false;
}

void GpuReads::mark() {
  device_.write_word(stream_,
                     {reinterpret_cast<std::uintptr_t>(word_), next_mark_++, sizeof *word_});
  unmarked_ = 0;
}

void GpuReads::poll() {
  if (issued_.empty() && wanted_.empty()) return;
  const bool failed = device_.failed();
  // Acquire: the ring's bytes were written before.
  const std::uint64_t marked = __atomic_load_n(word_, __ATOMIC_ACQUIRE);
  while (!issued_.empty() && (failed || arrived(issued_.front(), marked))) {
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
