// What a call says of its own operation where another one has failed, or was refused, before or
// behind it; and what a group says of a failure that one of its threads has seen.
#include "sim/world/kernel_channel.h"
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

constexpr int kBad = 3;  // the PE that refuses its key, and shares a queue of DC with PE 1

// A get and a put are good, and behind them on the same queue a put fails. Their tickets say so
// each: those of the good ones before, or after, one has heard of the failure.
struct GoodBeforeBad {
  const Witness* witness;
  Word* source;  // 2
  Word* data;    // 2
  Word* back;
  bool bad_first;  // the ticket that is waited for first
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    m.store_weak(source, Word{7});
    const Ticket get = pe.get_async(back, data + 1, 1, 1);
    const Ticket put = pe.put_async(data, source, 1, 1);
    const Ticket bad = pe.put_async(data, source + 1, 1, kBad);
    if (bad_first) expect_bad(pe, bad);
    Status status;
    if (bad_first) {
      witness->expect(pe.test(put, &status) && status.ok(), "a look says that the put is done");
      witness->expect(pe.test(get, &status) && status.ok(), "a look says that the get is done");
    }
    witness->expect(pe.wait(put).ok(), "the put has succeeded");
    m.store_weak(source, Word{9});
    witness->expect(pe.wait(get).ok(), "the get has succeeded");
    witness->expect(m.load_weak(back) == 30, "what was got is there");
    expect_bad(pe, bad);
    witness->expect(pe.quiet().code == StatusCode::queue_error, "quiet says that one has failed");
  }

 private:
  template <class Pe>
  void expect_bad(Pe& pe, const Ticket& bad) const {
    const Status status = pe.wait(bad);
    witness->expect(status.code == StatusCode::queue_error &&
                        status.syndrome == format::Syndrome::remote_access,
                    "the wait for the bad put says why");
  }
};

// The same of two sends, of which the second one is too long for its buffer.
struct SendBeforeBad {
  const Witness* witness;
  const Channels* channels;
  Word* words;  // 4
  bool bad_first;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto channel = pe.channel(channels[pe.my_pe()]);
    if (pe.my_pe() == 1) {
      for (int i = 0; i < 2; ++i) {
        witness->expect(channel.post_receive(words + i, sizeof(Word), 0).ok(),
                        "a receive is posted");
      }
      witness->expect(channel.wait_receive(0).status.ok(), "the first message comes");
      witness->expect(!channel.wait_receive(0).status.ok(), "the second one does not");
      return;
    }
    const Ticket good = channel.send_async(words, 1, 1);
    const Ticket bad = channel.send_async(words, 2, 1);
    if (bad_first) {
      witness->expect(channel.wait(bad).code == StatusCode::queue_error, "the second send fails");
      Status status;
      witness->expect(channel.test(good, &status) && status.ok(),
                      "a look says that the first one is done");
    }
    witness->expect(channel.wait(good).ok(), "the first send has succeeded");
    witness->expect(channel.wait(bad).code == StatusCode::queue_error, "the second one has not");
  }
};

// A handle's operations to one PE and then to another, between which one is refused, since its
// memory is in no heap, or not registered.
struct RefusedBetween {
  const Witness* witness;
  Word* stranger;  // in no symmetric heap
  Word* source;    // 2
  Word* data;      // 3: the last one of each PE
  Word* back;      // 2
  template <class Pe>
  void operator()(Pe& pe) const {
    turn(pe, 1, 2);
    auto own = pe.exclusively_on(1);
    turn(own, 2, 1);
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }

 private:
  void expect_refused(const Status& status) const {
    witness->expect(status.code == StatusCode::invalid_address, "it is refused");
  }
  template <class Handle>
  void turn(Handle& handle, int from, int to) const {
    auto& m = handle.machine();
    m.store_weak(source, 10 + Word(from));
    m.store_weak(source + 1, 10 + Word(to));
    witness->expect(handle.put_nbi(data, source, 1, from).ok(), "put_nbi is taken");
    expect_refused(handle.put_nbi(stranger, source, 1, to));
    witness->expect(handle.put_nbi(data, source + 1, 1, to).ok(), "put_nbi to another PE is, too");
    expect_refused(handle.put_value(stranger, 1, from));
    witness->expect(handle.put_value(data + 1, 20 + Word(from), from).ok(), "put_value is taken");
    expect_refused(handle.put_nbi(data, stranger, 1, to));
    witness->expect(handle.put_value(data + 1, 20 + Word(to), to).ok(), "put_value is taken");
    expect_refused(handle.get_nbi(back, stranger, 1, from));
    Status status;
    handle.atomic_fetch_add(stranger, Word{1}, from, &status);
    witness->expect(!status.ok(), "the atomic is refused");
    witness->expect(handle.get_nbi(back, data + 2, 1, from).ok(), "get_nbi is taken");
    witness->expect(handle.get_value(data + 2, to, &status) == 30 + Word(to) && status.ok(),
                    "get_value returns what its PE has");
    witness->expect(handle.quiet().ok(), "quiet succeeds");
    witness->expect(m.load_weak(back) == 30 + Word(from), "what was got is there");
  }
};

// A thread of a group puts to a PE that refuses its key, which has the thread's number: the queue
// to it is this thread's to look at, too. All threads learn of it.
template <class Group>
struct GroupHears {
  const Witness* witness;
  Word* data;
  int bad;
  template <class Pe>
  void operator()(Pe& pe) const {
    if (static_cast<int>(pe.thread_index()) == bad) {
      witness->expect(pe.put_value(data, 1, bad).ok(), "put_value is taken");
    }
    for (int i = 0; i < 2; ++i) {
      const Status status = quiet(pe);
      witness->expect(status.code == StatusCode::queue_error && status.peer == bad,
                      "every thread learns which queue is broken");
    }
  }

 private:
  template <class Pe>
  Status quiet(Pe& pe) const {
    if constexpr (std::is_same_v<Group, WarpGroup>) {
      return pe.warp().quiet();
    } else {
      return pe.block().quiet();
    }
  }
};

WorldPointer good_before_bad(const char* name, const SubjectOptions& options, bool bad_first) {
  WorldOptions world_options = breaking(options_for(options), kBad);
  world_options.pes = 1 + kBad;
  world_options.dc_queues = 2;
  auto world = std::make_unique<World>(name, world_options);
  auto* source = world->allocate<Word>("source", 2);
  auto* data = world->allocate<Word>("data", 2);
  auto* back = world->allocate<Word>("back", 1);
  world->set(1, data + 1, 30);
  world->launch_on(0, {.blocks = 1, .threads = 1},
                   GoodBeforeBad{world->witness(), source, data, back, bad_first});
  world->check([=](After& after) {
    after.expect(after.value(1, data) == 7, "PE 1 has the word of the good put");
    after.expect(after.value(kBad, data) == 0, "nothing was written with a bad key");
  });
  return world;
}

WorldPointer good_then_bad(const SubjectOptions& options) {
  return good_before_bad("good-then-bad", options, false);
}

WorldPointer bad_then_good(const SubjectOptions& options) {
  return good_before_bad("bad-then-good", options, true);
}

WorldPointer send_before_bad(const char* name, const SubjectOptions& options, bool bad_first) {
  WorldOptions world_options = breaking(options_for(options));
  world_options.channels = 1;
  auto world = std::make_unique<World>(name, world_options);
  auto* words = world->allocate<Word>("words", 4);
  world->launch({.blocks = 1, .threads = 1},
                SendBeforeBad{world->witness(), world->channels(), words, bad_first});
  return world;
}

WorldPointer send_then_bad(const SubjectOptions& options) {
  return send_before_bad("send-then-bad", options, false);
}

WorldPointer bad_then_send(const SubjectOptions& options) {
  return send_before_bad("bad-then-send", options, true);
}

WorldPointer refused_between(const SubjectOptions& options) {
  static Word stranger = 0;
  WorldOptions world_options = options_for(options);
  world_options.pes = 3;
  world_options.exclusive_queues = 1;
  world_options.expect_quiet = false;  // what is refused is reported
  auto world = std::make_unique<World>("refused-between", world_options);
  auto* source = world->allocate<Word>("source", 2);
  auto* data = world->allocate<Word>("data", 3);
  auto* back = world->allocate<Word>("back", 1);
  for (std::uint32_t pe = 1; pe <= 2; ++pe) world->set(pe, data + 2, Word{pe} + 30);
  world->launch_on(0, {.blocks = 1, .threads = 1},
                   RefusedBetween{world->witness(), &stranger, source, data, back});
  world->check([=](After& after) {
    for (std::uint32_t pe = 1; pe <= 2; ++pe) {
      after.expect(after.value(pe, data) == Word{pe} + 10 &&
                       after.value(pe, data + 1) == Word{pe} + 20 &&
                       after.value(pe, data + 2) == Word{pe} + 30,
                   "each PE has what was put there");
    }
  });
  return world;
}

// On PE 1.
template <class Group>
WorldPointer group_hears(const char* name, const SubjectOptions& options, std::uint32_t bad) {
  constexpr std::uint32_t kThreads = 3;
  WorldOptions world_options = breaking(options_for(options), bad);
  world_options.pes = kThreads;
  auto world = std::make_unique<World>(name, world_options);
  auto* data = world->allocate<Word>("data", 1);
  world->launch_on(1, {.blocks = 1, .threads = kThreads},
                   GroupHears<Group>{world->witness(), data, static_cast<int>(bad)});
  return world;
}

WorldPointer warp_hears(const SubjectOptions& options) {
  return group_hears<WarpGroup>("warp-hears", options, 2);
}

WorldPointer block_hears(const SubjectOptions& options) {
  return group_hears<BlockGroup>("block-hears", options, 2);
}

WorldPointer block_hears_first(const SubjectOptions& options) {
  return group_hears<BlockGroup>("block-hears-first", options, 0);
}

constexpr ScenarioEntry kListed[] = {
    {"good-then-bad", "A get and a put succeed, though a put behind them fails.",
     make<good_then_bad>},
    {"bad-then-good", "They succeed for who knows of the failure already.", make<bad_then_good>},
    {"send-then-bad", "A send succeeds, though one behind it is too long.", make<send_then_bad>},
    {"bad-then-send", "It succeeds for who knows of that already.", make<bad_then_send>},
    {"refused-between", "One handle goes on to another PE behind what is refused.",
     make<refused_between>},
    {"warp-hears", "All lanes hear of an error on a queue that the last one looks at.",
     make<warp_hears>},
    {"block-hears", "All threads hear of an error on a queue that the last one looks at.",
     make<block_hears>},
    {"block-hears-first", "All threads hear of an error on a queue that the first one looks at.",
     make<block_hears_first>},
};

}  // namespace

constinit const Table kOutcomesTable = kListed;

}  // namespace gdakit::sim::scenarios
