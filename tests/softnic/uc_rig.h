// Queue pairs of service type UC, connected, and what their tests share.
#pragma once

#include <cstddef>

#include <gtest/gtest.h>

#include "tests/softnic/engine_rig.h"

namespace gdakit::softnic::test {

inline constexpr std::size_t kTo = 1 << 16;  // in b's heap

inline RigOptions uc_options() {
  RigOptions options;
  options.service = ServiceType::uc;
  return options;
}

inline void ring_and_run(EngineRig& rig) {
  rig.a.ring();
  ASSERT_TRUE(rig.run());
}

// Expects one CQE, of a WQE that has succeeded.
inline void expect_sent(Side& side) {
  const auto cqe = side.send_cq.poll();
  ASSERT_TRUE(cqe);
  EXPECT_EQ(opcode_of(*cqe), format::CqeOpcode::requester);
}

}  // namespace gdakit::softnic::test
