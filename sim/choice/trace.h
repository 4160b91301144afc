// Trace: what happened in one execution, event by event, for people to read.
//
// Traces are taken when an execution is replayed; exploring itself does without.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gdakit::sim {

enum class EventKind : std::uint8_t {
  load,
  store,
  rmw,
  fence,
  barrier,     // a lane of sync_warp or sync_block goes on
  mmio_store,  // a doorbell leaves its thread
  doorbell,    // a doorbell arrives at the NIC, or is lost
  dma_read,
  dma_write,
  packet,  // sent or received
  wait,    // a thread waits: spin, or for others
  call,    // a thread calls gdakit; what it does there are events that name this one
  check,   // what the judge looked at in the end
  note,    // anything else, in words
};

inline constexpr std::int32_t kReadNothing = -2;  // the event is not a read
inline constexpr std::int32_t kReadInitial = -1;  // it read what was there at the beginning
inline constexpr std::int32_t kNoCall = -1;

struct Event {
  std::uint32_t lane = 0;  // who: an index into Trace::lanes
  EventKind kind = EventKind::note;
  std::string what = {};        // "load.acquire.system", "store.weak", "fence.release.gpu", a note
  std::string where = {};       // "PE 0 queue 1 WQE 3 +16", "flag"; "" where no memory is touched
  std::string order = {};       // the name in device/order.h; "" for none
  std::string file = {};        // as the compiler names it
  std::uint32_t line = 0;       // 0: not known
  std::uint32_t bytes = 0;      // 0: no value
  std::uint64_t value = 0;      // read or written (a read-modify-write: what it wrote)
  std::uint64_t old_value = 0;  // read-modify-writes: what it read
  std::int32_t reads_from = kReadNothing;   // index of the event that wrote the value
  std::uint32_t stale_by = 0;               // so many newer values could have been read
  std::vector<std::uint32_t> follows = {};  // release events whose order this event took up
  std::int32_t call = kNoCall;              // index of the call during which its thread did this
  std::string part = {};                    // what kind of thing the place is: "WQE", "CQE", "data"
  bool of_user = false;                     // of the user's own source or objects, not of gdakit's
};

// A lane of the picture.
struct Lane {
  std::string name;   // "PE 0 block 1 thread 3", "PE 1 NIC", "wire"
  std::string group;  // "PE 0": lanes of a group stand together
};

// What should have been ordered and was not: between two events of `events`.
struct MissingEdge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::string sentence;  // "this load may see the old WQE because ..."
};

struct Trace {
  std::string scenario;
  std::string verdict;  // what went wrong, a sentence or more
  std::string token;
  std::string replay;              // the command line that replays this run
  std::string deviations;          // "1 preemption, 2 stale reads": what the run needs to fail
  std::vector<std::string> knobs;  // "inbound order: none", only those that are not the default
  std::vector<Lane> lanes;
  std::vector<Event> events;
  std::vector<MissingEdge> missing;
};

}  // namespace gdakit::sim
