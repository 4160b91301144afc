// One soft ConnectX of this process: its NIC, its place on the fabric, and what tells clients of
// its events. All open files of the process share it.
#pragma once

#include <memory>

#include "backends/softnic/engine/nic.h"
#include "backends/softnic/uverbs/events.h"
#include "backends/softnic/uverbs/fabric.h"
#include "backends/softnic/uverbs/fabric_addresses.h"
#include "backends/softnic/uverbs/memory_pages.h"
#include "backends/softnic/uverbs/spec.h"
#include "core/base/result.h"

namespace gdakit::softnic::uverbs {

class Device {
 public:
  static Result<std::unique_ptr<Device>> open(const Spec& spec, int index);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Identity& identity() const { return identity_; }
  Nic& nic() { return *nic_; }
  EventBook& events() { return *events_; }
  MemoryPages& pages() { return *pages_; }

 private:
  Device(const Spec& spec, int index) : identity_(spec, index), addresses_(spec, index) {}
  Result<void> write_clock_page();

  Identity identity_;
  FabricAddresses addresses_;
  std::unique_ptr<EventBook> events_ = std::make_unique<EventBook>();
  std::shared_ptr<MemoryPages> pages_;
  OwnMark segment_;
  OwnFile listed_;
  std::unique_ptr<Nic> nic_;  // ends first
};

}  // namespace gdakit::softnic::uverbs
