// A job of some hundred PEs in one process, by DC: so many NICs that each leaves cores to others.
#include <cstdint>

#include "core/base/annotate.h"
#include "tests/support/job.h"

namespace gdakit {
namespace {

using test::expect_job;

constexpr int kPes = kThreadSanitizer ? 80 : 200;
constexpr int kDistance = 67;

struct PutFarAway {
  std::uint64_t* word;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const int to = (pe.my_pe() + kDistance) % pe.n_pes();
    pe.put_value(word, static_cast<std::uint64_t>(pe.my_pe() + 1), to);
    pe.quiet();
  }
};

Options large_job() {
  Options options = test::job_options();
  options.device = DeviceChoice::cpu;
  options.backend = BackendChoice::softnic;
  options.transport = TransportChoice::nic;
  options.softnic_pes = kPes;
  options.queue_type = QueueType::dc;
  options.queue_depth = 64;
  options.fetch_slots = 32;
  options.symmetric_size = options.heap_chunk = 64 << 10;
  options.watchdog = options.timeout = std::chrono::minutes(2);
  return options;
}

TEST(LargeJob, OfDcHasFewQueuesAndReachesAll) {
  expect_job(kPes, large_job(), [](Context& context) -> Result<void> {
    EXPECT_LT(context.backend().count().queues.size(), 32u);
    const auto word = context.allocate<std::uint64_t>(1);
    if (!word) return word.error();
    if (auto met = context.barrier(); !met) return met;
    if (auto put = context.launch(PutFarAway{*word}, {.blocks = 1, .threads = 1}); !put) return put;
    if (auto met = context.barrier(); !met) return met;
    const int from = (context.my_pe() + kPes - kDistance) % kPes;
    EXPECT_EQ(**word, static_cast<std::uint64_t>(from + 1)) << "on PE " << context.my_pe();
    return {};
  });
}

}  // namespace
}  // namespace gdakit
