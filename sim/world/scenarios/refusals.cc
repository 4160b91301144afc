// What is refused, and what happens then all the same: batches end, signals stay unset, queues that
// break say so for good.
#include "sim/world/scenarios/elsewhere.h"
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

constexpr std::uint32_t kExclusive = 1;  // the exclusive queue, behind a shared one
constexpr std::uint32_t kSecondNic = 1;  // the shared queue of that NIC

// A batch ends with an atomic that is refused, since its word is not aligned. PE 1 gets what was in
// the batch; nobody completes that before PE 1 has answered.
struct RefusedFetch {
  const Witness* witness;
  Word* data;
  Word* seen;
  Word* counters;  // 2
  template <class Pe>
  void operator()(Pe& pe) const {
    if (pe.my_pe() == 0) {
      auto* const between = reinterpret_cast<Word*>(reinterpret_cast<std::uint64_t>(counters) + 4);
      witness->expect(pe.put_value(data, 1, 1, Batch::more).ok(), "put_value is taken");
      Status status;
      pe.atomic_fetch_add(between, 1, 1, &status);
      witness->expect(status.code == StatusCode::invalid_argument, "the atomic is refused");
      witness->expect(pe.wait_until(seen, Compare::eq, 1).ok(), "PE 1 says that it has the word");
    } else {
      witness->expect(pe.wait_until(data, Compare::eq, 1).ok(), "the word comes");
      witness->expect(pe.put_value(seen, 1, 0).ok(), "put_value is taken");
    }
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

// The owner of an exclusive queue ends a batch by a put that moves nothing, and goes on.
struct OwnerEndsBatch {
  const Witness* witness;
  Word* data;  // 3
  template <class Pe>
  void operator()(Pe& pe) const {
    auto own = pe.exclusively_on(kExclusive);
    for (Word i = 0; i < 3; ++i) {
      witness->expect(own.put_value(data + i, 7 + i, 1, Batch::more).ok(), "put_value is taken");
      witness->expect(own.put_nbi(data, data, 0, 1).ok(), "the empty put_nbi is taken");
    }
    witness->expect(own.quiet().ok(), "quiet succeeds");
  }
};

// An exclusive queue is used as a shared one, and the other way round.
struct WrongSharing {
  const Witness* witness;
  Word* data;  // 3
  template <class Pe>
  void operator()(Pe& pe) const {
    witness->expect(
        pe.on_queue(kExclusive).put_value(data, 1, 1).code == StatusCode::invalid_argument,
        "a handle of shared queues takes no exclusive one");
    witness->expect(
        pe.exclusively_on(0).put_value(data + 1, 1, 1).code == StatusCode::invalid_argument,
        "a handle of an exclusive queue takes no shared one");
    auto own = pe.exclusively_on(kExclusive);
    witness->expect(own.put_value(data + 2, 1, 1).ok(), "the owner's put is taken");
    witness->expect(own.quiet().ok(), "quiet succeeds");
  }
};

// Another handle has posted to an exclusive queue. What the first one posts then, which takes more
// slots than the other's, is refused and never announced, so that a third handle can go on.
struct ForeignPost {
  const Witness* witness;
  Word* data;  // 4
  template <class Pe>
  void operator()(Pe& pe) const {
    auto own = pe.exclusively_on(kExclusive);
    witness->expect(own.put_value(data, 1, 1).ok(), "the first put is taken");
    witness->expect(own.quiet().ok(), "quiet succeeds");
    auto other = pe.exclusively_on(kExclusive);
    witness->expect(other.put_value(data + 1, 2, 1).ok(), "another handle's put is taken");
    witness->expect(other.quiet().ok(), "quiet succeeds");
    witness->expect(own.atomic_set(data + 2, 3, 1).code == StatusCode::invalid_argument,
                    "somebody else has posted to the queue");
    auto third = pe.exclusively_on(kExclusive);
    witness->expect(third.put_value(data + 3, 4, 1).ok(), "a third handle's put is taken");
    witness->expect(third.quiet().ok(), "the queue is healthy");
  }
};

// Puts with a signal memory that is not registered.
struct RefusedSignal {
  const Witness* witness;
  Word* from;  // in no symmetric heap
  Word* data;
  std::uint64_t* signal;
  template <class Pe>
  void operator()(Pe& pe) const {
    const Status status = pe.put_signal(data, from, 1, signal, 1, SignalOp::set, 1);
    witness->expect(status.code == StatusCode::invalid_address, "put_signal is refused");
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

// Puts that end one byte behind the heap.
struct BehindTheHeap {
  const Witness* witness;
  Word* source;  // 2
  template <class Pe>
  void operator()(Pe& pe) const {
    const std::uint64_t end = pe.context().heap.end;
    Status status = pe.put_bytes(reinterpret_cast<void*>(end - 15), source, 16, 1);
    witness->expect(status.code == StatusCode::invalid_address, "put_bytes is refused");
    status = pe.put_value(reinterpret_cast<Octet*>(end - 7), Octet{}, 1);
    witness->expect(status.code == StatusCode::invalid_address, "put_value is refused");
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

// PE 1 refuses the key, while both blocks post more than the queue has room for.
struct FullAndBroken {
  static constexpr int kPuts = 40;

  const Witness* witness;
  Word* data;  // 2
  template <class Pe>
  void operator()(Pe& pe) const {
    Word* const mine = data + pe.machine().block_index();
    for (int i = 0; i < kPuts; ++i) static_cast<void>(pe.put_value(mine, 1, 1));
    witness->expect(pe.quiet().code == StatusCode::queue_error,
                    "quiet says that the queue is broken");
  }
};

// PE 1 refuses the key: why the queue is broken stays the same.
struct ErrorStays {
  const Witness* witness;
  Word* data;  // 2
  template <class Pe>
  void operator()(Pe& pe) const {
    Word* const mine = data + pe.machine().block_index();
    for (int i = 0; i < 3; ++i) static_cast<void>(pe.put_value(mine, 1, 1));
    const Status first = pe.quiet();
    witness->expect(first.code == StatusCode::queue_error, "quiet says that the queue is broken");
    for (int i = 0; i < 2; ++i) {
      witness->expect(pe.quiet() == first, "a later quiet says the same as the first one");
    }
  }
};

// PE 1 refuses the key of a broadcast's message, which one thread of the block sends.
struct BrokenTeam {
  const Witness* witness;
  Word* source;
  Word* dest;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto world = pe.block().team(kTeamWorld);
    for (int i = 0; i < 2; ++i) {
      witness->expect(world.broadcast(dest, source, 1, 0).code == StatusCode::queue_error,
                      "the broadcast, and one behind it, says that a queue is broken");
    }
  }
};

// The queue of the second NIC is given up, as it is by a thread that has waited too long; that of
// the first one is healthy. A put by the one takes its signal by the other.
struct GivenUp {
  const Witness* witness;
  Word* source;
  Word* data;
  std::uint64_t* signal;
  template <class Pe>
  void operator()(Pe& pe) const {
    const auto index = kSecondNic * static_cast<std::uint32_t>(pe.n_pes()) + 1;
    pe.machine().compare_exchange(order::RelaxedGpu{}, &pe.context().queues[index].state->error,
                                  Word{0}, QueueError::abandoned().word);
    auto second = pe.on_queue(kSecondNic);
    const Status status = second.put_signal(data, source, 1, signal, 1, SignalOp::set, 1);
    witness->expect(status.code == StatusCode::stalled, "put_signal is refused");
  }
};

WorldPointer refused_fetch(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.expect_quiet = false;  // the misuse is reported
  auto world = std::make_unique<World>("refused-fetch", world_options);
  auto* data = world->allocate<Word>("data", 1, RegionKind::signal);
  auto* seen = world->allocate<Word>("seen", 1, RegionKind::signal);
  auto* counters = world->allocate<Word>("counters", 2);
  world->launch({.blocks = 1, .threads = 1}, RefusedFetch{world->witness(), data, seen, counters});
  return world;
}

// A thread of PE 0, with an exclusive queue. Its misuse is reported.
template <class Kernel>
WorldPointer owner_world(const char* name, WorldOptions options, std::vector<Word> wanted) {
  options.exclusive_queues = 1;
  options.expect_quiet = false;
  auto world = std::make_unique<World>(name, options);
  auto* data = world->allocate<Word>("data", wanted.size());
  world->launch_on(0, {.blocks = 1, .threads = 1}, Kernel{world->witness(), data});
  world->check([=](After& after) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      after.expect_eq("word " + std::to_string(i), after.value(1, data + i), wanted[i]);
    }
    const QueueState state = after.queue_state(0, kExclusive, 1);
    const softnic::QpInfo nic = after.nic_queue(0, kExclusive, 1);
    after.expect(state.error == 0, "the exclusive queue is healthy");
    after.expect(state.posted == state.reserved, "all that was reserved was announced");
    after.expect(nic.send_producer == state.posted && nic.send_completed == state.posted,
                 "the NIC knows of that, and of no more");
  });
  return world;
}

WorldPointer owner_ends_batch(const SubjectOptions& options) {
  return owner_world<OwnerEndsBatch>("exclusive-batch-end", options_for(options), {7, 8, 9});
}

WorldPointer wrong_sharing(const SubjectOptions& options) {
  return owner_world<WrongSharing>("wrong-sharing", options_for(options), {0, 0, 1});
}

WorldPointer recordless_foreign(const SubjectOptions& options) {
  return owner_world<ForeignPost>("recordless-foreign", recordless_options_for(options),
                                  {1, 2, 0, 4});
}

WorldPointer proxy_foreign(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.handler = Handler::proxy;
  return owner_world<ForeignPost>("proxy-foreign", world_options, {1, 2, 0, 4});
}

WorldPointer refused_signal(const SubjectOptions& options, Reached reached) {
  WorldOptions world_options = options_for(options);
  world_options.expect_quiet = false;  // the misuse is reported
  auto world = world_of("refused-signal", world_options, reached);
  auto* data = world->allocate<Word>("data", 1);
  auto* signal = world->allocate<std::uint64_t>("signal", 1, RegionKind::signal);
  world->launch_on(0, {.blocks = 1, .threads = 1},
                   RefusedSignal{world->witness(), stranger(), data, signal});
  world->check(
      [=](After& after) { after.expect(after.value(1, signal) == 0, "the signal is not set"); });
  return world;
}

WorldPointer behind_the_heap(const SubjectOptions& options, Reached reached) {
  WorldOptions world_options = options_for(options);
  world_options.expect_quiet = false;  // the misuse is reported
  auto world = world_of("behind-the-heap", world_options, reached);
  auto* source = world->allocate<Word>("source", 2);
  world->launch_on(0, {.blocks = 1, .threads = 1}, BehindTheHeap{world->witness(), source});
  return world;
}

// A world in which PE 1 refuses all keys.
WorldOptions broken_options(const SubjectOptions& options) {
  WorldOptions world = breaking(options_for(options), 1);
  return world;
}

template <class Kernel>
WorldPointer broken_world(const char* name, const SubjectOptions& options) {
  auto world = std::make_unique<World>(name, broken_options(options));
  auto* data = world->allocate<Word>("data", 2);
  world->launch_on(0, {.blocks = 2, .threads = 1}, Kernel{world->witness(), data});
  return world;
}

WorldPointer full_and_broken(const SubjectOptions& options) {
  return broken_world<FullAndBroken>("full-and-broken", options);
}

WorldPointer error_stays(const SubjectOptions& options) {
  return broken_world<ErrorStays>("error-stays", options);
}

WorldPointer broken_team(const SubjectOptions& options) {
  auto world = std::make_unique<World>("broken-team", broken_options(options));
  auto* source = world->allocate<Word>("source", 1);
  auto* dest = world->allocate<Word>("dest", 1);
  world->launch_on(0, {.blocks = 1, .threads = 2}, BrokenTeam{world->witness(), source, dest});
  return world;
}

WorldPointer given_up(const SubjectOptions& options) {
  WorldOptions world_options = two_nics(options);
  world_options.expect_quiet = false;
  auto world = std::make_unique<World>("nics-given-up", world_options);
  auto* source = world->allocate<Word>("source", 1);
  auto* data = world->allocate<Word>("data", 1);
  auto* signal = world->allocate<std::uint64_t>("signal", 1, RegionKind::signal);
  world->launch_on(0, {.blocks = 1, .threads = 1}, GivenUp{world->witness(), source, data, signal});
  world->check(
      [=](After& after) { after.expect(after.value(1, signal) == 0, "the signal is not set"); });
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"refused-fetch", "A batch ends with an atomic that is refused.", make<refused_fetch>},
    {"exclusive-batch-end", "An owner ends batches by puts of nothing, and goes on.",
     make<owner_ends_batch>},
    {"wrong-sharing", "Handles take no queue of the other sharing.", make<wrong_sharing>},
    {"recordless-foreign", "A refused post of an exclusive queue is not announced.",
     make<recordless_foreign>},
    {"proxy-foreign", "A refused post is not announced to the host thread that rings.",
     make<proxy_foreign>},
    {"refused-signal", "A put with a signal is refused.", make<refused_signal, kNic>},
    {"direct-refused-signal", "A put with a signal to a direct peer is refused.",
     make<refused_signal, kDirect>},
    {"behind-the-heap", "Puts end one byte behind the heap.", make<behind_the_heap, kNic>},
    {"direct-behind-the-heap", "Puts to a direct peer end one byte behind the heap.",
     make<behind_the_heap, kDirect>},
    {"full-and-broken", "A queue breaks while blocks wait for room in it.", make<full_and_broken>},
    {"error-stays", "Why a queue is broken stays the same.", make<error_stays>},
    {"broken-team", "A message of a team fails, and so does what follows.", make<broken_team>},
    {"nics-given-up", "Data has no queue to go by, and its signal has.", make<given_up>},
};

}  // namespace

constinit const Table kRefusalsTable = kListed;

}  // namespace gdakit::sim::scenarios
