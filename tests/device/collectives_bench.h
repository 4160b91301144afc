// A bench for collective operations: memory for all of them, and what each must leave there on a
// member, on a PE that is none, and behind its last element.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>

#include "tests/device/collectives_kernels.h"
#include "tests/device/collectives_model.h"

namespace gdakit::test {

// What one run of all operations is about.
struct CollectiveRound {
  Team team;
  std::size_t count;
  int root;
  std::ptrdiff_t dest_stride = 2;  // of alltoalls, like the next
  std::ptrdiff_t source_stride = 1;
};

template <class T>
class CollectiveBench {
 public:
  static constexpr std::size_t kMostStride = 3;

  // For up to `most` elements of a member. Collective.
  static Result<CollectiveBench> make(Context& c, std::size_t most) {
    const std::size_t all = most * static_cast<std::size_t>(c.n_pes());
    CollectiveBench bench(c);
    for (T** memory : dense(bench.to_)) {
      Result<T*> made = c.allocate<T>(all + 1);
      if (!made) return made.error();
      *memory = *made;
    }
    for (T** strided : {&bench.source_, &bench.to_.alltoalls}) {
      Result<T*> made = c.allocate<T>(kMostStride * all + 1);
      if (!made) return made.error();
      *strided = *made;
    }
    return bench;
  }

  // All operations by one group, and what they left. By all PEs, members or not.
  template <By kBy>
  Result<void> run(const CollectiveRound& round) {
    const int me = c_->team_my_pe(round.team);
    auto checks = Checks::make(*c_);
    if (!checks) return checks.error();
    if (auto done = prepare(round); !done) return done;
    if (auto done = c_->barrier(); !done) return done;
    if (me >= 0) {
      const AllOperations<kBy, T> kernel{round.team,
                                         source_,
                                         to_,
                                         round.count,
                                         collect_count(me, round.count),
                                         round.root,
                                         round.dest_stride,
                                         round.source_stride,
                                         checks->expect()};
      const std::uint32_t threads = kThreads<kBy>;
      if (auto done = c_->launch(kernel, {.threads = threads}); !done) return done;
      if (auto held = checks->all_held(threads * kernel.kExpectations); !held) return held;
    }
    if (auto done = c_->barrier(); !done) return done;  // before a PE that is no member looks
    const Result<void> done = check(round);
    if (!done) {
      return done.error().within(std::string("by a ") + name_of(kBy) + ", count " +
                                 std::to_string(round.count) + ", root " +
                                 std::to_string(round.root));
    }
    return c_->barrier();
  }

  Result<void> run_by_all_groups(const CollectiveRound& round) {
    Result<void> done = run<By::thread>(round);
    if (done) done = run<By::warp>(round);
    if (done) done = run<By::block>(round);
    return done;
  }

 private:
  explicit CollectiveBench(Context& c) : c_(&c) {}

  // All but that of alltoalls.
  template <class To>
  static auto dense(To& to) {
    return std::array{&to.broadcast, &to.broadcast_in_place, &to.fcollect, &to.fcollect_in_place,
                      &to.collect,   &to.alltoall,           &to.reduce,   &to.reduce_in_place,
                      &to.scatter,   &to.scatter_in_place};
  }

  // What no operation gives.
  static std::vector<T> untouched(std::size_t count) {
    std::vector<T> all(count);
    if (count != 0) std::memset(static_cast<void*>(all.data()), 0xa5, count * sizeof(T));
    return all;
  }
  static std::vector<T> given_by(int pe, std::size_t count) {
    return list<T>(count, [pe](std::size_t i) { return given(pe, i); });
  }
  // What every PE has room for, members or not.
  std::size_t room(const CollectiveRound& round) const {
    return static_cast<std::size_t>(c_->n_pes()) * round.count;
  }
  std::size_t strided_room(const CollectiveRound& round) const {
    return static_cast<std::size_t>(round.dest_stride) * room(round);
  }

  Result<void> prepare(const CollectiveRound& round) {
    const int me = c_->team_my_pe(round.team);
    const std::size_t all = room(round);
    for (T* const* memory : dense(to_)) {
      if (auto done = upload(*c_, *memory, untouched(all + 1)); !done) return done;
    }
    if (auto done = upload(*c_, to_.alltoalls, untouched(strided_room(round) + 1)); !done) {
      return done;
    }
    if (me < 0) return {};
    const auto stride = static_cast<std::size_t>(round.source_stride);
    const auto members = static_cast<std::size_t>(c_->team_n_pes(round.team));
    const std::vector<T> mine = given_by(me, round.count);
    Result<void> done = upload(*c_, source_, given_by(me, all * stride));
    if (done && me == round.root) done = upload(*c_, to_.broadcast_in_place, mine);
    const std::size_t place = static_cast<std::size_t>(me) * round.count;
    if (done) done = upload(*c_, to_.fcollect_in_place + place, mine);
    if (done) done = upload(*c_, to_.reduce_in_place, mine);
    if (done) done = upload(*c_, to_.scatter_in_place, given_by(me, members * round.count));
    return done;
  }

  // ok if `objects` are those of `model`, and what lies behind them is untouched.
  Result<void> holds(const T* objects, std::vector<T> model, const std::string& what) const {
    const std::vector<T> behind = untouched(1);
    model.insert(model.end(), behind.begin(), behind.end());
    const auto got = download(*c_, objects, model.size());
    if (!got) return got.error();
    for (std::size_t i = 0; i < model.size(); ++i) {
      if (std::memcmp(&(*got)[i], &model[i], sizeof(T)) == 0) continue;
      return mismatch(what + ": element " + std::to_string(i) + " of " +
                      std::to_string(model.size() - 1) + " is wrong");
    }
    return {};
  }

  Result<void> check(const CollectiveRound& round) const {
    return c_->team_my_pe(round.team) < 0 ? check_outside(round) : check_member(round);
  }

  Result<void> check_outside(const CollectiveRound& round) const {
    for (T* const* memory : dense(to_)) {
      const auto done = holds(*memory, untouched(room(round)), "memory of a PE that is no member");
      if (!done) return done;
    }
    return holds(to_.alltoalls, untouched(strided_room(round)), "strided memory of such a PE");
  }

  Result<void> check_member(const CollectiveRound& round) const {
    const int n = c_->team_n_pes(round.team);
    const int me = c_->team_my_pe(round.team);
    const std::size_t count = round.count;
    const auto from_root = given_by(round.root, count);
    const auto together = fcollect_model<T>(n, count);
    const auto sums = sum_model<T>(n, 0, count);
    const auto mine = sum_model<T>(n, static_cast<std::size_t>(me) * count, count);
    auto scattered = given_by(me, static_cast<std::size_t>(n) * count);
    std::copy(mine.begin(), mine.end(), scattered.begin());
    Result<void> done = holds(to_.broadcast, from_root, "broadcast");
    if (done) done = holds(to_.broadcast_in_place, from_root, "broadcast in place");
    if (done) done = holds(to_.fcollect, together, "fcollect");
    if (done) done = holds(to_.fcollect_in_place, together, "fcollect in place");
    if (done) done = holds(to_.collect, collect_model<T>(n, count), "collect");
    if (done) done = holds(to_.alltoall, alltoall_model<T>(n, me, count, 1), "alltoall");
    if (done) done = holds(to_.alltoalls, alltoalls_left(round), "alltoalls");
    if (done) done = holds(to_.reduce, sums, "reduce");
    if (done) done = holds(to_.reduce_in_place, sums, "reduce in place");
    if (done) done = holds(to_.scatter, mine, "reduce_scatter");
    if (done) done = holds(to_.scatter_in_place, scattered, "reduce_scatter in place");
    return done;
  }

  // With the gaps between the elements, which are nobody's to write.
  std::vector<T> alltoalls_left(const CollectiveRound& round) const {
    const auto crossed =
        alltoall_model<T>(c_->team_n_pes(round.team), c_->team_my_pe(round.team), round.count,
                          static_cast<std::size_t>(round.source_stride));
    const auto stride = static_cast<std::size_t>(round.dest_stride);
    auto all = untouched(stride * crossed.size());
    for (std::size_t i = 0; i < crossed.size(); ++i) all[i * stride] = crossed[i];
    return all;
  }

  Context* c_;
  T* source_ = nullptr;
  Destinations<T> to_{};
};

}  // namespace gdakit::test
