#include "backends/softnic/dma/host_dma.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/annotate.h"

namespace gdakit::softnic {
namespace {

TEST(HostDma, MovesAnySizeFromAndToAnyPlace) {
  HostDma dma;
  for (std::size_t size = 0; size < 40; ++size) {
    for (std::size_t shift = 0; shift < 9; ++shift) {
      alignas(8) std::array<std::uint8_t, 64> from;
      alignas(8) std::array<std::uint8_t, 64> copied{}, written{}, read{};
      std::iota(from.begin(), from.end(), std::uint8_t{1});
      dma.copy(host_address(copied.data() + shift), host_address(from.data() + 3), size);
      dma.write(host_address(written.data() + shift), from.data() + 3, size);
      dma.read(read.data() + shift, host_address(from.data() + 3), size);
      std::array<std::uint8_t, 64> expected{};
      std::memcpy(expected.data() + shift, from.data() + 3, size);
      ASSERT_EQ(copied, expected) << size << " at " << shift;
      ASSERT_EQ(written, expected) << size << " at " << shift;
      ASSERT_EQ(read, expected) << size << " at " << shift;
    }
  }
}

TEST(HostDma, AFlagIsSeenAfterWhatWasWrittenBefore) {
  HostDma dma;
  std::vector<std::uint64_t> payload(512, 0);
  std::vector<std::uint64_t> source(512);
  alignas(8) std::uint64_t flag = 0;
  std::thread reader([&] {
    for (std::uint64_t round = 1; round <= 200; ++round) {
      while (__atomic_load_n(&flag, __ATOMIC_ACQUIRE) != round) std::this_thread::yield();
      for (const std::uint64_t word : payload) ASSERT_EQ(word, round);
      __atomic_store_n(&flag, 0, __ATOMIC_RELEASE);
    }
  });
  for (std::uint64_t round = 1; round <= 200; ++round) {
    std::fill(source.begin(), source.end(), round);
    dma.copy(host_address(payload.data()), host_address(source.data()), payload.size() * 8);
    dma.write(host_address(&flag), &round, sizeof round);
    while (__atomic_load_n(&flag, __ATOMIC_ACQUIRE) != 0) std::this_thread::yield();
  }
  reader.join();
}

// Clients poll the last word of a message.
TEST(HostDma, TheLastWordIsSeenLast) {
  // A word that is stored anew byte by byte, say 0x1ff by 0x200, looks older for a moment.
  if (kAddressSanitizer) GTEST_SKIP() << "the sanitizer's memmove stores single bytes";
  HostDma dma;
  constexpr std::uint32_t kRounds = kThreadSanitizer ? 100'000 : 3'000'000;
  constexpr std::size_t kWords = 64;
  alignas(64) std::array<std::uint32_t, kWords> place{};
  alignas(64) std::array<std::uint32_t, kWords> source{};
  std::atomic<bool> reading{false};
  std::atomic<std::uint64_t> older{0};
  std::thread reader([&] {
    std::uint32_t last = 0;
    while (last != kRounds) {
      last = __atomic_load_n(&place[kWords - 1], __ATOMIC_ACQUIRE);
      for (std::uint32_t& word : place) older += __atomic_load_n(&word, __ATOMIC_RELAXED) < last;
      reading = true;
    }
  });
  while (!reading) std::this_thread::yield();
  for (std::uint32_t round = 1; round <= kRounds; ++round) {
    source.fill(round);
    dma.copy(host_address(place.data()), host_address(source.data()), sizeof source);
  }
  reader.join();
  EXPECT_EQ(older, 0u);
}

TEST(HostDma, ACqeIsWholeOnceItsTailIsSeen) {
  HostDma dma;
  alignas(64) std::array<std::uint64_t, 8> place{};
  constexpr std::uint32_t kRounds = 2000;
  std::thread reader([&] {
    std::uint32_t last = 0;
    while (last != kRounds) {
      const std::uint64_t tail = __atomic_load_n(&place[7], __ATOMIC_ACQUIRE);
      const std::uint64_t head = __atomic_load_n(&place[0], __ATOMIC_RELAXED);
      const std::uint32_t in_tail = byte_swap(static_cast<std::uint32_t>(tail));
      // The head may be of a later CQE, never of an earlier one.
      ASSERT_LE(in_tail, head);
      ASSERT_LE(last, in_tail);
      last = in_tail;
    }
  });
  for (std::uint32_t round = 1; round <= kRounds; ++round) {
    format::Cqe64 cqe{};
    const std::uint64_t head = round;
    std::memcpy(&cqe, &head, sizeof head);
    cqe.sop_drop_qpn = Be32{round};
    dma.write_cqe(host_address(place.data()), cqe);
  }
  reader.join();
}

}  // namespace
}  // namespace gdakit::softnic
