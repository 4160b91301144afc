// What a NIC tells beside CQEs: on hardware the entries of event queues.
//
// A kind is the PRM's event type, as it stands in an EQE.
#pragma once

#include <cstdint>

namespace gdakit::softnic {

enum class EventKind : std::uint8_t {
  completion = 0x00,                 // number: CQ that was armed
  communication_established = 0x02,  // QP in state rtr that has received its first packet
  sq_drained = 0x03,                 // QP in state sqd: what its send queue had started is complete
  cq_error = 0x04,                   // CQ; syndrome: kCqOverrun
  qp_fatal = 0x05,                   // QP that has failed for a reason of its own
  port_change = 0x09,                // port; syndrome: 1 down, 4 active
  qp_invalid_request = 0x10,         // QP that was asked for what it does not do
  qp_access_error = 0x11,            // QP that was asked for memory that it may not touch
  srq_error = 0x12,                  // shared receive queue whose list leads out of it
  last_wqe = 0x13,                   // QP that takes no more from its shared receive queue
  srq_limit = 0x14,                  // shared receive queue that has fewer WQEs than its limit
  dct_drained = 0x1c,                // DCT: nothing is under way any more
  dct_key_violation = 0x1d,          // DCT that was armed for it, and was asked with another key
};

inline constexpr std::uint8_t kCqOverrun = 1;  // syndrome of cq_error

struct Event {
  EventKind kind = EventKind::completion;
  std::uint32_t number = 0;  // of the CQ, QP, DCT, shared receive queue or port
  std::uint8_t syndrome = 0;

  friend bool operator==(const Event&, const Event&) = default;
};

// Who listens. Called in the middle of an engine's step: it notes the event and calls nothing of
// the NIC.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void event(const Event& event) = 0;
};

}  // namespace gdakit::softnic
