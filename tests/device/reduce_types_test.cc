// Reductions of every type by every operation, by every group of threads, against a sequential
// model.
#include <tuple>

#include "tests/device/collectives_kernels.h"
#include "tests/device/collectives_model.h"

namespace gdakit {
namespace {

using test::By;
using test::Checks;
using test::given;

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

template <By kBy, class T, class Op>
Result<void> check_one(Context& c, const Memory<T>& memory, ReduceOp op, Op model_op) {
  auto checks = Checks::make(c);
  if (!checks) return checks.error();
  const test::Reductions<kBy> kernel{kTeamWorld,  type_of<T>(),     op,     memory.source,
                                     memory.dest, memory.scattered, kCount, checks->expect()};
  const std::uint32_t threads = test::kThreads<kBy>;
  if (auto done = c.launch(kernel, {.threads = threads}); !done) return done;
  if (auto held = checks->all_held(2 * threads); !held) return held;
  const std::size_t mine = static_cast<std::size_t>(c.my_pe()) * kCount;
  const std::string by = std::string(" by a ") + test::name_of(kBy) + ", operation " +
                         std::to_string(static_cast<int>(op));
  if (auto done = same_bits(c, memory.dest, test::reduce_model<T>(kPes, 0, kCount, model_op),
                            "reduce" + by);
      !done) {
    return done;
  }
  return same_bits(c, memory.scattered, test::reduce_model<T>(kPes, mine, kCount, model_op),
                   "reduce_scatter" + by);
}

template <By kBy, class T>
Result<void> check_operations(Context& c, const Memory<T>& memory) {
  Result<void> done = check_one<kBy>(c, memory, ReduceOp::sum, Sum{});
  if (done) done = check_one<kBy>(c, memory, ReduceOp::prod, Prod{});
  if (done) done = check_one<kBy>(c, memory, ReduceOp::min, Min{});
  if (done) done = check_one<kBy>(c, memory, ReduceOp::max, Max{});
  if constexpr (std::is_integral_v<T>) {
    if (done) done = check_one<kBy>(c, memory, ReduceOp::bit_and, And{});
    if (done) done = check_one<kBy>(c, memory, ReduceOp::bit_or, Or{});
    if (done) done = check_one<kBy>(c, memory, ReduceOp::bit_xor, Xor{});
  }
  return done;
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
  const auto value = [&c](std::size_t i) {
    return static_cast<T>(static_cast<float>(given(c.my_pe(), i)));
  };
  if (auto done = test::fill(c, memory.source, kPes * kCount, value); !done) return done;
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
  test::expect_job(kPes, test::job_options(), check_type<TypeParam>);
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
