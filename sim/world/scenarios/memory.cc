// Registered memory that is no heap, and a heap of which objects alone may be touched.
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

// A put out of a registered buffer and a get into another one, on each queue.
struct LocalBuffers {
  const Witness* witness;
  Word* data;    // 1 for each queue
  Word* source;  // in a buffer outside of the heap
  Word* result;  // in another one
  std::uint32_t queues;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    for (std::uint32_t i = 0; i < queues; ++i) {
      auto by = pe.on_queue(i);
      m.store_weak(source + i, Word{5} + i);
      witness->expect(by.put(data + i, source + i, 1, 1).ok(), "put succeeds");
      witness->expect(by.quiet().ok(), "quiet succeeds");
      witness->expect(by.get(result + i, data + i, 1, 1).ok(), "get succeeds");
      witness->expect(m.load_weak(result + i) == Word{5} + i, "what was put is got back");
    }
  }
};

WorldPointer local_buffers_world(const char* name, WorldOptions options) {
  options.local_buffers = 2;
  auto world = std::make_unique<World>(name, options);
  auto* data = world->allocate<Word>("data", options.queues);
  auto* source = static_cast<Word*>(world->local_buffer(0));
  auto* result = static_cast<Word*>(world->local_buffer(1));
  world->launch_on(0, {.blocks = 1, .threads = 1},
                   LocalBuffers{world->witness(), data, source, result, options.queues});
  return world;
}

WorldPointer local_buffers(const SubjectOptions& options) {
  return local_buffers_world("local-buffers", options_for(options));
}

WorldPointer nics_local_buffers(const SubjectOptions& options) {
  return local_buffers_world("nics-local-buffers", two_nics(options));
}

// Transfers that lie in an object of a checked heap, and others that lie in part beside one.
struct CheckedHeap {
  const Witness* witness;
  Word* first;   // 9 words: to the next object is a gap
  Word* second;  // 2
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    m.store_weak(second, 7);
    m.store_weak(second + 1, 8);
    witness->expect(pe.put(first + 7, second, 2, 1).ok(), "what ends with the object is put");
    witness->expect(pe.put(first, second, 1, 1).ok(), "what begins with the object is put");
    expect_refused(pe.put(first + 8, second, 2, 1), "behind the object");
    expect_refused(pe.put(second - 1, second, 2, 1), "before the object");
    expect_refused(pe.get(second, first + 9, 1, 1), "in the gap");
    expect_refused(pe.put(first, second + 1, 2, 1), "behind the source");
    expect_refused(pe.put(first + 8, first + 8, 9, 1), "across the gap");
    expect_refused(pe.put_value(second + 2, Word{1}, 1), "behind the last object");
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }

 private:
  void expect_refused(Status status, const char* what) const {
    witness->expect(status.code == StatusCode::invalid_address, what);
  }
};

WorldPointer checked_heap(const SubjectOptions& options, Reached reached) {
  WorldOptions world_options = options_for(options);
  world_options.check_memory = true;
  world_options.expect_quiet = false;  // what is refused is reported
  auto world = world_of("checked-heap", world_options, reached);
  auto* first = world->allocate<Word>("first", 9);
  auto* second = world->allocate<Word>("second", 2);
  world->launch_on(0, {.blocks = 1, .threads = 1}, CheckedHeap{world->witness(), first, second});
  world->check([=](After& after) {
    after.expect(after.value(1, first + 7) == 7 && after.value(1, first + 8) == 8 &&
                     after.value(1, first) == 7 && after.value(1, second) == 0,
                 "PE 1 has what was put, and nothing of what was refused");
  });
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"local-buffers", "Puts and gets of registered memory outside of the heap.",
     make<local_buffers>},
    {"nics-local-buffers", "The same by two NICs, each with keys of its own.",
     make<nics_local_buffers>},
    {"checked-heap", "A heap that refuses what lies beside its objects.", make<checked_heap, kNic>},
    {"direct-checked-heap", "The same of a direct peer.", make<checked_heap, kDirect>},
};

}  // namespace

constinit const Table kMemoryTable = kListed;

}  // namespace gdakit::sim::scenarios
