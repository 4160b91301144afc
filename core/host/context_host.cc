// What host threads need who drive channels themselves.
#include <algorithm>

#include "core/host/context.h"

namespace gdakit {

Result<DeviceContext> Context::host_context(HostTables& tables) const {
  DeviceContext context = device_context();
  context.needs_cst = false;  // that is a GPU's need
  if (gpu_ == nullptr) return context;
  // The tables lie in GPU memory, and are copied when the heap has grown.
  HeapView& heap = context.heap;
  const auto n = static_cast<std::size_t>(n_pes());
  if (tables.chunks.size() != heap.chunk_count) {
    tables.chunks.resize(heap.chunk_count);
    tables.rkeys.resize(heap.chunk_count * n);
    tables.remote_bases.resize(n);
    const auto copy = [this](auto& to, const void* from) {
      return memory_->copy(to.data(), from, to.size() * sizeof(to[0]));
    };
    Result<void> done = copy(tables.chunks, heap.chunks);
    if (done) done = copy(tables.rkeys, heap.rkeys);
    if (done) done = copy(tables.remote_bases, heap.remote_bases);
    if (!done) {
      tables.chunks.clear();
      return done.error();
    }
  }
  tables.local_ranges.clear();
  for (const LocalBuffer& buffer : local_buffers_) tables.local_ranges.push_back(buffer.range);
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
