// PEs to which there is no queue: what is asked of them is refused, and nobody hangs.
#include "device/channel.h"
#include "tests/support/job.h"

namespace gdakit {
namespace {

using test::Checks;
using test::expect_job;
using test::job_options;
using test::mismatch;
using test::same;

Options unconnected_options(const char* connect) {
  Options options = job_options();
  options.connect = connect;
  options.queue_type = QueueType::rc;  // by DC all are reached
  options.transport = TransportChoice::nic;
  return options;
}

GDAKIT_HOST_DEVICE constexpr bool is_refusal(const Status& status) {
  return status.code == StatusCode::invalid_argument && status.peer == 1;
}

struct Memory {
  std::uint64_t* words;
  std::uint32_t* small;
};

// PE 0 asks everything of PE 1.
struct AsksAll {
  Memory memory;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if (pe.my_pe() != 0) return;
    std::uint64_t* const w = memory.words;
    expect(pe, is_refusal(pe.put_value(w, std::uint64_t{1}, 1)));
    expect(pe, is_refusal(pe.put_nbi(w, w + 8, 4, 1)));
    expect(pe, is_refusal(pe.put(w, w + 8, 0, 1)));
    expect(pe, is_refusal(pe.get(w, w + 8, 4, 1)));
    expect(pe, is_refusal(pe.iput(w, w + 8, 2, 2, 3, 1)));
    expect(pe, is_refusal(pe.put_signal_nbi(w, w + 8, 4, w + 2, 1, SignalOp::set, 1)));
    expect(pe, is_refusal(pe.atomic_add(w, std::uint64_t{1}, 1)));
    expect(pe, is_refusal(pe.atomic_set(memory.small, 1u, 1)));
    Status status;
    pe.atomic_fetch_add(w, std::uint64_t{1}, 1, &status);
    expect(pe, is_refusal(status));
    pe.get_value(w, 1, &status);
    expect(pe, is_refusal(status));
    const Ticket none{0, 1, 1, {}};
    expect(pe, is_refusal(pe.wait(none)));
    expect(pe, pe.test(none, &status) && is_refusal(status));
    expect(pe, is_refusal(pe.warp().put_nbi(w, w + 8, 4, 1)));
    expect(pe, pe.fence().ok());
    expect(pe, pe.quiet().ok());
    expect(pe, pe.put_value(w + 9, std::uint64_t{9}, 2).ok());
    expect(pe, pe.wait(pe.put_async(w + 10, w + 8, 1, 2)).ok());
  }
};

TEST(UnconnectedPe, IsRefusedToAllWhoAsk) {
  // PE 2 alone has queues to all.
  expect_job(3, unconnected_options("2"), [](Context& c) -> Result<void> {
    auto words = c.allocate<std::uint64_t>(16);
    auto small = c.allocate<std::uint32_t>(1);
    if (!words || !small) return mismatch("no memory");
    Result<Checks> checks = Checks::make(c);
    if (!checks) return checks.error();
    if (auto met = c.barrier(); !met) return met;
    const Result<void> ran = c.launch(AsksAll{{*words, *small}, checks->expect()}, {1, 1});
    if (c.my_pe() == 0) {
      const std::string said = ran ? "nothing" : ran.error().message();
      if (said.find("no queue to PE 1") == std::string::npos) return mismatch("it says " + said);
    } else if (!ran) {
      return ran;
    }
    if (auto met = c.barrier(); !met) return met;
    if (auto held = checks->all_held(c.my_pe() == 0 ? 17 : 0); !held) return held;
    auto got = test::download(c, *words, 16);
    if (!got) return got.error();
    if (auto ok = same((*got)[9], c.my_pe() == 2 ? 9ul : 0ul, "word of PE 2"); !ok) return ok;
    return same((*got)[0], 0ul, "word that nobody could put");
  });
}

// PE 0 asks for channels to PE 1, and uses those to itself.
struct AsksForChannels {
  Channels channels;
  std::uint64_t* words;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if (pe.my_pe() != 0) return;
    auto channel = pe.channel(channels);
    expect(pe, is_refusal(channel.send(words, 1, 1)));
    expect(pe, is_refusal(channel.put_nbi(words, words, 1, 1)));
    expect(pe, is_refusal(channel.post_receive(words, 8, 1)));
    expect(pe, is_refusal(channel.poll_receive(1).status));
    expect(pe, is_refusal(channel.wait_receive(1).status));
    expect(pe, channel.receives_posted(1) == 0);
    expect(pe, is_refusal(channel.wait(Ticket{channels.first, 1, 1, {}})));
    expect(pe, !channel.poll_receive_any().arrived());
    expect(pe, channel.wait_receive_any().status.code == StatusCode::invalid_argument);
    expect(pe, channel.post_receive(words, 8, 0).ok());
    expect(pe, channel.send(words + 1, 1, 0).ok());
    const Received got = channel.wait_receive_any();
    expect(pe, got.status.ok() && got.peer == 0);
    expect(pe, channel.quiet().ok());
  }
};

TEST(UnconnectedPe, HasNoChannel) {
  expect_job(3, unconnected_options("2"), [](Context& c) -> Result<void> {
    auto words = c.allocate<std::uint64_t>(2);
    auto channels = c.add_channels({});
    if (!words || !channels) return mismatch("no words or channels");
    Result<Checks> checks = Checks::make(c);
    if (!checks) return checks.error();
    const Result<void> ran = c.launch(AsksForChannels{*channels, *words, checks->expect()}, {1, 1});
    if (c.my_pe() != 0) return ran;
    const std::string said = ran ? "nothing" : ran.error().message();
    if (said.find("no queue to PE 1") == std::string::npos) return mismatch("it says " + said);
    return checks->all_held(13);
  });
}

// Of three members two have no queue to each other.
struct Syncs {
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const Status status = pe.team(kTeamWorld).sync();
    if (pe.my_pe() == 2) return;  // it waits for none of them in vain, or for both
    expect(pe, status.code == StatusCode::invalid_argument && status.peer == 1 - pe.my_pe());
  }
};

TEST(UnconnectedPe, FailsTheCollectivesOfThoseWhoCannotReachIt) {
  Options options = unconnected_options("2");
  options.watchdog = test::patience(std::chrono::seconds(2));
  options.collectives = CollectiveChoice::linear;
  expect_job(3, options, [](Context& c) -> Result<void> {
    Result<Checks> checks = Checks::make(c);
    if (!checks) return checks.error();
    if (auto met = c.barrier(); !met) return met;
    const Result<void> ran = c.launch(Syncs{checks->expect()}, {1, 1});
    if (c.my_pe() != 2 && ran) return mismatch("the launch told of no fault");
    if (auto met = c.barrier(); !met) return met;
    return checks->all_held(c.my_pe() == 2 ? 0 : 1);
  });
}

// By loads and stores a PE is reached without a queue, with an index that is near and one that is
// not.
struct PutsDirectly {
  std::uint64_t* words;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const auto me = static_cast<std::uint64_t>(pe.my_pe());
    for (int to = 0; to < pe.n_pes(); ++to) {
      expect(pe, pe.put_value(words + me, me + 1, to).ok());
      expect(pe, pe.put(words + 16 + me, words + me, 1, to).ok());
      Status status;
      pe.get_value(words, to, &status);
      expect(pe, status.ok());
      expect(pe, pe.atomic_add(words + 32, std::uint64_t{1}, to).ok());
      expect(pe, pe.iput(words + 33, words + 40, 2, 2, 2, to).ok());
    }
    expect(pe, pe.quiet().ok());
  }
};

TEST(UnconnectedPe, IsReachedDirectlyAllTheSame) {
  constexpr int kPes = kNearPes + 2;
  Options options = unconnected_options("none");
  options.transport = TransportChoice::direct;
  expect_job(kPes, options, [](Context& c) -> Result<void> {
    auto words = c.allocate<std::uint64_t>(64);
    if (!words) return words.error();
    Result<Checks> checks = Checks::make(c);
    if (!checks) return checks.error();
    if (auto met = c.barrier(); !met) return met;
    if (auto ran = c.launch(PutsDirectly{*words, checks->expect()}, {1, 1}); !ran) return ran;
    if (auto met = c.barrier(); !met) return met;
    if (auto held = checks->all_held(5 * kPes + 1); !held) return held;
    auto got = test::download(c, *words, 64);
    if (!got) return got.error();
    for (std::uint64_t i = 0; i < kPes; ++i) {
      if (auto ok = same((*got)[i], i + 1, "word"); !ok) return ok;
    }
    return same((*got)[32], std::uint64_t{kPes}, "sum");
  });
}

}  // namespace
}  // namespace gdakit
