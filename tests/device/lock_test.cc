// Locks: one holder at a time, what he did is there for the next one, first come first served, and
// what happens to those who misuse them or wait in vain.
#include "tests/device/by.h"
#include "tests/support/job.h"

namespace gdakit {
namespace {

using test::acts;
using test::all_are;
using test::By;
using test::Checks;
using test::expect_job;
using test::group_of;
using test::in_turn;
using test::job_options;
using test::mismatch;

constexpr int kRounds = 4;
constexpr unsigned kBlocks = 3;

// Everybody adds to a number of PE 0, through the NIC and in two steps, and to one of his own PE in
// two plain steps: what one reads the last holder has written.
template <By kBy>
struct CountUnderLock {
  Lock* lock;
  std::uint64_t* shared;
  std::uint64_t* own;
  test::Expect expect;

  // With By::thread all lanes of a warp come, one by one.
  static constexpr unsigned kThreads = kBy == By::thread ? 5 : 40;
  static constexpr unsigned kHolders = kBlocks * (kBy == By::thread ? kThreads : 1);

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if (kBy == By::warp && pe.machine().warp() != 0) return;
    auto group = group_of<kBy>(pe);
    for (int round = 0; round < kRounds; ++round) {
      expect(pe, group.set_lock(lock).ok());
      if (kBy == By::thread || pe.machine().thread_index() == 0) count(pe);
      expect(pe, group.clear_lock(lock).ok());
    }
  }

  template <class Pe>
  GDAKIT_DEVICE void count(Pe& pe) const {
    auto& m = pe.machine();
    pe.put_value(shared, pe.get_value(shared, 0) + 1, 0);
    m.store_weak(own, m.load_weak(own) + 1);
  }

  static constexpr unsigned threads() {
    return kBlocks * (kBy == By::thread ? kThreads : kBy == By::warp ? kWarpSize : kThreads);
  }
};

template <By kBy>
Result<void> count_under_lock(Context& c) {
  using Kernel = CountUnderLock<kBy>;
  auto locks = c.allocate<Lock>(3);
  auto numbers = c.allocate<std::uint64_t>(2);
  auto checks = Checks::make(c);
  if (!locks || !numbers || !checks) return mismatch("allocate");
  for (std::uint64_t i = 0; i < 3; ++i) {  // the three have different homes
    const Kernel kernel{*locks + i, *numbers, *numbers + 1, checks->expect()};
    if (auto ran = c.launch(kernel, {kBlocks, Kernel::kThreads}); !ran) return ran;
    if (auto met = c.barrier(); !met) return met;
    const std::uint64_t each = (i + 1) * kRounds * Kernel::kHolders;
    if (c.my_pe() == 0) {
      const auto all = static_cast<std::uint64_t>(c.n_pes()) * each;
      if (auto ok = test::is(c, *numbers, all, "shared number"); !ok) return ok;
    }
    if (auto ok = test::is(c, *numbers + 1, each, "own number"); !ok) return ok;
    if (auto met = c.barrier(); !met) return met;  // the others write once PE 0 has read
  }
  return checks->all_held(std::uint64_t{3} * 2 * kRounds * Kernel::threads());
}

class LockOf : public testing::TestWithParam<int> {};

TEST_P(LockOf, LetsOneInAtATime) {
  Options options = job_options();
  options.emulator_workers = 2;
  expect_job(GetParam(), in_turn(options), [](Context& c) -> Result<void> {
    if (auto ok = count_under_lock<By::thread>(c); !ok) return ok;
    if (auto ok = count_under_lock<By::warp>(c); !ok) return ok;
    return count_under_lock<By::block>(c);
  });
}

INSTANTIATE_TEST_SUITE_P(Pes, LockOf, testing::Values(1, 2, 3, 5));

// Writes down who has the lock, in PE 0's memory.
struct Signed {
  Lock* lock;
  std::uint64_t* entries;  // how many there are, then who
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe, std::uint64_t who) const {
    const std::uint64_t count = pe.get_value(entries, 0);
    pe.put_value(entries + 1 + count, who, 0);
    pe.put_value(entries, count + 1, 0);
    pe.clear_lock(lock);
  }
};

// PE 0 has the lock while first PE 1, then PE 2, then its own second block come to wait for it.
struct ComeInTurn {
  Signed sign;
  std::uint64_t* go;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    Lock* const lock = sign.lock;
    if (pe.my_pe() != 0) {
      if (m.block_index() != 0) return;
      pe.wait_until(go, Compare::eq, 1);
      expect(pe, pe.set_lock(lock).ok());
      return sign(pe, static_cast<std::uint64_t>(pe.my_pe()));
    }
    if (m.block_index() == 1) {
      pe.wait_until(go, Compare::eq, 1);
      expect(pe, pe.set_lock(lock).ok());
      return sign(pe, 10);
    }
    expect(pe, pe.set_lock(lock).ok());
    pe.put_value(go, 1, 1);
    while (m.load(order::RelaxedSystem{}, &lock->next) != 2) m.spin(Site::user);
    pe.put_value(go, 1, 2);
    while (pe.get_value(&lock->next, 1) != 3) m.spin(Site::user);
    pe.put_value(go, 1, 0);
    while (m.load(order::RelaxedSystem{}, &lock->tickets) != 2) m.spin(Site::user);
    sign(pe, 0);
  }
};

TEST(LockOrder, IsFirstComeFirstServed) {
  expect_job(3, job_options(), [](Context& c) -> Result<void> {
    auto lock = c.allocate<Lock>(1);
    auto entries = c.allocate<std::uint64_t>(5);
    auto go = c.allocate<std::uint64_t>(1);
    auto checks = Checks::make(c);
    if (!lock || !entries || !go || !checks) return mismatch("allocate");
    const ComeInTurn kernel{{*lock, *entries}, *go, checks->expect()};
    if (auto ran = c.launch(kernel, {2, 1}); !ran) return ran;
    if (auto met = c.barrier(); !met) return met;
    if (auto ok = checks->all_held(c.my_pe() == 0 ? 2 : 1); !ok) return ok;
    if (c.my_pe() != 0) return {};
    return all_are(c, *entries, 5, "entry", [](std::size_t i) {
      constexpr std::uint64_t kWanted[] = {4, 0, 1, 2, 10};
      return kWanted[i];
    });
  });
}

struct TestTaken {
  Lock* lock;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto block = pe.block();
    if (pe.my_pe() == 0) expect(pe, block.test_lock(lock));
    pe.block().barrier_all();
    Status status;
    expect(pe, !block.test_lock(lock, &status) && status.ok());  // not even where it is held
    pe.block().barrier_all();
    if (pe.my_pe() == 0) expect(pe, block.clear_lock(lock).ok());
    pe.block().barrier_all();
    if (pe.my_pe() == 1) {
      expect(pe, block.test_lock(lock));
      expect(pe, block.clear_lock(lock).ok());
    }
  }
};

TEST(LockTest, TakesAFreeLockAndNoOther) {
  expect_job(2, job_options(), [](Context& c) -> Result<void> {
    auto lock = c.allocate<Lock>(1);
    auto checks = Checks::make(c);
    if (!lock || !checks) return mismatch("allocate");
    if (auto ran = c.launch(TestTaken{*lock, checks->expect()}, {1, 40}); !ran) return ran;
    return checks->all_held(3 * 40);
  });
}

struct Misuse {
  Lock* lock;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto warp = pe.warp();
    expect(pe, warp.clear_lock(lock).code == StatusCode::invalid_argument);
    auto* const skewed = reinterpret_cast<Lock*>(reinterpret_cast<std::uint64_t>(lock) + 8);
    expect(pe, warp.set_lock(skewed).code == StatusCode::invalid_argument);
    Lock local{};
    Status status;
    expect(pe, !warp.test_lock(&local, &status) && status.code == StatusCode::invalid_address);
    expect(pe, warp.set_lock(lock).ok());
    expect(pe, warp.clear_lock(lock).ok());
    expect(pe, warp.clear_lock(lock).code == StatusCode::invalid_argument);
  }
};

TEST(LockMisuse, IsAnErrorAndNoHang) {
  expect_job(1, job_options(), [](Context& c) -> Result<void> {
    auto lock = c.allocate<Lock>(2);
    auto checks = Checks::make(c);
    if (!lock || !checks) return mismatch("allocate");
    const Result<void> ran = c.launch(Misuse{*lock, checks->expect()}, {1, kWarpSize});
    if (ran) return mismatch("the misuse was not reported");
    if (ran.error().message().find("does not hold the lock") == std::string::npos) {
      return mismatch(ran.error().message());
    }
    return checks->all_held(6 * kWarpSize);
  });
}

// PE 0 takes the lock and keeps it; the other one waits in vain.
struct KeepLock {
  Lock* lock;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const StatusCode wanted = pe.my_pe() == 0 ? StatusCode::ok : StatusCode::stalled;
    expect(pe, pe.set_lock(lock).code == wanted);
  }
};

Result<void> keep_lock(Context& c, Lock* lock, const Checks& checks, std::string* report) {
  const Result<void> ran = c.launch(KeepLock{lock, checks.expect()}, {1, 1});
  if (auto ok = checks.all_held(1); !ok) return ok;
  *report = ran ? "" : ran.error().message();
  return {};
}

TEST(LockStall, NamesTheLockAndThePeThatKeepsIt) {
  Options options = job_options();
  options.watchdog = test::patience(std::chrono::milliseconds(200));
  std::string reports[2];
  expect_job(
      2, options,
      [&](Context& c) -> Result<void> {
        auto lock = c.allocate<Lock>(1, "door");
        auto checks = Checks::make(c);
        if (!lock || !checks) return mismatch("allocate");
        if (c.my_pe() == 0) {
          if (auto ok = keep_lock(c, *lock, *checks, &reports[0]); !ok) return ok;
        }
        if (auto met = c.barrier(); !met) return met;
        if (c.my_pe() == 1) {
          if (auto ok = keep_lock(c, *lock, *checks, &reports[1]); !ok) return ok;
          char address[64];
          std::snprintf(address, sizeof(address), "lock at 'door' (64 bytes) [%p]",
                        static_cast<void*>(*lock));
          if (reports[1].find(address) == std::string::npos) return mismatch(reports[1]);
        }
        return c.barrier();
      },
      test::Kernels::of_one_pe);
  if (testing::Test::IsSkipped()) return;
  EXPECT_EQ(reports[0], "");
  EXPECT_NE(reports[1].find("PE 1 stalled"), std::string::npos) << reports[1];
  EXPECT_NE(reports[1].find("for a lock"), std::string::npos) << reports[1];
  EXPECT_NE(reports[1].find("to blame: PE 0, which did not hand the lock over"), std::string::npos)
      << reports[1];
}

struct WaitInVain {
  Lock* lock;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    expect(pe, pe.set_lock(lock).code == StatusCode::stalled);
    Status status;
    expect(pe, !pe.test_lock(lock, &status) && status.code == StatusCode::stalled);
    expect(pe, pe.set_lock(lock).code == StatusCode::stalled);
  }
};

TEST(LockStall, OfOnePeBlamesItsOwnThreadAndBreaksTheLock) {
  Options options = job_options();
  options.watchdog = test::patience(std::chrono::milliseconds(200));
  expect_job(1, options, [](Context& c) -> Result<void> {
    auto lock = c.allocate<Lock>(1);
    auto checks = Checks::make(c);
    if (!lock || !checks) return mismatch("allocate");
    std::string report;
    if (auto ok = keep_lock(c, *lock, *checks, &report); !ok) return ok;
    const Result<void> ran = c.launch(WaitInVain{*lock, checks->expect()}, {1, 1});
    if (ran) return mismatch("the stall was not reported");
    if (ran.error().message().find("ticket 1 waits for ticket 0 of this PE") == std::string::npos) {
      return mismatch(ran.error().message());
    }
    return checks->all_held(4);
  });
}

}  // namespace
}  // namespace gdakit
