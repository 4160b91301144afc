// The context's own services: the heap and its growth, errors of collective calls, buffers, jobs.
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/mman.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>

#include "core/host/bootstrap/local_bootstrap.h"
#include "core/host/stall.h"
#include "tests/support/job.h"
#include "tests/support/limited_backend.h"

namespace gdakit {
namespace {

using test::expect_job;
using test::job_options;
using test::mismatch;
using test::same;
using testing::HasSubstr;

TEST(Context, PutsObjectsAtTheSameOffsetOnEveryPe) {
  std::atomic<std::uint64_t> offsets[4] = {};
  expect_job(4, job_options(), [&](Context& c) -> Result<void> {
    auto first = c.allocate<int>(100);
    auto second = c.allocate<double>(5000);
    if (!first || !second) return mismatch("allocate");
    offsets[c.my_pe()] = reinterpret_cast<std::uint64_t>(*second) - c.device_context().heap.base;
    return {};
  });
  for (const auto& offset : offsets) EXPECT_EQ(offset, offsets[0]);
  EXPECT_GT(offsets[0], 0u);
}

TEST(Context, GrowsTheHeapByRegisteredChunksUpToItsLimit) {
  Options options = job_options();
  options.teams = 4;
  options.symmetric_size = 64 << 10;
  options.heap_chunk = 32 << 10;
  options.heap_limit = 256 << 10;
  expect_job(2, options, [](Context& c) -> Result<void> {
    if (auto ok = same(c.device_context().heap.chunk_count, 1u, "chunks at first"); !ok) return ok;
    auto big = c.allocate<char>(100 << 10, "big");
    if (!big) return big.error();
    if (auto ok = same(c.device_context().heap.chunk_count, 3u, "chunks"); !ok) return ok;
    const bool zeroed = std::all_of(*big, *big + (100 << 10), [](char byte) { return byte == 0; });
    if (!zeroed) return mismatch("new memory is not zeroed");
    auto too_big = c.allocate<char>(200 << 10);
    if (too_big) return mismatch("more than the limit was given");
    if (too_big.error().code() != Code::exhausted) return too_big.error();
    if (auto freed = c.free(*big); !freed) return freed;
    if (c.object_at(*big + 5) != "'big' (102400 bytes, freed) + 5") {
      return mismatch(c.object_at(*big + 5));
    }
    auto again = c.allocate<char>(200 << 10);
    return again ? Result<void>() : Result<void>(again.error());
  });
}

// As a system that has no more threads to give.
class ThreadlessProvider : public BackendProvider {
 public:
  Result<std::unique_ptr<Backend>> open(const Options&, Bootstrap& bootstrap,
                                        MemoryProvider&) override {
    if (bootstrap.rank() == 1) throw std::system_error(EAGAIN, std::generic_category());
    return bootstrap.barrier().error();
  }
};

TEST(Context, AThreadThatCannotBeStartedIsAnErrorOfWhichTheOthersHear) {
  ThreadlessProvider provider;
  const Options options = job_options();
  std::array<std::string, 2> messages;
  Result<std::vector<std::unique_ptr<Bootstrap>>> members =
      make_local_bootstraps(2, options.timeout);
  ASSERT_TRUE(members);
  std::vector<std::thread> pes;
  for (int pe = 0; pe < 2; ++pe) {
    pes.emplace_back([&, pe] {
      const auto made = Context::create(options, std::move((*members)[pe]), provider, false);
      messages[pe] = made ? "made" : made.error().message();
    });
  }
  for (std::thread& pe : pes) pe.join();
  EXPECT_THAT(messages[1], HasSubstr("a thread of the PE could not be started (see ulimit -u)"));
  EXPECT_THAT(messages[0],
              HasSubstr("PE 1 ended the job: a thread of the PE could not be started"));
}

// What init says on each of two PEs that were started with these options.
std::array<std::string, 2> refusals(const std::array<Options, 2>& options) {
  const Result<UniqueId> id = make_unique_id(options[0]);
  if (!id) return {id.error().message(), id.error().message()};
  std::array<std::string, 2> messages;
  std::vector<std::thread> pes;
  for (std::size_t pe = 0; pe < 2; ++pe) {
    pes.emplace_back([&id, &messages, &options, pe] {
      const auto context = init<CompiledForCpu>(options[pe], *id, static_cast<int>(pe), 2);
      if (!context) messages[pe] = context.error().message();
    });
  }
  for (std::thread& pe : pes) pe.join();
  return messages;
}

TEST(Context, NamesThePeWhoseTeamsWouldBeOthers) {
  std::array<Options, 2> options = {job_options(), job_options()};
  options[0].collectives = CollectiveChoice::ring;
  options[1].collectives = CollectiveChoice::linear;
  for (const std::string& message : refusals(options)) {
    EXPECT_THAT(message, HasSubstr("GDAKIT_COLLECTIVES: PE 1 gave linear where PE 0 gave ring"));
  }
  // As many bytes, of other places.
  options[1].collectives = CollectiveChoice::ring;
  options[0].teams = 8;
  options[0].team_scratch = 64 << 10;
  options[1].teams = 16;
  options[1].team_scratch = 32 << 10;
  for (const std::string& message : refusals(options)) {
    EXPECT_THAT(message, HasSubstr("GDAKIT_TEAMS: PE 1 gave 16 where PE 0 gave 8"));
  }
  options[1].teams = 8;
  for (const std::string& message : refusals(options)) {
    EXPECT_THAT(message, HasSubstr("GDAKIT_TEAM_SCRATCH: PE 1 gave 32768 where PE 0 gave 65536"));
  }
}

TEST(Context, SaysInTheUsersWordsWhichCallsDoNotMatch) {
  std::string message;
  expect_job(2, job_options(), [&](Context& c) -> Result<void> {
    if (c.my_pe() == 1) return {};
    const auto memory = c.allocate<char>(64);
    message = memory ? "allocated" : memory.error().message();
    return {};
  });
  EXPECT_THAT(message, HasSubstr("PE 1 ended its Context while PE 0 called allocate"));
}

// As a process whose addresses do not suffice for the heaps of its peers.
class UnsharedBackend final : public test::LimitedBackend {
 public:
  using test::LimitedBackend::LimitedBackend;
  Result<void> share_heap(AddressRange&) override { return Error(Code::exhausted, "no room"); }
};

class UnsharedProvider final : public BackendProvider {
 public:
  Result<std::unique_ptr<Backend>> open(const Options& options, Bootstrap& bootstrap,
                                        MemoryProvider& memory) override {
    auto inner = inner_->open(options, bootstrap, memory);
    if (!inner) return inner.error();
    const BackendLimits limits = (*inner)->limits();
    return std::unique_ptr<Backend>(std::make_unique<UnsharedBackend>(std::move(*inner), limits));
  }

 private:
  std::unique_ptr<BackendProvider> inner_ = *make_backend_provider({}, JobKind::in_process);
};

TEST(Context, SaysThatTheHeapsLimitIsTheRangeThatCannotBeHad) {
  UnsharedProvider provider;
  const Result<void> done =
      test::run_job(1, job_options(), provider, [](Context&) -> Result<void> { return {}; });
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(),
              HasSubstr("range of 268435456 bytes (GDAKIT_HEAP_LIMIT): no"));
}

TEST(Context, NamesThePeThatAsksForAnotherSize) {
  std::string message;
  expect_job(3, job_options(), [&](Context& c) -> Result<void> {
    auto memory = c.allocate<char>(c.my_pe() == 2 ? 128u : 64u);
    if (memory) return mismatch("differing sizes were accepted");
    if (c.my_pe() == 1) message = memory.error().message();
    return {};
  });
  EXPECT_NE(message.find("PE 2 gave 128 where PE 0 gave 64"), std::string::npos) << message;
}

TEST(Context, RefusesToFreeWhatItDidNotAllocate) {
  expect_job(2, job_options(), [](Context& c) -> Result<void> {
    auto object = c.allocate<int>(100);
    if (!object) return object.error();
    if (c.free(*object + 1)) return mismatch("an inner address was freed");
    if (auto freed = c.free(*object); !freed) return freed;
    return c.free(*object) ? mismatch("an object was freed twice") : Result<void>();
  });
}

TEST(Context, RefusesBuffersThatAreNoMemory) {
  expect_job(1, job_options(), [](Context& c) -> Result<void> {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* const pages =
        ::mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return Error::from_errno("mmap", errno);
    char* const bytes = static_cast<char*>(pages);
    if (::munmap(bytes + page, page) != 0) return Error::from_errno("munmap", errno);
    if (c.register_buffer(bytes + page, 8)) return mismatch("unmapped memory was accepted");
    if (c.register_buffer(bytes + page - 8, 9)) return mismatch("it was accepted at the end");
    if (c.register_buffer(bytes + 8, 2 * page)) return mismatch("it was accepted in the middle");
    if (auto done = c.register_buffer(bytes + 1, page - 1); !done) return done;
    if (auto done = c.unregister_buffer(bytes + 1); !done) return done;
    ::munmap(bytes, page);
    ::munmap(bytes + 2 * page, page);
    return {};
  });
}

// The NIC's thread would end the process.
TEST(Context, RefusesBuffersThatItsNicMayNotReadOrWrite) {
  expect_job(1, job_options(), [](Context& c) -> Result<void> {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* const pages =
        ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return Error::from_errno("mmap", errno);
    char* const bytes = static_cast<char*>(pages);
    for (const auto& [protection, name] : {std::pair(PROT_NONE, "may not be accessed (PROT_NONE)"),
                                           std::pair(PROT_READ, "may only be read (PROT_READ)")}) {
      ::mprotect(bytes + page, page, protection);
      const Result<void> refused = c.register_buffer(bytes + 8, 2 * page - 8);
      if (refused) return mismatch("a buffer without the right was accepted");
      if (refused.error().message().find(name) == std::string::npos) return refused;
      if (auto done = c.register_buffer(bytes, page); !done) return done;
      if (auto done = c.unregister_buffer(bytes); !done) return done;
    }
    ::munmap(bytes, 2 * page);
    return {};
  });
}

TEST(Context, RefusesBuffersThatAreEmptyOrOverlap) {
  expect_job(1, job_options(), [](Context& c) -> Result<void> {
    std::vector<char> buffer(4096);
    if (c.register_buffer(nullptr, 10)) return mismatch("no address was accepted");
    if (c.register_buffer(buffer.data(), 0)) return mismatch("no bytes were accepted");
    if (auto done = c.register_buffer(buffer.data(), 2048); !done) return done;
    if (c.register_buffer(buffer.data() + 1024, 2048)) return mismatch("overlap was accepted");
    if (auto done = c.register_buffer(buffer.data() + 2048, 2048); !done) return done;
    if (auto done = c.unregister_buffer(buffer.data()); !done) return done;
    return c.unregister_buffer(buffer.data() + 2048);
  });
}

TEST(Context, AddsQueuesOnlyUpToItsLimit) {
  expect_job(2, job_options(), [](Context& c) -> Result<void> {
    Result<std::uint32_t> first = c.add_queues(3, Sharing::shared);
    if (!first) return first.error();
    if (auto ok = same(*first, 2u, "first index"); !ok) return ok;
    if (c.add_queues(0, Sharing::shared)) return mismatch("no queues were added");
    if (c.add_queues(5000, Sharing::shared)) return mismatch("5000 queues were added");
    return same(c.device_context().queue_count, 5u, "queues");
  });
}

// All but this one and the program's first.
std::vector<std::string> masks_of_other_threads() {
  std::vector<std::string> masks;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string name = task.path().filename();
    if (name == std::to_string(::getpid()) || name == std::to_string(::gettid())) continue;
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("SigBlk:")) masks.push_back(line.substr(8));
    }
  }
  return masks;
}

TEST(Context, EveryThreadOfItsOwnBlocksTheProgramsSignals) {
  if (kThreadSanitizer) GTEST_SKIP() << "the sanitizer has threads of its own";
  Options options = job_options();
  options.nic_handler = NicHandler::proxy;
  expect_job(1, options, [](Context&) -> Result<void> {
    const std::vector<std::string> masks = masks_of_other_threads();
    if (masks.size() < 2) return mismatch("the NIC and the proxy have a thread each");
    for (const std::string& mask : masks) {
      const std::uint64_t blocked = std::stoull(mask, nullptr, 16);
      for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGCHLD}) {
        if ((blocked >> (signal - 1) & 1) == 0) return mismatch("a thread takes signals: " + mask);
      }
    }
    return {};
  });
}

TEST(Context, RefusesShapesThatNoGpuHas) {
  expect_job(1, job_options(), [](Context& c) -> Result<void> {
    const auto nothing = [](auto&) {};
    if (c.launch(nothing, {.blocks = 0, .threads = 1})) return mismatch("no block was launched");
    if (c.launch(nothing, {.blocks = 1, .threads = 2000})) return mismatch("2000 threads");
    return c.launch(nothing, {.blocks = 1, .threads = 1024});
  });
}

TEST(Context, RefusesOptionsThatDoNotFit) {
  Options options = job_options();
  options.queue_depth = 100;
  const Result<void> done = run_in_process(1, options, [](Context&) { return Result<void>(); });
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message().find("GDAKIT_QUEUE_DEPTH"), std::string::npos)
      << done.error().message();
}

TEST(Job, EndsWithTheFirstFailureAndItsPe) {
  const Result<void> done = run_in_process(4, job_options(), [](Context& c) -> Result<void> {
    if (c.my_pe() == 2) return mismatch("the disk is full");
    return c.barrier();  // the others learn that PE 2 is not coming
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message(), "PE 2: the disk is full");
}

// PE 1 ends the job as PE 0's kernel waits for it.
TEST(Job, EndsWaitsOfKernelsWhenAPeAborts) {
  Options options = job_options();
  options.watchdog = std::chrono::milliseconds(0);
  std::atomic<bool> waits = false;
  expect_job(2, options, [&waits](Context& c) -> Result<void> {
    auto word = c.allocate<std::uint64_t>(1);
    auto status = c.allocate<Status>(1);
    if (!word || !status) return mismatch("allocate");
    if (c.my_pe() == 1) {
      while (!waits) std::this_thread::yield();
      c.abort("it is enough");
      return {};
    }
    const auto kernel = [&](auto& pe) {
      waits = true;
      **status = pe.wait_until(*word, Compare::ne, 0);
    };
    const Result<void> ended = c.launch(kernel, {.blocks = 1, .threads = 1});
    if (ended) return mismatch("a launch whose kernel waits for a PE that is lost");
    EXPECT_EQ(ended.error().message(), "PE 1 ended the job: it is enough");
    EXPECT_EQ(**status, (Status{StatusCode::peer_lost, format::Syndrome::none, 1}));
    EXPECT_EQ(c.lost_pes(), std::vector<int>{1});
    const Result<void> again = c.launch(kernel, {.blocks = 1, .threads = 1});
    if (again) return mismatch("a launch behind it");
    EXPECT_EQ(again.error().code(), Code::aborted);
    return {};
  });
}

TEST(Job, RefusesABackendThatIsNotThere) {
  Options options = job_options();
  options.backend = BackendChoice::mlx5;
  const Result<void> done = run_in_process(2, options, [](Context&) { return Result<void>(); });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), Code::unavailable);
}

// Kernels of one PE may run while its neighbours are between launches.
TEST(Job, RunsManyPesOnFewCores) {
  expect_job(8, job_options(), [](Context& c) -> Result<void> {
    auto sum = c.allocate<std::uint64_t>(1);
    if (!sum) return sum.error();
    for (int round = 0; round < 5; ++round) {
      Result<void> ran = c.launch(
          [&](auto& pe) {
            for (int to = 0; to < pe.n_pes(); ++to) pe.atomic_inc(*sum, to);
            pe.quiet();
          },
          {.blocks = 2, .threads = 32});
      if (!ran) return ran;
    }
    if (auto met = c.barrier(); !met) return met;
    return same(**sum, std::uint64_t{8 * 5 * 64}, "sum");
  });
}

// The wire between processes, here between PEs of one process: a queue to oneself with atomics
// between large puts, whose answers compete with the requests for room on the ring.
TEST(SharedMemoryWire, CarriesAQueueToOneselfUnderPressure) {
  auto provider = make_backend_provider({}, JobKind::processes);
  ASSERT_TRUE(provider);
  Options options = job_options();
  options.symmetric_size = 9 << 20;
  const Result<void> done = run_in_process(2, options, **provider, [](Context& c) -> Result<void> {
    constexpr std::size_t kBytes = 4 << 20;
    auto from = c.allocate<char>(kBytes);
    auto to = c.allocate<char>(kBytes);
    auto word = c.allocate<std::uint64_t>(2);
    if (!from || !to || !word) return mismatch("allocate");
    for (const bool to_self : {true, false}) {
      Result<void> ran = c.launch(
          [&](auto& pe) {
            const int peer = to_self ? pe.my_pe() : 1 - pe.my_pe();
            for (int i = 0; i < 16; ++i) {
              pe.put_nbi(*to, *from, kBytes, peer, Batch::more);
              for (int k = 0; k < 8; ++k) {
                pe.atomic_add(*word + to_self, 1, peer, k == 7 ? Batch::last : Batch::more);
              }
            }
            pe.barrier_all();
          },
          {.blocks = 1, .threads = 1});
      if (!ran) return ran;
      if (auto ok = same((*word)[to_self], 128u, "word"); !ok) return ok;
    }
    return {};
  });
  EXPECT_TRUE(done) << done.error().message();
}

TEST(Describe, NamesEverySyndromeAndOpcode) {
  EXPECT_NE(describe(format::Syndrome::remote_access).find("remote key"), std::string::npos);
  EXPECT_NE(describe(static_cast<format::Syndrome>(0x7f)).find("0x7f"), std::string::npos);
  EXPECT_EQ(opcode_name(0x08), "RDMA_WRITE");
  EXPECT_EQ(opcode_name(0xee), "opcode 0xee");
  EXPECT_NE(describe(QueueError::abandoned(), {3}).find("PE 3"), std::string::npos);
}

TEST(Describe, BlamesTheSideThatStandsStill) {
  StallReport report{};
  report.site = Site::queue_completion;
  report.reserved = report.ready = report.posted = report.doorbell_record = 5;
  EXPECT_NE(describe(report, 0).find("to blame: the NIC"), std::string::npos);
  report.posted = report.doorbell_record = report.completed = 3;
  EXPECT_NE(describe(report, 0).find("no doorbell has announced"), std::string::npos);
  EXPECT_NE(describe(report, 0).find("or a thread stopped in its post"), std::string::npos);
  report.ready = 3;
  EXPECT_NE(describe(report, 0).find("reserved slots and not written"), std::string::npos);
  report.completed = 2;
  report.doorbell_record = 1;
  EXPECT_NE(describe(report, 0).find("doorbell record does not hold"), std::string::npos);
}

TEST(Describe, NamesTheLockAndWhoDidNotHandItOver) {
  StallReport report{};
  report.site = Site::lock;
  report.address = 0xabc0;
  report.peer = 2;
  EXPECT_NE(describe(report, 0).find("lock at address 0xabc0"), std::string::npos);
  EXPECT_NE(describe(report, 0).find("PE 2, which did not hand the lock over"), std::string::npos);
  EXPECT_NE(describe(report, 2).find("the thread of this PE that has the lock"), std::string::npos);
  report.peer = -1;
  EXPECT_NE(describe(report, 0).find("the PE that came next"), std::string::npos);
}

}  // namespace
}  // namespace gdakit
