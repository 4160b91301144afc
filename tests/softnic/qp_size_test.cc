// How much memory a queue pair takes, and when. A program of its own: it counts what `new` hands
// out.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include <gtest/gtest.h>

#include "tests/softnic/engine_rig.h"

namespace {

std::size_t live_bytes = 0;
std::uint64_t allocations = 0;

// Before each piece lies its size, as it was asked for: what malloc rounds it up to depends on what
// was freed before.
constexpr std::size_t kHeader = 16;

void* take(std::size_t size, std::size_t alignment) {
  const std::size_t all = (alignment + size + alignment - 1) / alignment * alignment;
  auto* const begin = static_cast<std::byte*>(std::aligned_alloc(alignment, all));
  if (begin == nullptr) throw std::bad_alloc();
  std::memcpy(begin, &size, sizeof size);
  live_bytes += size;
  ++allocations;
  return begin + alignment;
}

void release(void* memory, std::size_t alignment) {
  if (memory == nullptr) return;
  std::byte* const begin = static_cast<std::byte*>(memory) - alignment;
  std::size_t size = 0;
  std::memcpy(&size, begin, sizeof size);
  live_bytes -= size;
  std::free(begin);
}

std::size_t alignment_of(std::align_val_t align) {
  return std::max(kHeader, static_cast<std::size_t>(align));
}

}  // namespace

void* operator new(std::size_t size) { return take(size, kHeader); }
void* operator new(std::size_t size, std::align_val_t align) {
  return take(size, alignment_of(align));
}
void operator delete(void* memory) noexcept { release(memory, kHeader); }
void operator delete(void* memory, std::size_t) noexcept { release(memory, kHeader); }
void operator delete(void* memory, std::align_val_t align) noexcept {
  release(memory, alignment_of(align));
}
void operator delete(void* memory, std::size_t, std::align_val_t align) noexcept {
  release(memory, alignment_of(align));
}

namespace gdakit::softnic::test {
namespace {

constexpr std::size_t kLimit = 20 * 1024;
// A million of them are to fit into a job.
constexpr std::size_t kIdleLimit = 3 * 1024;
constexpr int kDepth = 1024;

RigOptions deep() {
  RigOptions options;
  options.log_sq = options.log_rq = 10;
  options.log_cq = 12;
  return options;
}

std::size_t bytes_freed_by_destroying(EngineRig& rig, Side& side) {
  const std::size_t before = live_bytes;
  EXPECT_TRUE(side.engine.destroy_qp(side.qpn));
  EXPECT_TRUE(rig.run());
  EXPECT_TRUE(side.engine.drained());
  return before - live_bytes;
}

// All operations, at full depth, one way and the other.
void post_all(EngineRig& rig) {
  for (int i = 0; i < kDepth; ++i) {
    rig.b.post_receive({format::data(rig.b.heap_address(0), Be32{rig.b.key}, 64)});
  }
  for (int i = 0; i < kDepth; ++i) {
    switch (i / 16 % 4) {
      case 0: rig.a.post(write_wqe(rig, 0, 0, 64)); break;
      case 1: rig.a.post(fetch_add_wqe(rig, 64, 128, 1)); break;
      case 2: rig.a.post(read_wqe(rig, 256, 256, 64)); break;
      default: rig.a.post({.opcode = format::Opcode::send, .body = {rig.a.data(0, 64)}});
    }
  }
}

TEST(QpSize, IsSmallWhileIdle) {
  EngineRig rig(deep());
  ASSERT_TRUE(rig.run());
  EXPECT_LE(bytes_freed_by_destroying(rig, rig.a), kIdleLimit);
}

TEST(QpSize, IsLimitedWhateverItHasDone) {
  EngineRig rig(deep());
  post_all(rig);
  for (int i = 0; i < kDepth / 2; ++i) {
    rig.a.post_receive({format::data(rig.a.heap_address(0), Be32{rig.a.key}, 64)});
    rig.b.post({.opcode = format::Opcode::send, .body = {rig.b.data(0, 64)}});
  }
  // Neither takes anything before the other has sent all that it may.
  for (Side* side : {&rig.a, &rig.b}) {
    side->ring();
    for (int i = 0; i < 100; ++i) side->engine.step(++rig.now_ns);
  }
  ASSERT_TRUE(rig.run());
  ASSERT_EQ(rig.a.info().send_completed, kDepth);
  ASSERT_EQ(rig.b.info().send_completed, kDepth / 2);
  EXPECT_LE(bytes_freed_by_destroying(rig, rig.a), kLimit);
  EXPECT_LE(bytes_freed_by_destroying(rig, rig.b), kLimit);
}

TEST(QpSize, GrowsNoMoreWhenTrafficIsSteady) {
  EngineRig rig(deep());
  for (int round = 1; round <= 4; ++round) {
    post_all(rig);
    rig.a.ring();
    const std::uint64_t before = allocations;
    ASSERT_TRUE(rig.run());
    ASSERT_EQ(rig.a.info().send_completed, round * kDepth);
    if (round > 1) {
      EXPECT_EQ(allocations, before);
    }
  }
}

}  // namespace
}  // namespace gdakit::softnic::test
