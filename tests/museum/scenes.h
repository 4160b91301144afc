// Scenes: small worlds that an exhibit, the right form and the shipped protocol play alike. `Queue`
// is a MiniQueue, one of its wrong forms, or ShippedQueue.
#pragma once

#include "sim/world/aftermath.h"
#include "tests/museum/museum.h"

namespace gdakit::museum {

// One thread puts `puts` values, then waits.
template <class Queue>
struct Puts {
  QueuePlace place;
  const sim::Witness* witness;
  Word* data;
  Word puts;

  void operator()(SimPe& pe) const {
    Queue queue(pe, place);
    Index last = 0;
    for (Word i = 0; i < puts; ++i) last = queue.put(data + i, 40 + i);
    witness->expect(queue.wait(last), "wait succeeds");
  }
};

template <class Queue, Word kPuts = 1>
void puts(sim::World& world) {
  auto* const data = world.allocate<Word>("data", kPuts);
  world.launch_on(0, {1, 1}, Puts<Queue>{add_words(world), world.witness(), data, kPuts});
  world.check([=](sim::After& after) {
    for (Word i = 0; i < kPuts; ++i) {
      after.expect(after.value(1, data + i) == 40 + i, "PE 1 has the data");
    }
  });
}

// One thread of each of two blocks puts a value on the same queue, then waits.
template <class Queue>
struct PutOfBlock {
  QueuePlace place;
  const sim::Witness* witness;
  Word* data;

  void operator()(SimPe& pe) const {
    Queue queue(pe, place);
    const std::uint32_t block = pe.machine().block_index();
    witness->expect(queue.wait(queue.put(data + block, 40 + block)), "wait succeeds");
  }
};

template <class Queue>
void two_blocks(sim::World& world) {
  auto* const data = world.allocate<Word>("data", 2);
  world.launch_on(0, {2, 1}, PutOfBlock<Queue>{add_words(world), world.witness(), data});
  world.check([=](sim::After& after) {
    for (Word i = 0; i < 2; ++i) {
      after.expect(after.value(1, data + i) == 40 + i, "PE 1 has the data of both blocks");
    }
  });
}

// The lanes of one warp put a value each, together, then wait.
template <class Queue>
struct PutOfWarp {
  QueuePlace place;
  const sim::Witness* witness;
  Word* data;

  void operator()(SimPe& pe) const {
    Queue queue(pe, place);
    witness->expect(queue.wait(queue.warp_put(data, 40 + pe.machine().lane())), "wait succeeds");
  }
};

template <class Queue>
void warp(sim::World& world) {
  constexpr std::uint32_t kLanes = 2;
  auto* const data = world.allocate<Word>("data", kLanes);
  world.launch_on(0, {1, kLanes}, PutOfWarp<Queue>{add_words(world), world.witness(), data});
  world.check([=](sim::After& after) {
    for (Word i = 0; i < kLanes; ++i) {
      after.expect(after.value(1, data + i) == 40 + i, "PE 1 has the data of every lane");
    }
  });
}

// One thread of each block gets `gets` values that PE 1 has, then waits for the last and reads
// them.
template <class Queue>
struct Gets {
  QueuePlace place;
  const sim::Witness* witness;
  const Word* source;
  Word* result;
  Word gets;

  void operator()(SimPe& pe) const {
    Queue queue(pe, place);
    auto& m = pe.machine();
    const Word first = m.block_index() * gets;
    Index last = 0;
    for (Word i = first; i < first + gets; ++i) last = queue.get(result + i, source + i);
    witness->expect(queue.wait_for_result(last), "wait succeeds");
    for (Word i = first; i < first + gets; ++i) {
      witness->expect(m.load_weak(result + i) == 40 + i, "the result is there after the wait");
    }
  }
};

template <class Queue, Word kGets = 1, std::uint32_t kBlocks = 1>
void gets(sim::World& world) {
  constexpr Word kWords = kGets * kBlocks;
  auto* const source = world.allocate<Word>("source", kWords);
  auto* const result = world.allocate<Word>("result", kWords);
  for (Word i = 0; i < kWords; ++i) world.set(1, source + i, 40 + i);
  world.launch_on(0, {kBlocks, 1},
                  Gets<Queue>{add_words(world), world.witness(), source, result, kGets});
}

// PE 0 sends data and a signal, PE 1 waits for the signal and reads the data.
template <class Queue>
struct Sender {
  QueuePlace place;
  Word* data;
  Word* signal;

  void operator()(SimPe& pe) const { Queue(pe, place).send(data, 42, signal); }
};
template <class Queue>
struct Receiver {
  QueuePlace place;
  const sim::Witness* witness;
  Word* data;
  Word* signal;

  void operator()(SimPe& pe) const {
    QueuePlace own = place;
    own.peer = pe.my_pe();
    Queue(pe, own).await(data, signal);
    witness->expect(pe.machine().load_weak(data) == 42, "the data is there when the signal is");
  }
};

template <class Queue, sim::Inbound kSignalRegion = sim::Inbound::by_kind>
void message(sim::World& world) {
  const QueuePlace place = add_words(world);
  auto* const data = world.allocate<Word>("data", 1);
  auto* const signal = world.allocate<Word>("signal", 1, sim::RegionKind::signal, kSignalRegion);
  world.launch_on(0, {1, 1}, Sender<Queue>{place, data, signal});
  world.launch_on(1, {1, 1}, Receiver<Queue>{place, world.witness(), data, signal});
}

}  // namespace gdakit::museum
