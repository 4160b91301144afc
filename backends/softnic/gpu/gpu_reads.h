// GpuReads: reads of GPU memory by the copy engine, into a ring of pinned memory.
//
//   read() --> wanted --> copies to the ring, then a word that says how far --> poll(): to the
//   engine
//
// Reads finish in the order queued. They wait for no writes: they have a stream of their own.
//
// The bytes of a short read of aligned words are watched instead: their place in the ring holds
// words of a value that memory hardly ever holds, and when all of these have changed the read is
// complete. A word tells of it only if one has not changed for long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "backends/softnic/gpu/gpu_device.h"
#include "backends/softnic/gpu/gpu_ring.h"
#include "backends/softnic/objects/attributes.h"

namespace gdakit::softnic {

class GpuReads {
 public:
  static constexpr std::uint64_t kUnwritten = 0x9d3cf5a81e6b7247;

  explicit GpuReads(GpuDevice& device) : device_(device) {}
  // False: there is no pinned memory left.
  bool allocate(std::size_t ring_bytes);

  // Returns its number, counted from 1.
  std::uint64_t read(void* to, std::uint64_t from, std::size_t size);
  std::uint64_t last() const { return queued_; }
  bool finished(std::uint64_t number) const { return finished_ >= number; }

  void submit();
  void poll();

 private:
  struct Read {
    void* to = nullptr;
    std::uint64_t from = 0;
    std::size_t size = 0;
    std::byte* staged = nullptr;
    std::uint64_t ring_mark = 0;
    std::uint64_t mark = 0;       // the word that tells of it
    std::uint64_t issued_ns = 0;  // 0: not a short one
  };

  bool arrived(const Read& read, std::uint64_t marked);
  void mark();

  GpuDevice& device_;
  GpuStream stream_ = 0;
  GpuRing ring_;
  std::uint64_t* word_ = nullptr;
  std::deque<Read> wanted_;
  std::deque<Read> issued_;
  std::uint64_t next_mark_ = 1;
  std::uint32_t unmarked_ = 0;
  std::uint64_t queued_ = 0;
  std::uint64_t finished_ = 0;
};

}  // namespace gdakit::softnic
