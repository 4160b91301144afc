// Last places: what ends with an object, with the heap or with a buffer outside of it is done, and
// what ends behind it is refused, by every call.
#include "sim/world/scenarios/elsewhere.h"
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

// The ends of memory there and here, and how calls are tried at them.
struct Ends {
  const Witness* witness;
  Word* there;  // behind the last word
  Word* here;   // likewise

  // A call of `there_count` and `here_count` elements: at the last place, and an element further on
  // one side, where it is refused.
  template <class T, class Call>
  void try_call(std::ptrdiff_t there_count, std::ptrdiff_t here_count, const char* what,
                Call&& call) const {
    T* const last_there = reinterpret_cast<T*>(there) - there_count;
    T* const last_here = reinterpret_cast<T*>(here) - here_count;
    refused(call(last_there + 1, last_here), what);
    refused(call(last_there, last_here + 1), what);
    witness->expect(call(last_there, last_here).ok(), what);
  }
  template <class Call>
  void try_words(std::ptrdiff_t count, const char* what, Call&& call) const {
    try_call<Word>(count, count, what, call);
  }
  void expect(bool holds, const char* what) const { witness->expect(holds, what); }
  void refused(Status status, const char* what) const {
    witness->expect(status.code == StatusCode::invalid_address, what);
  }
};

// Puts and gets at the ends of memory of both PEs.
struct LastTransfers {
  static constexpr const char* kName = "transfers";
  static constexpr std::uint32_t kCallers = 1;  // PEs, from 0 on

  Ends ends;
  template <class Pe>
  void operator()(Pe& pe) const {
    for (int i = 1; i <= 3; ++i) pe.machine().store_weak(ends.here - i, Word(10 + i));
    put(pe);
    put_elements(pe);
    put_with_signal(pe);
    ends.expect(pe.quiet().ok(), "quiet succeeds");
    get(pe);
  }
  static bool leaves(After& after, const Word* there) {
    return after.value(1, there - 4) == 1 && after.value(1, there - 3) == 12 &&
           after.value(1, there - 2) == 12 && after.value(1, there - 1) == 11;
  }

 private:
  template <class Pe>
  void put(Pe& pe) const {
    using Byte = std::uint8_t;
    ends.try_words(3, "put of 3 words", [&](Word* t, Word* h) { return pe.put(t, h, 3, 1); });
    ends.try_words(1, "put of a word", [&](Word* t, Word* h) { return pe.put(t, h, 1, 1); });
    ends.try_call<Byte>(11, 11, "put_bytes",
                        [&](Byte* t, Byte* h) { return pe.put_bytes(t, h, 11, 1); });
  }

  template <class Pe>
  void put_elements(Pe& pe) const {
    ends.try_words(3, "iput", [&](Word* t, Word* h) { return pe.iput(t, h, 2, 2, 2, 1); });
    ends.try_words(3, "iput backwards",
                   [&](Word* t, Word* h) { return pe.iput(t + 2, h + 2, -2, -2, 2, 1); });
    ends.try_call<Octet>(3, 2, "iput of octets",
                         [&](Octet* t, Octet* h) { return pe.iput(t, h, 2, 1, 2, 1); });
  }

  template <class Pe>
  void put_with_signal(Pe& pe) const {
    Word* const signal = ends.there - 4;
    ends.try_words(2, "put_signal", [&](Word* t, Word* h) {
      return pe.put_signal(t, h, 2, signal, 1, SignalOp::add, 1);
    });
    ends.refused(pe.put_signal(ends.there - 1, ends.here - 2, 1, ends.there, 1, SignalOp::add, 1),
                 "put_signal of a word behind the end");
  }

  template <class Pe>
  void get(Pe& pe) const {
    ends.try_words(3, "get of 3 words", [&](Word* t, Word* h) { return pe.get(h, t, 3, 1); });
    ends.try_words(1, "get of a word", [&](Word* t, Word* h) { return pe.get(h, t, 1, 1); });
    ends.try_words(3, "iget", [&](Word* t, Word* h) { return pe.iget(h, t, 2, 2, 2, 1); });
    ends.try_words(3, "iget backwards",
                   [&](Word* t, Word* h) { return pe.iget(h + 2, t + 2, -2, -2, 2, 1); });
  }
};

// Values and atomics there, and what an atomic fetches to here.
struct LastValues {
  static constexpr const char* kName = "values";
  static constexpr std::uint32_t kCallers = 1;  // PEs, from 0 on

  Ends ends;
  template <class Pe>
  void operator()(Pe& pe) const {
    words(pe);
    halves(pe);
    ends.try_words(1, "atomic_fetch_add_nbi",
                   [&](Word* t, Word* h) { return pe.atomic_fetch_add_nbi(h, t, Word{1}, 1); });
    ends.expect(pe.quiet().ok(), "quiet succeeds");
    ends.expect(pe.machine().load_weak(ends.here - 1) == 9, "what was fetched is there");
    octets(pe);
    ends.expect(pe.quiet().ok(), "quiet succeeds again");
  }
  static bool leaves(After& after, const Word* there) { return after.value(1, there - 1) == 10; }

 private:
  // At the last place, and behind it.
  template <class T, class Call>
  void try_value(const char* what, Call&& call) const {
    T* const end = reinterpret_cast<T*>(ends.there);
    Status status = call(end - 1);
    ends.expect(status.ok(), what);
    status = call(end);
    ends.refused(status, what);
  }

  template <class Pe>
  void words(Pe& pe) const {
    try_value<Word>("put_value", [&](Word* t) { return pe.put_value(t, 5, 1); });
    try_value<Word>("get_value", [&](Word* t) {
      Status status;
      pe.get_value(t, 1, &status);
      return status;
    });
    try_value<Word>("atomic_add", [&](Word* t) { return pe.atomic_add(t, Word{1}, 1); });
    try_value<Word>("atomic_compare_swap", [&](Word* t) {
      Status status;
      pe.atomic_compare_swap(t, Word{6}, Word{8}, 1, &status);
      return status;
    });
    try_value<Word>("signal", [&](Word* t) { return pe.signal(t, 1, SignalOp::add, 1); });
  }

  template <class Pe>
  void halves(Pe& pe) const {
    using Half = std::uint32_t;
    try_value<Half>("atomic_inc", [&](Half* t) { return pe.atomic_inc(t, 1); });
    try_value<Half>("atomic_swap", [&](Half* t) {
      Status status;
      pe.atomic_swap(t, Half{0}, 1, &status);
      return status;
    });
  }

  template <class Pe>
  void octets(Pe& pe) const {
    auto* const end = reinterpret_cast<std::uint8_t*>(ends.there);
    const auto at = [end](int before_end) { return reinterpret_cast<Octet*>(end - before_end); };
    const Octet octet{{1, 2, 3, 4, 5, 6, 7, 8}};
    ends.expect(pe.put_value(at(21), octet, 1).ok(), "an octet is put");
    Status status;
    const Octet got = pe.get_value(at(21), 1, &status);
    ends.expect(status.ok() && got.bytes[0] == 1 && got.bytes[7] == 8, "it is got back");
    ends.refused(pe.put_value(at(7), octet, 1), "put_value of an octet that ends behind the end");
    pe.get_value(at(1), 1, &status);
    ends.refused(status, "get_value of an octet that ends behind the end");
  }
};

// Collectives, whose dest ends there, and whose source ends here.
struct LastOfMembers {
  static constexpr const char* kName = "collectives";
  static constexpr std::uint32_t kCallers = 2;

  Ends ends;
  template <class Pe>
  void operator()(Pe& pe) const {
    const auto me = Word(pe.my_pe());
    for (int i = 1; i <= 3; ++i) {
      pe.machine().store_weak(ends.here - i, 10 * (1 + me) + Word(3 - i));
    }
    auto team = pe.team(kTeamWorld);
    const auto try_it = [&](int to, int from, Word last, const char* what, auto&& call) {
      ends.try_call<Word>(to, from, what, call);
      ends.expect(pe.machine().load_weak(ends.there - 1) == last, what);
      ends.expect(team.sync().ok(), "sync succeeds");  // the next dest is this one
    };
    // Of a broadcast the root alone has a source, and the others would wait for a refused one.
    ends.refused(team.broadcast(ends.there - 1, ends.here - 2, 2, 1), "broadcast");
    ends.expect(team.broadcast(ends.there - 2, ends.here - 2, 2, 1).ok(), "broadcast");
    ends.expect(team.sync().ok(), "sync succeeds");
    try_it(4, 2, 22, "fcollect", [&](Word* t, Word* h) { return team.fcollect(t, h, 2); });
    try_it(4, 2, 22, "collect", [&](Word* t, Word* h) { return team.collect(t, h, 2); });
    try_it(2, 2, 21 + me, "alltoall", [&](Word* t, Word* h) { return team.alltoall(t, h, 1); });
    try_it(3, 3, 20 + 2 * me, "alltoalls",
           [&](Word* t, Word* h) { return team.alltoalls(t, h, 2, 2, 1); });
    try_it(3, 3, 34, "reduce", [&](Word* t, Word* h) { return team.reduce(t, h, 3, Sum{}); });
    try_it(1, 2, 32 + 2 * me, "reduce_scatter",
           [&](Word* t, Word* h) { return team.reduce_scatter(t, h, 1, Sum{}); });
  }
  static bool leaves(After& after, const Word* there) {
    return after.value(0, there - 1) == 32 && after.value(1, there - 1) == 34;
  }
};

// A source that begins in one registered buffer and ends in the next one, with no gap between them.
struct InTwoBuffers {
  static constexpr std::size_t kWords = 2;

  const Witness* witness;
  Word* source;  // one word in each
  Word* dest;    // kWords of each PE
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const auto me = Word(pe.my_pe());
    for (std::size_t i = 0; i < kWords; ++i) m.store_weak(source + i, 10 * me + i);
    auto team = pe.team(kTeamWorld);
    witness->expect(team.fcollect(dest, source, kWords).ok(), "fcollect succeeds");
    witness->expect(m.load_weak(dest + 1) == 1 && m.load_weak(dest + 3) == 11,
                    "fcollect brings the words of both buffers");
    witness->expect(team.sync().ok(), "sync succeeds");
    witness->expect(team.reduce(dest, source, kWords, Sum{}).ok(), "reduce succeeds");
    witness->expect(m.load_weak(dest) == 10 && m.load_weak(dest + 1) == 12,
                    "reduce combines the words of both buffers");
    witness->expect(team.reduce(dest, source + 1, 9, Sum{}).code == StatusCode::invalid_address,
                    "a source that ends behind the second buffer is refused");
  }
};

WorldPointer in_two_buffers(const SubjectOptions& options) {
  WorldOptions shape = options_for(options);
  shape.local_buffers = 2;
  shape.expect_quiet = false;  // what is refused is reported
  auto world = std::make_unique<World>("source-in-two-buffers", shape);
  auto* dest = world->allocate<Word>("dest", 2 * InTwoBuffers::kWords);
  auto* const source = static_cast<Word*>(world->local_buffer(1)) - 1;
  world->launch({.blocks = 1, .threads = 1}, InTwoBuffers{world->witness(), source, dest});
  return world;
}

// What ends.
enum class End : std::uint8_t {
  object,       // of a checked heap
  cut_objects,  // likewise, with a border of the chunks in front of its last two words
  heap,         // and a buffer outside of it, where all PEs call
};

template <class Kernel, End kEnd>
WorldPointer last_place(const SubjectOptions& options, Reached reached) {
  constexpr bool kIsHeap = kEnd == End::heap;
  constexpr std::size_t kWords = kIsHeap ? 8 : 6;  // behind 6 words is a gap
  const char* const prefix = kIsHeap                    ? "heap-end-"
                             : kEnd == End::cut_objects ? "cut-end-"
                                                        : "object-end-";
  WorldOptions shape = options_for(options);
  shape.check_memory = !kIsHeap;
  shape.local_buffers = kIsHeap ? 1 : 0;
  shape.expect_quiet = false;  // what is refused is reported
  WorldPointer world = world_of(std::string(prefix) + Kernel::kName, shape, reached);
  Word* here = nullptr;
  if (!kIsHeap) here = world->allocate<Word>("here", kWords) + kWords;
  Word* const there = world->allocate<Word>("there", kWords) + kWords;
  if (kIsHeap) {  // one caller's own object is another one than that of PE 1
    here = Kernel::kCallers == 1 ? there : static_cast<Word*>(world->local_buffer(0)) + kWords;
  }
  if (kEnd == End::cut_objects) {
    world->split_at(here - 2);
    world->split_at(there - 2);
  }
  if (!kIsHeap) world->allocate<Word>("behind", 1);
  for (std::uint32_t pe = 0; pe < Kernel::kCallers; ++pe) {
    world->launch_on(pe, {.blocks = 1, .threads = 1}, Kernel{{world->witness(), there, here}});
  }
  world->check([=](After& after) {
    after.expect(Kernel::leaves(after, there), "all that was not refused is done, and only that");
    if (!kIsHeap) after.expect(after.value(1, there + 2) == 0, "the next object is as it was");
  });
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"source-in-two-buffers", "Collectives whose source goes on in the next registered buffer.",
     make<in_two_buffers>},
    {"object-end-transfers", "Puts and gets that end with an object, and behind it.",
     make<last_place<LastTransfers, End::object>, kNic>},
    {"direct-cut-end-transfers", "The same of direct peers' objects in two chunks.",
     make<last_place<LastTransfers, End::cut_objects>, kDirect>},
    {"heap-end-transfers", "Puts and gets that end with the heap, and behind it.",
     make<last_place<LastTransfers, End::heap>, kNic>},
    {"object-end-values", "Values and atomics at the end of an object, and behind it.",
     make<last_place<LastValues, End::object>, kNic>},
    {"direct-cut-end-values", "The same of direct peers' objects in two chunks.",
     make<last_place<LastValues, End::cut_objects>, kDirect>},
    {"heap-end-values", "Values and atomics at the end of the heap, and behind it.",
     make<last_place<LastValues, End::heap>, kNic>},
    {"cut-end-collectives", "Collectives that end with objects in two chunks, and behind them.",
     make<last_place<LastOfMembers, End::cut_objects>, kNic>},
    {"heap-end-collectives", "Collectives that end with the heap and a buffer, and behind them.",
     make<last_place<LastOfMembers, End::heap>, kNic>},
};

}  // namespace

constinit const Table kEdgesTable = kListed;

}  // namespace gdakit::sim::scenarios
