// Which attributes a modify_qp may have, against the table of the InfiniBand Architecture
// (11.2.5.2), written down a second time.
#include "backends/softnic/uverbs/transition_masks.h"

#include <array>
#include <initializer_list>
#include <rdma/ib_user_ioctl_verbs.h>
#include <string>

#include <gtest/gtest.h>

namespace gdakit::softnic::uverbs {
namespace {

using enum QpState;

constexpr std::array kStates = {reset, init, rtr, rts, sqd, sqer, err};

// Bits of enum ibv_qp_attr_mask.
constexpr std::uint32_t bits(std::initializer_list<int> numbers) {
  std::uint32_t mask = 0;
  for (const int number : numbers) mask |= 1u << number;
  return mask;
}
constexpr int kMostBit = 26;

struct Row {
  std::uint32_t type;
  QpState from, to;
  std::uint32_t required, optional;
};

constexpr std::uint32_t rc = IB_UVERBS_QPT_RC, uc = IB_UVERBS_QPT_UC, ud = IB_UVERBS_QPT_UD,
                        initiator = IB_UVERBS_QPT_XRC_INI, target = IB_UVERBS_QPT_XRC_TGT;

// 1 current state, 2 drained event, 3 access, 4 P_Key, 5 port, 6 Q_Key, 7 path, 8 MTU, 9 time-out,
// 10 retries, 11 RNR retries, 12 RQ PSN, 13 READs, 14 alternate path, 15 RNR timer, 16 SQ PSN,
// 17 READs of the peer, 18 migration, 20 remote QPN, 25 rate.
constexpr std::array kRows = {
    Row{rc, reset, init, bits({3, 4, 5}), 0},
    Row{rc, init, init, 0, bits({3, 4, 5})},
    Row{rc, init, rtr, bits({7, 8, 12, 15, 17, 20}), bits({3, 4, 14})},
    Row{rc, rtr, rts, bits({9, 10, 11, 13, 16}), bits({1, 3, 14, 15, 18, 25})},
    Row{rc, rts, rts, 0, bits({1, 3, 14, 15, 18, 25})},
    Row{rc, rts, sqd, 0, bits({2})},
    Row{rc, sqd, rts, 0, bits({1, 3, 14, 15, 18})},
    Row{rc, sqd, sqd, 0, bits({3, 4, 5, 7, 9, 10, 11, 13, 14, 15, 17, 18})},
    Row{initiator, reset, init, bits({3, 4, 5}), 0},
    Row{initiator, init, init, 0, bits({3, 4, 5})},
    Row{initiator, init, rtr, bits({7, 8, 12, 20}), bits({3, 4, 14})},
    Row{initiator, rtr, rts, bits({9, 10, 11, 13, 16}), bits({1, 3, 14, 18, 25})},
    Row{initiator, rts, rts, 0, bits({1, 3, 14, 18, 25})},
    Row{initiator, rts, sqd, 0, bits({2})},
    Row{initiator, sqd, rts, 0, bits({1, 3, 14, 18})},
    Row{initiator, sqd, sqd, 0, bits({3, 4, 5, 7, 9, 10, 11, 13, 14, 18})},
    Row{target, reset, init, bits({3, 4, 5}), 0},
    Row{target, init, init, 0, bits({3, 4, 5})},
    Row{target, init, rtr, bits({7, 8, 12, 15, 17, 20}), bits({3, 4, 14})},
    Row{target, rtr, rts, bits({9, 16}), bits({1, 3, 14, 15, 18, 25})},
    Row{target, rts, rts, 0, bits({1, 3, 14, 15, 18, 25})},
    Row{target, rts, sqd, 0, bits({2})},
    Row{target, sqd, rts, 0, bits({1, 3, 14, 15, 18})},
    Row{target, sqd, sqd, 0, bits({3, 4, 5, 7, 9, 14, 15, 17, 18})},
    Row{uc, reset, init, bits({3, 4, 5}), 0},
    Row{uc, init, init, 0, bits({3, 4, 5})},
    Row{uc, init, rtr, bits({7, 8, 12, 20}), bits({3, 4, 14})},
    Row{uc, rtr, rts, bits({16}), bits({1, 3, 14, 18})},
    Row{uc, rts, rts, 0, bits({1, 3, 14, 18})},
    Row{uc, rts, sqd, 0, bits({2})},
    Row{uc, sqd, rts, 0, bits({1, 3, 14, 18})},
    Row{uc, sqd, sqd, 0, bits({3, 4, 7, 14, 18})},
    Row{uc, sqer, rts, 0, bits({1, 3})},
    Row{ud, reset, init, bits({4, 5, 6}), 0},
    Row{ud, init, init, 0, bits({4, 5, 6})},
    Row{ud, init, rtr, 0, bits({4, 6})},
    Row{ud, rtr, rts, bits({16}), bits({1, 6})},
    Row{ud, rts, rts, 0, bits({1, 6})},
    Row{ud, rts, sqd, 0, bits({2})},
    Row{ud, sqd, rts, 0, bits({1, 6})},
    Row{ud, sqd, sqd, 0, bits({4, 6})},
    Row{ud, sqer, rts, 0, bits({1, 6})},
};

const Row* find(std::uint32_t type, QpState from, QpState to) {
  for (const Row& row : kRows) {
    if (row.type == type && row.from == from && row.to == to) return &row;
  }
  return nullptr;
}

TEST(UverbsTransitions, EachTakesWhatItRequires) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(std::string(qp_state_name(row.from)) + " to " + qp_state_name(row.to));
    EXPECT_TRUE(may_modify(row.type, row.from, row.to, attr::kState | row.required));
    EXPECT_TRUE(may_modify(row.type, row.from, row.to, row.required));
    EXPECT_TRUE(may_modify(row.type, row.from, row.to, row.required | row.optional));
  }
}

TEST(UverbsTransitions, EachRefusesWhatLacksOne) {
  for (const Row& row : kRows) {
    for (int bit = 1; bit < kMostBit; ++bit) {
      const std::uint32_t one = 1u << bit;
      if ((row.required & one) == 0) continue;
      EXPECT_FALSE(may_modify(row.type, row.from, row.to, attr::kState | (row.required & ~one)))
          << qp_state_name(row.from) << " to " << qp_state_name(row.to) << " without " << bit;
    }
  }
}

TEST(UverbsTransitions, EachRefusesWhatItDoesNotKnow) {
  for (const Row& row : kRows) {
    for (int bit = 1; bit < kMostBit; ++bit) {
      const std::uint32_t one = 1u << bit;
      const bool known = ((row.required | row.optional) & one) != 0;
      EXPECT_EQ(may_modify(row.type, row.from, row.to, attr::kState | row.required | one), known)
          << qp_state_name(row.from) << " to " << qp_state_name(row.to) << " with " << bit;
    }
  }
}

TEST(UverbsTransitions, OfXrcTheOtherEndsAttributesAreIgnored) {
  EXPECT_EQ(without_ignored(initiator, ~0u), ~bits({15, 17}));
  EXPECT_EQ(without_ignored(target, ~0u), ~bits({10, 11, 13}));
  for (const std::uint32_t type : {rc, uc, ud}) EXPECT_EQ(without_ignored(type, ~0u), ~0u);
}

TEST(UverbsTransitions, ThereAreNoOthers) {
  for (const std::uint32_t type : {rc, uc, ud, initiator, target}) {
    for (const QpState from : kStates) {
      for (const QpState to : kStates) {
        if (to == reset || to == err || find(type, from, to) != nullptr) continue;
        for (const std::uint32_t mask : {0u, attr::kState, ~0u}) {
          EXPECT_FALSE(may_modify(type, from, to, mask))
              << qp_state_name(from) << " to " << qp_state_name(to);
        }
      }
    }
  }
}

TEST(UverbsTransitions, EveryStateCanBeResetAndNeedsNothingForIt) {
  for (const std::uint32_t type : {rc, uc, ud, initiator, target}) {
    for (const QpState from : kStates) {
      EXPECT_TRUE(may_modify(type, from, reset, attr::kState)) << qp_state_name(from);
      EXPECT_FALSE(may_modify(type, from, reset, attr::kState | attr::kPort));
    }
  }
}

TEST(UverbsTransitions, EveryStateButResetCanFail) {
  for (const std::uint32_t type : {rc, uc, ud, initiator, target}) {
    for (const QpState from : kStates) {
      EXPECT_EQ(may_modify(type, from, err, attr::kState), from != reset) << qp_state_name(from);
      EXPECT_FALSE(may_modify(type, from, err, attr::kState | attr::kPort));
    }
  }
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
