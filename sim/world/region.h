// Regions: what lies where in the memory of a PE, how the NIC reaches it, and how a place in it is
// called when people read of it.
//
//   arena, one PE's share of it (offsets)             what the model calls it
//   0       ------------------------------
//           | send queue of queue 0      |   slots    "PE 0 queue 0 WQE 3 +16"
//           | its CQE, record, state     |            "PE 0 queue 0 record"
//           | symmetric heap             |   heap     "PE 0 heap +0x40"
//   size    ------------------------------
//
// Every PE has the same layout and sees it at the same virtual addresses, as separate processes
// would; the memory model knows all PEs' bytes under addresses of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device/machine.h"
#include "sim/weak/accesses.h"

namespace gdakit::sim {

enum class RegionKind : std::uint8_t {
  slots,     // WQEs of one send queue
  cqe,       // CQEs of one completion queue
  record,    // doorbell records, and the consumer indices of completion queues
  state,     // what the threads of a queue share: indices, ready bits
  heap,      // the symmetric heap
  signal,    // words of the heap that other PEs set to say that data is there
  fetch,     // where results of fetching operations land
  sink,      // read by DUMP, and written by whatever nobody wants
  proxy,     // producer indices for the CPU proxy
  command,   // commands for the CPU proxy
  report,    // stall and fault reports
  doorbell,  // a UAR page: no memory
  other,
};

enum class Owner : std::uint8_t { gpu, host };

// Whether what the NIC writes here keeps its place among its other writes.
enum class Inbound : std::uint8_t {
  by_kind,   // as the knobs say for this kind of region
  in_order,  // always: a key without relaxed ordering
  relaxed,   // never: a key with relaxed ordering
};

struct Region {
  std::uint64_t begin = 0;  // offset in the PE
  std::uint64_t end = 0;
  RegionKind kind = RegionKind::other;
  std::string name;  // "queue 1", "heap"; the words for the place in it are added
  Owner owner = Owner::gpu;
  Inbound inbound = Inbound::by_kind;
};

// What people call what lies in a region of this kind: "WQE", "doorbell record", "data".
const char* part_name(RegionKind kind);

class Layout {
 public:
  // Regions do not overlap. Bytes of no region are strays.
  void add(Region region);
  const Region* find(std::uint64_t offset) const;
  const std::vector<Region>& regions() const { return regions_; }  // ascending

  // "queue 1 WQE 3 +16"; "offset 0x..." outside of all regions.
  std::string name(std::uint64_t offset) const;
  // Whether all memory that a NIC reads or writes belongs to the GPU.
  bool all_of_gpu() const;

 private:
  std::vector<Region> regions_;
};

// Where the memory of the PEs lies: for kernels and NICs, and in the memory model. Behind a PE's
// own memory lie windows, through which its threads reach that of direct peers:
//
//   arena_base   + bytes_per_pe  + 2 * bytes_per_pe  ...
//   | own memory | that of PE 0  | that of PE 1      | ...
struct AddressSpace {
  std::uint64_t arena_base = 0;  // the virtual address of offset 0, the same in every PE
  std::uint64_t bytes_per_pe = 0;
  std::uint32_t pes = 0;

  // The address of offset 0 of a PE for the threads of others.
  std::uint64_t window(std::uint32_t pe) const { return arena_base + (1 + pe) * bytes_per_pe; }
  // Whether threads reach all of it, in their own memory or in one window.
  bool reaches(std::uint64_t virtual_address, std::uint64_t bytes) const {
    return virtual_address >= arena_base && virtual_address < window(pes) &&
           bytes <= bytes_per_pe - offset(virtual_address);
  }

  bool contains(std::uint64_t virtual_address, std::uint64_t bytes) const {
    return virtual_address >= arena_base && bytes <= bytes_per_pe &&
           virtual_address - arena_base <= bytes_per_pe - bytes;
  }
  std::uint64_t offset(std::uint64_t virtual_address) const {
    return (virtual_address - arena_base) % bytes_per_pe;
  }
  // What PE `pe` means by an address.
  weak::Address model(std::uint32_t pe, std::uint64_t virtual_address) const {
    const std::uint64_t window_number = (virtual_address - arena_base) / bytes_per_pe;
    const std::uint64_t owner = window_number == 0 ? pe : window_number - 1;
    return owner * bytes_per_pe + offset(virtual_address);
  }
  std::uint32_t pe_of(weak::Address address) const {
    return static_cast<std::uint32_t>(address / bytes_per_pe);
  }
  std::uint64_t offset_of(weak::Address address) const { return address % bytes_per_pe; }
};

// "PE 0 queue 1 WQE 3 +16".
std::string place_name(const AddressSpace& space, const Layout& layout, weak::Address address);

}  // namespace gdakit::sim
