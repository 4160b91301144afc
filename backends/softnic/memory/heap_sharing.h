// Payload straight from heap to heap between the processes of a host: maps the heaps of the other
// PEs, and tells the wire of them.
#pragma once

#include <memory>
#include <vector>

#include "backends/softnic/wire/peer_memory.h"
#include "core/base/options.h"
#include "core/base/result.h"
#include "core/host/bootstrap/bootstrap.h"
#include "core/host/memory/memory_provider.h"
#include "core/host/sharing/memory_sharing.h"

namespace gdakit::softnic {

class HeapSharing {
 public:
  // Collective. Null where payload goes through host memory: because the options say so, or because
  // a PE's memory cannot be shared, which PE 0 says in its log. Errors: the PEs' options differ;
  // the bootstrap's own. `bootstrap` and `memory` outlive it. `group`: as MemorySharing::open.
  static Result<std::unique_ptr<HeapSharing>> open(const Options& options, Bootstrap& bootstrap,
                                                   MemoryProvider& memory,
                                                   std::vector<bool> group = {});

  // What the wire of this PE's NIC is to know. It outlives no mapping: wire and NIC end before
  // this.
  std::shared_ptr<const PeerMemory> memory() const { return table_; }

  // Collective, after each growth of the heap. From its return on this PE's NIC may name the heap's
  // memory to the others. Fails on all PEs if it fails on one.
  Result<void> share(AddressRange& heap);

 private:
  HeapSharing(Bootstrap& bootstrap, MemoryProvider& memory, std::unique_ptr<MemorySharing> heaps);
  void show(int pe, const AddressRange& range);

  Bootstrap& bootstrap_;
  MemoryProvider& memory_;
  std::unique_ptr<MemorySharing> heaps_;
  std::shared_ptr<PeerMemory> table_;
};

}  // namespace gdakit::softnic
