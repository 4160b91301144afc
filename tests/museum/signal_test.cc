// Data and signal: what the reader of a signal may rely on.
#include <gtest/gtest.h>

#include "tests/museum/scenes.h"

namespace gdakit::museum {
namespace {

using sim::FindingKind;

// The signal is polled by a volatile load, which orders nothing, and the data is read behind it.
//
// Source: https://github.com/NVIDIA/nvshmem/issues/75
struct SignalWithoutAcquire : SoleQueue {
  using SoleQueue::SoleQueue;
  void await(const Word*, const Word* signal) override {
    while (m.load(Relaxed{}, signal) == 0) m.spin(Site::signal);
  }
};

TEST(Museum, SignalWithoutAcquireIsFound) {
  expect_found({FindingKind::race}, {}, message<SignalWithoutAcquire>);
}
TEST(Museum, SignalWithoutAcquireIsFoundNoMore) {
  expect_passes({}, message<SoleQueue>, message<ShippedQueue>);
}

// The signal is polled by plain loads, which a compiler may read once and a cache may serve for
// ever.
//
// Source: https://github.com/deepseek-ai/DeepEP/blob/main/docs/legacy.md (undefined behaviour PTX)
struct PlainPoll : SoleQueue {
  using SoleQueue::SoleQueue;
  void await(const Word*, const Word* signal) override {
    while (m.load_weak(signal) == 0) m.spin(Site::signal);
    m.fence(AcquireSystem{});
  }
};

TEST(Museum, PlainPollIsFound) {
  expect_found({FindingKind::weak_poll, FindingKind::race}, {}, message<PlainPoll>);
}
TEST(Museum, PlainPollIsFoundNoMore) {
  expect_passes({}, message<SoleQueue>, message<ShippedQueue>);
}

// Data on one queue, its signal on another: nothing orders the two.
//
// Source: https://github.com/NVIDIA/nccl/issues/2302
struct SignalOnAnotherQueue : SoleQueue {
  using SoleQueue::SoleQueue;
  void send(Word* data, Word value, Word* signal) override {
    const Index end = put(data, value);
    SoleQueue other(pe, {place.words, place.queue + 1, place.peer});
    other.wait(other.add(signal, 1));
    wait(end);
  }
};

sim::WorldOptions two_queues() {
  sim::WorldOptions options;
  options.queues = 2;
  return options;
}

TEST(Museum, SignalOnAnotherQueueIsFound) {
  expect_found({FindingKind::race}, two_queues(), message<SignalOnAnotherQueue>);
}
TEST(Museum, SignalOnAnotherQueueIsFoundNoMore) {
  expect_passes(two_queues(), message<SoleQueue>, message<ShippedQueue>);
}

// Several messages in flight add to one signal, and the reader takes the first addition for the
// first message: a library's own example of a ring reduction lost its data so.
//
// Source: https://github.com/NVIDIA/nvshmem/issues/84
struct OneSignalForAll {
  static Word* of(Word* signals, Word) { return signals; }
};
struct SignalOfEach {
  static Word* of(Word* signals, Word message) { return signals + message; }
};

// Block i sends message i, on queue i.
template <class Queue, class Signals>
struct SendsOfBlock {
  QueuePlace place;
  Word* data;
  Word* signals;

  void operator()(SimPe& pe) const {
    const std::uint32_t i = pe.machine().block_index();
    Queue queue(pe, {place.words, i, place.peer});
    queue.send(data + i, 40 + i, Signals::of(signals, i));
  }
};
template <class Queue, class Signals>
struct ReadsFirst {
  QueuePlace place;
  const sim::Witness* witness;
  Word* data;
  Word* signals;

  void operator()(SimPe& pe) const {
    Queue queue(pe, {place.words, 0, pe.my_pe()});
    queue.await(data, Signals::of(signals, 0));
    witness->expect(pe.machine().load_weak(data) == 40, "the first message's data is there");
  }
};

template <class Queue, class Signals>
void two_messages(sim::World& world) {
  const QueuePlace place = add_words(world);
  auto* const data = world.allocate<Word>("data", 2);
  auto* const signals = world.allocate<Word>("signals", 2, sim::RegionKind::signal);
  world.launch_on(0, {2, 1}, SendsOfBlock<Queue, Signals>{place, data, signals});
  world.launch_on(1, {1, 1}, ReadsFirst<Queue, Signals>{place, world.witness(), data, signals});
}

TEST(Museum, OneSignalForAllIsFound) {
  expect_found({FindingKind::race}, two_queues(), two_messages<SoleQueue, OneSignalForAll>);
}
TEST(Museum, OneSignalForAllIsFoundNoMore) {
  expect_passes(two_queues(), two_messages<SoleQueue, SignalOfEach>,
                two_messages<ShippedQueue, SignalOfEach>);
}

// The signal lies in memory registered with relaxed ordering, so that its update may overtake the
// data. The queue is right, the registration is not.
//
// Source: https://github.com/deepseek-ai/DeepEP/issues/661
// Source: https://github.com/NVIDIA/nccl/issues/2210
template <class Queue>
constexpr auto kRelaxedRegion = message<Queue, sim::Inbound::relaxed>;
template <class Queue>
constexpr auto kStrictRegion = message<Queue, sim::Inbound::in_order>;

TEST(Museum, RelaxedSignalRegionIsFound) {
  expect_found({FindingKind::race}, {}, kRelaxedRegion<SoleQueue>);
}
TEST(Museum, RelaxedSignalRegionIsFoundNoMore) {
  expect_passes({}, kStrictRegion<SoleQueue>, kStrictRegion<ShippedQueue>);
}

// A flag that reaches memory by another way than the data, be it adaptive routing or a second path
// from the NIC to the GPU. What still holds is that a word comes whole: the data brings its own
// flag.
//
// Source: https://github.com/deepseek-ai/DeepEP/issues/20
// Source: https://github.com/meta-pytorch/torchcomms/issues/2396
template <class Queue>
struct FlagInData : Queue {
  using Queue::Queue;
  void send(Word* data, Word value, Word*) { this->wait(this->put(data, value)); }
  void await(const Word* data, const Word*) { Queue::await(nullptr, data); }
};

sim::WorldOptions split_paths() {
  sim::WorldOptions options;
  options.base.signal_path = sim::SignalPath::split;
  return options;
}

TEST(Museum, FlagOvertakesDataIsFound) {
  expect_found({FindingKind::race}, split_paths(), message<SoleQueue>);
}
TEST(Museum, FlagOvertakesDataIsFoundNoMore) {
  expect_passes(split_paths(), message<FlagInData<SoleQueue>>, message<FlagInData<ShippedQueue>>);
}

// The reader takes the signal back by an atomic of its own, on a machine where the NIC's atomics
// are none for the GPU: one of the two updates is lost. Counting up and comparing needs no write.
//
// Source: https://man7.org/linux/man-pages/man3/ibv_query_device.3.html (atomic_cap)
struct TakesSignalBack {
  static constexpr Word kLeft = 0;
  static void take(sim::SimMachine& m, Word* signal, Word) {
    while (m.load(AcquireSystem{}, signal) == 0) m.spin(Site::signal);
    m.fetch_add(Relaxed{}, signal, ~Word{0});
  }
};
struct CountsSignals {
  static constexpr Word kLeft = 2;
  static void take(sim::SimMachine& m, Word* signal, Word number) {
    while (m.load(AcquireSystem{}, signal) < number) m.spin(Site::signal);
  }
};

template <class Queue>
struct SignalsTwice {
  QueuePlace place;
  Word* signal;

  void operator()(SimPe& pe) const {
    Queue queue(pe, place);
    queue.wait(queue.add(signal, 1));
    queue.wait(queue.add(signal, 1));
  }
};
template <class Reader>
struct TakesTwice {
  Word* signal;

  void operator()(SimPe& pe) const {
    for (Word i = 1; i <= 2; ++i) Reader::take(pe.machine(), signal, i);
  }
};

template <class Queue, class Reader>
void two_signals(sim::World& world) {
  auto* const signal = world.allocate<Word>("signal", 1, sim::RegionKind::signal);
  world.launch_on(0, {1, 1}, SignalsTwice<Queue>{add_words(world), signal});
  world.launch_on(1, {1, 1}, TakesTwice<Reader>{signal});
  world.check([=](sim::After& after) {
    after.expect(after.value(1, signal) == Reader::kLeft, "no signal is lost");
  });
}

sim::WorldOptions atomics_of_nic_alone() {
  sim::WorldOptions options;
  options.base.device_native_atomics = sim::YesNo::no;
  return options;
}

TEST(Museum, SignalTakenBackIsFound) {
  expect_found({FindingKind::invariant}, atomics_of_nic_alone(),
               two_signals<SoleQueue, TakesSignalBack>);
}
TEST(Museum, SignalTakenBackIsFoundNoMore) {
  expect_passes(atomics_of_nic_alone(), two_signals<SoleQueue, CountsSignals>,
                two_signals<ShippedQueue, CountsSignals>);
}

}  // namespace
}  // namespace gdakit::museum
