// Memory that a NIC does not let go of when a job ends: it stays where it is, for the NIC may still
// write there.
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <sys/mman.h>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/job.h"
#include "tests/support/limited_backend.h"

namespace gdakit {
namespace {

using test::expect_job;
using test::job_options;

enum class Held { nothing, queues, keys };

bool is_mapped(std::uintptr_t address) {
  constexpr std::uintptr_t kPage = 4096;
  unsigned char in_memory = 0;
  return ::mincore(reinterpret_cast<void*>(address & ~(kPage - 1)), kPage, &in_memory) == 0;
}

// Removes what it is told to, and says that the NIC did not come to it in time.
class HoldingBackend final : public test::LimitedBackend {
 public:
  HoldingBackend(std::unique_ptr<Backend> inner, Held held)
      : LimitedBackend(std::move(inner), {}), held_(held) {}

  Result<void> destroy_queue(QueueNumber queue) override {
    return late(Held::queues, LimitedBackend::destroy_queue(queue));
  }
  Result<void> deregister_memory(MemoryKeys keys) override {
    return late(Held::keys, LimitedBackend::deregister_memory(keys));
  }

 private:
  Result<void> late(Held what, Result<void> done) const {
    return done && held_ == what ? Error(Code::timed_out, "a peer still uses it") : done;
  }
  Held held_;
};

// Notes what is asked for once its memory has gone.
class WatchingBackend final : public test::LimitedBackend {
 public:
  WatchingBackend(std::unique_ptr<Backend> inner, std::vector<std::string>& late)
      : LimitedBackend(std::move(inner), {}), late_(late) {}

  Result<MemoryKeys> register_memory(void* base, std::uint64_t bytes, MemoryUse use) override {
    Result<MemoryKeys> keys = LimitedBackend::register_memory(base, bytes, use);
    if (keys) regions_[keys->lkey] = reinterpret_cast<std::uintptr_t>(base);
    return keys;
  }
  Result<void> deregister_memory(MemoryKeys keys) override {
    if (!is_mapped(regions_.at(keys.lkey))) late_.emplace_back("deregister_memory");
    return LimitedBackend::deregister_memory(keys);
  }
  Result<QueueResources> create_queue(const QueueMemory& memory) override {
    Result<QueueResources> queue = LimitedBackend::create_queue(memory);
    if (queue) queues_[queue->number] = reinterpret_cast<std::uintptr_t>(memory.slots);
    return queue;
  }
  Result<void> destroy_queue(QueueNumber queue) override {
    if (!is_mapped(queues_.at(queue))) late_.emplace_back("destroy_queue");
    ++destroyed_;
    return LimitedBackend::destroy_queue(queue);
  }
  ~WatchingBackend() override {
    if (destroyed_ == 0 || destroyed_ != queues_.size()) late_.emplace_back("never destroyed");
  }

 private:
  std::map<std::uint32_t, std::uintptr_t> regions_;  // by their lkeys
  std::map<QueueNumber, std::uintptr_t> queues_;
  std::size_t destroyed_ = 0;
  std::vector<std::string>& late_;
};

struct Places {
  std::uintptr_t heap = 0;
  std::uintptr_t queue = 0;
};

// Where they were on PE 0 of a job that has ended.
Places after_a_job(Held held) {
  test::WrappingProvider provider(
      [held](auto inner, int) { return std::make_unique<HoldingBackend>(std::move(inner), held); });
  Places places;
  expect_job(2, job_options(), provider, [&](Context& c) -> Result<void> {
    auto word = c.allocate<std::uint64_t>(1);
    if (!word) return word.error();
    if (c.my_pe() != 0) return {};
    places.heap = reinterpret_cast<std::uintptr_t>(*word);
    places.queue = reinterpret_cast<std::uintptr_t>(c.device_context().queues[1].slots);
    return {};
  });
  return places;
}

TEST(HeldMemory, IsGivenBackWhereTheNicLetsGo) {
  const Places places = after_a_job(Held::nothing);
  EXPECT_FALSE(is_mapped(places.heap));
  EXPECT_FALSE(is_mapped(places.queue));
}

TEST(HeldMemory, WhoseKeysAreHeldStaysMapped) {
  const Places places = after_a_job(Held::keys);
  EXPECT_TRUE(is_mapped(places.heap));
  EXPECT_TRUE(is_mapped(places.queue));
}

// A NIC that reaches memory that has gone writes to what the system has put there since.
TEST(HeldMemory, GoesBehindTheRegionsAndQueuesThatAreInIt) {
  std::array<std::vector<std::string>, 2> late;
  test::WrappingProvider provider([&late](auto inner, int pe) {
    return std::make_unique<WatchingBackend>(std::move(inner), late[static_cast<std::size_t>(pe)]);
  });
  std::array<std::vector<char>, 2> buffers{std::vector<char>(8192), std::vector<char>(8192)};
  expect_job(2, job_options(), provider, [&](Context& c) -> Result<void> {
    std::vector<char>& buffer = buffers[static_cast<std::size_t>(c.my_pe())];
    if (auto ok = c.register_buffer(buffer.data(), buffer.size()); !ok) return ok;
    const auto grown = c.allocate<char>(3 << 20);  // several chunks
    return grown ? Result<void>() : grown.error();
  });
  for (const std::vector<std::string>& of_pe : late) EXPECT_THAT(of_pe, testing::IsEmpty());
}

TEST(HeldMemory, OfAQueueStaysMapped) {
  const Places places = after_a_job(Held::queues);
  EXPECT_FALSE(is_mapped(places.heap));
  EXPECT_TRUE(is_mapped(places.queue));
}

}  // namespace
}  // namespace gdakit
