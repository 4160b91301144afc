// The plain structs that a kernel takes by value or reads through a pointer. core/host fills them
// and owns what they point to; nothing here owns anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/base/bits.h"
#include "core/base/endian.h"
#include "core/format/cqe.h"
#include "core/format/doorbell.h"
#include "core/format/wqe.h"
#include "device/fault.h"
#include "device/machine.h"

namespace gdakit {

// Who writes WQEs, and who rings.
enum class Handler : std::uint8_t {
  gpu,       // the thread itself does both
  proxy,     // it writes WQEs; a host thread that watches a producer index rings
  commands,  // it writes commands (command.h); the host thread makes WQEs of them, rings, and
             // passes completions on
};

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
  std::uint64_t posted;        // everything below is announced, or in its poster's next steps
  std::uint64_t open_until;    // end of the newest post that asked not to be rung ("more to come")
  std::uint64_t read_until;    // end of the newest READ without a DUMP behind it
  std::uint64_t flushed_here;  // what the queue wrote to this PE below it is visible here
  std::uint64_t error;         // QueueError::word; 0 while healthy
  std::uint64_t fetch_head;    // the next fetch slot to hand out
  // Everything below is in the memory of its PE, where that takes more than a completion
  // (completing::flush_there).
  std::uint64_t flushed_there;
};
static_assert(sizeof(QueueState) == 128 && offsetof(QueueState, flushed_there) == 64);

// Where the result of a fetching operation lands. Slot i of the ring serves the tickets i, i +
// count and so on; `turn` says which of them may use it.
struct alignas(16) FetchSlot {
  std::uint64_t value;
  std::uint64_t turn;
};

// One send queue with its collapsed completion queue. Of DC several peers share one: their views of
// it differ in `address` and `peer` alone. A view without a state is of a peer to which this PE has
// no queue.
struct QueueView {
  format::Segment* slots;   // depth * 4 segments: WQEs, or commands
  std::uint32_t depth;      // in WQEBBs, a power of two
  Be32 qpn_shifted;         // qpn << 8: or'ed with ds it is a control segment's second word
  std::uint32_t* record;    // the send word of the doorbell record, stored big-endian
  std::uint64_t* doorbell;  // a register of the UAR page, or the index that a proxy watches
  std::uint64_t* cqe;       // the eight words of the collapsed CQE
  std::uint64_t* ready;     // depth / 32 words, see publication.h; shared queues only
  QueueState* state;
  FetchSlot* fetch_slots;
  std::uint32_t fetch_count;  // a power of two, at least 32
  Be32 fetch_lkey;            // of the fetch slots
  std::uint64_t* sink;        // where results go that nobody asked for
  // Of DC: where the peer's target is, a format::AvSegment as three segments. Each WQE then takes
  // two WQEBBs: control segment and address in the first, the others in the second. Null: RC.
  const format::Segment* address;
  Be32 sink_lkey;
  std::int32_t peer;  // the PE at the other end
  Handler handler;
  Sharing sharing;
  bool recordless;  // the NIC goes by doorbells alone, and nobody writes the record
};

// A range of memory that the NIC may read and write locally.
struct LocalRange {
  std::uint64_t begin;
  std::uint64_t end;
  Be32 lkey;
};

// Of the first so many PEs a kernel knows the direct ones without a load.
inline constexpr std::uint32_t kNearPes = 8;

// The symmetric heap: one address range, whose chunks are registered one by one. An object lies at
// the same offset on every PE.
//
// Of a heap that is checked (GDAKIT_CHECK_MEMORY) operations may touch objects only. There `end` is
// `base`, so that no quick look finds anything, and `chunks` are the objects that are in use, cut
// at the borders of what was registered, with gaps between them.
struct HeapView {
  std::uint64_t base;
  std::uint64_t end;
  const LocalRange* chunks;           // [nic][chunk]: ascending, from base to end without gaps
  const Be32* rkeys;                  // [nic][chunk][pe]
  const std::uint64_t* remote_bases;  // [pe]
  // The addresses at which this PE's threads reach the heaps by loads and stores, this PE's own
  // included; 0: the NIC is the only way. Null, as the next one: it is to all PEs.
  const std::uint64_t* direct_bases;  // [pe]
  // The same where atomics and signals go that way, too: 0 unless every PE of the job reaches that
  // heap, because a NIC's atomics and a processor's are not atomic with each other.
  const std::uint64_t* direct_atomic_bases;  // [pe]
  // The first of direct_bases once more, but 0 also where atomics and signals go through the NIC:
  // there a direct operation may be the last one of a batch that the NIC must hear of.
  std::uint64_t direct_near[kNearPes];
  std::uint32_t chunk_count;
  std::uint32_t chunk_room;  // from one NIC's chunks to those of the next one; chunk_count or more
  std::uint32_t nics;        // by which the queues of this PE go (nic_of)
  bool direct_mixed;         // some PE's puts go directly, and its atomics through the NIC
  bool direct_only;          // every PE is direct, for everything: no queue is ever posted to
  bool any_placement;        // puts on one queue may arrive in any order; READs and atomics do not
  std::uint8_t unused;
};

// The NIC by which the queue `queue` to each PE goes, at both ends.
GDAKIT_HOST_DEVICE constexpr std::uint32_t nic_of(const HeapView& heap, std::uint32_t queue) {
  return heap.nics <= 1 ? 0 : queue % heap.nics;
}

// How many addresses of the heap have `bytes` bytes behind them. Those are the first ones.
GDAKIT_HOST_DEVICE inline std::uint64_t places_for(const HeapView& heap, std::uint64_t bytes) {
  const std::uint64_t size = heap.end - heap.base;
  return bytes <= size ? size - bytes + 1 : 0;
}

GDAKIT_HOST_DEVICE inline bool is_checked(const HeapView& heap) { return heap.end == heap.base; }

// Whether the bytes from `address` on lie in the heap, by a quick look, which tells nothing of one
// that is checked.
GDAKIT_HOST_DEVICE inline bool is_surely_in_heap(const HeapView& heap, std::uint64_t address,
                                                 std::uint64_t bytes) {
  return address - heap.base < places_for(heap, bytes);
}

// The one of `count` chunks that holds `address`, or `count`.
GDAKIT_HOST_DEVICE inline std::uint32_t find_chunk(const LocalRange* chunks, std::uint32_t count,
                                                   std::uint64_t address) {
  std::uint32_t low = 0;
  std::uint32_t high = count;
  while (low < high) {
    const std::uint32_t middle = (low + high) / 2;
    if (address < chunks[middle].end) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low < count && address >= chunks[low].begin ? low : count;
}

// Whether the bytes from `address` on lie in chunks without a gap. What it takes is copies, so that
// a kernel need not keep the heap in memory for a call that it hardly ever makes.
GDAKIT_DEVICE_CALL inline bool lies_in_chunks(const LocalRange* chunks, std::uint32_t count,
                                              std::uint64_t address, std::uint64_t bytes) {
  for (std::uint32_t i = find_chunk(chunks, count, address); i < count; ++i) {
    const LocalRange& chunk = chunks[i];
    if (address < chunk.begin) return false;
    if (bytes <= chunk.end - address) return true;
    bytes -= chunk.end - address;
    address = chunk.end;
  }
  return false;
}

// Whether operations may touch the bytes from `address` on: they lie in the heap, and where that is
// checked, in an object.
GDAKIT_HOST_DEVICE inline bool is_in_heap(const HeapView& heap, std::uint64_t address,
                                          std::uint64_t bytes) {
  return is_surely_in_heap(heap, address, bytes) ||
         (is_checked(heap) && lies_in_chunks(heap.chunks, heap.chunk_count, address, bytes));
}
GDAKIT_HOST_DEVICE inline bool is_in_heap(const HeapView& heap, const void* object,
                                          std::uint64_t bytes) {
  return is_in_heap(heap, reinterpret_cast<std::uint64_t>(object), bytes);
}

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

// The first operation of a PE that had a bad argument: which PE, queue to a PE, or memory.
struct FaultReport {
  std::uint64_t state;  // as in StallReport
  Fault what;
  Operation operation;
  std::uint8_t unused[2];
  std::int32_t peer;
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint32_t block;
  std::uint32_t thread;
};

static_assert(std::has_unique_object_representations_v<FaultReport>);

// What the threads of a PE report. Lies in memory that the host can read at any time.
struct PeState {
  StallReport stall;
  FaultReport fault;
  std::uint64_t gives_up;     // not 0: a wait has stalled, and later ones end soon (stalls_of)
  std::uint64_t host_result;  // of the last call of the host that returns a value
  std::uint64_t calm_ns;      // for how long no PE of this host has been stopped, as the host tells
  std::uint64_t losses;       // how many PEs are lost, as the host tells (device/loss.h)
  std::uint64_t new_loss;     // one of them that the program has yet to acknowledge, plus 1; or 0
  std::uint64_t lost;         // address of a word for each PE of the job: 1 if it is lost; or 0
};
// Values of calm_ns that are no time. The host tells something new some twenty times a second.
inline constexpr std::uint64_t kCalmUntold = 0;  // the host tells nothing
inline constexpr std::uint64_t kNotCalm = 1;     // a PE is stopped, or may be

// What the threads of a PE share, in its own memory.
struct PeWords {
  // The state that a report will have once it is complete, if a thread has taken it upon itself.
  std::uint64_t stall_claim;
  std::uint64_t fault_claim;
};

// How the messages of a collective operation are arranged. All PEs of a job must agree on it.
enum class CollectiveAlgorithm : std::uint8_t {
  automatic,    // by the number of members and bytes
  linear,       // every member with every other one, all at once
  logarithmic,  // dissemination, recursive doubling, binomial trees: few messages
  ring,         // each member with its neighbours: every byte crosses each link once
};

// What one PE has exchanged with another one in the name of a team. Messages between two PEs are
// counted from the beginning of the job, whatever team uses the place, so that the counts of both
// sides agree when a place is given to another team.
struct TeamPeer {
  std::uint64_t sent;      // messages to it
  std::uint64_t received;  // messages from it that were waited for
  std::uint64_t posted;    // the index to wait for until the newest message to it is delivered
};

// The largest element that a reduction can combine.
inline constexpr std::uint64_t kMaxReducedBytes = 64;

// What the threads of a PE share of a team.
struct TeamWords {
  std::uint64_t turn;   // how often the scratch memory was used
  std::uint64_t error;  // 0, or the first failed collective's Status, bit by bit
};

// One place for a team, as one PE sees it. Its symmetric memory was made with the job, so that
// members alone can make a team.
struct TeamView {
  std::int32_t my_pe;           // this PE's number in the team; -1: it is no member
  std::int32_t n_pes;           // 0: there is no such team
  const std::int32_t* members;  // [n_pes] in the job, by their numbers in the team
  const std::int32_t* numbers;  // [PEs of the job] in the team, or -1
  std::uint64_t* arrived;       // [PEs of the job] messages that each has sent here; symmetric
  std::byte* scratch;           // symmetric; aligned to 16 bytes
  std::uint64_t scratch_bytes;  // a multiple of 32, and least_scratch() or more
  TeamPeer* peers;              // [PEs of the job] of this PE alone
  TeamWords* words;             // of this PE alone
};

// Each half of the scratch memory has a part for each member, or for each step of a recursive
// doubling (collective/reduce.h), and a part holds an element.
GDAKIT_HOST_DEVICE constexpr std::uint64_t least_scratch(std::uint64_t n_pes) {
  const std::uint64_t doubling = 2 * static_cast<std::uint64_t>(log2_ceil(n_pes)) + 4;
  return 2 * kMaxReducedBytes * (n_pes < doubling ? doubling : n_pes);
}

// The queues to each peer among which threads are spread by their block: the first `count` ones, 1
// or more. `part` is 2^32 / count, rounded up, in 32 bits (0 for one queue): to divide by the count
// would take longer than a direct put.
struct QueueSpread {
  std::uint32_t count;
  std::uint32_t part;
};
GDAKIT_HOST_DEVICE constexpr QueueSpread spread_over(std::uint32_t count) {
  return {count, static_cast<std::uint32_t>(divide_up(std::uint64_t{1} << 32, count))};
}
// One after the other, round and round; in a grid of millions of blocks now and then one is left
// out.
GDAKIT_HOST_DEVICE constexpr std::uint32_t queue_of_block(const QueueSpread& spread,
                                                          std::uint32_t block) {
  const std::uint32_t fraction = block * spread.part;
  return static_cast<std::uint32_t>(std::uint64_t{fraction} * spread.count >> 32);
}
static_assert(queue_of_block(spread_over(1), ~0u) == 0);
static_assert(queue_of_block(spread_over(3), 2) == 2 && queue_of_block(spread_over(3), 3) == 0);
static_assert(queue_of_block(spread_over(64), 63) == 63 &&
              queue_of_block(spread_over(7), 700) == 0);

// All that a kernel needs of its PE. Taken by value.
struct DeviceContext {
  std::int32_t my_pe;
  std::int32_t n_pes;
  const QueueView* queues;    // [queue][pe]
  std::uint32_t queue_count;  // per peer
  QueueSpread mapped_queues;
  std::uint32_t local_range_count;
  std::uint32_t dc_queues;         // of a row of DC: a PE's is that of the PE by this modulo
  std::uint32_t local_range_room;  // from one NIC's ranges to those of the next one
  HeapView heap;
  const LocalRange* local_ranges;  // [nic][range]: registered memory outside the heap
  std::uint64_t max_message_bytes;
  std::uint64_t watchdog_ns;  // 0: wait for ever
  const TeamView* teams;      // by Team::id
  std::uint32_t team_count;
  bool needs_cst;   // inbound NIC writes are not ordered by themselves
  Scope nic_scope;  // what Scope::nic means here: gpu or system
  CollectiveAlgorithm algorithm;
  std::uint8_t unused;
  PeWords* words;
  PeState* state;
};
static_assert(std::is_trivially_copyable_v<DeviceContext>);
// Two are compared as bytes.
static_assert(std::has_unique_object_representations_v<DeviceContext>);

}  // namespace gdakit
