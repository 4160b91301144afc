#include <memory>

#include "backends/softnic/softnic_backend.h"
#include "core/host/memory/host_memory.h"
#include "core/host/queue_table.h"
#include "core/host/symmetric_heap.h"
#include "tests/fuzz/exchanges.h"
#include "tests/fuzz/mad_bootstrap.h"

namespace gdakit::fuzz {
namespace {

using namespace std::chrono_literals;

template <class T>
std::string check_error(const Result<T>& result) {
  return result || !result.error().message().empty() ? "" : "an error without a sentence";
}

Options some_options(softnic::test::Input& input) {
  Options options;
  options.symmetric_size = 1 << 16;
  options.heap_chunk = 1 << 16;
  options.heap_limit = 1 << 18;
  options.queue_depth = 64;
  options.timeout = 3ms;
  options.log = LogLevel::error;
  options.transport = static_cast<TransportChoice>(input.below(3));
  options.payload = static_cast<PayloadPath>(input.below(2));
  if (input.below(4) == 3) {
    options.nic_address = "127.0.0.1:0";
    options.nic_near = static_cast<NearWire>(input.below(3));
  }
  return options;
}

std::string use(const Options& options, Bootstrap& bootstrap, Backend& backend,
                MemoryProvider& memory) {
  auto heap = SymmetricHeap::create(options, bootstrap, backend, memory);
  if (!heap) return check_error(heap);
  const Result<void*> object = (*heap)->allocate(1 << 17);
  if (object && !(*heap)->contains(*object)) return "an object outside the heap";
  auto queues = QueueTable::create(options, bootstrap, backend, memory, {0, 1});
  if (!queues) return check_error(object) + check_error(queues);
  const Result<std::uint32_t> more = (*queues)->add(2, Sharing::shared);
  const Result<void> last = (*queues)->connect({2});
  return check_error(object) + check_error(more) + check_error(last);
}

}  // namespace

std::string play_cards(Input bytes) {
  softnic::test::Input input(bytes.data(), bytes.size());
  HostMemoryProvider memory;
  const Options options = some_options(input);
  const bool processes = input.below(2) == 1;
  const int rank = static_cast<int>(input.below(2));
  MadBootstrap bootstrap(rank, 3,
                         [&input](Bytes blob) { return changed_by(input, std::move(blob)); });
  const std::unique_ptr<BackendProvider> provider =
      processes ? softnic::make_processes_provider() : softnic::make_loopback_provider();
  auto backend = provider->open(options, bootstrap, memory);
  return backend ? use(options, bootstrap, **backend, memory) : check_error(backend);
}

std::vector<Seed> card_seeds() {
  // The transport's choice, the payload's path, no address, or one and how near NICs meet; loopback
  // or processes; rank.
  const Seed direct = {2, 0, 1, 0, 0, 0, 0, 0, 0, 0}, by_nic = {1, 0, 1, 0, 0, 0, 0, 0, 1, 0};
  std::vector<Seed> seeds = {direct, by_nic, Seed{1, 0, 0, 0, 0, 0, 1, 0, 0, 0},
                             Seed{2, 0, 1, 0, 3, 0, 0, 0, 0, 0, 1, 0},
                             Seed{2, 0, 1, 0, 3, 0, 1, 0, 1, 0, 1, 0}};
  // The n-th thing that a peer gives is changed in one of its bytes.
  for (std::uint8_t n = 0; n < 40; ++n) {
    Seed seed = direct;
    seed.resize(seed.size() + 2 * n);
    seed.insert(seed.end(), {4, 0, static_cast<std::uint8_t>(3 * n), 0, 0xff});
    seeds.push_back(seed);
  }
  return seeds;
}

}  // namespace gdakit::fuzz
