// From a symmetric address and a PE to what a WQE names: key lookup is by range.
#pragma once

#include "device/views.h"

namespace gdakit {

// The part of a transfer that one WQE can name: `bytes` from `address` on lie under one key.
// A span of 0 bytes: the address is not registered.
struct Span {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  Be32 key{0};
};

// The chunk of the heap that holds `address`, or chunk_count.
GDAKIT_HOST_DEVICE inline std::uint32_t find_chunk(const HeapView& heap, std::uint64_t address) {
  std::uint32_t low = 0;
  std::uint32_t high = heap.chunk_count;
  while (low < high) {
    const std::uint32_t middle = (low + high) / 2;
    if (address < heap.chunks[middle].end) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  const bool inside = low < heap.chunk_count && address >= heap.chunks[low].begin;
  return inside ? low : heap.chunk_count;
}

// `address` of the symmetric heap as the NIC names it on `pe`, up to the end of its chunk.
GDAKIT_HOST_DEVICE inline Span remote_span(const DeviceContext& context, std::uint64_t address,
                                           std::int32_t pe) {
  const HeapView& heap = context.heap;
  const std::uint32_t chunk = find_chunk(heap, address);
  if (chunk == heap.chunk_count) return {};
  const std::uint64_t index = std::uint64_t{chunk} * static_cast<std::uint64_t>(context.n_pes) +
                              static_cast<std::uint64_t>(pe);
  return {heap.remote_bases[pe] + (address - heap.base), heap.chunks[chunk].end - address,
          heap.rkeys[index]};
}

// `address` of this PE's memory, in the heap or registered, up to the end of its range.
GDAKIT_HOST_DEVICE inline Span local_span(const DeviceContext& context, std::uint64_t address) {
  const std::uint32_t chunk = find_chunk(context.heap, address);
  if (chunk < context.heap.chunk_count) {
    const LocalRange& range = context.heap.chunks[chunk];
    return {address, range.end - address, range.lkey};
  }
  for (std::uint32_t i = 0; i < context.local_range_count; ++i) {
    const LocalRange& range = context.local_ranges[i];
    if (address >= range.begin && address < range.end) {
      return {address, range.end - address, range.lkey};
    }
  }
  return {};
}

}  // namespace gdakit
