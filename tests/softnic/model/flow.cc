#include "tests/softnic/model/flow.h"

#include <algorithm>
#include <string>

namespace gdakit::softnic::test::model {
namespace {

constexpr std::uint8_t kReused = 0x99;  // what a client has where a payload was

}  // namespace

Flow::Flow(Journal& journal, ShadowedMemory& requester, ShadowedMemory& responder,
           std::size_t target)
    : journal_(journal),
      requester_(requester),
      responder_(responder),
      target_(target),
      after_(kTargetBytes),
      succeeded_(kTargetBytes),
      writer_(kTargetBytes) {
  begin();
}

void Flow::post(Operation operation) {
  operation.number = next_number_++;
  if (const auto* written = operation.written()) {
    std::copy(written->begin(), written->end(), after_.begin() + operation.remote);
    std::fill_n(writer_.begin() + operation.remote, written->size(), operation.number + 1);
  }
  if (operation.takes_receive()) {
    operation.message = first_message_ + messages_.size();
    Message message{operation.number,
                    operation.opcode,
                    operation.imm,
                    operation.solicited,
                    operation.length,
                    operation.flaw,
                    {}};
    if (operation.is_send()) message.bytes = operation.bytes;
    messages_.push_back(std::move(message));
  }
  in_flight_.push_back(std::move(operation));
}

// Whether an operation behind that one, or one that was given up, writes this byte of the target.
bool Flow::is_written_later(std::uint32_t at, std::uint8_t byte, std::uint64_t number) const {
  const auto writes = [&](const Operation& op) {
    const auto* written = op.written();
    return op.number > number && written != nullptr && at - op.remote < written->size() &&
           (*written)[at - op.remote] == byte;
  };
  return std::any_of(in_flight_.begin(), in_flight_.end(), writes) ||
         std::any_of(given_up_.begin(), given_up_.end(), writes);
}

void Flow::check_written(const Operation& operation) {
  const auto* written = operation.written();
  if (written == nullptr || written->empty()) return;
  const std::uint8_t* there = responder_.at(target_ + operation.remote);
  if (std::memcmp(there, written->data(), written->size()) == 0) return;
  for (std::uint32_t i = 0; i < written->size(); ++i) {
    const std::uint32_t at = operation.remote + i;
    const bool is_last = writer_[at] == operation.number + 1;
    if (there[i] == (*written)[i]) continue;
    if (!is_last && is_written_later(at, there[i], operation.number)) continue;
    journal_.note("byte", {at, there[i], (*written)[i], operation.number});
    journal_.fail("a WRITE or atomic is done, and its bytes are not at the peer");
    return;
  }
}

// Where a READ is not fenced, it may bring what operations behind it have written.
void Flow::check_read(const Operation& operation) {
  std::uint32_t i = 0;
  for (const Piece& piece : operation.pieces) {
    const std::uint8_t* here = requester_.at(piece.offset);
    for (std::uint32_t k = 0; k < piece.size; ++k, ++i) {
      if (here[k] == operation.bytes[i]) continue;
      const std::uint32_t at = operation.remote + i;
      bool is_later = false;
      for (const Operation& op : in_flight_) {
        if (op.number <= operation.number || operation.is_atomic()) continue;
        if (op.is_fenced()) break;
        const auto* written = op.written();
        is_later |= written != nullptr && !operation.from_constants &&
                    at - op.remote < written->size() && (*written)[at - op.remote] == here[k];
      }
      if (is_later) continue;
      journal_.note("byte", {i, here[k], operation.bytes[i], operation.number});
      journal_.fail("a READ or atomic is done, and has not brought what it should");
      return;
    }
    requester_.accept(piece.offset, piece.size);
  }
}

// A payload's place is its client's again.
void Flow::scribble(const Operation& operation) {
  if (operation.has_response()) return;
  for (const Piece& piece : operation.pieces) requester_.fill(piece.offset, kReused, piece.size);
}

void Flow::succeed(std::size_t count) {
  for (; count != 0 && !journal_.failed(); --count) {
    const Operation& operation = in_flight_.front();
    if (operation.flaw != Flaw::none) journal_.fail("a WQE that is wrong has succeeded");
    check_written(operation);
    if (operation.has_response()) check_read(operation);
    if (const auto* written = operation.written()) {
      std::copy(written->begin(), written->end(), succeeded_.begin() + operation.remote);
    }
    if (operation.takes_receive()) acknowledged_messages_ = operation.message + 1;
    scribble(operation);
    in_flight_.pop_front();
  }
}

void Flow::give_up(std::size_t count) {
  for (; count != 0; --count) {
    Operation& operation = in_flight_.front();
    if (kPayloadIsFreeAfterErrors) scribble(operation);
    // Of what was to come back, nothing, a part or all has. A READ asks for a window at a time: one
    // whose range ends too late brings what lies before the end, wherever that is.
    std::uint32_t i = 0;
    for (const Piece& piece : operation.pieces) {
      if (!operation.has_response()) break;
      const bool may_be_anything = operation.flaw == Flaw::bad_range;
      for (std::uint32_t k = 0; k < piece.size && !may_be_anything; ++k, ++i) {
        const std::uint8_t byte = *requester_.at(piece.offset + k);
        const std::uint32_t at = operation.remote + i;
        if (byte == *requester_.expected(piece.offset + k) || byte == operation.bytes[i]) continue;
        const bool may_be_later = operation.is_read() && !operation.from_constants;
        if (may_be_later && is_written_later(at, byte, operation.number)) continue;
        journal_.note("byte", {i, byte, operation.bytes[i], operation.number});
        journal_.fail("a READ or atomic that was given up has brought what it never could");
        return;
      }
      requester_.accept(piece.offset, piece.size);
    }
    given_up_.push_back(std::move(operation));
    in_flight_.pop_front();
  }
}

void Flow::reuse_payloads() {
  for (const Operation& operation : in_flight_) {
    if (!operation.is_fed) scribble(operation);
  }
  for (const Operation& operation : given_up_) scribble(operation);
}

const Message* Flow::message_of_next_receive() const {
  return receives_.size() < messages_.size() ? &messages_[receives_.size()] : nullptr;
}

std::optional<std::uint32_t> Flow::capacity_of_next_message() const {
  if (messages_.size() >= receives_.size()) return std::nullopt;
  return receives_[messages_.size()].capacity;
}

void Flow::received() {
  const Message& message = messages_.front();
  const Receive& receive = receives_.front();
  std::size_t at = 0;
  for (const Piece& piece : receive.pieces) {
    const std::size_t size = std::min<std::size_t>(piece.size, message.bytes.size() - at);
    const auto begin = message.bytes.begin() + static_cast<std::ptrdiff_t>(at);
    if (!std::equal(begin, begin + static_cast<std::ptrdiff_t>(size),
                    responder_.at(piece.offset))) {
      journal_.note("message, byte, size", {first_message_, at, size});
      journal_.fail("the bytes of a received SEND are wrong at its CQE");
      return;
    }
    responder_.accept(piece.offset, size);
    at += size;
  }
  for (const Operation& operation : in_flight_) {
    if (operation.number <= message.operation) check_written(operation);
  }
  messages_.pop_front();
  ++first_message_;
  ++received_messages_;
  receives_.pop_front();
}

void Flow::flush_receive() {
  const Receive& receive = receives_.front();
  const Message* const message = next_message();
  std::uint32_t i = 0;
  for (const Piece& piece : receive.pieces) {
    for (std::uint32_t k = 0; k < piece.size; ++k, ++i) {
      const std::uint8_t byte = *responder_.at(piece.offset + k);
      if (byte == *responder_.expected(piece.offset + k)) continue;
      if (message != nullptr && i < message->bytes.size() && byte == message->bytes[i]) continue;
      journal_.note("byte", {i, byte, 0, first_message_});
      journal_.fail("a receive that was flushed holds what its message never had");
      return;
    }
    responder_.accept(piece.offset, piece.size);
  }
  if (message != nullptr) messages_.pop_front();
  if (message != nullptr) ++first_message_;
  receives_.pop_front();
}

// Each byte is what the last success left, or what something that was given up writes.
void Flow::check_broken_target() {
  for (std::uint32_t at = 0; at < kTargetBytes; ++at) {
    const std::uint8_t byte = *responder_.at(target_ + at);
    if (byte == succeeded_[at]) continue;
    const auto writes = [&](const Operation& op) {
      const auto* written = op.written();
      return written != nullptr && at - op.remote < written->size() &&
             (*written)[at - op.remote] == byte;
    };
    if (std::any_of(given_up_.begin(), given_up_.end(), writes)) continue;
    journal_.note("byte", {at, byte, succeeded_[at], given_up_.size()});
    journal_.fail("the target of a broken connection holds what nobody wrote");
    return;
  }
}

void Flow::settle(bool broken) {
  if (journal_.failed()) return;
  if (received_messages_ < acknowledged_messages_) {
    journal_.note("messages received, acknowledged", {received_messages_, acknowledged_messages_});
    journal_.fail("a SEND or WRITE with immediate has succeeded, and nobody has received it");
  }
  if (broken) {
    check_broken_target();
  } else if (std::memcmp(responder_.at(target_), after_.data(), kTargetBytes) != 0) {
    std::uint64_t at = 0;
    while (*responder_.at(target_ + at) == after_[at]) ++at;
    journal_.note("byte", {at, *responder_.at(target_ + at), after_[at], writer_[at]});
    journal_.fail("all is done, and the peer's target is not what it should be");
  }
  begin();
}

// What lies in the target is where the next life begins.
void Flow::begin() {
  responder_.accept(target_, kTargetBytes);
  std::memcpy(after_.data(), responder_.at(target_), kTargetBytes);
  succeeded_ = after_;
  std::fill(writer_.begin(), writer_.end(), 0);
  given_up_.clear();
  messages_.clear();
  first_message_ = received_messages_ = acknowledged_messages_ = 0;
}

}  // namespace gdakit::softnic::test::model
