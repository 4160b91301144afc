// The responders of all targets of DC that a NIC has: so many at a time, and who gets the next one.
//
//   connect --> a place is free, and nobody waits for it longer?  --> responder --> requests
//               else CNAK; the initiator asks again, and is in the queue until it has not for long
//
// While initiators wait, connections that have lasted a while are ended, the oldest first: their
// responders execute what has begun, say by a CNAK how far they have come, and go on from there
// when the initiator has its turn again.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "backends/softnic/engine/dct.h"
#include "backends/softnic/engine/timers.h"
#include "backends/softnic/queues/linked_list.h"
#include "backends/softnic/transport/core.h"

namespace gdakit::softnic {

struct DcLimits {
  std::uint32_t responders = 16384;     // that are connected at a time; at least 1
  std::uint64_t tenure_ns = 1'000'000;  // that a connection has, though others wait
};

class DcTargets {
 public:
  using ActiveQps = LinkedList<Qp, &Qp::active>;

  // All of the engine, which outlives it. `active`: those that get a turn.
  DcTargets(Core& core, Timers& timers, ActiveQps& active, const DcLimits& limits)
      : core_(core), timers_(timers), active_(active), limits_(limits) {}

  // A packet for a target. The responder that is to take the request; null: that was all.
  DcResponder* take(Dct& target, const PacketHeader& header);
  // Whose packet it is; null: nobody's.
  DcResponder* find(const PacketHeader& header) const;
  // After the responder's turn: whether it has come to its end, or waits for room to say so.
  Turn look_at(DcResponder& responder);

  // Ends all connections of the target; what was under way completes. dct_drained is told.
  void drain(Dct& target);
  // The same, without a word: its CQ is of no use any more.
  void fail(Dct& target);
  // Nothing is left of a target that is drained.
  void forget(Dct& target);

  // Of the target's responders, there ones and gone ones.
  QueueCounters counters(const Dct& target) const;

 private:
  struct Hash {
    std::size_t operator()(const DcPeer& peer) const;
  };
  struct Waiter {
    DcPeer peer;
    std::uint64_t asked_ns = 0;
  };
  using Order = LinkedList<DcResponder, &DcResponder::order>;

  // dc_targets.cc
  void notify(Dct& target, const PacketHeader& header);
  void end_all(Dct& target);
  void end(DcResponder& responder);
  void park(DcResponder& responder, DcPhase phase);
  void unpark(DcResponder& responder);
  void erase(DcResponder& responder);
  void activate(Qp& qp);
  bool tell_no_responder(const DcResponder& responder);

  // dc_connect.cc
  void connect(Dct& target, const PacketHeader& header);
  bool has_right_key(Dct& target, const PacketHeader& header);
  void connect_again(DcResponder& responder, const PacketHeader& header);
  void begin_anew(DcResponder& responder, const PacketHeader& header);
  void go_on(DcResponder& responder, const PacketHeader& header);
  bool admit(const DcPeer& peer);
  void ask_to_leave();
  bool answer(const PacketHeader& connect, Acknowledge acknowledge, std::uint32_t psn);
  void forget_parked();
  DcResponder& make(Dct& target, const DcPeer& peer, const PacketHeader& header);
  void begin(DcResponder& responder, const PacketHeader& header);

  Core& core_;
  Timers& timers_;
  ActiveQps& active_;
  const DcLimits limits_;
  std::unordered_map<DcPeer, std::unique_ptr<DcResponder>, Hash> responders_;
  Order connected_;  // from the oldest connection on; those that are to leave or close are in none
  Order parked_;     // likewise, from the one that was parked first on
  std::uint32_t parked_count_ = 0;
  std::uint32_t in_use_ = 0;   // not parked
  std::uint32_t leaving_ = 0;  // of those, on their way out to make room
  std::vector<Waiter> waiting_;
};

}  // namespace gdakit::softnic
