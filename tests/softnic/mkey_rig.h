// A rig each side of which has a key that consists of others, as mlx5dv_create_mkey makes it.
//
//   MkeyRig rig;
//   rig.enable(rig.b, {.entries = {klm(rig.b.key, rig.b.heap_address(0), 8)}, .length = 8});
//   rig.write_through(0, 8);    // a's bytes into those of b's key
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/softnic/mkey_lists.h"

namespace gdakit::softnic::test {

// The bytes of a heap that a key's bytes are, in their order.
using Places = std::vector<std::size_t>;

struct Layout {
  ListChange change;
  Places places;
};

inline Layout concatenated(const Side& side,
                           const std::vector<std::pair<std::size_t, std::uint32_t>>& at) {
  Layout layout;
  for (const auto& [offset, bytes] : at) {
    layout.change.entries.push_back(klm(side.key, side.heap_address(offset), bytes));
    layout.change.length += bytes;
    for (std::uint32_t i = 0; i < bytes; ++i) layout.places.push_back(offset + i);
  }
  return layout;
}

inline Layout repeated(const Side& side, std::uint32_t count,
                       const std::vector<Interleaved>& parts) {
  Layout layout;
  std::vector<Interleaved> named = parts;
  for (Interleaved& part : named) {
    part.key = side.key;
    part.address = side.heap_address(part.address);
    layout.change.length += std::uint64_t{count} * part.bytes;
  }
  layout.change.entries = repeat_block(count, named);
  for (std::uint32_t r = 0; r < count; ++r) {
    for (const Interleaved& part : parts) {
      for (std::size_t i = 0; i < part.bytes; ++i) {
        layout.places.push_back(part.address + std::size_t{r} * (part.bytes + part.skip) + i);
      }
    }
  }
  return layout;
}

inline std::vector<std::uint8_t> gathered(const Side& side, const Places& places) {
  std::vector<std::uint8_t> bytes;
  for (const std::size_t place : places) bytes.push_back(side.heap.data()[place]);
  return bytes;
}
inline std::vector<std::uint8_t> first_bytes(const Side& side, std::size_t count) {
  return {side.heap.data(), side.heap.data() + count};
}

struct MkeyRig : EngineRig {
  explicit MkeyRig(const RigOptions& options = {}) : EngineRig(options) {}

  // What the WQE that a side posts comes to.
  format::Syndrome run(Side& side, const Wqe& wqe) {
    side.post(wqe);
    side.ring();
    EXPECT_TRUE(EngineRig::run());
    const auto cqe = side.send_cq.poll();
    if (!cqe) throw std::runtime_error("there is no CQE");
    return opcode_of(*cqe) == format::CqeOpcode::requester ? format::Syndrome::none
                                                           : syndrome_of(*cqe);
  }
  MemoryKey mkey_of(const Side& side) const { return &side == &a ? a_mkey : b_mkey; }
  // Gives its key these parts.
  format::Syndrome enable(Side& side, ListChange change) {
    change.key = mkey_of(side);
    return run(side, list_wqe(change));
  }

  // Of all bytes of such a key, to or from a's heap from 0 on, or to b's.
  Wqe write_wqe(std::uint64_t at, std::uint32_t size) const {
    return {.opcode = format::Opcode::rdma_write, .body = {remote(at), a.data(0, size)}};
  }
  Wqe read_wqe(std::uint64_t at, std::uint32_t size) const {
    return {.opcode = format::Opcode::rdma_read, .body = {remote(at), a.data(0, size)}};
  }
  format::Segment remote(std::uint64_t at) const {
    return format::to_segment(format::remote_address(at, Be32{b_mkey}));
  }
  format::Segment local(std::uint64_t at, std::uint32_t size) const {
    return format::to_segment(format::data(at, Be32{a_mkey}, size));
  }

  MemoryKey a_mkey = *a.engine.create_mkey(list_key(a.pd, 64));
  MemoryKey b_mkey = *b.engine.create_mkey(list_key(b.pd, 64));
};

}  // namespace gdakit::softnic::test
