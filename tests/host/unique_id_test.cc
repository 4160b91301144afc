// Jobs that meet by an id which the test hands round.
#include "core/host/launch/unique_id.h"

#include <cstring>
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/host/bootstrap/bootstrap_open.h"
#include "tests/host/bootstrap_job.h"

namespace gdakit::testing_bootstrap {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Options quick() {
  Options options;
  options.timeout = 10s;
  options.log = LogLevel::error;
  return options;
}

UniqueId an_id() {
  const Result<UniqueId> id = make_unique_id(quick());
  EXPECT_TRUE(id) << id.error().message();
  return *id;
}

void expect_job(const UniqueId& id, int size) {
  run_members(size, [&](int rank) {
    auto member = open_bootstrap(quick(), id, rank, size);
    ASSERT_TRUE(member) << member.error().message();
    const auto ranks = allgather_value(**member, (*member)->rank());
    ASSERT_TRUE(ranks) << ranks.error().message();
    EXPECT_EQ(ranks->size(), static_cast<std::size_t>(size));
    EXPECT_EQ(ranks->back(), size - 1);
  });
}

TEST(UniqueId, ItsBytesBringAJobTogether) {
  const UniqueId id = an_id();
  UniqueId copy;
  std::memcpy(&copy, &id, sizeof(id));
  expect_job(copy, 4);
}

TEST(UniqueId, SeveralMayBeThereAtATimeAndAreUsedInAnyOrder) {
  const UniqueId first = an_id();
  const UniqueId second = an_id();
  EXPECT_NE(first.secret, second.secret);
  auto other = std::async(std::launch::async, [&] { expect_job(second, 2); });
  expect_job(first, 3);
  other.get();
}

TEST(UniqueId, AJobOfOneIsAJob) { expect_job(an_id(), 1); }

TEST(UniqueId, TheOthersMayComeBeforePe0) {
  const UniqueId id = an_id();
  auto one =
      std::async(std::launch::async, [&] { return message_of(open_bootstrap(quick(), id, 1, 2)); });
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(message_of(open_bootstrap(quick(), id, 0, 2)), "no error");
  EXPECT_EQ(one.get(), "no error");
}

TEST(UniqueId, IsUsedUpByItsJob) {
  const UniqueId id = an_id();
  expect_job(id, 2);
  EXPECT_THAT(message_of(open_bootstrap(quick(), id, 0, 2)),
              AllOf(HasSubstr("used it before"), HasSubstr("make_unique_id")));
  Options options = quick();
  options.timeout = 200ms;
  EXPECT_THAT(message_of(open_bootstrap(options, id, 1, 2)),
              AllOf(HasSubstr("within 0.2 s"), HasSubstr("if it is old")));
}

TEST(UniqueId, OneOfAnotherProcessIsNotPe0s) {
  UniqueId id = an_id();
  id.secret[0] ^= 1;
  EXPECT_THAT(message_of(open_bootstrap(quick(), id, 0, 2)), HasSubstr("did not make this id"));
}

TEST(UniqueId, OneOfAnotherJobIsRefused) {
  const UniqueId id = an_id();
  auto zero = std::async(std::launch::async, [&] { return open_bootstrap(quick(), id, 0, 2); });
  UniqueId foreign = id;
  foreign.secret[3] ^= 1;
  EXPECT_THAT(message_of(open_bootstrap(quick(), foreign, 1, 2)), HasSubstr("refused"));
  EXPECT_EQ(message_of(open_bootstrap(quick(), id, 1, 2)), "no error");
  EXPECT_TRUE(zero.get());
}

TEST(UniqueId, BytesThatAreNoneAreRefused) {
  EXPECT_THAT(message_of(open_bootstrap(quick(), UniqueId{}, 0, 2)), HasSubstr("all 128 bytes"));
  UniqueId endless = an_id();
  endless.host.fill('x');
  EXPECT_THAT(message_of(open_bootstrap(quick(), endless, 1, 2)), HasSubstr("all 128 bytes"));
  UniqueId nowhere = an_id();
  nowhere.host.fill('\0');
  EXPECT_THAT(message_of(open_bootstrap(quick(), nowhere, 1, 2)), HasSubstr("all 128 bytes"));
}

TEST(UniqueId, AnImpossibleRankIsRefused) {
  const UniqueId id = an_id();
  for (const auto& [rank, size] : {std::pair(2, 2), std::pair(-1, 2), std::pair(0, 0)}) {
    EXPECT_THAT(message_of(open_bootstrap(quick(), id, rank, size)), HasSubstr("is not possible"));
  }
  expect_job(id, 1);  // and the id is still good
}

TEST(UniqueId, TheUsersRootIsTaken) {
  Options options = quick();
  options.root = "127.0.0.1:1";  // any port, until one is known to be free
  {
    const Result<UniqueFileDescriptor> free_one = open_listener("127.0.0.1", 0);
    ASSERT_TRUE(free_one);
    options.root = "127.0.0.1:" + std::to_string(listener_address(free_one->get())->port);
  }
  const Result<UniqueId> id = make_unique_id(options);
  ASSERT_TRUE(id) << id.error().message();
  EXPECT_STREQ(id->host.data(), "127.0.0.1");
  EXPECT_EQ("127.0.0.1:" + std::to_string(id->port), options.root);
  EXPECT_THAT(message_of(make_unique_id(options)), HasSubstr("Address already in use"));
}

TEST(UniqueId, TheLauncherIsNotAsked) {
  Options options = quick();
  options.set_by_launcher = {{"RANK", "7"}, {"LOCAL_RANK", "3"}};
  const Result<Launch> launch = start_launch(options, an_id(), 0, 1);
  ASSERT_TRUE(launch) << launch.error().message();
  EXPECT_EQ(launch->info.rank, 0);
  EXPECT_EQ(launch->info.local_rank, 3) << "but where it has put this process is still true";
}

}  // namespace
}  // namespace gdakit::testing_bootstrap
