// Channels: sends and receives, puts with an immediate, what arrives in which order, and what goes
// wrong.
#include "device/channel.h"

#include <functional>

#include "tests/support/job.h"
#include "tests/support/limited_backend.h"

namespace gdakit {
namespace {

using test::Checks;
using test::expect_job;
using test::job_options;
using test::mismatch;

constexpr std::uint32_t kDepth = 8;  // of the receive queues
constexpr std::uint32_t kWords = 300;

ChannelOptions shallow() {
  ChannelOptions wanted;
  wanted.receive_depth = kDepth;
  return wanted;
}

// What a message from PE `from` has in word i.
GDAKIT_HOST_DEVICE constexpr std::uint32_t word_of(int from, std::uint32_t message,
                                                   std::uint32_t i) {
  return static_cast<std::uint32_t>(from + 1) * 1000003u + message * 4099u + i;
}

// Every PE sends `rounds` messages of growing length to its right neighbour and receives as many
// from the left one, in kDepth buffers.
struct SendRounds {
  Channels channels;
  std::uint32_t number;  // of the channel
  std::uint32_t* source;
  std::uint32_t* buffers;  // [kDepth][kWords]
  std::uint32_t rounds;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto channel = pe.channel(channels, number);
    const int right = (pe.my_pe() + 1) % pe.n_pes();
    const int left = (pe.my_pe() + pe.n_pes() - 1) % pe.n_pes();
    for (std::uint32_t i = 0; i < kDepth; ++i) {
      const Status posted = channel.post_receive(buffers + i * kWords, kWords * 4, left);
      expect(pe, posted.ok());
    }
    expect(pe, pe.barrier_all().ok());
    const std::uint64_t before = own_wqes(pe);
    for (std::uint32_t round = 0; round < rounds; ++round) {
      const std::uint32_t count = round % kWords;
      for (std::uint32_t i = 0; i < count; ++i) source[i] = word_of(pe.my_pe(), round, i);
      expect(pe, channel.send(source, count, right).ok());
      receive(pe, channel, left, round, count);
    }
    expect(pe, own_wqes(pe) - before == (pe.context().needs_cst ? rounds : 0));
    expect(pe, channel.quiet().ok() && pe.barrier_all().ok());
  }

  // Those of the queue to the PE itself: a DUMP behind each message, where that is needed.
  template <class Pe>
  GDAKIT_DEVICE static std::uint64_t own_wqes(Pe& pe) {
    const QueueState* const state = pe.context().queues[pe.my_pe()].state;
    return pe.machine().load(order::RelaxedGpu{}, &state->reserved);
  }

  template <class Pe, class AnyChannel>
  GDAKIT_DEVICE void receive(Pe& pe, AnyChannel& channel, int left, std::uint32_t round,
                             std::uint32_t count) const {
    const Received got = channel.wait_receive(left);
    std::uint32_t* const buffer = buffers + round % kDepth * kWords;
    expect(pe, got.status.ok() && got.arrived() && got.peer == left && got.number == round);
    expect(pe, got.bytes == 4 * count && got.buffer == buffer);
    expect(pe, !got.has_immediate && !got.is_put);
    bool same = true;
    for (std::uint32_t i = 0; i < count; ++i) same = same && buffer[i] == word_of(left, round, i);
    expect(pe, same);
    expect(pe, channel.post_receive(buffer, kWords * 4, left).ok());
  }
};

Result<void> send_rounds(Context& c, std::uint32_t rounds, std::uint32_t number = 0) {
  ChannelOptions wanted = shallow();
  wanted.count = number + 1;
  auto channels = c.add_channels(wanted);
  auto source = c.allocate<std::uint32_t>(kWords);
  auto buffers = c.allocate<std::uint32_t>(kDepth * kWords);
  auto checks = Checks::make(c);
  if (!channels) return channels.error();
  if (!source || !buffers || !checks) return mismatch("allocate");
  const SendRounds kernel{*channels, number, *source, *buffers, rounds, checks->expect()};
  if (auto ran = c.launch(kernel, {.blocks = 1, .threads = 1}); !ran) return ran;
  return checks->all_held(kDepth + 3 + 6 * rounds);
}

TEST(Channel, MessagesArriveInTheirOrder) {
  expect_job(3, job_options(), [](Context& c) { return send_rounds(c, 50); });
}

TEST(Channel, APeSendsToItself) {
  expect_job(1, job_options(), [](Context& c) { return send_rounds(c, 20); });
}

TEST(Channel, SeveralChannelsStandSideBySide) {
  expect_job(2, job_options(), [](Context& c) -> Result<void> {
    if (auto first = send_rounds(c, 10, 2); !first) return first;
    return send_rounds(c, 10, 1);  // another set
  });
}

// Counters of 16 bits, and the receive queue's laps.
TEST(Channel, IndicesWrapAround) {
  if (test::small()) GTEST_SKIP() << "too many messages for a small run";
  expect_job(1, job_options(), [](Context& c) { return send_rounds(c, 66000); });
}

// Messages lie across the borders of chunks, each of which has a key of its own.
TEST(Channel, MessagesCrossTheBordersOfChunks) {
  Options options = job_options();
  options.symmetric_size = 64 << 10;
  options.heap_chunk = 4 << 10;
  expect_job(2, options, [](Context& c) -> Result<void> {
    if (auto filler = c.allocate<char>(60 << 10); !filler) return filler.error();
    return send_rounds(c, 40);
  });
}

TEST(Channel, AProxyRings) {
  for (const NicHandler handler : {NicHandler::proxy, NicHandler::commands}) {
    Options options = job_options();
    options.nic_handler = handler;
    expect_job(2, options, [](Context& c) { return send_rounds(c, 20); });
  }
}

// A device that does not order what the NIC writes asks it to read once behind each message.
TEST(Channel, MessagesAreMadeVisibleWhereWritesAreNotOrdered) {
  BackendLimits limits;
  limits.needs_cst = true;
  test::LimitedProvider provider(limits);
  expect_job(2, job_options(), provider, [](Context& c) { return send_rounds(c, 20); });
}

constexpr std::uint32_t kPages = 40;
constexpr std::uint32_t kPageWords = 64;

// PE 0 fills pages of the others by the lanes of a warp, and tells each by an immediate.
struct FillPages {
  Channels channels;
  std::uint32_t* pages;   // [kPages][kPageWords]
  std::uint32_t* source;  // likewise
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto channel = pe.channel(channels);
    const bool first = pe.thread_index() == 0;
    if (pe.my_pe() != 0 && first) expect(pe, channel.post_receive(0).ok());
    pe.block().barrier_all();
    for (int to = 1; pe.my_pe() == 0 && to < pe.n_pes(); ++to) {
      for (std::uint32_t page = pe.thread_index(); page < kPages; page += pe.block_threads()) {
        std::uint32_t* const at = source + page * kPageWords;
        for (std::uint32_t i = 0; i < kPageWords; ++i) at[i] = word_of(to, page, i);
        const Ticket put = channel.put_async(pages + page * kPageWords, at, kPageWords, to);
        expect(pe, put.status.ok());
      }
      pe.machine().sync_block();
      const auto name = 0xabcd0000u + static_cast<std::uint32_t>(to);
      if (first) {
        expect(pe, channel.put_with_immediate(pages, source, 1, name, to).ok());
        expect(pe, channel.quiet().ok());
      }
      pe.machine().sync_block();  // the source may be written again
    }
    if (pe.my_pe() != 0 && first) look(pe, channel);
    pe.block().barrier_all();
  }

  template <class Pe, class AnyChannel>
  GDAKIT_DEVICE void look(Pe& pe, AnyChannel& channel) const {
    const Received got = channel.wait_receive_any();
    expect(pe, got.status.ok() && got.peer == 0 && got.bytes == 4 && got.is_put);
    expect(pe, got.has_immediate && got.immediate == 0xabcd0000u + pe.my_pe());
    expect(pe, got.buffer == nullptr && channel.receives_posted(0) == 0);
    bool same = true;
    for (std::uint32_t i = 0; i < kPages * kPageWords; ++i) {
      same = same && pages[i] == word_of(pe.my_pe(), i / kPageWords, i % kPageWords);
    }
    expect(pe, same);
  }
};

TEST(Channel, AnImmediateComesBehindThePutsBeforeIt) {
  expect_job(3, job_options(), [](Context& c) -> Result<void> {
    auto channels = c.add_channels(shallow());
    auto pages = c.allocate<std::uint32_t>(kPages * kPageWords);
    auto source = c.allocate<std::uint32_t>(kPages * kPageWords);
    auto checks = Checks::make(c);
    if (!channels) return channels.error();
    if (!pages || !source || !checks) return mismatch("allocate");
    const FillPages kernel{*channels, *pages, *source, checks->expect()};
    if (auto ran = c.launch(kernel, {.blocks = 1, .threads = 32}); !ran) return ran;
    return checks->all_held(c.my_pe() == 0 ? 2 * (kPages + 2) : 5);
  });
}

// All other PEs send to PE 0, without bytes and with one immediate each; it takes what comes.
struct Gather {
  Channels channels;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto channel = pe.channel(channels);
    for (int from = 0; from < pe.n_pes(); ++from) {
      expect(pe, channel.post_receive(from).ok() && channel.post_receive(from).ok());
      expect(pe, !channel.poll_receive(from).arrived());
    }
    pe.barrier_all();
    const int* const nothing = nullptr;
    expect(pe, channel.send(nothing, 0, 0).ok());
    const auto me = static_cast<std::uint32_t>(pe.my_pe());
    expect(pe, channel.put_with_immediate(const_cast<int*>(nothing), nothing, 0, me, 0).ok());
    std::uint32_t sends = 0;
    std::uint32_t seen = 0;
    for (int i = 0; pe.my_pe() == 0 && i < 2 * pe.n_pes(); ++i) {
      const Received got = channel.wait_receive_any();
      expect(pe, got.status.ok() && got.bytes == 0);
      if (!got.has_immediate) ++sends;
      if (got.has_immediate && got.immediate == static_cast<std::uint32_t>(got.peer)) {
        seen |= 1u << got.peer;
      }
    }
    if (pe.my_pe() == 0) expect(pe, sends == 4 && seen == 0xf);
    pe.barrier_all();
  }
};

TEST(Channel, ReceivesFromAnyPe) {
  expect_job(4, job_options(), [](Context& c) -> Result<void> {
    auto channels = c.add_channels(shallow());
    auto checks = Checks::make(c);
    if (!channels) return channels.error();
    if (!checks) return mismatch("allocate");
    const Gather kernel{*channels, checks->expect()};
    if (auto ran = c.launch(kernel, {.blocks = 1, .threads = 1}); !ran) return ran;
    return checks->all_held(c.my_pe() == 0 ? 4 * 2 + 2 + 8 + 1 : 4 * 2 + 2);
  });
}

// Many threads send on one channel, each waits for its own ticket.
struct SendTogether {
  Channels channels;
  std::uint64_t* words;  // [threads]
  std::uint64_t* received;
  std::uint32_t threads;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto channel = pe.channel(channels);
    const std::uint32_t self = pe.block_index() * pe.block_threads() + pe.thread_index();
    if (pe.my_pe() == 1) {
      if (self == 0) receive(pe, channel);
      return;
    }
    words[self] = 100 + self;
    const Ticket ticket = channel.send_async(words + self, 1, 1);
    expect(pe, ticket.status.ok() && channel.wait(ticket).ok());
    Status status;
    expect(pe, channel.test(ticket, &status) && status.ok());
    expect(pe, pe.wait(ticket).code == StatusCode::invalid_argument);  // it is none of the Pe's
  }

  template <class Pe, class AnyChannel>
  GDAKIT_DEVICE void receive(Pe& pe, AnyChannel& channel) const {
    for (std::uint32_t i = 0; i < kDepth; ++i) channel.post_receive(received + i, 8, 0);
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < threads; ++i) {
      const Received got = channel.wait_receive(0);
      if (!got.arrived()) break;
      sum += *static_cast<std::uint64_t*>(got.buffer);
      channel.post_receive(got.buffer, 8, 0);
    }
    expect(pe, sum == std::uint64_t{threads} * 100 + std::uint64_t{threads} * (threads - 1) / 2);
  }
};

TEST(Channel, ManyThreadsSend) {
  expect_job(2, job_options(), [](Context& c) -> Result<void> {
    const std::uint32_t threads = test::sized(128u, 64u);
    auto channels = c.add_channels(shallow());
    auto words = c.allocate<std::uint64_t>(threads);
    auto received = c.allocate<std::uint64_t>(kDepth);
    auto checks = Checks::make(c);
    if (!channels) return channels.error();
    if (!words || !received || !checks) return mismatch("allocate");
    const SendTogether kernel{*channels, *words, *received, threads, checks->expect()};
    auto ran = c.launch(kernel, {.blocks = 2, .threads = threads / 2});
    if (c.my_pe() == 1) return ran ? checks->all_held(1) : ran;
    if (ran) return mismatch("waiting for a ticket of a channel by the Pe was not reported");
    c.clear_reports();
    return checks->all_held(3 * threads);
  });
}

}  // namespace
}  // namespace gdakit
