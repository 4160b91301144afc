// A wire around another one, to which it forwards all calls: what derives from it overrides those
// that it changes, and no other.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "backends/softnic/wire/wire.h"

namespace gdakit::softnic {

class WrappedWire : public Wire {
 public:
  Endpoint endpoint() const override { return inner_->endpoint(); }
  std::uint32_t mtu() const override { return inner_->mtu(); }
  std::uint32_t value_mtu() const override { return inner_->value_mtu(); }
  std::uint32_t psn_bytes() const override { return inner_->psn_bytes(); }
  WirePath path(Endpoint endpoint) const override { return inner_->path(endpoint); }
  bool by_reference(const Packet& packet) const override { return inner_->by_reference(packet); }
  bool send(const Packet& packet) override { return inner_->send(packet); }
  const Packet* receive() override { return inner_->receive(); }
  void retire(const Packet* packet) override { inner_->retire(packet); }
  void flush() override { inner_->flush(); }
  Recall recall(const RecallScope& scope) override { return inner_->recall(scope); }
  bool recalled(Recall& recall) override { return inner_->recalled(recall); }
  bool unread(Endpoint endpoint) const override { return inner_->unread(endpoint); }
  void add_counters(NicCounters& counters) const override { inner_->add_counters(counters); }

 protected:
  explicit WrappedWire(std::unique_ptr<Wire> inner) : inner_(std::move(inner)) {}

  Wire& inner() const { return *inner_; }

 private:
  const std::unique_ptr<Wire> inner_;
};

}  // namespace gdakit::softnic
