// The oracle of one direction of a connection: what one end asks for and the other end receives,
// executed in order on a copy of the peer's target as soon as it is posted.
//
//   operations   | done, forgotten | in flight, as posted | given up, until settle()
//                                    ^ completed in order by the CQEs of the requester's end
//   messages     SENDs and WRITEs with immediate, taken in order by the responder's receives
//
// Memory is looked at when a CQE is seen. Only then is it known what lies there, and even so an
// operation behind may have written already: then its bytes are right, too.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "tests/softnic/model/journal.h"
#include "tests/softnic/model/memory.h"
#include "tests/softnic/model/operation.h"

namespace gdakit::softnic::test::model {

inline constexpr std::uint32_t kTargetBytes = 4096;

// Whether the payload of a WQE is its client's again once the WQE has completed in error, as it is
// after success. If not, it stays as it is until its connection is gone.
inline constexpr bool kPayloadIsFreeAfterErrors = true;

struct Message {
  std::uint64_t operation = 0;  // its number
  format::Opcode opcode = format::Opcode::send;
  std::uint32_t imm = 0;
  bool solicited = false;
  std::uint32_t length = 0;
  Flaw flaw = Flaw::none;
  std::vector<std::uint8_t> bytes;
};

struct Receive {
  std::uint64_t index = 0;
  std::vector<Piece> pieces;
  std::uint32_t capacity = 0;
};

class Flow {
 public:
  // `target` is the part of the responder's memory that operations name.
  Flow(Journal& journal, ShadowedMemory& requester, ShadowedMemory& responder, std::size_t target);

  // The requester's client.
  void post(Operation operation);
  std::deque<Operation>& in_flight() { return in_flight_; }
  // No NIC reads the payload of what is in flight or given up any more.
  void reuse_payloads();
  // The first `count` in flight have succeeded; or failed, or were flushed.
  void succeed(std::size_t count);
  void give_up(std::size_t count);
  // What the peer's target holds once all that is posted is done.
  const std::uint8_t* target_after() const { return after_.data(); }

  // The responder's client.
  void post_receive(Receive receive) { receives_.push_back(std::move(receive)); }
  std::deque<Receive>& receives() { return receives_; }
  // The oldest message without a CQE there, if it has been posted.
  const Message* next_message() const { return messages_.empty() ? nullptr : &messages_.front(); }
  // The one that the receive posted next will take, and its receive, if they have been posted.
  const Message* message_of_next_receive() const;
  std::optional<std::uint32_t> capacity_of_next_message() const;
  // The oldest receive has completed with the next message; or was flushed.
  void received();
  void flush_receive();

  // No packet of this connection is under way any more. `broken`: its queues were in error, so what
  // has not succeeded may have been done, or in part.
  void settle(bool broken);

 private:
  bool is_written_later(std::uint32_t at, std::uint8_t byte, std::uint64_t after_number) const;
  void check_written(const Operation& operation);
  void check_read(const Operation& operation);
  void scribble(const Operation& operation);
  void check_broken_target();
  void begin();

  Journal& journal_;
  ShadowedMemory& requester_;
  ShadowedMemory& responder_;
  const std::size_t target_;

  std::uint64_t next_number_ = 0;
  std::deque<Operation> in_flight_;
  std::vector<Operation> given_up_;
  std::vector<std::uint8_t> after_;      // the target once all is done
  std::vector<std::uint8_t> succeeded_;  // ... once all that has succeeded is done
  std::vector<std::uint64_t> writer_;    // by byte: 1 + the operation posted last that writes it

  std::deque<Message> messages_;
  std::uint64_t first_message_ = 0;
  std::uint64_t received_messages_ = 0;
  std::uint64_t acknowledged_messages_ = 0;  // by the success of their WQEs
  std::deque<Receive> receives_;
};

}  // namespace gdakit::softnic::test::model
