#include "backends/softnic/gpu/gpu_work.h"

#include <algorithm>
#include <cstring>

#include "core/base/bits.h"

namespace gdakit::softnic {
namespace {

constexpr std::size_t kFirstSlots = 64;

// Of large copies.
bool is_short_message(const WorkOp& op) { return op.tail != 0 && op.size <= kGpuChunkBytes; }

}  // namespace

void GpuWork::clear() {
  ops.clear();
  bytes.clear();
  atomics.clear();
  lists.clear();
  levels.clear();
  next_level = next_op = chains_ = 0;
  copied = 0;
  engine_only = wants_kernel = reading = prompt = complete = false;
  std::fill(slots_.begin(), slots_.end(), Slot{0, kNoList});
  state.store(State::filling, std::memory_order_relaxed);
}

GpuWork::Slot& GpuWork::find(std::uint64_t chain) {
  if (2 * (chains_ + 1) > slots_.size()) {
    const std::vector<Slot> old = std::move(slots_);
    slots_.assign(std::max(kFirstSlots, 2 * old.size()), Slot{0, kNoList});
    for (const Slot& slot : old) {
      if (slot.list != kNoList) find(slot.chain) = slot;
    }
  }
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = (chain * 0x9e3779b97f4a7c15u >> 32) & mask;
  while (slots_[at].list != kNoList && slots_[at].chain != chain) at = (at + 1) & mask;
  return slots_[at];
}

// Whether the operation may run with the others of the list, which is its chain's newest.
bool GpuWork::may_join(const WorkList& list, const WorkOp& op, bool bulk) {
  const bool list_is_bulk = list.level % 2 != 0;
  if (bulk != list_is_bulk) return false;
  if (!bulk) return true;
  if (list.run) return is_short_message(op);
  return !list.ended && !list.written.touches(op.to, op.size) &&
         !list.written.touches(op.from, op.size) && !list.read.touches(op.to, op.size);
}

// A new list of the slot's chain, at the next level up that is for operations of this kind.
void GpuWork::start_list(Slot& slot, const WorkOp& op, bool bulk) {
  const WorkList* const last = slot.list == kNoList ? nullptr : &lists[slot.list];
  WorkList list;
  const std::uint32_t above = last != nullptr ? last->level + 1 : 0;
  list.level = above % 2 == (bulk ? 1 : 0) ? above : above + 1;
  list.first = list.last = static_cast<std::uint32_t>(ops.size());
  list.run = bulk && is_short_message(op);
  if (bulk && last != nullptr) {  // nothing, where they are small
    list.before = last->before;
    list.before.take_in(last->written);
  }
  slot.list = static_cast<std::uint32_t>(lists.size());
  lists.push_back(list);
  if (list.level >= levels.size()) levels.resize(list.level + 1);
  ++levels[list.level].chains;
}

void GpuWork::add(std::uint64_t chain, WorkOp op, bool bulk) {
  if (prompt) chain = 0;
  const auto number = static_cast<std::uint32_t>(ops.size());
  Slot& slot = find(chain);
  if (slot.list == kNoList) {
    slot.chain = chain;
    ++chains_;
  }
  if (slot.list == kNoList || !may_join(lists[slot.list], op, bulk)) {
    start_list(slot, op, bulk);
  } else {
    ops[lists[slot.list].last].next = number;
    lists[slot.list].last = number;
  }
  WorkList& list = lists[slot.list];
  ++list.count;
  WorkLevel& level = levels[list.level];
  ++level.ops;
  if (bulk) {
    if (!list.run || list.count == 1) ++level.pieces;
    list.ended = op.tail != 0;
    op.early = list.ended && !list.before.touches(op.from, op.size);
    list.written.take_in(op.to, op.size);
    list.read.take_in(op.from, op.size);
  }
  op.list = slot.list;
  ops.push_back(op);
}

std::uint32_t GpuWork::stage(const void* from, std::uint64_t size) {
  const std::size_t at = round_up(bytes.size(), 8);
  bytes.resize(at + size);
  std::memcpy(&bytes[at], from, size);
  return static_cast<std::uint32_t>(at);
}

void GpuWork::add_word(std::uint64_t chain, DmaAddress to, std::uint64_t value,
                       std::uint64_t size) {
  engine_only |= !reached_by_gpu(to);
  WorkOp op;
  op.to = to;
  op.value = value;
  op.size = size;
  add(chain, op, false);
}

void GpuWork::add_bytes(std::uint64_t chain, DmaAddress to, const void* from, std::uint64_t size,
                        std::uint32_t tail) {
  engine_only |= !reached_by_gpu(to);
  WorkOp op;
  op.kind = WorkKind::bytes;
  op.to = to;
  op.size = size;
  op.tail = tail;
  op.extra = stage(from, size);
  add(chain, op, false);
}

void GpuWork::add_copy(std::uint64_t chain, DmaAddress to, DmaAddress from, std::uint64_t size,
                       bool across, std::uint32_t tail) {
  const bool within = is_gpu(to) && is_gpu(from);
  const bool large = size > kGpuSmallCopy;
  engine_only |= across || !reached_by_gpu(to) || !reached_by_gpu(from) || (!within && large);
  wants_kernel |= within;
  WorkOp op;
  op.kind = WorkKind::copy;
  op.across = across;
  op.to = to;
  op.from = from;
  op.size = size;
  op.tail = tail;
  add(chain, op, large);
}

void GpuWork::add_cqe(std::uint64_t chain, DmaAddress to, const format::Cqe64& cqe) {
  engine_only |= !reached_by_gpu(to);
  WorkOp op;
  op.kind = WorkKind::cqe;
  op.to = to;
  op.size = sizeof cqe;
  op.extra = stage(&cqe, sizeof cqe);
  add(chain, op, false);
}

void GpuWork::add_atomic(std::uint64_t chain, DmaAddress at, const AtomicRequest& request,
                         std::uint64_t* old) {
  engine_only |= !is_gpu(at);
  wants_kernel = true;
  WorkOp op;
  op.kind = WorkKind::atomic;
  op.to = at;
  op.size = request.size;
  op.extra = static_cast<std::uint32_t>(atomics.size());
  atomics.push_back({request, 0, old, nullptr, static_cast<std::uint32_t>(ops.size())});
  add(chain, op, false);
}

}  // namespace gdakit::softnic
