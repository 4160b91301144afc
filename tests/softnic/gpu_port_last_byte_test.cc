// The end of a message as a client of the GPU DMA port sees it: nothing of the message is missing
// once its last byte is there. The double stores from the last word to the first what has no order.
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/gpu/gpu_port.h"
#include "tests/softnic/fake_gpu.h"

namespace gdakit::softnic {
namespace {

using test::FakeGpu;
using test::make_port;
using test::on_gpu;
using test::on_host;
using test::on_pinned;

struct Method {
  const char* name;
  bool kernels;
  std::uint32_t engine_ops;
  bool room;  // for kernels
};

// Messages of ones to memory of zeros; after each store the double asks whether the end came early.
class LastByte : public testing::TestWithParam<Method> {
 protected:
  static constexpr std::size_t kLongest = (1u << 20) + 64;

  void SetUp() override {
    GpuOrderOptions options;
    options.kernels = GetParam().kernels;
    options.engine_ops = GetParam().engine_ops;
    options.stuck_ns = 0;
    auto device = std::make_unique<FakeGpu>();
    gpu_ = device.get();
    gpu_->room = GetParam().room;
    order_ = GpuOrder::create(std::move(device), options);
    port_ = make_port(order_, std::make_shared<std::atomic<bool>>(false));
  }
  void TearDown() override {
    gpu_->look = nullptr;
    gpu_->room = true;
    settle();
    port_.reset();
  }
  void settle() {
    const DmaOp last = port_->fence();
    for (int i = 0; i < 100000 && last.id != 0 && !port_->done(last); ++i) {
      port_->submit();
      gpu_->step();
      port_->poll();
    }
    ASSERT_TRUE(last.id == 0 || port_->done(last));
  }

  // `queue(to, from)` queues the operations of one message.
  template <class Queue>
  void check(std::size_t shift, std::size_t size, const std::string& what, const Queue& queue) {
    std::uint8_t* const begin = to_.data() + shift;
    std::fill_n(begin, size, std::uint8_t{0});
    bool arrived = false;
    std::size_t missing = 0;
    gpu_->look = [&] {
      if (arrived || begin[size - 1] == 0) return;
      arrived = true;
      missing = static_cast<std::size_t>(std::count(begin, begin + size, std::uint8_t{0}));
    };
    queue(begin, from_.data() + 3);
    settle();
    gpu_->look = nullptr;
    EXPECT_TRUE(arrived) << what << ": " << size << " at " << shift;
    EXPECT_EQ(missing, 0u) << what << ": " << size << " at " << shift;
    EXPECT_EQ(std::count(begin, begin + size, std::uint8_t{1}), static_cast<std::ptrdiff_t>(size));
  }
  void check_every_way(std::size_t shift, std::size_t size) {
    check(shift, size, "write",
          [&](auto* to, const auto* from) { port_->write_last(on_gpu(to), from, size); });
    check(shift, size, "copy within the GPU",
          [&](auto* to, const auto* from) { port_->copy_last(on_gpu(to), on_gpu(from), size); });
    check(shift, size, "copy from pinned memory",
          [&](auto* to, const auto* from) { port_->copy_last(on_gpu(to), on_pinned(from), size); });
    if (!only_kernels_order(shift, size)) {
      check(shift, size, "copy from host memory",
            [&](auto* to, const auto* from) { port_->copy_last(on_gpu(to), on_host(from), size); });
    }
    check(shift, size, "copy to pinned memory",
          [&](auto* to, const auto* from) { port_->copy_last(on_pinned(to), on_gpu(from), size); });
    check(shift, size, "copy to host memory",
          [&](auto* to, const auto* from) { port_->copy_last(on_host(to), on_gpu(from), size); });
  }
  // One message behind the other, each of so many packets of equal size.
  void check_order(const std::vector<std::size_t>& sizes, std::size_t packets = 1) {
    std::fill(to_.begin(), to_.end(), std::uint8_t{0});
    std::vector<std::uint8_t*> begins{to_.data()};
    for (const std::size_t size : sizes) begins.push_back(begins.back() + size);
    std::size_t begun = 0;  // so many messages are whole, or have a byte that is seen
    gpu_->look = [&] {
      if (begun == sizes.size() || !any_of(begins[begun], sizes[begun])) return;
      ++begun;
      EXPECT_EQ(std::count(to_.data(), begins[begun - 1], std::uint8_t{0}), 0)
          << "when message " << begun << " of sizes " << testing::PrintToString(sizes) << " began";
    };
    for (std::size_t i = 0; i != sizes.size(); ++i) {
      const std::size_t packet = sizes[i] / packets;
      for (std::size_t at = 0; at != sizes[i]; at += packet) {
        const auto copy = at + packet == sizes[i] ? &GpuPort::copy_last : &GpuPort::copy;
        (port_.get()->*copy)(on_gpu(begins[i] + at), on_gpu(from_.data()), packet);
      }
    }
    settle();
    gpu_->look = nullptr;
    EXPECT_EQ(begun, sizes.size());
    EXPECT_EQ(std::count(to_.data(), begins.back(), std::uint8_t{1}), begins.back() - to_.data());
  }
  // A few of its bytes, one in each part that may be stored as a whole.
  static bool any_of(const std::uint8_t* message, std::size_t size) {
    for (std::size_t i = 0; i <= 16; ++i) {
      if (message[i * (size - 1) / 16] != 0) return true;
    }
    return message[size - 9] != 0;
  }
  // Two words of 1 or 2 bytes, which a kernel alone puts in order, and only where it reaches them.
  static bool only_kernels_order(std::size_t shift, std::size_t size) {
    const std::size_t word = shift % 2 != 0 ? 1 : 2;
    return shift % (2 * word) != 0 && size == 2 * word;
  }
  bool by_engine_alone() const { return !GetParam().kernels || !GetParam().room; }

  std::vector<std::uint8_t> to_ = std::vector<std::uint8_t>(kLongest + 64);
  const std::vector<std::uint8_t> from_ = std::vector<std::uint8_t>(kLongest + 64, 1);
  FakeGpu* gpu_ = nullptr;
  std::shared_ptr<GpuOrder> order_;
  std::unique_ptr<GpuPort> port_;
};

INSTANTIATE_TEST_SUITE_P(GpuPort, LastByte,
                         testing::Values(Method{"Automatic", true, 3, true},
                                         Method{"CopyEngine", false, 3, true},
                                         Method{"Kernels", true, 0, true},
                                         Method{"KernelsWithoutRoom", true, 0, false}),
                         [](const auto& method) { return std::string(method.param.name); });

TEST_P(LastByte, OfAShortMessageIsSeenLastWhereverItBegins) {
  for (std::size_t size = 1; size <= 72; ++size) {
    for (std::size_t shift = 0; shift < 9; ++shift) {
      if (by_engine_alone() && only_kernels_order(shift, size)) continue;
      check_every_way(shift, size);
    }
  }
}

TEST_P(LastByte, OfALongMessageIsSeenLast) {
  for (const std::size_t size : {128u, 256u, 4096u, 9000u, (32u << 10) - 8, 32u << 10, 64u << 10,
                                 (512u << 10) + 16, 1u << 20}) {
    for (const std::size_t shift : {0u, 4u, 7u}) check_every_way(shift, size);
  }
}

// Large copies of a chain go side by side, unless they are marked.
TEST_P(LastByte, IsSeenAfterAllOfTheMessageAndOfThoseBefore) {
  for (const std::size_t piece : {128u, 9000u, 100000u}) {
    check(8, 4 * piece, "message in four packets", [&](auto* to, const auto* from) {
      for (std::size_t at = 0; at != 3 * piece; at += piece) {
        port_->copy(on_gpu(to + at), on_gpu(from + at), piece);
      }
      port_->copy_last(on_gpu(to + 3 * piece), on_gpu(from + 3 * piece), piece);
    });
    check(8, 4 * piece, "four messages", [&](auto* to, const auto* from) {
      for (std::size_t at = 0; at != 4 * piece; at += piece) {
        port_->copy_last(on_gpu(to + at), on_gpu(from + at), piece);
      }
    });
  }
}

// Large messages, too, which helper kernels spread over the GPU.
TEST_P(LastByte, NoByteOfAMessageIsSeenBeforeTheOneBeforeItIsWhole) {
  check_order({128, 128, 128});
  check_order({9000, 9000, 9000});
  check_order({100000, 9000, 100000});
  check_order({9000, 100, 70000, 100000, 65536});
  check_order({200000, 200000, 200000, 200000});
}

TEST_P(LastByte, SoIsTheOrderOfMessagesInSeveralPackets) {
  check_order({20000, 20000, 20000, 20000, 20000}, /*packets=*/2);
  check_order({140000, 140000, 140000}, /*packets=*/2);
}

TEST_P(LastByte, MessagesThatReadWhatOthersBeforeThemWriteDoSoInOrder) {
  for (const std::size_t size : {128u, 9000u, 100000u, 200000u}) {
    std::fill_n(to_.data(), 4 * size, std::uint8_t{0});
    port_->copy_last(on_gpu(to_.data()), on_gpu(from_.data()), size);
    for (std::size_t i = 1; i != 4; ++i) {
      port_->copy_last(on_gpu(to_.data() + i * size), on_gpu(to_.data() + (i - 1) * size), size);
    }
    settle();
    EXPECT_EQ(std::count_if(to_.begin(), to_.begin() + static_cast<std::ptrdiff_t>(4 * size),
                            [](std::uint8_t byte) { return byte == 1; }),
              static_cast<std::ptrdiff_t>(4 * size));
  }
}

// So the double shows what is missing, and copies that are not marked pay for no order.
TEST_P(LastByte, OfAnUnmarkedCopyHasNoOrder) {
  std::uint8_t* const begin = to_.data();
  std::fill_n(begin, 128, std::uint8_t{0});
  bool early = false;
  gpu_->look = [&] { early |= begin[127] != 0 && begin[0] == 0; };
  port_->copy(on_gpu(begin), on_gpu(from_.data()), 128);
  settle();
  EXPECT_TRUE(early);
}

TEST_P(LastByte, SeveralChainsLastWordsGoInOneLaunch) {
  constexpr std::size_t kSize = kGpuChunkBytes + 1000;  // several blocks copy it
  const std::uint64_t before = order_->counts().launches;
  for (std::size_t i = 0; i != 24; ++i) {
    port_->order_chain(i % 3);
    port_->copy_last(on_gpu(to_.data() + i * kSize), on_gpu(from_.data()), kSize);
  }
  settle();
  EXPECT_EQ(std::count(to_.begin(), to_.end(), std::uint8_t{1}), 24 * kSize);
  if (!by_engine_alone()) {
    EXPECT_EQ(order_->counts().launches - before, 1u);
  }
}

}  // namespace
}  // namespace gdakit::softnic
