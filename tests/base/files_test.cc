#include "core/base/files.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/file_descriptor.h"

namespace gdakit {
namespace {

using testing::EndsWith;

class Files : public testing::Test {
 protected:
  ~Files() override { std::filesystem::remove(path_); }

  const std::string path_ = testing::TempDir() + "gdakit-files-" + std::to_string(::getpid());
};

TEST_F(Files, AreWrittenAndReadWhole) {
  const std::string text = std::string(100'000, 'x') + std::string(1, '\0') + "end";
  ASSERT_TRUE(write_file(path_, text));
  EXPECT_EQ(*read_file(path_, "the text"), text);
  ASSERT_TRUE(write_file(path_, ""));
  EXPECT_EQ(*read_file(path_, "the text"), "");
}

TEST_F(Files, ThatCannotBeReadGiveTheReason) {
  EXPECT_EQ(read_file(path_, "the text").error().message(),
            "cannot read the text \"" + path_ + "\": No such file or directory");
  EXPECT_EQ(read_file(path_, "the text").error().code(), Code::not_found);
  EXPECT_THAT(read_file("/", "the text").error().message(), EndsWith(": Is a directory"));
}

TEST_F(Files, ThatCannotBeWrittenGiveTheReason) {
  EXPECT_EQ(write_file("/dev/full", "x").error().system_code(), ENOSPC);
  EXPECT_EQ(try_to_write("/").error().system_code(), EISDIR);
  for (const Result<void>& tried : {write_file(path_ + "/x", ""), try_to_write(path_ + "/x")}) {
    EXPECT_EQ(tried.error().message(),
              "cannot write \"" + path_ + "/x\": No such file or directory");
  }
}

TEST_F(Files, ATrialKeepsALinkToNothing) {
  const std::string link = path_ + "-link";
  std::filesystem::create_symlink(path_, link);
  EXPECT_TRUE(try_to_write(link));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_FALSE(std::filesystem::exists(path_));
  std::filesystem::remove(link);
}

TEST_F(Files, ATrialDoesNotOpenAPipe) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const UniqueFileDescriptor reader(::open(path_.c_str(), O_RDONLY | O_NONBLOCK));
  EXPECT_TRUE(try_to_write(path_));
  pollfd end{reader.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&end, 1, 0), 0) << "a writer has come and gone";
}

TEST_F(Files, ATrialLeavesNothingBehind) {
  EXPECT_TRUE(try_to_write(path_));
  EXPECT_FALSE(std::filesystem::exists(path_));
  ASSERT_TRUE(write_file(path_, "kept"));
  EXPECT_TRUE(try_to_write(path_));
  EXPECT_EQ(*read_file(path_, "the text"), "kept");
}

}  // namespace
}  // namespace gdakit
