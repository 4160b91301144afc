#include "tests/softnic/model/traffic.h"

#include <algorithm>

namespace gdakit::softnic::test::model {
namespace {

using format::Completion;
using format::FenceMode;
using format::Opcode;

constexpr std::uint32_t kLongest = 1500;
constexpr std::uint32_t kLongestRead = 4000;
constexpr std::uint32_t kMostWqebbs = 8;     // of a WQE
constexpr std::uint32_t kMostFedWqebbs = 3;  // of one without inline data

class Composer {
 public:
  Composer(End& end, std::uint32_t mtu) : end_(end), random_(end.random), mtu_(mtu) {}

  bool compose(Wish wish);

 private:
  Opcode choose_opcode(Wish wish);
  std::uint32_t choose_length(std::uint32_t most);
  void choose_operands(Operation& op);
  void choose_marks(Operation& op);
  void spoil(Operation& op);
  bool place(Operation& op);
  void execute(Operation& op);
  bool finish(Operation op);
  void feed(const Operation& source);

  End& end_;
  Random& random_;
  const std::uint32_t mtu_;
};

Opcode Composer::choose_opcode(Wish wish) {
  if (wish == Wish::brief && random_.percent(85)) return Opcode::nop;
  constexpr Opcode kOpcodes[] = {Opcode::rdma_write,
                                 Opcode::rdma_write,
                                 Opcode::rdma_write,
                                 Opcode::rdma_write_imm,
                                 Opcode::send,
                                 Opcode::send,
                                 Opcode::send_imm,
                                 Opcode::rdma_read,
                                 Opcode::rdma_read,
                                 Opcode::rdma_read,
                                 Opcode::atomic_fa,
                                 Opcode::atomic_cs,
                                 Opcode::nop,
                                 Opcode::atomic_masked_fa,
                                 Opcode::atomic_masked_cs,
                                 Opcode::dump,
                                 Opcode::nop};
  return random_.pick(kOpcodes);
}

std::uint32_t Composer::choose_length(std::uint32_t most) {
  std::uint32_t length = 0;
  switch (random_.below(8)) {
    case 0: length = random_.below(2); break;
    case 1:
    case 2: length = random_.between(1, 80); break;
    case 3: length = mtu_ * random_.between(1, 4); break;
    case 4: length = mtu_ * random_.between(1, 4) + 1; break;
    case 5: length = mtu_ * random_.between(1, 4) - 1; break;
    default: length = random_.below(most + 1); break;
  }
  return std::min(length, most);
}

void Composer::choose_operands(Operation& op) {
  const bool is_masked =
      op.opcode == Opcode::atomic_masked_fa || op.opcode == Opcode::atomic_masked_cs;
  const bool adds = op.opcode == Opcode::atomic_fa || op.opcode == Opcode::atomic_masked_fa;
  if (is_masked) op.opmod = random_.percent(50) ? format::kOpmodAtomic4 : format::kOpmodAtomic8;
  op.length = op.atomic_size();
  // A few words are used again and again.
  const std::uint32_t words = kTargetBytes / op.length;
  op.remote = op.length * random_.below(random_.percent(50) ? 4 : words);
  std::uint64_t there = 0;
  std::memcpy(&there, end_.flow->target_after() + op.remote, op.length);
  op.swap_add = random_.percent(50) ? random_.below(3) : random_.next64();
  op.compare = random_.percent(60) ? there : random_.next64();
  const auto mask = [&] { return is_masked ? random_.next64() : ~std::uint64_t{0}; };
  op.swap_mask = mask();
  op.compare_mask = mask();
  if (adds && is_masked) op.boundary = random_.next64() & random_.next64();
}

void Composer::choose_marks(Operation& op) {
  constexpr Completion kQuiet[] = {Completion::on_error, Completion::on_first_error};
  constexpr Completion kTold[] = {Completion::always, Completion::with_event};
  op.completion = random_.percent(40) ? random_.pick(kQuiet) : random_.pick(kTold);
  constexpr FenceMode kFences[] = {FenceMode::small, FenceMode::fence, FenceMode::strong,
                                   FenceMode::fence_and_small};
  if (random_.percent(15)) op.fence = random_.pick(kFences);
  op.solicited = random_.percent(20) && op.takes_receive();
  if (op.has_imm()) op.imm = random_.next();
}

// Gives the WQE the flaw that its kind can have; a NOP can only be no WQE at all.
void Composer::spoil(Operation& op) {
  const bool is_remote = (op.is_write() || op.has_response()) && op.length != 0;
  const std::uint32_t kind = random_.below(4);
  const auto capacity = end_.flow->capacity_of_next_message();
  op.from_constants = false;
  if (op.is_atomic() && kind == 0) {
    op.flaw = Flaw::unaligned;
  } else if (is_remote && kind < 2) {
    op.flaw = kind == 0 && op.length > 8 ? Flaw::bad_range : Flaw::bad_rkey;
    if (op.has_response() && random_.percent(50)) op.flaw = Flaw::bad_keys;
  } else if (op.is_send() && op.length != 0 && kind < 2 && (!capacity || *capacity < op.length)) {
    op.flaw = Flaw::too_long;
  } else if (op.length != 0 && op.opcode != Opcode::nop) {
    op.flaw = Flaw::bad_lkey;
  } else {
    op = {};
    op.flaw = Flaw::bad_opcode;
  }
}

// Finds local bytes for the message: in several pieces, some of them inline.
bool Composer::place(Operation& op) {
  const bool may_inline = (op.is_write() || op.is_send()) && op.flaw == Flaw::none;
  if (may_inline && op.length != 0 && random_.percent(30)) {
    op.inline_bytes = random_.percent(60) ? op.length : random_.between(1, op.length);
    op.inline_bytes = std::min(op.inline_bytes, random_.percent(50) ? 64u : 300u);
  }
  std::uint32_t left = op.length - op.inline_bytes;
  if (left == 0) return true;
  std::uint32_t pieces = op.is_atomic() || random_.percent(50) ? 1 : random_.between(1, 8);
  pieces = std::min(pieces, left);
  const auto at = end_.allocate_local(left + 3 * pieces, op.local_bytes);
  if (!at) return false;
  std::size_t next = *at;
  for (; pieces != 0; --pieces) {
    const std::uint32_t size = pieces == 1 ? left : random_.between(1, left - (pieces - 1));
    op.pieces.push_back({next + random_.below(4), size});
    next += size + 3;
    left -= size;
  }
  if (random_.percent(50)) std::reverse(op.pieces.begin(), op.pieces.end());
  return true;
}

// What it sends, or what it should bring back.
void Composer::execute(Operation& op) {
  const std::uint8_t* const there = end_.flow->target_after() + op.remote;
  if (op.is_atomic()) return execute_atomic(op, there);
  if (op.length == 0) return;
  op.bytes.resize(op.length);
  if (op.from_constants) {
    std::memcpy(op.bytes.data(), end_.peer->nic.memory.at(end_.peer->nic.constants + op.remote),
                op.length);
  } else if (op.is_read()) {
    std::memcpy(op.bytes.data(), there, op.length);
  } else {
    random_.fill(op.bytes.data(), op.length);
    std::uint32_t at = op.inline_bytes;
    for (const Piece& piece : op.pieces) {
      end_.nic.memory.store(piece.offset, op.bytes.data() + at, piece.size);
      at += piece.size;
    }
  }
}

bool Composer::finish(Operation op) {
  const auto body = body_of(op, end_.naming());
  end_.post(std::move(op), body);
  return true;
}

// The next WQE waits for `source` and sends what it brings.
void Composer::feed(const Operation& source) {
  Operation op;
  op.opcode = random_.percent(50) ? Opcode::rdma_write : Opcode::send;
  if (op.is_send() &&
      end_.flow->capacity_of_next_message().value_or(source.length) < source.length) {
    op.opcode = Opcode::rdma_write;
  }
  choose_marks(op);
  op.fence = random_.percent(50) ? FenceMode::fence : FenceMode::strong;
  op.length = source.length;
  op.remote = random_.below(kTargetBytes - op.length + 1);
  op.pieces = source.pieces;
  op.local_bytes = source.local_bytes;
  op.is_fed = true;
  op.bytes = source.bytes;
  finish(std::move(op));
}

bool Composer::compose(Wish wish) {
  const bool spoiled = wish == Wish::spoiled;
  Operation op;
  op.opcode = choose_opcode(wish);
  if (wish == Wish::brief && op.opcode != Opcode::nop) op.opcode = Opcode::rdma_write;
  if (!end_.has_room(op.opcode == Opcode::nop ? 1 : kMostWqebbs, 1)) return false;
  choose_marks(op);
  if (op.is_atomic()) {
    choose_operands(op);
  } else if (op.opcode != Opcode::nop) {
    const bool is_message = op.is_send();
    const auto capacity = end_.flow->capacity_of_next_message();
    const bool stays_short = is_message && !(spoiled && random_.percent(50));
    op.length = choose_length(stays_short    ? capacity.value_or(kMostReceived)
                              : is_message   ? kMostReceived
                              : op.is_read() ? kLongestRead
                                             : kLongest);
    op.from_constants = op.is_read() && random_.percent(50);
    const bool anywhere = op.length > kLongest || random_.percent(50);
    op.remote = random_.below((anywhere ? kTargetBytes : kLongest) - op.length + 1);
  }
  if (spoiled) spoil(op);
  const bool is_too_long =
      op.is_send() && op.length > end_.flow->capacity_of_next_message().value_or(kMostReceived);
  if (is_too_long && op.flaw != Flaw::too_long) return false;
  if (!place(op)) return false;
  execute(op);
  op.feeds_next = op.has_response() && op.length != 0 && op.flaw == Flaw::none &&
                  (op.from_constants || op.is_atomic()) && op.length <= kMostReceived &&
                  random_.percent(30) && end_.has_room(kMostWqebbs + kMostFedWqebbs, 2);
  if (!op.feeds_next) return finish(std::move(op));
  const Operation source = op;
  op.local_bytes = 0;
  finish(std::move(op));
  feed(source);
  return true;
}

}  // namespace

bool post_something(End& end, std::uint32_t mtu, Wish wish) {
  // Its place in the queue may be that of inline data.
  if (end.failed && !kPayloadIsFreeAfterErrors) return false;
  return Composer(end, mtu).compose(wish);
}

}  // namespace gdakit::softnic::test::model
