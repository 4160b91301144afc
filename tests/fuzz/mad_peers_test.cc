// Single things that other PEs may give, and what comes of them.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include <gmock/gmock.h>

#include "backends/softnic/softnic_backend.h"
#include "core/host/memory/host_memory.h"
#include "core/host/queue_table.h"
#include "core/host/transport_map.h"
#include "tests/fuzz/mad_bootstrap.h"

namespace gdakit::fuzz {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Bytes as_it_is(Bytes blob) { return blob; }

// The error of the queues of PE 0, two to each of two PEs, where PE 1 changes its cards.
std::string queues_beside(const std::function<Bytes(Bytes)>& change) {
  HostMemoryProvider memory;
  Options options;
  options.queues_per_peer = 2;
  options.queue_depth = 64;
  MadBootstrap good(0, 2, as_it_is), mad(0, 2, change);
  const auto provider = softnic::make_loopback_provider();
  const auto backend = provider->open(options, good, memory);
  EXPECT_TRUE(backend);
  const auto queues = QueueTable::create(options, mad, **backend, memory, {0, 1});
  return queues ? "no error" : queues.error().message();
}

TEST(MadPeers, CardsOfAnotherLengthAreRefused) {
  EXPECT_EQ(queues_beside(as_it_is), "no error");
  for (const std::size_t size : {1, 13, 24, 26, 27, 48, 50}) {
    const auto resized = [size](Bytes blob) {
      if (blob.size() > sizeof(std::uint32_t)) blob.resize(size);  // what is a card, and no count
      return blob;
    };
    EXPECT_THAT(queues_beside(resized), HasSubstr("connection to PE 1: ")) << size;
  }
}

// Behind the byte that says that the peer has made its part, a card begins with the endpoint.
TEST(MadPeers, CardsOfEndpointsOutsideTheJobAreRefused) {
  for (const std::uint32_t endpoint : {2u, 63u, 64u, ~0u}) {
    const auto elsewhere = [endpoint](Bytes blob) {
      if (blob.size() > sizeof endpoint) std::memcpy(blob.data() + 1, &endpoint, sizeof endpoint);
      return blob;
    };
    EXPECT_THAT(queues_beside(elsewhere),
                AllOf(HasSubstr("connection to PE 1: "),
                      HasSubstr("endpoint " + std::to_string(endpoint) + ", where the job has 2")));
  }
}

TEST(MadPeers, ATextThatDoesNotEndIsCut) {
  HostMemoryProvider memory;
  Options options;
  options.transport = TransportChoice::direct;
  constexpr std::size_t kBusText = 32;  // the end of the card
  MadBootstrap bootstrap(0, 2, [](Bytes blob) {
    if (blob.size() > 200) std::fill_n(blob.end() - kBusText, kBusText, std::byte{'x'});
    return blob;
  });
  const auto provider = softnic::make_loopback_provider();
  const auto backend = provider->open(options, bootstrap, memory);
  ASSERT_TRUE(backend);
  const auto range = std::move(*memory.reserve(memory.granularity()));
  const auto map = TransportMap::create(options, bootstrap, **backend, memory, *range);
  ASSERT_TRUE(map) << map.error().message();
  ASSERT_TRUE((*map)->share(*range));
  EXPECT_EQ((*map)->describe(1),
            "the NIC: GPU  cannot reach the memory of GPU " + std::string(kBusText - 1, 'x'));
}

}  // namespace
}  // namespace gdakit::fuzz
