#include "backends/softnic/uverbs/port.h"

#include <utility>

namespace gdakit::softnic::uverbs {

void PortWire::set_up(bool up) {
  up_ = up;
  faulty_.set_link(up);
}

const Packet* PortWire::receive() {
  if (up_) return inner().receive();
  // A flood must not keep the NIC from its other work.
  constexpr int kMostLost = 256;
  for (int lost = 0; lost < kMostLost; ++lost) {
    const Packet* const packet = inner().receive();
    if (packet == nullptr) break;
    inner().retire(packet);
  }
  return nullptr;
}

Result<std::unique_ptr<Wire>> Port::wrap(std::unique_ptr<Wire> wire, const std::string& faults) {
  const Result<Faults> parsed = parse_faults(faults);
  if (!parsed) return parsed.error();
  faults_ = faults;
  auto faulty = faults.empty() ? std::make_unique<FaultyWire>(std::move(wire), nullptr)
                               : make_faulty(std::move(wire), *parsed);
  auto port = std::make_unique<PortWire>(std::move(faulty));
  wire_ = port.get();
  return std::unique_ptr<Wire>(std::move(port));
}

void Port::set_up(Nic& nic, bool up) {
  nic.between_steps([&] { wire_->set_up(up); });
  up_ = up;
}

Result<void> Port::set_faults(Nic& nic, const std::string& faults) {
  const Result<Faults> parsed = parse_faults(faults);
  if (!parsed) return parsed.error();
  const std::lock_guard lock(mutex_);
  nic.between_steps([&] { wire_->set_faults(*parsed); });
  faults_ = faults;
  return {};
}

std::string Port::faults() const {
  const std::lock_guard lock(mutex_);
  return faults_;
}

}  // namespace gdakit::softnic::uverbs
