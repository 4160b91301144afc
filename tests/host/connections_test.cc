// To whom a PE has queues: from the start (GDAKIT_CONNECT), and by Context::connect.
#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "core/host/bootstrap/local_bootstrap.h"
#include "core/host/queue_table.h"
#include "tests/support/job.h"
#include "tests/support/limited_backend.h"

namespace gdakit {
namespace {

using test::expect_job;
using test::job_options;
using test::mismatch;
using test::same;
using testing::HasSubstr;

Options connect_options(const std::string& choice) {
  Options options = job_options();
  options.connect = choice;
  options.symmetric_size = 64 << 10;
  options.heap_chunk = 64 << 10;
  options.teams = 4;
  return options;
}

// The PEs to which a row of the table has queues, as "0 2".
std::string peers_in_row(const Context& c, std::uint32_t row) {
  const DeviceContext device = c.device_context();
  std::string peers;
  for (int pe = 0; pe < c.n_pes(); ++pe) {
    const QueueView& view =
        device.queues[row * static_cast<std::uint32_t>(c.n_pes()) + static_cast<std::uint32_t>(pe)];
    if (view.peer != pe) return "a view of another PE's queue";
    if (view.state != nullptr) peers += (peers.empty() ? "" : " ") + std::to_string(pe);
  }
  return peers;
}

Result<void> expect_peers(const Context& c, const std::string& expected) {
  for (std::uint32_t row = 0; row < c.device_context().queue_count; ++row) {
    const std::string peers = peers_in_row(c, row);
    if (peers != expected) {
      return mismatch("row " + std::to_string(row) + " of PE " + std::to_string(c.my_pe()) +
                      " has queues to " + peers + ", and not to " + expected);
    }
  }
  return {};
}

// Puts 1 + the own number to each of `peers`, and looks at what came of theirs.
Result<void> put_to(Context& c, const std::vector<int>& peers) {
  const auto n = static_cast<std::size_t>(c.n_pes());
  auto words = c.allocate<std::uint64_t>(n);
  if (!words) return words.error();
  std::fill_n(*words, n, 0);
  if (auto met = c.barrier(); !met) return met;
  const Result<void> ran = c.launch(
      [&](auto& pe) {
        const auto mine = static_cast<std::uint64_t>(pe.my_pe());
        for (const int peer : peers) pe.put_value(*words + mine, mine + 1, peer);
        pe.quiet();
      },
      {.blocks = 1, .threads = 1});
  if (!ran) return ran;
  if (auto met = c.barrier(); !met) return met;
  for (std::size_t pe = 0; pe < n; ++pe) {
    const bool is_peer = std::ranges::find(peers, static_cast<int>(pe)) != peers.end();
    if (auto ok = same((*words)[pe], is_peer ? pe + 1 : 0, "word"); !ok) return ok;
  }
  return c.free(*words);
}

TEST(Connections, AreToAllFromTheStartIfNotToldOtherwise) {
  expect_job(3, job_options(), [](Context& c) -> Result<void> {
    if (auto ok = expect_peers(c, "0 1 2"); !ok) return ok;
    return put_to(c, {0, 1, 2});
  });
}

TEST(Connections, OfAListAreToThoseNamedAndTheirsToAll) {
  expect_job(4, connect_options("1"), [](Context& c) -> Result<void> {
    if (c.my_pe() == 1) {
      if (auto ok = expect_peers(c, "0 1 2 3"); !ok) return ok;
      return put_to(c, {0, 1, 2, 3});
    }
    std::vector<int> peers = {1, c.my_pe()};
    std::ranges::sort(peers);
    if (c.connected_peers() != peers) return mismatch("other PEs are connected");
    return put_to(c, peers);
  });
}

TEST(Connections, AreMadeWhenOneOfTheTwoAsks) {
  expect_job(3, connect_options("none"), [](Context& c) -> Result<void> {
    if (auto ok = expect_peers(c, std::to_string(c.my_pe())); !ok) return ok;
    if (auto done = c.connect(c.my_pe() == 0 ? std::vector{2} : std::vector<int>{}); !done) {
      return done;
    }
    const char* const expected[] = {"0 2", "1", "0 2"};
    if (auto ok = expect_peers(c, expected[c.my_pe()]); !ok) return ok;
    const std::vector<int> peers = c.my_pe() == 1 ? std::vector{1} : std::vector{0, 2};
    if (auto ok = put_to(c, peers); !ok) return ok;
    // Once more, and the rest.
    if (auto done = c.connect({0, 1, 2, 1}); !done) return done;
    if (auto ok = expect_peers(c, "0 1 2"); !ok) return ok;
    return put_to(c, {0, 1, 2});
  });
}

TEST(Connections, AreMadeForRowsOfEitherSharing) {
  expect_job(2, connect_options("none"), [](Context& c) -> Result<void> {
    auto exclusive = c.add_queues(1, Sharing::exclusive);
    if (!exclusive) return exclusive.error();
    if (auto more = c.add_queues(2, Sharing::shared); !more) return more.error();
    if (auto done = c.connect({1}); !done) return done;
    if (auto ok = expect_peers(c, "0 1"); !ok) return ok;
    auto word = c.allocate<std::uint64_t>(1);
    if (!word) return word.error();
    const Result<void> ran = c.launch(
        [&](auto& pe) {
          auto owner = pe.exclusively_on(*exclusive);
          owner.atomic_add(*word, std::uint64_t{5}, 1 - pe.my_pe());
          owner.quiet();
          pe.on_queue(*exclusive + 2).atomic_add(*word, std::uint64_t{2}, 1 - pe.my_pe());
          pe.quiet();
        },
        {.blocks = 1, .threads = 1});
    if (!ran) return ran;
    if (auto met = c.barrier(); !met) return met;
    return same(**word, std::uint64_t{7}, "word");
  });
}

TEST(Connections, GoOnForKernelsThatRunMeanwhile) {
  expect_job(2, connect_options("none"), [](Context& c) -> Result<void> {
    auto words = c.allocate<std::uint64_t>(2);
    if (!words) return words.error();
    Result<void> ran;
    // It counts in its PE's own memory until it sees that it may end.
    std::thread kernel([&] {
      ran = c.launch(
          [&](auto& pe) {
            std::uint64_t end = 0;
            while (end == 0) {
              pe.atomic_inc(*words, pe.my_pe());
              pe.quiet();
              end = pe.atomic_fetch(*words + 1, pe.my_pe());
            }
          },
          {.blocks = 1, .threads = 1});
    });
    while (std::atomic_ref((*words)[0]).load() == 0) std::this_thread::yield();
    const Result<void> done = c.connect({0, 1});
    std::atomic_ref((*words)[1]).store(1);
    kernel.join();
    if (!done) return done;
    if (!ran) return ran;
    return put_to(c, {0, 1});
  });
}

TEST(Connections, RefuseAPeThatTheJobDoesNotHaveOnAllPes) {
  expect_job(2, connect_options("none"), [](Context& c) -> Result<void> {
    const Result<void> done = c.connect({c.my_pe() == 1 ? 7 : 1});
    if (done) return mismatch("PE 7 was connected");
    EXPECT_THAT(done.error().message(), HasSubstr("PE 1: connect: there is no PE 7"));
    if (auto ok = expect_peers(c, std::to_string(c.my_pe())); !ok) return ok;
    return c.connect({1});
  });
}

// What init says on each of two PEs.
std::array<std::string, 2> refusals(const std::array<Options, 2>& options) {
  std::array<std::string, 2> messages;
  auto members = make_local_bootstraps(2, options[0].timeout);
  if (!members) return {members.error().message(), ""};
  std::vector<std::thread> pes;
  for (std::size_t pe = 0; pe < 2; ++pe) {
    pes.emplace_back([&, pe] {
      auto provider = make_backend_provider({}, JobKind::in_process);
      const auto made = Context::create(options[pe], std::move((*members)[pe]), **provider, false);
      messages[pe] = made ? "made" : made.error().message();
    });
  }
  for (std::thread& pe : pes) pe.join();
  return messages;
}

TEST(Connections, RefuseAListThatGoesBeyondTheJob) {
  const auto messages = refusals({connect_options("0-2"), connect_options("0-2")});
  EXPECT_EQ(messages[0], "GDAKIT_CONNECT=0-2: the job has 2 PEs; give numbers below that");
  EXPECT_EQ(messages[0], messages[1]);
}

TEST(Connections, RefuseChoicesThatDiffer) {
  const auto messages = refusals({connect_options("all"), connect_options("none")});
  EXPECT_EQ(messages[0],
            "GDAKIT_CONNECT: PE 1 gave none where PE 0 gave all; all PEs must give the same");
  EXPECT_EQ(messages[0], messages[1]);
}

// A backend that makes so many queues on PE 1.
class FewQueues final : public test::LimitedBackend {
 public:
  FewQueues(std::unique_ptr<Backend> inner, int queues)
      : LimitedBackend(std::move(inner), {}), left_(queues) {}
  Result<QueueResources> create_queue(const QueueMemory& memory) override {
    if (left_-- == 0) return Error(Code::exhausted, "no more queues");
    return LimitedBackend::create_queue(memory);
  }

 private:
  int left_;
};

TEST(Connections, AreAllMadeOrNoneOnEveryPe) {
  Options options = connect_options("none");
  options.queues_per_peer = 2;
  // Its own two, and one of the two to PE 0.
  test::WrappingProvider provider([](auto inner, int pe) {
    return std::make_unique<FewQueues>(std::move(inner), pe == 1 ? 3 : 1000);
  });
  expect_job(2, options, provider, [](Context& c) -> Result<void> {
    if (c.connect({0, 1})) return mismatch("one queue of two was made");
    if (c.connected_peers() != std::vector{c.my_pe()})
      return mismatch("the other counts as a peer");
    if (auto ok = expect_peers(c, std::to_string(c.my_pe())); !ok) return ok;
    return put_to(c, {c.my_pe()});
  });
}

TEST(Connections, TakeAtMost96KibOfMemoryForAQueue) {
  Options options = job_options();
  options.queue_depth = Options().queue_depth;
  options.fetch_slots = Options().fetch_slots;
  options.queues_per_peer = 16;
  expect_job(2, options, [](Context& c) -> Result<void> {
    constexpr std::uint64_t kQueues = 2 * 16;
    const std::uint64_t bytes = c.queue_bytes();
    if (bytes < kQueues * c.options().queue_depth * 64) return mismatch("less than the slots take");
    return bytes <= kQueues * (96 << 10) ? Result<void>()
                                         : same(bytes, kQueues * (96 << 10), "bytes");
  });
}

}  // namespace
}  // namespace gdakit
