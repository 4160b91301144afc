// Channels that host threads drive, against each other and against kernels.
#include "host_calls/host_channel.h"

#include <cstring>

#include <gmock/gmock.h>

#include "tests/support/job.h"

namespace gdakit {
namespace {

using test::Checks;
using test::expect_job;
using test::job_options;
using test::mismatch;
using testing::HasSubstr;

ChannelOptions by_host(std::uint32_t depth = 8) {
  ChannelOptions wanted;
  wanted.receive_depth = depth;
  wanted.end = ChannelEnd::host;
  return wanted;
}

std::uint32_t word_of(int from, std::uint32_t message, std::uint32_t i) {
  return static_cast<std::uint32_t>(from + 1) * 1000003u + message * 4099u + i;
}

constexpr std::uint32_t kRounds = 30;
constexpr std::uint32_t kWords = 100;
constexpr std::uint32_t kBuffers = 4;

// What PE `from` sends in a round.
std::vector<std::uint32_t> message_of(int from, std::uint32_t round) {
  std::vector<std::uint32_t> words(round % kWords);
  for (std::uint32_t i = 0; i < words.size(); ++i) words[i] = word_of(from, round, i);
  return words;
}

// Sends to the right and receives from the left, round after round, by one host thread.
Result<void> send_rounds(Context& c, HostChannel& channel, std::uint32_t* source,
                         std::uint32_t* buffers) {
  const int right = (c.my_pe() + 1) % c.n_pes();
  const int left = (c.my_pe() + c.n_pes() - 1) % c.n_pes();
  for (std::uint32_t i = 0; i < kBuffers; ++i) {
    if (auto posted = channel.post_receive(buffers + i * kWords, 4 * kWords, left); !posted) {
      return posted;
    }
  }
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    const std::vector<std::uint32_t> mine = message_of(c.my_pe(), round);
    if (auto written = test::upload(c, source, mine); !mine.empty() && !written) return written;
    const Result<Ticket> sent = channel.send_async(source, 4 * mine.size(), right);
    if (!sent) return sent.error();
    const Result<Received> got = channel.wait_receive(left);
    if (!got) return got.error();
    const std::vector<std::uint32_t> wanted = message_of(left, round);
    auto* const buffer = buffers + round % kBuffers * kWords;
    if (got->bytes != 4 * wanted.size() || got->buffer != buffer || got->number != round) {
      return mismatch("what is said of message " + std::to_string(round));
    }
    if (!wanted.empty()) {
      const auto words = test::download(c, buffer, wanted.size());
      if (!words || *words != wanted) return mismatch("message " + std::to_string(round));
    }
    if (auto posted = channel.post_receive(buffer, 4 * kWords, left); !posted) return posted;
    if (auto done = channel.wait(*sent); !done) return done;
  }
  return channel.quiet();
}

TEST(HostChannel, HostThreadsSendToOneAnother) {
  expect_job(3, job_options(), [](Context& c) -> Result<void> {
    auto channels = c.add_channels(by_host());
    if (!channels) return channels.error();
    auto channel = HostChannel::open(c, *channels);
    if (!channel) return channel.error();
    auto source = c.allocate<std::uint32_t>(kWords);
    auto buffers = c.allocate<std::uint32_t>(kBuffers * kWords);
    if (!source || !buffers) return mismatch("allocate");
    return send_rounds(c, **channel, *source, *buffers);
  });
}

// The heap grows after the channel was opened, into chunks with keys of their own.
TEST(HostChannel, KnowsMemoryThatCameLater) {
  Options options = job_options();
  options.symmetric_size = 64 << 10;
  options.heap_chunk = 64 << 10;
  expect_job(2, options, [](Context& c) -> Result<void> {
    auto channels = c.add_channels(by_host());
    if (!channels) return channels.error();
    auto channel = HostChannel::open(c, *channels);
    if (!channel) return channel.error();
    if (auto filler = c.allocate<char>(63 << 10); !filler) return filler.error();
    auto source = c.allocate<std::uint32_t>(kWords);
    auto buffers = c.allocate<std::uint32_t>(kBuffers * kWords);
    if (!source || !buffers) return mismatch("allocate");
    return send_rounds(c, **channel, *source, *buffers);
  });
}

// In a heap that is checked, which is for the emulator, each object has an entry of its own.
TEST(HostChannel, KnowsWhichObjectsOfACheckedHeapAreThere) {
  Options options = job_options();
  options.device = DeviceChoice::cpu;
  options.check_memory = true;
  expect_job(1, options, [](Context& c) -> Result<void> {
    auto channels = c.add_channels(by_host());
    if (!channels) return channels.error();
    auto channel = HostChannel::open(c, *channels);
    if (!channel) return channel.error();
    for (int round = 0; round < 2; ++round) {
      auto object = c.allocate<char>(100);
      if (!object) return object.error();
      if (auto posted = (*channel)->post_receive(*object, 50, 0); !posted) return posted;
      if (auto sent = (*channel)->send(*object + 50, 50, 0); !sent) return sent;
      if (auto got = (*channel)->wait_receive(0); !got) return got.error();
      if (auto freed = c.free(*object); !freed) return freed;
      if ((*channel)->send(*object, 50, 0)) return mismatch("a send of memory that is freed");
    }
    return {};
  });
}

TEST(HostChannel, SaysThatTheSenderIsLost) {
  Options options = job_options();
  options.watchdog = std::chrono::milliseconds(0);
  expect_job(2, options, [](Context& c) -> Result<void> {
    auto channels = c.add_channels(by_host());
    if (!channels) return channels.error();
    auto channel = HostChannel::open(c, *channels);
    if (!channel) return channel.error();
    if (c.my_pe() == 1) {
      c.abort("it is enough");
      return {};
    }
    if (auto posted = (*channel)->post_receive(1); !posted) return posted;
    const Result<Received> got = (*channel)->wait_receive(1);
    EXPECT_FALSE(got);
    if (got) return {};
    EXPECT_EQ(got.error().code(), Code::peer_lost);
    EXPECT_EQ(got.error().message(), "PE 1 ended the job: it is enough");
    return {};
  });
}

TEST(HostChannel, ReceivesIntoRegisteredMemory) {
  expect_job(1, job_options(), [](Context& c) -> Result<void> {
    auto channels = c.add_channels(by_host());
    if (!channels) return channels.error();
    auto channel = HostChannel::open(c, *channels);
    if (!channel) return channel.error();
    std::vector<char> memory(4096);
    const Result<void> unknown = (*channel)->post_receive(memory.data(), 100, 0);
    if (unknown) return mismatch("memory that is not registered");
    EXPECT_THAT(unknown.error().message(), HasSubstr("give them to register_buffer"));
    if (auto known = c.register_buffer(memory.data(), memory.size()); !known) return known;
    std::strcpy(memory.data(), "hello");
    if (auto ok = (*channel)->post_receive(memory.data() + 1000, 100, 0); !ok) return ok;
    if (auto ok = (*channel)->send(memory.data(), 6, 0); !ok) return ok;
    const Result<Received> got = (*channel)->poll_receive(0);
    if (!got) return got.error();
    EXPECT_TRUE(got->arrived());
    EXPECT_STREQ(memory.data() + 1000, "hello");
    return c.unregister_buffer(memory.data());
  });
}

// PE 0's kernel fills pages, and the host of PE 1 hears of it.
struct Fill {
  Channels channels;
  std::uint32_t* pages;
  std::uint32_t count;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto channel = pe.channel(channels);
    for (std::uint32_t i = 0; i < count; ++i) pages[i] = 500 + i;
    expect(pe, channel.put_async(pages, pages, count - 1, 1, Batch::more).status.ok());
    std::uint32_t* const last = pages + count - 1;
    expect(pe, channel.put_with_immediate(last, last, 1, 77, 1).ok());
  }
};

TEST(HostChannel, HearsOfWhatAKernelPuts) {
  expect_job(2, job_options(), [](Context& c) -> Result<void> {
    ChannelOptions wanted = by_host();
    if (c.my_pe() == 0) wanted.end = ChannelEnd::kernels;
    auto channels = c.add_channels(wanted);
    auto pages = c.allocate<std::uint32_t>(kWords);
    auto checks = Checks::make(c);
    if (!channels) return channels.error();
    if (!pages || !checks) return mismatch("allocate");
    if (c.my_pe() == 0) {
      const Fill kernel{*channels, *pages, kWords, checks->expect()};
      if (auto ran = c.launch(kernel, {.blocks = 1, .threads = 1}); !ran) return ran;
      return checks->all_held(2);
    }
    auto channel = HostChannel::open(c, *channels);
    if (!channel) return channel.error();
    if (auto posted = (*channel)->post_receive(0); !posted) return posted;
    const Result<Received> got = (*channel)->wait_receive_any();
    if (!got) return got.error();
    EXPECT_TRUE(got->is_put && got->has_immediate);
    EXPECT_EQ(got->immediate, 77u);
    EXPECT_EQ(got->peer, 0);
    return test::all_are(c, *pages, kWords, "word", [](std::size_t i) { return 500 + i; });
  });
}

// Kernels' channels lie where the host reaches them on the emulator alone.
TEST(HostChannel, OpensNoChannelInGpuMemory) {
  expect_job(1, job_options(), [](Context& c) -> Result<void> {
    auto channels = c.add_channels();
    if (!channels) return channels.error();
    auto channel = HostChannel::open(c, *channels);
    EXPECT_EQ(static_cast<bool>(channel), !c.on_gpu());
    if (!channel) {
      EXPECT_EQ(channel.error().code(), Code::unavailable);
      EXPECT_THAT(channel.error().message(), HasSubstr("add them with ChannelEnd::host"));
    }
    return {};
  });
}

TEST(HostChannel, CallsSayWhatIsWrong) {
  Options options = job_options();
  options.watchdog = std::chrono::milliseconds(300);
  expect_job(1, options, [](Context& c) -> Result<void> {
    auto channels = c.add_channels(by_host(2));
    auto word = c.allocate<int>(1);
    if (!channels) return channels.error();
    if (!word) return word.error();
    EXPECT_THAT(HostChannel::open(c, *channels, 1).error().message(),
                HasSubstr("there is no channel 1 among 1"));
    auto channel = HostChannel::open(c, *channels);
    if (!channel) return channel.error();
    HostChannel& open = **channel;
    const auto no_pe = open.send(*word, 4, 1);
    EXPECT_TRUE(!no_pe && no_pe.error().code() == Code::invalid_argument);
    EXPECT_THAT(no_pe.error().message(), HasSubstr("there is no PE 1"));
    EXPECT_THAT(open.wait_receive(0).error().message(), HasSubstr("call post_receive before"));
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(open.post_receive(*word, 2, 0));
    EXPECT_THAT(open.post_receive(*word, 2, 0).error().message(), HasSubstr("receive_depth"));
    for (int i = 0; i < 2; ++i) {
      const Result<Received> late = open.wait_receive(0);
      EXPECT_TRUE(!late && late.error().code() == Code::timed_out);
      EXPECT_THAT(late.error().message(), HasSubstr("for a message on a channel"));
    }
    const auto too_long = open.send(*word, 4, 0);
    EXPECT_TRUE(!too_long && too_long.error().code() == Code::system);
    EXPECT_THAT(too_long.error().message(), HasSubstr("channel 0"));
    const Result<Received> broken = open.wait_receive(0);
    EXPECT_TRUE(!broken && broken.error().code() == Code::system);
    const Result<void> checked = c.check_device();
    EXPECT_FALSE(checked);
    return {};
  });
}

}  // namespace
}  // namespace gdakit
