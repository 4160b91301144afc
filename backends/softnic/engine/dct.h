// A target of DC, and its responders: one for each initiator that is connected to it, or was.
//
//   connected --> leaving --> left         its place is for others; it goes on when it comes again
//             --> closing --> closed       the initiator has ended the connection
//             --> failed                   what it asked for was refused, for good
//
// A responder that has left, is closed or failed is parked: it takes no place, and knows what of
// its initiator's packets were executed, so that none is a second time.
#pragma once

#include <cstdint>

#include "backends/softnic/engine/qp.h"
#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/queues/linked_list.h"

namespace gdakit::softnic {

struct Dct {
  Dct(DctNumber dctn, const DctAttributes& given) : number(dctn), attributes(given) {}

  const DctNumber number;
  const DctAttributes attributes;
  Cq* cq = nullptr;
  Srq* srq = nullptr;
  DctState state = DctState::active;
  bool broken = false;  // its CQ has lost a CQE: no packet is taken any more
  bool armed = false;   // the next violation is told
  std::uint32_t key_violations = 0;
  std::uint32_t connections = 0;  // responders that are not parked
  QueueCounters counters;         // of responders that are gone
};

// Whose responder it is.
struct DcPeer {
  DctNumber target = 0;
  QpNumber initiator = 0;
  Endpoint endpoint = 0;  // the initiator's

  friend bool operator==(const DcPeer&, const DcPeer&) = default;
};

enum class DcPhase : std::uint8_t { connected, leaving, closing, left, closed, failed };
constexpr bool is_parked(DcPhase phase) { return phase >= DcPhase::left; }
constexpr bool is_going(DcPhase phase) {
  return phase == DcPhase::leaving || phase == DcPhase::closing;
}

struct DcResponder : Qp {
  DcResponder(Dct& whose, const DcPeer& from, const QpAttributes& attributes)
      : Qp(whose.number, attributes, /*window=*/1, whose.srq),
        target(whose),
        initiator(from.initiator),
        endpoint(from.endpoint) {}

  DcPeer peer() const { return {target.number, initiator, endpoint}; }

  Dct& target;
  const QpNumber initiator;
  const Endpoint endpoint;
  DcPhase phase = DcPhase::connected;
  std::uint64_t id = 0;        // of the connection, as its connect said
  std::uint64_t since_ns = 0;  // when that came
  std::uint64_t last_ns = 0;   // ... and the last packet
  std::uint64_t going_ns = 0;  // when it was to leave, or to close
  Link<DcResponder> order;
};

}  // namespace gdakit::softnic
