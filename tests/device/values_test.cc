// put_value and get_value of types without an alignment of their own, which may lie anywhere.
#include "tests/support/job.h"

namespace gdakit {
namespace {

using test::Checks;
using test::expect_job;
using test::fill;
using test::in_turn;
using test::job_options;
using test::mismatch;

// A value without alignment of its own.
template <std::size_t kBytes>
struct Loose {
  unsigned char bytes[kBytes];
};

// Puts a value across a border of the chunks to the other PE, and gets it back; then looks at the
// bytes around it.
template <std::size_t kBytes>
struct ValueAcrossABorder {
  static constexpr std::size_t kBefore = kBytes / 2;  // bytes of it in the first chunk
  static constexpr std::size_t kAround = 16;

  unsigned char* bytes;
  std::size_t size;
  unsigned char* back;  // kBytes + 2 * kAround
  std::uint32_t exclusive;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const HeapView& heap = pe.context().heap;
    auto* const border = reinterpret_cast<unsigned char*>(heap.chunks[2].begin);
    unsigned char* const place = border - kBefore;
    expect(pe, place - kAround >= bytes && place + kBytes + kAround <= bytes + size);
    put_and_get(pe, pe, place, 1);
    auto own = pe.exclusively_on(exclusive);
    put_and_get(pe, own, place, 100);
  }

  template <class Pe, class Handle>
  GDAKIT_DEVICE void put_and_get(Pe& pe, Handle& handle, unsigned char* place, int salt) const {
    const int to = 1 - pe.my_pe();
    auto* const there = reinterpret_cast<Loose<kBytes>*>(place);
    Loose<kBytes> value{};
    for (std::size_t i = 0; i < kBytes; ++i) {
      value.bytes[i] = static_cast<unsigned char>(salt + pe.my_pe() + 2 * static_cast<int>(i));
    }
    expect(pe, handle.put_value(there, value, to, Batch::more).ok());
    Status status;
    const Loose<kBytes> got = handle.get_value(there, to, &status);
    expect(pe, status.ok());
    expect(pe, handle.get(back, place - kAround, kBytes + 2 * kAround, to).ok());
    bool same = true;
    for (std::size_t i = 0; i < kBytes + 2 * kAround; ++i) {
      const bool inside = i >= kAround && i < kAround + kBytes;
      const unsigned char there_now = pe.machine().load_weak(back + i);
      same = same && there_now == (inside ? value.bytes[i - kAround] : 0);
      if (inside) same = same && got.bytes[i - kAround] == there_now;
    }
    expect(pe, same);
    expect(pe, handle.put_value(there, value, to).ok());
    expect(pe, handle.quiet().ok());
  }
};

template <std::size_t kBytes>
Result<void> put_across_a_border(Context& c, std::size_t chunk, std::uint32_t exclusive) {
  auto bytes = c.allocate<unsigned char>(4 * chunk);
  auto back = c.allocate<unsigned char>(kBytes + 2 * ValueAcrossABorder<kBytes>::kAround);
  auto checks = Checks::make(c);
  if (!bytes || !back || !checks) return mismatch("allocate");
  if (auto ok = fill(c, *bytes, 4 * chunk, [](std::size_t) { return 0; }); !ok) return ok;
  if (auto met = c.barrier(); !met) return met;
  const ValueAcrossABorder<kBytes> kernel{*bytes, 4 * chunk, *back, exclusive, checks->expect()};
  if (auto ran = c.launch(kernel, {.blocks = 1, .threads = 1}); !ran) return ran;
  if (auto held = checks->all_held(13); !held) return held;
  if (auto met = c.barrier(); !met) return met;
  return c.free(*bytes);
}

// A value whose type asks for no alignment may lie where one chunk ends and the next begins.
TEST(Values, ArePutAndGotAcrossChunkBorders) {
  Options options = job_options();
  options.symmetric_size = 64 << 10;
  options.heap_chunk = 64 << 10;
  expect_job(2, in_turn(options), [](Context& c) -> Result<void> {
    auto chunk = test::first_chunk_bytes(c);
    auto exclusive = c.add_queues(1, Sharing::exclusive);
    if (!chunk || !exclusive) return mismatch("set up");
    if (auto ok = put_across_a_border<2>(c, *chunk, *exclusive); !ok) return ok;
    if (auto ok = put_across_a_border<4>(c, *chunk, *exclusive); !ok) return ok;
    return put_across_a_border<8>(c, *chunk, *exclusive);
  });
}

}  // namespace
}  // namespace gdakit
