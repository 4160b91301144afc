// Memory that a NIC does not let go of when a job ends: it stays where it is, for the NIC may still
// write there.
#include <cstdint>
#include <sys/mman.h>

#include "tests/support/job.h"
#include "tests/support/limited_backend.h"

namespace gdakit {
namespace {

using test::expect_job;
using test::job_options;

enum class Held { nothing, queues, keys };

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

bool is_mapped(std::uintptr_t address) {
  constexpr std::uintptr_t kPage = 4096;
  unsigned char in_memory = 0;
  return ::mincore(reinterpret_cast<void*>(address & ~(kPage - 1)), kPage, &in_memory) == 0;
}

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

TEST(HeldMemory, OfAQueueStaysMapped) {
  const Places places = after_a_job(Held::queues);
  EXPECT_FALSE(is_mapped(places.heap));
  EXPECT_TRUE(is_mapped(places.queue));
}

}  // namespace
}  // namespace gdakit
