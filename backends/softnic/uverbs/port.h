// The port of a NIC, which can go down and meet with faults while the NIC runs.
//
//   NIC -- PortWire -- FaultyWire -- the fabric's wire
//
// Calls may come from any thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "backends/softnic/engine/nic.h"
#include "backends/softnic/wire/faulty_wire.h"
#include "core/base/result.h"

namespace gdakit::softnic::uverbs {

// Nothing comes or goes while it is down. All calls come from one thread at a time.
class PortWire final : public WrappedWire {
 public:
  explicit PortWire(std::unique_ptr<FaultyWire> wire)
      : WrappedWire(std::move(wire)), faulty_(static_cast<FaultyWire&>(inner())) {}

  void set_up(bool up);
  void set_faults(const Faults& faults) { faulty_.set_faults(faults); }

  const Packet* receive() override;

 private:
  FaultyWire& faulty_;
  bool up_ = true;
};

class Port {
 public:
  // Around the wire, with these faults from the beginning (faults.h); empty: none. Once, before any
  // other call. Errors: a text that is none of faults.
  Result<std::unique_ptr<Wire>> wrap(std::unique_ptr<Wire> wire, const std::string& faults);

  // Of the NIC that has the wire.
  void set_up(Nic& nic, bool up);
  // In place of those before.
  Result<void> set_faults(Nic& nic, const std::string& faults);

  bool is_up() const { return up_; }
  std::string faults() const;

 private:
  PortWire* wire_ = nullptr;  // the NIC's
  std::atomic<bool> up_{true};
  mutable std::mutex mutex_;
  std::string faults_;
};

}  // namespace gdakit::softnic::uverbs
