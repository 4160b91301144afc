// A completion queue: where CQEs go, whether there is room for one, and whether its consumer wants
// to be told of one.
//
//   consumer            producer            consumer + entries
//      v                   v                   v
//      | not yet consumed  | free              |
//
//   arm word of the record --> take_arm --> armed --> a CQE it waits for --> fence --> one event
//
// The consumer index is read from the doorbell record only when the ring looks full. If it is full,
// the CQ has overrun: it takes no CQE any more.
//
// Resizing. A marker ends the old entries, and CQEs go to the new ones from the next index on. Its
// owner copies those that it has not consumed; each then stands one index further, as the marker
// has taken one:
//
//   old  | CQE 5 | CQE 6 | marker 7 |          new  | CQE 6' | CQE 7' | CQE 8 | ...
//
// Arming. The arm word alone says what the consumer waits for; a store to the arm register only
// makes the NIC look at the word at once. Memory is no FIFO, and the register may show another CQ's
// arm when the NIC looks: so whoever owns the CQ calls look_at_arm() now and then, too.
//   - arm_sn says how many events the consumer has read. If it has not read the last one, the arm
//     does nothing: that event makes the consumer look again.
//   - An event tells of all CQEs that are there, and no CQE is told of twice. So a consumer may arm
//     again before it looks at the CQEs, but must have looked at all of them before it waits.
//   - Moderation holds it back until so many CQEs are there that it tells of, or the first of them
//     is so old; without a period it waits for their number alone.
//   - A second arm before the event brings its own index. It widens solicited ones to any CQE, and
//     does not narrow any CQE to solicited ones. An arm that was overwritten before the NIC read it
//     never was.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/softnic/dma/dma.h"
#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/queues/linked_list.h"
#include "core/base/endian.h"
#include "core/format/cqe.h"

namespace gdakit::softnic {

class Cq {
 public:
  // What became of a CQE. `due`: it is written, and step() has an event; `not_yet`: try again;
  // `lost`: the CQ has overrun, of which step() tells.
  enum class Posted : std::uint8_t { written, due, not_yet, lost };

  struct News {
    bool completion = false;  // an armed CQ has a CQE, and its consumer can see it
    bool error = false;       // the CQ has overrun; told once
    bool lost = false;        // its users must fail: it has overrun, or lost since the last step
                              // a CQE of success, as of a queue pair that came later
    bool pending = false;     // DMA is under way: step again
  };

  // `full`: the old entries have none left for the marker. `too_small`: the new ones do not take
  // what is not consumed. Nothing has changed but after `moved`.
  enum class Resized : std::uint8_t { moved, not_yet, full, too_small };

  // The port outlives the CQ. short_cqes: as EngineOptions has it.
  Cq(CqNumber number, const CqAttributes& attributes, DmaPort& port, bool short_cqes);

  CqNumber number() const { return number_; }
  UarNumber uar() const { return attributes_.uar; }
  CqInfo info() const;
  // What it reads and writes.
  std::vector<MemoryRange> memory() const;
  // ... its entries alone.
  MemoryRange entries() const;
  bool is_collapsed() const { return attributes_.collapsed; }

  // Writes the CQE, once its owner bit, time and signature are filled in.
  Posted post(format::Cqe64& cqe, std::uint64_t now_ns);

  // The arm word may have changed: step() reads it.
  void look_at_arm() { arm_wanted_ = true; }

  News step(std::uint64_t now_ns);

  void moderate(const CqModeration& by);

  // Moves to other entries, which are attached to the port; the CQ is not collapsed. `not_yet`: its
  // record is being read; ask again. The marker is on its way when it has moved, and nothing writes
  // to the old entries behind that.
  Resized resize(const CqResize& to);

  std::uint32_t users = 0;  // queues that post here; whoever makes and destroys them counts
  Link<Cq> active;          // in the engine's lists
  Link<Cq> swept;

 private:
  bool done(DmaOp op) { return op.id == 0 || port_.done(op); }
  std::uint64_t capacity() const { return std::uint64_t{1} << attributes_.log_entries; }
  Posted make_room();
  std::optional<std::uint64_t> read_behind();
  bool owner() const { return ((producer_ >> attributes_.log_entries) & 1) != 0; }
  DmaAddress place() const;
  void write(const format::Cqe64& cqe);
  void move(const CqResize& to);
  void read_arm();
  void take_arm(std::uint32_t word);
  bool fire();
  bool is_due(std::uint64_t unseen);

  DmaPort& port_;
  const bool ordered_;
  const bool short_cqes_;
  const CqNumber number_;
  CqAttributes attributes_;  // with the entries that it has now
  std::uint32_t entry_bytes_;
  DmaAddress first_;  // the first entry's CQE

  CqStatus status_ = CqStatus::ok;
  bool succeeded_ = false;  // the CQE written last says that all went well
  bool reading_ = false;    // the consumer index
  bool resizing_ = false;   // resize() has said `not_yet`
  CqArmed armed_ = CqArmed::fired;
  std::uint64_t producer_ = 0;
  std::uint64_t consumer_ = 0;  // as last read from the doorbell record
  DmaOp last_;                  // the CQE written last
  // As the producer was behind ...
  std::uint64_t last_solicited_ = 0;  // ... the last CQE that is solicited or of an error
  std::uint64_t last_notified_ = 0;   // ... the last CQE that an event has told of
  std::uint64_t seen_ = 0;            // ... the last CQE that the arm had seen

  DmaOp read_;
  Be32 record_{0};
  // Who has moved with the CQ is behind the marker, and does not say so before the next poll: as
  // long as the record is what it was then.
  Be32 record_at_move_{0};
  std::uint32_t markers_ = 0;
  bool arm_wanted_ = false;
  bool arm_reading_ = false;
  bool holding_ = false;  // an event that moderation has not let through yet, since then
  std::uint64_t held_since_ns_ = 0;
  std::uint64_t now_ns_ = 0;  // as it was told last
  bool telling_ = false;      // of a CQE that must be visible first
  bool fencing_ = false;
  bool lost_ = false;
  bool error_told_ = false;
  std::uint8_t events_ = 0;  // modulo 4, as arm_sn counts them
  DmaOp arm_read_;
  Be32 arm_word_{0};
  std::uint32_t taken_arm_ = 0;  // while armed: by this word
  DmaOp fence_;
};

}  // namespace gdakit::softnic
