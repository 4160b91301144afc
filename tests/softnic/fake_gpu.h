// A GPU double for the GPU DMA port: streams whose operations run one by one when the test says so,
// kernels that find room or do not. Its memory is ordinary memory of the test. What has no order
// within a copy is stored from the last word to the first. It may run on a thread of its own:
// step() and what the port calls are safe side by side.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/dma/host_dma.h"
#include "backends/softnic/gpu/gpu_device.h"
#include "backends/softnic/gpu/gpu_port.h"
#include "backends/softnic/gpu/two_row_copy.h"
#include "core/base/wait_clock.h"

namespace gdakit::softnic::test {

inline DmaAddress on_gpu(const void* pointer) {
  return {reinterpret_cast<std::uintptr_t>(pointer) | kGpuMemoryBit};
}
inline DmaAddress on_pinned(const void* pointer) {
  return {reinterpret_cast<std::uintptr_t>(pointer) | kPinnedMemoryBit};
}
inline DmaAddress on_host(const void* pointer) {
  return {reinterpret_cast<std::uintptr_t>(pointer)};
}

inline std::unique_ptr<GpuPort> make_port(const std::shared_ptr<GpuOrder>& order,
                                          const std::shared_ptr<std::atomic<bool>>& early) {
  GpuPortOptions options;
  options.order = order;
  options.early = early;
  options.read_ring_bytes = 1u << 18;
  return GpuPort::create(options);
}

class FakeGpu final : public GpuDevice {
 public:
  explicit FakeGpu(std::uint32_t seed = 1) : random_(seed), gates_(kGpuLaunchSlots) {}

  // Whether CUDA takes launches, or lets them wait.
  std::atomic<bool> taken = true;
  // Whether kernels find room on the GPU.
  std::atomic<bool> room = true;
  // Whether a kernel's last blocks do: without it, its work gets done but its stream stands still.
  std::atomic<bool> room_to_leave = true;
  // Whether kernels take a step each to begin, to finish and to leave.
  std::atomic<bool> slow = false;
  std::atomic<bool> broken = false;
  std::uint64_t kernels = 0;  // that did their work
  // Called after each store, if set.
  std::function<void()> look;
  // Copies of words that write_words would have done (GpuDevice::copy_in).
  std::atomic<std::uint64_t> slow_copies = 0;

  // Performs the oldest copy or the oldest kernel of one stream; false if none could be.
  bool step() {
    const std::lock_guard lock(mutex_);
    const std::size_t first = random_() % queues_.size();
    for (std::size_t i = 0; i != queues_.size(); ++i) {
      Queue& queue = queues_[(first + i) % queues_.size()];
      if (queue.operations.empty()) continue;
      const Progress progress = queue.operations.front()();
      if (progress == Progress::none) continue;
      if (progress == Progress::finished) {
        queue.operations.pop_front();
        ++queue.finished;
      }
      return true;
    }
    return false;
  }
  void finish() {
    while (step()) {
    }
  }
  std::size_t pending() const {
    std::size_t count = 0;
    for (const Queue& queue : queues_) count += queue.operations.size();
    return count;
  }

  void* pinned(std::size_t bytes) override {
    blocks_.push_back(std::make_unique<Line[]>(bytes / sizeof(Line) + 1));
    return blocks_.back().get();
  }
  GpuStream make_stream(StreamFor purpose) override {
    purposes_.push_back(purpose);
    queues_.resize(queues_.size() + 2);
    return static_cast<GpuStream>(queues_.size() / 2 - 1);
  }
  GpuGate* gate(std::uint32_t slot) override { return &gates_[slot]; }

  void copy_in(GpuStream stream, std::uint64_t to, const void* from, std::size_t size) override {
    if (size >= 4 && two_rows(to, size).row_bytes == 0) ++slow_copies;
    move_rows(stream, to, reinterpret_cast<std::uintptr_t>(from), size);
  }
  void copy_out(GpuStream stream, void* to, std::uint64_t from, std::size_t size) override {
    move(stream, reinterpret_cast<std::uintptr_t>(to), from, size);
  }
  void copy_across(GpuStream stream, std::uint64_t to, std::uint64_t from,
                   std::size_t size) override {
    move_rows(stream, to, from, size);
  }
  void write_words(GpuStream stream, const GpuWord* words, std::size_t count) override {
    for (const GpuWord& word : std::vector<GpuWord>(words, words + count)) {
      issue(copies_of(stream), [this, word] {
        store(word.to, &word.value, word.size);
        return Progress::finished;
      });
    }
  }
  void launch_batch(GpuStream stream, const GpuLaunch& launch) override {
    launch_behind_copies(stream, launch, [this, launch] { run_chains(launch); });
  }
  void launch_bulk(GpuStream stream, const GpuLaunch& launch) override {
    launch_behind_copies(stream, launch, [this, launch] { run_pieces(launch); });
  }

  bool owns(std::uint64_t) override { return true; }
  bool failed() const override { return broken; }
  std::string failure() const override { return "broken by the test"; }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  enum class Progress { none, some, finished };
  enum class Phase { waiting, begun, finished };
  // A stream has one for copies and words and one for kernels.
  struct Queue {
    std::deque<std::function<Progress()>> operations;
    std::uint64_t issued = 0;
    std::uint64_t finished = 0;
  };

  static std::size_t copies_of(GpuStream stream) { return std::size_t{2} * stream; }
  void issue(std::size_t queue, std::function<Progress()> operation) {
    const std::lock_guard lock(mutex_);
    if (broken) return;
    queues_[queue].operations.push_back(std::move(operation));
    ++queues_[queue].issued;
  }
  void move(GpuStream stream, std::uint64_t to, std::uint64_t from, std::size_t size) {
    issue(copies_of(stream), [this, to, from, size] {
      store_backwards(to, from, size);
      return Progress::finished;
    });
  }
  void move_rows(GpuStream stream, std::uint64_t to, std::uint64_t from, std::size_t size) {
    const TwoRows rows = size < kLargeCopy ? two_rows(to, size) : TwoRows{};
    if (rows.row_bytes == 0) return move(stream, to, from, size);
    issue(copies_of(stream), [=, this] {
      store_backwards(to, from, 2 * rows.row_bytes);
      const std::size_t at = size - 2 * rows.end_row_bytes;
      store_backwards(to + at, from + at, 2 * rows.end_row_bytes);
      return Progress::finished;
    });
  }
  // A word, by one store.
  void store(std::uint64_t to, const void* from, std::size_t size) {
    host_.write({to}, from, size);
    if (look) look();
  }
  void store_backwards(std::uint64_t to, std::uint64_t from, std::size_t size) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(from);
    while (size != 0) {
      std::size_t word = 8;
      while (word > size || (to + size) % word != 0) word /= 2;
      size -= word;
      store(to + size, bytes + size, word);
    }
  }
  template <class Body>
  void launch_behind_copies(GpuStream stream, const GpuLaunch& launch, Body body) {
    EXPECT_EQ(purposes_[stream], StreamFor::copies_and_kernels);
    const std::size_t copies = copies_of(stream);
    if (taken) launch.control->issued_ns = steady_ns();
    issue(copies + 1, [=, this, before = issued_to(copies), phase = Phase::waiting]() mutable {
      return queues_[copies].finished < before ? Progress::none : run(launch, phase, body);
    });
  }
  std::uint64_t issued_to(std::size_t queue) {
    const std::lock_guard lock(mutex_);
    return queues_[queue].issued;
  }

  template <class Body>
  Progress run(const GpuLaunch& launch, Phase& phase, Body body) {
    GpuControl& control = *launch.control;
    if (phase == Phase::waiting) {
      if (!room) return Progress::none;
      __atomic_store_n(&control.started, 1, __ATOMIC_SEQ_CST);
      const bool cancelled = __atomic_load_n(&control.cancel, __ATOMIC_SEQ_CST) != 0;
      __atomic_store_n(&control.verdict, cancelled ? kVerdictCancelled : kVerdictGo,
                       __ATOMIC_RELEASE);
      phase = cancelled ? Phase::finished : Phase::begun;
      if (slow) return Progress::some;
    }
    if (phase == Phase::begun) {
      body();
      ++kernels;
      __atomic_store_n(&control.finished, 1, __ATOMIC_RELEASE);
      phase = Phase::finished;
      if (slow) return Progress::some;
    }
    if (!room_to_leave) return Progress::none;
    __atomic_store_n(&control.left, 1, __ATOMIC_RELEASE);
    return Progress::finished;
  }

  template <class Copy>
  void store_body(const Copy& copy) {
    store_backwards(copy.to, copy.from, copy.size - copy.tail);
  }
  template <class Copy>
  void store_last_word(const Copy& copy) {
    const std::uint64_t at = copy.size - copy.tail;
    store_backwards(copy.to + at, copy.from + at, copy.tail);
  }
  void run_chains(const GpuLaunch& launch) {
    std::vector<GpuChain> chains(launch.chains, launch.chains + launch.work);
    std::shuffle(chains.begin(), chains.end(), random_);
    for (const GpuChain& chain : chains) {
      for (std::uint32_t i = 0; i != chain.count; ++i) run_op(launch.ops[chain.first + i]);
    }
  }
  // Level by level, in any order within one.
  void run_pieces(const GpuLaunch& launch) {
    std::vector<GpuPiece> pieces(launch.pieces, launch.pieces + launch.piece_count);
    std::shuffle(pieces.begin(), pieces.end(), random_);
    std::ranges::stable_sort(pieces, {}, &GpuPiece::after);
    for (std::size_t i = 0; i != pieces.size(); ++i) {
      const GpuPiece& piece = pieces[i];
      if (piece.from != 0) {
        store_body(piece);
      } else {
        run_messages(launch.messages + piece.to, piece.size);
      }
      if (i + 1 != pieces.size() && pieces[i + 1].after == piece.after) continue;
      for (std::uint32_t at = 0; at != piece.copy_count; ++at) {
        store_last_word(launch.pieces[piece.first_copy + at]);
      }
    }
  }
  void run_messages(const GpuMessage* messages, std::uint64_t count) {
    for (std::uint64_t i = 0; i != count; ++i) {
      store_body(messages[i]);
      store_last_word(messages[i]);
    }
  }
  void run_op(const GpuOp& op) {
    switch (op.kind) {
      case GpuOpKind::word: store(op.to, &op.from, op.size); break;
      case GpuOpKind::bytes:
        store_backwards(op.to, op.from, op.size - op.tail);
        store_backwards(op.to + op.size - op.tail, op.from + op.size - op.tail, op.tail);
        break;
      case GpuOpKind::cqe: {
        format::Cqe64 cqe;
        std::memcpy(&cqe, reinterpret_cast<const void*>(op.from), sizeof cqe);
        host_.write_cqe({op.to}, cqe);
        break;
      }
      case GpuOpKind::atomic: {
        auto* const atomic = reinterpret_cast<GpuAtomic*>(op.from);
        host_.atomic({op.to}, atomic->request, &atomic->old);
        break;
      }
    }
  }

  std::mutex mutex_;
  std::mt19937 random_;
  HostDma host_;
  std::vector<Queue> queues_;
  std::vector<StreamFor> purposes_;
  std::vector<GpuGate> gates_;
  std::vector<std::unique_ptr<Line[]>> blocks_;
};

}  // namespace gdakit::softnic::test
