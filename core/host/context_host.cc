// What host threads need who drive channels themselves.
#include <algorithm>

#include "core/host/context.h"

namespace gdakit {
namespace {

// The heap's tables, which `memory` reaches. Without the room behind each NIC's chunks.
Result<void> copy_heap(MemoryProvider& memory, const HeapView& heap, std::size_t n_pes,
                       HostTables& tables) {
  const std::size_t count = heap.chunk_count;
  tables.chunks.resize(heap.nics * count);
  tables.rkeys.resize(heap.nics * count * n_pes);
  tables.remote_bases.resize(n_pes);
  Result<void> done =
      memory.copy(tables.remote_bases.data(), heap.remote_bases, n_pes * sizeof(std::uint64_t));
  for (std::size_t nic = 0; nic < heap.nics && done; ++nic) {
    const std::size_t from = nic * heap.chunk_room;
    const std::size_t to = nic * count;
    done = memory.copy(&tables.chunks[to], heap.chunks + from, count * sizeof(LocalRange));
    if (!done) break;
    done = memory.copy(&tables.rkeys[to * n_pes], heap.rkeys + from * n_pes,
                       count * n_pes * sizeof(Be32));
  }
  return done;
}

}  // namespace

Result<DeviceContext> Context::host_context(HostTables& tables) const {
  DeviceContext context = device_context();
  context.needs_cst = false;  // that is a GPU's need
  if (gpu_ == nullptr) return context;
  // The tables lie in GPU memory, and are copied when the heap has grown.
  HeapView& heap = context.heap;
  if (tables.chunks.size() != std::size_t{heap.nics} * heap.chunk_count) {
    const auto n = static_cast<std::size_t>(n_pes());
    if (auto copied = copy_heap(*memory_, heap, n, tables); !copied) {
      tables.chunks.clear();
      return copied.error();
    }
  }
  tables.local_ranges.clear();
  for (std::uint32_t nic = 0; nic < heap.nics; ++nic) {
    const std::vector<LocalRange> ranges = local_ranges_of(nic);
    tables.local_ranges.insert(tables.local_ranges.end(), ranges.begin(), ranges.end());
  }
  context.local_range_room = context.local_range_count;
  heap.chunk_room = heap.chunk_count;
  heap.chunks = tables.chunks.data();
  heap.rkeys = tables.rkeys.data();
  heap.remote_bases = tables.remote_bases.data();
  heap.direct_bases = nullptr;
  heap.direct_atomic_bases = nullptr;
  context.local_ranges = tables.local_ranges.data();
  return context;
}

bool Context::host_drives(const Channels& channels) const {
  if (gpu_ == nullptr) return true;
  const auto found = std::find_if(channel_sets_.begin(), channel_sets_.end(), [&](const auto& set) {
    return set->channels().first == channels.first;
  });
  return found != channel_sets_.end() && (*found)->end() == ChannelEnd::host;
}

}  // namespace gdakit
