// Channels of host threads at their edges: memory in as many pieces as a WQE can name, puts that
// are cut, and queues that one PE cannot make.
#include <atomic>
#include <vector>

#include <gmock/gmock.h>

#include "host_calls/host_channel.h"
#include "tests/support/chunked_heap.h"
#include "tests/support/job.h"
#include "tests/support/limited_backend.h"
#include "tests/support/soft_nic_set.h"

namespace gdakit {
namespace {

using test::ChunkedHeap;
using test::expect_job;
using test::job_options;
using test::mismatch;
using testing::HasSubstr;

ChannelOptions by_host() {
  ChannelOptions wanted;
  wanted.end = ChannelEnd::host;
  return wanted;
}

Result<void> refused(const Result<void>& done, const std::string& what) {
  const bool is = !done && done.error().code() == Code::invalid_argument;
  return is ? Result<void>() : mismatch(what + " was not refused");
}

// What lies in kReceiveSegments pieces at the receiver and in kSendPieces at the sender.
Result<void> send_in_pieces(const ChunkedHeap& heap, Context& c, HostChannel& channel) {
  char* const source = heap.chunk(1);
  char* const buffer = heap.chunk(7) - 16;
  const std::uint64_t bytes = 2 * heap.chunk_bytes() + 32;
  const std::vector<char> message = heap.fill(source, bytes);
  auto done = refused(channel.post_receive(buffer, bytes + heap.chunk_bytes(), 0), "five pieces");
  if (!done) return done;
  if (done = channel.post_receive(buffer, bytes, 0); !done) return done;
  if (done = refused(channel.send(buffer, bytes, 0), "a message in four pieces"); !done) {
    return done;
  }
  if (done = channel.send(source, bytes, 0); !done) return done;
  const Result<Received> got = channel.wait_receive(0);
  if (!got) return got.error();
  const auto came = test::download(c, buffer, bytes);
  if (!came || *came != message || got->bytes != bytes) return mismatch("the message");
  return {};
}

// Both sides are cut, at different places; the immediate comes with the 150 bytes of the last
// piece.
Result<void> put_in_pieces(const ChunkedHeap& heap, Context& c, HostChannel& channel) {
  char* const source = heap.chunk(3) - 150;
  char* const target = heap.chunk(5) - 100;
  const std::vector<char> bytes = heap.fill(source, 300);
  if (auto posted = channel.post_receive(0); !posted) return posted;
  if (auto put = channel.put_with_immediate(target, source, 300, 7, 0); !put) return put;
  const Result<Received> got = channel.wait_receive(0);
  if (!got) return got.error();
  const auto came = test::download(c, target, bytes.size());
  if (!came || *came != bytes) return mismatch("what was put");
  return got->is_put && got->immediate == 7 && got->bytes == 150 ? Result<void>()
                                                                 : mismatch("what is said of it");
}

TEST(HostChannelEdges, MemoryInManyPiecesIsNamedWhole) {
  expect_job(1, test::chunked(job_options()), [](Context& c) -> Result<void> {
    const auto heap = ChunkedHeap::make(c, 12);
    if (!heap) return heap.error();
    auto channels = c.add_channels(by_host());
    if (!channels) return channels.error();
    auto channel = HostChannel::open(c, *channels);
    if (!channel) return channel.error();
    if (auto sent = send_in_pieces(*heap, c, **channel); !sent) return sent;
    if (auto put = put_in_pieces(*heap, c, **channel); !put) return put;
    return (*channel)->quiet();
  });
}

// How many queues there are, and how many more can be made.
struct Room {
  std::atomic<int> queues{0};
  std::atomic<int> left{1000};
};

class CrampedBackend final : public test::LimitedBackend {
 public:
  CrampedBackend(std::unique_ptr<Backend> inner, Room& room)
      : LimitedBackend(std::move(inner), {}), room_(room) {}

  Result<QueueResources> create_queue(const QueueMemory& memory) override {
    if (room_.left == 0) return Error(Code::exhausted, "no queue is left");
    auto made = LimitedBackend::create_queue(memory);
    if (made) {
      --room_.left;
      ++room_.queues;
    }
    return made;
  }
  Result<void> destroy_queue(QueueNumber queue) override {
    --room_.queues;
    return LimitedBackend::destroy_queue(queue);
  }

 private:
  Room& room_;
};

// The same job goes on, and has channels once there is room.
Result<void> add_channels_beside(Context& c, Room& room) {
  const int before = room.queues;
  ChannelOptions wanted = by_host();
  wanted.count = 3;
  if (c.my_pe() == 1) room.left = 4;  // of 6
  const auto none = c.add_channels(wanted);
  room.left = 1000;
  if (none) return mismatch("add_channels where a queue is lacking");
  EXPECT_THAT(none.error().message(),
              HasSubstr(c.my_pe() == 1 ? "no queue is left"
                                       : "PE 1 could not make its part of the queues: "));
  EXPECT_EQ(room.queues, before) << "PE " << c.my_pe() << " keeps queues of nobody";
  auto channels = c.add_channels(wanted);
  if (!channels) return channels.error();
  EXPECT_EQ(channels->first, kFirstChannel) << "no number is lost";
  auto channel = HostChannel::open(c, *channels, 2);
  if (!channel) return channel.error();
  const int peer = 1 - c.my_pe();
  if (auto posted = (*channel)->post_receive(peer); !posted) return posted;
  if (auto sent = (*channel)->send(nullptr, 0, peer); !sent) return sent;
  const Result<Received> got = (*channel)->wait_receive(peer);
  return got ? Result<void>() : got.error();
}

TEST(HostChannelEdges, APeThatCannotMakeItsQueuesLeavesAllWithout) {
  Room rooms[2];
  test::WrappingProvider provider([&rooms](auto inner, int pe) {
    return std::make_unique<CrampedBackend>(std::move(inner), rooms[pe]);
  });
  expect_job(2, job_options(), provider,
             [&](Context& c) { return add_channels_beside(c, rooms[c.my_pe()]); });
  EXPECT_EQ(rooms[0].queues + rooms[1].queues, 0);
}

// With several NICs a put completes by a READ of the heap, of which there is more meanwhile: each
// object is registered by itself.
TEST(HostChannel, OfEachNicCompletesPutsInAHeapThatHasGrown) {
  constexpr std::uint32_t kNics = 3;
  test::SoftNicSets nics(kNics);
  Options options = job_options();
  options.check_memory = true;
  options.transport = TransportChoice::nic;
  expect_job(2, options, nics, [](Context& c) -> Result<void> {
    ChannelOptions wanted = by_host();
    wanted.count = kNics;
    const auto channels = c.add_channels(wanted);
    const auto words = c.allocate<std::uint64_t>(2);
    if (!channels || !words) return mismatch("no channels or words");
    for (std::uint32_t number = 0; number < kNics; ++number) {
      const auto channel = HostChannel::open(c, *channels, number);
      if (!channel) return channel.error();
      const auto put = (*channel)->put_async(*words, *words + 1, 8, 1 - c.my_pe());
      if (!put) return put.error();
      for (int i = 0; i < 20; ++i) {
        if (auto more = c.allocate<std::uint64_t>(8); !more) return more.error();
      }
      if (auto done = (*channel)->wait(*put); !done) return done;
      const Result<bool> tested = (*channel)->test(*put);
      if (!tested || !*tested) return mismatch("a put that is complete is none by test");
      if (auto done = (*channel)->quiet(); !done) return done;
    }
    return c.barrier();
  });
}

}  // namespace
}  // namespace gdakit
