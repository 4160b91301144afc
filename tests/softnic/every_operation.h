// One run with each operation there is, for tests of wires.
#pragma once

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "tests/softnic/engine_rig.h"

namespace gdakit::softnic::test {

// From heap a to heap b and back, with a write and a read of `bytes` (at most 20'000); looks at
// every byte and CQE.
inline void run_every_operation(EngineRig& rig, std::uint32_t bytes) {
  std::uint8_t* const a = rig.a.heap.data();
  std::uint8_t* const b = rig.b.heap.data();
  fill(a, bytes, 1);
  fill(b + 30'000, bytes, 2);
  Wqe gather = write_wqe(rig, 60'000, 0, 100);
  for (std::size_t i = 1; i < 20; ++i) gather.body.push_back(rig.a.data(i * 100, 100));
  rig.a.post(write_wqe(rig, 0, 0, bytes));
  rig.a.post(read_wqe(rig, 30'000, 30'000, bytes));
  rig.a.post(gather);
  rig.a.post(inline_write_wqe(rig, 70'000, std::vector<std::uint8_t>(300, 9)));
  rig.a.post(fetch_add_wqe(rig, 90'000, 90'000, 5));
  rig.b.post_receive({format::data(rig.b.heap_address(80'000), Be32{rig.b.key}, 700)});
  rig.a.post({.opcode = format::Opcode::send, .body = {rig.a.data(0, 700)}});
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  const auto cqes = rig.a.send_cq.poll_all();
  ASSERT_EQ(cqes.size(), 6u);
  for (const auto& cqe : cqes) EXPECT_EQ(opcode_of(cqe), format::CqeOpcode::requester);
  EXPECT_EQ(std::memcmp(b, a, bytes), 0);
  EXPECT_EQ(std::memcmp(a + 30'000, b + 30'000, bytes), 0);
  EXPECT_EQ(std::memcmp(b + 60'000, a, 2000), 0);
  for (std::size_t i = 0; i < 300; ++i) ASSERT_EQ(b[70'000 + i], 9) << i;
  EXPECT_EQ(std::memcmp(b + 80'000, a, 700), 0);
  EXPECT_EQ(rig.b.word<std::uint64_t>(90'000), 5u);
}

}  // namespace gdakit::softnic::test
