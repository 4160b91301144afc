// The DMA port of a NIC in a simulated world: the engine's reads and writes become accesses of the
// memory model.
//
//   engine                       port                                    memory model
//   write(to, from, size)  -->   at once, granule by granule        -->  stores of a write path
//   read(to, from, size)   -->   pending: atoms in a chosen order   -->  loads, later, one by one
//   done(op)               <--   all atoms are there
//
// Writes may happen at once: readers choose themselves among new and old values, granule by
// granule, as far as nothing that they know forbids it.
//
// Write paths. What a reader may conclude from seeing a NIC's write depends on the path it took,
// and every path is an agent:
//
//   ordered   posted writes in order: each write releases everything that went this way before
//   relaxed   writes that may overtake (relaxed ordering; any write into GPU memory before Hopper):
//             they come after what the NIC knew, and release nothing. With relaxed ordering a later
//             ordered write still waits for them; before Hopper nothing does but a flush.
//   split     a second way into memory, for signals: neither way waits for the other
//   placed    (knob placement) what a packet brought, placed as it came: it comes after what the
//             sender knew when it sent that packet, and tells of nothing else that this NIC did.
//             A few agents take turns, so that packets that follow each other are apart. What the
//             ordered path does later covers them all
//
// A flush is a read of a sink region, which is what DUMP does: it comes back after the relaxed
// writes that went out before it, so what the ordered path writes afterwards covers these.
//
// Reads are made by the ordered agent. Reading what the NIC wrote itself on another path returns
// the newest value, for reads push writes; but only for the granules that are read. On hardware any
// read through the same path pushes all of them; a protocol must not live on that by accident.
//
// Reads of a word of 4 bytes in a record region acquire: that is how the engine reads doorbell
// records and consumer indices. All others are relaxed: what they return says nothing about other
// memory. NIC accesses are strong, so weak accesses of threads that nothing orders with them are
// races.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/softnic/dma/dma.h"
#include "sim/choice/choice.h"
#include "sim/weak/memory.h"
#include "sim/world/knobs.h"
#include "sim/world/region.h"

namespace gdakit::sim {

// Whose NIC it is, and where it stands.
struct PortPlace {
  std::uint32_t pe = 0;
  softnic::Endpoint endpoint = 0;  // the NIC's name on the wire
  weak::Place nic;                 // of the NIC's agents
  std::uint32_t owner_gpu = 0;     // the number of the PE's GPU
  std::uint32_t lane = 0;          // of the NIC in traces
  bool alone = true;               // no other NIC changes the PE's memory
};

// The scope at which a kernel must release for this NIC: gpu where the knobs say that this reaches
// the NIC and all of its memory belongs to the GPU, else system.
Scope nic_scope(const Knobs& knobs, const Layout& layout);
// Where the agents of a NIC stand: in its PE's GPU if gpu-scope releases reach it, else apart from
// everything. `own` is a number that no block and no GPU has.
weak::Place nic_place(const Knobs& knobs, const Layout& layout, std::uint32_t gpu,
                      std::uint32_t own);

class SimDma final : public softnic::DmaPort {
 public:
  // All references outlive the port. Adds the agents that the knobs call for to the memory.
  SimDma(weak::Memory& memory, Chooser& chooser, const Knobs& knobs, const AddressSpace& space,
         const Layout& layout, const PortPlace& place);

  // What the sender of the packet knew whose payload is written next, if the knob placement asks
  // for that; it outlives the port.
  void place_after(const weak::BarrierClock& known) { sender_knew_ = &known; }

  // The NIC's own agent: of its ordered path and of its reads.
  weak::AgentId agent() const { return ordered_; }
  // Whether an agent is one of this port's.
  bool owns(weak::AgentId agent) const {
    return agent == ordered_ || agent == relaxed_ || agent == split_ ||
           std::find(placers_.begin(), placers_.end(), agent) != placers_.end();
  }

  bool ordered() const override { return true; }
  softnic::DmaOp read(void* to, softnic::DmaAddress from, std::size_t size) override;
  softnic::DmaOp write(softnic::DmaAddress to, const void* from, std::size_t size) override;
  softnic::DmaOp copy(softnic::DmaAddress to, softnic::DmaAddress from, std::size_t size) override;
  softnic::DmaOp atomic(softnic::DmaAddress at, const softnic::AtomicRequest& request,
                        std::uint64_t* old) override;
  softnic::DmaOp write_cqe(softnic::DmaAddress to, const format::Cqe64& cqe) override;
  softnic::DmaOp fence() override;
  bool done(softnic::DmaOp op) override;
  void submit() override {}
  void poll() override {}

  // Whether something is left for advance().
  bool pending() const { return !atoms_.empty(); }
  // Performs one atom of one operation.
  void advance();
  // Whether reads return the newest values from now on.
  void read_newest(bool newest) { newest_ = newest; }
  // Performs all that is pending, in the order in which it was queued; reads return the newest
  // values.
  void finish();
  // Drops everything that is pending: nothing is written to the engine's memory any more.
  void abandon();
  // What advance() will touch, if that is certain.
  NextStep next() const;
  // Operations that were pending and are done.
  std::uint64_t completions() const { return completions_; }

 private:
  enum class Path : std::uint8_t { ordered, relaxed, split, placed };
  enum class Step : std::uint8_t { load, modify_load, modify_store };
  // One indivisible part of an operation.
  struct Atom {
    std::uint64_t op = 0;  // 0: a prefetch
    weak::Address at = 0;
    std::uint8_t* to = nullptr;  // null: the value is thrown away
    std::uint32_t size = 0;
    Step step = Step::load;
    bool acquire = false;
  };
  // An atomic that is a read and a write for everybody but this NIC.
  struct Modify {
    std::uint64_t op = 0;
    softnic::AtomicRequest request;
    std::uint64_t* old = nullptr;
    const Region* region = nullptr;
  };
  struct Flush {
    std::uint64_t op = 0;
    std::uint64_t writes = 0;  // of other paths, when the read went out
    weak::BarrierClock known;  // by the relaxed path then
  };
  // A granule that another path than the ordered one wrote, and that the ordered one does not
  // cover.
  struct Dirty {
    std::uint64_t granule = 0;
    std::uint64_t number = 0;  // of the write among those
    Path path = Path::relaxed;
  };

  // The longest naturally aligned access at `at` of at most `size` bytes.
  static std::uint32_t access_size(weak::Address at, std::size_t size);

  // dma_port.cc
  const Region* region_at(softnic::DmaAddress at, std::size_t size, const char* what);
  std::uint64_t queue_read(std::uint8_t* to, const Region& region, weak::Address from,
                           std::size_t size);
  void prefetch(const Region& region, std::uint64_t end);
  void begin_flush(std::uint64_t op);
  void end_flush(std::uint64_t op);
  static bool is_of_atomic(const Atom& atom) { return atom.step != Step::load; }
  void perform(std::size_t index);
  void load(const Atom& atom);
  void complete(std::uint64_t op);

  // dma_write.cc
  Path path_of(const Region& region, bool is_atomic) const;
  Path path_of_payload(const Region& region) const;
  weak::AgentId agent_of(Path path) const;
  void place(weak::Address to, const std::uint8_t* from, std::size_t size,
             const weak::Access& access);
  weak::Access write_access(const Region& region, Path path) const;
  void prepare(Path path, weak::Address to, std::size_t size);
  void store_bytes(weak::AgentId agent, weak::Address to, const std::uint8_t* from,
                   std::size_t size, const weak::Access& access);
  bool is_split(const Region& region) const;
  void modify(const Atom& atom);
  void finish_atomics();
  bool is_dirty(weak::Address at) const;
  void clean(std::uint64_t until);

  weak::Memory& memory_;
  Chooser& chooser_;
  const Knobs& knobs_;
  const AddressSpace& space_;
  const Layout& layout_;
  const PortPlace place_;
  weak::AgentId ordered_ = 0;
  weak::AgentId relaxed_ = 0;
  weak::AgentId split_ = 0;
  std::vector<weak::AgentId> placers_;  // by the knob placement
  std::size_t placer_ = 0;              // whose turn it is
  const weak::BarrierClock* sender_knew_ = nullptr;
  std::uint64_t last_op_ = 0;  // operations have even numbers, fences odd ones
  std::uint64_t completions_ = 0;
  bool newest_ = false;
  std::uint64_t other_writes_ = 0;  // granules written on other paths than the ordered one
  std::vector<Atom> atoms_;         // to be performed, in the order in which they were queued
  std::vector<Modify> modifies_;
  std::vector<Flush> flushes_;
  std::vector<Dirty> dirty_;
};

}  // namespace gdakit::sim
