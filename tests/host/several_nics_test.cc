// What a PE with several NICs keeps of each: keys of heap, buffers and results, queues, DC targets.
// The NICs are fake, so that each key and number says whose it is.
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>

#include "core/host/trace/trace_record.h"
#include "device/address.h"
#include "tests/support/fake_nic.h"
#include "tests/support/job.h"

namespace gdakit {
namespace {

using test::expect_job;
using test::FakeNic;
using test::FakeOwner;
using test::FakeProvider;
using test::job_options;
using test::mismatch;
using test::same;
using testing::HasSubstr;

constexpr std::uint32_t kNics = 3;

Options options_of(QueueType type = QueueType::rc) {
  Options options = job_options();
  options.device = DeviceChoice::cpu;
  options.check_memory = false;
  options.doorbell_records = true;
  options.queue_type = type;
  options.nic_handler = NicHandler::automatic;
  options.symmetric_size = 64 << 10;
  options.heap_chunk = 64 << 10;
  options.teams = 4;
  options.queues_per_peer = 4;
  return options;
}

// Whether `key` is one of that NIC for memory in which these bytes lie.
Result<void> covers(const FakeNic& nic, std::uint32_t key, std::uint64_t begin,
                    std::uint64_t bytes) {
  const auto regions = nic.regions();
  const auto found = regions.find(key);
  if (found == regions.end()) return mismatch("a key of another NIC");
  const auto base = reinterpret_cast<std::uint64_t>(found->second.base);
  const bool inside = begin >= base && begin + bytes <= base + found->second.bytes;
  return inside ? Result<void>() : mismatch("a key of other memory");
}

// Whether the NICs of that place, here and on all PEs, are named by their keys for the bytes from
// `begin` to `end` of the heap.
Result<void> expect_keys(Context& c, FakeProvider& fakes, std::uint32_t nic, std::uint64_t begin,
                         std::uint64_t end) {
  const DeviceContext device = c.device_context();
  const LocalRange range = find_local(device, begin, nic);
  if (range.begin > begin || range.end < end) return mismatch("a range that is too short");
  if (auto ok = covers(fakes.nic(c.my_pe(), nic), range.lkey, begin, end - begin); !ok) return ok;
  for (int pe = 0; pe < c.n_pes(); ++pe) {
    const Span span = remote_span(device, begin, pe, nic);
    if (span.bytes < end - begin) return mismatch("a span that is too short");
    const std::uint32_t key = std::uint32_t{span.key} ^ FakeNic::kRemote;
    if (auto ok = covers(fakes.nic(pe, nic), key, span.address, end - begin); !ok) return ok;
  }
  return {};
}

Result<void> expect_chunks(Context& c, FakeProvider& fakes, std::uint32_t least) {
  const HeapView heap = c.device_context().heap;
  if (auto ok = same(heap.nics, kNics, "NICs"); !ok) return ok;
  if (heap.chunk_count < least || heap.chunk_count > heap.chunk_room) {
    return mismatch(std::to_string(heap.chunk_count) + " chunks in a table for " +
                    std::to_string(heap.chunk_room));
  }
  for (std::uint32_t chunk = 0; chunk < heap.chunk_count; ++chunk) {
    for (std::uint32_t nic = 0; nic < kNics; ++nic) {
      const LocalRange& range = heap.chunks[std::uint64_t{nic} * heap.chunk_room + chunk];
      if (auto ok = expect_keys(c, fakes, nic, range.begin, range.end); !ok) return ok;
    }
  }
  return {};
}

TEST(SeveralNics, EachHasKeysOfAllChunksOfTheHeap) {
  FakeProvider fakes(kNics);
  expect_job(2, options_of(), fakes, [&](Context& c) -> Result<void> {
    if (auto ok = expect_chunks(c, fakes, 1); !ok) return ok;
    const std::uint32_t before = c.device_context().heap.chunk_count;
    if (auto more = c.allocate<char>(200 << 10); !more) return more.error();
    return expect_chunks(c, fakes, before + 2);
  });
}

// Its tables have objects in place of chunks.
TEST(SeveralNics, EachHasKeysOfAllObjectsOfAHeapThatIsChecked) {
  FakeProvider fakes(kNics);
  Options options = options_of();
  options.check_memory = true;
  expect_job(2, options, fakes, [&](Context& c) -> Result<void> {
    auto first = c.allocate<char>(100 << 10);
    auto second = c.allocate<char>(100 << 10);
    if (!first || !second) return mismatch("no memory");
    const std::uint32_t both = c.device_context().heap.chunk_count;
    for (const char* const object : {*first, *second}) {
      const auto begin = reinterpret_cast<std::uint64_t>(object);
      for (std::uint32_t nic = 0; nic < kNics; ++nic) {
        if (auto ok = expect_keys(c, fakes, nic, begin, begin + 1); !ok) return ok;
      }
    }
    if (auto freed = c.free(*first); !freed) return freed;
    if (c.device_context().heap.chunk_count >= both) return mismatch("the object is still there");
    return same(c.device_context().heap.nics, kNics, "NICs");
  });
}

TEST(SeveralNics, AHeapGrowsByAllOfThemOrByNone) {
  FakeProvider fakes(kNics);
  expect_job(2, options_of(), fakes, [&](Context& c) -> Result<void> {
    const std::uint32_t chunks = c.device_context().heap.chunk_count;
    std::vector<std::size_t> keys;
    for (std::uint32_t nic = 0; nic < kNics; ++nic) {
      keys.push_back(fakes.nic(c.my_pe(), nic).regions().size());
    }
    if (c.my_pe() == 1) fakes.nic(1, 2).refuse("register_memory");
    const auto failed = c.allocate<char>(100 << 10);
    if (failed) return mismatch("the heap grew");
    const std::string why = "registration of the symmetric heap: NIC 2: refused register_memory";
    EXPECT_EQ(failed.error().message(),
              c.my_pe() == 1 ? why : "PE 1 could not make its part of the heap: " + why);
    if (auto ok = same(c.device_context().heap.chunk_count, chunks, "chunks"); !ok) return ok;
    for (std::uint32_t nic = 0; nic < kNics; ++nic) {
      const std::size_t now = fakes.nic(c.my_pe(), nic).regions().size();
      if (auto ok = same(now, keys[nic], "keys of NIC " + std::to_string(nic)); !ok) return ok;
    }
    fakes.nic(c.my_pe(), 2).refuse_no_longer();
    if (auto met = c.barrier(); !met) return met;
    if (auto more = c.allocate<char>(100 << 10); !more) return more.error();
    return expect_chunks(c, fakes, chunks + 1);
  });
}

TEST(SeveralNics, EachHasKeysOfRegisteredBuffers) {
  FakeProvider fakes(kNics);
  expect_job(1, options_of(), fakes, [&](Context& c) -> Result<void> {
    std::vector<char> first(100);
    std::vector<char> second(200);
    if (auto ok = c.register_buffer(first.data(), first.size()); !ok) return ok;
    if (auto ok = c.register_buffer(second.data(), second.size()); !ok) return ok;
    for (const std::vector<char>* const buffer : {&first, &second}) {
      const auto begin = reinterpret_cast<std::uint64_t>(buffer->data());
      for (std::uint32_t nic = 0; nic < kNics; ++nic) {
        const LocalRange range = find_local(c.device_context(), begin, nic);
        if (auto ok = same(range.end, begin + buffer->size(), "end"); !ok) return ok;
        const auto good = covers(fakes.nic(0, nic), range.lkey, begin, buffer->size());
        if (!good) return good;
      }
    }
    const std::size_t keys = fakes.nic(0, 0).regions().size();
    if (auto ok = c.unregister_buffer(first.data()); !ok) return ok;
    for (std::uint32_t nic = 0; nic < kNics; ++nic) {
      if (fakes.nic(0, nic).regions().size() >= keys) return mismatch("a key is still there");
    }
    fakes.nic(0, 1).refuse("register_memory");
    const auto refused = c.register_buffer(first.data(), first.size());
    if (refused) return mismatch("NIC 1 has no key");
    EXPECT_EQ(refused.error().message(), "register_buffer: NIC 1: refused register_memory");
    EXPECT_EQ(fakes.nic(0, 0).regions().size(), keys - 1);
    return same(c.device_context().local_range_count, 1u, "buffers");
  });
}

// ---- Queues.

// Whether that queue, whose number is `number`, is of the NIC that this says, with its keys.
Result<void> expect_queue(FakeProvider& fakes, const QueueView& view, std::uint32_t number,
                          int my_pe) {
  const FakeOwner owner = FakeOwner::of(std::uint32_t{view.qpn_shifted} >> 8);
  const std::uint32_t place = number % kNics;
  if (auto ok = same(owner.place, place, "NIC of queue " + std::to_string(number)); !ok) return ok;
  FakeNic& nic = fakes.nic(my_pe, place);
  if (!nic.queues().contains(owner.number)) return mismatch("the NIC does not know the queue");
  const auto sink = reinterpret_cast<std::uint64_t>(view.sink);
  if (auto ok = covers(nic, view.sink_lkey, sink, sizeof *view.sink); !ok) return ok;
  const auto slots = reinterpret_cast<std::uint64_t>(view.fetch_slots);
  return covers(nic, view.fetch_lkey, slots, view.fetch_count * sizeof(FetchSlot));
}

// ... all queues that there are, and at the other end by the NIC of that place: a fake one connects
// with no other.
Result<void> expect_queues(Context& c, FakeProvider& fakes, std::uint32_t rows) {
  const DeviceContext device = c.device_context();
  if (auto ok = same(device.queue_count, rows, "queues to a peer"); !ok) return ok;
  const auto n = static_cast<std::uint32_t>(c.n_pes());
  for (std::uint32_t i = 0; i < rows * n; ++i) {
    if (device.queues[i].state == nullptr) continue;
    if (auto ok = expect_queue(fakes, device.queues[i], i / n, c.my_pe()); !ok) return ok;
  }
  return {};
}

TEST(SeveralNics, TakeTheQueuesToAPeerInTurn) {
  FakeProvider fakes(kNics);
  expect_job(2, options_of(), fakes, [&](Context& c) -> Result<void> {
    // Four were asked for, and each NIC has as many.
    if (auto ok = expect_queues(c, fakes, 6); !ok) return ok;
    if (auto ok = same(c.device_context().mapped_queues.count, 6u, "mapped queues"); !ok) return ok;
    for (std::uint32_t nic = 0; nic < kNics; ++nic) {
      const std::size_t queues = fakes.nic(c.my_pe(), nic).queues().size();
      if (auto ok = same(queues, std::size_t{4}, "queues of a NIC"); !ok) return ok;
    }
    for (const Sharing sharing : {Sharing::exclusive, Sharing::shared}) {
      if (auto added = c.add_queues(2, sharing); !added) return added.error();
    }
    if (auto ok = same(c.device_context().mapped_queues.count, 6u, "mapped queues"); !ok) return ok;
    return expect_queues(c, fakes, 10);
  });
}

TEST(SeveralNics, OfOneNicThereAreAsManyQueuesAsWereAskedFor) {
  FakeProvider fakes(1);
  expect_job(2, options_of(), fakes, [&](Context& c) -> Result<void> {
    const DeviceContext device = c.device_context();
    if (auto ok = same(device.heap.nics, 1u, "NICs"); !ok) return ok;
    if (auto ok = same(device.mapped_queues.count, 4u, "mapped queues"); !ok) return ok;
    return same(device.queue_count, 4u, "queues");
  });
}

TEST(SeveralNics, TakeTheQueuesToLaterPeersAsTheFirstOnes) {
  FakeProvider fakes(kNics);
  Options options = options_of();
  options.connect = "none";
  options.queues_per_peer = 1;
  expect_job(2, options, fakes, [&](Context& c) -> Result<void> {
    // Rows of two kinds, so that those behind the first do not begin with NIC 0.
    for (const Sharing sharing : {Sharing::exclusive, Sharing::shared, Sharing::exclusive}) {
      if (auto added = c.add_queues(2, sharing); !added) return added.error();
    }
    if (auto done = c.connect({0, 1}); !done) return done;
    for (std::uint32_t i = 0; i < 9 * 2; ++i) {
      if (c.device_context().queues[i].state == nullptr) return mismatch("not connected");
    }
    return expect_queues(c, fakes, 9);
  });
}

TEST(SeveralNics, TakeChannelsByTheirNumbers) {
  FakeProvider fakes(kNics);
  expect_job(2, options_of(), fakes, [&](Context& c) -> Result<void> {
    for (const std::uint32_t count : {2u, 3u}) {
      ChannelOptions wanted;
      wanted.count = count;
      wanted.receive_depth = 8;
      const auto channels = c.add_channels(wanted);
      if (!channels) return channels.error();
      for (std::uint32_t i = 0; i < count * 2; ++i) {
        const std::uint32_t number = channels->first + i / 2;
        const FakeOwner owner = FakeOwner::of(std::uint32_t{channels->queues[i].qpn_shifted} >> 8);
        if (auto ok = same(owner.place, number % kNics, "NIC of a channel"); !ok) return ok;
      }
    }
    return {};
  });
}

// As NICs name queue pairs in what they write there themselves.
TEST(SeveralNics, ATimelineHasTheQpnsOfQueues) {
  const std::string folder =
      testing::TempDir() + "gdakit-several-nics-" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  FakeProvider fakes(kNics);
  Options options = options_of();
  options.trace = folder;
  expect_job(1, options, fakes, [&](Context&) { return Result<void>(); });
  std::ifstream file(folder + "/pe0-host.trace", std::ios::binary);
  file.seekg(sizeof(TraceHeader));
  std::uint32_t names = 0;
  for (TraceRecord record; file.read(reinterpret_cast<char*>(&record), sizeof record);) {
    if (record.kind != TraceKind::queue_name) continue;
    EXPECT_EQ(FakeOwner::of(record.queue).place, record.index % kNics);
    ++names;
  }
  EXPECT_EQ(names, 6u);
  std::filesystem::remove_all(folder);
}

TEST(SeveralNics, WhoseQueuesCannotAllBeMadeHaveNoneOfThem) {
  FakeProvider fakes(kNics);
  expect_job(2, options_of(), fakes, [&](Context& c) -> Result<void> {
    if (c.my_pe() == 1) fakes.nic(1, 2).refuse("register_memory");
    for (std::uint32_t nic = 0; nic < kNics; ++nic) {
      EXPECT_EQ(fakes.nic(c.my_pe(), nic).queues().size(), 4u);
    }
    if (c.add_queues(3, Sharing::shared)) return mismatch("queues without keys");
    for (std::uint32_t nic = 0; nic < kNics; ++nic) {
      const std::size_t queues = fakes.nic(c.my_pe(), nic).queues().size();
      if (auto ok = same(queues, std::size_t{4}, "queues"); !ok) return ok;
    }
    return expect_queues(c, fakes, 6);
  });
}

// ---- DC.

TEST(SeveralNics, EachHasTheTargetsOfItsPlaceOnAllPes) {
  FakeProvider fakes(kNics);
  expect_job(3, options_of(QueueType::dc), fakes, [&](Context& c) -> Result<void> {
    if (auto ok = expect_queues(c, fakes, 6); !ok) return ok;
    if (auto added = c.add_queues(2, Sharing::shared); !added) return added.error();
    const DeviceContext device = c.device_context();
    for (std::uint32_t i = 0; i < 8 * 3; ++i) {
      const auto* const address =
          reinterpret_cast<const format::AvSegment*>(device.queues[i].address);
      if (address == nullptr) return mismatch("a queue without an address");
      const FakeOwner target = FakeOwner::of(address->dqp_dct);
      if (auto ok = same(target.place, i / 3 % kNics, "NIC of a target"); !ok) return ok;
      if (auto ok = same(target.pe, i % 3, "PE of a target"); !ok) return ok;
    }
    return expect_queues(c, fakes, 8);
  });
}

// Two from the start for each NIC, of which those that are added later take theirs.
TEST(SeveralNics, EachRowOfInitiatorsHasAddressesOfItsOwn) {
  FakeProvider fakes(kNics);
  expect_job(2, options_of(QueueType::dc), fakes, [&](Context& c) -> Result<void> {
    if (auto added = c.add_queues(3, Sharing::shared); !added) return added.error();
    const DeviceContext device = c.device_context();
    for (std::uint32_t i = 0; i < 9 * 2; ++i) {
      const auto* const address =
          reinterpret_cast<const format::AvSegment*>(device.queues[i].address);
      const std::uint32_t of_nic = i / 2 / kNics;
      if (auto ok = same(address->rlid, of_nic % 2 + 1, "address of a row"); !ok) return ok;
    }
    return {};
  });
}

TEST(SeveralNics, OneOfWhichMakesNoTargetEndTheJob) {
  FakeProvider fakes(kNics);
  fakes.before_use = [](FakeNic& nic, int pe, std::uint32_t place) {
    if (pe == 1 && place == 2) nic.refuse("dc_target");
  };
  const Result<void> done =
      test::run_job(2, options_of(QueueType::dc), fakes, [](Context&) { return Result<void>(); });
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(),
              testing::AnyOf(HasSubstr("DC target of NIC 2: refused dc_target"),
                             HasSubstr("PE 1 could not make its DC target: DC target of NIC 2")));
}

}  // namespace
}  // namespace gdakit
