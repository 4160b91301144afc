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

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/softnic/dma/dma.h"
#include "backends/softnic/wire/packet.h"

namespace gdakit::softnic {

class EarlyPackets {
 public:
  struct Kept {
    Packet packet;
    std::vector<std::uint8_t> payload;  // which stays where it is when this is moved
    DmaOp op;                           // what reads the payload, once it is executed
  };

  bool empty() const { return waiting_.empty() && executed_.empty(); }
  bool any_wait() const { return !waiting_.empty(); }

  // As many wait at most, which is as many as a network has under way on one connection.
  static constexpr std::size_t kMost = 1024;

  // Copies it, if there is room, and it is not here already.
  void keep(const Packet& packet) {
    const PacketHeader& header = packet.header;
    if (header.fragment_count != 0 || waiting_.size() == kMost) return;
    const auto [at, is_new] = waiting_.try_emplace(header.psn);
    if (!is_new) return;
    Kept& kept = at->second;
    kept.packet = packet;
    if (header.payload_size != 0) {
      kept.payload.assign(packet.payload, packet.payload + header.payload_size);
    }
    kept.packet.payload = kept.payload.data();
  }

  // The one with this PSN that waits, or null. Valid until the next call.
  Kept* find(std::uint32_t psn) {
    const auto found = waiting_.find(psn);
    return found == waiting_.end() ? nullptr : &found->second;
  }

  // The one with this PSN is executed: it stays until its payload has been read.
  void executed(std::uint32_t psn) {
    const auto found = waiting_.find(psn);
    executed_.push_back(std::move(found->second));
    waiting_.erase(found);
  }

  // Drops what was executed and is `done(op)`, and what came a second time before `expected_psn`.
  template <class Done>
  void drop_settled(std::uint32_t expected_psn, const Done& done) {
    std::erase_if(executed_, [&](const Kept& kept) { return done(kept.op); });
    if (std::exchange(settled_psn_, expected_psn) == expected_psn) return;
    std::erase_if(waiting_,
                  [&](const auto& row) { return psn_distance(row.first, expected_psn) < 0; });
  }
  // Drops all that waits.
  void clear() { waiting_.clear(); }

 private:
  std::unordered_map<std::uint32_t, Kept> waiting_;  // by PSN
  std::vector<Kept> executed_;
  std::uint32_t settled_psn_ = 0;  // none that waits is before it, if it is still expected
};

}  // namespace gdakit::softnic
