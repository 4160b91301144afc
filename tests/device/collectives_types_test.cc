// Collective operations on elements of every size, against the same model as those of 32 bits, with
// other strides of alltoalls.
#include "tests/device/collectives_bench.h"

namespace gdakit {
namespace {

using test::CollectiveBench;

// 128 bits, whose halves differ.
struct Wide {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  Wide() = default;
  explicit Wide(std::uint32_t value) : low(value), high(100 - std::uint64_t{value}) {}
  friend GDAKIT_HOST_DEVICE Wide operator+(Wide a, const Wide& b) {
    a.low += b.low;
    a.high += b.high;
    return a;
  }
};

template <class T>
class CollectiveTypes : public testing::Test {};

using Types = testing::Types<std::uint8_t, std::int16_t, std::uint64_t, Wide>;
TYPED_TEST_SUITE(CollectiveTypes, Types);

TYPED_TEST(CollectiveTypes, LeaveWhatTheModelSays) {
  test::expect_job(3, test::job_options(), [](Context& c) -> Result<void> {
    auto bench = CollectiveBench<TypeParam>::make(c, 200);
    if (!bench) return bench.error();
    Result<void> done;
    for (const std::size_t count : {1, 13, 200}) {
      if (done) done = bench->run_by_all_groups({kTeamWorld, count, 1, 1, 3});
      if (done) done = bench->run_by_all_groups({kTeamWorld, count, 2, 3, 2});
    }
    if (done) done = bench->run_by_all_groups({kTeamWorld, 13, 0, 1, 1});
    return done;
  });
}

}  // namespace
}  // namespace gdakit
