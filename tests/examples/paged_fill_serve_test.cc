// What the server of the paged_fill example says to clients that are wrong.
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "examples/paged_fill/serve.h"
#include "host_calls/host_channel.h"
#include "tests/support/job.h"

namespace fill {
namespace {

using gdakit::Context;
using gdakit::HostChannel;
using gdakit::Result;
using gdakit::test::mismatch;

constexpr std::uint32_t kPages = 2;  // of a request
constexpr std::uint32_t kPageWords = 4;
constexpr std::uint64_t kPagesOfClient = 8;
constexpr std::uint64_t kRoom = 256;  // of the client's messages

using Message = std::vector<char>;

Message hello(std::uint64_t pages = kPagesOfClient,
              std::uint32_t page_bytes = kPageWords * sizeof(Word)) {
  const Hello said{Kind::hello, page_bytes, pages};
  Message message(sizeof said);
  std::memcpy(message.data(), &said, sizeof said);
  return message;
}

Message request(std::uint32_t slot, std::uint32_t count, const std::vector<std::uint32_t>& pages) {
  const Request said{Kind::request, 7, slot, count, 99};
  Message message(sizeof said + pages.size() * sizeof pages[0]);
  std::memcpy(message.data(), &said, sizeof said);
  for (std::size_t i = 0; i < pages.size(); ++i) {
    std::memcpy(message.data() + sizeof said + i * sizeof pages[i], &pages[i], sizeof pages[i]);
  }
  return message;
}

Message bye() {
  const Request said{Kind::bye, 0, 0, 0, 0};
  Message message(sizeof said);
  std::memcpy(message.data(), &said, sizeof said);
  return message;
}

// What the client, PE 1, hears, and what the server, PE 0, says of it.
struct Heard {
  Answer answer{};
  std::optional<std::uint32_t> immediate;
  Served served{};
};

Result<void> say(Context& c, HostChannel& channel, char* place, const Message& message) {
  if (auto copied = c.upload(place, message.data(), message.size()); !copied) return copied;
  return channel.send(place, message.size(), 0);
}

Result<void> ask(Context& c, const gdakit::Channels& channels, char* place, const Message& first,
                 const Message& second, Heard& heard) {
  auto channel = HostChannel::open(c, channels);
  if (!channel) return channel.error();
  auto* const welcome = reinterpret_cast<Welcome*>(place);
  char* const mine = place + sizeof(Word);
  if (auto done = (*channel)->post_receive(welcome, sizeof *welcome, 0); !done) return done;
  if (auto done = (*channel)->post_receive(0); !done) return done;
  if (auto said = say(c, **channel, mine, first); !said) return said;
  if (auto got = (*channel)->wait_receive(0); !got) return got.error();
  Welcome read;
  if (auto copied = c.download(&read, welcome, 1); !copied) return copied;
  heard.answer = read.answer;
  if (read.answer != Answer::welcome) return {};
  if (auto said = say(c, **channel, mine, second); !said) return said;
  const auto got = (*channel)->wait_receive(0);
  if (!got) return got.error();
  if (got->has_immediate) heard.immediate = got->immediate;
  return heard.immediate == kRefused ? Result<void>() : say(c, **channel, mine, bye());
}

Result<void> run_pe(Context& c, const Message& first, const Message& second, Heard& heard) {
  gdakit::ChannelOptions wanted;
  wanted.end = c.my_pe() == 0 ? gdakit::ChannelEnd::kernels : gdakit::ChannelEnd::host;
  auto channels = c.add_channels(wanted);
  auto pages = c.allocate<Word>(kPagesOfClient * kPageWords);
  auto stage = c.allocate<Word>(kPages * kPageWords);
  auto messages = c.allocate<char>(kRoom);
  auto welcomes = c.allocate<Welcome>(1);
  auto clients = c.allocate<std::int32_t>(1);
  auto served = c.allocate<Served>(1);
  if (!channels) return channels.error();
  if (!pages || !stage || !messages || !welcomes || !clients || !served) return mismatch("memory");
  if (c.my_pe() == 1) return ask(c, *channels, *messages, first, second, heard);
  const std::int32_t client = 1;
  if (auto copied = c.upload(*clients, &client, 1); !copied) return copied;
  const Serve server{*channels,      *clients, *messages, *welcomes, *stage, *pages,    *served,
                     kPagesOfClient, 64,       2,         1,         kPages, kPageWords};
  if (auto ran = c.launch(server, {.blocks = 1, .threads = 32}); !ran) return ran;
  return c.download(&heard.served, *served, 1);
}

Heard heard_after(const Message& first, const Message& second) {
  Heard heard[2];
  gdakit::test::expect_job(2, gdakit::test::job_options(),
                           [&](Context& c) { return run_pe(c, first, second, heard[c.my_pe()]); });
  heard[1].served = heard[0].served;
  return heard[1];
}

TEST(PagedFillServer, AnswersARequestByItsNumber) {
  const Heard heard = heard_after(hello(), request(0, 2, {7, 3}));
  EXPECT_EQ(heard.answer, Answer::welcome);
  EXPECT_EQ(heard.immediate, 7u);
  EXPECT_EQ(heard.served.problem, Problem::none);
  EXPECT_EQ(heard.served.pages, 2u);
}

TEST(PagedFillServer, RefusesWhatIsNoHello) {
  const auto expect = [](const Message& first, Answer answer) {
    const Heard heard = heard_after(first, {});
    EXPECT_EQ(heard.answer, answer);
    EXPECT_EQ(heard.served.problem, Problem::bad_hello);
  };
  expect(hello(kPagesOfClient + 1), Answer::too_many_pages);
  expect(hello(kPagesOfClient, 8), Answer::other_page_size);
  expect(request(0, 1, {0}), Answer::no_hello);
  expect(Message(8), Answer::no_hello);
}

TEST(PagedFillServer, RefusesWhatIsNoRequest) {
  const auto expect = [](const char* what, const Message& second) {
    const Heard heard = heard_after(hello(), second);
    EXPECT_EQ(heard.answer, Answer::welcome) << what;
    EXPECT_EQ(heard.immediate, kRefused) << what;
    EXPECT_EQ(heard.served.problem, Problem::bad_request) << what;
    EXPECT_EQ(heard.served.pages, 0u) << what;
  };
  expect("no pages", request(0, 0, {}));
  expect("too many pages", request(0, 3, {0, 1, 2}));
  expect("a list that is too short", request(0, 2, {1}));
  expect("a list that is too long", request(0, 1, {1, 2}));
  expect("a slot that is not there", request(1, 1, {1}));
  expect("a page that is not there", request(0, 1, {8}));
  expect("another hello", hello());
}

}  // namespace
}  // namespace fill
