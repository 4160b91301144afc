// GDRCopy by a library double: what is mapped, and what the GPU DMA port does with it.
#include "backends/softnic/gpu/gdr_copy.h"

#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/gpu/gpu_port.h"
#include "tests/softnic/fake_gpu.h"

namespace gdakit::softnic {
namespace {

constexpr std::size_t kPage = 64 * 1024;

std::unique_ptr<GdrCopy> open_fake() {
  Result<std::unique_ptr<GdrCopy>> gdr = GdrCopy::open(GDAKIT_FAKE_GDRAPI);
  EXPECT_TRUE(gdr) << gdr.error().message();
  return gdr ? std::move(*gdr) : nullptr;
}

int pinned_ranges() {
  void* const library = dlopen(GDAKIT_FAKE_GDRAPI, RTLD_NOW);
  const int count = reinterpret_cast<int (*)()>(dlsym(library, "fake_gdr_pinned"))();
  dlclose(library);
  return count;
}

void refuse_to_pin(bool refuse) {
  void* const library = dlopen(GDAKIT_FAKE_GDRAPI, RTLD_NOW);
  reinterpret_cast<void (*)(bool)>(dlsym(library, "fake_gdr_refuse"))(refuse);
  dlclose(library);
}

std::uint64_t address_of(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

TEST(GdrCopy, SaysWhatIsMissing) {
  const Result<std::unique_ptr<GdrCopy>> gdr = GdrCopy::open("no-such-library.so");
  ASSERT_FALSE(gdr);
  EXPECT_EQ(gdr.error().code(), Code::unavailable);
  EXPECT_NE(gdr.error().message().find("no-such-library.so"), std::string::npos);
}

TEST(GdrCopy, RefusesALibraryOfAnotherKind) {
  const Result<std::unique_ptr<GdrCopy>> gdr = GdrCopy::open("libc.so.6");
  ASSERT_FALSE(gdr);
  EXPECT_EQ(gdr.error().code(), Code::unavailable);
}

TEST(GdrCopy, FindsWhatIsAttachedAsOftenAsItIs) {
  const std::unique_ptr<GdrCopy> gdr = open_fake();
  std::vector<std::byte> memory(4 * kPage);
  const std::uint64_t base = address_of(memory.data()) / kPage * kPage + kPage;
  auto* const first = reinterpret_cast<std::byte*>(base + 100);
  EXPECT_EQ(gdr->find(base + 100, 8), nullptr);
  gdr->attach(base + 100, 1000);
  gdr->attach(base + 200, 500);
  EXPECT_EQ(gdr->find(base + 100, 8), first);
  EXPECT_EQ(gdr->find(base + kPage - 4, 8), nullptr);
  EXPECT_EQ(gdr->find(base - 4, 8), nullptr);
  EXPECT_EQ(pinned_ranges(), 1);
  gdr->detach(base + 100, 1000);
  EXPECT_EQ(gdr->find(base + 100, 8), first);
  gdr->detach(base + 200, 500);
  EXPECT_EQ(gdr->find(base + 100, 8), nullptr);
  EXPECT_EQ(pinned_ranges(), 0);
}

TEST(GdrCopy, DetachOfWhatCouldNotBeMappedTakesNobodysMapping) {
  const std::unique_ptr<GdrCopy> gdr = open_fake();
  std::vector<std::byte> memory(4 * kPage);
  const std::uint64_t base = address_of(memory.data()) / kPage * kPage + kPage;
  refuse_to_pin(true);
  gdr->attach(base, 8);
  EXPECT_EQ(gdr->find(base, 8), nullptr);
  refuse_to_pin(false);
  gdr->attach(base + 64, 8);
  EXPECT_NE(gdr->find(base + 64, 8), nullptr);
  gdr->detach(base, 8);
  EXPECT_NE(gdr->find(base + 64, 8), nullptr);
  gdr->detach(base + 64, 8);
  EXPECT_EQ(gdr->find(base + 64, 8), nullptr);
  EXPECT_EQ(pinned_ranges(), 0);
}

TEST(GdrCopy, LeavesNothingPinned) {
  std::vector<std::byte> memory(4 * kPage);
  {
    const std::unique_ptr<GdrCopy> gdr = open_fake();
    gdr->attach(address_of(memory.data()), 10);
    EXPECT_EQ(pinned_ranges(), 1);
  }
  EXPECT_EQ(pinned_ranges(), 0);
}

// A port whose GPU memory is mapped, on a GPU double that does nothing until it is asked to.
struct Rig {
  Rig() : memory(4 * kPage) {
    auto device = std::make_unique<test::FakeGpu>();
    gpu = device.get();
    GpuPortOptions options;
    options.order = GpuOrder::create(std::move(device), {});
    options.gdr = open_fake();
    port = GpuPort::create(options);
    port->attach(at(0), memory.size() * 8);
  }
  DmaAddress at(std::size_t word) const {
    return {address_of(memory.data() + word) | kGpuMemoryBit};
  }
  void settle() {
    const DmaOp last = port->fence();
    for (int i = 0; i < 1000 && last.id != 0 && !port->done(last); ++i) {
      port->submit();
      gpu->step();
      port->poll();
    }
  }

  std::vector<std::uint64_t> memory;
  test::FakeGpu* gpu = nullptr;
  std::unique_ptr<GpuPort> port;
};

TEST(GdrCopy, SmallAccessesOfAttachedMemoryAreDoneAtOnce) {
  Rig rig;
  const std::uint64_t one = 1;
  std::uint64_t read = 0;
  format::Cqe64 cqe{};
  cqe.sop_drop_qpn = Be32{7};
  EXPECT_EQ(rig.port->write(rig.at(0), &one, sizeof one).id, 0u);
  EXPECT_EQ(rig.port->read(&read, rig.at(0), sizeof read).id, 0u);
  EXPECT_EQ(rig.port->write_cqe(rig.at(8), cqe).id, 0u);
  EXPECT_EQ(read, 1u);
  EXPECT_EQ(byte_swap(static_cast<std::uint32_t>(rig.memory[15])), 7u);
  EXPECT_EQ(rig.gpu->pending(), 0u);
}

TEST(GdrCopy, WritesBehindWorkOnItsWayKeepTheirOrder) {
  Rig rig;
  rig.memory[0] = 5;
  const std::uint64_t one = 1;
  rig.port->copy(rig.at(20000), rig.at(0), 16384);
  const DmaOp op = rig.port->write(rig.at(1), &one, sizeof one);
  EXPECT_NE(op.id, 0u);
  EXPECT_EQ(rig.memory[1], 0u);
  rig.settle();
  EXPECT_EQ(rig.memory[1], 1u);
  EXPECT_EQ(rig.memory[20000], 5u);
  EXPECT_EQ(rig.memory[20001], 0u);
}

TEST(GdrCopy, LargeAccessesAndDetachedMemoryGoTheOtherWays) {
  Rig rig;
  std::vector<std::uint64_t> words(1000, 3);
  EXPECT_NE(rig.port->write(rig.at(0), words.data(), 8000).id, 0u);
  EXPECT_NE(rig.port->read(words.data(), rig.at(0), 8000).id, 0u);
  rig.settle();
  EXPECT_EQ(rig.memory[999], 3u);
  rig.port->detach(rig.at(0), rig.memory.size() * 8);
  EXPECT_NE(rig.port->write(rig.at(0), words.data(), 8).id, 0u);
  rig.settle();
}

}  // namespace
}  // namespace gdakit::softnic
