// The wire between hosts: RoCEv2's packets in UDP datagrams (roce_packet.h).
//
//   Result<UdpSocket> socket = UdpSocket::open(*UdpAddress::parse("10.0.0.7"));
//   Result<std::unique_ptr<UdpWire>> wire = UdpWire::create(std::move(*socket), {.endpoint = 0});
//   (*wire)->connect(1, address_of_endpoint_1);   // on both sides
//
// Payload travels by value. Datagrams get lost, come twice and change places as the network will
// have it. Packets are taken from the addresses and ports of connected endpoints alone; all others
// are dropped, and counted by the reason. A path's traffic class travels in the IP header; its
// service level does not, and is on the other side what the class's upper three bits say.
//
// What the receiver's socket buffer does not hold is lost; so the window is a part of a buffer. The
// buffer is the last queue on the way, too, and marks what can be marked (ECN): messages that are
// fetched while it is half full, and the next one behind a loss.
// The datagrams of a message have one traffic class, and one mark: systems join no others. Linux of
// before 2024 does join them where a network device does, and tells the first one's.
//
// Packets of one size go to the system together, and come from it together, where it knows how
// (udp_batch.h). Over IPv4 they are numbered then, which their invariant CRCs say, too.
//
// With a key, each datagram ends in a tag (packet_tag.h), and who has no such key is not heard.
//
// Other implementations of RoCEv2 send from ports of their own, and over IPv4 number their packets,
// which the invariant CRC covers and a socket does not tell: theirs are not understood.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "backends/softnic/wire/packet_tag.h"
#include "backends/softnic/wire/plain_wire.h"
#include "backends/softnic/wire/roce_translate.h"
#include "backends/softnic/wire/udp_batch.h"
#include "backends/softnic/wire/udp_socket.h"
#include "core/base/result.h"

namespace gdakit::softnic {

// The sockets of a NIC: by which it receives, and by which it sends if that is another one.
struct UdpPort {
  explicit UdpPort(UdpSocket socket) : receiver(std::move(socket)) {}

  UdpSocket receiver;
  // Where `receiver` shares its port: by the port of this one, peers know the NIC.
  std::optional<UdpSocket> sender = {};
  // The receivers of those who share the port. While one holds them, all keep their places.
  std::vector<UdpSocket> others = {};
};

struct UdpOptions {
  Endpoint endpoint = 0;
  // A power of two from 256 to 4096. All wires that meet have the same: the least that
  // longest_roce_mtu() allows between any two of them.
  std::uint32_t mtu = 1024;
  // PSNs of one queue pair under way, 2 to kMaxPsnWindow: what the receiver's socket buffer does
  // not hold is lost. 0: as many as a quarter of a buffer like this wire's holds, 128 at most, and
  // of small packets 1024.
  std::uint32_t psn_window = 0;
  std::uint32_t receive_slots = 512;  // packets that are received and not retired, at least 1
  // All wires that meet have the same, or none.
  std::optional<TagKey> tag_key = {};
  // Whether anybody who is to be met may send from an address: asked first, of every message that
  // is not a connected endpoint's. Null: whoever it is.
  std::function<bool(const UdpAddress& from)> may_come = nullptr;
  // Asked who sends from an address that is no connected endpoint's, once a packet has come whole
  // from there: it is connected then. `of_anyone`: the packet is one of UD or DC, by which a NIC
  // may hear of its sender first. Null, or none: a stranger, who is dropped.
  std::function<std::optional<Endpoint>(const UdpAddress& from, bool of_anyone)> newcomer = nullptr;
};

struct UdpCounters {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;  // and handed to the transport
  // Not sent: no endpoint is connected by that number, or the system refuses the packet.
  std::uint64_t unconnected = 0;
  std::uint64_t unsendable = 0;
  // Dropped on arrival: the socket's buffer was full, the sender is no connected endpoint, the tag
  // is not the packet's, the payload is longer than the MTU.
  std::uint64_t overrun = 0;
  std::uint64_t strangers = 0;
  std::uint64_t untrue = 0;  // without a tag, where one is needed, or with a wrong one
  std::uint64_t too_long = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(roce::Damage::count)> damaged = {};
  std::array<std::uint64_t, static_cast<std::size_t>(roce::Unfit::count)> unfit = {};
};

// All calls, these of its own too, come from one thread at a time.
class UdpWire final : public PlainWire {
 public:
  static Result<std::unique_ptr<UdpWire>> create(UdpPort port, const UdpOptions& options);
  static Result<std::unique_ptr<UdpWire>> create(UdpSocket socket, const UdpOptions& options) {
    return create(UdpPort(std::move(socket)), options);
  }
  ~UdpWire() override;

  // Where this NIC is reached.
  const UdpAddress& address() const { return port_.receiver.address(); }
  // Where its packets come from.
  const UdpAddress& sender() const { return out().address(); }
  // Where a connected endpoint is, or this one; of another, none (0.0.0.0).
  UdpAddress address_of(Endpoint endpoint) const;
  // From now on the endpoint is reached there, and what comes from `sender` is the endpoint's.
  // Errors: a sender of another endpoint, an address to which there is no way, or a way that does
  // not carry packets of this wire's MTU whole. This wire's own endpoint is connected from the
  // beginning.
  Result<> connect(Endpoint endpoint, const UdpAddress& address, const UdpAddress& sender);
  Result<> connect(Endpoint endpoint, const UdpAddress& address) {
    return connect(endpoint, address, address);
  }

  const UdpCounters& counters() const { return counters_; }
  // Whether packets go to the system together: it has not refused that yet.
  bool sends_trains() const { return outgoing_.cuts(); }

  Endpoint endpoint() const override { return endpoint_; }
  std::uint32_t mtu() const override { return mtu_; }
  WirePath path(Endpoint) const override;
  bool by_reference(const Packet&) const override { return false; }
  bool send(const Packet& packet) override;
  const Packet* receive() override;
  void retire(const Packet* packet) override;
  void flush() override;
  void add_counters(NicCounters& counters) const override;

 private:
  struct Slot {
    Packet packet;
    std::uint32_t buffer = 0;  // in which its payload lies
  };
  struct Peer {
    UdpAddress address;
    SocketAddress socket_address;
    roce::IcrcStarts to;
    roce::IcrcStarts from;
    std::optional<PacketTags> tags_to;
    std::optional<PacketTags> tags_from;
  };
  // A message that has come from a peer, and is taken apart packet by packet.
  struct Arrival {
    ReceiveBatch::Message message;
    Endpoint source = 0;
    Peer* peer = nullptr;
    std::uint32_t taken_bytes = 0;
    std::uint32_t taken = 0;  // datagrams
  };
  struct AddressHash {
    std::size_t operator()(const UdpAddress& address) const;
  };

  UdpWire(UdpPort port, PathProbe probe, const UdpOptions& options);

  const UdpSocket& out() const { return port_.sender ? *port_.sender : port_.receiver; }
  Peer make_peer(const UdpAddress& address, const UdpAddress& sender) const;
  void add(Endpoint endpoint, const UdpAddress& address, const UdpAddress& sender);
  std::uint8_t* buffer(std::uint32_t number) {
    return buffers_.get() + std::size_t{number} * kMessageBytes;
  }
  void give_back(std::uint32_t buffer);
  bool pull();
  std::optional<Endpoint> find_sender(const ReceiveBatch::Message& message);
  std::optional<Endpoint> meet(const ReceiveBatch::Message& message);
  bool note_losses(const ReceiveBatch::Message& message);
  bool take_next(Arrival& arrival, Slot& slot);
  bool take(std::span<const std::uint8_t> datagram, Arrival& arrival, Packet& packet);
  static bool strip_tag(std::span<const std::uint8_t>& datagram, Peer& from);
  roce::Damage decode(std::span<const std::uint8_t> datagram, std::uint32_t taken, Peer& from,
                      roce::RocePacket& packet);

  UdpPort port_;
  const PathProbe probe_;
  const Endpoint endpoint_;
  const std::uint32_t mtu_;
  const std::optional<TagKey> tag_key_;
  const std::function<std::optional<Endpoint>(const UdpAddress&, bool)> newcomer_;
  const std::function<bool(const UdpAddress&)> may_come_;
  const std::uint32_t tag_bytes_;
  const std::uint32_t psn_window_;
  const std::uint32_t small_psn_window_;
  std::unordered_map<Endpoint, Peer*> peers_;
  std::unordered_map<UdpAddress, Endpoint, AddressHash> endpoints_;  // by where they send from
  std::deque<Peer> addresses_;  // also those that endpoints had before: packets may be on their way
  UdpCounters counters_;
  std::uint32_t lost_ = 0;   // by the socket's buffer, as far as it has told
  bool owes_mark_ = false;   // for a loss
  bool marks_come_ = false;  // those that came last can be marked
  SendBatch outgoing_;
  ReceiveBatch incoming_;
  roce::IcrcNumbers numbers_{kDatagramBytes};
  std::unique_ptr<std::uint8_t[]> buffers_;  // of kMessageBytes each
  std::vector<std::uint32_t> users_;         // of each buffer: its packets, and its arrival
  std::vector<std::uint32_t> free_buffers_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<Arrival> arrivals_;  // not handed out yet, from next_arrival_ on
  std::size_t next_arrival_ = 0;
};

}  // namespace gdakit::softnic
