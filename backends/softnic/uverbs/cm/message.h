// What connection managers say to each other, as values.
//
//   Mad mad = encode(message);
//   std::optional<Message> heard = decode(mad);
//
//   active side                                  passive side
//     REQ  ------------------------------------>
//          <------------------------------------ REP, or REJ
//     RTU  ------------------------------------>
//     DREQ ------------------------------------> (either side)
//          <------------------------------------ DREP
//
// MRA tells one who waits that the message has come, and that the answer takes longer. Datagrams
// have SIDR_REQ and SIDR_REP alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/uverbs/cm/ip_port.h"
#include "backends/softnic/uverbs/cm/mads.h"

namespace gdakit::softnic::uverbs::cm {

// By the numbers of their attributes.
enum class MessageKind : std::uint16_t {
  req = 0x10,
  mra = 0x11,
  rej = 0x12,
  rep = 0x13,
  rtu = 0x14,
  dreq = 0x15,
  drep = 0x16,
  sidr_req = 0x17,
  sidr_rep = 0x18,
};

// Why a REJ rejects.
inline constexpr std::uint16_t kTimedOut = 4, kInvalidCommId = 6, kInvalidServiceId = 8,
                               kConsumerDefined = 28;
// Which message a REJ or MRA is for.
inline constexpr std::uint8_t kOfReq = 0, kOfRep = 1, kOfOther = 2;
// What a SIDR_REP says.
inline constexpr std::uint16_t kSidrSuccess = 0, kSidrUnsupported = 1, kSidrRejected = 2;

// What the two sides tell each other of their queue pairs.
struct QpSide {
  QpNumber qpn = 0;
  std::uint32_t qkey = 0;
  std::uint32_t psn = 0;  // with which the other side is to begin
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint8_t rnr_retry_count = 0;  // 3 bits
  std::uint8_t retry_count = 0;      // 3 bits, of a REQ
  bool flow_control = false;
  bool srq = false;
};

inline constexpr std::uint8_t kHopLimit = 64;  // of all ways

// The way that a REQ proposes.
struct Way {
  Gid source{};
  Gid destination{};
  std::uint16_t source_lid = 0;
  std::uint16_t destination_lid = 0;
  std::uint8_t mtu_code = 0;  // enum ib_mtu
  std::uint8_t traffic_class = 0;
  std::uint8_t ack_timeout = 0;  // 5 bits
};

// What a side's NIC can do beyond the specification (enhanced connection establishment): of REQ and
// REP, which carry it.
struct Ece {
  std::uint32_t vendor_id = 0;  // 24 bits; 0: nothing
  std::uint32_t options = 0;

  friend bool operator==(const Ece&, const Ece&) = default;
};

struct Message {
  MessageKind kind = MessageKind::req;
  std::uint32_t local_id = 0;   // the sender's; of SIDR the request's
  std::uint32_t remote_id = 0;  // the receiver's
  bool unreliable = false;      // of a REQ: UC and not RC
  std::uint64_t service_id = 0;
  std::uint64_t guid = 0;
  QpSide qp;
  Ece ece;
  Way way;
  IpPort source, destination;  // of REQ and SIDR_REQ
  // Of a REJ and a SIDR_REP; of REJ and MRA, which message they are for.
  std::uint16_t reason = 0;
  std::uint8_t answered = 0;
  std::vector<std::uint8_t> private_data;
};

// How many bytes of it a message has.
std::size_t private_bytes(MessageKind kind);

// What private data is too long is cut.
Mad encode(const Message& message);
// None: no message of a connection manager, or a REQ that is not one of IP. Private data is as long
// as the message has room for.
std::optional<Message> decode(const Mad& mad);

}  // namespace gdakit::softnic::uverbs::cm
