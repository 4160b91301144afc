// A stretch of the symmetric heap that lies in chunks with keys of their own, and where these
// begin.
#pragma once

#include <vector>

#include <gtest/gtest.h>

#include "gdakit.h"
#include "tests/support/heap.h"

namespace gdakit::test {

// Options of a job whose heap soon grows, by chunks that are as short as the memory allows.
inline Options chunked(Options options) {
  options.symmetric_size = 64 << 10;
  options.heap_chunk = 4 << 10;
  options.check_memory = false;  // its objects have chunks of their own
  return options;
}

class ChunkedHeap {
 public:
  // Collective. With `chunks` chunks, the first of which may begin later than the stretch.
  static Result<ChunkedHeap> make(Context& c, std::uint32_t chunks) {
    if (auto first = c.allocate<char>(64 << 10); !first) return first.error();  // the heap grows
    HostTables tables;
    Result<DeviceContext> before = c.host_context(tables);
    if (!before) return before.error();
    const LocalRange& last = before->heap.chunks[before->heap.chunk_count - 1];
    ChunkedHeap heap(c, last.end - last.begin);
    auto stretch = c.allocate<char>((chunks + 1) * heap.chunk_bytes_);
    if (!stretch) return stretch.error();
    const Result<DeviceContext> now = c.host_context(tables);
    if (!now) return now.error();
    const auto begin = reinterpret_cast<std::uint64_t>(*stretch);
    for (std::uint32_t i = 0; i < now->heap.chunk_count; ++i) {
      const LocalRange& chunk = now->heap.chunks[i];
      if (chunk.begin >= begin) heap.chunks_.push_back(*stretch + (chunk.begin - begin));
    }
    if (heap.chunks_.size() < chunks) {
      return Error(Code::internal, "the heap has too few chunks");
    }
    return heap;
  }

  std::uint64_t chunk_bytes() const { return chunk_bytes_; }
  char* chunk(std::uint32_t number) const { return chunks_.at(number); }

  // Writes bytes there that are not alike, and returns them.
  std::vector<char> fill(char* at, std::uint64_t bytes) const {
    std::vector<char> filling(bytes);
    for (std::uint64_t i = 0; i < bytes; ++i) filling[i] = static_cast<char>(i % 251 + 1);
    EXPECT_TRUE(upload(*context_, at, filling));
    return filling;
  }

 private:
  ChunkedHeap(Context& c, std::uint64_t chunk_bytes) : context_(&c), chunk_bytes_(chunk_bytes) {}

  Context* context_;
  std::uint64_t chunk_bytes_;
  std::vector<char*> chunks_;
};

}  // namespace gdakit::test
