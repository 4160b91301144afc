// Reductions of every type by every operation, by every group of threads and each algorithm,
// against a sequential model.
#include <array>
#include <tuple>

#include "tests/device/collectives_kernels.h"
#include "tests/device/reduce_model.h"

namespace gdakit {
namespace {

using test::By;
using test::Checks;

constexpr std::size_t kCount = 37;
constexpr int kPes = 3;

template <class T>
constexpr ElementType type_of() {
  constexpr bool integer = std::is_integral_v<T>;
  if constexpr (std::is_same_v<T, Half>) return ElementType::half;
  if constexpr (std::is_same_v<T, BFloat16>) return ElementType::bfloat16;
  if constexpr (std::is_same_v<T, float>) return ElementType::float32;
  if constexpr (std::is_same_v<T, double>) return ElementType::float64;
  if constexpr (integer && std::is_signed_v<T>) {
    return sizeof(T) == 1   ? ElementType::int8
           : sizeof(T) == 2 ? ElementType::int16
           : sizeof(T) == 4 ? ElementType::int32
                            : ElementType::int64;
  }
  return sizeof(T) == 1   ? ElementType::uint8
         : sizeof(T) == 2 ? ElementType::uint16
         : sizeof(T) == 4 ? ElementType::uint32
                          : ElementType::uint64;
}

template <class T>
struct Memory {
  T* source;     // kPes * kCount
  T* dest;       // kCount
  T* scattered;  // kCount
};

// The bytes of objects, which tell NaNs and signed zeros apart as well.
template <class T>
Result<void> same_bits(Context& c, const T* objects, const std::vector<T>& model,
                       const std::string& what) {
  const auto got = test::download(c, objects, model.size());
  if (!got) return got.error();
  if (std::memcmp(got->data(), model.data(), model.size() * sizeof(T)) == 0) return {};
  return test::mismatch(what + " of type " + std::to_string(static_cast<int>(type_of<T>())));
}

template <By kBy, class T>
Result<void> check_one(Context& c, const Memory<T>& memory, ReduceOp op) {
  auto checks = Checks::make(c);
  if (!checks) return checks.error();
  // A result of another group's would be as good.
  for (T* const results : std::array{memory.dest, memory.scattered}) {
    if (auto done = test::upload(c, results, std::vector<T>(kCount)); !done) return done;
  }
  if (auto done = c.barrier(); !done) return done;
  const test::Reductions<kBy> kernel{kTeamWorld,  type_of<T>(),     op,     memory.source,
                                     memory.dest, memory.scattered, kCount, checks->expect()};
  const std::uint32_t threads = test::kThreads<kBy>;
  if (auto done = c.launch(kernel, {.threads = threads}); !done) return done;
  if (auto held = checks->all_held(2 * threads); !held) return held;
  const std::size_t mine = static_cast<std::size_t>(c.my_pe()) * kCount;
  const std::string by = std::string(" by a ") + test::name_of(kBy) + ", operation " +
                         std::to_string(static_cast<int>(op));
  auto done = same_bits(c, memory.dest, test::reduced<T>(op, kPes, 0, kCount), "reduce" + by);
  if (!done) return done;
  return same_bits(c, memory.scattered, test::reduced<T>(op, kPes, mine, kCount),
                   "reduce_scatter" + by);
}

template <By kBy, class T>
Result<void> check_operations(Context& c, const Memory<T>& memory) {
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max,
                            ReduceOp::bit_and, ReduceOp::bit_or, ReduceOp::bit_xor}) {
    if (!is_valid(type_of<T>(), op)) continue;
    if (auto done = check_one<kBy>(c, memory, op); !done) return done;
  }
  return {};
}

template <class T>
Result<void> check_type(Context& c) {
  Memory<T> memory{};
  for (auto [object, count] : {std::pair(&memory.source, kPes * kCount),
                               std::pair(&memory.dest, kCount),
                               {&memory.scattered, kCount}}) {
    Result<T*> made = c.allocate<T>(count);
    if (!made) return made.error();
    *object = *made;
  }
  std::vector<T> given(kPes * kCount);
  for (std::size_t i = 0; i < given.size(); ++i) {
    given[i] = test::encoded<T>(test::number_given<T>(c.my_pe(), kPes, i));
  }
  if (auto done = test::upload(c, memory.source, given); !done) return done;
  Result<void> done = check_operations<By::thread>(c, memory);
  if (done) done = check_operations<By::warp>(c, memory);
  if (done) done = check_operations<By::block>(c, memory);
  return done;
}

template <class T>
class ReduceTypes : public testing::Test {};

using Types =
    testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                   std::uint16_t, std::uint32_t, std::uint64_t, float, double, Half, BFloat16>;
TYPED_TEST_SUITE(ReduceTypes, Types);

TYPED_TEST(ReduceTypes, HaveTheBitsOfTheModel) {
  for (const auto algorithm :
       {CollectiveChoice::linear, CollectiveChoice::logarithmic, CollectiveChoice::ring}) {
    Options options = test::job_options();
    options.collectives = algorithm;
    test::expect_job(kPes, options, check_type<TypeParam>);
  }
}

struct RefusedReductions {
  std::uint64_t* memory;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto team = pe.team(kTeamWorld);
    expect(pe, team.reduce(memory, memory, 1, ElementType::float32, ReduceOp::bit_or).code ==
                   StatusCode::invalid_argument);
    expect(pe, team.reduce_scatter(memory, memory, 1, ElementType::half, ReduceOp::bit_and).code ==
                   StatusCode::invalid_argument);
  }
};

TEST(ReduceTypes, RefuseBitsOfFloatingPointNumbers) {
  test::expect_job(1, test::job_options(), [](Context& c) -> Result<void> {
    auto checks = Checks::make(c);
    if (!checks) return checks.error();
    Result<std::uint64_t*> memory = c.allocate<std::uint64_t>(1);
    if (!memory) return memory.error();
    const Result<void> ran = c.launch(RefusedReductions{*memory, checks->expect()}, {.threads = 1});
    if (ran) return test::mismatch("the bad argument was not reported");
    return checks->all_held(2);
  });
}

}  // namespace
}  // namespace gdakit
