#include "tests/mlx5/random_answers.h"

#include <random>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gdakit::mlx5 {
namespace {

TEST(RandomAnswers, EndInAnErrorThatNamesTheCallAndLeaveNothingBehind) {
  constexpr unsigned kRuns = 5'000;
  unsigned opened = 0;
  std::size_t created = 0, connected = 0, initiators = 0, addressed = 0;
  std::set<std::string> cut;
  for (unsigned seed = 1; seed <= kRuns; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&random](std::uint32_t limit) {
      return static_cast<std::uint32_t>(random()) % limit;
    };
    const RandomRun run = play_random_answers(draw);
    ASSERT_EQ(run.wrong, "") << "seed " << seed;
    opened += run.opened ? 1 : 0;
    created += run.created;
    connected += run.connected;
    initiators += run.initiators;
    addressed += run.addressed;
    cut.insert(run.cut.begin(), run.cut.end());
  }
  // It comes to each call, and not always beyond it.
  EXPECT_GT(opened, kRuns / 4);
  EXPECT_LT(opened, kRuns);
  EXPECT_GT(created, kRuns / 2);
  EXPECT_GT(connected, kRuns / 4);
  EXPECT_LT(connected, created);
  for (const std::size_t of_dc : {initiators, addressed}) {
    EXPECT_GT(of_dc, kRuns / 8);
    EXPECT_LT(of_dc, opened);
  }
  // The answer of each call that has one has ended early.
  EXPECT_THAT(cut, testing::UnorderedElementsAre(
                       "0100", "0400", "0500", "0502", "0503", "0504", "050a", "050b", "0710",
                       "0771", "0773", "0842", "090c", "_ibv_query_gid_ex", "_ibv_query_gid_table",
                       "ibv_get_device_list", "ibv_get_device_name", "ibv_query_device",
                       "ibv_query_port", "ibv_reg_dmabuf_mr", "ibv_reg_mr_iova2",
                       "mlx5dv_devx_alloc_uar", "mlx5dv_devx_create_event_channel",
                       "mlx5dv_devx_get_event", "mlx5dv_devx_query_eqn", "mlx5dv_devx_umem_reg_ex",
                       "mlx5dv_init_obj of AH", "mlx5dv_init_obj of PD", "mlx5dv_open_device"));
}

}  // namespace
}  // namespace gdakit::mlx5
