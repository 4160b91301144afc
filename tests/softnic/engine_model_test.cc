// Random models of several engines, by the thousand: tests/softnic/model/world.h. A million, once:
//
//   GDAKIT_TEST_SEEDS=1000000 softnic_test --gtest_filter='EngineModel.*'
#include <gtest/gtest.h>

#include "core/base/annotate.h"
#include "tests/softnic/model/world.h"
#include "tests/support/settings.h"

namespace gdakit::softnic::test {
namespace {

constexpr std::uint64_t kSeeds = kAddressSanitizer || kThreadSanitizer ? 1000 : 5000;

TEST(EngineModel, DoesWhatItsOraclesSay) {
  const auto [first, count] = gdakit::test::seeds(kSeeds);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const std::string wrong = model::World(seed).run();
    if (wrong.empty()) continue;
    FAIL() << wrong << "replay: GDAKIT_TEST_SEED=" << seed
           << " softnic_test --gtest_filter=EngineModel.*";
  }
}

}  // namespace
}  // namespace gdakit::softnic::test
