#include "backends/softnic/uverbs/mad_wire.h"

#include <algorithm>
#include <utility>

namespace gdakit::softnic::uverbs {
namespace {

class MadWire final : public WrappedWire {
 public:
  MadWire(std::unique_ptr<Wire> wire, const MadPort& port)
      : WrappedWire(std::move(wire)), port_(port), qpn_(mad_qpn(endpoint() % kPlaces)) {}

  // The engine, which has no such queue pair, drops it: so it is retired in its turn.
  const Packet* receive() override {
    const Packet* const packet = inner().receive();
    if (packet != nullptr && is_mad(*packet)) port_.receive(*packet);
    return packet;
  }
  void retire(const Packet* packet) override {
    if (is_mad(*packet)) ++mads_;
    inner().retire(packet);
  }
  // The engine counts them as dropped, which they are not.
  void add_counters(NicCounters& counters) const override {
    inner().add_counters(counters);
    counters.dropped_packets -= mads_;
  }

 private:
  bool is_mad(const Packet& packet) const { return packet.header.destination_qpn == qpn_; }

  const MadPort& port_;
  const QpNumber qpn_;
  std::uint64_t mads_ = 0;
};

}  // namespace

std::unique_ptr<Wire> MadPort::wrap(std::unique_ptr<Wire> wire) {
  auto around = std::make_unique<MadWire>(std::move(wire), *this);
  wire_ = around.get();
  return around;
}

void MadPort::set_receiver(Receiver receiver) {
  const std::lock_guard lock(mutex_);
  receiver_ = std::move(receiver);
}

void MadPort::receive(const Packet& packet) const {
  const PacketHeader& header = packet.header;
  const bool is_mad = header.service == ServiceType::ud &&
                      header.opcode == PacketOpcode::send_only && header.fragment_count == 0 &&
                      header.payload_size == kMadBytes && header.deth.qkey == kMadQkey;
  if (!is_mad) return;
  Mad mad;
  std::copy_n(packet.payload, kMadBytes, mad.begin());
  const std::lock_guard lock(mutex_);
  if (receiver_) receiver_(header.source, mad);
}

void MadPort::send(Nic& nic, Endpoint to, const Mad& mad) {
  Packet packet;
  packet.header.destination = to;
  packet.header.service = ServiceType::ud;
  packet.header.opcode = PacketOpcode::send_only;
  packet.header.destination_qpn = mad_qpn(to % kPlaces);
  packet.header.payload_size = kMadBytes;
  packet.header.deth = {kMadQkey, mad_qpn(nic.endpoint() % kPlaces)};
  packet.payload = mad.data();
  packet.sender = packet.header.deth.source_qpn;
  nic.between_steps([&] {
    wire_->send(packet);
    wire_->flush();
  });
}

}  // namespace gdakit::softnic::uverbs
