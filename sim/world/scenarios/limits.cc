// Values at their limits: what a caller leaves out, strides that are the same on both sides, counts
// that no memory has, sizes that differ, and numbers at the borders of their types.
#include <cstring>
#include <limits>

#include "sim/world/scenarios/group_of.h"
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

// Of some words all but the last one are left out, each by another number. PE 1 writes the last
// one; the others stay 0.
template <class Group>
struct LeftOut {
  static constexpr std::size_t kWords = 5;
  static constexpr std::size_t kLast = kWords - 1;
  static constexpr std::size_t kNone = ~std::size_t{0};
  static constexpr int kSkip[kWords] = {2, -1, 256, std::numeric_limits<int>::min(), 0};

  const Witness* witness;
  Word* words;  // kWords
  template <class Pe>
  void operator()(Pe& pe) const {
    if (pe.my_pe() == 0) {
      waits(pe);
      tests(pe);
    } else if (pe.machine().thread_index() == 0) {
      witness->expect(pe.put_value(words + kLast, 1, 0).ok(), "put_value is taken");
      witness->expect(pe.quiet().ok(), "quiet succeeds");
    }
  }

 private:
  template <class Pe>
  void waits(Pe& pe) const {
    auto group = group_of<Group>(pe);
    const Word ones[kWords] = {1, 1, 1, 1, 1};
    std::size_t index = 0;
    witness->expect(group.wait_until_all(words, kWords, kSkip, Compare::eq, 1).ok(),
                    "wait_until_all succeeds");
    witness->expect(
        group.wait_until_any(words, kWords, kSkip, Compare::le, 1, &index).ok() && index == kLast,
        "wait_until_any finds the last word");
    std::size_t found = 0;
    std::size_t indices[kWords] = {};
    Status status = group.wait_until_some(words, kWords, kSkip, Compare::le, 1, indices, &found);
    witness->expect(status.ok() && found == 1 && is_last(pe, indices),
                    "wait_until_some finds the last word alone");
    witness->expect(group.wait_until_all_vector(words, kWords, kSkip, Compare::eq, ones).ok(),
                    "wait_until_all_vector succeeds");
    status = group.wait_until_any_vector(words, kWords, kSkip, Compare::le, ones, &index);
    witness->expect(status.ok() && index == kLast, "wait_until_any_vector finds the last word");
    status = group.wait_until_some_vector(words, kWords, kSkip, Compare::le, ones, indices, &found);
    witness->expect(status.ok() && found == 1 && is_last(pe, indices),
                    "wait_until_some_vector finds the last word alone");
    status = group.wait_until_any(words, kLast, kSkip, Compare::eq, 1, &index);
    witness->expect(status.ok() && index == kNone, "a wait for no word at all ends");
    status = group.wait_until_some(words, kLast, kSkip, Compare::eq, 1, indices, &found);
    witness->expect(status.ok() && found == 0, "a wait for some of no words ends");
  }

  // Arrays are written by the first thread alone.
  template <class Pe>
  static bool is_last(Pe& pe, const std::size_t* indices) {
    return pe.machine().thread_index() != 0 || *indices == kLast;
  }
  template <class Pe>
  void tests(Pe& pe) const {
    auto group = group_of<Group>(pe);
    const Word ones[kWords] = {1, 1, 1, 1, 1};
    const Word zeros[kWords] = {};
    std::size_t indices[kWords] = {};
    witness->expect(group.test_all(words, kWords, kSkip, Compare::eq, 1), "all that count are 1");
    witness->expect(group.test_any(words, kWords, kSkip, Compare::eq, 0) == kNone,
                    "none that counts is 0");
    witness->expect(group.test_any(words, kWords, kSkip, Compare::le, 1) == kLast,
                    "test_any finds the last word");
    witness->expect(
        group.test_some(words, kWords, kSkip, Compare::le, 1, indices) == 1 && is_last(pe, indices),
        "test_some finds the last word alone");
    witness->expect(group.test_all_vector(words, kWords, kSkip, Compare::eq, ones),
                    "all that count are the same");
    witness->expect(group.test_any_vector(words, kWords, kSkip, Compare::eq, zeros) == kNone,
                    "none that counts is the same");
    witness->expect(group.test_some_vector(words, kWords, kSkip, Compare::le, ones, indices) == 1 &&
                        is_last(pe, indices),
                    "test_some_vector finds the last word alone");
  }
};

template <class Group>
WorldPointer left_out(const SubjectOptions& options) {
  constexpr bool kIsThread = std::is_same_v<Group, ThreadGroup>;
  const char* const name = kIsThread ? "words-left-out" : "words-left-out-by-warp";
  auto world = std::make_unique<World>(name, options_for(options));
  auto* words = world->allocate<Word>("words", LeftOut<Group>::kWords, RegionKind::signal);
  world->launch({.blocks = 1, .threads = kIsThread ? 1 : 2},
                LeftOut<Group>{world->witness(), words});
  return world;
}

// PE 0 puts and gets elements that lie equally far apart on both sides, in both directions. All
// words of each side differ.
template <class Group>
struct SameStrides {
  static constexpr int kStrides[] = {2, 1, -1, 3, -2};
  static constexpr int kTurns = 5;
  static constexpr int kCount = 3;
  static constexpr int kRoom = 7;  // of a turn: 2 * 3 + 1

  const Witness* witness;
  Word* source;  // kRoom
  Word* data;    // kTurns * kRoom
  Word* there;   // kRoom
  Word* got;     // kTurns * kRoom
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto group = group_of<Group>(pe);
    if (m.thread_index() == 0) {
      for (int i = 0; i < kRoom; ++i) m.store_weak(source + i, Word(10 + i));
    }
    for (int turn = 0; turn < kTurns; ++turn) {
      const int stride = kStrides[turn];
      const int from = first(stride);
      Word* const to = data + turn * kRoom + from;
      Word* const here = got + turn * kRoom + from;
      witness->expect(group.iput_nbi(to, source + from, stride, stride, kCount, 1).ok(),
                      "iput_nbi is taken");
      witness->expect(group.iget_nbi(here, there + from, stride, stride, kCount, 1).ok(),
                      "iget_nbi is taken");
    }
    witness->expect(group.quiet().ok(), "quiet succeeds");
    for (int i = 0; i < kTurns * kRoom; ++i) {
      witness->expect(m.load_weak(got + i) == wanted(i, 30),
                      "the elements are here, and no others");
    }
  }

  // Where the first element lies.
  static constexpr int first(int stride) { return stride < 0 ? kRoom - 1 : 0; }
  // What place `i` has in the end, if place j of the source has base + j.
  static constexpr Word wanted(int i, int base) {
    const int stride = kStrides[i / kRoom];
    const int steps = (i % kRoom - first(stride)) / stride;
    const bool is_element = (i % kRoom - first(stride)) % stride == 0 && steps < kCount;
    return is_element ? Word(base + i % kRoom) : 0;
  }
};

template <class Group>
WorldPointer same_strides(const SubjectOptions& options, Reached reached) {
  constexpr bool kIsThread = std::is_same_v<Group, ThreadGroup>;
  const char* const name = kIsThread ? "equal-strides" : "warp-equal-strides";
  using Kernel = SameStrides<Group>;
  auto world = world_of(name, options_for(options), reached);
  auto* source = world->allocate<Word>("source", Kernel::kRoom);
  auto* data = world->allocate<Word>("data", Kernel::kTurns * Kernel::kRoom);
  auto* there = world->allocate<Word>("there", Kernel::kRoom);
  auto* got = world->allocate<Word>("got", Kernel::kTurns * Kernel::kRoom);
  for (int i = 0; i < Kernel::kRoom; ++i) world->set(1, there + i, Word(30 + i));
  world->launch_on(0, {.blocks = 1, .threads = kIsThread ? 1 : 2},
                   Kernel{world->witness(), source, data, there, got});
  world->check([=](After& after) {
    for (int i = 0; i < Kernel::kTurns * Kernel::kRoom; ++i) {
      after.expect_eq("place " + std::to_string(i), after.value(1, data + i),
                      Kernel::wanted(i, 10));
    }
  });
  return world;
}

// Counts of elements whose bytes, modulo 2^64, are few.
template <class T>
struct HugeCounts {
  const Witness* witness;
  T* data;  // 2
  T* here;  // 2
  std::uint64_t* signal;
  template <class Pe>
  void operator()(Pe& pe) const {
    constexpr std::size_t kCount = ~std::size_t{0} / sizeof(T) + 2;  // of as many bytes as one T
    const auto address = [&](Status status, const char* what) {
      witness->expect(status.code == StatusCode::invalid_address, what);
    };
    address(pe.put(data, here, kCount, 1), "put is refused");
    address(pe.put_nbi(data, here, kCount, 1), "put_nbi is refused");
    address(pe.get(here, data, kCount, 1), "get is refused");
    address(pe.get_async(here, data, kCount, 1).status, "get_async is refused");
    address(pe.put_signal(data, here, kCount, signal, 1, SignalOp::set, 1),
            "put_signal is refused");
    for (const std::ptrdiff_t stride : {1, 2, -1}) {
      address(pe.iput(data, here, stride, stride, kCount, 1), "iput is refused");
      address(pe.iget(here, data, stride, 1, kCount, 1), "iget is refused");
    }
    collectives(pe, kCount);
    witness->expect(pe.quiet().ok(), "quiet succeeds");
    witness->expect(pe.machine().load_weak(here) == T{5}, "nothing has come here");
  }

 private:
  template <class Pe>
  void collectives(Pe& pe, std::size_t count) const {
    const auto refused = [&](Status status, const char* what) {
      witness->expect(status.code == StatusCode::invalid_argument, what);
    };
    auto team = pe.team(kTeamWorld);
    refused(team.broadcast(data, here, count, 0), "broadcast is refused");
    refused(team.fcollect(data, here, count), "fcollect is refused");
    refused(team.collect(data, here, count), "collect is refused");
    refused(team.alltoall(data, here, count), "alltoall is refused");
    refused(team.reduce(data, here, count, Sum{}), "reduce is refused");
    refused(team.reduce_scatter(data, here, count, Max{}), "reduce_scatter is refused");
  }
};

template <class T>
WorldPointer huge_counts(const SubjectOptions& options, Reached reached) {
  const char* const name = sizeof(T) == 8 ? "too-many-words" : "too-many-shorts";
  WorldOptions shape = options_for(options);
  shape.expect_quiet = false;  // the misuse is reported
  auto world = world_of(name, shape, reached);
  auto* data = world->allocate<T>("data", 2);
  auto* here = world->allocate<T>("here", 2);
  auto* signal = world->allocate<std::uint64_t>("signal", 1, RegionKind::signal);
  world->set(0, here, T{5});
  world->launch_on(0, {.blocks = 1, .threads = 1},
                   HugeCounts<T>{world->witness(), data, here, signal});
  world->check([=](After& after) {
    after.expect(after.value(1, data) == 0 && after.value(1, signal) == 0, "PE 1 has got nothing");
  });
  return world;
}

// Three members give different numbers of words, others in each round.
template <class Group>
struct UnevenSizes {
  static constexpr int kPes = 3;
  static constexpr int kMost = 3;
  static constexpr int kRoom = kPes * kMost;  // more than any round takes
  static constexpr int kGives[3][kPes] = {{1, 3, 2}, {2, 0, 1}, {0, 2, 3}};

  const Witness* witness;
  Word* source;  // kMost for each round
  Word* dest;    // kRoom for each round
  int first;     // round
  int end;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto team = group_of<Group>(pe).team(kTeamWorld);
    for (int round = first; round < end; ++round) {
      Word* const from = source + kMost * round;
      Word* to = dest + kRoom * round;
      const auto word = [round](int member, int i) {
        return Word(100 * round + 10 * member + i + 1);
      };
      if (m.thread_index() == 0) {
        for (int i = 0; i < kMost; ++i) m.store_weak(from + i, word(pe.my_pe(), i));
      }
      const auto mine = static_cast<std::size_t>(kGives[round][pe.my_pe()]);
      witness->expect(team.collect(to, from, mine).ok(), "collect succeeds");
      for (int member = 0; member < kPes; ++member) {
        for (int i = 0; i < kGives[round][member]; ++i) {
          witness->expect(m.load_weak(to++) == word(member, i), "each word has its place");
        }
      }
      witness->expect(m.load_weak(to) == 0, "no word comes behind them");
    }
  }
};

template <class Group>
WorldPointer uneven_sizes(const SubjectOptions& options, Reached reached) {
  constexpr bool kIsWarp = std::is_same_v<Group, WarpGroup>;
  const char* const name = kIsWarp ? "collect-by-warp" : "collect-by-block";
  const int first = kIsWarp ? 0 : 1;
  const int end = reached == Reached::directly ? 3 : first + 1;
  using Kernel = UnevenSizes<Group>;
  const WorldOptions shape = options_for(options, Kernel::kPes, CollectiveAlgorithm::automatic);
  WorldPointer world = world_of(name, shape, reached);
  Word* const source = world->allocate<Word>("source", 3 * Kernel::kMost);
  auto* dest = world->allocate<Word>("dest", 3 * Kernel::kRoom);
  world->launch({.blocks = 1, .threads = 2}, Kernel{world->witness(), source, dest, first, end});
  return world;
}

// Two numbers and what they are combined to, as bits.
struct Border {
  ElementType type;
  ReduceOp op;
  Word a, b, result;
};

// At the borders: where numbers with a sign and without one, or their bits, compare otherwise, and
// where sums and products wrap round.
constexpr Border kBorders[] = {
    {ElementType::uint8, ReduceOp::max, 0x80, 1, 0x80},
    {ElementType::int8, ReduceOp::max, 0x80, 1, 1},
    {ElementType::uint16, ReduceOp::min, 0x8000, 1, 1},
    {ElementType::int16, ReduceOp::min, 0x8000, 1, 0x8000},
    {ElementType::uint32, ReduceOp::max, 0x80000000, 1, 0x80000000},
    {ElementType::uint32, ReduceOp::min, 0xffffffff, 0, 0},
    {ElementType::int32, ReduceOp::max, 0x80000000, 1, 1},
    {ElementType::int32, ReduceOp::min, 0xffffffff, 0, 0xffffffff},
    {ElementType::uint64, ReduceOp::max, Word{1} << 63, 1, Word{1} << 63},
    {ElementType::uint64, ReduceOp::min, ~Word{0}, 1, 1},
    {ElementType::int64, ReduceOp::max, Word{1} << 63, 1, 1},
    {ElementType::int64, ReduceOp::min, ~Word{0}, 1, ~Word{0}},
    // Of -2 and -1 the bits of the lesser number are the greater ones.
    {ElementType::float32, ReduceOp::max, 0xc0000000, 0xbf800000, 0xbf800000},
    {ElementType::float64, ReduceOp::min, 0xc000000000000000, 0xbff0000000000000,
     0xc000000000000000},
    {ElementType::half, ReduceOp::max, 0xc000, 0xbc00, 0xbc00},
    {ElementType::bfloat16, ReduceOp::min, 0xc000, 0xbf80, 0xc000},
};
constexpr Border kOperations[] = {
    {ElementType::uint8, ReduceOp::sum, 0xff, 2, 1},
    {ElementType::int8, ReduceOp::prod, 0x80, 0xff, 0x80},
    {ElementType::uint16, ReduceOp::prod, 0xffff, 0xffff, 1},
    {ElementType::int32, ReduceOp::sum, 0x7fffffff, 1, 0x80000000},
    {ElementType::int32, ReduceOp::prod, 0x80000000, 0xffffffff, 0x80000000},
    {ElementType::uint32, ReduceOp::bit_and, 0xf0f0f0f0, 0x80ffff01, 0x80f0f000},
    {ElementType::int16, ReduceOp::bit_or, 0x8000, 0x7001, 0xf001},
    {ElementType::uint64, ReduceOp::bit_xor, ~Word{0}, 1, ~Word{1}},
    {ElementType::int64, ReduceOp::sum, ~Word{0} >> 1, 2, (Word{1} << 63) + 1},
    {ElementType::uint64, ReduceOp::prod, Word{1} << 63, 3, Word{1} << 63},
    {ElementType::float32, ReduceOp::sum, 0xc0000000, 0x3f800000, 0xbf800000},
    {ElementType::float64, ReduceOp::prod, 0xc000000000000000, 0xbff0000000000000,
     0x4000000000000000},
    {ElementType::half, ReduceOp::sum, 0x3c00, 0x3c00, 0x4000},
    {ElementType::bfloat16, ReduceOp::prod, 0xc000, 0xbf80, 0x4000},
};

// Each of two PEs has the numbers in another order. Bytes behind them stay as they are.
struct ReducesBorders {
  const Witness* witness;
  std::span<const Border> borders;
  Word* source;  // 2 for each
  Word* dest;    // 3 for each
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto team = pe.team(kTeamWorld);
    for (std::size_t i = 0; i < borders.size(); ++i) {
      const Border& one = borders[i];
      const std::uint64_t bytes = bytes_of(one.type);
      const bool first = pe.my_pe() == 0;
      const auto both = pair(first ? one.a : one.b, first ? one.b : one.a, bytes);
      m.copy(source + 2 * i, &both, sizeof(both));
      Word* const to = dest + 3 * i;
      witness->expect(team.reduce(to, source + 2 * i, 2, one.type, one.op).ok(), "reduce succeeds");
      const auto wanted = pair(one.result, one.result, bytes);
      for (int word = 0; word < 2; ++word) {
        witness->expect(m.load_weak(to + word) == wanted.words[word],
                        "both elements are what the numbers are combined to");
      }
      witness->expect(m.load_weak(to + 2) == 0, "nothing comes behind them");
    }
  }

 private:
  struct Pair {
    Word words[2];
  };
  static Pair pair(Word a, Word b, std::uint64_t bytes) {
    Pair both{};
    auto* const at = reinterpret_cast<std::byte*>(both.words);
    std::memcpy(at, &a, bytes);
    std::memcpy(at + bytes, &b, bytes);
    return both;
  }
};

// The first or the second half of some.
template <auto& kAll, int kHalf>
WorldPointer reduces(const SubjectOptions& options) {
  constexpr std::size_t kCount = std::size(kAll) / 2;
  constexpr bool kIsBorder = &kAll[0] == &kBorders[0];
  const char* const name = kIsBorder
                               ? (kHalf == 0 ? "reduce-borders" : "reduce-wide-borders")
                               : (kHalf == 0 ? "reduce-operations" : "reduce-wide-operations");
  auto world = std::make_unique<World>(name, options_for(options, 2, CollectiveAlgorithm::linear));
  auto* source = world->allocate<Word>("source", 2 * kCount);
  auto* dest = world->allocate<Word>("dest", 3 * kCount);
  const std::span<const Border> half = std::span(kAll).subspan(kHalf * kCount, kCount);
  world->launch({.blocks = 1, .threads = 1}, ReducesBorders{world->witness(), half, source, dest});
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"words-left-out", "Words are left out by numbers of all kinds.", make<left_out<ThreadGroup>>},
    {"words-left-out-by-warp", "A warp leaves words out by numbers of all kinds.",
     make<left_out<WarpGroup>>},
    {"equal-strides", "Elements lie equally far apart on both sides.",
     make<same_strides<ThreadGroup>, kNic>},
    {"direct-equal-strides", "Elements of a direct peer lie equally far apart on both sides.",
     make<same_strides<ThreadGroup>, kDirect>},
    {"warp-equal-strides", "Two lanes put and get elements equally far apart on both sides.",
     make<same_strides<WarpGroup>, kNic>},
    {"too-many-words", "More words are put and got than there can be.",
     make<huge_counts<Word>, kNic>},
    {"direct-too-many-words", "More words of a direct peer than there can be.",
     make<huge_counts<Word>, kDirect>},
    {"too-many-shorts", "More short numbers than there can be.",
     make<huge_counts<std::uint16_t>, kNic>},
    {"collect-by-warp", "Warps of three PEs collect different numbers of words, or none.",
     make<uneven_sizes<WarpGroup>, kNic>},
    {"collect-by-block", "Blocks of three PEs collect different numbers of words, or none.",
     make<uneven_sizes<BlockGroup>, kNic>},
    {"direct-collect-by-block",
     "Blocks of direct peers collect different numbers of words, or none.",
     make<uneven_sizes<BlockGroup>, kDirect>},
    {"reduce-borders", "The greater or lesser one of two small numbers.",
     make<reduces<kBorders, 0>>},
    {"reduce-wide-borders", "The greater or lesser one of two words or fractions.",
     make<reduces<kBorders, 1>>},
    {"reduce-operations", "Small numbers are combined in each way.", make<reduces<kOperations, 0>>},
    {"reduce-wide-operations", "Words and fractions are combined in several ways.",
     make<reduces<kOperations, 1>>},
};

}  // namespace

constinit const Table kLimitsTable = kListed;

}  // namespace gdakit::sim::scenarios
