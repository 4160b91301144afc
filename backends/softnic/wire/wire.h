// Wire: carries packets between NICs, which it addresses by endpoint number.
//
// Contract. A wire may lose, repeat and reorder packets: the transport above it repairs that. It
// never changes one, except that a wire over IP carries no service level, and that a packet which
// can be marked (packet.h, ECN) may come marked. What a broken or hostile peer sends may hold
// anything, within these bounds: service, opcode and acknowledge are enumerators, payload_size is
// at most mtu() and the sum of the fragments, if there are any, fragment_count at most
// kMaxFragments, psn 24 bits, and the payload that `payload` or the fragments name is readable. All
// calls of one wire come from one thread at a time.
//
// All calls are pure. PlainWire has the usual answers, for wires that carry packets themselves, and
// WrappedWire forwards all calls, for wires around another one. Without a call that is added here
// neither compiles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "backends/softnic/wire/packet.h"
#include "core/host/counters.h"

namespace gdakit::softnic {

// Which packets a recall is for, of those that name memory by reference: what names bytes that were
// found by `key`, and the requests that `requester` has sent.
struct RecallScope {
  std::optional<MemoryKey> key = {};
  std::optional<QpNumber> requester = {};
  bool everything = false;

  bool covers(const Packet& packet) const {
    const std::uint8_t fragments = packet.header.fragment_count;
    if (fragments == 0) return false;
    if (everything) return true;
    if (!is_response(packet.header.opcode) && requester == packet.sender) return true;
    return key && std::any_of(packet.fragments, packet.fragments + fragments,
                              [this](const Fragment& one) { return one.key == *key; });
  }
};

// A recall on its way: the receivers that may still read what it is for.
struct Recall {
  struct Wait {
    Endpoint peer = 0;
    std::uint64_t epoch = 0;  // the reader's, when it was asked
    std::uint64_t below = 0;  // all packets of the recall have smaller indices
  };
  // A request that is taken back, unless the receiver has come to it.
  struct Taken {
    QpNumber sender = 0;
    std::uint32_t psn = 0;
  };
  std::vector<Wait> waits;
  std::vector<Taken> taken;  // those to each peer in the order in which they were sent
};

// Far less than half of all PSNs, so that an answer is never taken for one of another lap.
inline constexpr std::uint32_t kMaxPsnWindow = 1 << 21;

// What the way to one endpoint is like. It does not change.
struct WirePath {
  // The longest payload of a packet, at most the wire's mtu().
  std::uint32_t mtu = 0;
  // As long as a queue pair has fewer PSNs than that on the way, not yet acknowledged, it sends
  // another packet: 2 to kMaxPsnWindow. The last packet may go beyond by reference, or as a READ,
  // whose responses are a window at most.
  std::uint32_t psn_window = kMaxPsnWindow;
  // Instead of psn_window, while each of them is a packet of kSmallPayload bytes at most: a
  // receiver has room for more of those. At least psn_window.
  std::uint32_t small_psn_window = kMaxPsnWindow;
  // Whether packets get lost though the receiver lives.
  bool loses_packets = true;
  // Whether packets go through a network.
  bool over_udp = false;
};

class Wire {
 public:
  virtual ~Wire() = default;

  virtual Endpoint endpoint() const = 0;

  // The longest payload of a packet, and the longest that travels by value. Neither changes.
  virtual std::uint32_t mtu() const = 0;
  virtual std::uint32_t value_mtu() const = 0;

  // The longest MTU of a path: the payload that one PSN stands for, at most. A packet by value has
  // one PSN; a longer one by reference takes several, so that a message is cut at the same places
  // however it travels. A power of two, at most value_mtu(); all wires that meet have the same.
  virtual std::uint32_t psn_bytes() const = 0;

  virtual WirePath path(Endpoint endpoint) const = 0;

  // Whether the receiver reaches all memory that the packet's fragments name. The payload of any
  // other packet travels by value. Once true for some memory and receiver it stays true.
  virtual bool by_reference(const Packet& packet) const = 0;

  // Takes the packet, or returns false because there is no room now: try again after another step.
  // A packet to an endpoint that does not exist is taken and lost. Fills in header.source.
  virtual bool send(const Packet& packet) = 0;

  // The next packet, or null. It stays readable until its retire(). Packets are retired in any
  // number and order, each once; the ones of one sender in the order in which they were received.
  virtual const Packet* receive() = 0;
  virtual void retire(const Packet* packet) = 0;

  // The end of a step: what was sent becomes visible, what was retired is given back.
  virtual void flush() = 0;

  // Makes the wire forget the packets of this scope that were sent so far and that no receiver has
  // come to; all others it carries on. The transport then sends again what was lost.
  virtual Recall recall(const RecallScope& scope) = 0;
  // True once no receiver reads memory that packets of this recall name. Ask, from between steps,
  // until it is.
  virtual bool recalled(Recall& recall) = 0;

  // Whether packets to the endpoint lie before a receiver that still lives and has not come to
  // them: it is stopped or slow, nothing is lost, and to send again would not help. False where the
  // wire cannot tell.
  virtual bool unread(Endpoint endpoint) const = 0;

  // Adds what the wire itself has counted, if anything, to its NIC's counters.
  virtual void add_counters(NicCounters& counters) const = 0;
};

}  // namespace gdakit::softnic
