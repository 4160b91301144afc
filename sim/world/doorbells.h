// Doorbells: stores to doorbell registers on their way from threads to one NIC.
//
//   thread                    in flight                         NIC
//   store_mmio  -- store() -> [reg 0: 5] [reg 0: 6] [reg 2: 1]  -- deliver() --> Arrived
//
// A store may be delivered once no other in flight must come before it: one to the same register
// that its thread knew of, or any that a release which reaches the NIC stands between. Apart from
// that the order is open. What a thread released before its store, the NIC knows on delivery: a
// doorbell acquires. Registers are no FIFO: with the knob doorbell_merge a store that another one
// to the same register follows may never be seen; with doorbell_loss any may.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/softnic/objects/attributes.h"
#include "sim/choice/choice.h"
#include "sim/weak/memory.h"
#include "sim/world/knobs.h"

namespace gdakit::sim {

class Doorbells {
 public:
  struct Arrived {
    softnic::UarNumber uar = 0;
    std::uint32_t offset = 0;  // in the UAR page
    std::uint64_t value = 0;
  };

  // `nic` is the NIC's own agent, `lane` its lane in traces. The references outlive this object.
  Doorbells(weak::Memory& memory, Chooser& chooser, const Knobs& knobs, weak::AgentId nic,
            std::uint32_t lane)
      : memory_(memory), chooser_(chooser), knobs_(knobs), nic_(nic), lane_(lane) {}

  // An 8-byte store by `thread` to `offset` of the page leaves.
  void store(weak::AgentId thread, softnic::UarNumber uar, std::uint32_t offset,
             std::uint64_t value);

  bool empty() const { return flying_.empty(); }
  // How many may be delivered next.
  std::uint32_t deliverable() const { return static_cast<std::uint32_t>(ready_.size()); }
  // Delivers the `index`-th of those, counted from the oldest; nothing if it is lost. `surely`: the
  // knobs lose nothing this time.
  std::optional<Arrived> deliver(std::uint32_t index, bool surely = false);

 private:
  struct Flying {
    Arrived what;
    weak::Message message;
  };
  enum class Fate : std::uint8_t { arrives, overwritten, lost };

  bool must_precede(const Flying& first, const Flying& then) const;
  bool has_follower(std::uint32_t index) const;
  Fate choose_fate(std::uint32_t index);
  void find_ready();

  weak::Memory& memory_;
  Chooser& chooser_;
  const Knobs& knobs_;
  const weak::AgentId nic_;
  const std::uint32_t lane_;
  std::vector<Flying> flying_;        // in the order in which they left
  std::vector<std::uint32_t> ready_;  // indices into flying_, ascending
};

}  // namespace gdakit::sim
