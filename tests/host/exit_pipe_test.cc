#include "core/host/launch/exit_pipe.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/exit_requests.h"

namespace gdakit {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(ExitPipe, TheLauncherGetsWhatAPeAsksFor) {
  const auto requests = tools::ExitRequests::open();
  ASSERT_TRUE(requests);
  EXPECT_FALSE(requests->take());
  ASSERT_TRUE(send_exit_request(requests->path(), {3, 0}));
  ASSERT_TRUE(send_exit_request(requests->path(), {1, 255}));
  const auto first = requests->take();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->rank, 3);
  EXPECT_EQ(first->status, 0);
  EXPECT_FALSE(requests->take());
}

TEST(ExitPipe, AFileIsLeftAsItIs) {
  const std::string path = testing::TempDir() + "exit_pipe_test-" + std::to_string(::getpid());
  std::ofstream(path) << "text";
  const auto sent = send_exit_request(path, {3, 0});
  ASSERT_FALSE(sent);
  EXPECT_THAT(sent.error().message(),
              AllOf(HasSubstr("GDAKIT_EXIT_PIPE"), HasSubstr(path), HasSubstr("no pipe")));
  EXPECT_EQ(std::filesystem::file_size(path), 4u);
  EXPECT_FALSE(send_exit_request(path + ".absent", {3, 0}));
  std::filesystem::remove(path);
}

TEST(ExitPipe, OtherLinesAreNoRequests) {
  for (const char* const line : {"", "\n", "3", "3 0", "3\n", "x 0\n", "3 256\n", "-1 0\n",
                                 "3 -1\n", "3  0\n", "99999999999 0\n"}) {
    EXPECT_FALSE(parse_exit_request(line)) << line;
  }
  EXPECT_TRUE(parse_exit_request("3 0\nand more"));
}

}  // namespace
}  // namespace gdakit
