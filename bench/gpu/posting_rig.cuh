// The place where posting is measured: send queues in GPU memory, doorbells in pinned host memory,
// one PE, and in place of the NIC a block of the kernel that completes what was announced.
#pragma once

#include <cstring>
#include <vector>

#include "bench/gpu/counting_machine.cuh"
#include "bench/gpu/cuda_parts.cuh"
#include "bench/gpu/posting_bounds.cuh"
#include "device/pe.h"

namespace gdakit::bench {

// Where each queue's parts begin in the rig's one piece of GPU memory; in bytes.
struct QueueParts {
  static constexpr std::uint32_t kFetchCount = 64;

  explicit QueueParts(std::uint32_t queue_depth) : depth(queue_depth) {}

  std::size_t slots() const { return 0; }
  std::size_t ready() const { return slots() + std::size_t{depth} * sizeof(format::Wqebb); }
  std::size_t record() const { return ready() + depth / kSlotsPerReadyWord * 8 + 64; }
  std::size_t cqe() const { return round_up(record() + 64, 128); }
  std::size_t state() const { return cqe() + 128; }
  std::size_t fetch_slots() const { return state() + 128; }
  std::size_t bytes() const { return round_up(fetch_slots() + kFetchCount * 16, 4096); }

  std::uint32_t depth;
};

class PostingRig {
 public:
  // `publication_word`: what the first ready word holds at the start.
  Result<void> create(std::uint32_t queues, std::uint32_t depth, Sharing sharing,
                      std::uint64_t publication_word);

  // An error if a thread has waited in vain since create(): what was measured then is no figure.
  Result<void> check_stalls() const;

  const DeviceContext& context() const { return context_; }
  std::uint64_t* heap() const { return heap_.get(); }
  static constexpr std::size_t kHeapWords = 132 * 1024;

 private:
  QueueView view(std::uint32_t number, const QueueParts& parts, Sharing sharing) const;

  DeviceMemory<char> memory_;
  DeviceMemory<std::uint64_t> heap_;
  DeviceMemory<QueueView> views_;
  DeviceMemory<LocalRange> chunk_;
  DeviceMemory<Be32> rkey_;
  DeviceMemory<std::uint64_t> remote_base_;
  DeviceMemory<PeState> state_;
  DeviceMemory<PeWords> words_;
  PinnedMemory<std::uint64_t> doorbells_;
  DeviceContext context_{};
};

inline QueueView PostingRig::view(std::uint32_t number, const QueueParts& parts,
                                  Sharing sharing) const {
  char* const base = memory_.get() + number * parts.bytes();
  const auto words = [base](std::size_t at) { return reinterpret_cast<std::uint64_t*>(base + at); };
  QueueView view{};
  view.slots = reinterpret_cast<format::Segment*>(base + parts.slots());
  view.depth = parts.depth;
  view.qpn_shifted = Be32{0x1234u << 8};
  view.record = reinterpret_cast<std::uint32_t*>(base + parts.record()) + 1;
  view.doorbell = doorbells_.get() + number * 32;
  view.cqe = words(parts.cqe());
  view.ready = words(parts.ready());
  view.state = reinterpret_cast<QueueState*>(base + parts.state());
  view.fetch_slots = reinterpret_cast<FetchSlot*>(base + parts.fetch_slots());
  view.fetch_count = QueueParts::kFetchCount;
  view.sink = heap_.get();
  view.handler = Handler::gpu;
  view.sharing = sharing;
  return view;
}

inline Result<void> PostingRig::create(std::uint32_t queues, std::uint32_t depth, Sharing sharing,
                                       std::uint64_t publication_word) {
  const QueueParts parts(depth);
  const auto made = first_error(
      memory_.allocate(queues * parts.bytes()), heap_.allocate(kHeapWords), views_.allocate(queues),
      chunk_.allocate(1), rkey_.allocate(1), remote_base_.allocate(1), state_.allocate(1),
      words_.allocate(1), doorbells_.allocate(queues * 32));
  if (!made) return made;
  const auto heap = reinterpret_cast<std::uint64_t>(heap_.get());
  const LocalRange chunk{heap, heap + kHeapWords * 8, Be32{1}};
  const auto put = [](void* to, const void* from, std::size_t bytes) {
    return check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  };
  const auto filled = first_error(put(chunk_.get(), &chunk, sizeof(chunk)),
                                  put(remote_base_.get(), &heap, sizeof(heap)));
  if (!filled) return filled;
  const std::vector<std::uint8_t> invalid(64, format::kInvalidCqeByte);
  for (std::uint32_t i = 0; i < queues; ++i) {
    const QueueView queue = view(i, parts, sharing);
    const auto begun = first_error(put(views_.get() + i, &queue, sizeof(queue)),
                                   put(queue.ready, &publication_word, sizeof(publication_word)),
                                   put(queue.cqe, invalid.data(), invalid.size()));
    if (!begun) return begun;
  }
  context_.n_pes = 1;
  context_.queues = views_.get();
  context_.queue_count = queues;
  context_.mapped_queues = spread_over(queues);
  context_.heap.base = chunk.begin;
  context_.heap.end = chunk.end;
  context_.heap.chunks = chunk_.get();
  context_.heap.chunk_count = context_.heap.chunk_room = context_.heap.nics = 1;
  context_.heap.rkeys = rkey_.get();
  context_.heap.remote_bases = remote_base_.get();
  context_.max_message_bytes = 1 << 30;
  context_.watchdog_ns = 2'000'000'000;
  context_.nic_scope = Scope::gpu;
  context_.state = state_.get();
  context_.words = words_.get();
  return {};
}

inline Result<void> PostingRig::check_stalls() const {
  PeState state{};
  const auto read =
      check(cudaMemcpy(&state, state_.get(), sizeof(state), cudaMemcpyDeviceToHost), "cudaMemcpy");
  if (!read) return read;
  if (!is_complete_report(state.stall.state)) return {};
  const StallReport& stall = state.stall;
  return Error(Code::timed_out,
               "a posting thread stalled: block " + std::to_string(stall.block) + ", thread " +
                   std::to_string(stall.thread) + " waited for slot " +
                   std::to_string(stall.target) + " with " + std::to_string(stall.completed) +
                   " completed; the block that stands in for the NIC may have found no room on the "
                   "GPU, beside kernels of so many registers");
}

// In place of the NIC: until `posters` blocks have finished, completes what each queue's record
// announces. By the threads of one block.
__device__ inline void complete_all(const DeviceContext& context, unsigned* finished,
                                    unsigned posters) {
  CudaMachine m(context);
  while (m.load(order::RelaxedGpu{}, finished) < posters) {
    for (std::uint32_t i = threadIdx.x; i < context.queue_count; i += blockDim.x) {
      const QueueView& queue = context.queues[i];
      const std::uint32_t record = m.load(order::RelaxedGpu{}, queue.record);
      const auto last = static_cast<std::uint16_t>(Be32::from_raw(record) - 1);
      const std::uint64_t tail = std::uint64_t{Be16{last}.raw()} << 32 |
                                 std::uint64_t{format::op_own(format::CqeOpcode::requester, false)}
                                     << 56;
      m.store(order::RelaxedGpu{}, &queue.cqe[kCqeTailWord], tail);
    }
  }
}

}  // namespace gdakit::bench
