// Removed objects whose memory may still be in use: by this NIC's DMA, or by peers that read what
// packets name.
//
//   add  -->  this NIC's DMA is through, and peers' steps  -->  peers' DMA is through  -->  ended
//
// What a queue pair has taken from a shared receive queue completes, flushed, when this NIC's DMA
// is through: on hardware those WQEs are lost, unless the client has waited for last_wqe. Until
// then it uses its receive CQ.
//
// Removals do not wait for each other: one that a stopped peer holds up holds up no other.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backends/softnic/engine/qp.h"
#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/transport/core.h"
#include "backends/softnic/transport/responder.h"
#include "backends/softnic/transport/unreliable_responder.h"
#include "backends/softnic/wire/wire.h"

namespace gdakit::softnic {

// Of one engine, in the order in which they began. 0: there was none.
using RemovalNumber = std::uint64_t;

// What is removed.
struct Removed {
  std::optional<MemoryKey> key = {};
  std::vector<MemoryRange> memory = {};  // that the object named; nothing may name it from now on
  std::unique_ptr<Qp> qp = nullptr;  // with its buffers, to which DMA may write, and its packets
  std::unique_ptr<Cq> cq = nullptr;
  std::unique_ptr<Srq> srq = nullptr;
};

class Removals {
 public:
  explicit Removals(Core& core) : core_(core), responder_(core), unreliable_responder_(core) {}

  // Takes back the packets that name memory by the key, and the queue pair's requests. Returns
  // these packets, which others may have to send again.
  std::vector<Recall::Taken> add(Removed removed);
  // The shared receive queue of XRC goes, from which removed queue pairs may have taken.
  void forget(const Srq& srq);
  // Ends those that nothing uses any more.
  void step();

  RemovalNumber last() const { return last_; }
  bool empty() const { return removals_.empty(); }
  bool ended(RemovalNumber number) const { return find(number) == nullptr; }
  // Not ended, and only because of peers.
  bool left_to_peers(RemovalNumber number) const;
  // Steps bring some of them further.
  bool wait_for_dma() const;

 private:
  struct Removal {
    RemovalNumber number = 0;
    Removed removed;
    DmaOp own;  // all that this NIC had queued
    bool own_done = false;
    bool returns = false;         // receive WQEs are to be returned to their clients
    Recall recall;                // what peers were reading
    std::optional<DmaOp> theirs;  // what they had queued then, where an order is shared with them
  };

  void give_back(Removed& removed);
  bool return_receives(Removal& removal);
  bool ends(Removal& removal);
  const Removal* find(RemovalNumber number) const;

  Core& core_;
  Responder responder_;
  UnreliableResponder unreliable_responder_;
  std::vector<Removal> removals_;
  RemovalNumber last_ = 0;
};

}  // namespace gdakit::softnic
