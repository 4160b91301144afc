// The plain structs that a kernel takes by value or reads through a pointer. core/host fills them
// and owns what they point to; nothing here owns anything.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/base/endian.h"
#include "core/format/cqe.h"
#include "core/format/doorbell.h"
#include "core/format/wqe.h"
#include "device/machine.h"

namespace gdakit {

// Who rings: the thread itself, or a host thread that watches a producer index.
enum class Handler : std::uint8_t { gpu, proxy };

// How many may post to a queue at once.
enum class Sharing : std::uint8_t {
  shared,     // any thread of the GPU, at any time
  exclusive,  // one thread, warp or block at a time; the caller sees to that
};

// The indices of one send queue. All count WQEBBs from the queue's creation and never wrap:
//
//   completed <= posted <= reserved <= completed + depth
//
// Which slots between posted and reserved are ready stands in QueueView::ready.
struct alignas(64) QueueState {
  std::uint64_t reserved;      // the next slot to hand out
  std::uint64_t completed;     // cached: everything below has completed
  std::uint64_t posted;        // everything below was announced by a doorbell
  std::uint64_t open_until;    // end of the newest post that asked not to be rung ("more to come")
  std::uint64_t read_until;    // end of the newest READ without a DUMP behind it
  std::uint64_t read_flushed;  // end of the newest READ that a completed DUMP has made visible
  std::uint64_t error;         // QueueError::word; 0 while healthy
  std::uint64_t fetch_head;    // the next fetch slot to hand out
};
static_assert(sizeof(QueueState) == 64);

// Where the result of a fetching operation lands. Slot i of the ring serves the tickets i, i +
// count and so on; `turn` says which of them may use it.
struct alignas(16) FetchSlot {
  std::uint64_t value;
  std::uint64_t turn;
};

// One send queue with its collapsed completion queue.
struct QueueView {
  format::Segment* slots;      // depth * 4 segments
  std::uint32_t depth;         // in WQEBBs, a power of two
  Be32 qpn_shifted;            // qpn << 8: or'ed with ds it is a control segment's second word
  std::uint32_t* record;       // the send word of the doorbell record, stored big-endian
  std::uint64_t* doorbell;     // a register of the UAR page
  std::uint64_t* cqe;          // the eight words of the collapsed CQE
  std::uint64_t* ready;        // depth / 32 words, see publication.h; shared queues only
  std::uint64_t* proxy_index;  // the producer index that the proxy watches; Handler::proxy only
  QueueState* state;
  FetchSlot* fetch_slots;
  std::uint32_t fetch_count;  // a power of two, at least 32
  Be32 fetch_lkey;            // of the fetch slots
  std::uint64_t* sink;        // where results go that nobody asked for
  Be32 sink_lkey;
  std::int32_t peer;  // the PE at the other end
  Handler handler;
  Sharing sharing;
};

// A range of memory that the NIC may read and write locally.
struct LocalRange {
  std::uint64_t begin;
  std::uint64_t end;
  Be32 lkey;
};

// The symmetric heap: one address range, whose chunks are registered one by one. An object lies at
// the same offset on every PE.
struct HeapView {
  std::uint64_t base;
  const LocalRange* chunks;  // ascending, without gaps; the first begins at base
  std::uint32_t chunk_count;
  const Be32* rkeys;                  // [chunk][pe]
  const std::uint64_t* remote_bases;  // [pe]
};

// How a word is compared with a value.
enum class Compare : std::uint8_t { eq, ne, gt, ge, lt, le };

// A wait that exceeded the watchdog's limit, as its thread saw it. The first one of a PE is kept.
struct StallReport {
  std::uint64_t state;  // even: none yet; odd: complete. The host adds one to have another.
  Site site;
  Compare compare;  // of the word with the target, for Site::signal
  std::uint8_t unused[6];
  std::int32_t peer;    // -1 when no queue is involved
  std::uint32_t queue;  // index among the queues to that peer
  std::uint32_t block;
  std::uint32_t thread;
  std::uint64_t waited_ns;
  std::uint64_t target;   // the index, slot, epoch or value that was waited for
  std::uint64_t address;  // of the word that was polled, for Site::signal
  std::uint64_t value;    // what it held last
  std::uint64_t reserved, ready, posted, doorbell_record, completed;
  std::uint64_t cqe_tail;  // the last CQE's format::CqeTail::raw
  std::uint64_t error;     // QueueError::word
};

// Copied as bytes: none of them may be left to chance.
static_assert(std::has_unique_object_representations_v<StallReport>);

// The first operation of a PE that named a bad argument.
struct FaultReport {
  std::uint64_t state;  // as in StallReport
  std::uint8_t code;    // StatusCode
  std::uint8_t unused[3];
  std::int32_t peer;
  std::uint64_t address;
  std::uint64_t bytes;
};

static_assert(std::has_unique_object_representations_v<FaultReport>);

// What the threads of a PE report. Lies in memory that the host can read at any time.
struct PeState {
  StallReport stall;
  FaultReport fault;
};

// What the threads of a PE share, in its own memory.
struct PeWords {
  std::uint64_t barrier_epoch;  // how many barriers this PE has begun
  // The state that a report will have once it is complete, if a thread has taken it upon itself.
  std::uint64_t stall_claim;
  std::uint64_t fault_claim;
};

inline constexpr std::uint32_t kMaxBarrierRounds = 32;

// All that a kernel needs of its PE. Taken by value.
struct DeviceContext {
  std::int32_t my_pe;
  std::int32_t n_pes;
  const QueueView* queues;      // [queue][pe]
  std::uint32_t queue_count;    // per peer
  std::uint32_t mapped_queues;  // of those, the first ones, among which threads are spread
  HeapView heap;
  const LocalRange* local_ranges;  // registered memory outside the heap
  std::uint32_t local_range_count;
  std::uint64_t max_message_bytes;
  std::uint64_t watchdog_ns;     // 0: wait for ever
  bool needs_cst;                // inbound NIC writes are not ordered by themselves
  Scope nic_scope;               // what Scope::nic means here: gpu or system
  std::uint64_t* barrier_flags;  // kMaxBarrierRounds words in the symmetric heap
  PeWords* words;
  PeState* state;
};
static_assert(std::is_trivially_copyable_v<DeviceContext>);

}  // namespace gdakit
