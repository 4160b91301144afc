// Files of one user alone: trials that leave all as it was, and what is another user's.
#include "core/base/private_file.h"

#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/files.h"

namespace gdakit {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class PrivateFiles : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  const std::string folder_ = testing::TempDir() + "gdakit-private-" + std::to_string(::getpid());
  const std::string path_ = folder_ + "/file";
};

TEST_F(PrivateFiles, ATrialLeavesNothingBehind) {
  EXPECT_TRUE(try_to_write_private(path_, "files"));
  EXPECT_FALSE(std::filesystem::exists(path_));
  ASSERT_TRUE(write_file(path_, "kept"));
  EXPECT_TRUE(try_to_write_private(path_, "files"));
  EXPECT_EQ(*read_file(path_, "the text"), "kept");
}

TEST_F(PrivateFiles, ATrialKeepsALinkToNothing) {
  const std::string link = folder_ + "/link";
  std::filesystem::create_symlink(path_, link);
  EXPECT_TRUE(try_to_write_private(link, "files"));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(PrivateFiles, ATrialDoesNotOpenAPipe) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const UniqueFileDescriptor reader(::open(path_.c_str(), O_RDONLY | O_NONBLOCK));
  EXPECT_TRUE(try_to_write_private(path_, "files"));
  pollfd end{reader.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&end, 1, 0), 0) << "a writer has come and gone";
}

TEST_F(PrivateFiles, ATrialNamesWhatCannotBeWrittenWithTheRemedy) {
  EXPECT_THAT(try_to_write_private(folder_, "files").error().message(),
              AllOf(HasSubstr(folder_), HasSubstr("name a file in it")));
  EXPECT_THAT(try_to_write_private(path_ + "/x/y", "files").error().message(),
              HasSubstr("create the folder, or name another one for files"));
}

TEST_F(PrivateFiles, APipeOfAnotherUserIsRefused) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0666), 0);
  if (::chown(path_.c_str(), 65534, 65534) != 0) GTEST_SKIP() << "needs root";
  const UniqueFileDescriptor reader(::open(path_.c_str(), O_RDONLY | O_NONBLOCK));
  const auto file = open_private_file(path_, "files");
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message(), HasSubstr("another user's file"));
  EXPECT_FALSE(try_to_write_private(path_, "files"));
}

TEST_F(PrivateFiles, DevicesAreTakenOfAnyUser) {
  EXPECT_TRUE(try_to_write_private("/dev/null", "files"));
  EXPECT_TRUE(open_private_file("/dev/null", "files"));
}

}  // namespace
}  // namespace gdakit
