// The engine of the soft ConnectX: firmware and hardware as an event-driven state machine.
//
//   doorbell() --> queue pairs with work --> requester --> wire --> peer
//   step():  finished DMA, arrived packets, one turn of each of some queue pairs, timers, records
//   CQEs   <-- completion                <-- answers   <-- wire <--
//
// It has no thread and no clock: whoever owns it calls step() with the time, again and again;
// step() does one bounded piece of work and returns whether anything has changed. All calls come
// from one thread at a time. On the data path nothing is allocated, except when a queue pair has
// more under way than ever before, up to its limits, for a WQE that changes a key, and for an
// endpoint that becomes overdue (unreliable_requester.h). Control-path calls return at once;
// removing something is complete when removed() says so.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backends/softnic/engine/dc_targets.h"
#include "backends/softnic/engine/dct.h"
#include "backends/softnic/engine/qp.h"
#include "backends/softnic/engine/removals.h"
#include "backends/softnic/engine/timers.h"
#include "backends/softnic/objects/addresses.h"
#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/objects/events.h"
#include "backends/softnic/objects/number_space.h"
#include "backends/softnic/objects/number_table.h"
#include "backends/softnic/objects/status.h"
#include "backends/softnic/queues/fifo.h"
#include "backends/softnic/queues/linked_list.h"
#include "backends/softnic/transport/core.h"
#include "backends/softnic/transport/requester.h"
#include "backends/softnic/transport/responder.h"
#include "backends/softnic/transport/unreliable_requester.h"
#include "backends/softnic/transport/unreliable_responder.h"
#include "core/host/backend.h"

namespace gdakit::softnic {

struct EngineOptions {
  std::uint32_t window = 256;              // WQEs of a QP started and not completed; a power of two
  std::uint32_t payload_buffers = 64;      // of one value_mtu each, for payload by value
  std::uint32_t packets_per_step = 64;     // received
  std::uint64_t bytes_per_step = 1 << 18;  // received payload
  std::uint32_t queues_per_step = 8;       // queue pairs that get a turn
  std::uint32_t sweep_idle_steps = 8;    // steps without work between two looks at doorbell records
  std::uint32_t sweep_busy_steps = 256;  // the same while there is work
  std::uint32_t sweep_queues = 8;        // queue pairs whose records are looked at
  std::uint64_t sweep_interval_ns = 0;   // the least time between two such looks
  // Whether a doorbell makes the engine look at its record, too, rather than leave that to the
  // sweeps. A doorbell is lost unseen only if another one overwrites it: for another queue pair, if
  // they share a register, for otherwise the later one says as much as both.
  bool record_after_doorbell = true;
  // In a collapsed queue that nobody limits (overrun_ignore), whose entry may change at any time
  // while it is looked at, a successful CQE behind another is written as its last eight bytes only.
  bool short_cqes = false;
  // Whether a requester sends again earlier than the queue pair's ack_timeout says, when an answer
  // takes longer than answers did so far; each time it waits twice as long. Such a repetition does
  // not count against retry_count: how many do, and how long until the last, is as without. On ways
  // that lose packets (WirePath) alone; it is what ConnectX calls adaptive retransmission.
  bool adaptive_retransmission = false;
  // Whether a responder keeps requests by value that come before one that is missing
  // (early_packets.h), and a requester that is told of a gap sends that one packet again; where the
  // gap goes on right behind what was sent again last, twice as many. On ways that lose packets
  // alone. Engines that meet have the same.
  bool selective_repeat = false;
  // Whether queue pairs send at a rate that falls when the network marks their packets, and tell
  // their peers of packets that come marked (congestion.h). Engines that meet have the same, and
  // queue pairs an ack_timeout that is longer than a packet takes at the least rate (rate_limit.h).
  bool congestion_control = false;
  // Of DC: how many connections the targets have at a time, and how long each one has a responder
  // to itself though others wait; and how long initiators keep a connection without work.
  DcLimits dc = {};
  std::uint64_t dc_idle_ns = 10'000'000;
  // At a time, unless there are fewer numbers (kinds.h). Queue pairs have the `max_qps` numbers
  // that follow the skipped ones, and no other.
  std::uint32_t max_qps = 1u << 24;
  std::uint32_t max_objects = 1u << 24;  // of each other kind
  // How many numbers are left out before those of the first queue pair and the first key, and the
  // low byte of the first key: drawn at random where strangers may send. Not all are left out.
  std::uint32_t skipped_qps = 0;
  std::uint32_t skipped_keys = 0;
  std::uint8_t first_key_variant = 1;
  EventSink* events = nullptr;           // who listens, if anybody; outlives the engine
  AddressResolver* addresses = nullptr;  // null: all datagrams are lost; outlives the engine
  NicTrace* trace = nullptr;             // of a timeline, if anybody wants one; outlives the engine
};

class Engine {
 public:
  // Port and wire outlive the engine.
  Engine(const EngineOptions& options, DmaPort& port, Wire& wire);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  // An 8-byte store to a doorbell page. Anything but a doorbell of a QP, or an arm of a CQ, that
  // was created for this page is dropped, as hardware does, and so is one of a QP at the register
  // of those without a doorbell record, if it has one. Event queues have registers, too, but there
  // are none of them here.
  void doorbell(UarNumber uar, std::uint32_t offset, std::uint64_t value);

  // One bounded piece of work; true if anything changed. `now_ns` never goes backwards.
  bool step(std::uint64_t now_ns);

  // Something waits for DMA, or for room on the wire: step again soon though nothing has changed.
  bool waiting() const {
    return !active_.empty() || !held_.empty() || removals_.wait_for_dma() ||
           !core_.active_cqs.empty() || !core_.side_work.empty();
  }

  // A queue pair has been connected. Before, neither doorbells nor packets have any effect.
  bool started() const { return started_; }

  // The next time at which a timer may have work, if any runs.
  std::optional<std::uint64_t> next_timer_ns() const {
    const Timer* const timer = timers_.earliest();
    return timer == nullptr ? std::nullopt : std::optional(timer->at_ns);
  }

  // The control path. Each object belongs to who creates it: calls with another uid are refused, as
  // if it did not exist. A call that is refused has changed nothing.
  Outcome<PdNumber> alloc_pd(Uid uid = kNicUid);
  Outcome<> dealloc_pd(PdNumber pd, Uid uid = kNicUid);
  Outcome<UarNumber> alloc_uar(UarType type, Uid uid = kNicUid);
  Outcome<> free_uar(UarNumber uar, Uid uid = kNicUid);
  Outcome<MemoryKey> reg_mr(const MrAttributes& attributes, Uid uid = kNicUid);
  Outcome<> rereg_mr(MemoryKey key, const MrAttributes& attributes, Uid uid = kNicUid);
  Outcome<> dereg_mr(MemoryKey key, Uid uid = kNicUid);
  // A memory window (memory/keys.h), which grants nothing until a WQE binds it. Of the key that is
  // given later its index alone counts, as binds change the rest.
  Outcome<MemoryKey> alloc_mw(PdNumber pd, WindowType type, Uid uid = kNicUid);
  Outcome<> dealloc_mw(MemoryKey key, Uid uid = kNicUid);
  // A memory key as a command makes it, which WQEs change if it is made so. Of a key that is given
  // later its index alone counts.
  Outcome<MemoryKey> create_mkey(const MkeyAttributes& attributes, Uid uid = kNicUid);
  Outcome<MkeyInfo> query_mkey(MemoryKey key, Uid uid = kNicUid) const;
  Outcome<> destroy_mkey(MemoryKey key, Uid uid = kNicUid);
  Outcome<CqNumber> create_cq(const CqAttributes& attributes, Uid uid = kNicUid);
  Outcome<CqInfo> query_cq(CqNumber cq, Uid uid = kNicUid) const;
  Outcome<> moderate_cq(CqNumber cq, const CqModeration& by, Uid uid = kNicUid);
  Outcome<> destroy_cq(CqNumber cq, Uid uid = kNicUid);
  // Moves the CQ to other entries, which its owner has filled as for create_cq; a CQE of opcode
  // `resized` ends the old ones. False: what this NIC or its DMA does comes first; call it again
  // after a step, with the same. True: last_removal() is that of the old entries, which are the
  // owner's once it is removed. Refused with bad_size_outs_cqes if the CQEs that are not consumed
  // by then, as the record says, do not leave an entry for the marker, or do not fit.
  Outcome<bool> resize_cq(CqNumber cq, const CqResize& to, Uid uid = kNicUid);
  Outcome<SrqNumber> create_srq(const SrqAttributes& attributes, Uid uid = kNicUid);
  // An XRC domain: the shared receive queues that the targets in it may be asked for. Whoever knows
  // its number may use it, whosever it is.
  Outcome<XrcdNumber> alloc_xrcd(Uid uid = kNicUid);
  Outcome<> dealloc_xrcd(XrcdNumber domain, Uid uid = kNicUid);
  // Tells srq_limit once, when fewer WQEs are posted and not taken than `limit`: at once, if so
  // already. 0: tells nothing.
  Outcome<> arm_srq(SrqNumber srq, std::uint32_t limit, Uid uid = kNicUid);
  Outcome<SrqInfo> query_srq(SrqNumber srq, Uid uid = kNicUid) const;
  Outcome<> destroy_srq(SrqNumber srq, Uid uid = kNicUid);
  Outcome<QpNumber> create_qp(const QpAttributes& attributes, Uid uid = kNicUid);
  Outcome<> modify_qp(QpNumber qpn, const QpModify& modify, Uid uid = kNicUid);
  Outcome<QpInfo> query_qp(QpNumber qpn, Uid uid = kNicUid) const;
  Outcome<> destroy_qp(QpNumber qpn, Uid uid = kNicUid);

  // A target of DC. Initiators are queue pairs. Only one that is drained is destroyed.
  Outcome<DctNumber> create_dct(const DctAttributes& attributes, Uid uid = kNicUid);
  Outcome<DctInfo> query_dct(DctNumber dct, Uid uid = kNicUid) const;
  // Takes no packet any more; tells dct_drained when nothing is under way.
  Outcome<> drain_dct(DctNumber dct, Uid uid = kNicUid);
  // Tells dct_key_violation once, at the next connect with another key.
  Outcome<> arm_dct(DctNumber dct, Uid uid = kNicUid);
  Outcome<> destroy_dct(DctNumber dct, Uid uid = kNicUid);

  // The page whose registers ring for the queue pair, or arm the CQ; 0: none does.
  UarNumber uar_of_qp(QpNumber qpn) const;
  UarNumber uar_of_cq(CqNumber cq) const;

  // Those that an error has broken, whosever they are.
  std::vector<QpNumber> broken_qps() const;
  // Those whose doorbell record has once said less than a doorbell before it.
  std::vector<QpNumber> recordless_qps() const;

  // The last removal: of dereg_mr, rereg_mr, dealloc_mw, destroy_mkey, resize_cq, destroy_cq,
  // destroy_srq, destroy_qp, or modify_qp to reset.
  RemovalNumber last_removal() const { return removals_.last(); }
  // The memory that its object named is neither read nor written any more, here or by a peer. Steps
  // bring it about, this engine's and those of peers.
  bool removed(RemovalNumber number);
  // ... but for peers it would be.
  bool left_to_peers(RemovalNumber number) const { return removals_.left_to_peers(number); }
  // All removals have come to their end.
  bool drained();

  // What the queue pair has done since it was created.
  Outcome<QueueCounters> query_counters(QpNumber qpn, Uid uid = kNicUid) const;
  // What the queue pairs that there are and those that are gone have done, and what was for none.
  NicCount count() const;
  NicCounters counters() const { return count().nic; }

 private:
  struct Pd {
    std::uint32_t users = 0;  // QPs, DCTs and SRQs
  };
  struct Xrcd {
    std::uint32_t users = 0;  // targets and SRQs
  };
  struct UarUse {
    UarType type = UarType::registers;
    std::uint32_t users = 0;      // QPs and CQs
    bool has_recordless = false;  // a QP without a send record
  };
  // A received packet whose payload is still being copied, or that its queue pair could not take.
  struct Held {
    const Packet* packet = nullptr;
    DmaOp op;
    bool deferred = false;
  };

  // engine.cc
  void control_doorbell(const UarUse* page, UarNumber uar, std::uint32_t offset,
                        std::uint64_t value);
  bool arm(UarNumber uar, CqNumber number);
  bool receive_packets();
  bool deliver(const Packet& packet, DmaOp& op);
  [[gnu::noinline]] bool deliver_to_target(const Packet& packet, DmaOp& op);
  bool deliver_to(Qp& qp, const Packet& packet, DmaOp& op);
  bool deliver_deferred();
  bool retire_packets();
  bool work_queues();
  Turn work(Qp& qp);
  [[gnu::noinline]] Turn work_unreliable(Qp& qp);
  [[gnu::noinline]] Turn work_dc(Qp& qp);
  bool request(Qp& qp, const Packet& packet, DmaOp& op);
  void activate(Qp& qp);
  void look_at_draining(Qp& qp);
  void take_cnp(Qp& qp);
  bool run_timers();
  bool work_cqs();
  bool work_sides();
  void fail_users(const Cq& cq);
  // Makes run_timers look at the queue pair when its time has come.
  void expect_timer(Qp& qp);
  void sweep(bool worked);
  void sweep_arms();

  // control_qp.cc
  Outcome<> check_qp(const QpAttributes& attributes, Uid uid) const;
  Outcome<> check_receives(const QpAttributes& attributes, Uid uid) const;
  std::unique_ptr<Qp> make_qp(QpNumber qpn, const QpAttributes& attributes);
  std::vector<QpNumber> qps_where(bool (*holds)(const Qp&)) const;
  template <class Use>
  void for_memory(const QpAttributes& attributes, Use use) const;
  void count_users(const Qp& qp, int change);

  // control_dct.cc
  Outcome<> check_dct(const DctAttributes& attributes, Uid uid) const;
  std::vector<DctNumber> dcts() const;

  // control_srq.cc
  Outcome<> check_xrc_srq(const XrcSrqAttributes& attributes, Uid uid) const;
  void forget_srq(const Srq& srq);

  // control_modify_qp.cc
  void reset(Qp& qp);

  // control_removal.cc
  void bury(std::unique_ptr<Qp> qp, std::vector<MemoryRange> memory);
  void remove(Removed removed);

  const EngineOptions options_;
  Core core_;
  Requester requester_;
  Responder responder_;
  UnreliableRequester unreliable_requester_;
  UnreliableResponder unreliable_responder_;

  NumberSpace pd_numbers_;
  NumberSpace uar_numbers_;
  NumberSpace cq_numbers_;
  NumberSpace qp_numbers_;
  NumberSpace srq_numbers_;
  NumberSpace xrcd_numbers_;
  NumberTable<Pd> pds_{pd_numbers_};
  NumberTable<UarUse> uars_{uar_numbers_};
  NumberTable<Xrcd> xrcds_{xrcd_numbers_};
  NumberTable<Cq> cqs_{cq_numbers_};
  NumberTable<Srq> srqs_{srq_numbers_};  // before those who take from them
  NumberTable<Qp> qps_{qp_numbers_};
  NumberTable<Dct> dcts_{qp_numbers_};
  Removals removals_;

  bool started_ = false;
  LinkedList<Qp, &Qp::active> active_;  // those with work
  // Those from rtr on, and those that failed. A sweep moves each that it has looked at to the end.
  LinkedList<Qp, &Qp::swept> connected_;
  LinkedList<Cq, &Cq::swept> armable_;  // moved likewise
  Fifo<Held> held_;
  std::vector<std::uint64_t> deferred_;  // numbers of those, oldest first
  Timers timers_;  // of queue pairs that wait for an answer, or until they may send again
  DcTargets dc_targets_;
  std::uint32_t since_sweep_ = 0;
  std::uint64_t next_sweep_ns_ = 0;
};

}  // namespace gdakit::softnic
