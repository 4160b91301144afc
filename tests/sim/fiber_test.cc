#include "sim/fiber.h"

#include <cstring>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace gdakit::sim {
namespace {

// A fiber whose body is any callable that takes the fiber.
class TestFiber {
 public:
  explicit TestFiber(std::function<void(Fiber&)> body)
      : body_(std::move(body)), stack_(*pool_.take()) {
    fiber_.emplace(
        stack_,
        [](void* argument) {
          auto& self = *static_cast<TestFiber*>(argument);
          self.body_(*self.fiber_);
        },
        this);
  }
  ~TestFiber() {
    fiber_.reset();
    pool_.give(stack_);
  }

  Fiber* operator->() { return &*fiber_; }
  void destroy() { fiber_.reset(); }

 private:
  std::function<void(Fiber&)> body_;
  StackPool pool_{StackOptions{}};
  Stack stack_;
  std::optional<Fiber> fiber_;
};

struct NoteOnExit {
  std::string* log;
  const char* text;
  ~NoteOnExit() { *log += text; }
};

TEST(Fiber, GoesOnWhereItSuspended) {
  std::string log;
  TestFiber fiber([&](Fiber& self) {
    for (int i = 0; i != 3; ++i) {
      log += std::to_string(i);
      self.suspend();
    }
  });
  EXPECT_EQ(log, "");  // nothing runs before the first resume
  for (const char* expected : {"0", "0-1", "0-1-2"}) {
    fiber->resume();
    EXPECT_EQ(log, expected);
    EXPECT_FALSE(fiber->ended());
    log += "-";
  }
  fiber->resume();
  EXPECT_TRUE(fiber->ended());
  EXPECT_EQ(fiber->exception(), nullptr);
}

TEST(Fiber, CarriesTheBodysExceptionToItsOwner) {
  TestFiber fiber([](Fiber& self) {
    self.suspend();
    throw std::runtime_error("the body failed");
  });
  fiber->resume();
  EXPECT_EQ(fiber->exception(), nullptr);
  fiber->resume();
  ASSERT_TRUE(fiber->ended());
  EXPECT_THROW(std::rethrow_exception(fiber->exception()), std::runtime_error);
}

TEST(Fiber, CatchesItsOwnExceptionsBesideOthers) {
  std::string log;
  const auto body = [&](Fiber& self) {
    try {
      self.suspend();
      throw std::runtime_error("inner");
    } catch (const std::runtime_error& error) {
      log += error.what();
    }
    self.suspend();
  };
  TestFiber first(body);
  TestFiber second(body);
  for (int i = 0; i != 3; ++i) {
    first->resume();
    second->resume();
  }
  EXPECT_EQ(log, "innerinner");
}

TEST(Fiber, CancelRunsTheDestructorsOfAWaitingBody) {
  std::string log;
  TestFiber fiber([&](Fiber& self) {
    const NoteOnExit note{&log, "unwound"};
    self.suspend();
    log += "went on";
  });
  fiber->resume();
  fiber->cancel();
  EXPECT_TRUE(fiber->ended());
  EXPECT_EQ(log, "unwound");
  EXPECT_EQ(fiber->exception(), nullptr);
}

TEST(Fiber, CancelsWhatHasNotEndedWhenItIsDestroyed) {
  std::string log;
  {
    TestFiber fiber([&](Fiber& self) {
      const NoteOnExit note{&log, "unwound"};
      self.suspend();
    });
    fiber->resume();
    fiber.destroy();
  }
  EXPECT_EQ(log, "unwound");
}

TEST(Fiber, CancelBeforeTheFirstResumeRunsNothing) {
  std::string log;
  TestFiber fiber([&](Fiber&) { log += "ran"; });
  fiber->cancel();
  EXPECT_TRUE(fiber->ended());
  EXPECT_EQ(log, "");
}

TEST(Fiber, ABodyThatSwallowsTheCancellationIsToldAgain) {
  std::string log;
  TestFiber fiber([&](Fiber& self) {
    try {
      self.suspend();
    } catch (...) {
      log += "swallowed ";
    }
    self.suspend();
    log += "went on";
  });
  fiber->resume();
  fiber->cancel();
  EXPECT_TRUE(fiber->ended());
  EXPECT_EQ(log, "swallowed ");
}

TEST(Fiber, ADestructorThatWaitsDoesNotHinderACancellation) {
  struct Waits {
    Fiber& self;
    ~Waits() { self.suspend(); }
  };
  TestFiber fiber([](Fiber& self) {
    const Waits waits{self};
    self.suspend();
  });
  fiber->resume();
  fiber->cancel();
  EXPECT_TRUE(fiber->ended());
}

// Many more than ThreadSanitizer can tell apart at a time, should an ended fiber leave one behind
// there.
TEST(Fiber, ThousandsMayFollowOneAnother) {
  constexpr int kFibers = kThreadSanitizer ? 20'000 : 100'000;
  StackPool pool({});
  const Stack stack = *pool.take();
  int runs = 0;
  for (int i = 0; i != kFibers; ++i) {
    Fiber fiber(
        stack, [](void* argument) { ++*static_cast<int*>(argument); }, &runs);
    fiber.resume();
    ASSERT_TRUE(fiber.ended());
  }
  EXPECT_EQ(runs, kFibers);
  pool.give(stack);
}

// Each call's frame holds a kilobyte that the next call reads.
int use_stack(int kilobytes, const char* above) {
  char frame[1024];
  std::memset(frame, above == nullptr ? 1 : above[0], sizeof(frame));
  return kilobytes == 0 ? frame[1023] : use_stack(kilobytes - 1, frame) + frame[0];
}

TEST(FiberDeathTest, AStackTooSmallEndsTheProgram) {
  const auto run = [](int kilobytes) {
    int sum = 0;
    TestFiber fiber([&](Fiber&) { sum = use_stack(kilobytes, nullptr); });
    fiber->resume();
    return sum;
  };
  EXPECT_EQ(run(32), 33);
  EXPECT_DEATH(run(4096), "");
}

}  // namespace
}  // namespace gdakit::sim
