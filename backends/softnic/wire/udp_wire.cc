#include "backends/softnic/wire/udp_wire.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/base/assert.h"

namespace gdakit::softnic {
namespace {

// For messages that have come and whose packets are not all retired: each may have one packet. Some
// more wait for others to come. Memory that no message has reached is only reserved.
std::size_t buffers_for(const UdpOptions& options) { return options.receive_slots + 16u; }

bool any_can_be_marked(std::span<const ReceiveBatch::Message> messages) {
  return std::any_of(messages.begin(), messages.end(), [](const ReceiveBatch::Message& message) {
    return (message.traffic_class & kEcnMask) != 0;
  });
}

constexpr std::uint32_t kMostPsns = 128;
constexpr std::uint32_t kMostSmallPsns = 1024;

// More than one queue pair sends, so each may fill a quarter.
std::uint32_t window_for(const UdpOptions& options, std::uint32_t buffer_bytes,
                         std::uint32_t payload_bytes, std::uint32_t most) {
  constexpr std::uint32_t kFewest = 4;
  if (options.psn_window != 0) return options.psn_window;
  const std::uint32_t counted = 2 * payload_bytes + 1024;
  return std::clamp(buffer_bytes / counted / 4, kFewest, most);
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

Result<std::unique_ptr<UdpWire>> UdpWire::create(UdpPort port, const UdpOptions& options) {
  if (const Result<> right = check(options); !right) return right.error();
  Result<PathProbe> probe = PathProbe::open(port.receiver.address());
  if (!probe) return probe.error();
  return std::unique_ptr<UdpWire>(new UdpWire(std::move(port), std::move(*probe), options));
}

UdpWire::UdpWire(UdpPort port, PathProbe probe, const UdpOptions& options)
    : port_(std::move(port)),
      probe_(std::move(probe)),
      endpoint_(options.endpoint),
      mtu_(options.mtu),
      tag_key_(options.tag_key),
      newcomer_(options.newcomer),
      may_come_(options.may_come),
      tag_bytes_(tag_key_ ? kTagBytes : 0),
      psn_window_(window_for(options, port_.receiver.receive_buffer(), options.mtu, kMostPsns)),
      small_psn_window_(
          window_for(options, port_.receiver.receive_buffer(), kSmallPayload, kMostSmallPsns)),
      outgoing_(out().cuts_messages()),
      buffers_(new std::uint8_t[buffers_for(options) * kMessageBytes]),
      users_(buffers_for(options)),
      slots_(options.receive_slots) {
  for (std::uint32_t i = 0; i < users_.size(); ++i) free_buffers_.push_back(i);
  for (std::uint32_t i = 0; i < slots_.size(); ++i) free_slots_.push_back(i);
  add(endpoint_, address(), sender());
}

UdpWire::~UdpWire() { flush(); }

void UdpWire::add_counters(NicCounters& counters) const {
  const auto sum = [](const auto& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  };
  const std::uint64_t icrc = counters_.damaged[static_cast<std::size_t>(roce::Damage::icrc)];
  counters.rx_icrc_encapsulated += icrc;
  counters.udp_unconnected += counters_.unconnected;
  counters.udp_unsendable += counters_.unsendable;
  counters.udp_overrun += counters_.overrun;
  counters.udp_strangers += counters_.strangers;
  counters.udp_untrue_tags += counters_.untrue;
  counters.udp_too_long += counters_.too_long;
  counters.udp_malformed += sum(counters_.damaged) - icrc + sum(counters_.unfit);
}

Result<> UdpWire::connect(Endpoint endpoint, const UdpAddress& address, const UdpAddress& sender) {
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
  const auto known = endpoints_.find(sender);
  if (known != endpoints_.end() && known->second != endpoint) {
    return error(": endpoint " + std::to_string(known->second) + " is reached there");
  }
  const Result<std::uint32_t> longest = probe_.longest_packet_to(address);
  if (!longest) return longest.error();
  if (longest_roce_mtu(*longest, tag_bytes_) < mtu_) {
    return error(": the way there carries packets of " + std::to_string(*longest) +
                 " bytes, too short for an MTU of " + std::to_string(mtu_) +
                 "; raise the interface's MTU, or lower this one");
  }
  if (known == endpoints_.end()) add(endpoint, address, sender);
  return {};
}

WirePath UdpWire::path(Endpoint) const {
  return {.mtu = mtu_,
          .psn_window = psn_window_,
          .small_psn_window = small_psn_window_,
          .over_udp = true};
}

UdpAddress UdpWire::address_of(Endpoint endpoint) const {
  const auto peer = peers_.find(endpoint);
  return peer == peers_.end() ? UdpAddress{} : peer->second->address;
}

UdpWire::Peer UdpWire::make_peer(const UdpAddress& address, const UdpAddress& from_there) const {
  const roce::UdpWay to = way_between(sender(), address);
  const roce::UdpWay from = way_between(from_there, this->address());
  Peer peer{address, SocketAddress(address), roce::IcrcStarts(to), roce::IcrcStarts(from), {}, {}};
  if (tag_key_) {
    peer.tags_to.emplace(*tag_key_, to);
    peer.tags_from.emplace(*tag_key_, from);
  }
  return peer;
}

void UdpWire::add(Endpoint endpoint, const UdpAddress& address, const UdpAddress& from_there) {
  std::erase_if(endpoints_, [endpoint](const auto& row) { return row.second == endpoint; });
  peers_[endpoint] = &addresses_.emplace_back(make_peer(address, from_there));
  endpoints_[from_there] = endpoint;
}

bool UdpWire::send(const Packet& packet) {
  const auto found = peers_.find(packet.header.destination);
  if (found == peers_.end()) {
    ++counters_.unconnected;
    return true;
  }
  if (outgoing_.full()) flush();
  if (outgoing_.full()) return false;
  Peer& peer = *found->second;
  const roce::RocePacket made = roce::to_roce(packet);
  const std::size_t size = roce::size_of(made);
  const SendBatch::Room room =
      outgoing_.add(size + tag_bytes_, peer.socket_address, packet.header.traffic_class);
  const std::span<std::uint8_t> bytes = room.bytes.first(size);
  roce::encode(made, peer.to.of(size, room.number), bytes);
  if (peer.tags_to) std::ranges::copy(peer.tags_to->of(bytes), room.bytes.data() + size);
  return true;
}

void UdpWire::flush() {
  if (outgoing_.empty()) return;
  const SendBatch::Sent sent = outgoing_.send(out().get());
  counters_.sent += sent.datagrams;
  counters_.unsendable += sent.refused;
}

// One user of the buffer is gone.
void UdpWire::give_back(std::uint32_t buffer) {
  if (--users_[buffer] == 0) free_buffers_.push_back(buffer);
}

// Fetches messages into free buffers; false if there are none.
bool UdpWire::pull() {
  arrivals_.clear();
  next_arrival_ = 0;
  while (!free_buffers_.empty() && !incoming_.full()) {
    incoming_.add(free_buffers_.back(), buffer(free_buffers_.back()));
    free_buffers_.pop_back();
  }
  // One look may take all that the buffer holds.
  const bool queue_is_long = marks_come_ && port_.receiver.is_half_full();
  const auto messages = incoming_.receive(port_.receiver.get());
  if (!messages.empty()) marks_come_ = any_can_be_marked(messages);
  for (const ReceiveBatch::Message& message : messages) {
    owes_mark_ |= note_losses(message);
    const std::optional<Endpoint> from = find_sender(message);
    if (!from) {
      counters_.strangers += message.datagrams();
      free_buffers_.push_back(message.place);
      continue;
    }
    users_[message.place] = 1;
    arrivals_.push_back({message, *from, peers_.at(*from)});
    const bool is_due = owes_mark_ || queue_is_long;
    if (is_due && mark(arrivals_.back().message.traffic_class)) owes_mark_ = false;
  }
  return !messages.empty();
}

std::optional<Endpoint> UdpWire::find_sender(const ReceiveBatch::Message& message) {
  const auto known = endpoints_.find(message.from);
  if (known != endpoints_.end()) return known->second;
  const bool may_come = newcomer_ && (!may_come_ || may_come_(message.from));
  return may_come ? meet(message) : std::nullopt;
}

// By the message's first datagram, which is taken like all others later.
std::optional<Endpoint> UdpWire::meet(const ReceiveBatch::Message& message) {
  const std::uint32_t size = std::min(message.datagram_bytes, message.size);
  if (size > kDatagramBytes) return std::nullopt;
  std::span<const std::uint8_t> datagram(buffer(message.place), size);
  Peer from = make_peer(message.from, message.from);
  roce::RocePacket packet;
  if (!strip_tag(datagram, from) || decode(datagram, 0, from, packet) != roce::Damage::none) {
    return std::nullopt;
  }
  const roce::Transport transport = roce::transport_of(packet.opcode);
  const bool of_anyone = transport == roce::Transport::ud || transport == roce::Transport::dc;
  const std::optional<Endpoint> endpoint = newcomer_(message.from, of_anyone);
  if (!endpoint || !connect(*endpoint, message.from)) return std::nullopt;
  return endpoint;
}

// True if there are new ones.
bool UdpWire::note_losses(const ReceiveBatch::Message& message) {
  if (!message.lost || *message.lost == lost_) return false;
  counters_.overrun += *message.lost - lost_;  // modulo 2^32
  lost_ = *message.lost;
  return true;
}

// Makes a packet of the arrival's next datagram; false if it is dropped.
bool UdpWire::take_next(Arrival& arrival, Slot& slot) {
  const ReceiveBatch::Message& message = arrival.message;
  const std::uint32_t begin = arrival.taken_bytes;
  const std::uint32_t size = std::min(message.datagram_bytes, message.size - begin);
  slot.buffer = message.place;
  const bool fits = take({buffer(message.place) + begin, size}, arrival, slot.packet);
  ++arrival.taken;
  arrival.taken_bytes += size;
  if (fits) ++users_[message.place];
  if (arrival.taken_bytes == message.size) {
    ++next_arrival_;
    give_back(message.place);
  }
  return fits;
}

// Where tags are used; false if it is not the datagram's. Nothing of a packet is believed before.
bool UdpWire::strip_tag(std::span<const std::uint8_t>& datagram, Peer& from) {
  if (!from.tags_from) return true;
  if (!from.tags_from->fits(datagram)) return false;
  datagram = datagram.first(datagram.size() - kTagBytes);
  return true;
}

// `taken`: of its message, datagrams before this one. Most likely those that come together were
// sent together, too.
roce::Damage UdpWire::decode(std::span<const std::uint8_t> datagram, std::uint32_t taken,
                             Peer& from, roce::RocePacket& packet) {
  const std::uint32_t number = taken % roce::IcrcNumbers::kCount;
  return roce::decode(datagram, from.from.of(datagram.size(), number), packet,
                      from.address.ip.is_v6 ? nullptr : &numbers_);
}

bool UdpWire::take(std::span<const std::uint8_t> datagram, Arrival& arrival, Packet& packet) {
  const bool is_short = datagram.size() <= kDatagramBytes;
  if (is_short && !strip_tag(datagram, *arrival.peer)) {
    ++counters_.untrue;
    return false;
  }
  roce::RocePacket found;
  const roce::Damage damage =
      is_short ? decode(datagram, arrival.taken, *arrival.peer, found) : roce::Damage::length;
  if (damage != roce::Damage::none) {
    ++counters_.damaged[static_cast<std::size_t>(damage)];
    return false;
  }
  if (found.payload.size() > mtu_) {
    ++counters_.too_long;
    return false;
  }
  const roce::Unfit unfit = roce::from_roce(found, packet);
  if (unfit != roce::Unfit::none) {
    ++counters_.unfit[static_cast<std::size_t>(unfit)];
    return false;
  }
  PacketHeader& header = packet.header;
  header.source = arrival.source;
  header.destination = endpoint_;
  header.traffic_class = arrival.message.traffic_class;
  header.service_level = arrival.message.traffic_class >> 5;
  return true;
}

const Packet* UdpWire::receive() {
  // A flood of what is dropped must not keep the NIC from its other work.
  constexpr int kMostPulls = 4;
  for (int pulls = 0;; ++pulls) {
    while (next_arrival_ < arrivals_.size()) {
      if (free_slots_.empty()) return nullptr;
      Slot& slot = slots_[free_slots_.back()];
      if (!take_next(arrivals_[next_arrival_], slot)) continue;
      free_slots_.pop_back();
      ++counters_.received;
      return &slot.packet;
    }
    if (pulls == kMostPulls || !pull()) return nullptr;
  }
}

void UdpWire::retire(const Packet* packet) {
  static_assert(std::is_standard_layout_v<Slot> && offsetof(Slot, packet) == 0);
  const auto number =
      static_cast<std::size_t>(reinterpret_cast<const Slot*>(packet) - slots_.data());
  GDAKIT_ASSERT(number < slots_.size());
  give_back(slots_[number].buffer);
  free_slots_.push_back(static_cast<std::uint32_t>(number));
}

}  // namespace gdakit::softnic
