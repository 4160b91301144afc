// Work by helper kernels: launches level by level, and what becomes of launches that find no room.
#include <atomic>
#include <cstring>

#include "backends/softnic/gpu_order.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint32_t kMaxKernels = 8;
static_assert(kMaxKernels <= kGpuLaunchSlots);

std::uint64_t gpu_address(const void* pinned) { return reinterpret_cast<std::uintptr_t>(pinned); }

GpuOp base_op(const WorkOp& op) {
  GpuOp out;
  out.to = plain_address(op.to);
  out.size = static_cast<std::uint32_t>(op.size);
  out.on_host = is_pinned(op.to) ? 1 : 0;
  return out;
}

}  // namespace

bool GpuOrder::may_use_kernels(const GpuWork& work) const {
  const bool begun_as_copies = work.next_op != 0 || work.reading || work.copied != 0;
  if (!options_.kernels || work.engine_only || begun_as_copies || !blocked_.empty()) return false;
  const bool few = !work.wants_kernel && work.ops.size() <= options_.engine_ops;
  return !few || kernels_ != 0;
}

bool GpuOrder::launch_levels(GpuWork& work) {
  for (; work.next_level != work.levels; ++work.next_level) {
    if (kernels_ == kMaxKernels || flights_.full()) return false;
    // A chain may begin with a large copy: then the first level is empty.
    const bool launched = work.next_level % 2 == 0 ? launch_small(work, work.next_level)
                                                   : launch_bulk(work, work.next_level);
    if (!launched) return false;
  }
  return true;
}

GpuLaunch GpuOrder::next_launch() {
  const auto slot = static_cast<std::uint32_t>(launched_ % kGpuLaunchSlots);
  GpuLaunch launch;
  launch.control = controls_ + slot;
  launch.gate = device_->gate(slot);
  return launch;
}

bool GpuOrder::launch_small(GpuWork& work, std::uint32_t level) {
  std::size_t op_count = 0;
  std::size_t chain_count = 0;
  std::size_t byte_count = 0;
  for (const WorkList& list : work.lists) {
    if (list.level != level) continue;
    ++chain_count;
    op_count += list.count;
  }
  if (chain_count == 0) return true;
  // Staged bytes go along as they are; each atomic has room for its result.
  byte_count = round_up(work.bytes.size(), 64);
  const std::size_t atomics_at =
      op_count * sizeof(GpuOp) + round_up(chain_count * sizeof(GpuChain), 64) + byte_count;
  std::byte* const memory = ring_.take(atomics_at + work.atomics.size() * sizeof(GpuAtomic));
  if (memory == nullptr) return false;
  auto* const ops = reinterpret_cast<GpuOp*>(memory);
  auto* const chains = reinterpret_cast<GpuChain*>(ops + op_count);
  std::byte* const bytes = memory + atomics_at - byte_count;
  auto* const atomics = reinterpret_cast<GpuAtomic*>(memory + atomics_at);
  if (!work.bytes.empty()) std::memcpy(bytes, work.bytes.data(), work.bytes.size());

  GpuLaunch launch = next_launch();
  launch.ops = ops;
  launch.chains = chains;
  std::uint32_t at = 0;
  for (const WorkList& list : work.lists) {
    if (list.level != level) continue;
    chains[launch.work] = {at, list.count};
    if (launch.work < kGpuFewChains) launch.few_chains[launch.work] = chains[launch.work];
    ++launch.work;
    std::uint32_t number = list.first;
    for (std::uint32_t i = 0; i != list.count; ++i, number = work.ops[number].next) {
      const WorkOp& op = work.ops[number];
      GpuOp out = base_op(op);
      switch (op.kind) {
        case WorkKind::word: out.from = op.value; break;
        case WorkKind::copy:
          out.kind = GpuOpKind::bytes;
          out.from = plain_address(op.from);
          break;
        case WorkKind::bytes:
          out.kind = GpuOpKind::bytes;
          out.from = gpu_address(bytes + op.extra);
          break;
        case WorkKind::cqe:
          out.kind = GpuOpKind::cqe;
          out.from = gpu_address(bytes + op.extra);
          break;
        case WorkKind::atomic:
          out.kind = GpuOpKind::atomic;
          atomics[op.extra] = {work.atomics[op.extra].request, 0};
          work.atomics[op.extra].place = atomics + op.extra;
          out.from = gpu_address(atomics + op.extra);
          break;
      }
      ops[at++] = out;
    }
  }
  fly(work, level, launch);
  return true;
}

bool GpuOrder::launch_bulk(GpuWork& work, std::uint32_t level) {
  std::size_t count = 0;
  for (const WorkList& list : work.lists) count += list.level == level ? list.count : 0;
  if (count == 0) return true;
  std::byte* const memory = ring_.take(count * sizeof(GpuPiece));
  if (memory == nullptr) return false;
  auto* const pieces = reinterpret_cast<GpuPiece*>(memory);
  GpuLaunch launch = next_launch();
  launch.pieces = pieces;
  for (const WorkList& list : work.lists) {
    if (list.level != level) continue;
    std::uint32_t number = list.first;
    for (std::uint32_t i = 0; i != list.count; ++i, number = work.ops[number].next) {
      const WorkOp& op = work.ops[number];
      pieces[launch.piece_count++] = {plain_address(op.to), plain_address(op.from), op.size,
                                      launch.work};
      launch.work += divide_up(op.size, kGpuChunkBytes);
    }
  }
  fly(work, level, launch);
  return true;
}

void GpuOrder::fly(GpuWork& work, std::uint32_t level, const GpuLaunch& launch) {
  // Behind a launch that is stuck nothing would tell that the copies before it are complete.
  mark();
  *launch.control = {};
  std::atomic_thread_fence(std::memory_order_release);
  const bool bulk = launch.pieces != nullptr;
  if (bulk) {
    device_->launch_bulk(streams_[current_], launch);
  } else {
    device_->launch_batch(streams_[current_], launch);
  }
  if (flights_.empty()) front_since_ns_ = now_ns_;
  Flight& flight = flights_.push();
  flight.kernel = true;
  flight.slot = static_cast<std::uint32_t>(launched_++ % kGpuLaunchSlots);
  flight.level = level;
  flight.work = next_;
  flight.last = level + 1 == work.levels;
  flight.ring_mark = ring_.mark();
  ++kernels_;
  ++counts_.launches;
}

// True: the launch will do nothing. False: it has begun, and does its work.
bool GpuOrder::cancel(std::uint32_t slot) {
  GpuControl& control = controls_[slot];
  __atomic_store_n(&control.cancel, 1, __ATOMIC_SEQ_CST);
  // Orders   the cancelling
  // before   the look at `started`,
  // for      a kernel that says that it has started and then looks whether it is cancelled.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (__atomic_load_n(&control.started, __ATOMIC_SEQ_CST) == 0) return true;
  // It runs: the verdict is a few microseconds away.
  while (true) {
    const std::uint32_t verdict = __atomic_load_n(&control.verdict, __ATOMIC_ACQUIRE);
    if (verdict != 0) return verdict == kVerdictCancelled;
    if (device_->failed()) return true;
  }
}

void GpuOrder::look_for_stuck() {
  // Copies always get done; behind a kernel there are none.
  if (kernels_ == 0 || !flights_.front().kernel) return;
  const Flight& front = flights_.front();
  if (now_ns_ - front_since_ns_ < options_.stuck_ns) return;
  const bool started = __atomic_load_n(&controls_[front.slot].started, __ATOMIC_ACQUIRE) != 0;
  if (started && !front.told) return;
  // From the last to the first: no launch can begin once the one before it is known not to.
  std::vector<std::uint32_t> cancelled;
  while (!flights_.empty()) {
    const Flight& last = flights_[flights_.tail() - 1];
    if (last.told || !cancel(last.slot)) break;
    cancelled.push_back(last.slot);
    next_ = last.work;
    works_[next_]->next_level = last.level;
    flights_.truncate(flights_.tail() - 1);
    --kernels_;
    ++counts_.cancelled;
  }
  if (!flights_.empty()) {
    const Flight& first = flights_.front();
    const bool only_leaves = first.told && flights_.tail() - flights_.head() == 1;
    if (!only_leaves) {
      // The stream moves on; what was cancelled drains with it, and is launched anew.
      front_since_ns_ = now_ns_;
      return;
    }
    cancelled.push_back(first.slot);
    flights_.pop();
    --kernels_;
  }
  blocked_ = std::move(cancelled);
  current_ = 1 - current_;
}

// The other stream is free once its last launches have ended.
void GpuOrder::look_for_drained() {
  for (const std::uint32_t slot : blocked_) {
    if (__atomic_load_n(&controls_[slot].left, __ATOMIC_ACQUIRE) == 0) return;
  }
  blocked_.clear();
}

}  // namespace gdakit::softnic
