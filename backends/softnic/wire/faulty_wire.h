// A wire as a bad network makes of it: packets get lost, come twice, change places, come late, are
// damaged on their way, and marked; the link goes down, and endpoints cannot be reached.
//
//   Result<Faults> faults = parse_faults("drop=1%,delay=50us..2ms");
//   std::unique_ptr<FaultyWire> wire = make_faulty(std::move(inner), *faults);
//
//   send -- fate --+-- at once ---------------------------+-- backlog of its destination -- inner
//                  +-- waits for later packets --+        |
//                  +-- waits for its time -------+--------+
//
// It spoils what this side sends, answers and packets to itself too. What becomes of a packet is
// decided once, when it is taken: one that the inner wire has no room for lies in a backlog then,
// and as long as a backlog is not empty no other packet to its destination is taken. Packets wait
// for later ones only for some flushes, so that the last packet of a job arrives, too. The wire
// holds copies of payload by value; what goes by reference is held as references, and a recall
// takes it back. What is held lies unread before no receiver: it may be long on its way, and to
// send it again may help.
//
// Damage is that of RoCEv2's packets: what the ICRC finds is lost. The ICRC covers all of a packet
// but one byte, of which the transport reads nothing. A packet by reference has no bytes that could
// be damaged, and is lost.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/softnic/wire/faults.h"
#include "backends/softnic/wire/wrapped_wire.h"
#include "core/base/wait_clock.h"

namespace gdakit::softnic {

// Packets; copies count in `repeated` alone.
struct FaultCounters {
  std::uint64_t sent = 0;  // taken, whatever became of them
  std::uint64_t dropped = 0;
  std::uint64_t corrupted = 0;  // damaged, and lost by that
  std::uint64_t repeated = 0;   // copies
  std::uint64_t reordered = 0;  // waited for later ones
  std::uint64_t delayed = 0;    // waited for their time
  std::uint64_t marked = 0;     // of those whose sender can be told
  std::uint64_t cut = 0;        // lost to a link that was down or a partition, with copies
};

// All calls, these of its own too, come from one thread at a time.
class FaultyWire final : public WrappedWire {
 public:
  static constexpr std::uint32_t kMaxHeld = 1024;  // to one endpoint
  static constexpr std::uint32_t kMaxFlushes = 8;  // that a packet waits for later ones
  static constexpr std::uint32_t kMaxWindow = 64;

  // Without fates it is the inner wire, until it is told of faults; how queue pairs that connect
  // before then send again what is lost is the inner wire's, too (path()).
  FaultyWire(std::unique_ptr<Wire> inner, std::unique_ptr<Fates> fates,
             std::function<std::uint64_t()> now_ns = steady_ns);
  // What has yet to come arrives now: a network does not lose what a sender has sent because the
  // sender is gone. What names memory is lost.
  ~FaultyWire() override;

  // What is sent from now on has these faults and no others; what is held has had its fate.
  void set_faults(const Faults& faults);
  // What is sent while the link is down, or would then arrive, is lost.
  void set_link(bool up) { link_up_ = up; }
  // The link is down besides for the last `down_for_ns` of every `every_ns` from now on. 0: never.
  void set_outages(std::uint64_t down_for_ns, std::uint64_t every_ns);
  // Whether packets to the endpoint are lost, those that are held too.
  void set_partitioned(Endpoint endpoint, bool partitioned);

  const FaultCounters& counters() const { return counters_; }
  // Packets that have yet to go to the inner wire, with copies.
  std::size_t held() const { return behind_.size() + delayed_.size() + backlogged_; }

  // As a network's: what is lost is sent again with all that follows.
  WirePath path(Endpoint endpoint) const override;
  bool send(const Packet& packet) override;
  const Packet* receive() override;
  void flush() override;
  Recall recall(const RecallScope& scope) override;

 private:
  struct Held {
    Held(const Packet& from, std::uint64_t at);
    Held(Held&&) = default;
    Held& operator=(Held&&) = default;

    Packet packet;
    std::vector<std::uint8_t> payload;
    std::uint64_t number;  // held packets count up
    // When it leaves.
    std::uint64_t due_sent = 0;
    std::uint64_t due_flush = 0;
    std::uint64_t due_ns = 0;
  };
  struct Peer {
    bool partitioned = false;
    std::size_t held = 0;      // with the backlog
    std::deque<Held> backlog;  // what the inner wire has no room for
  };

  // Of a packet that waits for later ones: its due_sent, and its number.
  using DueSent = std::pair<std::uint64_t, std::uint64_t>;

  bool is_clear() const {
    return fates_ == nullptr && link_up_ && down_for_ns_ == 0 && partitions_ == 0 && held() == 0;
  }
  bool is_down() const;
  bool cuts(const Peer& peer);
  bool damages(const Packet& packet, Packet& arrived);
  void carry(Peer& peer, const Packet& unmarked, const Fate& fate);
  void hold(Peer& peer, const Packet& packet, const Fate& fate);
  bool pass(const Peer& peer, const Packet& packet);
  void leave(Held&& held);
  void drain(Peer& peer);
  void drain_all();
  std::vector<std::uint64_t> take_due_numbers();
  void release_behind();
  void release_delayed();

  const bool is_network_;         // had fates from the beginning
  std::unique_ptr<Fates> fates_;  // null: every packet comes through
  std::function<std::uint64_t()> now_ns_;
  FaultCounters counters_;
  FaultWords flips_;
  std::vector<std::uint8_t> damaged_;  // the bytes of the packet that was damaged last
  bool link_up_ = true;
  std::uint64_t outages_began_ns_ = 0;
  std::uint64_t down_for_ns_ = 0;
  std::uint64_t down_every_ns_ = 0;
  std::unordered_map<Endpoint, Peer> peers_;  // those that were named so far
  std::map<std::uint64_t, Held> behind_;      // wait for later packets, or flushes; by number
  std::set<DueSent> behind_by_sent_;
  std::multimap<std::uint64_t, Held> delayed_;  // by due_ns, of one time in order
  std::size_t backlogged_ = 0;                  // in all backlogs
  std::size_t partitions_ = 0;
  std::uint64_t flushes_ = 0;
  std::uint64_t held_number_ = 0;
};

// A wire with these faults. Wires of one seed and different endpoints have different fates.
std::unique_ptr<FaultyWire> make_faulty(std::unique_ptr<Wire> inner, const Faults& faults,
                                        std::function<std::uint64_t()> now_ns = steady_ns);

}  // namespace gdakit::softnic
