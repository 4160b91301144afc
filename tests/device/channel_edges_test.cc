// Channels at their edges: memory in as many pieces as a WQE can name, puts that are cut, and
// messages whose bytes the device cannot be made to see.
#include "device/channel.h"
#include "tests/support/chunked_heap.h"
#include "tests/support/job.h"
#include "tests/support/limited_backend.h"

namespace gdakit {
namespace {

using test::Checks;
using test::ChunkedHeap;
using test::expect_job;
using test::job_options;
using test::mismatch;

// To itself: a message that lies in kReceiveSegments pieces at the receiver and in kSendPieces at
// the sender, and each of the two in one piece more.
struct ManyPieces {
  Channels channels;
  char* source;  // at the begin of a chunk
  char* buffer;  // 16 bytes before the end of one
  std::uint64_t chunk;
  test::Expect expect;

  GDAKIT_HOST_DEVICE std::uint64_t bytes() const { return 2 * chunk + 32; }

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto channel = pe.channel(channels);
    const auto refused = StatusCode::invalid_argument;
    expect(pe, channel.post_receive(buffer, bytes() + chunk, 0).code == refused);
    expect(pe, channel.receives_posted(0) == 0);
    expect(pe, channel.post_receive(buffer, bytes(), 0).ok());
    expect(pe, channel.send(buffer, bytes(), 0).code == refused);
    expect(pe, channel.send(source, bytes(), 0).ok());
    const Received got = channel.wait_receive(0);
    expect(pe, got.status.ok() && got.bytes == bytes() && got.buffer == buffer);
    expect(pe, channel.quiet().ok());
  }
};

TEST(ChannelEdges, AReceiveHasFourPiecesAndNoFive) {
  static_assert(kReceiveSegments == 4 && kSendPieces == 3);
  expect_job(1, test::chunked(job_options()), [](Context& c) -> Result<void> {
    auto heap = ChunkedHeap::make(c, 12);
    auto channels = c.add_channels({});
    auto checks = Checks::make(c);
    if (!heap) return heap.error();
    if (!channels || !checks) return mismatch("channels");
    const ManyPieces kernel{*channels, heap->chunk(1), heap->chunk(7) - 16, heap->chunk_bytes(),
                            checks->expect()};
    const std::vector<char> sent = heap->fill(kernel.source, kernel.bytes());
    if (c.launch(kernel, {.blocks = 1, .threads = 1})) return mismatch("nothing was reported");
    c.clear_reports();
    const auto came = test::download(c, kernel.buffer, kernel.bytes());
    if (!came || *came != sent) return mismatch("what came is not what was sent");
    return checks->all_held(7);
  });
}

// To itself: a put whose source and target are cut at different places, in three pieces.
struct CutPut {
  static constexpr std::uint64_t kFirst = 100, kSecond = 50, kLast = 150;
  static constexpr std::uint64_t kBytes = kFirst + kSecond + kLast;

  Channels channels;
  char* source;  // kFirst + kSecond bytes before the end of a chunk
  char* target;  // kFirst bytes before the end of one
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto channel = pe.channel(channels);
    const auto posted = [&] {
      return pe.machine().load(order::RelaxedGpu{}, &channels.queues[0].state->reserved);
    };
    expect(pe, channel.post_receive(0).ok() && channel.post_receive(0).ok());
    const std::uint64_t before = posted();
    expect(pe, channel.put_with_immediate(target, source, kBytes, 7, 0).ok());
    expect(pe, posted() - before == 3);
    const Received got = channel.wait_receive(0);
    expect(pe, got.status.ok() && got.is_put && got.immediate == 7 && got.bytes == kLast);
    expect(pe, !channel.poll_receive(0).arrived() && channel.receives_posted(0) == 1);
  }
};

TEST(ChannelEdges, APutThatIsCutTellsOfItsLastPieceAlone) {
  expect_job(1, test::chunked(job_options()), [](Context& c) -> Result<void> {
    auto heap = ChunkedHeap::make(c, 6);
    auto channels = c.add_channels({});
    auto checks = Checks::make(c);
    if (!heap) return heap.error();
    if (!channels || !checks) return mismatch("channels");
    const CutPut kernel{*channels, heap->chunk(2) - CutPut::kFirst - CutPut::kSecond,
                        heap->chunk(4) - CutPut::kFirst, checks->expect()};
    const std::vector<char> sent = heap->fill(kernel.source, CutPut::kBytes);
    if (auto ran = c.launch(kernel, {.blocks = 1, .threads = 1}); !ran) return ran;
    const auto came = test::download(c, kernel.target, CutPut::kBytes);
    if (!came || *came != sent) return mismatch("what came is not what was put");
    return checks->all_held(5);
  });
}

// To itself, where the queue is broken that would make the message visible.
struct BlindReceiver {
  Channels channels;
  std::uint64_t* words;  // what is sent, and where it is received
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto channel = pe.channel(channels);
    expect(pe, channel.post_receive(words + 1, 8, 0).ok() && channel.send(words, 1, 0).ok());
    const QueueError broken =
        QueueError::from_cqe(static_cast<std::uint8_t>(format::Syndrome::remote_access), 0, 0, 0);
    pe.machine().store(order::RelaxedGpu{}, &pe.context().queues[pe.my_pe()].state->error,
                       broken.word);
    expect(pe, is_refused(channel.poll_receive(0)) && is_refused(channel.poll_receive_any()));
    expect(pe, is_refused(channel.wait_receive(0)) && is_refused(channel.wait_receive_any()));
    expect(pe, channel.receives_posted(0) == 1);
  }

 private:
  GDAKIT_DEVICE static bool is_refused(const Received& received) {
    return received.status.code == StatusCode::queue_error && !received.arrived();
  }
};

TEST(ChannelEdges, AMessageThatCannotBeMadeVisibleIsNotTakenOut) {
  BackendLimits limits;
  limits.needs_cst = true;
  test::LimitedProvider provider(limits);
  expect_job(1, job_options(), provider, [](Context& c) -> Result<void> {
    auto channels = c.add_channels({});
    auto words = c.allocate<std::uint64_t>(2);
    auto checks = Checks::make(c);
    if (!channels) return channels.error();
    if (!words || !checks) return mismatch("allocate");
    const BlindReceiver kernel{*channels, *words, checks->expect()};
    if (c.launch(kernel, {.blocks = 1, .threads = 1})) return mismatch("nothing was reported");
    c.clear_reports();
    return checks->all_held(4);
  });
}

}  // namespace
}  // namespace gdakit
