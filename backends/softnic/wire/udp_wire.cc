#include "backends/softnic/wire/udp_wire.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/base/assert.h"

namespace gdakit::softnic {
namespace {

// More than one queue pair sends, so each may fill a quarter.
std::uint32_t window_for(const UdpOptions& options, std::uint32_t buffer_bytes) {
  constexpr std::uint32_t kFewest = 4, kMost = 64;
  if (options.psn_window != 0) return options.psn_window;
  const std::uint32_t counted = 2 * options.mtu + 1024;
  return std::clamp(buffer_bytes / counted / 4, kFewest, kMost);
}

Result<> check(const UdpOptions& options) {
  const std::uint32_t mtu = options.mtu, window = options.psn_window;
  if (!std::has_single_bit(mtu) || mtu < roce::kLeastMtu || mtu > roce::kMostMtu) {
    return Error(Code::invalid_argument,
                 "an MTU of RoCE is 256, 512, 1024, 2048 or 4096, not " + std::to_string(mtu));
  }
  if (window == 1 || window > kMaxPsnWindow) {
    return Error(Code::invalid_argument, "a window has 2 to " + std::to_string(kMaxPsnWindow) +
                                             " PSNs, not " + std::to_string(window));
  }
  if (options.receive_slots == 0) {
    return Error(Code::invalid_argument, "a wire without receive slots receives nothing");
  }
  return {};
}

}  // namespace

std::size_t UdpWire::AddressHash::operator()(const UdpAddress& address) const {
  const auto& bytes = address.ip.bytes;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return std::hash<std::string_view>()(text) ^ (std::size_t{address.port} << 16);
}

Result<std::unique_ptr<UdpWire>> UdpWire::create(UdpSocket socket, const UdpOptions& options) {
  if (const Result<> right = check(options); !right) return right.error();
  return std::unique_ptr<UdpWire>(new UdpWire(std::move(socket), options));
}

UdpWire::UdpWire(UdpSocket socket, const UdpOptions& options)
    : socket_(std::move(socket)),
      endpoint_(options.endpoint),
      mtu_(options.mtu),
      psn_window_(window_for(options, socket_.receive_buffer())),
      slots_(options.receive_slots) {
  for (std::uint32_t i = 0; i < slots_.size(); ++i) free_.push_back(i);
  add(endpoint_, address());
}

UdpWire::~UdpWire() { flush(); }

Result<> UdpWire::connect(Endpoint endpoint, const UdpAddress& address) {
  const auto error = [&](std::string why) {
    return Error(Code::invalid_argument,
                 "endpoint " + std::to_string(endpoint) + " at " + address.text() + why);
  };
  if (endpoint == endpoint_ && !(address == this->address())) {
    return error(": this NIC itself is at " + this->address().text());
  }
  if (address.ip.is_v6 != this->address().ip.is_v6) {
    return error(" and " + this->address().text() + ": one is of IPv4, the other of IPv6");
  }
  if (address.port == 0 || address.is_unspecified()) return error(": nobody is reached there");
  const auto known = endpoints_.find(address);
  if (known != endpoints_.end() && known->second != endpoint) {
    return error(": endpoint " + std::to_string(known->second) + " is reached there");
  }
  const Result<std::uint32_t> longest = socket_.longest_packet_to(address);
  if (!longest) return longest.error();
  if (longest_roce_mtu(*longest) < mtu_) {
    return error(": the way there carries packets of " + std::to_string(*longest) +
                 " bytes, too short for an MTU of " + std::to_string(mtu_) +
                 "; raise the interface's MTU, or lower this one");
  }
  if (known == endpoints_.end()) add(endpoint, address);
  return {};
}

UdpAddress UdpWire::address_of(Endpoint endpoint) const {
  const auto peer = peers_.find(endpoint);
  return peer == peers_.end() ? UdpAddress{} : peer->second->address;
}

void UdpWire::add(Endpoint endpoint, const UdpAddress& address) {
  std::erase_if(endpoints_, [endpoint](const auto& row) { return row.second == endpoint; });
  addresses_.push_back({address, SocketAddress(address)});
  peers_[endpoint] = &addresses_.back();
  endpoints_[address] = endpoint;
}

bool UdpWire::send(const Packet& packet) {
  const auto peer = peers_.find(packet.header.destination);
  if (peer == peers_.end()) {
    ++counters_.unconnected;
    return true;
  }
  if (outgoing_.full()) flush();
  if (outgoing_.full()) return false;
  const roce::UdpWay way = way_between(address(), peer->second->address);
  const std::size_t size = roce::encode(roce::to_roce(packet), way, outgoing_.room());
  outgoing_.push(size, peer->second->socket_address, packet.header.traffic_class);
  return true;
}

void UdpWire::flush() {
  const SendRing::Sent sent = outgoing_.send(socket_.get());
  counters_.sent += sent.datagrams;
  counters_.unsendable += sent.refused;
}

// Fetches datagrams into free slots; false if there are none.
bool UdpWire::pull() {
  arrived_.clear();
  next_arrived_ = 0;
  while (!free_.empty() && !incoming_.full()) {
    incoming_.add(free_.back(), slots_[free_.back()].bytes);
    free_.pop_back();
  }
  const auto datagrams = incoming_.receive(socket_.get());
  for (const ReceiveBatch::Datagram& datagram : datagrams) {
    note_losses(datagram);
    (take(datagram) ? arrived_ : free_).push_back(datagram.place);
  }
  return !datagrams.empty();
}

void UdpWire::note_losses(const ReceiveBatch::Datagram& datagram) {
  if (!datagram.lost) return;
  counters_.overrun += *datagram.lost - lost_;  // modulo 2^32
  lost_ = *datagram.lost;
}

// Makes a packet of what lies in the slot; false if it is dropped.
bool UdpWire::take(const ReceiveBatch::Datagram& datagram) {
  const auto from = endpoints_.find(datagram.from);
  if (from == endpoints_.end()) {
    ++counters_.strangers;
    return false;
  }
  Slot& slot = slots_[datagram.place];
  roce::RocePacket packet;
  const roce::Damage damage = datagram.is_cut
                                  ? roce::Damage::length
                                  : roce::decode(std::span(slot.bytes).first(datagram.size),
                                                 way_between(datagram.from, address()), packet);
  if (damage != roce::Damage::none) {
    ++counters_.damaged[static_cast<std::size_t>(damage)];
    return false;
  }
  if (packet.payload.size() > mtu_) {
    ++counters_.too_long;
    return false;
  }
  const roce::Unfit unfit = roce::from_roce(packet, slot.packet);
  if (unfit != roce::Unfit::none) {
    ++counters_.unfit[static_cast<std::size_t>(unfit)];
    return false;
  }
  PacketHeader& header = slot.packet.header;
  header.source = from->second;
  header.destination = endpoint_;
  header.traffic_class = datagram.traffic_class;
  header.service_level = datagram.traffic_class >> 5;
  return true;
}

const Packet* UdpWire::receive() {
  // A flood of what is dropped must not keep the NIC from its other work.
  constexpr int kMostPulls = 4;
  for (int pulls = 0; next_arrived_ == arrived_.size(); ++pulls) {
    if (pulls == kMostPulls || !pull()) return nullptr;
  }
  ++counters_.received;
  return &slots_[arrived_[next_arrived_++]].packet;
}

void UdpWire::retire(const Packet* packet) {
  static_assert(std::is_standard_layout_v<Slot> && offsetof(Slot, packet) == 0);
  const auto number =
      static_cast<std::size_t>(reinterpret_cast<const Slot*>(packet) - slots_.data());
  GDAKIT_ASSERT(number < slots_.size());
  free_.push_back(static_cast<std::uint32_t>(number));
}

}  // namespace gdakit::softnic
