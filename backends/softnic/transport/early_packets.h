// Requests that came before one that is missing: copies, which wait for it. So the peer need not
// send them again, and a network that changes the order of packets costs no repetition.
//
//   expected_psn
//      v
//   ---?---[kept]-[kept]---?---[kept]---
//
// Only packets by value are kept. Who names memory by reference waits for its reader, and must not
// wait for a packet that may never come.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/softnic/dma/dma.h"
#include "backends/softnic/wire/packet.h"

namespace gdakit::softnic {

class EarlyPackets {
 public:
  static constexpr std::size_t kMost = 64;

  struct Kept {
    Packet packet;
    std::vector<std::uint8_t> payload;  // which stays where it is when this is moved
    bool executed = false;
    DmaOp op;  // what reads the payload
  };

  bool empty() const { return kept_.empty(); }
  bool any_wait() const {
    return std::any_of(kept_.begin(), kept_.end(), [](const Kept& kept) { return !kept.executed; });
  }

  // Copies it, if there is room, and it is not here already.
  void keep(const Packet& packet) {
    const PacketHeader& header = packet.header;
    if (header.fragment_count != 0 || kept_.size() == kMost || find(header.psn) != nullptr) return;
    Kept& kept = kept_.emplace_back();
    kept.packet = packet;
    if (header.payload_size != 0) {
      kept.payload.assign(packet.payload, packet.payload + header.payload_size);
    }
    kept.packet.payload = kept.payload.data();
  }

  // The one with this PSN that waits to be executed, or null. Valid until the next call.
  Kept* find(std::uint32_t psn) {
    const auto found = std::find_if(kept_.begin(), kept_.end(), [psn](const Kept& kept) {
      return !kept.executed && kept.packet.header.psn == psn;
    });
    return found == kept_.end() ? nullptr : &*found;
  }

  // Drops what will not be executed, because it is older than `expected_psn`, or was executed and
  // is `done(op)`.
  template <class Done>
  void drop_settled(std::uint32_t expected_psn, const Done& done) {
    std::erase_if(kept_, [&](const Kept& kept) {
      if (kept.executed) return done(kept.op);
      return psn_distance(kept.packet.header.psn, expected_psn) < 0;
    });
  }
  // Drops all that waits.
  void clear() {
    std::erase_if(kept_, [](const Kept& kept) { return !kept.executed; });
  }

 private:
  std::vector<Kept> kept_;
};

}  // namespace gdakit::softnic
