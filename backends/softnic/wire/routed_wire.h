// The wire of a NIC some of whose peers are near, on its host, and the others far: a packet takes
// the wire of its destination.
//
//                     +-- near (ShmWire) -- this endpoint and those of its host
//   NIC -- RoutedWire-+
//                     +-- far (UdpWire) --- all others
//
// Both wires call this endpoint, and each other one, by one number. The payload of a packet by
// value is as long as both carry it, so that a PSN stands for the same bytes on all ways of a job;
// the rest of a way is its own wire's (WirePath). Neither wire waits for the other: one without
// room refuses its own packets alone, and where packets come by both, they are received in turns.
//
// To ask a network for packets is a system call, and takes longer than a look at near rings. A
// network that had none is not asked again for kQuietNs, so that a NIC that looks all the time soon
// sees what comes from near, and one that sleeps between looks leaves none out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "backends/softnic/wire/wire.h"
#include "core/base/wait_clock.h"

namespace gdakit::softnic {

class RoutedWire final : public Wire {
 public:
  static constexpr std::uint64_t kQuietNs = 2000;

  // `is_near`: by endpoint, this one included; those that it does not have are far. `far` carries
  // no payload by reference. Packets that it brings from an endpoint that is near are dropped.
  RoutedWire(std::unique_ptr<Wire> near, std::unique_ptr<Wire> far, std::vector<bool> is_near,
             std::function<std::uint64_t()> now_ns = steady_ns);

  bool is_near(Endpoint endpoint) const { return endpoint < is_near_.size() && is_near_[endpoint]; }

  Endpoint endpoint() const override { return near_->endpoint(); }
  std::uint32_t mtu() const override;
  std::uint32_t value_mtu() const override;
  std::uint32_t psn_bytes() const override;
  WirePath path(Endpoint endpoint) const override { return to(endpoint).path(endpoint); }
  bool by_reference(const Packet& packet) const override;
  bool send(const Packet& packet) override { return to(packet.header.destination).send(packet); }
  const Packet* receive() override;
  void retire(const Packet* packet) override { to(packet->header.source).retire(packet); }
  void flush() override;
  // What a far wire carries names no memory.
  Recall recall(const RecallScope& scope) override { return near_->recall(scope); }
  bool recalled(Recall& recall) override { return near_->recalled(recall); }
  bool unread(Endpoint endpoint) const override { return to(endpoint).unread(endpoint); }
  void add_counters(NicCounters& counters) const override;

 private:
  Wire& to(Endpoint endpoint) const { return is_near(endpoint) ? *near_ : *far_; }
  const Packet* receive_far();
  const Packet* receive_from(bool far);

  const std::unique_ptr<Wire> near_;
  const std::unique_ptr<Wire> far_;
  const std::vector<bool> is_near_;
  const std::function<std::uint64_t()> now_ns_;
  bool far_is_next_ = false;
  std::uint64_t quiet_until_ns_ = 0;  // the far wire
};

}  // namespace gdakit::softnic
