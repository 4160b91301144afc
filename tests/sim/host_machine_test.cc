#include "sim/host_machine.h"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <thread>

#include "device/machine_concept.h"
#include "tests/sim/run.h"

namespace gdakit::sim {
namespace {

static_assert(MachineFor<HostMachine, Acquire>);
static_assert(MachineFor<HostMachine, Release>);
static_assert(MachineFor<HostMachine, AcqRel>);

template <class T>
concept HasFetchAdd = requires(HostMachine& m, T* word) {
  m.fetch_add(kRelaxed, word, T{});
};
static_assert(HasFetchAdd<std::int32_t> && HasFetchAdd<std::uint64_t>);
static_assert(!HasFetchAdd<std::uint16_t> && !HasFetchAdd<double>);

template <class T>
concept HasLoad = requires(HostMachine& m, T* word) {
  m.load(kRelaxed, word);
};
struct TwelveBytes {
  std::uint32_t words[3];
};
static_assert(HasLoad<float> && HasLoad<const void*> && !HasLoad<TwelveBytes>);

// Runs `body` as the only thread of a grid.
template <class Body>
void as_thread(const Body& body) {
  run({1, 1}, body);
}

template <class T>
void check_access(HostMachine& m, T value) {
  T cells[3] = {};
  m.store(kRelease, &cells[1], value);
  EXPECT_EQ(m.load(kAcquire, &cells[1]), value);
  EXPECT_EQ(m.load(kRelaxed, &cells[0]), T{});
  EXPECT_EQ(m.load(kRelaxed, &cells[2]), T{});
}

TEST(HostMachine, LoadsAndStoresEveryWidth) {
  as_thread([](HostMachine& m) {
    check_access<std::uint8_t>(m, 0xa5);
    check_access<std::int16_t>(m, -3);
    check_access<std::uint32_t>(m, 0xdeadbeef);
    check_access<std::int64_t>(m, std::numeric_limits<std::int64_t>::min());
    check_access<float>(m, 1.5f);
    check_access<double>(m, -0.25);
    check_access<HostMachine*>(m, &m);
    check_access<Site>(m, Site::signal);
  });
}

template <class T>
void check_read_modify_write(HostMachine& m) {
  T word = 12;
  EXPECT_EQ(m.fetch_add(kAcqRel, &word, 5), T{12});
  EXPECT_EQ(m.fetch_or(kRelease, &word, 0x60), T{17});
  EXPECT_EQ(m.fetch_and(kAcquire, &word, 0x41), T{0x71});
  EXPECT_EQ(m.fetch_xor(kRelaxed, &word, 0x03), T{0x41});
  EXPECT_EQ(m.exchange(kAcqRel, &word, 7), T{0x42});
  EXPECT_EQ(m.compare_exchange(kAcqRel, &word, 8, 9), T{7});  // not the expected value: stays
  EXPECT_EQ(m.compare_exchange(kRelease, &word, 7, 9), T{7});
  EXPECT_EQ(m.fetch_max(kRelaxed, &word, 3), T{9});
  EXPECT_EQ(m.fetch_max(kAcqRel, &word, 30), T{9});
  EXPECT_EQ(m.load(kRelaxed, &word), T{30});
}

TEST(HostMachine, ReadModifyWritesReturnTheOldValue) {
  as_thread([](HostMachine& m) {
    check_read_modify_write<std::uint32_t>(m);
    check_read_modify_write<std::int32_t>(m);
    check_read_modify_write<std::uint64_t>(m);
    check_read_modify_write<std::int64_t>(m);
  });
}

TEST(HostMachine, FetchMaxComparesBySign) {
  as_thread([](HostMachine& m) {
    std::int32_t below_zero = -1;
    m.fetch_max(kRelaxed, &below_zero, 1);
    EXPECT_EQ(below_zero, 1);
    auto greatest = std::numeric_limits<std::uint32_t>::max();
    m.fetch_max(kRelaxed, &greatest, 1);
    EXPECT_EQ(greatest, std::numeric_limits<std::uint32_t>::max());
  });
}

TEST(HostMachine, ExchangesTakeAnyTypeOfTheirSize) {
  as_thread([](HostMachine& m) {
    float real = 1.0f;
    EXPECT_EQ(m.exchange(kRelaxed, &real, 2.0f), 1.0f);
    EXPECT_EQ(m.compare_exchange(kRelaxed, &real, 2.0f, 3.0f), 2.0f);
    EXPECT_EQ(real, 3.0f);
  });
}

TEST(HostMachine, CopiesExactlyTheBytesAskedFor) {
  as_thread([](HostMachine& m) {
    const char from[] = "abcdefgh";
    char to[] = "--------";
    m.copy(to + 1, from, 5);
    EXPECT_STREQ(to, "-abcde--");

    std::uint64_t doorbells[3] = {};
    m.store_mmio(&doorbells[1], 0x0102030405060708u);
    EXPECT_EQ(doorbells[0] | doorbells[2], 0u);
    EXPECT_EQ(doorbells[1], 0x0102030405060708u);

    format::Segment segments[3] = {};
    format::Segment pattern;
    std::memset(static_cast<void*>(&pattern), 0x5a, sizeof(pattern));
    m.store_weak(&segments[1], pattern);
    const format::Segment zero{};
    EXPECT_EQ(std::memcmp(&segments[0], &zero, sizeof(zero)), 0);
    EXPECT_EQ(std::memcmp(&segments[1], &pattern, sizeof(pattern)), 0);
    EXPECT_EQ(std::memcmp(&segments[2], &zero, sizeof(zero)), 0);
  });
}

// A release that pairs with an acquire hands over plain bytes between OS threads; a ThreadSanitizer
// build shows a race if either is lost.
enum class Publish { by_store, by_fence, by_add, by_doorbell };

void hand_over(Publish how) {
  constexpr std::uint64_t kRounds = 200;
  std::uint64_t payload[4] = {};
  std::uint64_t ready = 0;
  std::uint64_t taken = 0;
  const auto produce = [&](HostMachine& m, std::uint64_t round) {
    std::uint64_t value[4] = {round, round, round, round};
    m.copy(payload, value, sizeof(payload));
    if (how == Publish::by_store) m.store(kRelease, &ready, round);
    if (how == Publish::by_add) m.fetch_add(kRelease, &ready, 1);
    if (how == Publish::by_doorbell) m.store_mmio(&ready, round);
    if (how == Publish::by_fence) {
      m.fence(kRelease);
      m.store(kRelaxed, &ready, round);
    }
    while (m.load(kAcquire, &taken) != round) m.spin(Site::user);
  };
  const auto consume = [&](HostMachine& m, std::uint64_t round) {
    while (m.load(kRelaxed, &ready) != round) m.spin(Site::user);
    m.fence(kAcquire);
    std::uint64_t value[4];
    m.copy(value, payload, sizeof(payload));
    for (std::uint64_t word : value) EXPECT_EQ(word, round);
    m.store(kRelease, &taken, round);
  };
  const auto kernel = [&](HostMachine& m) {
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      m.block_index() == 0 ? produce(m, round) : consume(m, round);
    }
  };
  run({2, 1}, kernel, {.workers = 2});
}

TEST(HostMachine, ReleaseHandsPlainBytesToAnAcquire) {
  hand_over(Publish::by_store);
  hand_over(Publish::by_fence);
  hand_over(Publish::by_add);
  hand_over(Publish::by_doorbell);
}

TEST(HostMachine, ClockIsMonotonicInNanoseconds) {
  as_thread([](HostMachine& m) {
    const std::uint64_t start = m.clock_ns();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const std::uint64_t passed = m.clock_ns() - start;
    EXPECT_GE(passed, 2'000'000u);
    EXPECT_LT(passed, 10'000'000'000u);
  });
}

TEST(HostMachine, SpinLetsOthersRun) {
  std::string log;
  run({1, 3}, [&](HostMachine& m) {
    for (int i = 0; i != 2; ++i) {
      log += static_cast<char>('a' + m.thread_index());
      m.spin(Site::user);
    }
  });
  EXPECT_EQ(log, "abcabc");
}

}  // namespace
}  // namespace gdakit::sim
