#include "core/host/sharing/handle_exchange.h"

#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>

#include "tests/host/bootstrap_job.h"

namespace gdakit {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using namespace testing_bootstrap;

// A descriptor of a file that holds `text`.
UniqueFileDescriptor file_with(const std::string& text) {
  UniqueFileDescriptor file(::memfd_create("test", MFD_CLOEXEC));
  EXPECT_EQ(::pwrite(file.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  return file;
}

std::string content(int file) {
  char text[64] = {};
  EXPECT_GT(::pread(file, text, sizeof text, 0), 0);
  return text;
}

// PE r gives r chunks in the first exchange and one in each later one.
void give_and_take(Bootstrap& bootstrap) {
  auto exchange = HandleExchange::open(bootstrap, 20s);
  ASSERT_TRUE(exchange) << exchange.error().message();
  const auto rank = static_cast<std::size_t>(bootstrap.rank());
  for (std::uint64_t round = 0; round < 20; ++round) {
    const auto count_of = [round](std::size_t pe) { return round == 0 ? pe : 1; };
    std::vector<SharedChunk> mine;
    for (std::size_t i = 0; i < count_of(rank); ++i) {
      mine.push_back({file_with("PE " + std::to_string(rank)), round * 100 + i, i + 1});
    }
    auto given = (*exchange)->exchange(mine);
    ASSERT_TRUE(given) << given.error().message();
    ASSERT_EQ(given->size(), static_cast<std::size_t>(bootstrap.size()));
    for (std::size_t pe = 0; pe < given->size(); ++pe) {
      const std::vector<SharedChunk>& chunks = (*given)[pe];
      ASSERT_EQ(chunks.size(), pe == rank ? 0 : count_of(pe));
      for (std::size_t i = 0; i < chunks.size(); ++i) {
        EXPECT_EQ(chunks[i].offset, round * 100 + i);
        EXPECT_EQ(chunks[i].bytes, i + 1);
        EXPECT_EQ(content(chunks[i].descriptor.get()), "PE " + std::to_string(pe));
        EXPECT_NE(::fcntl(chunks[i].descriptor.get(), F_GETFD) & FD_CLOEXEC, 0);
      }
    }
  }
}

TEST(HandleExchange, GivesEveryPeWhatTheOthersGave) {
  for (const int size : {1, 2, 5}) {
    run_job(Wire::local, size, 20s,
            [](std::unique_ptr<Bootstrap> bootstrap) { give_and_take(*bootstrap); });
  }
}

TEST(HandleExchange, TakesMoreThanASocketHolds) {
  run_job(Wire::local, 3, 20s, [](std::unique_ptr<Bootstrap> bootstrap) {
    auto exchange = HandleExchange::open(*bootstrap, 20s);
    ASSERT_TRUE(exchange);
    std::vector<SharedChunk> mine;
    for (std::uint64_t i = 0; i < 700; ++i) {
      mine.push_back({UniqueFileDescriptor(::dup(0)), i, 1});
    }
    auto given = (*exchange)->exchange(mine);
    ASSERT_TRUE(given) << given.error().message();
    const auto other = static_cast<std::size_t>((bootstrap->rank() + 1) % 3);
    ASSERT_EQ((*given)[other].size(), 700u);
    for (std::uint64_t i = 0; i < 700; ++i) EXPECT_EQ((*given)[other][i].offset, i);
  });
}

TEST(HandleExchange, RefusesMoreChunksThanAMessageSays) {
  run_job(Wire::local, 1, 20s, [](std::unique_ptr<Bootstrap> bootstrap) {
    auto exchange = HandleExchange::open(*bootstrap, 20s);
    ASSERT_TRUE(exchange);
    const std::vector<SharedChunk> many(HandleExchange::kMaxChunks + 1);
    EXPECT_THAT(message_of((*exchange)->exchange(many)), HasSubstr("at most 1024"));
  });
}

// What a process that knows the socket's name, but is no PE, may send: `bytes` as they are.
void send_raw(const std::string& name, const std::vector<unsigned char>& bytes, int descriptor) {
  const UniqueFileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  iovec part{const_cast<unsigned char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_name = &address;
  header.msg_namelen = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (descriptor >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
  }
  EXPECT_EQ(::sendmsg(socket.get(), &header, 0), static_cast<ssize_t>(bytes.size()));
}

// A message of PE 1 in the first round that gives one chunk, as handle_exchange.cc lays it out.
std::vector<unsigned char> message_of_pe1(const HandleExchange::Token& token) {
  std::vector<unsigned char> bytes(56);
  const std::uint64_t magic = 0x6764616b69744831;
  std::memcpy(bytes.data(), &magic, sizeof magic);
  std::memcpy(bytes.data() + 8, token.data(), token.size());
  bytes[24] = 1;  // rank
  bytes[28] = 1;  // round
  bytes[32] = 1;  // count
  bytes[48] = 7;  // bytes of the chunk
  return bytes;
}

// PE 0's exchange while PE 1, in its place, sends `bytes` with or without a descriptor.
Result<std::vector<std::vector<SharedChunk>>> exchange_against(
    const std::function<std::vector<unsigned char>(const HandleExchange::Token&)>& bytes,
    bool with_descriptor) {
  Result<std::vector<std::vector<SharedChunk>>> outcome = Error(Code::internal, "no outcome");
  std::string name;
  run_job(Wire::local, 2, 20s, [&](std::unique_ptr<Bootstrap> bootstrap) {
    auto exchange = HandleExchange::open(*bootstrap, 300ms);
    ASSERT_TRUE(exchange);
    if (bootstrap->rank() == 0) name = (*exchange)->name();
    ASSERT_TRUE(bootstrap->barrier());
    if (bootstrap->rank() == 0) {
      outcome = (*exchange)->exchange({});
    } else {
      send_raw(name, bytes((*exchange)->token()), with_descriptor ? 0 : -1);
    }
    ASSERT_TRUE(bootstrap->barrier());
  });
  return outcome;
}

TEST(HandleExchange, AMessageAsAPeSendsItIsTaken) {
  const auto given = exchange_against(message_of_pe1, true);
  ASSERT_TRUE(given) << given.error().message();
  ASSERT_EQ((*given)[1].size(), 1u);
  EXPECT_EQ((*given)[1][0].bytes, 7u);
}

TEST(HandleExchange, AMessageWithoutTheJobsTokenIsDropped) {
  const auto wrong = [](HandleExchange::Token token) {
    token[3] = static_cast<std::uint8_t>(token[3] ^ 1);
    return message_of_pe1(token);
  };
  EXPECT_THAT(message_of(exchange_against(wrong, true)),
              AllOf(HasSubstr("timed out after 0.3 s: no message from PE 1"),
                    HasSubstr("1 dropped"), HasSubstr("does not know the job's token"),
                    HasSubstr("process " + std::to_string(::getpid()))));
}

TEST(HandleExchange, AShortOrLongMessageIsDropped) {
  for (const std::size_t size : {0u, 1u, 24u, 55u}) {
    const auto cut = [size](const HandleExchange::Token& token) {
      std::vector<unsigned char> bytes = message_of_pe1(token);
      bytes.resize(size);
      return bytes;
    };
    EXPECT_THAT(message_of(exchange_against(cut, true)),
                HasSubstr("it has " + std::to_string(size) + " bytes instead of 56"));
  }
  const auto longer = [](const HandleExchange::Token& token) {
    std::vector<unsigned char> bytes = message_of_pe1(token);
    bytes.resize(57);
    return bytes;
  };
  EXPECT_THAT(message_of(exchange_against(longer, true)), HasSubstr("1 dropped"));
}

TEST(HandleExchange, AMessageThatNoPeSendsIsDropped) {
  EXPECT_THAT(message_of(exchange_against(message_of_pe1, false)), HasSubstr("what no PE says"));
  for (const std::size_t at : {24u, 33u}) {  // rank 257, 257 * 256 chunks
    const auto absurd = [at](const HandleExchange::Token& token) {
      std::vector<unsigned char> bytes = message_of_pe1(token);
      bytes[at + 1] = 1;
      return bytes;
    };
    EXPECT_THAT(message_of(exchange_against(absurd, true)), HasSubstr("what no PE says"));
  }
}

// PE 1 gives more than it has said, and comes to its next round before this one.
TEST(HandleExchange, APeGivesNoMoreThanItSays) {
  run_job(Wire::local, 2, 20s, [](std::unique_ptr<Bootstrap> bootstrap) {
    auto exchange = HandleExchange::open(*bootstrap, 20s);
    ASSERT_TRUE(exchange);
    if (bootstrap->rank() == 0) {
      std::vector<unsigned char> message = message_of_pe1((*exchange)->token());
      message[28] = 2;
      message[48] = 9;
      send_raw((*exchange)->name(), message, 0);
      for (int i = 0; i < 5; ++i) {
        send_raw((*exchange)->name(), message_of_pe1((*exchange)->token()), 0);
      }
      for (const std::uint64_t bytes : {7, 9}) {
        const auto given = (*exchange)->exchange({});
        ASSERT_TRUE(given) << given.error().message();
        ASSERT_EQ((*given)[1].size(), 1u);
        EXPECT_EQ((*given)[1][0].bytes, bytes);
      }
    }
    ASSERT_TRUE(bootstrap->barrier());
  });
}

TEST(HandleExchange, AProcessThatIsOutOfDescriptorsSaysSoAtOnce) {
  run_job(Wire::local, 2, 20s, [](std::unique_ptr<Bootstrap> bootstrap) {
    auto exchange = HandleExchange::open(*bootstrap, 20s);
    ASSERT_TRUE(exchange);
    std::vector<SharedChunk> mine;
    if (bootstrap->rank() == 1) mine.push_back({file_with("PE 1"), 0, 1});
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    ASSERT_TRUE(bootstrap->barrier());
    if (bootstrap->rank() == 0) {
      const rlimit none{3, before.rlim_max};
      ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    }
    ASSERT_TRUE(bootstrap->barrier());
    const auto begin = std::chrono::steady_clock::now();
    const auto given = (*exchange)->exchange(mine);
    const auto taken = std::chrono::steady_clock::now() - begin;
    // Before anything is checked: a sanitizer needs descriptors for its checks.
    const int restored = bootstrap->rank() == 0 ? ::setrlimit(RLIMIT_NOFILE, &before) : 0;
    const bool met = static_cast<bool>(bootstrap->barrier());
    EXPECT_EQ(restored, 0);
    EXPECT_TRUE(met);
    EXPECT_LT(taken, 5s);
    if (bootstrap->rank() == 0) {
      EXPECT_THAT(message_of(given), HasSubstr("see ulimit -n"));
    } else {
      EXPECT_TRUE(given) << given.error().message();
    }
  });
}

TEST(HandleExchange, APeThatDoesNotComeIsNamed) {
  run_job(Wire::local, 3, 20s, [](std::unique_ptr<Bootstrap> bootstrap) {
    auto exchange = HandleExchange::open(*bootstrap, 200ms);
    ASSERT_TRUE(exchange);
    if (bootstrap->rank() != 1) {
      EXPECT_THAT(message_of((*exchange)->exchange({})),
                  HasSubstr("timed out after 0.2 s: no message from PE 1"));
    }
    ASSERT_TRUE(bootstrap->barrier());
  });
}

// As for peers of a PE that is stopped.
TEST(HandleExchange, TimeInWhichTheClockStandsIsNotCounted) {
  const auto clock = std::make_shared<WaitClock>();
  run_job(Wire::local, 2, 20s, [&clock](std::unique_ptr<Bootstrap> bootstrap) {
    bootstrap->go_by(clock);
    auto exchange = HandleExchange::open(*bootstrap, 300ms);
    ASSERT_TRUE(exchange);
    if (bootstrap->rank() == 0) clock->tick(steady_ns(), false);  // and no tick follows
    ASSERT_TRUE(bootstrap->barrier());
    if (bootstrap->rank() == 1) std::this_thread::sleep_for(1s);
    EXPECT_EQ(message_of((*exchange)->exchange({})), "no error");
  });
}

TEST(HandleExchange, APeThatHasEndedIsFoundOutAtOnce) {
  const TcpJob job(2);
  const pid_t child = ::fork();
  if (child == 0) {
    auto bootstrap = open_tcp_bootstrap(job.info(1), Log(LogLevel::error));
    const bool met = bootstrap && HandleExchange::open(**bootstrap, 20s);
    ::_exit(met ? 0 : 1);
  }
  auto bootstrap = open_tcp_bootstrap(job.info(0), Log(LogLevel::error));
  ASSERT_TRUE(bootstrap) << bootstrap.error().message();
  auto exchange = HandleExchange::open(**bootstrap, 20s);
  ASSERT_TRUE(exchange) << exchange.error().message();
  // Nobody has waited for it: it is a zombie.
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE((*exchange)->exchange({}));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
}

}  // namespace
}  // namespace gdakit
