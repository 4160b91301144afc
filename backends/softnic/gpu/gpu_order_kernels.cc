// Work by helper kernels: which works go together, and their launches, level by level.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>

#include "backends/softnic/gpu/gpu_order.h"
#include "backends/softnic/gpu/two_row_copy.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint32_t kMaxKernels = 8;
static_assert(kMaxKernels <= kGpuLaunchSlots);
// Of works that go together; one alone may have more.
constexpr std::size_t kMaxGroupOps = 8192;
constexpr std::size_t kMaxGroupBytes = 512 * 1024;

std::uint64_t gpu_address(const void* pinned) { return reinterpret_cast<std::uintptr_t>(pinned); }

// The copy engine is slow at a copy of one word (copy_context.h), so that it cannot order two
// either. It writes words of 4 and 8 bytes as such.
bool no_good_for_engine(const WorkOp& op) {
  const bool copies = op.kind == WorkKind::bytes || op.kind == WorkKind::copy ||
                      (op.kind == WorkKind::word && op.size < 4);
  const bool two_to_order = op.tail != 0 && op.tail < 4 && op.size == 2 * op.tail;
  return copies && (two_to_order || two_rows(plain_address(op.to), op.size).row_bytes == 0);
}

template <class Act>
void for_ops(const GpuWork& work, const WorkList& list, const Act& act) {
  std::uint32_t number = list.first;
  for (std::uint32_t i = 0; i != list.count; ++i, number = work.ops[number].next) {
    act(work.ops[number]);
  }
}

}  // namespace

bool GpuOrder::kernels_can(const GpuWork& work) const {
  const bool begun_as_copies = work.next_op != 0 || work.reading || work.copied != 0;
  return options_.kernels && !work.engine_only && !begun_as_copies && blocked_.empty();
}

bool GpuOrder::few(const GpuWork& work) const {
  return !work.wants_kernel && work.ops.size() <= options_.engine_ops &&
         std::ranges::none_of(work.ops, no_good_for_engine);
}

// Where the works end that may go together, side by side. They are of different ports, and nobody
// has been told that one of them is done when a later one is queued: so none can rely on another.
std::uint64_t GpuOrder::end_of_group() {
  std::uint64_t end = next_;
  while (end != works_.tail()) {
    const GpuWork& work = *works_[end];
    if (end != next_ && !fits_group(work, end)) break;
    ++end;
    const bool told = work.prompt || work.state.load(std::memory_order_relaxed) ==
                                         GpuWork::State::launched;  // cancelled since
    if (told) break;
  }
  return end;
}

bool GpuOrder::fits_group(const GpuWork& work, std::uint64_t end) {
  if (!kernels_can(work) || work.next_level != works_[next_]->next_level) return false;
  std::size_t ops = work.ops.size();
  std::size_t bytes = work.bytes.size();
  for (std::uint64_t number = next_; number != end; ++number) {
    const GpuWork& other = *works_[number];
    if (other.owner == work.owner) return false;
    ops += other.ops.size();
    bytes += other.bytes.size();
  }
  return ops <= kMaxGroupOps && bytes <= kMaxGroupBytes;
}

WorkLevel GpuOrder::level_of(std::uint64_t end, std::uint32_t level) {
  WorkLevel all;
  for (std::uint64_t number = next_; number != end; ++number) {
    const WorkLevel one = works_[number]->level(level);
    all.chains += one.chains;
    all.ops += one.ops;
    all.pieces += one.pieces;
  }
  return all;
}

bool GpuOrder::launch_levels(std::uint64_t end) {
  std::uint32_t level = works_[next_]->next_level;
  const auto is_launched = [&] {
    std::uint64_t number = next_;
    while (number != end && works_[number]->launched()) ++number;
    return number == end;
  };
  while (!is_launched()) {
    if (kernels_ == kMaxKernels || flights_.full()) return false;
    const bool small = level % 2 == 0;
    const std::uint32_t up_to = small ? level + 1 : end_of_bulk(end, level);
    if (!(small ? launch_small(end, level) : launch_bulk(end, level, up_to))) return false;
    level = up_to;
    for (std::uint64_t number = next_; number != end; ++number) {
      GpuWork& work = *works_[number];
      work.next_level = std::min(level, static_cast<std::uint32_t>(work.levels.size()));
    }
  }
  return true;
}

// One launch does several levels of large copies if there is nothing small between them, and few in
// all.
std::uint32_t GpuOrder::end_of_bulk(std::uint64_t end, std::uint32_t level) {
  std::uint32_t pieces = level_of(end, level).pieces;
  std::uint32_t up_to = level + 1;
  while (level_of(end, up_to).ops == 0) {
    const std::uint32_t more = level_of(end, up_to + 1).pieces;
    if (more == 0 || pieces + more > kGpuFewPieces) break;
    pieces += more;
    up_to += 2;
  }
  return up_to;
}

GpuLaunch GpuOrder::next_launch() {
  const auto slot = static_cast<std::uint32_t>(launched_ % kGpuLaunchSlots);
  GpuLaunch launch;
  launch.control = controls_ + slot;
  launch.gate = device_->gate(slot);
  return launch;
}

// A launch of small operations as it lies in pinned memory.
struct GpuOrder::Small {
  std::uint32_t level = 0;
  GpuOp* ops = nullptr;
  GpuChain* chains = nullptr;
  std::byte* bytes = nullptr;    // what is staged, for one work after the other
  GpuAtomic* atomics = nullptr;  // likewise; each has room for its result
  std::uint32_t op_count = 0;    // so far
};

bool GpuOrder::launch_small(std::uint64_t end, std::uint32_t level) {
  const WorkLevel size = level_of(end, level);
  // A chain may begin with a large copy: then the first level is empty.
  if (size.ops == 0) return true;
  std::size_t byte_count = 0;
  std::size_t atomic_count = 0;
  for (std::uint64_t number = next_; number != end; ++number) {
    if (works_[number]->level(level).ops == 0) continue;
    byte_count += round_up(works_[number]->bytes.size(), 64);
    atomic_count += works_[number]->atomics.size();
  }
  const std::size_t chains_at = size.ops * sizeof(GpuOp);
  const std::size_t bytes_at = chains_at + round_up(size.chains * sizeof(GpuChain), 64);
  const std::size_t atomics_at = bytes_at + byte_count;
  std::byte* const memory = ring_.take(atomics_at + atomic_count * sizeof(GpuAtomic));
  if (memory == nullptr) return false;
  Small small;
  small.level = level;
  small.ops = reinterpret_cast<GpuOp*>(memory);
  small.chains = reinterpret_cast<GpuChain*>(memory + chains_at);
  small.bytes = memory + bytes_at;
  small.atomics = reinterpret_cast<GpuAtomic*>(memory + atomics_at);
  GpuLaunch launch = next_launch();
  launch.ops = small.ops;
  launch.chains = small.chains;
  for (std::uint64_t number = next_; number != end; ++number) {
    if (works_[number]->level(level).ops != 0) add_small(*works_[number], small, launch);
  }
  std::copy_n(small.chains, std::min(launch.work, std::uint64_t{kGpuFewChains}), launch.few_chains);
  fly(launch, end, level, level + 1);
  return true;
}

// Adds what a work has at the level.
void GpuOrder::add_small(GpuWork& work, Small& small, GpuLaunch& launch) {
  if (!work.bytes.empty()) std::memcpy(small.bytes, work.bytes.data(), work.bytes.size());
  for (const WorkList& list : work.lists) {
    if (list.level != small.level) continue;
    small.chains[launch.work++] = {small.op_count, list.count};
    for_ops(work, list,
            [&](const WorkOp& op) { small.ops[small.op_count++] = small_op(work, op, small); });
  }
  small.bytes += round_up(work.bytes.size(), 64);
  small.atomics += work.atomics.size();
}

GpuOp GpuOrder::small_op(GpuWork& work, const WorkOp& op, const Small& small) {
  GpuOp out;
  out.to = plain_address(op.to);
  out.size = static_cast<std::uint32_t>(op.size);
  out.on_host = is_pinned(op.to) ? 1 : 0;
  out.tail = op.tail;
  switch (op.kind) {
    case WorkKind::word: out.from = op.value; break;
    case WorkKind::copy:
      out.kind = GpuOpKind::bytes;
      out.from = plain_address(op.from);
      break;
    case WorkKind::bytes:
      out.kind = GpuOpKind::bytes;
      out.from = gpu_address(small.bytes + op.extra);
      break;
    case WorkKind::cqe:
      out.kind = GpuOpKind::cqe;
      out.from = gpu_address(small.bytes + op.extra);
      break;
    case WorkKind::atomic: {
      GpuAtomic* const place = small.atomics + op.extra;
      *place = {work.atomics[op.extra].request, 0};
      work.atomics[op.extra].place = place;
      out.kind = GpuOpKind::atomic;
      out.from = gpu_address(place);
      break;
    }
  }
  return out;
}

template <class Act>
void GpuOrder::for_lists(std::uint64_t end, std::uint32_t level, const Act& act) {
  for (std::uint64_t number = next_; number != end; ++number) {
    for (const WorkList& list : works_[number]->lists) {
      if (list.level == level) act(*works_[number], list);
    }
  }
}

struct GpuOrder::Bulk {
  GpuPiece* pieces = nullptr;
  GpuMessage* messages = nullptr;
  std::uint32_t message_count = 0;
};

bool GpuOrder::launch_bulk(std::uint64_t end, std::uint32_t level, std::uint32_t up_to) {
  std::size_t piece_count = 0;
  std::size_t op_count = 0;
  for (std::uint32_t at = level; at < up_to; at += 2) {
    const WorkLevel size = level_of(end, at);
    piece_count += size.pieces;
    op_count += size.ops;
  }
  if (piece_count == 0) return true;
  const std::size_t messages_at = piece_count * sizeof(GpuPiece);
  std::byte* const memory = ring_.take(messages_at + op_count * sizeof(GpuMessage));
  if (memory == nullptr) return false;
  Bulk bulk;
  bulk.pieces = reinterpret_cast<GpuPiece*>(memory);
  bulk.messages = reinterpret_cast<GpuMessage*>(memory + messages_at);
  GpuLaunch launch = next_launch();
  launch.pieces = bulk.pieces;
  for (std::uint32_t at = level; at < up_to; at += 2) add_bulk(end, at, bulk, launch);
  GDAKIT_ASSERT(launch.piece_count == piece_count);
  if (bulk.message_count != 0) launch.messages = bulk.messages;
  fly(launch, end, level, up_to);
  return true;
}

// Adds what the works have at the level. Messages that go one after the other take longest, so that
// they begin first.
void GpuOrder::add_bulk(std::uint64_t end, std::uint32_t level, Bulk& bulk, GpuLaunch& launch) {
  const std::uint64_t before = launch.work;
  const std::uint32_t begin = launch.piece_count;
  const auto add = [&](GpuPiece piece, std::uint64_t chunks) {
    piece.first_chunk = launch.work;
    piece.after = before;
    launch.work += chunks;
    bulk.pieces[launch.piece_count++] = piece;
  };
  for_lists(end, level, [&](const GpuWork& work, const WorkList& list) {
    if (!list.run) return;
    GpuPiece piece;
    piece.to = bulk.message_count;
    piece.size = list.count;
    for_ops(work, list, [&](const WorkOp& op) {
      bulk.messages[bulk.message_count++] = {plain_address(op.to), plain_address(op.from), op.size,
                                             op.tail};
    });
    add(piece, 1);
  });
  const std::uint32_t first_copy = launch.piece_count;
  for_lists(end, level, [&](const GpuWork& work, const WorkList& list) {
    if (list.run) return;
    for_ops(work, list, [&](const WorkOp& op) {
      GpuPiece piece;
      piece.to = plain_address(op.to);
      piece.from = plain_address(op.from);
      piece.size = op.size;
      piece.tail = op.tail;
      piece.early = op.early ? 1 : 0;
      add(piece, divide_up(op.size - op.tail, kGpuChunkBytes));
    });
  });
  for (GpuPiece& piece : std::span(bulk.pieces + begin, bulk.pieces + launch.piece_count)) {
    piece.until = launch.work;
    piece.first_copy = first_copy;
    piece.copy_count = launch.piece_count - first_copy;
  }
}

void GpuOrder::fly(const GpuLaunch& launch, std::uint64_t end, std::uint32_t level,
                   std::uint32_t up_to) {
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
  flight.up_to = up_to;
  flight.begin = next_;
  flight.end = end;
  flight.ring_mark = ring_.mark();
  ++kernels_;
  ++counts_.launches;
}

}  // namespace gdakit::softnic
