// Files that are kept open, with rules and without.
#include "core/base/kept_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace gdakit {
namespace {

UniqueFileDescriptor open_null() { return UniqueFileDescriptor(::open("/dev/null", O_RDONLY)); }

bool is_open(int file) { return ::fcntl(file, F_GETFD) >= 0; }

TEST(KeptFile, IsAnOrdinaryOneWithoutRules) {
  UniqueFileDescriptor opened = open_null();
  const int number = opened.get();
  {
    const KeptFile file = keep_file(std::move(opened));
    EXPECT_EQ(file.get(), number);
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
  EXPECT_FALSE(keep_file(UniqueFileDescriptor()));
}

std::vector<int> closed;

TEST(KeptFile, HasTheNumberThatTheRulesGiveAndIsClosedByThem) {
  static constexpr KeptFileRules kRules{
      [](UniqueFileDescriptor file) { return ::fcntl(file.get(), F_DUPFD, 100); },
      [](int file) {
        closed.push_back(file);
        ::close(file);
      }};
  kept_file_rules = &kRules;
  KeptFile file = keep_file(open_null());
  const int number = file.get();
  EXPECT_GE(number, 100);
  EXPECT_FALSE(keep_file(UniqueFileDescriptor())) << "what could not be opened is not kept";
  file.reset();
  kept_file_rules = nullptr;
  EXPECT_EQ(closed, std::vector{number});
  EXPECT_FALSE(is_open(number));
}

}  // namespace
}  // namespace gdakit
