// Backend: what a NIC does for a PE on the control path. The data path never comes here.
//
// A backend hands out the plain words that the device code reads (keys, doorbell registers, queue
// numbers) and takes the memory in which the queues lie. First connection and later additions go
// one way:
//
//   create_queue -> connection card -> exchanged by the bootstrap -> connect_queue
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/endian.h"
#include "core/base/options.h"
#include "core/base/progress_engine.h"
#include "core/base/result.h"
#include "core/format/address_vector.h"
#include "core/host/bootstrap/bootstrap.h"
#include "core/host/counters.h"
#include "core/host/memory/memory_provider.h"

namespace gdakit {

// What the device can do, as the device code needs to know it.
struct BackendLimits {
  std::uint64_t max_message_bytes = std::uint64_t{1} << 30;
  std::uint32_t max_queue_depth = 32768;  // WQEBBs
  bool needs_cst = false;       // NIC writes are not ordered by themselves: DUMP after reads
  bool device_rings = true;     // the device's threads can reach the doorbell registers
  bool device_queues = true;    // it takes queues that lie in the device's memory
  bool auto_direct = false;     // what GDAKIT_TRANSPORT=auto means with this NIC
  bool direct_peers = true;     // this PE's heap may be mapped by others, and it may map theirs
  bool on_bus = false;          // it reads memory over the bus, whichever GPU that is of
  bool has_dc = false;          // takes queues of QueueType::dc
  bool has_recordless = false;  // ... of which nobody keeps the doorbell record
  std::uint32_t nics = 1;       // over which the PE's queues are spread: as many on all PEs
};

// The keys of registered memory, big-endian as a WQE names them.
struct MemoryKeys {
  Be32 lkey{0};
  Be32 rkey{0};
};

enum class MemoryUse {
  symmetric,  // read, written and changed by this NIC and by peers
  local,      // read and written by this NIC alone
};

// The memory of many queues in one piece, on pages of its own.
struct QueueSlab {
  void* base = nullptr;
  std::uint64_t bytes = 0;
};

// Where the parts of a queue lie: in one block, in the order receives, slots, CQE, doorbell record,
// CQEs of receives. All of it stays until destroy_queue.
struct QueueMemory {
  void* slots = nullptr;            // depth * 64 bytes
  std::uint32_t depth = 0;          // WQEBBs, a power of two
  void* cqe = nullptr;              // 64 bytes, filled with format::kInvalidCqeByte
  void* doorbell_record = nullptr;  // format::DoorbellRecord, and 16 bytes behind it for the NIC
  // A receive queue, if its depth is not 0, of WQEs as device/channel_views.h has them, with a CQ
  // of its own, of as many CQEs, whose consumer index is never told.
  std::uint32_t receive_depth = 0;  // a power of two
  void* receive_slots = nullptr;    // receive_depth * kReceiveWqeBytes
  void* receive_cqes = nullptr;     // receive_depth * 64 bytes, filled likewise
  // How often a message is sent again to a peer that has no receive posted: 0 .. 6; 7 for ever.
  std::uint8_t rnr_retry = 7;
  QueueType type = QueueType::rc;
  bool recordless = false;  // who posts keeps no doorbell record
  std::uint32_t nic = 0;    // by which it goes, at both ends; below limits().nics
  QueueSlab slab = {};      // of which the block is a part; of no bytes: it is its own
};

// A queue as the backend names it to itself.
using QueueNumber = std::uint32_t;

struct QueueResources {
  QueueNumber number = 0;
  std::uint32_t qpn = 0;
  std::uint64_t* doorbell = nullptr;         // the register in the UAR page, as the host maps it
  std::uint64_t* device_doorbell = nullptr;  // as the device does, if its threads can reach it
  Bytes card;                                // what the peer's connect_queue needs
};

// A queue that an error has broken, on either side.
struct BrokenQueue {
  QueueNumber number = 0;
  std::string why;  // the first error, in words
};

// What a NIC counts. All else is not known, and stands in NicCount as 0.
enum class Counts : std::uint8_t {
  each_queue,  // everything
  together,    // what q_counters.h has, for all queues of a PE together
  nothing,
};

// What a queue has done since it was created.
struct QueueCount {
  QueueNumber number = 0;
  QueueCounters counters;
};

// What the NIC has done for this PE since its backend was opened, at one moment: all of it, and
// each queue that there is. What the queues' counts lack of the NIC's, queues did that are gone.
struct NicCount {
  NicCounters nic;
  std::vector<QueueCount> queues = {};
  Counts counts = Counts::each_queue;
};

// Every function may be called from any thread. A call that fails has changed nothing, but for
// removals (deregister_memory, destroy_queue) that end with timed_out: the object is gone, and NICs
// may still use its memory, which must stay.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual const char* name() const = 0;
  virtual BackendLimits limits() const = 0;
  virtual NicCounters counters() const = 0;
  virtual NicCount count() const { return {counters()}; }

  // One of the limits().nics NICs by itself. Each has memory keys (core/host/nic_keys.h) and a DC
  // target of its own; all else is asked of the whole, which hands it on.
  virtual Backend& nic(std::uint32_t index) {
    static_cast<void>(index);
    return *this;
  }

  virtual Result<MemoryKeys> register_memory(void* base, std::uint64_t bytes, MemoryUse use) = 0;
  virtual Result<void> deregister_memory(MemoryKeys keys) = 0;

  // Collective. Lets the other PEs of this host reach what has been committed to the heap since the
  // last call; a backend that has no use for that does nothing. Fails on all PEs if it fails on
  // one. Always the same range.
  virtual Result<void> share_heap(AddressRange& heap) {
    static_cast<void>(heap);
    return {};
  }

  virtual Result<QueueResources> create_queue(const QueueMemory& memory) = 0;
  // Connects with the queue whose card the peer made; both ends must connect before either posts.
  virtual Result<void> connect_queue(QueueNumber queue, const Bytes& card) = 0;
  virtual Result<void> destroy_queue(QueueNumber queue) = 0;

  // DC, where limits().has_dc says so. A queue of it has no card, and may post once it is made, to
  // the targets of all peers: each PE has one, which the first call makes. Its card goes to them.
  virtual Result<Bytes> dc_target() { return no_dc(); }
  // What WQEs say of the peer whose target's card that is.
  virtual Result<format::AvSegment> dc_address(const Bytes& card) {
    static_cast<void>(card);
    return no_dc();
  }

  // This PE ends: all removals from now on together wait no longer for peers than one does.
  virtual void begin_end() {}

  // The NIC's own view of a queue in a sentence: state, progress, the error that broke it.
  virtual std::string describe_queue(QueueNumber queue) const = 0;
  // Those that are broken. Asked many times a second.
  virtual std::vector<BrokenQueue> broken_queues() const = 0;
  // Those that were rung for more WQEs than their doorbell records said, by a program that does not
  // keep records. Asked many times a second.
  virtual std::vector<QueueNumber> recordless_queues() const { return {}; }

  // What threads of this process that wait for the NIC may do meanwhile; null: nothing. It lives as
  // long as the backend.
  virtual ProgressEngine* progress_engine() { return nullptr; }

  // Stops the NIC from acting, and lets it go on: for tests of what a stalled NIC looks like.
  virtual Result<void> pause() = 0;
  virtual Result<void> resume() = 0;

 private:
  Error no_dc() const {
    return Error(Code::unavailable, std::string("backend ") + name() + " has no queues of DC");
  }
};

// Opens the backends of the PEs of one job; all PEs call, each with its own bootstrap.
class BackendProvider {
 public:
  virtual ~BackendProvider() = default;

  // `memory` is where this PE's queues and heap lie; it outlives the backend.
  virtual Result<std::unique_ptr<Backend>> open(const Options& options, Bootstrap& bootstrap,
                                                MemoryProvider& memory) = 0;
};

}  // namespace gdakit
