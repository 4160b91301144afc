#include "backends/softnic/wire/routed_wire.h"

#include <algorithm>
#include <utility>

#include "core/base/assert.h"

namespace gdakit::softnic {

RoutedWire::RoutedWire(std::unique_ptr<Wire> near, std::unique_ptr<Wire> far,
                       std::vector<bool> is_near, std::function<std::uint64_t()> now_ns)
    : near_(std::move(near)),
      far_(std::move(far)),
      is_near_(std::move(is_near)),
      now_ns_(std::move(now_ns)) {
  GDAKIT_ASSERT(near_->endpoint() == far_->endpoint() && this->is_near(near_->endpoint()));
}

std::uint32_t RoutedWire::mtu() const { return std::max(near_->mtu(), far_->mtu()); }

std::uint32_t RoutedWire::value_mtu() const {
  return std::min(near_->value_mtu(), far_->value_mtu());
}

std::uint32_t RoutedWire::psn_bytes() const {
  return std::min(near_->psn_bytes(), far_->psn_bytes());
}

bool RoutedWire::by_reference(const Packet& packet) const {
  return is_near(packet.header.destination) && near_->by_reference(packet);
}

// Who is near sends nothing that way: it is forged.
const Packet* RoutedWire::receive_far() {
  const std::uint64_t now = now_ns_();
  if (now < quiet_until_ns_) return nullptr;
  const Packet* const packet = far_->receive();
  if (packet == nullptr) quiet_until_ns_ = now + kQuietNs;
  if (packet == nullptr || !is_near(packet->header.source)) return packet;
  far_->retire(packet);
  return nullptr;
}

const Packet* RoutedWire::receive_from(bool far) { return far ? receive_far() : near_->receive(); }

const Packet* RoutedWire::receive() {
  for (int tried = 0; tried < 2; ++tried) {
    const bool far = std::exchange(far_is_next_, !far_is_next_);
    if (const Packet* const packet = receive_from(far)) return packet;
  }
  return nullptr;
}

void RoutedWire::add_counters(NicCounters& counters) const {
  near_->add_counters(counters);
  far_->add_counters(counters);
}

void RoutedWire::flush() {
  near_->flush();
  far_->flush();
}

}  // namespace gdakit::softnic
