#include "backends/softnic/wire/faulty_wire.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "backends/softnic/wire/roce_translate.h"
#include "core/base/assert.h"

namespace gdakit::softnic {
namespace {

// More payload than IP carries has no RoCEv2 packet.
bool has_bytes(const PacketHeader& header) {
  constexpr std::size_t kMostHeaders = 256;
  return header.fragment_count == 0 && roce::has_transport(header.service) &&
         header.payload_size <= roce::kMaxPacketBytes - kMostHeaders;
}

}  // namespace

FaultyWire::Held::Held(const Packet& from, std::uint64_t at) : packet(from), number(at) {
  const PacketHeader& header = packet.header;
  if (header.fragment_count == 0 && header.payload_size != 0) {
    payload.assign(from.payload, from.payload + header.payload_size);
    packet.payload = payload.data();  // which stays where it is when a Held is moved
  }
}

FaultyWire::FaultyWire(std::unique_ptr<Wire> inner, std::unique_ptr<Fates> fates,
                       std::function<std::uint64_t()> now_ns)
    : WrappedWire(std::move(inner)),
      is_network_(fates != nullptr),
      fates_(std::move(fates)),
      now_ns_(std::move(now_ns)),
      flips_(0, this->inner().endpoint()) {}

FaultyWire::~FaultyWire() {
  static_cast<void>(FaultyWire::recall({.everything = true}));
  for (auto& [number, held] : behind_) leave(std::move(held));
  for (auto& [due_ns, held] : delayed_) leave(std::move(held));
  drain_all();
}

void FaultyWire::set_outages(std::uint64_t down_for_ns, std::uint64_t every_ns) {
  GDAKIT_ASSERT(down_for_ns == 0 || down_for_ns < every_ns);
  outages_began_ns_ = down_for_ns != 0 ? now_ns_() : 0;
  down_for_ns_ = down_for_ns;
  down_every_ns_ = every_ns;
}

void FaultyWire::set_partitioned(Endpoint endpoint, bool partitioned) {
  bool& was = peers_[endpoint].partitioned;
  if (partitioned && !was) ++partitions_;
  if (!partitioned && was) --partitions_;
  was = partitioned;
}

void FaultyWire::set_faults(const Faults& faults) {
  fates_ = faults == Faults() ? nullptr : drawn(faults, inner().endpoint());
  set_outages(faults.down_for_ns, faults.down_every_ns);
  for (auto& [endpoint, peer] : peers_) peer.partitioned = false;
  partitions_ = 0;
  for (const Endpoint endpoint : faults.partitioned) set_partitioned(endpoint, true);
}

WirePath FaultyWire::path(Endpoint endpoint) const {
  WirePath path = inner().path(endpoint);
  if (!is_network_) return path;
  path.psn_window = path.small_psn_window = std::min(path.psn_window, kMaxWindow);
  path.loses_packets = true;
  return path;
}

bool FaultyWire::is_down() const {
  if (!link_up_) return true;
  if (down_for_ns_ == 0) return false;
  return (now_ns_() - outages_began_ns_) % down_every_ns_ >= down_every_ns_ - down_for_ns_;
}

// Whether what is sent to the peer now, or arrives there, is lost.
bool FaultyWire::cuts(const Peer& peer) {
  if (!peer.partitioned && !is_down()) return false;
  ++counters_.cut;
  return true;
}

bool FaultyWire::send(const Packet& packet) {
  if (is_clear()) {
    const bool taken = inner().send(packet);
    if (taken) ++counters_.sent;
    return taken;
  }
  Peer& peer = peers_[packet.header.destination];
  if (!peer.backlog.empty()) drain(peer);
  if (!peer.backlog.empty() || peer.held >= kMaxHeld) return false;
  ++counters_.sent;
  // Those that are cut have a fate, too: when the link goes down changes no other packet's.
  const Fate fate = fates_ == nullptr ? Fate{} : fates_->fate(packet);
  if (cuts(peer)) return true;
  if (fate.drops) {
    ++counters_.dropped;
  } else if (fate.corrupts) {
    Packet arrived;
    if (damages(packet, arrived)) {
      ++counters_.corrupted;
    } else {
      carry(peer, arrived, fate);
    }
  } else {
    carry(peer, packet, fate);
  }
  release_behind();
  return true;
}

// Flips some bits of the packet. False: the receiver takes it for a packet, which is `arrived` and
// whose payload stays readable until the next call.
bool FaultyWire::damages(const Packet& packet, Packet& arrived) {
  if (!has_bytes(packet.header)) return true;
  const roce::UdpWay way;
  const roce::RocePacket sent = roce::to_roce(packet);
  damaged_.resize(roce::size_of(sent));
  roce::encode(sent, way, damaged_);
  for (std::uint64_t flips = 1 + flips_.below(3); flips != 0; --flips) {
    const std::uint64_t bit = flips_.below(damaged_.size() * 8);
    damaged_[bit / 8] = static_cast<std::uint8_t>(damaged_[bit / 8] ^ (1u << (bit % 8)));
  }
  roce::RocePacket found;
  if (roce::decode(damaged_, way, found) != roce::Damage::none) return true;
  if (roce::from_roce(found, arrived) != roce::Unfit::none) return true;
  PacketHeader& header = arrived.header;
  header.destination = packet.header.destination;
  header.service_level = packet.header.service_level;
  header.traffic_class = packet.header.traffic_class;
  arrived.sender = packet.sender;
  return header.payload_size > psn_bytes();
}

// Sends the packet and its copies on their way.
void FaultyWire::carry(Peer& peer, const Packet& unmarked, const Fate& fate) {
  Packet packet = unmarked;
  if (fate.marks && mark(packet.header.traffic_class)) ++counters_.marked;
  counters_.repeated += fate.repeats;
  const bool waits = fate.behind != 0 || fate.delay_ns != 0;
  if (fate.behind != 0) ++counters_.reordered;
  if (fate.delay_ns != 0) ++counters_.delayed;
  for (std::uint64_t copies = 0; copies <= fate.repeats; ++copies) {
    if (waits) {
      hold(peer, packet, fate);
    } else if (!peer.backlog.empty() || !pass(peer, packet)) {
      ++peer.held;
      ++backlogged_;
      peer.backlog.emplace_back(packet, ++held_number_);
    }
  }
}

void FaultyWire::hold(Peer& peer, const Packet& packet, const Fate& fate) {
  ++peer.held;
  Held held(packet, ++held_number_);
  if (fate.delay_ns != 0) held.due_ns = now_ns_() + fate.delay_ns;
  if (fate.behind == 0) {
    delayed_.emplace(held.due_ns, std::move(held));
    return;
  }
  held.due_sent = counters_.sent + fate.behind;
  held.due_flush = flushes_ + kMaxFlushes;
  behind_by_sent_.emplace(held.due_sent, held.number);
  behind_.emplace(held.number, std::move(held));
}

// Gives the packet to the inner wire, or loses it. False: the inner wire has no room.
bool FaultyWire::pass(const Peer& peer, const Packet& packet) {
  return cuts(peer) || inner().send(packet);
}

// What was held has waited long enough.
void FaultyWire::leave(Held&& held) {
  Peer& peer = peers_[held.packet.header.destination];
  if (peer.backlog.empty() && pass(peer, held.packet)) {
    --peer.held;
    return;
  }
  peer.backlog.push_back(std::move(held));
  ++backlogged_;
}

void FaultyWire::drain(Peer& peer) {
  while (!peer.backlog.empty() && pass(peer, peer.backlog.front().packet)) {
    peer.backlog.pop_front();
    --peer.held;
    --backlogged_;
  }
}

void FaultyWire::drain_all() {
  if (backlogged_ == 0) return;
  for (auto& [endpoint, peer] : peers_) drain(peer);
}

// Those in behind_ that are due, in their order.
std::vector<std::uint64_t> FaultyWire::take_due_numbers() {
  std::vector<std::uint64_t> due;
  const auto end = behind_by_sent_.upper_bound({counters_.sent, ~std::uint64_t{0}});
  for (auto it = behind_by_sent_.begin(); it != end; it = behind_by_sent_.erase(it)) {
    due.push_back(it->second);
  }
  // Who came first has waited for the most flushes.
  for (const auto& [number, held] : behind_) {
    if (held.due_flush > flushes_) break;
    if (behind_by_sent_.erase({held.due_sent, number}) != 0) due.push_back(number);
  }
  std::sort(due.begin(), due.end());
  return due;
}

void FaultyWire::release_behind() {
  for (const std::uint64_t number : take_due_numbers()) {
    Held held = std::move(behind_.extract(number).mapped());
    if (held.due_ns != 0) {
      delayed_.emplace(held.due_ns, std::move(held));
    } else {
      leave(std::move(held));
    }
  }
}

void FaultyWire::release_delayed() {
  if (delayed_.empty()) return;
  const auto end = delayed_.upper_bound(now_ns_());
  for (auto it = delayed_.begin(); it != end; it = delayed_.erase(it)) leave(std::move(it->second));
}

const Packet* FaultyWire::receive() {
  release_delayed();
  return inner().receive();
}

void FaultyWire::flush() {
  ++flushes_;
  drain_all();
  release_behind();
  release_delayed();
  inner().flush();
}

Recall FaultyWire::recall(const RecallScope& scope) {
  Recall recall = inner().recall(scope);
  std::vector<std::pair<std::uint64_t, Recall::Taken>> taken;
  const auto takes = [&](const Held& held) {
    const PacketHeader& header = held.packet.header;
    if (!scope.covers(held.packet)) return false;
    --peers_[header.destination].held;
    if (!is_response(header.opcode)) {
      taken.push_back({held.number, {held.packet.sender, header.psn}});
    }
    return true;
  };
  std::erase_if(behind_, [&](const auto& row) {
    return takes(row.second) && behind_by_sent_.erase({row.second.due_sent, row.first}) != 0;
  });
  std::erase_if(delayed_, [&](const auto& row) { return takes(row.second); });
  for (auto& [endpoint, peer] : peers_) backlogged_ -= std::erase_if(peer.backlog, takes);
  std::sort(taken.begin(), taken.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [number, packet] : taken) recall.taken.push_back(packet);
  return recall;
}

std::unique_ptr<FaultyWire> make_faulty(std::unique_ptr<Wire> inner, const Faults& faults,
                                        std::function<std::uint64_t()> now_ns) {
  auto fates = drawn(faults, inner->endpoint());
  auto wire = std::make_unique<FaultyWire>(std::move(inner), std::move(fates), std::move(now_ns));
  wire->set_faults(faults);
  return wire;
}

}  // namespace gdakit::softnic
