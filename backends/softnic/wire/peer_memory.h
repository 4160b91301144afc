// The heaps of the NICs of one host as one process maps them: what a wire between processes needs
// to carry payload by reference.
//
//   sender    a fragment in its own heap          -> offset in that heap
//   wire      {offset, size}
//   receiver  offset, in the sender's heap        -> the same bytes at an address of its own
//
// Ranges only grow, and may do so while a wire reads them. An endpoint's own range is what all the
// other endpoints have mapped; so its owner grows it after they have grown theirs.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/wire/packet.h"

namespace gdakit::softnic {

class PeerMemory {
 public:
  PeerMemory(std::uint32_t endpoints, Endpoint self) : ranges_(endpoints), self_(self) {}

  // The first `bytes` bytes of the endpoint's heap are reached here from `base` on. `base` is the
  // same each time, `bytes` never less than before. One thread at a time.
  void set(Endpoint endpoint, DmaAddress base, std::uint64_t bytes);

  // The offset of the fragment in this endpoint's own heap; nothing if it does not lie in there.
  std::optional<std::uint64_t> offset_of(const Fragment& fragment) const;

  // Where [offset, offset + size) of the endpoint's heap is reached here; nothing if it is not.
  std::optional<DmaAddress> at(Endpoint endpoint, std::uint64_t offset, std::uint64_t size) const;

 private:
  struct Range {
    DmaAddress base;  // written before `bytes` is above 0 for the first time
    std::atomic<std::uint64_t> bytes{0};
  };

  std::vector<Range> ranges_;  // by endpoint
  const Endpoint self_;
};

}  // namespace gdakit::softnic
