// Channels that are used wrongly, and those that break.
#include <functional>

#include <gmock/gmock.h>

#include "device/channel.h"
#include "tests/support/job.h"

namespace gdakit {
namespace {

using test::Checks;
using test::expect_job;
using test::job_options;
using test::Kernels;
using test::mismatch;
using testing::HasSubstr;

ChannelOptions options_of(std::uint32_t depth, std::uint8_t rnr_retry = 7) {
  ChannelOptions wanted;
  wanted.receive_depth = depth;
  wanted.rnr_retry = rnr_retry;
  return wanted;
}

struct Refused {
  Channels channels;
  int* word;
  int* outside;  // of the heap
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const auto bad = [&](const Status& status, StatusCode code) {
      expect(pe, status.code == code);
    };
    const auto argument = StatusCode::invalid_argument;
    const auto address = StatusCode::invalid_address;
    auto channel = pe.channel(channels);
    bad(channel.send(word, 1, pe.n_pes()), argument);
    bad(channel.send(word, 1, -1), argument);
    bad(channel.put_nbi(word, word, 1, pe.n_pes()), argument);
    bad(channel.post_receive(word, 4, pe.n_pes()), argument);
    bad(channel.poll_receive(-1).status, argument);
    bad(channel.wait_receive(pe.n_pes()).status, argument);
    bad(channel.wait_receive(0).status, argument);  // none is posted
    bad(channel.wait_receive_any().status, argument);
    bad(channel.send(outside, 1, 0), address);
    bad(channel.post_receive(outside, 4, 0), address);
    bad(channel.put_with_immediate(word, outside, 1, 7, 0), address);
    bad(channel.put_with_immediate(outside, word, 1, 7, 0), address);
    bad(channel.send(word, std::size_t{1} << 40, 0), argument);
    for (int i = 0; i < 2; ++i) bad(channel.post_receive(word, 4, 0), StatusCode::ok);
    bad(channel.post_receive(word, 4, 0), argument);  // there is no room
    auto absent = pe.channel(channels, 1);
    bad(absent.send(word, 1, 0), argument);
    bad(absent.wait_receive_any().status, argument);
    expect(pe, !absent.poll_receive_any().arrived() && absent.quiet().ok());
  }
};

TEST(ChannelErrors, BadArgumentsAreRefused) {
  expect_job(1, job_options(), [](Context& c) -> Result<void> {
    auto channels = c.add_channels(options_of(2));
    auto word = c.allocate<int>(1);
    auto checks = Checks::make(c);
    if (!channels) return channels.error();
    if (!word || !checks) return mismatch("allocate");
    static int outside = 0;
    const Refused kernel{*channels, *word, &outside, checks->expect()};
    const Result<void> ran = c.launch(kernel, {.blocks = 1, .threads = 1});
    if (ran) return mismatch("the first bad argument was not reported");
    EXPECT_THAT(ran.error().message(), HasSubstr("on a channel, with a bad argument"));
    EXPECT_THAT(ran.error().message(), HasSubstr("there is no PE 1"));
    c.clear_reports();
    return checks->all_held(19);
  });
}

// PE 0 begins a batch, whose last call is refused, and PE 1 tells it that the first call's put has
// come: once for each way to be refused. Nobody waits for the batch.
struct RefusedAtTheEnd {
  static constexpr int kWays = 5;

  Channels channels;
  int* words;  // [kWays]
  int* told;   // [kWays]
  int* one;
  int* outside;  // of the heap
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto channel = pe.channel(channels);
    for (int way = 0; way < kWays; ++way) {
      if (pe.my_pe() == 0) {
        expect(pe, channel.put_nbi(words + way, one, 1, 1, Batch::more).ok());
        expect(pe, !end_batch(channel, way).ok());
        expect(pe, pe.wait_until(told + way, Compare::eq, 1).ok());
      } else {
        expect(pe, pe.wait_until(words + way, Compare::eq, 1).ok());
        expect(pe, pe.put_value(told + way, 1, 0).ok() && pe.quiet().ok());
      }
    }
  }

 private:
  template <class AnyChannel>
  GDAKIT_DEVICE Status end_batch(AnyChannel& channel, int way) const {
    switch (way) {
      case 0: return channel.send_nbi(outside, 1, 1);
      case 1: return channel.send_nbi(one, std::size_t{1} << 40, 1);
      case 2: return channel.put_nbi(words, outside, 1, 1);
      case 3: return channel.put_with_immediate_nbi(words, outside, 1, 7, 1);
      default: return channel.put_with_immediate_nbi(outside, one, 1, 7, 1);
    }
  }
};

TEST(ChannelErrors, ARefusedLastCallEndsItsBatch) {
  expect_job(2, job_options(), [](Context& c) -> Result<void> {
    auto channels = c.add_channels(options_of(2));
    auto words = c.allocate<int>(RefusedAtTheEnd::kWays);
    auto told = c.allocate<int>(RefusedAtTheEnd::kWays);
    auto one = c.allocate<int>(1);
    auto checks = Checks::make(c);
    if (!channels) return channels.error();
    if (!words || !told || !one || !checks) return mismatch("allocate");
    const int value = 1;
    if (auto written = c.upload(*one, &value, 1); !written) return written;
    static int outside = 0;
    const RefusedAtTheEnd kernel{*channels, *words, *told, *one, &outside, checks->expect()};
    const Result<void> ran = c.launch(kernel, {.blocks = 1, .threads = 1});
    if (static_cast<bool>(ran) != (c.my_pe() != 0)) return mismatch("what the launch said");
    c.clear_reports();
    return checks->all_held((c.my_pe() == 0 ? 3 : 2) * RefusedAtTheEnd::kWays);
  });
}

TEST(ChannelErrors, BadOptionsAreRefusedOnAllPes) {
  expect_job(2, job_options(), [](Context& c) -> Result<void> {
    for (const std::uint32_t depth : {0u, 3u, 65536u}) {
      const auto made = c.add_channels(options_of(depth));
      if (made) return mismatch("a depth of " + std::to_string(depth));
      EXPECT_THAT(made.error().message(), HasSubstr("give a power of two"));
    }
    EXPECT_THAT(c.add_channels(options_of(8, 8)).error().message(), HasSubstr("rnr_retry 8"));
    ChannelOptions wanted;
    wanted.count = 0;
    EXPECT_THAT(c.add_channels(wanted).error().message(), HasSubstr("0 more channels"));
    wanted.count = 1 + static_cast<std::uint32_t>(c.my_pe());
    const auto made = c.add_channels(wanted);
    if (made) return mismatch("other counts on other PEs");
    EXPECT_THAT(made.error().message(), HasSubstr("channels to each peer"));
    // One that errs alone is told to the other one.
    const auto alone = c.add_channels(options_of(c.my_pe() == 0 ? 3 : 4));
    if (alone) return mismatch("a depth of one PE");
    return c.add_channels(options_of(4)) ? Result<void>() : mismatch("good options");
  });
}

// PE 0 sends `bytes`; PE 1 has `room` for them, or with room < 0 no receive.
struct SendTooMuch {
  Channels channels;
  char* buffer;
  int bytes;
  int room;
  Status* status;  // of send, of wait_receive, and of each once more

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto channel = pe.channel(channels);
    if (pe.my_pe() == 1 && room >= 0) {
      channel.post_receive(buffer, static_cast<std::size_t>(room), 0);
      channel.post_receive(buffer, static_cast<std::size_t>(room), 0);
    }
    pe.barrier_all();
    if (pe.my_pe() == 0) {
      for (int i = 0; i < 2; ++i) {
        status[i] = channel.send(buffer, static_cast<std::size_t>(bytes), 1);
      }
    } else if (room >= 0) {
      for (int i = 0; i < 2; ++i) status[i] = channel.wait_receive(0).status;
    }
    pe.barrier_all();
  }
};

// Runs it; `judge` gets what the two calls of this PE returned, and what the launch said.
using Judge = std::function<void(Context&, const Status*, const Result<void>&)>;
void expect_broken(int bytes, int room, std::uint8_t rnr_retry, const Judge& judge) {
  expect_job(2, job_options(), [&](Context& c) -> Result<void> {
    auto channels = c.add_channels(options_of(4, rnr_retry));
    auto buffer = c.allocate<char>(256);
    auto status = c.allocate<Status>(2);
    if (!channels) return channels.error();
    if (!buffer || !status) return mismatch("allocate");
    const SendTooMuch kernel{*channels, *buffer, bytes, room, *status};
    const Result<void> ran = c.launch(kernel, {.blocks = 1, .threads = 1});
    Status got[2];
    if (auto read = c.download(got, *status, 2); !read) return read;
    judge(c, got, ran);
    return {};
  });
}

TEST(ChannelErrors, AMessageThatDoesNotFitItsBufferBreaksTheChannel) {
  expect_broken(100, 99, 7, [](Context& c, const Status* got, const Result<void>& ran) {
    const auto syndrome =
        c.my_pe() == 0 ? format::Syndrome::remote_invalid_request : format::Syndrome::local_length;
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(got[i], (Status{StatusCode::queue_error, syndrome, 1 - c.my_pe()}))
          << "PE " << c.my_pe() << " call " << i;
    }
    ASSERT_FALSE(ran);
    const char* const sentence =
        c.my_pe() == 0 ? "SEND" : "local length error: a message does not fit its buffer";
    EXPECT_THAT(ran.error().message(), HasSubstr(sentence));
  });
}

TEST(ChannelErrors, AMessageThatFillsItsBufferFits) {
  expect_broken(99, 99, 7, [](Context&, const Status* got, const Result<void>& ran) {
    EXPECT_TRUE(got[0].ok() && got[1].ok());
    EXPECT_TRUE(ran) << ran.error().message();
  });
}

TEST(ChannelErrors, ASenderGivesUpOnAPeThatPostsNoReceive) {
  expect_broken(8, -1, 2, [](Context& c, const Status* got, const Result<void>& ran) {
    if (c.my_pe() != 0) return;
    const Status wanted{StatusCode::queue_error, format::Syndrome::rnr_retry_exceeded, 1};
    EXPECT_EQ(got[0], wanted);
    EXPECT_EQ(got[1], wanted);
    ASSERT_FALSE(ran);
    EXPECT_THAT(ran.error().message(), HasSubstr("the peer posted no receive"));
  });
}

// PE 0 sends to PE 1, which posts no receive, until the send's wait gives up.
struct SendInVain {
  Channels channels;
  int* word;
  Status* status;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto channel = pe.channel(channels);
    *status = channel.send(word, 1, 1);
  }
};

// Receives on the channel that is broken by now, without posted receives and with one.
struct ReceiveInVain {
  Channels channels;
  Status* status;  // [6]

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto channel = pe.channel(channels);
    status[0] = channel.wait_receive(1).status;
    status[1] = channel.wait_receive_any().status;
    status[2] = channel.poll_receive(1).status;
    channel.post_receive(1);
    status[3] = channel.wait_receive(1).status;
    status[4] = channel.wait_receive_any().status;
    status[5] = channel.poll_receive_any().status;
  }
};

TEST(ChannelErrors, ReceivesTellOfAChannelThatASenderGaveUp) {
  Options options = job_options();
  options.watchdog = std::chrono::milliseconds(300);
  const auto run = [](Context& c) -> Result<void> {
    auto channels = c.add_channels(options_of(4));
    auto word = c.allocate<int>(1);
    auto status = c.allocate<Status>(6);
    if (!channels) return channels.error();
    if (!word || !status) return mismatch("allocate");
    if (c.my_pe() != 0) return {};
    if (c.launch(SendInVain{*channels, *word, *status}, {.blocks = 1, .threads = 1})) {
      return mismatch("a send to a PE without receives");
    }
    c.clear_reports();
    const auto ran = c.launch(ReceiveInVain{*channels, *status}, {.blocks = 1, .threads = 1});
    Status got[6];
    if (auto read = c.download(got, *status, 6); !read) return read;
    for (const Status& one : got) {
      EXPECT_EQ(one, (Status{StatusCode::stalled, format::Syndrome::none, 1}));
    }
    if (ran) return mismatch("the broken channel was not reported");
    EXPECT_THAT(ran.error().message(), HasSubstr("a thread gave up waiting on it"));
    return {};
  };
  expect_job(
      2, options,
      [&](Context& c) {
        const Result<void> done = run(c);
        const Result<void> met = c.barrier();
        return done ? met : done;
      },
      Kernels::of_one_pe);
}

struct WaitInVain {
  Channels channels;
  Status* status;
  bool any;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto channel = pe.channel(channels);
    channel.post_receive(0);
    *status = any ? channel.wait_receive_any().status : channel.wait_receive(0).status;
  }
};

TEST(ChannelErrors, AWaitInVainEndsWithAReport) {
  Options options = job_options();
  options.watchdog = std::chrono::milliseconds(300);
  expect_job(1, options, [](Context& c) -> Result<void> {
    auto channels = c.add_channels(options_of(4));
    auto status = c.allocate<Status>(1);
    if (!channels) return channels.error();
    if (!status) return mismatch("allocate");
    for (const bool any : {false, true}) {
      const auto ran = c.launch(WaitInVain{*channels, *status, any}, {.blocks = 1, .threads = 1});
      Status got;
      if (auto read = c.download(&got, *status, 1); !read) return read;
      EXPECT_EQ(got.code, StatusCode::stalled);
      if (ran) return mismatch("the stall was not reported");
      EXPECT_THAT(ran.error().message(), HasSubstr("for a message on a channel, in wait_receive"));
      EXPECT_THAT(ran.error().message(), HasSubstr("channel 0"));
      c.clear_reports();
    }
    return {};
  });
}

}  // namespace
}  // namespace gdakit
