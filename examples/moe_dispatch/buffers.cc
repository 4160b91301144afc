#include "examples/moe_dispatch/buffers.h"

#include <type_traits>

namespace moe {

gdakit::Result<Buffers> allocate_buffers(gdakit::Context& context, const Shape& shape) {
  Buffers buffers{};
  buffers.shape = shape;
  gdakit::Result<void> done;
  const auto allocate = [&](auto*& place, std::uint64_t count) {
    if (!done) return;  // the first error is the one to report
    auto memory = context.allocate<std::remove_reference_t<decltype(*place)>>(count);
    if (memory) {
      place = *memory;
    } else {
      done = memory.error();
    }
  };
  const std::uint64_t batch = shape.batch;
  const std::uint64_t experts = shape.experts;
  allocate(buffers.send, batch * buffers.message_stride());
  allocate(buffers.received, experts * batch * buffers.message_stride());
  allocate(buffers.received_count, experts);
  allocate(buffers.combined, batch * shape.top_k * shape.hidden);
  allocate(buffers.finished, experts);
  allocate(buffers.tokens, batch);
  allocate(buffers.output, batch * shape.hidden);
  allocate(buffers.slots_taken, experts);
  allocate(buffers.blocks_done, kSendingKernels);
  if (!done) return done.error();
  return buffers;
}

}  // namespace moe
