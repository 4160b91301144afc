// Collective operations on a million elements, and the algorithms that are chosen for many bytes.
#include "tests/device/collectives_kernels.h"

namespace gdakit {
namespace {

using test::Checks;
using test::expect_job;
using test::job_options;

enum class Operation { broadcast, fcollect, collect, alltoall, alltoalls, reduce, reduce_scatter };

const char* name_of(Operation operation) {
  switch (operation) {
    case Operation::broadcast: return "Broadcast";
    case Operation::fcollect: return "Fcollect";
    case Operation::collect: return "Collect";
    case Operation::alltoall: return "Alltoall";
    case Operation::alltoalls: return "Alltoalls";
    case Operation::reduce: return "Reduce";
    default: return "ReduceScatter";
  }
}

constexpr int kRoot = 1;
constexpr std::size_t kDestStride = 2;  // of alltoalls

// One operation by a block, which counts the messages that it takes.
struct OneOperation {
  Operation operation;
  float* dest;
  const float* source;
  std::size_t count;
  std::uint64_t* sent;  // [n_pes] messages to each PE
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto team = pe.block().team(kTeamWorld);
    count_messages(pe, 0);
    expect(pe, perform(team).ok());
    count_messages(pe, 1);
  }

 private:
  template <class Group>
  GDAKIT_DEVICE Status perform(Group& team) const {
    switch (operation) {
      case Operation::broadcast: return team.broadcast(dest, source, count, kRoot);
      case Operation::fcollect: return team.fcollect(dest, source, count);
      case Operation::collect: return team.collect(dest, source, count);
      case Operation::alltoall: return team.alltoall(dest, source, count);
      case Operation::alltoalls: return team.alltoalls(dest, source, kDestStride, 1, count);
      case Operation::reduce: return team.reduce(dest, source, count, Sum{});
      default: return team.reduce_scatter(dest, source, count, Sum{});
    }
  }

  // Before the operation, and behind it.
  template <class Pe>
  GDAKIT_DEVICE void count_messages(Pe& pe, int turn) const {
    auto& m = pe.machine();
    if (m.thread_index() != 0) return;
    const TeamPeer* const peers = pe.context().teams[kTeamWorld.id].peers;
    for (int i = 0; i < pe.n_pes(); ++i) {
      const std::uint64_t all = m.load_weak(&peers[i].sent);
      m.store_weak(sent + i, turn == 0 ? all : all - m.load_weak(sent + i));
    }
  }
};

// Element i of what a PE gives.
float value(int pe, std::size_t i) { return static_cast<float>(pe + static_cast<int>(i % 1009)); }

// Element i of what a PE must have. All give as many.
float expected(Operation operation, int n, int me, std::size_t count, std::size_t i) {
  const auto first = static_cast<std::size_t>(me) * count;
  const std::size_t at = operation == Operation::reduce_scatter ? first + i : i;
  float sum = 0;
  for (int pe = 0; pe < n; ++pe) sum += value(pe, at);
  switch (operation) {
    case Operation::broadcast: return value(kRoot, i);
    case Operation::fcollect:
    case Operation::collect: return value(static_cast<int>(i / count), i % count);
    case Operation::alltoall: return value(static_cast<int>(i / count), first + i % count);
    case Operation::alltoalls:
      if (i % kDestStride != 0) return 0;
      i /= kDestStride;
      return value(static_cast<int>(i / count), first + i % count);
    default: return sum;
  }
}

// How many elements each PE gives, and how many places the operation has for what they get.
std::size_t given_by(Operation operation, std::size_t n, std::size_t count) {
  switch (operation) {
    case Operation::alltoall:
    case Operation::alltoalls:
    case Operation::reduce_scatter: return n * count;
    default: return count;
  }
}
std::size_t places_of(Operation operation, std::size_t n, std::size_t count) {
  switch (operation) {
    case Operation::fcollect:
    case Operation::collect:
    case Operation::alltoall: return n * count;
    case Operation::alltoalls: return kDestStride * n * count;
    default: return count;
  }
}

// Performs an operation on all PEs, in place only what takes that, and looks at all that it left.
// Returns the messages that this PE sent to each; collective.
Result<std::vector<std::uint64_t>> run(Context& c, Operation operation, std::size_t count,
                                       bool in_place = false) {
  const auto n = static_cast<std::size_t>(c.n_pes());
  const std::size_t given = given_by(operation, n, count);
  const std::size_t places = places_of(operation, n, count);
  auto checks = Checks::make(c);
  if (!checks) return checks.error();
  Result<float*> source = c.allocate<float>(given);
  if (!source) return source.error();
  Result<float*> dest = in_place ? source : c.allocate<float>(places);
  if (!dest) return dest.error();
  Result<std::uint64_t*> sent = c.allocate<std::uint64_t>(n);
  if (!sent) return sent.error();
  const auto mine = [&](std::size_t i) { return value(c.my_pe(), i); };
  Result<void> done = test::fill(c, *source, given, mine);
  if (done) done = c.barrier();
  const OneOperation kernel{operation, *dest, *source, count, *sent, checks->expect()};
  if (done) done = c.launch(kernel, {.threads = 64});
  if (done) done = checks->all_held(64);
  if (done) {
    done = test::all_are(c, *dest, places, name_of(operation), [&](std::size_t i) {
      return expected(operation, c.n_pes(), c.my_pe(), count, i);
    });
  }
  if (!done) return done.error();
  return test::download(c, *sent, n);
}

struct Case {
  Operation operation;
  CollectiveChoice algorithm;
  int n_pes = 3;
  bool in_place = false;
};

class LargeCollectives : public testing::TestWithParam<Case> {};

TEST_P(LargeCollectives, MoveAMillionAndThreeElements) {
  Options options = job_options();
  options.collectives = GetParam().algorithm;
  options.heap_chunk = 8 << 20;
  options.team_scratch = 64 << 10;  // a hundred pieces, whose round trips take their time
  expect_job(GetParam().n_pes, options, [](Context& c) -> Result<void> {
    const auto ran = run(c, GetParam().operation, 1'000'003, GetParam().in_place);
    return ran ? Result<void>() : ran.error();
  });
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const Operation operation : {Operation::broadcast, Operation::fcollect, Operation::reduce}) {
    for (const auto algorithm :
         {CollectiveChoice::linear, CollectiveChoice::logarithmic, CollectiveChoice::ring}) {
      cases.push_back({operation, algorithm});
    }
  }
  for (const Operation operation :
       {Operation::collect, Operation::alltoall, Operation::alltoalls, Operation::reduce_scatter}) {
    cases.push_back({operation, CollectiveChoice::automatic});
  }
  for (const auto algorithm : {CollectiveChoice::linear, CollectiveChoice::logarithmic}) {
    cases.push_back({Operation::broadcast, algorithm, 5, true});
    cases.push_back({Operation::reduce, algorithm, 5, true});
  }
  for (const Operation operation : {Operation::broadcast, Operation::fcollect, Operation::reduce}) {
    cases.push_back({operation, CollectiveChoice::automatic, 9});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, LargeCollectives, testing::ValuesIn(all_cases()),
                         [](const auto& each) {
                           return name_of(each.param.operation) +
                                  std::string(collective_choice_name(each.param.algorithm)) +
                                  std::to_string(each.param.n_pes) + "Pes" +
                                  (each.param.in_place ? "InPlace" : "");
                         });

// How many messages a PE sends to each in a fcollect.
std::vector<std::uint64_t> fcollect_messages(CollectiveAlgorithm algorithm, int n, int me) {
  std::vector<std::uint64_t> sent(static_cast<std::size_t>(n), 0);
  const auto behind = [&](int steps) -> std::uint64_t& {
    return sent[static_cast<std::size_t>((me + steps) % n)];
  };
  if (algorithm == CollectiveAlgorithm::ring) {
    behind(1) = static_cast<std::uint64_t>(n - 1);
  } else if (algorithm == CollectiveAlgorithm::logarithmic) {
    for (int have = 1; have < n; have *= 2) behind(n - have) = 2;  // up to the last block, and on
  } else {
    for (int steps = 1; steps < n; ++steps) behind(steps) = 1;
  }
  return sent;
}

// The same for a broadcast by kRoot among three: directly, or a third to each and on round the
// ring, which stops before the root.
std::vector<std::uint64_t> broadcast_messages(CollectiveAlgorithm algorithm, int me) {
  const bool ring = algorithm == CollectiveAlgorithm::ring;
  if (me == 1) return {1, 0, ring ? std::uint64_t{3} : 1};
  return {me == 2 && ring ? std::uint64_t{2} : 0, 0, 0};
}

Result<void> same_messages(const Result<std::vector<std::uint64_t>>& sent,
                           const std::vector<std::uint64_t>& expected_ones) {
  if (!sent) return sent.error();
  for (std::size_t pe = 0; pe < sent->size(); ++pe) {
    const std::string to = "messages to PE " + std::to_string(pe);
    if (auto is = test::same((*sent)[pe], expected_ones[pe], to); !is) return is;
  }
  return {};
}

TEST(AutomaticAlgorithms, OfFcollectAreTheRingForManyBytesOfManyPes) {
  constexpr std::size_t kRing = collective::kRingFcollect / sizeof(float);
  for (const int n : {collective::kLinearFcollect, collective::kLinearFcollect + 1}) {
    const bool many = n > collective::kLinearFcollect;
    expect_job(n, job_options(), [=](Context& c) -> Result<void> {
      const auto takes = [&](std::size_t count, CollectiveAlgorithm algorithm) {
        return same_messages(run(c, Operation::fcollect, count),
                             fcollect_messages(algorithm, n, c.my_pe()));
      };
      using Algorithm = CollectiveAlgorithm;
      auto done = takes(kRing - 1, many ? Algorithm::logarithmic : Algorithm::linear);
      return done ? takes(kRing, many ? Algorithm::ring : Algorithm::linear) : done;
    });
  }
}

TEST(AutomaticAlgorithms, OfBroadcastAreTheRingForManyBytes) {
  constexpr std::size_t kRing = collective::kRingBroadcast / sizeof(float);
  expect_job(3, job_options(), [](Context& c) -> Result<void> {
    const auto takes = [&](std::size_t count, CollectiveAlgorithm algorithm) {
      return same_messages(run(c, Operation::broadcast, count),
                           broadcast_messages(algorithm, c.my_pe()));
    };
    auto done = takes(kRing - 1, CollectiveAlgorithm::linear);
    return done ? takes(kRing, CollectiveAlgorithm::ring) : done;
  });
}

// How many PEs get messages from this one: more than `others`.
Result<int> peers_sent_to(const Result<std::vector<std::uint64_t>>& sent,
                          std::uint64_t others = 0) {
  if (!sent) return sent.error();
  return static_cast<int>(std::count_if(sent->begin(), sent->end(),
                                        [&](std::uint64_t count) { return count > others; }));
}

TEST(AutomaticAlgorithms, OfBroadcastAreTheTreeForManyPes) {
  for (const int n : {collective::kLinearBroadcast, 2 * collective::kLinearBroadcast}) {
    expect_job(n, job_options(), [n](Context& c) -> Result<void> {
      const Result<int> peers = peers_sent_to(run(c, Operation::broadcast, 8));
      if (!peers) return peers.error();
      if (c.my_pe() != kRoot) return {};
      const bool linear = n <= collective::kLinearBroadcast;
      return test::same(*peers, linear ? n - 1 : 3, "peers of the root");
    });
  }
}

// Every second member reduces in place.
struct ReduceInPlaceOfSome {
  float* dest;
  const float* source;
  std::size_t count;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const float* const from = pe.my_pe() % 2 == 0 ? dest : source;
    expect(pe, pe.block().team(kTeamWorld).reduce(dest, from, count, Sum{}).ok());
  }
};

TEST(AutomaticAlgorithms, OfReduceAreTheSameForMembersInPlace) {
  constexpr int kPes = collective::kLinearReduce + 1;
  constexpr std::size_t kCount = 8192;
  expect_job(kPes, job_options(), [](Context& c) -> Result<void> {
    auto dest = c.allocate<float>(kCount);
    auto source = c.allocate<float>(kCount);
    auto checks = Checks::make(c);
    if (!dest || !source || !checks) return test::mismatch("allocate");
    for (float* const from : {*dest, *source}) {
      const auto mine = [&c](std::size_t i) { return value(c.my_pe(), i); };
      if (auto ok = test::fill(c, from, kCount, mine); !ok) return ok;
    }
    if (auto met = c.barrier(); !met) return met;
    const ReduceInPlaceOfSome kernel{*dest, *source, kCount, checks->expect()};
    if (auto ran = c.launch(kernel, {.threads = 64}); !ran) return ran;
    if (auto held = checks->all_held(64); !held) return held;
    return test::all_are(c, *dest, kCount, "sum", [](std::size_t i) {
      return expected(Operation::reduce, kPes, 0, kCount, i);
    });
  });
}

TEST(AutomaticAlgorithms, OfReduceGoByMembersAndBytes) {
  for (const int n : {collective::kLinearReduce, 2 * collective::kLinearReduce}) {
    expect_job(n, job_options(), [n](Context& c) -> Result<void> {
      const bool linear = n <= collective::kLinearReduce;
      const Result<int> few = peers_sent_to(run(c, Operation::reduce, 8));
      if (!few) return few.error();
      // Before sums go round, each member tells all others whether it reduces in place.
      const Result<int> many = peers_sent_to(run(c, Operation::reduce, 1 << 18), linear ? 0 : 1);
      if (!many) return many.error();
      // All others; a partner for each bit of the number; the next one.
      auto done = test::same(*few, linear ? n - 1 : 4, "peers for few bytes");
      return done ? test::same(*many, linear ? n - 1 : 1, "peers for many bytes") : done;
    });
  }
}

}  // namespace
}  // namespace gdakit
