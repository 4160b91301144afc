// Queues and channels that are broken: what calls by other ways say of it, and what goes on beside.
#include "sim/world/kernel_channel.h"
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

constexpr int kBad = 1;  // the PE that refuses all keys

WorldOptions refused_options(WorldOptions options) {
  WorldOptions shape = breaking(options, kBad);
  return shape;
}

bool is_broken(const Status& status) {
  return status.code == StatusCode::queue_error && status.peer == kBad;
}

// PE 0's channel to PE 1 breaks where no receive is posted. All looks and waits for messages say
// so, but those that are for PE 2 alone, or for those with receives, among which PE 1 is not.
struct BrokenChannel {
  const Witness* witness;
  const Channels* channels;
  Word* words;  // 3
  template <class Pe>
  void operator()(Pe& pe) const {
    auto channel = pe.channel(channels[pe.my_pe()]);
    if (pe.my_pe() == 2) {
      pe.machine().store_weak(words, Word{5});
      witness->expect(channel.send(words, 1, 0).ok(), "PE 2's send succeeds");
      return;
    }
    const Received before = channel.poll_receive(kBad);
    witness->expect(before.status.ok() && !before.arrived(), "the channel is healthy");
    const Ticket put = channel.put_async(words, words, 1, kBad);
    const Status broken = channel.wait(put);
    witness->expect(is_broken(broken), "the put with a wrong key fails");
    without_receives(channel, broken);
    from_the_other(pe, channel);
    without_receives(channel, broken);
    witness->expect(channel.post_receive(words + 2, sizeof(Word), kBad).ok(),
                    "a receive is posted on the broken channel");
    without_receives(channel, broken);
    of_posts(channel, put, broken);
  }

 private:
  template <class Channel>
  void without_receives(Channel& channel, Status broken) const {
    const auto same = [&](const Received& got, const char* what) {
      witness->expect(got.status == broken && !got.arrived(), what);
    };
    same(channel.poll_receive(kBad), "poll_receive says that the channel is broken");
    same(channel.wait_receive(kBad), "wait_receive says so");
    same(channel.poll_receive_any(), "poll_receive_any says so");
    same(channel.wait_receive_any(), "wait_receive_any says so");
    const Received other = channel.poll_receive(2);
    witness->expect(other.status.ok() && !other.arrived(), "the channel to PE 2 is healthy");
    witness->expect(channel.wait_receive(2).status.code == StatusCode::invalid_argument,
                    "no receive is posted there");
  }
  template <class Pe, class Channel>
  void from_the_other(Pe& pe, Channel& channel) const {
    witness->expect(channel.post_receive(words + 1, sizeof(Word), 2).ok(), "a receive is posted");
    const Received got = channel.wait_receive_any();
    witness->expect(got.status.ok() && got.peer == 2, "the message of PE 2 comes all the same");
    witness->expect(pe.machine().load_weak(words + 1) == 5, "its bytes are there");
  }
  template <class Channel>
  void of_posts(Channel& channel, const Ticket& put, Status broken) const {
    Status status;
    witness->expect(channel.test(put, &status) && status == broken, "a look at the ticket says so");
    witness->expect(channel.send_nbi(words, 1, kBad) == broken, "a send is refused");
    witness->expect(channel.put_nbi(words, words, 1, kBad, Batch::more) == broken, "so is a put");
    witness->expect(channel.put_with_immediate(words, words, 1, 3, kBad) == broken,
                    "so is one with an immediate");
    witness->expect(channel.quiet() == broken, "quiet says so");
  }
};

WorldPointer broken_channel(const SubjectOptions& options) {
  WorldOptions shape = refused_options(options_for(options));
  shape.pes = 3;
  shape.channels = 1;
  auto world = std::make_unique<World>("broken-channel", shape);
  auto* words = world->allocate<Word>("words", 3);
  const BrokenChannel kernel{world->witness(), world->channels(), words};
  world->launch_on(0, {.blocks = 1, .threads = 1}, kernel);
  world->launch_on(2, {.blocks = 1, .threads = 1}, kernel);
  return world;
}

// A handle of an exclusive queue that knows of an error refuses whatever is posted by it.
template <class Handle>
void expect_refuses(const Witness* witness, Handle& own, Word* data, std::uint64_t* signal) {
  const auto refused = [&](Status status, const char* what) {
    witness->expect(is_broken(status), what);
  };
  refused(own.put_nbi(data, data, 1, kBad, Batch::more), "the first put of a batch is refused");
  refused(own.put_value(data, 1, kBad, Batch::more), "so is another one");
  refused(own.put_nbi(data, data, 1, kBad), "so is a put that rings");
  refused(own.put_async(data, data, 1, kBad).status, "so is one with a ticket");
  refused(own.put_signal_nbi(data, data, 1, signal, 1, SignalOp::set, kBad, Batch::more),
          "so is one with a signal");
  refused(own.atomic_add(data, Word{1}, kBad), "so is an atomic");
  refused(own.get_nbi(data, data, 1, kBad, Batch::more), "so is a get");
  Status status;
  own.get_value(data, kBad, &status);
  refused(status, "so is a get of a word");
  refused(own.quiet(), "quiet says that the queue is broken");
}

enum class Learns : std::uint8_t { by_test, by_wait, by_quiet, by_get };

// The owner of two exclusive queues learns that they are broken, of each in another way. From then
// on its handle refuses batches, too.
struct OwnerLearns {
  const Witness* witness;
  Word* data;
  std::uint64_t* signal;
  Learns ways[2];
  template <class Pe>
  void operator()(Pe& pe) const {
    for (std::uint32_t i = 0; i < 2; ++i) {
      auto own = pe.exclusively_on(1 + i);
      witness->expect(is_broken(learn(own, ways[i])), "the handle learns that its queue is broken");
      expect_refuses(witness, own, data, signal);
    }
  }

 private:
  template <class Handle>
  Status learn(Handle& own, Learns way) const {
    Status status;
    if (way == Learns::by_get) {
      own.get_value(data, kBad, &status);
      return status;
    }
    const Ticket put = own.put_async(data, data, 1, kBad);
    witness->expect(put.status.ok(), "the put is taken");
    if (way == Learns::by_wait) return own.wait(put);
    if (way == Learns::by_quiet) return own.quiet();
    while (!own.test(put, &status)) own.machine().spin(Site::user);
    return status;
  }
};

// Block 1 completes what block 0 has put by its exclusive queue, and tells it that this has failed.
// What the owner posts then is refused, if it rings, and whatever comes behind.
struct OwnerIsTold {
  const Witness* witness;
  Word* data;
  std::uint64_t* signal;
  Word* turn;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const auto await = [&](Word wanted) {
      while (m.load(order::Acquire<Scope::gpu>{}, turn) != wanted) m.spin(Site::user);
    };
    const auto pass = [&](Word next) { m.store(order::Release<Scope::gpu>{}, turn, next); };
    if (m.block_index() == 1) {
      await(1);
      witness->expect(is_broken(pe.quiet()), "another thread's quiet says that the put has failed");
      return pass(2);
    }
    auto own = pe.exclusively_on(1);
    witness->expect(own.put_nbi(data, data, 1, kBad).ok(), "the put is taken");
    pass(1);
    await(2);
    witness->expect(is_broken(own.put_nbi(data, data, 1, kBad)), "a put that rings is refused");
    expect_refuses(witness, own, data, signal);
  }
};

// Nothing that was refused has been reserved.
void check_owners(World& world, std::uint32_t queues) {
  world.check([=](After& after) {
    for (std::uint32_t i = 1; i <= queues; ++i) {
      const QueueState state = after.queue_state(0, i, kBad);
      after.expect(state.error != 0, "the queue is broken");
      after.expect_eq("what was reserved", state.reserved, state.posted);
      after.expect_eq("what the NIC knows of", after.nic_queue(0, i, kBad).send_producer,
                      state.posted);
    }
  });
}

template <Learns kFirst, Learns kSecond>
WorldPointer owner_learns(const SubjectOptions& options) {
  WorldOptions shape = refused_options(options_for(options));
  shape.exclusive_queues = 2;
  constexpr bool kLooks = kFirst == Learns::by_test;
  auto world = std::make_unique<World>(kLooks ? "owner-learns" : "owner-learns-by-waiting", shape);
  auto* data = world->allocate<Word>("data", 1);
  auto* signal = world->allocate<std::uint64_t>("signal", 1, RegionKind::signal);
  world->launch_on(0, {.blocks = 1, .threads = 1},
                   OwnerLearns{world->witness(), data, signal, {kFirst, kSecond}});
  check_owners(*world, 2);
  return world;
}

WorldPointer owner_is_told(const SubjectOptions& options) {
  WorldOptions shape = refused_options(options_for(options));
  shape.exclusive_queues = 1;
  auto world = std::make_unique<World>("owner-is-told", shape);
  auto* data = world->allocate<Word>("data", 1);
  auto* signal = world->allocate<std::uint64_t>("signal", 1, RegionKind::signal);
  auto* turn = world->allocate<Word>("turn", 1);
  world->launch_on(0, {.blocks = 2, .threads = 1},
                   OwnerIsTold{world->witness(), data, signal, turn});
  check_owners(*world, 1);
  return world;
}

// Blocks of PE 0 take locks whose home is PE 1, which refuses all keys. The first call for a lock
// fails on the way there, be it set_lock or test_lock, and so does every one behind it.
struct LocksBehindError {
  static constexpr int kLocks = 6;  // of which PE 1 is home to every other one

  const Witness* witness;
  Lock* locks;
  template <class Pe>
  void operator()(Pe& pe) const {
    Lock* lock = locks;
    while (locking::home_of(pe.context(), lock) != kBad) ++lock;
    if (pe.machine().block_index() == 0) {
      expect_broken(test(pe, lock), "test_lock fails");
    } else {
      expect_broken(pe.set_lock(lock + 2), "set_lock fails");
    }
    // Who comes second finds the lock broken, or waits for its turn until it is.
    expect_broken(pe.set_lock(lock + 4), "set_lock fails for all blocks");
    Lock* const own = lock + (pe.machine().block_index() == 0 ? 0 : 2);
    for (int i = 0; i < 2; ++i) {
      expect_broken(pe.set_lock(own), "a later set_lock fails");
      expect_broken(test(pe, own), "a later test_lock fails");
      expect_broken(pe.clear_lock(own), "clear_lock says that a queue is broken");
    }
  }

 private:
  void expect_broken(const Status& status, const char* what) const {
    witness->expect(is_broken(status), what);
  }
  template <class Pe>
  Status test(Pe& pe, Lock* lock) const {
    Status status;
    witness->expect(!pe.test_lock(lock, &status), "test_lock takes no lock");
    return status;
  }
};

WorldPointer locks_behind_error(const SubjectOptions& options) {
  WorldOptions shape = refused_options(options_for(options));
  auto world = std::make_unique<World>("locks-behind-error", shape);
  auto* locks = world->allocate<Lock>("locks", LocksBehindError::kLocks, RegionKind::signal);
  world->launch_on(0, {.blocks = 2, .threads = 1}, LocksBehindError{world->witness(), locks});
  world->check([=](After& after) {
    for (int i = 0; i < LocksBehindError::kLocks; ++i) {
      after.expect(after.value(1, &locks[i].tail) == 0, "nobody has taken a lock");
    }
  });
  return world;
}

// A handle's queue is of the second NIC, and signals go by the first one, whose queues to PE 1 have
// carried nothing. A signal to PE 1 that would come behind a put that has failed is not sent, and
// one to PE 2 is.
struct SignalBehindError {
  const Witness* witness;
  Word* data;
  std::uint64_t* signal;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto second = pe.on_queue(1);
    witness->expect(second.put_nbi(data, data, 1, kBad).ok(), "the put is taken");
    const auto broken = [&](Status status, const char* what) {
      witness->expect(is_broken(status), what);
    };
    broken(second.signal(signal, 1, SignalOp::set, kBad), "the signal is not sent");
    broken(second.signal(signal, 1, SignalOp::add, kBad, Batch::more), "nor is one that is added");
    broken(second.put_signal(data, data, 0, signal, 1, SignalOp::set, kBad),
           "nor that of a put of nothing");
    broken(second.put_signal_nbi(data, data, 1, signal, 1, SignalOp::add, kBad),
           "nor that of a put of a word");
    broken(second.fence(), "fence says that the queue is broken");
    witness->expect(second.put_value(data, 7, 2).ok(), "a put to PE 2 is taken");
    witness->expect(second.signal(signal, 5, SignalOp::set, 2).ok(), "so is a signal to it");
    broken(second.quiet(), "quiet says that a queue is broken");
  }
};

WorldPointer signal_behind_error(const SubjectOptions& options) {
  WorldOptions shape = refused_options(two_nics(options));
  shape.pes = 3;
  auto world = std::make_unique<World>("nics-signal-behind-error", shape);
  auto* data = world->allocate<Word>("data", 1);
  auto* signal = world->allocate<std::uint64_t>("signal", 1, RegionKind::signal);
  world->launch_on(0, {.blocks = 1, .threads = 1},
                   SignalBehindError{world->witness(), data, signal});
  world->check([=](After& after) {
    after.expect_eq("what the NIC knows of the first queue to PE 1",
                    after.nic_queue(0, 0, kBad).send_producer, 0);
    after.expect(after.value(2, data) == 7 && after.value(2, signal) == 5,
                 "PE 2 has the word and the signal");
  });
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"broken-channel", "A channel is broken; messages come by another one.", make<broken_channel>},
    {"owner-learns", "An owner learns of an error by test or quiet, and can post no more.",
     make<owner_learns<Learns::by_test, Learns::by_quiet>>},
    {"owner-learns-by-waiting", "An owner learns of an error by wait or a get of a word.",
     make<owner_learns<Learns::by_wait, Learns::by_get>>},
    {"owner-is-told", "An owner hears of an error by another block, and goes on posting.",
     make<owner_is_told>},
    {"locks-behind-error", "Locks cannot be taken, as the queue to their home is broken.",
     make<locks_behind_error>},
    {"nics-signal-behind-error", "No signal is sent by one NIC behind a put that fails by another.",
     make<signal_behind_error>},
};

}  // namespace

constinit const Table kBrokenTable = kListed;

}  // namespace gdakit::sim::scenarios
