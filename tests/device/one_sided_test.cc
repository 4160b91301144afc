// Put, get, their strided forms and put with signal: every type, every kind of call and every group
// on one, two and three PEs, against a sequential model.
#include "tests/device/one_sided.h"

namespace gdakit {
namespace {

using test::By;

// The types of OpenSHMEM and NVSHMEM are 25 names for these, and five sizes of bits.
using All = testing::Types<float, double, test::Half, test::Bfloat16, char, signed char, short, int,
                           long, long long, unsigned char, unsigned short, unsigned, unsigned long,
                           unsigned long long, test::Bits128>;
using OfEachSize = testing::Types<unsigned char, test::Half, int, double, test::Bits128>;
using Types = test::TypesHere<All, OfEachSize>;

template <class T, class List>
inline constexpr bool kIsIn = false;
template <class T, class... Ts>
inline constexpr bool kIsIn<T, testing::Types<Ts...>> = (std::is_same_v<T, Ts> || ...);
static_assert(kIsIn<std::int8_t, All> && kIsIn<std::int16_t, All> && kIsIn<std::int32_t, All> &&
              kIsIn<std::int64_t, All> && kIsIn<std::uint8_t, All> && kIsIn<std::uint16_t, All> &&
              kIsIn<std::uint32_t, All> && kIsIn<std::uint64_t, All> && kIsIn<std::size_t, All> &&
              kIsIn<std::ptrdiff_t, All>);

template <class T>
class OneSided : public testing::Test {};
TYPED_TEST_SUITE(OneSided, Types, test::TypeNames);

TYPED_TEST(OneSided, LeavesWhatTheModelSays) {
  using T = TypeParam;
  for (int n_pes = 1; n_pes <= 3; ++n_pes) {
    test::expect_job(n_pes, test::in_turn(test::job_options()), [](Context& c) -> Result<void> {
      auto job = test::Job<T>::make(c, test::sized<std::size_t>(60, 20));
      if (!job) return job.error();
      const auto seed = static_cast<std::uint64_t>(100 * c.n_pes());
      if (auto ok = job->template run<By::thread>(seed + 1); !ok) return ok;
      if (auto ok = job->template run<By::warp>(seed + 2); !ok) return ok;
      return job->template run<By::block>(seed + 3);
    });
    if (testing::Test::IsSkipped()) return;
  }
}

}  // namespace
}  // namespace gdakit
