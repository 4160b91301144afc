// The files with what the NICs of PEs count, here of PEs that are threads of one process.
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>

#include "core/base/file_descriptor.h"
#include "core/base/files.h"
#include "tests/job/counter_samples.h"
#include "tests/support/job.h"

namespace gdakit {
namespace {

using test::expect_job;
using test::job_options;
using test::mismatch;
using test::same;
using testing::HasSubstr;
using testing_job::TemporaryDirectory;

struct PutToNext {
  std::uint64_t* word;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    pe.put_value(word, std::uint64_t{1}, (pe.my_pe() + 1) % pe.n_pes());
    pe.quiet();
  }
};

std::string file_of(const TemporaryDirectory& directory, int pe) {
  return directory.path() + "/pe" + std::to_string(pe) + ".prom";
}

std::string text_of(const TemporaryDirectory& directory, int pe) {
  const Result<std::string> text = read_file(file_of(directory, pe), "the counters");
  return text ? *text : text.error().message();
}

TEST(CounterFile, IsThereFromTheBeginningAndHasAllInTheEnd) {
  const TemporaryDirectory directory;
  Options options = job_options();
  options.counters = directory.path();
  expect_job(2, options, [&](Context& c) -> Result<void> {
    if (!std::filesystem::exists(file_of(directory, c.my_pe()))) return mismatch("no file");
    auto word = c.allocate<std::uint64_t>(1);
    if (!word) return word.error();
    if (auto launched = c.launch(PutToNext{*word}, {.blocks = 1, .threads = 1}); !launched)
      return launched;
    return same(c.nic_counters().wqes, std::uint64_t{1}, "WQEs");
  });
  for (const int pe : {0, 1}) {
    const std::string text = text_of(directory, pe);
    EXPECT_THAT(text, testing::ContainsRegex("\ngdakit_completed_wqes_total.pe=\"" +
                                             std::to_string(pe) + "\",qp=\"[0-9]+\",peer=\"" +
                                             std::to_string(1 - pe) + "\",queue=\"0\". 1\n"));
    EXPECT_THAT(text,
                HasSubstr("gdakit_dropped_packets_total{pe=\"" + std::to_string(pe) + "\"} 0"));
  }
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    files += entry.path().extension() == ".prom" ? 1 : 100;
  }
  EXPECT_EQ(files, 2u);
}

// Channels count on from kFirstChannel.
TEST(CounterFile, NamesThePeersOfChannels) {
  const TemporaryDirectory directory;
  Options options = job_options();
  options.counters = directory.path();
  expect_job(2, options, [&](Context& c) -> Result<void> {
    ChannelOptions wanted;
    wanted.count = 2;
    auto channels = c.add_channels(wanted);
    return channels ? Result<void>() : channels.error();
  });
  for (const int pe : {0, 1}) {
    const std::string text = text_of(directory, pe);
    for (const std::string peer : {"0", "1"}) {
      for (const std::string channel : {"32768", "32769"}) {
        EXPECT_THAT(text, HasSubstr(",peer=\"" + peer + "\",queue=\"" + channel + "\"} 0\n"));
      }
    }
  }
}

TEST(CounterFile, IsWrittenAgainAndAgainWhileThePeLives) {
  const TemporaryDirectory directory;
  Options options = job_options();
  options.counters = directory.path();
  expect_job(1, options, [&](Context&) -> Result<void> {
    const std::string first = text_of(directory, 0);
    for (int i = 0; i < 3000; ++i) {
      const std::string now = text_of(directory, 0);
      if (!now.ends_with("} 0\n")) return mismatch("half a file");
      if (now != first) return {};
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return mismatch("it stays as it was");
  });
}

// A pipe that nobody reads stands for a file system that hangs: whoever opens it to write waits.
TEST(CounterFile, ThatHangsHoldsUpNeitherKernelsNorCalls) {
  const TemporaryDirectory directory;
  const std::string next = directory.path() + "/.pe0.prom." + std::to_string(::getpid());
  Options options = job_options();
  options.counters = directory.path();
  expect_job(1, options, [&](Context& c) -> Result<void> {
    while (::mkfifo(next.c_str(), 0600) != 0) {
      if (errno != EEXIST) return Error::from_errno("mkfifo " + next, errno);
      std::this_thread::yield();  // one is being written
    }
    std::this_thread::sleep_for(std::chrono::seconds(1));  // the next one hangs
    auto word = c.allocate<std::uint64_t>(1);
    if (!word) return word.error();
    if (auto added = c.add_queues(1, Sharing::shared); !added) return added.error();
    const Result<void> launched = c.launch(PutToNext{*word}, {.blocks = 1, .threads = 1});
    const UniqueFileDescriptor reader(::open(next.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!reader) return mismatch("it was written in spite of the pipe");
    std::array<char, 1 << 14> text{};
    while (std::filesystem::exists(next)) {
      if (::read(reader.get(), text.data(), text.size()) <= 0) std::this_thread::yield();
    }
    return launched;
  });
  EXPECT_THAT(text_of(directory, 0), HasSubstr("queue=\"0\"} 1\n")) << "the last file is whole";
}

TEST(CounterFile, ThatCannotBeWrittenIsAnErrorOfInit) {
  Options options = job_options();
  options.counters = "/dev/null/counters";
  const Result<void> ran = run_in_process(2, options, [](Context&) -> Result<void> { return {}; });
  ASSERT_FALSE(ran);
  EXPECT_THAT(ran.error().message(), HasSubstr("GDAKIT_COUNTERS: cannot write \"/dev/null/"));
  EXPECT_THAT(ran.error().message(), HasSubstr("name a directory that exists"));
}

}  // namespace
}  // namespace gdakit
