// What a Context asks of its backend, as a backend between the two notes it.
#include <array>
#include <atomic>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/job.h"
#include "tests/support/limited_backend.h"

namespace gdakit {
namespace {

using test::expect_job;
using test::job_options;
using test::mismatch;
using test::same;

// A backend that notes what happens to it, and makes so many queues only.
class NotingBackend final : public test::LimitedBackend {
 public:
  NotingBackend(std::unique_ptr<Backend> inner, int queues, std::vector<std::string>& notes)
      : LimitedBackend(std::move(inner), {}), left_(queues), notes_(notes) {}

  Result<QueueResources> create_queue(const QueueMemory& memory) override {
    if (left_-- == 0) return Error(Code::exhausted, "no more queues");
    return LimitedBackend::create_queue(memory);
  }
  Result<void> destroy_queue(QueueNumber queue) override {
    notes_.emplace_back("destroy_queue");
    return LimitedBackend::destroy_queue(queue);
  }
  Result<void> deregister_memory(MemoryKeys keys) override {
    notes_.emplace_back("deregister_memory");
    return LimitedBackend::deregister_memory(keys);
  }
  void begin_end() override {
    notes_.emplace_back("begin_end");
    LimitedBackend::begin_end();
  }

 private:
  int left_;
  std::vector<std::string>& notes_;
};

// PE 1's backend makes `queues` queues, PE 0's any number.
class NotingProvider final : public test::WrappingProvider {
 public:
  explicit NotingProvider(int queues)
      : WrappingProvider([this, queues](auto inner, int pe) {
          return std::make_unique<NotingBackend>(std::move(inner), pe == 1 ? queues : 1'000'000,
                                                 notes[static_cast<std::size_t>(pe)]);
        }) {}

  std::array<std::vector<std::string>, 2> notes;
};

TEST(Context, AddsAllQueuesOrNoneOnEveryPe) {
  const Options options = job_options();
  // Those of the start, and one row of two PEs and a half.
  const int at_start = static_cast<int>(2 * options.queues_per_peer);
  NotingProvider provider(at_start + 3);
  expect_job(2, options, provider, [&](Context& c) -> Result<void> {
    const std::uint32_t before = c.device_context().queue_count;
    const Result<std::uint32_t> failed = c.add_queues(2, Sharing::shared);
    if (failed) return mismatch("half of the queues were added");
    if (auto ok = same(c.device_context().queue_count, before, "queues"); !ok) return ok;
    auto word = c.allocate<std::uint64_t>(1);
    if (!word) return word.error();
    Result<void> ran = c.launch(
        [&](auto& pe) {
          pe.atomic_inc(*word, 1 - pe.my_pe());
          pe.barrier_all();
        },
        {.blocks = 1, .threads = 1});
    return ran ? same(**word, 1u, "word") : ran;
  });
}

TEST(Context, TellsItsBackendThatItEndsBeforeItRemovesAnything) {
  NotingProvider provider(1000);
  expect_job(2, job_options(), provider, [](Context&) { return Result<void>(); });
  for (const std::vector<std::string>& notes : provider.notes) {
    ASSERT_GT(notes.size(), 2u);
    EXPECT_EQ(notes.front(), "begin_end");
    EXPECT_THAT(notes, testing::Contains("destroy_queue"));
    EXPECT_THAT(notes, testing::Contains("deregister_memory"));
  }
}

// Counts how often threads that wait ask to help, and how often they do.
class HelpedBackend final : public test::LimitedBackend {
 public:
  struct Counts {
    std::atomic<int> asked{0};
    std::atomic<int> done{0};
  };
  HelpedBackend(std::unique_ptr<Backend> inner, Counts& counts)
      : LimitedBackend(std::move(inner), {}),
        counting_(LimitedBackend::progress_engine(), counts) {}

  ProgressEngine* progress_engine() override { return &counting_; }

 private:
  class Counting final : public ProgressEngine {
   public:
    Counting(ProgressEngine* inner, Counts& counts) : inner_(inner), counts_(counts) {}
    bool progress() override {
      ++counts_.asked;
      const bool done = inner_ != nullptr && inner_->progress();
      if (done) ++counts_.done;
      return done;
    }

   private:
    ProgressEngine* const inner_;
    Counts& counts_;
  };

  Counting counting_;
};

TEST(Context, ThreadsThatWaitForTheNicHelpIt) {
  HelpedBackend::Counts counts;
  test::WrappingProvider provider([&counts](auto inner, int) {
    return std::make_unique<HelpedBackend>(std::move(inner), counts);
  });
  expect_job(2, job_options(), provider, [](Context& c) -> Result<void> {
    auto word = c.allocate<std::uint64_t>(1);
    if (!word) return word.error();
    Result<void> ran = c.launch(
        [&](auto& pe) {
          for (std::uint64_t i = 1; i <= 200; ++i) {
            pe.put_value(*word, i, 1 - pe.my_pe());
            pe.quiet();
          }
          pe.barrier_all();
        },
        {.blocks = 1, .threads = 1});
    return ran ? same(**word, 200u, "word") : ran;
  });
  EXPECT_GT(counts.asked, 0);
  // Where ThreadSanitizer looks for missing fences the NIC's thread does all.
  EXPECT_EQ(counts.done > 0, !kThreadSanitizer);
}

// Keeps the card of the first queue.
class CardBackend final : public test::LimitedBackend {
 public:
  CardBackend(std::unique_ptr<Backend> inner, Bytes& card)
      : LimitedBackend(std::move(inner), {}), card_(card) {}
  Result<QueueResources> create_queue(const QueueMemory& memory) override {
    Result<QueueResources> made = LimitedBackend::create_queue(memory);
    if (made && card_.empty()) card_ = made->card;
    return made;
  }

 private:
  Bytes& card_;
};

// Their endpoints and QPNs are the same, and packets of the first may still be on their way.
TEST(Context, ConnectionsOfTwoJobsDiffer) {
  const auto card_of_a_job = [] {
    Bytes card;
    test::WrappingProvider provider(
        [&card](auto inner, int) { return std::make_unique<CardBackend>(std::move(inner), card); });
    expect_job(1, job_options(), provider, [](Context&) { return Result<void>(); });
    return card;
  };
  const Bytes card = card_of_a_job();
  EXPECT_FALSE(card.empty());
  EXPECT_NE(card, card_of_a_job());
}

}  // namespace
}  // namespace gdakit
