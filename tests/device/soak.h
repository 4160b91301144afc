// A soak run: episodes in which all kernels of soak_kernels.h run at the same time, each on a
// stream of its own, on every PE; behind each, rows are compared with the shadows that their
// writers kept, and sums with the number of adds.
#pragma once

#include <atomic>
#include <map>

#include "tests/device/soak_kernels.h"
#include "tests/support/job.h"

namespace gdakit::soak {

struct Plan {
  LaunchShape shape;  // of each kernel
  std::uint32_t operations;
  std::chrono::duration<double> time;
};

// What the PEs of a run tell each other on the host.
struct Shared {
  explicit Shared(int n_pes) : shadows(static_cast<std::size_t>(n_pes)) {}

  std::atomic<bool> over = false;
  std::atomic<std::uint64_t> sum = 0;
  std::atomic<std::uint64_t> episodes = 0;
  std::vector<std::map<std::string, std::vector<std::uint64_t>>> shadows;  // by PE and region
};

// Rows in the heap and what their writers think of them.
template <class T>
struct Rows {
  T* region = nullptr;
  T* shadow = nullptr;
  std::size_t per_pe = 0;

  static Result<Rows> make(Context& c, std::size_t per_pe) {
    const std::size_t count = per_pe * static_cast<std::size_t>(c.n_pes());
    auto region = c.allocate<T>(count);
    auto shadow = c.allocate<T>(count);
    if (!region || !shadow) return Error(Code::exhausted, "rows of the soak run");
    return Rows{*region, *shadow, per_pe};
  }

  Result<void> publish(Context& c, const std::string& name, Shared& shared) const {
    const auto got = test::download(c, shadow, per_pe * static_cast<std::size_t>(c.n_pes()));
    if (!got) return got.error();
    shared.shadows[static_cast<std::size_t>(c.my_pe())][name].assign(got->begin(), got->end());
    return {};
  }

  Result<void> compare(Context& c, const std::string& name, const Shared& shared) const {
    const auto me = static_cast<std::size_t>(c.my_pe());
    return test::all_are(c, region, per_pe * static_cast<std::size_t>(c.n_pes()), name + ", cell",
                         [&](std::size_t i) {
                           const auto& theirs = shared.shadows[i / per_pe].at(name);
                           return theirs[me * per_pe + i % per_pe];
                         });
  }
};

// Streams: `Streams::make(context, count)` gives Result<Streams>, streams.at(i) a Stream.
template <class Streams>
class Run {
 public:
  static Result<void> on(Context& c, const Plan& plan, Shared& shared) {
    Run run(c, plan, shared);
    if (auto ready = run.prepare(); !ready) return ready;
    if (auto warm = run.episode(0); !warm) return warm;  // loads every kernel
    const auto begin = std::chrono::steady_clock::now();
    for (;;) {
      if (auto done = run.episode(plan.operations); !done) return done;
      if (c.my_pe() == 0) {
        ++shared.episodes;
        shared.over = std::chrono::steady_clock::now() - begin > plan.time;
      }
      if (auto met = c.barrier(); !met) return met;
      if (shared.over) return {};
      if (auto met = c.barrier(); !met) return met;  // before the flag is written again
    }
  }

 private:
  static constexpr int kKernels = 10;

  Run(Context& c, const Plan& plan, Shared& shared) : c_(c), plan_(plan), shared_(shared) {}

  template <class T>
  static Result<void> take(T& member, Result<T> made) {
    if (!made) return made.error();
    member = *made;
    return {};
  }

  // Collective: the same allocations in the same order on all PEs.
  Result<void> prepare() {
    const LaunchShape s = plan_.shape;
    const std::uint32_t threads = s.blocks * s.threads;
    auto streams = Streams::make(c_, kKernels);
    if (!streams) return streams.error();
    streams_.emplace(std::move(*streams));
    if (auto ok = take(source_, c_.allocate<std::uint32_t>(kPattern)); !ok) return ok;
    if (auto ok = take(sum_, c_.allocate<std::uint64_t>(1)); !ok) return ok;
    const auto n = static_cast<std::size_t>(c_.n_pes());
    if (auto ok = take(rounds_, c_.allocate<std::uint64_t>(n)); !ok) return ok;
    if (auto ok = take(values_, Rows<std::uint64_t>::make(c_, threads)); !ok) return ok;
    if (auto ok = take(atomics64_, Rows<std::uint64_t>::make(c_, threads)); !ok) return ok;
    if (auto ok = take(atomics32_, Rows<std::uint32_t>::make(c_, threads)); !ok) return ok;
    if (auto ok = prepare_for<ByThread>(by_thread_); !ok) return ok;
    if (auto ok = prepare_for<ByWarp>(by_warp_); !ok) return ok;
    if (auto ok = prepare_for<ByBlock>(by_block_); !ok) return ok;
    if (auto ok = take_checks(); !ok) return ok;
    return test::fill(c_, source_, kPattern,
                      [](std::size_t i) { return pattern(static_cast<std::uint32_t>(i)); });
  }

  // What the kernels of one kind of actor need.
  struct Part {
    std::uint32_t actors;
    Rows<std::uint32_t> rows;
    std::uint32_t* scratch;
    std::uint32_t* data;
    std::uint32_t* source;
    std::uint64_t* come;
    std::uint64_t* taken;
  };

  template <class By>
  Result<void> prepare_for(Part& part) {
    part.actors = By::actors(plan_.shape);
    const std::size_t cells = std::size_t{part.actors} * By::kCells;
    if (auto ok = take(part.rows, Rows<std::uint32_t>::make(c_, cells)); !ok) return ok;
    if (auto ok = take(part.scratch, c_.allocate<std::uint32_t>(cells)); !ok) return ok;
    if (auto ok = take(part.data, c_.allocate<std::uint32_t>(cells)); !ok) return ok;
    if (auto ok = take(part.source, c_.allocate<std::uint32_t>(cells)); !ok) return ok;
    if (auto ok = take(part.come, c_.allocate<std::uint64_t>(part.actors)); !ok) return ok;
    return take(part.taken, c_.allocate<std::uint64_t>(part.actors));
  }

  Result<void> take_checks() {
    auto checks = test::Checks::make(c_);
    if (!checks) return checks.error();
    checks_.emplace(*checks);
    return {};
  }

  // All kernels at once; then everything is looked at.
  Result<void> episode(std::uint32_t operations) {
    if (auto met = c_.barrier(); !met) return met;
    operations_ = operations;
    next_ = 0;
    if (auto ok = launch_all(); !ok) return ok;
    for (int i = 0; i < kKernels; ++i) {
      if (auto ended = c_.synchronize(streams_->at(i)); !ended) return ended;
    }
    done_ += operations;
    ++number_;
    if (auto met = c_.barrier(); !met) return met;
    return verify();
  }

  Result<void> launch_all() {
    const std::uint32_t threads = plan_.shape.blocks * plan_.shape.threads;
    const OwnWords<std::uint64_t> values{values_.region, values_.shadow, threads};
    const OwnWords<std::uint64_t> words64{atomics64_.region, atomics64_.shadow, threads};
    const OwnWords<std::uint32_t> words32{atomics32_.region, atomics32_.shadow, threads};
    if (auto ok = launch_for<ByThread>(by_thread_); !ok) return ok;
    if (auto ok = launch_for<ByWarp>(by_warp_); !ok) return ok;
    if (auto ok = launch_for<ByBlock>(by_block_); !ok) return ok;
    if (auto ok = start(Values{chapter(), values}); !ok) return ok;
    if (auto ok = start(Atomics64{chapter(), words64, sum_}); !ok) return ok;
    if (auto ok = start(Atomics32{chapter(), words32}); !ok) return ok;
    return start(Barriers{chapter(), rounds_}, {1, plan_.shape.threads});
  }

  template <class By>
  Result<void> launch_for(const Part& p) {
    const Transfers<By> transfers{chapter(),     source_,   p.rows.region,
                                  p.rows.shadow, p.scratch, p.actors};
    if (auto ok = start(transfers); !ok) return ok;
    return start(Parcels<By>{chapter(), p.data, p.source, p.come, p.taken});
  }

  // What the next kernel of this episode gets.
  Episode chapter() const {
    return {number_ << 8 | static_cast<std::uint64_t>(next_), operations_, done_,
            checks_->expect()};
  }

  template <class Kernel>
  Result<void> start(const Kernel& kernel) {
    return start(kernel, plan_.shape);
  }
  template <class Kernel>
  Result<void> start(const Kernel& kernel, LaunchShape shape) {
    checked_ += std::uint64_t{shape.blocks} * shape.threads;
    return c_.launch_on(streams_->at(next_++), kernel, shape);
  }

  Result<void> verify() {
    if (auto ok = checks_->all_held(checked_); !ok) return ok;
    if (auto ok = add_up(); !ok) return ok;
    const auto with_all_rows = [&](const auto& act) -> Result<void> {
      if (auto ok = act(by_thread_.rows, "threads' rows"); !ok) return ok;
      if (auto ok = act(by_warp_.rows, "warps' rows"); !ok) return ok;
      if (auto ok = act(by_block_.rows, "blocks' rows"); !ok) return ok;
      if (auto ok = act(values_, "values"); !ok) return ok;
      if (auto ok = act(atomics64_, "64-bit atomics"); !ok) return ok;
      return act(atomics32_, "32-bit atomics");
    };
    const auto publish = [&](const auto& rows, const char* name) {
      return rows.publish(c_, name, shared_);
    };
    const auto compare = [&](const auto& rows, const char* name) {
      return rows.compare(c_, name, shared_);
    };
    if (auto ok = with_all_rows(publish); !ok) return ok;
    if (auto met = c_.barrier(); !met) return met;
    if (auto ok = with_all_rows(compare); !ok) return ok;
    return c_.barrier();
  }

  // The words that all threads of all PEs add to.
  Result<void> add_up() {
    const auto mine = test::download(c_, sum_);
    if (!mine) return mine.error();
    shared_.sum += *mine - std::exchange(last_sum_, *mine);
    if (auto met = c_.barrier(); !met) return met;
    const auto n = static_cast<std::uint64_t>(c_.n_pes());
    return test::same(shared_.sum.load(), n * plan_.shape.blocks * plan_.shape.threads * done_,
                      "sum of all adds");
  }

  Context& c_;
  Plan plan_;
  Shared& shared_;
  std::optional<Streams> streams_;
  std::optional<test::Checks> checks_;
  std::uint32_t* source_ = nullptr;
  std::uint64_t* sum_ = nullptr;
  std::uint64_t* rounds_ = nullptr;
  Rows<std::uint64_t> values_, atomics64_;
  Rows<std::uint32_t> atomics32_;
  Part by_thread_{}, by_warp_{}, by_block_{};
  std::uint32_t operations_ = 0;
  int next_ = 0;              // kernel of this episode
  std::uint64_t number_ = 0;  // of the episode
  std::uint64_t done_ = 0;    // operations of each actor so far
  std::uint64_t checked_ = 0;
  std::uint64_t last_sum_ = 0;
};

// Runs the plan on `n_pes` PEs. Fails the calling test where anything is wrong.
template <class Streams>
void expect_run(int n_pes, const Options& options, const Plan& plan) {
  Shared shared(n_pes);
  test::expect_job(n_pes, options, [&](Context& c) { return Run<Streams>::on(c, plan, shared); });
  if (testing::Test::IsSkipped()) return;
  testing::Test::RecordProperty("episodes", std::to_string(shared.episodes.load()));
  EXPECT_GE(shared.episodes.load(), 1u);
}

}  // namespace gdakit::soak
