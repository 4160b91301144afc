#include "tests/softnic/model/operation.h"

namespace gdakit::softnic::test::model {
namespace {

using format::Opcode;

// Bit by bit: a carry goes into the next bit unless this one ends its field.
std::uint64_t add_bit_by_bit(std::uint64_t a, std::uint64_t b, std::uint64_t ends, unsigned bits) {
  std::uint64_t sum = 0;
  unsigned carry = 0;
  for (unsigned bit = 0; bit < bits; ++bit) {
    const unsigned total =
        static_cast<unsigned>((a >> bit) & 1) + static_cast<unsigned>((b >> bit) & 1) + carry;
    sum |= std::uint64_t{total & 1} << bit;
    carry = ((ends >> bit) & 1) != 0 ? 0 : total >> 1;
  }
  return sum;
}

std::uint64_t word_after(const Operation& operation, std::uint64_t old, std::uint32_t size) {
  const bool adds =
      operation.opcode == Opcode::atomic_fa || operation.opcode == Opcode::atomic_masked_fa;
  if (adds) return add_bit_by_bit(old, operation.swap_add, operation.boundary, size * 8);
  std::uint64_t after = old;
  for (unsigned bit = 0; bit < size * 8; ++bit) {
    const std::uint64_t mask = std::uint64_t{1} << bit;
    const bool compared = (operation.compare_mask & mask) != 0;
    if (compared && (old & mask) != (operation.compare & mask)) return old;
    if ((operation.swap_mask & mask) != 0) after = (after & ~mask) | (operation.swap_add & mask);
  }
  return after;
}

void add_atomic(const Operation& op, std::vector<format::Segment>& body) {
  const auto low = [](std::uint64_t value) { return Be32{static_cast<std::uint32_t>(value)}; };
  if (op.opcode == Opcode::atomic_cs || op.opcode == Opcode::atomic_fa) {
    body.push_back(format::to_segment(format::AtomicSegment{Be64{op.swap_add}, Be64{op.compare}}));
  } else if (op.opcode == Opcode::atomic_masked_fa && op.atomic_size() == 4) {
    body.push_back(format::to_segment(
        format::MaskedAtomic4FaSegment{low(op.swap_add), low(op.boundary), Be64{0}}));
  } else if (op.opcode == Opcode::atomic_masked_fa) {
    body.push_back(
        format::to_segment(format::MaskedAtomic8FaSegment{Be64{op.swap_add}, Be64{op.boundary}}));
  } else if (op.atomic_size() == 4) {
    body.push_back(format::to_segment(format::MaskedAtomic4CsSegment{
        low(op.swap_add), low(op.compare), low(op.swap_mask), low(op.compare_mask)}));
  } else {
    body.push_back(format::to_segment(format::AtomicSegment{Be64{op.swap_add}, Be64{op.compare}}));
    body.push_back(
        format::to_segment(format::AtomicSegment{Be64{op.swap_mask}, Be64{op.compare_mask}}));
  }
}

format::Segment remote_of(const Operation& op, const Naming& naming) {
  const Be32 right{op.from_constants ? naming.constants_key : naming.rkey};
  const Be32 key{op.flaw == Flaw::bad_rkey || op.flaw == Flaw::bad_keys ? right + 1 : right};
  std::uint64_t at = (op.from_constants ? naming.constants_iova : naming.remote_iova) + op.remote;
  if (op.flaw == Flaw::bad_range) at = naming.remote_iova + naming.remote_size - op.length + 8;
  if (op.flaw == Flaw::unaligned) ++at;
  return format::to_segment(format::remote_address(at, key));
}

}  // namespace

void execute_atomic(Operation& operation, const std::uint8_t* word) {
  const std::uint32_t size = operation.atomic_size();
  std::uint64_t old = 0;
  std::memcpy(&old, word, size);
  const std::uint64_t after = word_after(operation, old, size);
  operation.after.resize(size);
  std::memcpy(operation.after.data(), &after, size);
  operation.bytes.resize(size);
  // Four bytes come back in network order, eight in the host's.
  const Be32 word4{static_cast<std::uint32_t>(old)};
  std::memcpy(operation.bytes.data(), size == 4 ? static_cast<const void*>(&word4) : &old, size);
}

std::vector<format::Segment> body_of(const Operation& operation, const Naming& naming) {
  std::vector<format::Segment> body;
  if (operation.is_write() || operation.has_response()) {
    body.push_back(remote_of(operation, naming));
  }
  if (operation.is_atomic()) add_atomic(operation, body);
  if (operation.inline_bytes != 0) {
    const auto begin = operation.bytes.begin();
    const auto inlined = inline_segments({begin, begin + operation.inline_bytes});
    body.insert(body.end(), inlined.begin(), inlined.end());
  }
  for (const Piece& piece : operation.pieces) {
    const bool is_bad = operation.flaw == Flaw::bad_lkey || operation.flaw == Flaw::bad_keys;
    const Be32 key{is_bad ? naming.lkey + 1 : naming.lkey};
    const std::uint64_t iova = naming.local_iova + (piece.offset - naming.local);
    body.push_back(format::to_segment(format::data(iova, key, piece.size)));
  }
  return body;
}

}  // namespace gdakit::softnic::test::model
