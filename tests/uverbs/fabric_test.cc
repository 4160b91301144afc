// Fabrics: where NICs of one host and user meet by name.
#include "backends/softnic/uverbs/fabric.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <optional>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/softnic/uverbs/fabric_control.h"
#include "core/host/memory/memory_file.h"
#include "tests/uverbs/caller.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr auto kPatience = 60s;

std::string own_name(const char* name) { return test::own_spec(name).fabric; }

Membership join(const std::string& name) {
  Result<Membership> member = join_fabric(name);
  if (!member) throw std::runtime_error(member.error().message());
  return std::move(*member);
}

bool wait_for(const std::function<bool()>& happens) {
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  while (!happens()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

bool send(Wire& from, Endpoint to, std::uint32_t psn) {
  Packet packet;
  packet.header.destination = to;
  packet.header.psn = psn;
  const bool sent = wait_for([&] { return from.send(packet); });
  from.flush();
  return sent;
}

// The PSN of the next packet; nothing if none comes.
std::optional<std::uint32_t> receive(Wire& wire) {
  const Packet* packet = nullptr;
  if (!wait_for([&] { return (packet = wire.receive()) != nullptr; })) return std::nullopt;
  const std::uint32_t psn = packet->header.psn;
  wire.retire(packet);
  wire.flush();
  return psn;
}

TEST(UverbsFabric, NumbersOfQueuePairsSayWhoseTheyAre) {
  for (Endpoint place = 0; place < kPlaces; ++place) {
    EXPECT_EQ(place_of(first_qpn(place)), place);
    EXPECT_EQ(place_of(first_qpn(place) + kQpnsOfAPlace - 1), place);
  }
  EXPECT_EQ(first_qpn(kPlaces), 1u << 24);
}

TEST(UverbsFabric, MembersMeetAndExchangePackets) {
  const std::string name = own_name("meet");
  const Membership one = join(name), other = join(name);
  EXPECT_NE(one.wire->endpoint(), other.wire->endpoint());
  ASSERT_TRUE(send(*one.wire, other.wire->endpoint(), 17));
  EXPECT_EQ(receive(*other.wire), 17u);
  ASSERT_TRUE(send(*other.wire, one.wire->endpoint(), 18));
  EXPECT_EQ(receive(*one.wire), 18u);
}

TEST(UverbsFabric, FabricsOfOtherNamesAreApart) {
  const Membership one = join(own_name("apart"));
  const Membership other = join(own_name("apart2"));
  EXPECT_EQ(one.wire->endpoint(), 0u);
  EXPECT_EQ(other.wire->endpoint(), 0u);
}

TEST(UverbsFabric, MembersOfAllFabricsAreCounted) {
  const Membership first = join(own_name("counted"));
  const Membership second = join(own_name("counted-too"));
  MemberCounter counter;
  EXPECT_GE(counter.count(), 2u);
  EXPECT_GE(counter.count(), 2u) << "the list is read anew";
  const unsigned before = counter.count();
  std::vector<UniqueFileDescriptor> connections;
  for (int i = 0; i < 100; ++i) {
    auto connection = connect_to(fabric_members(own_name("counted")).at(0));
    ASSERT_TRUE(connection) << connection.error().message();
    connections.push_back(std::move(*connection));
  }
  EXPECT_LT(counter.count(), before + 90) << "those who ask a member are none";
}

TEST(UverbsFabric, APlaceIsFreeOnceItsMemberHasGone) {
  const std::string name = own_name("places");
  const Membership first = join(name);
  std::optional<Membership> second(join(name));
  const Membership third = join(name);
  const Endpoint freed = second->wire->endpoint();
  second.reset();
  const Membership next = join(name);
  EXPECT_EQ(next.wire->endpoint(), freed);
  EXPECT_NE(next.wire->endpoint(), first.wire->endpoint());
  EXPECT_NE(next.wire->endpoint(), third.wire->endpoint());
}

TEST(UverbsFabric, AFullOneSaysSo) {
  const std::string name = own_name("full");
  std::vector<Membership> members;
  for (std::uint32_t i = 0; i < kPlaces; ++i) members.push_back(join(name));
  const Result<Membership> late = join_fabric(name);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), Code::exhausted);
  EXPECT_THAT(late.error().message(), HasSubstr(name));
  members.pop_back();
  EXPECT_TRUE(join_fabric(name));
}

// A socket of an abstract name, as anybody may make one.
UniqueFileDescriptor name_socket(const std::string& name) {
  UniqueFileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), bytes) != 0) {
    throw std::runtime_error("cannot take the name " + name);
  }
  return socket;
}

std::string prefix(const std::string& fabric, uid_t user = ::getuid()) {
  struct stat processes {};
  EXPECT_EQ(::stat("/proc/self/ns/pid", &processes), 0);
  return "gdakit-verbs/" + std::to_string(user) + "/" + std::to_string(processes.st_ino) + "/" +
         fabric + "/";
}

TEST(UverbsFabric, NamesThatOthersMadeUpLeadNowhere) {
  const std::string name = own_name("strangers");
  const std::string pid = std::to_string(::getpid());
  // Of another user, of a file of this one that is no fabric, of one that is not there, and of none
  // at all.
  const Result<UniqueFileDescriptor> own = make_memory_file("no-fabric");
  const std::string own_file = std::to_string(own->get());
  const UniqueFileDescriptor strangers[] = {
      name_socket(prefix(name, ::getuid() + 1) + "member/" + pid + "/0/0"),
      name_socket(prefix(name) + "member/" + pid + "/" + own_file + "/2"),
      name_socket(prefix(name) + "member/999999999/3/0"),
      name_socket(prefix(name) + "member/" + pid + "/987654/1"),
      name_socket(prefix(name) + "member/../../etc/passwd"),
      name_socket(prefix(name) + "member/"),
      name_socket(prefix(name) + "member/5"),
  };
  const Membership one = join(name), other = join(name);
  EXPECT_EQ(one.wire->endpoint(), 0u);
  EXPECT_EQ(other.wire->endpoint(), 1u);
}

TEST(UverbsFabric, OneThatIsHeldLockedIsWaitedFor) {
  const std::string name = own_name("locked");
  std::optional<UniqueFileDescriptor> lock(name_socket(prefix(name) + "lock"));
  std::thread opener([&lock] {
    std::this_thread::sleep_for(50ms);
    lock.reset();
  });
  const Result<Membership> member = join_fabric(name);
  opener.join();
  EXPECT_TRUE(member);
}

// What a child does with the fabric's name; its exit code is 0 if that is true.
bool in_child(const std::function<bool()>& does) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(does() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(UverbsFabric, AForkedChildJoinsAndBothSeeEachOther) {
  const std::string name = own_name("child");
  const Membership parent = join(name);
  const Endpoint place = parent.wire->endpoint();
  const pid_t child = ::fork();
  if (child == 0) {
    Result<Membership> own = join_fabric(name);
    const bool met = own && own->wire->endpoint() != place &&
                     send(*own->wire, place, own->wire->endpoint()) && receive(*own->wire) == 99u;
    ::_exit(met ? 0 : 1);
  }
  const auto from = receive(*parent.wire);
  EXPECT_TRUE(from);
  EXPECT_TRUE(send(*parent.wire, from.value_or(place), 99));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(UverbsFabric, AChildThatEndsWithoutAWordFreesItsPlace) {
  const std::string name = own_name("gone");
  const Membership parent = join(name);
  EXPECT_TRUE(in_child([&name] {
    const Result<Membership> own = join_fabric(name);
    ::_exit(own && own->wire->endpoint() == 1 ? 0 : 1);
    return false;
  }));
  EXPECT_EQ(join(name).wire->endpoint(), 1u);
}

// A member with a child that outlives it, and is through with fork.
TEST(UverbsFabric, AChildDoesNotKeepThePlaceOfAParentThatHasEnded) {
  const std::string name = own_name("outlived");
  const Membership first = join(name);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    const Membership member = join(name);
    if (::fork() != 0) ::_exit(member.wire->endpoint() == 1 ? 0 : 1);
    const pid_t own = ::getpid();
    if (::write(ends[1], &own, sizeof own) != sizeof own) ::_exit(1);
    while (true) ::pause();
  }
  int status = 0;
  ASSERT_EQ(::waitpid(parent, &status, 0), parent);
  EXPECT_EQ(status, 0);
  pid_t child = 0;
  ASSERT_EQ(::read(ends[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  EXPECT_EQ(join(name).wire->endpoint(), 1u);
  ::kill(child, SIGKILL);
  ::close(ends[0]);
  ::close(ends[1]);
}

// Whoever forks while another of its threads joins.
TEST(UverbsFabric, AForkedChildHoldsNoLock) {
  const std::string name = own_name("fork");
  std::atomic<bool> over{false};
  std::thread joiner([&] {
    while (!over) EXPECT_TRUE(join_fabric(name));
  });
  std::vector<pid_t> children;
  for (int i = 0; i < 30; ++i) {
    children.push_back(::fork());
    if (children.back() == 0) {
      ::pause();
      ::_exit(0);
    }
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_TRUE(join_fabric(name));
  over = true;
  joiner.join();
  for (const pid_t child : children) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
}

// As containers that share a network: the number of a process there says nothing here.
TEST(UverbsFabric, ProcessesThatCannotSeeEachOtherDoNotMeet) {
  const std::string name = own_name("apart-by-number");
  const Membership one = join(name), other = join(name);
  constexpr int kNotPermitted = 77;
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWPID) != 0) ::_exit(kNotPermitted);
    ::_exit(in_child([&name] {
      const Result<Membership> own = join_fabric(name);
      return own && own->wire->endpoint() == 0;
    })
                ? 0
                : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == kNotPermitted) GTEST_SKIP() << "no name space of processes is allowed";
  EXPECT_EQ(status, 0);
  EXPECT_EQ(join(name).wire->endpoint(), 2u);
}

TEST(UverbsFabric, AProgramThatBecomesAnotherFreesItsPlace) {
  const std::string name = own_name("exec");
  const Membership parent = join(name);
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const Result<Membership> own = join_fabric(name);
    if (own && own->wire->endpoint() == 1) ::execlp("sleep", "sleep", "600", nullptr);
    ::_exit(1);
  }
  ::close(ready[1]);
  char byte = 0;
  EXPECT_EQ(::read(ready[0], &byte, 1), 0);  // at exec
  EXPECT_EQ(::waitpid(child, nullptr, WNOHANG), 0);
  EXPECT_EQ(join(name).wire->endpoint(), 1u);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
}

// A child has all files of its parent; they keep the parent's name on the list when it has gone.
TEST(UverbsFabric, AChildOfAMemberThatHasGoneFindsOrMakesAFabric) {
  const std::string name = own_name("orphan");
  EXPECT_TRUE(in_child([&name] {
    int ends[2];
    if (::pipe(ends) != 0) return false;
    const pid_t middle = ::fork();
    if (middle == 0) {
      const Membership member = join(name);
      if (::fork() != 0) ::_exit(0);
      // The grandchild, whose parent ends now.
      while (::getppid() == middle) std::this_thread::sleep_for(1ms);
      const bool joined = static_cast<bool>(join_fabric(name));
      const char answer = joined ? 'y' : 'n';
      ::_exit(::write(ends[1], &answer, 1) == 1 ? 0 : 1);
    }
    ::waitpid(middle, nullptr, 0);
    ::close(ends[1]);
    char answer = 0;
    return ::read(ends[0], &answer, 1) == 1 && answer == 'y';
  }));
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
