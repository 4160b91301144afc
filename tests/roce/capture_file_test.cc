// Captures on their way to a file: whole, or honest about what they lack.
#include "backends/softnic/wire/capture_file.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/roce/capture_blocks.h"
#include "tests/roce/tshark.h"

namespace gdakit::softnic::roce {
namespace {

using test::Bytes;
using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;

Bytes some_frame(std::size_t payload_bytes) {
  const Bytes payload(payload_bytes, 0x5a);
  const RocePacket packet =
      test::full_packet(opcode_of(Transport::rc, Operation::send_only), payload);
  return frame_of(test::some_way(), test::encoded(packet, test::some_way()));
}

std::unique_ptr<CaptureFile> open(const std::string& path, const CaptureFileOptions& options = {}) {
  Result<std::unique_ptr<CaptureFile>> file = CaptureFile::create(path, options);
  EXPECT_TRUE(file) << file.error().message();
  return std::move(*file);
}

// Within twenty seconds.
bool becomes_true(const std::function<bool()>& condition) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

TEST(CaptureFile, IsItsUsersAloneAlsoWhereAFileForAllWasBefore) {
  const TemporaryFolder folder;
  const std::string path = folder / "pe0.pcapng";
  for (const mode_t before : {0u, 0666u}) {
    EXPECT_EQ(::chmod(path.c_str(), before), before == 0 ? -1 : 0);  // there is none at first
    const auto file = open(path);
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
  }
}

TEST(CaptureFile, AllThatIsAddedIsInTheFileOnceItIsGone) {
  const TemporaryFolder folder;
  const std::string path = folder / "pe0.pcapng";
  auto file = open(path, {.queue_bytes = 1 << 20, .interface_name = "pe0"});
  for (std::size_t i = 0; i < 500; ++i) EXPECT_TRUE(file->add({.comment = "one"}, some_frame(i)));
  file.reset();
  const auto blocks = test::read_blocks(test::read_file(path));
  ASSERT_EQ(blocks.frames.size(), 500u);
  EXPECT_TRUE(blocks.whole && blocks.has_statistics);
  for (std::size_t i = 0; i < 500; ++i) {
    EXPECT_EQ(blocks.frames[i].bytes, some_frame(i));
    EXPECT_EQ(blocks.frames[i].dropped, 0u);
  }
}

TEST(CaptureFile, AMissingFolderIsNamedWithTheRemedy) {
  const TemporaryFolder folder;
  const std::string path = folder / "missing/pe0.pcapng";
  const auto file = CaptureFile::create(path);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), Code::not_found);
  EXPECT_THAT(file.error().message(), AllOf(HasSubstr(path), HasSubstr("create the folder")));
}

TEST(CaptureFile, AFolderThatIsNotTheUsersIsNamedWithTheRemedy) {
  const TemporaryFolder folder;
  const std::string path = folder / "pe0.pcapng";
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_read);
  constexpr uid_t kNobody = 65534;
  const int before = ::setfsuid(kNobody);  // root may write anywhere; others stay who they are
  const auto file = CaptureFile::create(path);
  ::setfsuid(static_cast<uid_t>(before));
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), Code::permission_denied);
  EXPECT_THAT(file.error().message(), AllOf(HasSubstr(path), HasSubstr("may write to")));
}

TEST(CaptureFile, AFullDiskIsAnErrorAtTheBeginningAndNoWarningToo) {
  testing::internal::CaptureStderr();
  const auto file = CaptureFile::create("/dev/full");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().system_code(), ENOSPC);
}

// A pipe that nobody reads stands for a disk that takes nothing.
TEST(CaptureFile, NobodyWaitsForAFileThatTakesNothingAndTheFileCountsWhatItLacks) {
  constexpr std::size_t kPackets = 1000;
  const TemporaryFolder folder;
  const std::string path = folder / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const UniqueFileDescriptor reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK));
  auto file = open(path, {.queue_bytes = 8192});
  ASSERT_GE(::fcntl(reader.get(), F_SETPIPE_SZ, 4096), 0);
  std::size_t taken = 0;
  for (std::size_t i = 0; i < kPackets; ++i) taken += file->add({}, some_frame(1000)) ? 1 : 0;
  EXPECT_LT(taken, 100u);
  EXPECT_EQ(file->dropped(), kPackets - taken);
  EXPECT_TRUE(file->is_full_for(8193));

  ASSERT_EQ(::fcntl(reader.get(), F_SETFL, 0), 0);  // from now on somebody reads, to the end
  Bytes bytes;
  std::thread drain([&] {
    Bytes piece(65536);
    for (ssize_t got; (got = ::read(reader.get(), piece.data(), piece.size())) > 0;) {
      bytes.insert(bytes.end(), piece.begin(), piece.begin() + got);
    }
  });
  EXPECT_TRUE(becomes_true([&] { return !file->is_full_for(2000); }));
  EXPECT_TRUE(file->add({}, some_frame(1000)));
  testing::internal::CaptureStderr();
  file.reset();
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr(path), HasSubstr(std::to_string(kPackets - taken) + " of 1001")));
  drain.join();
  const auto blocks = test::read_blocks(bytes);
  EXPECT_TRUE(blocks.whole && blocks.has_statistics);
  ASSERT_EQ(blocks.frames.size(), taken + 1);
  std::uint64_t told = 0;
  for (const auto& frame : blocks.frames) told += frame.dropped;
  EXPECT_EQ(told, kPackets - taken);
}

TEST(CaptureFile, AFullDiskEndsTheFileWithAWholeBlockAndTheJobGoesOn) {
  const TemporaryFolder folder;
  const std::string path = folder / "pe0.pcapng";
  auto file = open(path);
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{10'000, before.rlim_max};
  testing::internal::CaptureStderr();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  for (int i = 0; i < 100; ++i) file->add({}, some_frame(1000));
  EXPECT_TRUE(becomes_true([&] { return file->is_full_for(0); }));
  EXPECT_FALSE(file->add({}, some_frame(1000)));
  file.reset();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  const std::string errors = testing::internal::GetCapturedStderr();
  EXPECT_THAT(errors, AllOf(HasSubstr(path), HasSubstr("File too large")));
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 1);
  const auto blocks = test::read_blocks(test::read_file(path));
  EXPECT_TRUE(blocks.whole);
  EXPECT_EQ(blocks.frames.size(), 9u);
}

TEST(CaptureFile, AKilledProcessLeavesWhatItHadAddedBefore) {
  const TemporaryFolder folder;
  const std::string path = folder / "pe0.pcapng";
  const pid_t child = ::fork();
  if (child == 0) {
    auto file = CaptureFile::create(path);
    if (!file) ::_exit(1);
    for (int i = 0; i < 100; ++i) (*file)->add({}, some_frame(100));
    for (;;) ::pause();
  }
  const auto frames = [&] { return test::read_blocks(test::read_file(path)).frames.size(); };
  EXPECT_TRUE(becomes_true([&] { return frames() == 100; }));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(frames(), 100u);
  EXPECT_TRUE(test::read_blocks(test::read_file(path)).whole);
  if (!test::tshark_is_installed()) GTEST_SKIP() << test::kNoTshark;
  EXPECT_EQ(test::read_by_tshark(path, {"frame.number"}).size(), 100u);
}

}  // namespace
}  // namespace gdakit::softnic::roce
