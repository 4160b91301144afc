// What a PE writes for a timeline, on its way to a file: whole, or honest about what it lacks.
#include "core/host/trace/trace_file.h"

#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/wait_clock.h"
#include "core/host/trace/host_trace.h"

namespace gdakit {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Folder : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(path_); }
  void TearDown() override { std::filesystem::remove_all(path_); }

  const std::string path_ = testing::TempDir() + "gdakit-trace-" + std::to_string(::getpid());
};
using TraceFiles = Folder;
using HostTraces = Folder;

struct Read {
  TraceHeader header;
  std::vector<TraceRecord> records;
};

Read parse(const std::string& bytes) {
  Read read;
  EXPECT_GE(bytes.size(), sizeof read.header);
  std::memcpy(&read.header, bytes.data(), sizeof read.header);
  for (std::size_t at = sizeof read.header; at + sizeof(TraceRecord) <= bytes.size();
       at += sizeof(TraceRecord)) {
    std::memcpy(&read.records.emplace_back(), bytes.data() + at, sizeof(TraceRecord));
  }
  EXPECT_EQ((bytes.size() - sizeof read.header) % sizeof(TraceRecord), 0u);
  return read;
}

Read read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return parse({std::istreambuf_iterator<char>(file), {}});
}

TraceRecord fetch_of(std::uint64_t index) {
  TraceRecord record;
  record.kind = TraceKind::fetch;
  record.time_ns = steady_ns();
  record.index = index;
  return record;
}

TEST_F(TraceFiles, HaveAHeaderAndAllThatWasAddedInOrder) {
  const std::uint64_t before = steady_ns();
  auto file = TraceFile::create(path_, 3, "nic", Log());
  ASSERT_TRUE(file) << file.error().message();
  for (std::uint64_t i = 0; i < 1000; ++i) (*file)->add(fetch_of(i));
  file->reset();
  const Read got = read(path_ + "/pe3-nic.trace");
  EXPECT_EQ(got.header.magic, TraceHeader::kMagic);
  EXPECT_EQ(got.header.pe, 3);
  EXPECT_GE(got.header.steady_ns, before);
  ASSERT_EQ(got.records.size(), 1000u);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(got.records[i].index, i);
    EXPECT_GE(got.records[i].time_ns, i == 0 ? got.header.steady_ns : got.records[i - 1].time_ns);
  }
}

TEST_F(TraceFiles, AreTheirUsersAlone) {
  std::ofstream(path_ + "/pe0-nic.trace") << "something that was there before, and is longer";
  std::filesystem::permissions(path_ + "/pe0-nic.trace", std::filesystem::perms(0666));
  { const auto file = TraceFile::create(path_, 0, "nic", Log()); }
  struct stat status {};
  ASSERT_EQ(::stat((path_ + "/pe0-nic.trace").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(static_cast<std::size_t>(status.st_size), sizeof(TraceHeader));
}

TEST_F(TraceFiles, InAMissingFolderAreNamedWithTheRemedy) {
  const auto file = TraceFile::create(path_ + "/missing", 0, "nic", Log());
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message(),
              AllOf(HasSubstr(path_ + "/missing/pe0-nic.trace"), HasSubstr("create the folder")));
}

// A pipe that nobody reads stands for a disk that takes nothing.
TEST_F(TraceFiles, AreNotWaitedForAndCountWhatTheyLack) {
  constexpr std::uint64_t kEvents = 2000;
  const std::string path = path_ + "/pe0-nic.trace";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const UniqueFileDescriptor reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK));
  auto file = TraceFile::create(path_, 0, "nic", Log(), 64 * sizeof(TraceRecord));
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_GE(::fcntl(reader.get(), F_SETPIPE_SZ, 4096), 0);
  for (std::uint64_t i = 0; i < kEvents; ++i) (*file)->add(fetch_of(i));
  const std::uint64_t lost = (*file)->lost();
  EXPECT_GT(lost, kEvents / 2);
  ASSERT_EQ(::fcntl(reader.get(), F_SETFL, 0), 0);  // from now on somebody reads, to the end
  std::string bytes;
  std::thread drain([&] {
    std::string piece(65536, '\0');
    for (ssize_t got; (got = ::read(reader.get(), piece.data(), piece.size())) > 0;) {
      bytes.append(piece, 0, static_cast<std::size_t>(got));
    }
  });
  testing::internal::CaptureStderr();
  file->reset();
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr(path), HasSubstr("lacks " + std::to_string(lost) + " events")));
  drain.join();
  std::uint64_t told = 0, kept = 0;
  for (const TraceRecord& record : parse(bytes).records) {
    if (record.kind == TraceKind::lost) told += record.value;
    if (record.kind == TraceKind::fetch) ++kept;
  }
  EXPECT_EQ(told, lost);
  EXPECT_EQ(kept + lost, kEvents);
}

TEST_F(TraceFiles, OnAFullDiskSayThatTheyEndEarly) {
  auto file = TraceFile::create(path_, 0, "nic", Log());
  ASSERT_TRUE(file) << file.error().message();
  const std::string path = path_ + "/pe0-nic.trace";
  EXPECT_EQ(read(path).header.ends_early, 0u);
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{10'000, before.rlim_max};
  testing::internal::CaptureStderr();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  for (std::uint64_t i = 0; i < 1000; ++i) (*file)->add(fetch_of(i));
  file->reset();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr(path + " ends here"), HasSubstr("File too large")));
  const Read got = read(path);
  EXPECT_EQ(got.header.ends_early, 1u);
  EXPECT_EQ(got.header.magic, TraceHeader::kMagic);
  EXPECT_EQ(got.records.size(), (10'000 - sizeof(TraceHeader)) / sizeof(TraceRecord));
}

TEST_F(HostTraces, HaveASignOfLifeEachSecond) {
  auto trace = HostTrace::create(path_, 0, Log());
  ASSERT_TRUE(trace) << trace.error().message();
  const auto has_two = [this] { return read(path_ + "/pe0-host.trace").records.size() >= 2; };
  const std::uint64_t begin_ns = steady_ns();
  while (!has_two() && steady_ns() - begin_ns < 60'000'000'000) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  const auto records = read(path_ + "/pe0-host.trace").records;
  ASSERT_GE(records.size(), 2u);
  EXPECT_EQ(records[0].kind, TraceKind::alive);
  EXPECT_GE(records[1].time_ns, records[0].time_ns + 900'000'000);
}

struct LongNameOfAKernelThatWasCutToFit {};
template <class T>
struct Copy {
  struct Kernel {};
};

TEST_F(HostTraces, HaveKernelsByTheirOwnNameWithBlocksAndQueues) {
  auto trace = HostTrace::create(path_, 1, Log());
  ASSERT_TRUE(trace) << trace.error().message();
  (*trace)->name_queue(0x42, 5, 1);
  {
    const KernelSpan span(trace->get(), type_text<LongNameOfAKernelThatWasCutToFit>(), 2, 64);
    span.begin_block(1);
    span.end_block(1);
  }
  { const KernelSpan span(trace->get(), type_text<Copy<std::vector<int>>>(), 1, 1); }
  { const KernelSpan span(trace->get(), type_text<Copy<std::vector<int>>::Kernel>(), 1, 1); }
  { const KernelSpan span(trace->get(), "f(std::vector<int>)::<lambda(int)>", 1, 1); }
  const auto lambda = [] {};
  { const KernelSpan span(trace->get(), type_text<decltype(lambda)>(), 1, 1); }
  { const KernelSpan none(nullptr, "nobody looks", 1, 1); }
  trace->reset();
  const auto records = read(path_ + "/pe1-host.trace").records;
  std::vector<TraceKind> kinds;
  for (const TraceRecord& record : records) kinds.push_back(record.kind);
  ASSERT_THAT(kinds,
              ElementsAre(TraceKind::queue_name, TraceKind::kernel_begin, TraceKind::block_begin,
                          TraceKind::block_end, TraceKind::kernel_end, TraceKind::kernel_begin,
                          TraceKind::kernel_end, TraceKind::kernel_begin, TraceKind::kernel_end,
                          TraceKind::kernel_begin, TraceKind::kernel_end, TraceKind::kernel_begin,
                          TraceKind::kernel_end));
  EXPECT_EQ(records[0].of.peer, 5);
  EXPECT_STREQ(records[1].name().data(), "LongNameOfAKernelThatWa");
  EXPECT_EQ(records[1].index, 2u);
  EXPECT_EQ(records[1].size, 64u);
  EXPECT_STREQ(records[5].name().data(), "Copy");
  EXPECT_STREQ(records[7].name().data(), "Kernel");
  EXPECT_STREQ(records[9].name().data(), "lambda of f(std::vector");
  EXPECT_THAT(std::string(records[11].name().data()), HasSubstr("lambda"));
  EXPECT_NE(records[5].value, records[1].value);
}

}  // namespace
}  // namespace gdakit
