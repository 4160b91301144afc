// A client of one NIC: its memory, completion queues, and the ends of its connections.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "backends/softnic/engine/engine.h"
#include "tests/softnic/lossy_wire.h"
#include "tests/softnic/model/flow.h"

namespace gdakit::softnic::test::model {

inline constexpr std::uint32_t kConstantBytes = 4096;
inline constexpr std::uint32_t kLocalBytes = 8192;  // payloads and results of one end
inline constexpr std::uint32_t kInboxSlot = 800;    // bytes for the receives of one slot
inline constexpr std::uint32_t kMostReceived = kInboxSlot - 32;
inline constexpr std::uint32_t kMostLogSq = 6, kMostLogRq = 3, kMostLogStride = 7, kMostLogCq = 7;
inline constexpr std::uint32_t kMostCqs = 3;
inline constexpr std::uint32_t kEndsOfANic = 8;  // at most

class End;

// A completion queue as its client sees it. It never has more entries than fit: `reserved` are the
// WQEs that may still complete there, and the entries not yet looked at.
struct ClientCq {
  CqNumber number = 0;
  std::size_t entries = 0, record = 0;  // places in memory
  std::uint32_t log_entries = 0;
  CqeSize cqe_size = CqeSize::bytes_64;
  bool collapsed = false;
  bool overrun_ignore = false;
  std::uint64_t consumer = 0;
  std::uint32_t reserved = 0;
  format::Cqe64 seen = {};  // collapsed: as last looked at

  std::size_t bytes() const { return std::size_t{entry_bytes(cqe_size)} << log_entries; }
  // Where in memory the CQE of an entry is.
  std::size_t place(std::uint64_t entry) const {
    return entries + (entry + 1) * entry_bytes(cqe_size) - sizeof(format::Cqe64);
  }
  bool has_room(std::uint32_t cqes) const {
    return collapsed || reserved + cqes <= (1u << log_entries);
  }
};

struct ClientNic {
  ClientNic(std::size_t bytes, Journal& run) : journal(run), memory(bytes) {}

  // Looks at every completion queue.
  void poll();
  void clear(ClientCq& cq);
  void make_cq(std::uint32_t log_entries, bool collapsed, bool overrun_ignore, CqeSize cqe_size);

  Journal& journal;
  ShadowedMemory memory;
  std::unique_ptr<DmaPort> port;
  std::unique_ptr<LossyWire> wire;
  std::unique_ptr<Engine> engine;
  PdNumber pd = 0;
  UarNumber uar = 0;
  std::size_t constants = 0;
  MemoryKey constants_key = 0;
  std::vector<std::unique_ptr<ClientCq>> cqs;
  std::vector<End*> ends;
  std::vector<MemoryKey> spare_keys;   // of memory that nobody uses
  std::size_t spare_cq = 0;            // of a completion queue that no queue pair uses
  std::uint64_t stalled_until_ns = 0;  // its wire takes nothing before

 private:
  void poll(ClientCq& cq);
  void poll_collapsed(ClientCq& cq);
  void dispatch(ClientCq& cq, const format::Cqe64& cqe);
};

// What the two ends of a connection agree on.
struct ConnectionRules {
  bool impatient = false;  // timeouts so short that retries may be exceeded without any loss
  bool strict = false;     // one retry of each kind is enough
  std::uint8_t rnr_retry = 7;
  std::uint8_t log_reads = 2;
  bool lossless = false;       // every packet arrives, and none twice or out of turn
  bool doomed = false;         // something was broken on purpose: queues may fail
  bool bad_keys = false;       // ... or by a key that was wrong or has gone
  const End* exact = nullptr;  // ... by this end's WQE alone, on wires that lose nothing
};

class End {
 public:
  End(ClientNic& nic, Random& random, ConnectionRules& rules, std::uint32_t id);

  void create(ClientCq& send_cq, ClientCq& receive_cq);
  void register_target();
  void register_local();
  // Begins a new life of the queue pair: counters, records, and stale bytes in its queues.
  void start_over(std::uint64_t wqebb_counter);
  void connect(QpModify settings);  // to rts; fills in the peer's address
  // Whatever is under way is given up.
  void abandon();

  // Room for so many WQEs of so many WQEBBs together, and for their CQEs.
  bool has_room(std::uint32_t wqebbs, std::uint32_t wqes) const;
  std::optional<std::size_t> allocate_local(std::uint32_t bytes, std::uint32_t& charge);
  Naming naming() const;
  void post(Operation operation, const std::vector<format::Segment>& body);
  void ring(bool doorbell);
  void post_receive();
  bool has_receive_room() const;
  // Messages that have been posted and have no receive.
  bool owes_receive() const { return peer->flow->message_of_next_receive() != nullptr; }

  // All that is posted has completed, as far as CQEs can tell. Then what makes none has, too.
  bool is_at_rest();

  void on_send_cqe(const ClientCq& cq, const format::Cqe64& cqe);
  void on_receive_cqe(const format::Cqe64& cqe);

  // A loss that this end's requests suffer. They can take another one only if they have got over
  // the last ones.
  bool can_lose();
  void lose(std::uint32_t psn);

  ClientNic& nic;
  Random& random;
  ConnectionRules& rules;
  const std::uint32_t id;
  End* peer = nullptr;
  std::unique_ptr<Flow> flow;  // of what this end requests

  QpNumber qpn = 0;
  bool exists = false;  // CQEs may name it
  bool lives = false;   // connected
  bool failed = false, receive_failed = false;
  bool target_key_gone = false, local_key_gone = false;
  MemoryKey target_key = 0, local_key = 0;
  std::uint64_t target_iova = 0, local_iova = 0;
  std::size_t sq = 0, rq = 0, record = 0, local = 0, target = 0;
  std::uint32_t log_sq = 0, log_rq = 0, log_stride = 0;
  ClientCq* send_cq = nullptr;
  ClientCq* receive_cq = nullptr;
  ClientCq* own_cq = nullptr;               // collapsed; kept from life to life
  std::vector<std::uint8_t> frozen_target;  // as it was when its key had gone
  std::uint64_t producer = 0, completed = 0, rung = 0;
  std::uint64_t receive_producer = 0;
  std::uint32_t psn = 0;

 private:
  // The queue may fail for a reason that the CQE in hand does not tell.
  bool may_break() const {
    return rules.doomed || rules.impatient || (rules.rnr_retry != 7 && !rules.strict);
  }
  bool may_fail(const Operation& operation, format::Syndrome syndrome) const;
  bool may_fail_receive(format::Syndrome syndrome) const;
  void release(std::size_t count, bool succeeded);
  void check_delivery(const format::Cqe64& cqe, const Message& message);

  std::uint64_t local_head_ = 0, local_tail_ = 0;
  std::uint32_t losses_ = 0;
  std::uint32_t lost_psn_ = 0;
};

}  // namespace gdakit::softnic::test::model
