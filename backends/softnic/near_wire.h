// The wires in shared memory of a job, one for the processes of each host.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "backends/softnic/memory/heap_sharing.h"
#include "backends/softnic/wire/wire.h"
#include "core/base/options.h"
#include "core/base/result.h"
#include "core/host/bootstrap/bootstrap.h"
#include "core/host/memory/memory_provider.h"

namespace gdakit::softnic {

// Which PEs are near each other: by rank, the lowest rank of those that are near it.
class Hosts {
 public:
  explicit Hosts(std::vector<std::size_t> firsts) : firsts_(std::move(firsts)) {}
  // All PEs of a job of so many are near each other.
  static Hosts one(int pes);

  std::size_t size() const { return firsts_.size(); }
  std::size_t first(std::size_t pe) const { return firsts_[pe]; }
  bool are_near(std::size_t pe, std::size_t other) const { return firsts_[pe] == firsts_[other]; }
  // Whether all PEs are near each other, or none near another.
  bool are_one() const;
  bool are_apart() const;
  // By rank: who is near the PE, itself included.
  std::vector<bool> near(std::size_t pe) const;
  // The ranks of those, upwards.
  std::vector<Endpoint> members(std::size_t pe) const;

  bool operator==(const Hosts&) const = default;

 private:
  std::vector<std::size_t> firsts_;
};

// By what the processes say of themselves. Collective.
Result<Hosts> find_hosts(Bootstrap& bootstrap);

struct NearLink {
  std::unique_ptr<Wire> wire;            // null where a PE of this host has none
  std::unique_ptr<HeapSharing> sharing;  // null where payload does not go from heap to heap
  Hosts hosts;                           // of PEs that have wires: the others are near nobody
  Result<> attached;                     // why this PE has no wire
};

// This PE's wire to itself and those that are near it, and the hosts as they are left where not all
// of a host could open one: the same on all PEs. Collective; before the PEs have met once more,
// nobody may send. Errors: those of HeapSharing::open and of the bootstrap.
Result<NearLink> open_near_wire(const Options& options, Bootstrap& bootstrap,
                                MemoryProvider& memory, const Hosts& hosts);

}  // namespace gdakit::softnic
