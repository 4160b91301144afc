// Which waits of a kernel end when a PE is lost, and what they return.
#include "device/loss.h"

#include <array>
#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "device/watchdog.h"
#include "sim/emulator.h"

namespace gdakit {
namespace {

using sim::HostMachine;

constexpr std::int32_t kPes = 4;

// The team of the world's PEs that `members` names, both in order.
class TeamOf {
 public:
  explicit TeamOf(std::vector<std::int32_t> members) : members_(std::move(members)) {
    for (std::size_t number = 0; number < members_.size(); ++number) {
      numbers_.at(static_cast<std::size_t>(members_[number])) = static_cast<std::int32_t>(number);
    }
  }
  TeamView view() const {
    TeamView team{};
    team.n_pes = static_cast<std::int32_t>(members_.size());
    team.members = members_.data();
    team.numbers = numbers_.data();
    return team;
  }

 private:
  std::vector<std::int32_t> members_;
  std::array<std::int32_t, kPes> numbers_ = {-1, -1, -1, -1};
};

// One wait by one thread, without a time limit, and a host that tells by hand.
class Loss : public testing::Test {
 protected:
  // The PE whose loss has ended the wait.
  template <class Whom>
  std::int32_t wait(const Whom& whom) {
    std::int32_t lost = -1;
    const auto kernel = [&](HostMachine& m) {
      Watchdog<HostMachine, DeviceContext, Whom> watchdog(m, context_, Site::user, whom);
      waits_ = true;
      while (watchdog.turn()) {
      }
      lost = watchdog.lost_pe();
    };
    const Result<void> ran = sim::launch({1, 1}, {.workers = 1, .stacks = {}}, kernel);
    EXPECT_TRUE(ran) << ran.error().message();
    return lost;
  }

  void lose(std::int32_t pe) {
    __atomic_store_n(&lost_[pe], 1, __ATOMIC_RELEASE);
    __atomic_store_n(&state_.losses, state_.losses + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&state_.new_loss, pe + 1, __ATOMIC_RELEASE);
  }
  void acknowledge() { __atomic_store_n(&state_.new_loss, 0, __ATOMIC_RELEASE); }

  // While the wait lasts: `first` is lost, which does not concern it, and long after it `second`.
  template <class Whom>
  std::int32_t wait_through(const Whom& whom, std::int32_t first, std::int32_t second) {
    std::atomic<bool> second_is_lost = false;
    std::thread host([&] {
      while (!waits_) std::this_thread::yield();
      lose(first);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      second_is_lost = true;
      lose(second);
    });
    const std::int32_t lost = wait(whom);
    EXPECT_TRUE(second_is_lost) << "the wait ended by a loss that does not concern it";
    host.join();
    return lost;
  }

  std::uint64_t lost_[kPes] = {};
  PeState state_{};
  PeWords words_{};
  DeviceContext context_ = [this] {
    state_.lost = reinterpret_cast<std::uintptr_t>(lost_);
    DeviceContext context{};
    context.state = &state_;
    context.words = &words_;
    return context;
  }();
  std::atomic<bool> waits_ = false;
};

TEST_F(Loss, OfAnyPeEndsAWaitForAnybody) {
  lose(3);
  EXPECT_EQ(wait(WaitsForAnybody{}), 3);
}

TEST_F(Loss, EndsAWaitThatIsUnderWay) {
  std::thread host([&] {
    while (!waits_) std::this_thread::yield();
    lose(1);
  });
  EXPECT_EQ(wait(WaitsForAnybody{}), 1);
  host.join();
}

TEST_F(Loss, ThatIsAcknowledgedEndsNoWaitForAnybody) {
  lose(1);
  acknowledge();
  std::atomic<bool> again = false;
  std::thread host([&] {
    while (!waits_) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    again = true;
    lose(2);
  });
  EXPECT_EQ(wait(WaitsForAnybody{}), 2);
  EXPECT_TRUE(again);
  host.join();
}

TEST_F(Loss, OfTheSenderAloneEndsAWaitForItsMessage) {
  EXPECT_EQ(wait_through(WaitsForSender{2, 3}, 1, 2), 2);
}

TEST_F(Loss, OfAnyPeEndsAWaitForAMessageOfAny) {
  lose(1);
  EXPECT_EQ(wait(WaitsForSender{0, kPes}), 1);
}

TEST_F(Loss, OfAMemberEndsACollective) {
  const TeamOf team({0, 2});
  EXPECT_EQ(wait_through(WaitsForTeam{team.view()}, 3, 2), 2);
}

// The program has heard of it, and the member is still not there.
TEST_F(Loss, OfAMemberEndsACollectiveAlsoWhenItIsAcknowledged) {
  const TeamOf team({0, 1, 2});
  lose(1);
  acknowledge();
  EXPECT_EQ(wait(WaitsForTeam{team.view()}), 1);
}

// PE 0 has gone because PE 2 had, of which the host tells.
TEST_F(Loss, OfSeveralMembersTheFirstIsNamed) {
  const TeamOf team({0, 1, 2});
  lose(0);
  lose(2);
  EXPECT_EQ(wait(WaitsForTeam{team.view()}), 2);
}

}  // namespace
}  // namespace gdakit
