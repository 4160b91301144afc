// One WQE as the model knows it: what it asks for, and what it should bring about.
#pragma once

#include <cstdint>
#include <vector>

#include "core/format/cqe.h"
#include "core/format/wqe.h"
#include "tests/softnic/model/memory.h"

namespace gdakit::softnic::test::model {

// What is wrong with a WQE on purpose.
enum class Flaw : std::uint8_t {
  none,
  bad_rkey,
  bad_range,  // beyond the end of the peer's region
  unaligned,  // an atomic at an odd address
  bad_lkey,
  bad_keys,  // both: what is wrong at the peer is told first
  too_long,  // a SEND that its receive WQE does not hold
  bad_opcode,
};

struct Operation {
  std::uint64_t number = 0;   // of its flow
  std::uint64_t index = 0;    // in WQEBBs
  std::uint64_t message = 0;  // that takes a receive: its number
  std::uint32_t wqebbs = 1;
  format::Opcode opcode = format::Opcode::nop;
  std::uint8_t opmod = 0;
  format::FenceMode fence = format::FenceMode::none;
  format::Completion completion = format::Completion::always;
  bool solicited = false;
  std::uint32_t imm = 0;
  Flaw flaw = Flaw::none;

  std::uint32_t remote = 0;     // offset in the peer's target, or in its constants
  bool from_constants = false;  // a READ of memory that never changes
  std::uint32_t length = 0;
  std::vector<Piece> pieces;       // local bytes, in the order of the message
  std::uint32_t inline_bytes = 0;  // the first so many bytes go inline, without pieces
  std::uint32_t local_bytes = 0;   // what its end returns to the client's local ring
  // A READ or atomic whose result the next WQE, which is fenced, sends.
  bool feeds_next = false;
  bool is_fed = false;  // ... and that WQE

  std::vector<std::uint8_t> bytes;  // WRITE, SEND: the payload. READ, atomic: what comes back
  std::vector<std::uint8_t> after;  // atomic: what it leaves at the peer
  std::uint64_t swap_add = 0, compare = 0, swap_mask = 0, compare_mask = 0, boundary = 0;

  bool is_signalled() const {
    return completion == format::Completion::always || completion == format::Completion::with_event;
  }
  bool is_fenced() const {
    return fence == format::FenceMode::fence || fence == format::FenceMode::fence_and_small ||
           fence == format::FenceMode::strong;
  }
  bool is_send() const {
    return opcode == format::Opcode::send || opcode == format::Opcode::send_imm;
  }
  bool is_write() const {
    return opcode == format::Opcode::rdma_write || opcode == format::Opcode::rdma_write_imm;
  }
  bool is_read() const { return opcode == format::Opcode::rdma_read; }
  bool is_atomic() const {
    return opcode >= format::Opcode::atomic_cs && opcode <= format::Opcode::atomic_masked_fa;
  }
  bool has_response() const { return is_read() || is_atomic(); }
  bool has_imm() const {
    return opcode == format::Opcode::send_imm || opcode == format::Opcode::rdma_write_imm;
  }
  bool takes_receive() const { return is_send() || opcode == format::Opcode::rdma_write_imm; }
  // Bytes of the peer's target that it writes, from `remote` on.
  const std::vector<std::uint8_t>* written() const {
    if (is_write()) return &bytes;
    return is_atomic() ? &after : nullptr;
  }
  std::uint32_t atomic_size() const { return opmod == format::kOpmodAtomic4 ? 4 : 8; }
};

// Fills in what the atomic brings back and leaves, if the peer's word is `word` (in memory order).
void execute_atomic(Operation& operation, const std::uint8_t* word);

// Keys and addresses as a WQE names them.
struct Naming {
  std::uint32_t lkey = 0, rkey = 0, constants_key = 0;
  std::size_t local = 0;          // the first byte of the local region, as a piece's offset
  std::uint64_t local_iova = 0;   // ... as the NIC calls it
  std::uint64_t remote_iova = 0;  // of the peer's target
  std::uint64_t constants_iova = 0;
  std::uint64_t remote_size = 0;
};

// The WQE's segments behind its control segment.
std::vector<format::Segment> body_of(const Operation& operation, const Naming& naming);

}  // namespace gdakit::softnic::test::model
