// Collective operations against a sequential model: every operation by every group of threads, on 1
// to 9 PEs, by each algorithm.
#include "tests/device/collectives_kernels.h"
#include "tests/device/collectives_model.h"

namespace gdakit {
namespace {

using test::AllOperations;
using test::By;
using test::Checks;
using test::collect_count;
using test::Destinations;
using test::expect_job;
using test::given;
using test::job_options;
using Word = std::uint32_t;

// ok if the PE's objects are those of `model`.
template <class T>
Result<void> is(Context& c, const T* objects, const std::vector<T>& model,
                const std::string& what) {
  if (model.empty()) return {};
  return test::all_are(c, objects, model.size(), what, [&](std::size_t i) { return model[i]; });
}

// Memory for all operations on up to `most` elements, and their check.
class Bench {
 public:
  static Result<Bench> make(Context& c, std::size_t most) {
    const std::size_t all = most * static_cast<std::size_t>(c.n_pes());
    Bench bench(c);
    for (Word** memory :
         {&bench.source_, &bench.to_.broadcast, &bench.to_.fcollect, &bench.to_.collect,
          &bench.to_.alltoall, &bench.to_.reduce, &bench.to_.reduce_in_place, &bench.to_.scatter,
          &bench.to_.scatter_in_place}) {
      Result<Word*> made = c.allocate<Word>(all + 1);
      if (!made) return made.error();
      *memory = *made;
    }
    Result<Word*> strided = c.allocate<Word>(2 * all + 1);
    if (!strided) return strided.error();
    bench.to_.alltoalls = *strided;
    if (auto filled = bench.fill(bench.source_, all); !filled) return filled.error();
    return bench;
  }

  // All operations by one group, and what they left.
  template <By kBy>
  Result<void> run(Team team, std::size_t count, int root) {
    const int n = c_->team_n_pes(team);
    const int me = c_->team_my_pe(team);
    auto checks = Checks::make(*c_);
    if (!checks) return checks.error();
    const std::size_t all = static_cast<std::size_t>(n) * count;
    if (auto done = fill(to_.reduce_in_place, count); !done) return done;
    if (auto done = fill(to_.scatter_in_place, all); !done) return done;
    if (auto done = c_->barrier(); !done) return done;
    const AllOperations<kBy, Word> kernel{
        team, source_, to_, count, collect_count(me, count), root, checks->expect()};
    const std::uint32_t threads = test::kThreads<kBy>;
    if (auto done = c_->launch(kernel, {.threads = threads}); !done) return done;
    if (auto held = checks->all_held(threads * kernel.kExpectations); !held) return held;
    if (auto done = check(n, me, count, root); !done) return done;
    return c_->barrier();
  }

 private:
  explicit Bench(Context& c) : c_(&c) {}

  Result<void> fill(Word* memory, std::size_t count) {
    return test::fill(*c_, memory, count, [this](std::size_t i) { return given(c_->my_pe(), i); });
  }

  Result<void> check(int n, int me, std::size_t count, int root) {
    const auto first = static_cast<std::size_t>(me) * count;
    const auto from_root =
        test::list<Word>(count, [root](std::size_t i) { return given(root, i); });
    const auto sums = test::reduce_model<Word>(n, 0, count, Sum{});
    const auto mine = test::reduce_model<Word>(n, first, count, Sum{});
    const auto crossed = test::alltoall_model<Word>(n, me, count);
    Result<void> done = is(*c_, to_.broadcast, from_root, "broadcast");
    if (done) done = is(*c_, to_.fcollect, test::fcollect_model<Word>(n, count), "fcollect");
    if (done) done = is(*c_, to_.collect, test::collect_model<Word>(n, count), "collect");
    if (done) done = is(*c_, to_.alltoall, crossed, "alltoall");
    if (done) done = is(*c_, to_.reduce, sums, "reduce");
    if (done) done = is(*c_, to_.reduce_in_place, sums, "reduce in place");
    if (done) done = is(*c_, to_.scatter, mine, "reduce_scatter");
    if (done) done = is(*c_, to_.scatter_in_place, mine, "reduce_scatter in place");
    if (done && !crossed.empty()) {
      const auto got = test::download(*c_, to_.alltoalls, 2 * crossed.size());
      if (!got) return got.error();
      for (std::size_t i = 0; i < crossed.size() && done; ++i) {
        done = test::same((*got)[2 * i], crossed[i], "alltoalls " + std::to_string(i));
      }
    }
    if (done) return {};
    return done.error().within("count " + std::to_string(count) + ", root " + std::to_string(root));
  }

  Context* c_;
  Word* source_ = nullptr;
  Destinations<Word> to_{};
};

Result<void> run_by_all_groups(Bench& bench, Team team, std::size_t count, int root) {
  if (auto done = bench.run<By::thread>(team, count, root); !done) {
    return done.error().within("by a thread");
  }
  if (auto done = bench.run<By::warp>(team, count, root); !done) {
    return done.error().within("by a warp");
  }
  if (auto done = bench.run<By::block>(team, count, root); !done) {
    return done.error().within("by a block");
  }
  return {};
}

struct Case {
  int n_pes;
  CollectiveChoice algorithm;
};

class Collectives : public testing::TestWithParam<Case> {};

// Counts: none, one, less than the members, odd ones, more than the scratch memory at once.
TEST_P(Collectives, LeaveWhatTheModelSays) {
  Options options = job_options();
  options.collectives = GetParam().algorithm;
  options.team_scratch = 4 << 10;
  expect_job(GetParam().n_pes, options, [](Context& c) -> Result<void> {
    auto bench = Bench::make(c, 700);
    if (!bench) return bench.error();
    for (const std::size_t count : {0, 1, 5, 137, 700}) {
      const int root = static_cast<int>(count) % c.n_pes();
      if (auto done = run_by_all_groups(*bench, kTeamWorld, count, root); !done) return done;
    }
    return {};
  });
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (int n = 1; n <= 9; ++n) {
    for (const auto algorithm : {CollectiveChoice::automatic, CollectiveChoice::linear,
                                 CollectiveChoice::logarithmic, CollectiveChoice::ring}) {
      cases.push_back({n, algorithm});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, Collectives, testing::ValuesIn(all_cases()), [](const auto& each) {
  return std::to_string(each.param.n_pes) + "Pes" + collective_choice_name(each.param.algorithm);
});

}  // namespace
}  // namespace gdakit
