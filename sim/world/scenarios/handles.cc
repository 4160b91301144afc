// Batches and their ends, handles of exclusive queues, and several handles of one thread.
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

// The lanes of a warp leave a batch open together; the second one ends it by a call that moves
// nothing. Nobody waits for it but PE 1. Another block has a batch of its own on the same queue.
struct BatchEnds {
  const Witness* witness;
  Word* source;  // 2
  Word* data;    // 3
  std::uint64_t* seen;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (m.block_index() == 1) {
      if (m.lane() == 1 || pe.my_pe() == 1) return;
      witness->expect(pe.put_value(data + 2, 1, 1, Batch::more).ok(), "put_value is taken");
      witness->expect(pe.quiet().ok(), "quiet succeeds");
    } else if (pe.my_pe() == 0) {
      m.store_weak(source + m.lane(), Word{1});
      witness->expect(pe.warp().put_nbi(data, source, 2, 1, Batch::more).ok(),
                      "the warp's put_nbi is taken");
      if (m.lane() == 1) witness->expect(pe.put_nbi(data, data, 0, 1).ok(), "put_nbi is taken");
      witness->expect(pe.wait_until(seen, Compare::eq, 1).ok(), "PE 1 says that it has both words");
      witness->expect(pe.quiet().ok(), "quiet succeeds");
    } else if (m.lane() == 0) {
      witness->expect(pe.wait_until_all(data, 2, nullptr, Compare::eq, 1).ok(), "both words come");
      witness->expect(pe.put_value(seen, 1, 0).ok(), "put_value is taken");
      witness->expect(pe.quiet().ok(), "quiet succeeds");
    }
  }
};

// PEs 0 and 1 put to each other directly, all else goes through the NIC. Each batch begins with an
// atomic, which the NIC carries, and ends with what does not reach the NIC; PE 1 waits for it.
struct PartlyBatch {
  const Witness* witness;
  Word* data;  // 3
  Word* sums;  // 3
  Word* seen;  // 2
  template <class Pe>
  void operator()(Pe& pe) const {
    if (pe.my_pe() == 0) {
      open(pe, 0, 1);
      witness->expect(pe.put_value(data, 7, 1).ok(), "put_value is taken");
      wait_for(pe, seen);
      open(pe, 1, 1);
      witness->expect(pe.get_value(data, 1) == 7, "get_value returns what was put");
      wait_for(pe, seen + 1);
      open(pe, 2, 2);
      witness->expect(pe.put_nbi(data, data, 0, 2).ok(), "put_nbi is taken");
    } else if (pe.my_pe() == 1) {
      for (int i = 0; i < 2; ++i) {
        wait_for(pe, sums + i);
        witness->expect(pe.put_value(seen + i, 1, 0).ok(), "put_value is taken");
      }
    } else {
      wait_for(pe, sums + 2);
      witness->expect(pe.put_value(data + 2, 9, 1).ok(), "put_value is taken");
    }
    witness->expect(pe.barrier_all().ok(), "barrier_all succeeds");
    if (pe.my_pe() == 1) {
      auto& m = pe.machine();
      witness->expect(m.load_weak(data) == 7 && m.load_weak(data + 2) == 9,
                      "what both others have put is there behind the barrier");
    }
  }

 private:
  template <class Pe>
  void open(Pe& pe, int sum, int to) const {
    witness->expect(pe.atomic_add(sums + sum, Word{1}, to, Batch::more).ok(),
                    "atomic_add is taken");
  }
  template <class Pe>
  void wait_for(Pe& pe, const Word* word) const {
    witness->expect(pe.wait_until(word, Compare::eq, 1).ok(), "the word comes");
  }
};

// A batch that the NIC carries ends with a put that is refused: PE 1 gets what was in it all the
// same.
struct RefusedBatch {
  const Witness* witness;
  Word* stranger;  // in no symmetric heap
  Word* data;
  Word* sum;
  template <class Pe>
  void operator()(Pe& pe) const {
    if (pe.my_pe() == 0) {
      witness->expect(pe.atomic_add(sum, Word{1}, 1, Batch::more).ok(), "atomic_add is taken");
      witness->expect(!pe.put_nbi(stranger, data, 1, 1).ok(), "put_nbi is refused");
    } else if (pe.my_pe() == 1) {
      witness->expect(pe.wait_until(sum, Compare::eq, 1).ok(), "the word comes");
    }
  }
};

// One thread puts by two handles of one queue, whose order fence keeps, and by one of another
// queue, which quiet completes.
struct SeveralHandles {
  const Witness* witness;
  Word* data;           // 3
  std::uint64_t* flag;  // 2
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      auto same = pe.on_queue(0);
      auto other = pe.on_queue(1);
      same.put_value(data, 1, 1);
      pe.put_value(data + 1, 2, 1, Batch::more);
      witness->expect(same.fence().ok(), "fence succeeds");
      witness->expect(pe.put_value(flag, 1, 1).ok(), "put_value is taken");
      other.put_value(data + 2, 3, 1, Batch::more);
      witness->expect(pe.quiet().ok(), "quiet succeeds");
      witness->expect(pe.put_value(flag + 1, 1, 1).ok(), "put_value is taken");
      witness->expect(other.quiet().ok(), "quiet succeeds");
      return;
    }
    witness->expect(pe.wait_until(flag, Compare::eq, 1).ok(), "the first flag comes");
    witness->expect(m.load_weak(data) == 1 && m.load_weak(data + 1) == 2,
                    "what was put on the flag's queue is there");
    witness->expect(pe.wait_until(flag + 1, Compare::eq, 1).ok(), "the second flag comes");
    witness->expect(m.load_weak(data + 2) == 3, "what quiet completed is there");
  }
};

// A block and a warp, each on an exclusive queue of its own: puts, gets and their flushes, and a
// lock whose release completes what the group has left open.
struct ExclusiveGroups {
  const Witness* witness;
  Word* source;  // 4
  Word* data;    // 4
  Word* back;    // 4
  Word* counter;
  Lock* lock;
  template <class Pe>
  void operator()(Pe& pe) const {
    if (pe.machine().block_index() == 0) {
      auto own = pe.exclusively_on(1).block();
      act(pe, own, 0);
    } else {
      auto own = pe.exclusively_on(2).warp();
      act(pe, own, 2);
    }
  }

 private:
  template <class Pe, class Own>
  void act(Pe& pe, Own& own, Word first) const {
    auto& m = pe.machine();
    const Word mine = first + m.thread_index();
    m.store_weak(source + mine, 10 + mine);
    witness->expect(own.put_nbi(data + first, source + first, 2, 1, Batch::more).ok(),
                    "put_nbi is taken");
    witness->expect(own.get_nbi(back + first, data + first, 2, 1).ok(), "get_nbi is taken");
    witness->expect(own.quiet().ok(), "quiet succeeds");
    witness->expect(m.load_weak(back + mine) == 10 + mine, "the get returns what was put");
    witness->expect(own.set_lock(lock).ok(), "set_lock succeeds");
    if (m.thread_index() == 0) {
      own.put_value(counter, own.get_value(counter, 1) + 1, 1, Batch::more);
    }
    witness->expect(own.clear_lock(lock).ok(), "clear_lock succeeds");
  }
};

// One thread fetches by an exclusive handle, more often than there are fetch slots.
struct ExclusiveFetch {
  const Witness* witness;
  Word* counter;
  std::uint32_t* small;
  Word* old;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto own = pe.exclusively_on(1);
    for (Word i = 0; i < 2; ++i) {
      witness->expect(own.atomic_fetch_add(counter, 1, 1) == 2 * i, "every addition is made once");
      witness->expect(own.atomic_add(counter, Word{1}, 1, Batch::more).ok(), "atomic_add is taken");
      witness->expect(own.atomic_fetch_inc(small, 1) == i, "every increment is made once");
    }
    witness->expect(own.atomic_fetch_nbi(old, counter, 1, Batch::more).ok(), "the fetch is taken");
    witness->expect(own.quiet().ok(), "quiet succeeds");
    witness->expect(pe.machine().load_weak(old) == 4, "the fetched value is there behind quiet");
  }
};

// PE 1 refuses the key. Once a handle knows, it takes nothing more, batches included; nor does a
// new handle of the same queue. Another block may find the error at any time.
struct ExclusiveError {
  const Witness* witness;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    if (pe.machine().block_index() == 1) {
      const Status status = pe.quiet();
      witness->expect(status.ok() || status.code == StatusCode::queue_error,
                      "quiet succeeds before the error and says what is wrong behind it");
      return;
    }
    auto own = pe.exclusively_on(1);
    const Ticket ticket = own.put_async(data + 1, data + 1, 1, 1);
    witness->expect(own.wait(ticket).code == StatusCode::queue_error, "the wait says why");
    for (const Batch batch : {Batch::more, Batch::last}) {
      witness->expect(own.put_value(data, 1, 1, batch).code == StatusCode::queue_error,
                      "the handle of a broken queue refuses posts");
      auto fresh = pe.exclusively_on(1);
      witness->expect(fresh.put_value(data, 1, 1, batch).code == StatusCode::queue_error,
                      "a new handle of a broken queue refuses posts");
    }
    witness->expect(own.put_nbi(data, data, 0, 1).ok(), "an empty put is taken");
    witness->expect(own.quiet().code == StatusCode::queue_error, "quiet says what is wrong");
  }
};

// Another handle posts to an exclusive queue. The first one's posts are refused from then on; what
// it took for them it has given back.
struct ExclusiveForeign {
  const Witness* witness;
  Word* data;  // 3
  template <class Pe>
  void operator()(Pe& pe) const {
    auto own = pe.exclusively_on(1);
    witness->expect(own.get_value(data, 1) == 30, "get_value returns what PE 1 has");
    auto other = pe.exclusively_on(1);
    for (int i = 0; i < 3; ++i) {
      witness->expect(other.put_value(data + 2, 5, 1).ok(), "another handle's put is taken");
      witness->expect(other.quiet().ok(), "the queue is healthy");
      Status status;
      own.get_value(data, 1, &status);
      witness->expect(status.code == StatusCode::invalid_argument,
                      "somebody else has posted to the queue");
    }
    auto third = pe.exclusively_on(1);
    for (int i = 0; i < 3; ++i) {
      Status status;
      witness->expect(third.get_value(data + 1, 1, &status) == 31 && status.ok(),
                      "get_value returns what PE 1 has");
    }
  }
};

WorldPointer batch_ends(const SubjectOptions& options, Reached reached) {
  WorldOptions world_options = options_for(options);
  world_options.max_message_bytes = sizeof(Word);  // each lane posts a WQE
  auto world = world_of("batch-ends", world_options, reached);
  auto* source = world->allocate<Word>("source", 2);
  auto* data = world->allocate<Word>("data", 3, RegionKind::signal);
  auto* seen = world->allocate<std::uint64_t>("seen", 1, RegionKind::signal);
  world->launch({.blocks = 2, .threads = 2}, BatchEnds{world->witness(), source, data, seen});
  world->check([=](After& after) {
    after.expect(after.value(1, data + 2) == 1, "PE 1 has the word of the other block");
  });
  return world;
}

WorldPointer partly_batch(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.pes = 3;
  auto world = world_of("batch", world_options, Reached::partly);
  auto* data = world->allocate<Word>("data", 3);
  auto* sums = world->allocate<Word>("sums", 3, RegionKind::signal);
  auto* seen = world->allocate<Word>("seen", 2, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1}, PartlyBatch{world->witness(), data, sums, seen});
  return world;
}

WorldPointer refused_batch(const SubjectOptions& options) {
  static Word stranger = 0;
  WorldOptions world_options = options_for(options);
  world_options.pes = 3;
  world_options.expect_quiet = false;  // the misuse is reported
  auto world = world_of("refused", world_options, Reached::partly);
  auto* data = world->allocate<Word>("data", 1);
  auto* sum = world->allocate<Word>("sum", 1, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1}, RefusedBatch{world->witness(), &stranger, data, sum});
  return world;
}

WorldPointer several_handles(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.queues = 2;
  auto world = std::make_unique<World>("several-handles", world_options);
  auto* data = world->allocate<Word>("data", 3);
  auto* flag = world->allocate<std::uint64_t>("flag", 2, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1}, SeveralHandles{world->witness(), data, flag});
  return world;
}

WorldPointer exclusive_groups(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.exclusive_queues = 2;
  auto world = std::make_unique<World>("exclusive-groups", world_options);
  auto* source = world->allocate<Word>("source", 4);
  auto* data = world->allocate<Word>("data", 4);
  auto* back = world->allocate<Word>("back", 4);
  auto* counter = world->allocate<Word>("counter", 1);
  auto* lock = world->allocate<Lock>("lock", 1, RegionKind::signal);
  world->launch_on(0, {.blocks = 2, .threads = 2},
                   ExclusiveGroups{world->witness(), source, data, back, counter, lock});
  world->check([=](After& after) {
    after.expect(after.value(1, counter) == 2, "both groups have counted");
    for (Word i = 0; i < 4; ++i) {
      after.expect(after.value(1, data + i) == 10 + i, "PE 1 has every thread's word");
    }
  });
  return world;
}

WorldPointer exclusive_fetch(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.exclusive_queues = 1;
  world_options.handler = Handler::commands;
  auto world = std::make_unique<World>("commands-exclusive", world_options);
  auto* counter = world->allocate<Word>("counter", 1);
  auto* small = world->allocate<std::uint32_t>("small", 2);
  auto* old = world->allocate<Word>("old", 1);
  world->launch_on(0, {.blocks = 1, .threads = 1},
                   ExclusiveFetch{world->witness(), counter, small, old});
  return world;
}

WorldPointer exclusive_error(const SubjectOptions& options) {
  WorldOptions world_options = breaking(options_for(options), 1);
  world_options.exclusive_queues = 1;
  auto world = std::make_unique<World>("exclusive-error", world_options);
  auto* data = world->allocate<Word>("data", 2);
  world->launch_on(0, {.blocks = 2, .threads = 1}, ExclusiveError{world->witness(), data});
  world->check([=](After& after) {
    const QueueState state = after.queue_state(0, 1, 1);
    after.expect(state.reserved == 1 && state.posted == 1, "nothing was posted to a broken queue");
  });
  return world;
}

WorldPointer exclusive_foreign(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.exclusive_queues = 1;
  world_options.expect_quiet = false;  // the misuse is reported
  auto world = std::make_unique<World>("exclusive-foreign", world_options);
  auto* data = world->allocate<Word>("data", 3);
  world->set(1, data, 30);
  world->set(1, data + 1, 31);
  world->launch_on(0, {.blocks = 1, .threads = 1}, ExclusiveForeign{world->witness(), data});
  world->check([=](After& after) {
    const QueueState state = after.queue_state(0, 1, 1);
    after.expect(state.error == 0 && state.posted == state.reserved, "the queue is healthy");
  });
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"batch-ends", "One lane ends a warp's batch by a call that moves nothing.",
     make<batch_ends, kNic>},
    {"partly-batch", "Batches begin through the NIC and end directly, beside a PE with NIC alone.",
     make<partly_batch>},
    {"partly-refused", "A batch through the NIC ends with a refused put, beside direct peers.",
     make<refused_batch>},
    {"several-handles", "One thread puts by handles of one queue, and by one of another.",
     make<several_handles>},
    {"exclusive-groups", "A block and a warp on exclusive queues put, get and lock.",
     make<exclusive_groups>},
    {"commands-exclusive", "Values are fetched by commands of an exclusive queue.",
     make<exclusive_fetch>},
    {"exclusive-error", "A broken exclusive queue refuses batches, too.", make<exclusive_error>},
    {"exclusive-foreign", "Fetches are refused on an exclusive queue, and others follow.",
     make<exclusive_foreign>},
};

}  // namespace

constinit const Table kHandlesTable = kListed;

}  // namespace gdakit::sim::scenarios
