// From a symmetric address and a PE to what a WQE names: key lookup is by range, and by the NIC
// that reads the WQE.
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
  return find_chunk(heap.chunks, heap.chunk_count, address);
}

// `address` of the symmetric heap as the NIC number `nic` names it on `pe`, up to the end of its
// chunk.
GDAKIT_HOST_DEVICE inline Span remote_span(const DeviceContext& context, std::uint64_t address,
                                           std::int32_t pe, std::uint32_t nic) {
  const HeapView& heap = context.heap;
  const std::uint32_t chunk = find_chunk(heap, address);
  if (chunk == heap.chunk_count) return {};
  const std::uint64_t row = std::uint64_t{nic} * heap.chunk_room + chunk;
  const std::uint64_t index =
      row * static_cast<std::uint64_t>(context.n_pes) + static_cast<std::uint64_t>(pe);
  return {heap.remote_bases[pe] + (address - heap.base), heap.chunks[chunk].end - address,
          heap.rkeys[index]};
}

// The first byte of the heap as the NIC number `nic` names it on `pe`. It is registered always:
// there lies what the PE itself allocated first.
GDAKIT_HOST_DEVICE inline Span first_byte(const DeviceContext& context, std::int32_t pe,
                                          std::uint32_t nic) {
  const HeapView& heap = context.heap;
  const std::uint64_t row = std::uint64_t{nic} * heap.chunk_room;
  const std::uint64_t index =
      row * static_cast<std::uint64_t>(context.n_pes) + static_cast<std::uint64_t>(pe);
  return {heap.remote_bases[pe], 1, heap.rkeys[index]};
}

// The range that holds `address` of this PE's memory, in the heap or registered, with the key of
// the NIC number `nic`; else an empty one. By whichever NIC, it is the same range.
GDAKIT_HOST_DEVICE inline LocalRange find_local(const DeviceContext& context, std::uint64_t address,
                                                std::uint32_t nic = 0) {
  const HeapView& heap = context.heap;
  const std::uint32_t chunk = find_chunk(heap, address);
  if (chunk < heap.chunk_count) return heap.chunks[std::uint64_t{nic} * heap.chunk_room + chunk];
  const LocalRange* const ranges =
      context.local_ranges + std::uint64_t{nic} * context.local_range_room;
  for (std::uint32_t i = 0; i < context.local_range_count; ++i) {
    const LocalRange& range = ranges[i];
    if (address >= range.begin && address < range.end) return range;
  }
  return {0, 0, Be32{0}};
}

// Whether all of it may be the local side of a transfer: it lies in ranges, of the heap or
// registered, without a gap.
GDAKIT_HOST_DEVICE inline bool is_local(const DeviceContext& context, std::uint64_t address,
                                        std::uint64_t bytes) {
  if (bytes == 0 || is_in_heap(context.heap, address, bytes)) return true;
  while (true) {
    const LocalRange range = find_local(context, address);
    if (address - range.begin >= range.end - range.begin) return false;
    if (bytes <= range.end - address) return true;
    bytes -= range.end - address;
    address = range.end;
  }
}

// `address` up to the end of the range that holds it, unless that is empty.
GDAKIT_HOST_DEVICE inline Span span_in(const LocalRange& range, std::uint64_t address) {
  return range.begin == range.end ? Span{} : Span{address, range.end - address, range.lkey};
}

// `address` of this PE's memory as the NIC number `nic` names it, up to the end of its range.
GDAKIT_HOST_DEVICE inline Span local_span(const DeviceContext& context, std::uint64_t address,
                                          std::uint32_t nic) {
  return span_in(find_local(context, address, nic), address);
}

// What a handle remembers of the ranges it used last, so that the next look-up costs no load. The
// NIC is always the same one, that of the handle's queue.
struct AddressMemo {
  LocalRange local{0, 0, Be32{0}};
  // A part of the heap as `pe` has it: add `shift` to a local address for the one to name there.
  std::int32_t pe = -1;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t shift = 0;
  Be32 rkey{0};

  // Whether all of a transfer lies in what is remembered. There are no branches, which would take
  // longer than all of it.
  GDAKIT_DEVICE bool covers(std::uint64_t remote, std::uint64_t here, std::uint64_t bytes,
                            std::int32_t to) const {
    return (pe == to) & is_in(begin, end, remote, bytes) &
           is_in(local.begin, local.end, here, bytes);
  }

  GDAKIT_DEVICE Span remote_span(const DeviceContext& context, std::uint64_t address,
                                 std::int32_t to, std::uint32_t nic) {
    if (pe != to || address - begin >= end - begin) {
      const std::uint32_t chunk = find_chunk(context.heap, address);
      if (chunk == context.heap.chunk_count) return {};
      const Span span = gdakit::remote_span(context, address, to, nic);
      pe = to;
      begin = context.heap.chunks[chunk].begin;
      end = address + span.bytes;
      shift = span.address - address;
      rkey = span.key;
    }
    return {address + shift, end - address, rkey};
  }

  GDAKIT_DEVICE Span local_span(const DeviceContext& context, std::uint64_t address,
                                std::uint32_t nic) {
    if (address - local.begin >= local.end - local.begin) local = find_local(context, address, nic);
    return span_in(local, address);
  }

 private:
  GDAKIT_DEVICE static bool is_in(std::uint64_t from, std::uint64_t to, std::uint64_t address,
                                  std::uint64_t bytes) {
    return (address >= from) & (address <= to) & (bytes <= to - address);
  }
};

}  // namespace gdakit
