#include "backends/softnic/memory/heap_sharing.h"

#include <string>
#include <utility>
#include <vector>

#include "backends/softnic/dma/dma_address.h"
#include "core/base/log.h"
#include "core/host/bootstrap/same_on_all_pes.h"

namespace gdakit::softnic {

HeapSharing::HeapSharing(Bootstrap& bootstrap, MemoryProvider& memory,
                         std::unique_ptr<MemorySharing> heaps)
    : bootstrap_(bootstrap),
      memory_(memory),
      heaps_(std::move(heaps)),
      table_(std::make_shared<PeerMemory>(static_cast<std::uint32_t>(bootstrap.size()),
                                          static_cast<Endpoint>(bootstrap.rank()))) {}

Result<std::unique_ptr<HeapSharing>> HeapSharing::open(const Options& options, Bootstrap& bootstrap,
                                                       MemoryProvider& memory,
                                                       std::vector<bool> group) {
  auto same = agree_on(bootstrap, "GDAKIT_PAYLOAD", options.payload, payload_path_name);
  if (!same) return same.error();
  if (options.payload == PayloadPath::host) return std::unique_ptr<HeapSharing>();
  auto heaps = MemorySharing::open(bootstrap, memory, options.timeout, std::move(group));
  if (!heaps) {
    if (bootstrap.rank() == 0) {
      Log(options.log, 0)
          .warn("payload between PEs goes through host memory: " + heaps.error().message());
    }
    return std::unique_ptr<HeapSharing>();
  }
  return std::unique_ptr<HeapSharing>(new HeapSharing(bootstrap, memory, std::move(*heaps)));
}

Result<void> HeapSharing::share(AddressRange& heap) {
  const auto mapped = [this] {
    for (int pe = 0; pe < bootstrap_.size(); ++pe) {
      if (const AddressRange* range = heaps_->peer(pe)) show(pe, *range);
    }
  };
  Result<void> shared = heaps_->share(heap, mapped);
  if (shared) show(bootstrap_.rank(), heap);
  return shared;
}

void HeapSharing::show(int pe, const AddressRange& range) {
  table_->set(static_cast<Endpoint>(pe), dma_address(memory_, range.base()), range.committed());
}

}  // namespace gdakit::softnic
