// GpuReads: reads of GPU memory by the copy engine, into a ring of pinned memory.
//
//   read() --> wanted --> copies to the ring, then a word that says how far --> poll(): to the
//   engine
//
// Reads finish in the order queued. They wait for no writes: they have a stream of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "backends/softnic/gpu_device.h"
#include "backends/softnic/gpu_ring.h"
#include "backends/softnic/types.h"

namespace gdakit::softnic {

class GpuReads {
 public:
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
    const std::byte* staged = nullptr;
    std::uint64_t ring_mark = 0;
    std::uint64_t mark = 0;  // the word that tells of it
  };

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
