// What every bootstrap promises, for both of them and for 1 to 8 PEs.
#include "core/host/bootstrap/bootstrap.h"

#include <atomic>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <tuple>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/host/bootstrap/job_proof.h"
#include "tests/host/bootstrap_job.h"

namespace gdakit::testing_bootstrap {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::Each;
using testing::HasSubstr;

class Collectives : public testing::TestWithParam<std::tuple<Wire, int>> {
 protected:
  Wire wire() const { return std::get<0>(GetParam()); }
  int size() const { return std::get<1>(GetParam()); }
  void run(const Body& body) const { run_job(wire(), size(), 20s, body); }
};

std::string blob_of(int pe) { return std::string(static_cast<std::size_t>(pe * 100), 'a') + "|"; }

TEST_P(Collectives, AllgatherGivesEveryBlobByRank) {
  run([&](std::unique_ptr<Bootstrap> member) {
    EXPECT_EQ(member->size(), size());
    const auto all = member->allgather(bytes_of(blob_of(member->rank())));
    ASSERT_TRUE(all) << all.error().message();
    ASSERT_EQ(all->size(), static_cast<std::size_t>(size()));
    for (int pe = 0; pe < size(); ++pe) {
      EXPECT_EQ(text_of((*all)[static_cast<std::size_t>(pe)]), blob_of(pe));
    }
  });
}

TEST_P(Collectives, AlltoallGivesToEachWhatWasMeantForIt) {
  const auto text = [](int from, int to) {
    return std::to_string(from) + ">" + std::to_string(to) + std::string(to % 3 == 0 ? 0 : 50, '.');
  };
  run([&](std::unique_ptr<Bootstrap> member) {
    std::vector<Bytes> to_each;
    for (int pe = 0; pe < size(); ++pe) to_each.push_back(bytes_of(text(member->rank(), pe)));
    const auto from_each = member->alltoall(std::move(to_each));
    ASSERT_TRUE(from_each) << from_each.error().message();
    for (int pe = 0; pe < size(); ++pe) {
      EXPECT_EQ(text_of((*from_each)[static_cast<std::size_t>(pe)]), text(pe, member->rank()));
    }
  });
}

TEST_P(Collectives, BroadcastGivesTheRootsBlobFromAnyRoot) {
  run([&](std::unique_ptr<Bootstrap> member) {
    for (int root = 0; root < size(); ++root) {
      const auto blob = member->broadcast(root, bytes_of(blob_of(member->rank())));
      ASSERT_TRUE(blob) << blob.error().message();
      EXPECT_EQ(text_of(*blob), blob_of(root));
    }
  });
}

TEST_P(Collectives, NobodyPassesABarrierBeforeAllHaveCome) {
  std::atomic<int> came = 0;
  run([&](std::unique_ptr<Bootstrap> member) {
    for (int round = 1; round <= 20; ++round) {
      ++came;
      ASSERT_TRUE(member->barrier());
      EXPECT_GE(came.load(), round * size());
      ASSERT_TRUE(member->barrier());
    }
  });
}

TEST_P(Collectives, EmptyBlobsAreBlobs) {
  run([&](std::unique_ptr<Bootstrap> member) {
    const auto all = member->allgather({});
    ASSERT_TRUE(all) << all.error().message();
    EXPECT_THAT(*all, AllOf(testing::SizeIs(size()), Each(testing::IsEmpty())));
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, Collectives,
                         testing::Combine(testing::Values(Wire::local, Wire::tcp),
                                          testing::Values(1, 2, 3, 5, 8)));

class BootstrapOf : public testing::TestWithParam<Wire> {
 protected:
  // Runs `body` in each of `size` PEs and returns the messages it gives, by rank.
  std::vector<std::string> messages(int size, std::chrono::milliseconds timeout,
                                    const std::function<std::string(Bootstrap&)>& body) const {
    std::vector<std::string> all(static_cast<std::size_t>(size));
    run_job(GetParam(), size, timeout, [&](std::unique_ptr<Bootstrap> member) {
      all[static_cast<std::size_t>(member->rank())] = body(*member);
    });
    return all;
  }
};

TEST_P(BootstrapOf, BlobsOfMegabytesArrive) {
  run_job(GetParam(), 3, 30s, [](std::unique_ptr<Bootstrap> member) {
    const Bytes mine(std::size_t{5} << 20, std::byte(member->rank() + 1));
    const auto all = member->allgather(mine);
    ASSERT_TRUE(all) << all.error().message();
    for (std::size_t pe = 0; pe < 3; ++pe) {
      EXPECT_TRUE((*all)[pe] == Bytes(mine.size(), std::byte(pe + 1)));
    }
  });
}

TEST_P(BootstrapOf, TooLargeABlobIsRefusedAndTheJobGoesOn) {
  const Bytes large(kMaxContributionBytes + 1);
  EXPECT_THAT(messages(2, 20s,
                       [&](Bootstrap& member) {
                         std::string refused = message_of(member.allgather(large));
                         EXPECT_TRUE(member.barrier());
                         return refused;
                       }),
              Each(AllOf(HasSubstr("67108865 bytes"), HasSubstr("at most 67108864"))));
}

TEST_P(BootstrapOf, ArgumentsThatCannotBeAreRefusedAndTheJobGoesOn) {
  messages(2, 20s, [&](Bootstrap& member) {
    EXPECT_THAT(message_of(member.alltoall({Bytes{}})), HasSubstr("1 blobs given in a job of 2"));
    EXPECT_THAT(message_of(member.broadcast(2, {})), HasSubstr("root 2 is not a PE"));
    EXPECT_THAT(message_of(member.broadcast(-1, {})), HasSubstr("root -1 is not a PE"));
    EXPECT_TRUE(member.barrier());
    return "";
  });
}

TEST_P(BootstrapOf, CallsThatDoNotMatchFailOnEveryPeAndSayWhoCalledWhat) {
  const auto all = messages(3, 20s, [&](Bootstrap& member) {
    EXPECT_TRUE(member.barrier());
    return member.rank() == 1 ? message_of(member.allgather({})) : message_of(member.barrier());
  });
  EXPECT_THAT(
      all, Each(AllOf(HasSubstr("do not match"), HasSubstr("PE 1 called allgather"),
                      AnyOf(HasSubstr("PE 0 called barrier"), HasSubstr("PE 2 called barrier")))));
}

TEST_P(BootstrapOf, CallsForDifferentPurposesDoNotMatch) {
  const auto all = messages(2, 20s, [&](Bootstrap& member) {
    const bool ends = member.rank() == 1;
    const Bootstrap::For purpose(member, ends ? Purpose::end : Purpose::allocate);
    const Bootstrap::For within(member, Purpose::free);  // what an allocate is made of
    return message_of(member.barrier());
  });
  EXPECT_THAT(all, Each(HasSubstr("PE 1 ended its Context while PE 0 called allocate")));
}

TEST_P(BootstrapOf, BroadcastsFromDifferentRootsDoNotMatch) {
  EXPECT_THAT(
      messages(2, 20s,
               [](Bootstrap& member) { return message_of(member.broadcast(member.rank(), {})); }),
      Each(AllOf(HasSubstr("PE 0 called broadcast from PE 0"),
                 HasSubstr("PE 1 called broadcast from PE 1"))));
}

TEST_P(BootstrapOf, ATimeoutNamesThePesThatDidNotCome) {
  std::atomic<int> failed = 0;
  const auto all = messages(4, 300ms, [&](Bootstrap& member) {
    if (member.rank() % 2 == 0) {
      std::string message = message_of(member.barrier());
      ++failed;
      return message;
    }
    while (failed.load() < 2) std::this_thread::sleep_for(1ms);
    return message_of(member.barrier());
  });
  EXPECT_THAT(all, Each("barrier timed out after 0.3 s: no message from PE 1, PE 3"));
}

// As for peers of a PE that is stopped: the hub's limit, that of the members, which is 2 s longer,
// and that of threads.
TEST_P(BootstrapOf, TimeInWhichTheClockStandsIsNotCounted) {
  const auto clock = std::make_shared<WaitClock>();
  const auto all = messages(2, 500ms, [&clock](Bootstrap& member) {
    member.go_by(clock);
    if (member.rank() == 0) clock->tick(steady_ns(), false);  // and no tick follows
    EXPECT_TRUE(member.barrier());
    if (member.rank() == 1) std::this_thread::sleep_for(3s);
    return message_of(member.barrier());
  });
  EXPECT_THAT(all, Each("no error"));
}

TEST_P(BootstrapOf, TheFirstErrorIsFinal) {
  messages(2, 20s, [](Bootstrap& member) {
    const std::string first =
        member.rank() == 0 ? message_of(member.barrier()) : message_of(member.allgather({}));
    EXPECT_NE(first, "no error");
    EXPECT_EQ(message_of(member.barrier()), first);
    EXPECT_EQ(message_of(member.broadcast(0, {})), first);
    return "";
  });
}

TEST_P(BootstrapOf, AbortFailsPendingCallsWithItsMessage) {
  const auto all = messages(3, 20s, [](Bootstrap& member) {
    if (member.rank() == 2) member.abort("queue 7 is broken");
    return message_of(member.barrier());
  });
  EXPECT_EQ(all[0], "PE 2 ended the job: queue 7 is broken");
  EXPECT_EQ(all[1], "PE 2 ended the job: queue 7 is broken");
  EXPECT_EQ(all[2], "this PE ended the job: queue 7 is broken");
}

TEST_P(BootstrapOf, APeThatLeftIsNamed) {
  for (int leaver = 0; leaver < 3; ++leaver) {
    run_job(GetParam(), 3, 20s, [&](std::unique_ptr<Bootstrap> member) {
      EXPECT_TRUE(member->barrier());
      if (member->rank() == leaver) return;
      EXPECT_THAT(message_of(member->barrier()),
                  AllOf(HasSubstr("PE " + std::to_string(leaver)), HasSubstr("has left the job")));
    });
  }
}

TEST_P(BootstrapOf, AChildByForkIsNoPeAndDisturbsNobody) {
  run_job(GetParam(), 2, 20s, [](std::unique_ptr<Bootstrap> member) {
    if (member->rank() == 1) {
      const pid_t child = ::fork();
      if (child == 0) {
        const std::string message = message_of(member->barrier());
        ::_exit(message.find("is a child by fork of PE 1") != std::string::npos ? 0 : 1);
      }
      int status = -1;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0);
    }
    EXPECT_EQ(message_of(member->barrier()), "no error");
    EXPECT_EQ(message_of(member->barrier()), "no error");
  });
}

TEST_P(BootstrapOf, LeavingDoesNotDisturbThoseWhoNeedNothingMore) {
  for (int round = 0; round < 20; ++round) {
    run_job(GetParam(), 4, 20s, [](std::unique_ptr<Bootstrap> member) {
      const auto all = member->allgather(Bytes(100'000, std::byte{1}));
      EXPECT_TRUE(all) << all.error().message();
    });
  }
}

TEST_P(BootstrapOf, ValuesAreGatheredByType) {
  struct Card {
    int pe;
    double weight;
  };
  messages(3, 20s, [](Bootstrap& member) {
    const auto cards = allgather_value(member, Card{member.rank(), 0.5 * member.rank()});
    EXPECT_TRUE(cards);
    EXPECT_EQ((*cards)[2].pe, 2);
    EXPECT_EQ((*cards)[2].weight, 1.0);
    return "";
  });
}

TEST_P(BootstrapOf, ValuesOfDifferentSizesAreAnError) {
  messages(2, 20s, [](Bootstrap& member) {
    if (member.rank() == 0) {
      EXPECT_TRUE(member.allgather(Bytes(3)));
    } else {
      EXPECT_THAT(message_of(allgather_value(member, 0)),
                  HasSubstr("PE 0 gave 3 bytes where this PE gave 4"));
    }
    return "";
  });
}

TEST_P(BootstrapOf, AKeyIsTheSameOnAllPesAndAnotherForEachLabel) {
  messages(3, 20s, [](Bootstrap& member) {
    const std::optional<JobKey> one = member.key("one");
    const std::optional<JobKey> two = member.key("two");
    EXPECT_TRUE(one && two && *one != *two);
    const auto all = allgather_value(member, *one);
    EXPECT_TRUE(all);
    EXPECT_THAT(*all, Each(*one));
    return "";
  });
}

INSTANTIATE_TEST_SUITE_P(Both, BootstrapOf, testing::Values(Wire::local, Wire::tcp));

// By another implementation of BLAKE2b.
TEST(JobKey, IsBlake2bOfTheLabelKeyedWithTheSecret) {
  JobSecret secret;
  std::iota(secret.begin(), secret.end(), std::uint8_t{0});
  const JobKey right = {0x96, 0x7d, 0x5c, 0x60, 0x70, 0x93, 0x5c, 0x51, 0x04, 0x83, 0xf7,
                        0x0c, 0x6d, 0x06, 0xf9, 0x0f, 0x3f, 0x42, 0x01, 0x01, 0x24, 0x70,
                        0xf6, 0x69, 0xbe, 0xf5, 0xea, 0x41, 0x09, 0x45, 0xd5, 0xb8};
  EXPECT_EQ(make_job_key(secret, "a label"), right);
}

TEST(JobKey, IsNoneOfASecretThatOthersMayKnow) {
  const TcpJob job(1);
  LaunchInfo info = job.info(0);
  info.secret_is_derived = true;
  const auto member = open_tcp_bootstrap(info, Log(LogLevel::error));
  ASSERT_TRUE(member) << message_of(member);
  EXPECT_FALSE((*member)->key("one"));
}

TEST(LocalBootstrap, JobsHaveKeysOfTheirOwn) {
  const auto one = make_local_bootstraps(1, 1s);
  const auto other = make_local_bootstraps(1, 1s);
  ASSERT_TRUE(one && other);
  EXPECT_NE(one->front()->key("one"), other->front()->key("one"));
}

TEST(LocalBootstrap, AJobOfNoPesIsRefused) {
  EXPECT_THAT(message_of(make_local_bootstraps(0, 1s)), HasSubstr("at least 1"));
}

}  // namespace
}  // namespace gdakit::testing_bootstrap
