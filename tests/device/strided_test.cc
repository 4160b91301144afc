// Strided put and get at their edges: long transfers, borders of chunks, strides that are 0 or
// negative, and what is refused. tests/device/one_sided_test.cc has every type and group.
#include "tests/device/by.h"
#include "tests/support/job.h"
#include "tests/support/limited_backend.h"

namespace gdakit {
namespace {

using test::actors;
using test::acts;
using test::all_are;
using test::By;
using test::Checks;
using test::expect_job;
using test::fill;
using test::group_of;
using test::in_turn;
using test::job_options;
using test::mismatch;

constexpr unsigned kThreads = 48;

// Three words: no single access, and no divisor of a page.
struct Triple {
  std::uint32_t a, b, c;
};

// One transfer to PE `pe` and back from there to `back`.
template <class T, By kBy>
struct ThereAndBack {
  T* target;
  const T* source;
  T* back;
  std::ptrdiff_t target_stride, source_stride;
  std::size_t count;
  int pe;
  bool exclusive;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe_handle) const {
    if (!acts<kBy>(pe_handle)) return;
    if (exclusive) {
      auto own = pe_handle.exclusively_on(2);
      run(own);
    } else {
      run(pe_handle);
    }
  }

  template <class Pe>
  GDAKIT_DEVICE void run(Pe& handle) const {
    auto group = group_of<kBy>(handle);
    const Ticket put = group.iput_async(target, source, target_stride, source_stride, count, pe);
    expect(handle, group.wait(put).ok());
    expect(handle, group.iget(back, target, source_stride, target_stride, count, pe).ok());
  }
};

template <class T, By kBy>
Result<void> there_and_back(Context& c, const ThereAndBack<T, kBy>& kernel, const Checks& checks) {
  if (auto ran = c.launch(kernel, {1, kThreads}); !ran) return ran;
  if (auto ok = checks.all_held(2 * actors(kBy, kThreads)); !ok) return ok;
  return c.barrier();
}

// More elements than the queue has slots, spread over the second half of `size` backwards.
template <By kBy>
Result<void> move_many(Context& c, bool exclusive) {
  constexpr std::size_t kCount = 1500;
  constexpr std::size_t kSize = 3 * kCount;
  auto source = c.allocate<std::uint32_t>(kSize);
  auto target = c.allocate<std::uint32_t>(kSize);
  auto back = c.allocate<std::uint32_t>(kSize);
  auto checks = Checks::make(c);
  if (!source || !target || !back || !checks) return mismatch("allocate");
  const auto me = static_cast<std::size_t>(c.my_pe());
  if (auto ok = fill(c, *source, kSize, [me](std::size_t i) { return 10'000 * me + i + 1; }); !ok) {
    return ok;
  }
  if (auto met = c.barrier(); !met) return met;
  const ThereAndBack<std::uint32_t, kBy> kernel{
      *target + kSize - 1, *source,   *back,           -2, 3, kCount,
      1 - c.my_pe(),       exclusive, checks->expect()};
  if (auto ok = there_and_back(c, kernel, *checks); !ok) return ok;
  if (auto ok = all_are(c, *target, kSize, "target",
                        [&](std::size_t i) {
                          const std::size_t from_end = kSize - 1 - i;
                          const bool hit = from_end % 2 == 0 && from_end / 2 < kCount;
                          return hit ? 10'000 * (1 - me) + 3 * (from_end / 2) + 1 : 0;
                        });
      !ok) {
    return ok;
  }
  return all_are(c, *back, kSize, "back",
                 [&](std::size_t i) { return i % 3 == 0 ? 10'000 * me + i + 1 : 0; });
}

TEST(Strided, MovesMoreElementsThanTheQueueHasSlots) {
  expect_job(2, in_turn(job_options()), [](Context& c) -> Result<void> {
    if (auto ok = move_many<By::thread>(c, false); !ok) return ok;
    if (auto ok = move_many<By::warp>(c, false); !ok) return ok;
    return move_many<By::block>(c, false);
  });
}

TEST(Strided, GoesThroughAnExclusiveQueue) {
  expect_job(2, in_turn(job_options()), [](Context& c) -> Result<void> {
    if (auto added = c.add_queues(1, Sharing::exclusive); !added) return added.error();
    if (auto ok = move_many<By::thread>(c, true); !ok) return ok;
    return move_many<By::block>(c, true);
  });
}

// Moves every second element of `source` from `first` on, which lie around a border of the chunks
// on either side, and looks at all of them.
template <By kBy>
Result<void> move_triples(Context& c, Triple* target, Triple* source, Triple* back,
                          std::size_t first) {
  constexpr std::size_t kCount = 8;
  auto checks = Checks::make(c);
  if (!checks) return checks.error();
  const ThereAndBack<Triple, kBy> kernel{
      target + first, source + first, back + first,    2, 2, kCount,
      1 - c.my_pe(),  false,          checks->expect()};
  if (auto ok = there_and_back(c, kernel, *checks); !ok) return ok;
  auto got = test::download(c, target + first, 2 * kCount);
  auto again = test::download(c, back + first, 2 * kCount);
  if (!got || !again) return mismatch("download");
  const auto me = static_cast<std::uint32_t>(c.my_pe());
  for (std::size_t k = 0; k < 2 * kCount; k += 2) {
    const auto i = static_cast<std::uint32_t>(first + k);
    const Triple& there = (*got)[k];
    const Triple& here = (*again)[k];
    if (there.a != i || there.b != i + 1000 * (2 - me) || there.c != ~i) {
      return mismatch("target " + std::to_string(i));
    }
    if (here.a != i || here.b != i + 1000 * (me + 1) || here.c != ~i) {
      return mismatch("back " + std::to_string(i));
    }
  }
  return {};
}

// The elements of an array in which a chunk ends.
std::vector<std::size_t> elements_at_borders(Context& c, const Triple* array, std::size_t size,
                                             std::size_t chunk) {
  const auto begin = reinterpret_cast<std::uint64_t>(array) - c.device_context().heap.base;
  std::vector<std::size_t> elements;
  for (std::uint64_t border = chunk; border < begin + (size - 32) * sizeof(Triple);
       border += chunk) {
    if (border < begin + 32 * sizeof(Triple) || (border - begin) % sizeof(Triple) == 0) continue;
    elements.push_back((border - begin) / sizeof(Triple));
  }
  return elements;
}

template <By kBy>
Result<void> move_over_borders(Context& c) {
  auto chunk = test::first_chunk_bytes(c);
  if (!chunk) return chunk.error();
  const std::size_t size = 5 * *chunk / 2 / sizeof(Triple);
  auto source = c.allocate<Triple>(size);
  auto target = c.allocate<Triple>(size);
  auto back = c.allocate<Triple>(size);
  if (!source || !target || !back) return mismatch("allocate");
  const auto me = static_cast<std::uint32_t>(c.my_pe());
  std::vector<Triple> from(size);
  for (std::uint32_t i = 0; i < size; ++i) from[i] = {i, i + 1000 * (me + 1), ~i};
  if (auto ok = test::upload(c, *source, from); !ok) return ok;
  if (auto met = c.barrier(); !met) return met;
  std::size_t cut = 0;
  for (const Triple* array : {*source, *target, *back}) {
    for (const std::size_t element : elements_at_borders(c, array, size, *chunk)) {
      if (auto ok = move_triples<kBy>(c, *target, *source, *back, element - 6); !ok) return ok;
      ++cut;
    }
  }
  return cut >= 3 ? Result<void>{} : mismatch("no element lies across a border");
}

TEST(Strided, CutsElementsAtChunkBordersAndTheLargestMessage) {
  Options options = job_options();
  options.symmetric_size = 64 << 10;
  options.heap_chunk = 64 << 10;
  BackendLimits limits;
  limits.max_message_bytes = 8;
  test::LimitedProvider provider(limits);
  expect_job(2, in_turn(options), provider, [](Context& c) -> Result<void> {
    if (auto ok = move_over_borders<By::thread>(c); !ok) return ok;
    return move_over_borders<By::warp>(c);
  });
}

// One element from stride 0 to many places; and nothing at all.
struct Broadcast {
  std::uint64_t* target;
  const std::uint64_t* source;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    expect(pe, pe.iput(target, source, 2, 0, 5, 1).ok());
    expect(pe, pe.iput(target + 20, source, 0, 3, 1, 1).ok());  // a single one has no stride
    expect(pe, pe.iput(target + 30, source, 0, 0, 0, 1).ok());
    expect(pe, pe.iget(target + 30, target, 0, 0, 0, 1).ok());
  }
};

TEST(Strided, CopiesOneElementToManyPlaces) {
  expect_job(2, in_turn(job_options()), [](Context& c) -> Result<void> {
    auto target = c.allocate<std::uint64_t>(40);
    auto source = c.allocate<std::uint64_t>(1);
    auto checks = Checks::make(c);
    if (!target || !source || !checks) return mismatch("allocate");
    if (auto ok = fill(c, *source, 1, [](std::size_t) { return 77; }); !ok) return ok;
    if (auto met = c.barrier(); !met) return met;
    if (c.my_pe() == 0) {
      Result<void> ran = c.launch(Broadcast{*target, *source, checks->expect()}, {1, 1});
      if (!ran) return ran;
      if (auto ok = checks->all_held(4); !ok) return ok;
    }
    if (auto met = c.barrier(); !met) return met;
    return all_are(c, *target, 40, "target", [&](std::size_t i) {
      const bool hit = (i < 10 && i % 2 == 0) || i == 20;
      return c.my_pe() == 1 && hit ? 77 : 0;
    });
  });
}

struct Refused {
  std::uint32_t* word;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    constexpr std::ptrdiff_t kFar = std::ptrdiff_t{1} << 61;
    auto warp = pe.warp();
    const auto code = [](const Status& status) { return status.code; };
    expect(pe, code(warp.iput(word, word, 0, 1, 2, 1)) == StatusCode::invalid_argument);
    expect(pe, code(warp.iget(word, word, 0, 1, 2, 1)) == StatusCode::invalid_argument);
    expect(pe, code(warp.iput(word, word, 1, 2, 2, 9)) == StatusCode::invalid_argument);
    expect(pe, code(pe.iput(word, word, kFar, 2, 9, 1)) == StatusCode::invalid_address);
    expect(pe, code(pe.iput(word, word, -kFar, 2, 2, 1)) == StatusCode::invalid_address);
    expect(pe, code(pe.iput(word, word, 2, -kFar, 2, 1)) == StatusCode::invalid_address);
    // The first elements are registered, the last one is not: none is posted.
    std::uint32_t* const nowhere = word + (std::size_t{1} << 40);
    const auto to_nowhere = static_cast<std::ptrdiff_t>(nowhere - word);
    expect(pe, code(warp.iput(word, word, to_nowhere, 2, 2, 1)) == StatusCode::invalid_address);
    std::uint32_t local[8] = {5, 5, 5, 5, 5, 5, 5, 5};
    expect(pe, code(pe.iput(word, local, 2, 2, 4, 1)) == StatusCode::invalid_address);
    expect(pe, pe.quiet().ok());
  }
};

TEST(Strided, RefusesWhatCannotBeAndPostsNothingOfIt) {
  expect_job(2, in_turn(job_options()), [](Context& c) -> Result<void> {
    auto word = c.allocate<std::uint32_t>(8);
    auto checks = Checks::make(c);
    if (!word || !checks) return mismatch("allocate");
    if (c.my_pe() == 0) {
      // The launch reports the first of them.
      if (c.launch(Refused{*word, checks->expect()}, {1, kWarpSize})) return mismatch("no error");
      if (auto ok = checks->all_held(9 * kWarpSize); !ok) return ok;
    }
    if (auto met = c.barrier(); !met) return met;
    return all_are(c, *word, 8, "word", [](std::size_t) { return 0; });
  });
}

}  // namespace
}  // namespace gdakit
