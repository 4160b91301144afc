// A wire double that drops, repeats, reorders and marks what it sends, by a seed.
//
// What becomes of a packet is decided once. One that the inner wire has no room for keeps its fate
// until it is taken, however often it is tried: else every packet would be lost before a ring that
// stays full for long.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "backends/softnic/wire/wrapped_wire.h"

namespace gdakit::softnic::test {

struct Losses {
  std::uint32_t seed = 1;
  int drop_percent = 0;
  int repeat_percent = 0;
  int delay_percent = 0;  // held back until up to 4 later packets have gone
  int mark_percent = 0;   // come as from a long queue, if they can be marked
  // If set, decides in place of drop_percent, once for a packet: true drops it.
  std::function<bool(const Packet&)> drop = {};
  // If set, says whether the wire has no room now.
  std::function<bool()> full = {};
  bool by_value = false;  // it names no memory
  std::optional<std::uint32_t> psn_window = {};
  std::optional<std::uint32_t> small_psn_window = {};
};

class LossyWire final : public WrappedWire {
 public:
  LossyWire(std::unique_ptr<Wire> inner, const Losses& losses)
      : WrappedWire(std::move(inner)), losses_(losses), random_(losses.seed) {}

  WirePath path(Endpoint endpoint) const override {
    WirePath path = inner().path(endpoint);
    path.psn_window = losses_.psn_window.value_or(path.psn_window);
    path.small_psn_window = losses_.small_psn_window.value_or(path.psn_window);
    path.loses_packets = true;
    return path;
  }
  bool by_reference(const Packet& packet) const override {
    return !losses_.by_value && inner().by_reference(packet);
  }

  bool send(const Packet& packet) override {
    if (losses_.full && losses_.full()) return false;
    const auto tried = std::find_if(refused_.begin(), refused_.end(),
                                    [&](const Refused& r) { return r.is(packet); });
    const bool is_new = tried == refused_.end();
    const bool marks =
        is_new ? losses_.mark_percent != 0 && chance(losses_.mark_percent) : tried->marks;
    const std::optional<Packet> marked = marks ? std::optional(with_mark(packet)) : std::nullopt;
    const Packet& arrives = marked ? *marked : packet;
    if (is_new && !carries(arrives)) return true;
    const bool repeats = is_new ? chance(losses_.repeat_percent) : tried->repeats;
    if (!inner().send(arrives)) {
      if (is_new) refused_.push_back({packet.header, packet.sender, repeats, marks});
      return false;
    }
    if (!is_new) refused_.erase(tried);
    if (repeats) static_cast<void>(inner().send(arrives));
    release_some();
    return true;
  }
  void flush() override {
    // Nothing is held back for ever.
    if (++flushes_ % 8 == 0) release(held_.size());
    inner().flush();
  }
  Recall recall(const RecallScope& scope) override {
    Recall recall = inner().recall(scope);
    std::erase_if(held_, [&](const Held& held) {
      if (!scope.covers(held.packet)) return false;
      const PacketHeader& header = held.packet.header;
      if (!is_response(header.opcode)) recall.taken.push_back({held.packet.sender, header.psn});
      return true;
    });
    return recall;
  }

  // Packets that wait for later ones to overtake them.
  std::size_t held() const { return held_.size(); }

  std::uint64_t sent = 0;  // packets, however often each was tried
  std::uint64_t dropped = 0;

 private:
  // A packet that found no room.
  struct Refused {
    PacketHeader header;
    QpNumber sender;
    bool repeats;
    bool marks;

    bool is(const Packet& packet) const {
      const PacketHeader& other = packet.header;
      return sender == packet.sender && header.destination == other.destination &&
             header.destination_qpn == other.destination_qpn && header.psn == other.psn &&
             header.opcode == other.opcode &&
             (extension_of(header.opcode) != ExtensionKind::aeth ||
              header.aeth.acknowledge == other.aeth.acknowledge);
    }
  };
  struct Held {
    Packet packet;
    std::vector<std::uint8_t> payload;
  };

  static Packet with_mark(Packet packet) {
    static_cast<void>(mark(packet.header.traffic_class));
    return packet;
  }
  // Decides whether a new packet goes on at once.
  bool carries(const Packet& packet) {
    ++sent;
    if (losses_.drop ? losses_.drop(packet) : chance(losses_.drop_percent)) {
      ++dropped;
      return false;
    }
    if (!chance(losses_.delay_percent)) return true;
    hold(packet);
    return false;
  }
  bool chance(int percent) { return static_cast<int>(random_() % 100) < percent; }
  void hold(const Packet& packet) {
    Held& held = held_.emplace_back();
    held.packet = packet;
    if (packet.header.fragment_count == 0 && packet.header.payload_size != 0) {
      held.payload.assign(packet.payload, packet.payload + packet.header.payload_size);
    }
  }
  void release(std::size_t count) {
    for (; count != 0 && !held_.empty(); --count) {
      Held& held = held_.front();
      held.packet.payload = held.payload.data();
      if (!inner().send(held.packet)) return;
      held_.pop_front();
    }
  }
  void release_some() {
    if (!held_.empty() && random_() % 3 == 0) release(1);
    if (held_.size() > 4) release(1);
  }

  Losses losses_;
  std::mt19937 random_;
  std::vector<Refused> refused_;
  std::deque<Held> held_;
  std::uint32_t flushes_ = 0;
};

}  // namespace gdakit::softnic::test
