// Pages of the device's file, which the NIC and its client both map.
#include "backends/softnic/uverbs/memory_pages.h"

#include <cstring>
#include <fcntl.h>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "core/format/doorbell.h"

namespace gdakit::softnic::uverbs {
namespace {

constexpr std::size_t kPage = format::kUarPageBytes;

// One page of the file as a client maps it.
class Mapped {
 public:
  Mapped(const MemoryPages& pages, std::uint64_t offset) {
    const UniqueFileDescriptor file(*pages.open_file());
    memory_ = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(),
                     static_cast<off_t>(offset));
  }
  ~Mapped() { ::munmap(memory_, kPage); }
  std::uint64_t& word() const { return *static_cast<std::uint64_t*>(memory_); }

 private:
  void* memory_;
};

std::uint64_t& word(void* page) { return *static_cast<std::uint64_t*>(page); }

TEST(UverbsMemoryPages, AClientSeesTheSamePage) {
  const auto pages = std::move(*MemoryPages::create());
  void* const first = *pages->take();
  void* const second = *pages->take();
  const Mapped client(*pages, pages->offset_of(first));
  client.word() = 7;
  EXPECT_EQ(word(first), 7u);
  EXPECT_EQ(word(second), 0u);
  word(first) = 8;
  EXPECT_EQ(client.word(), 8u);
  pages->give_back(first);
  pages->give_back(second);
}

TEST(UverbsMemoryPages, PlacesDifferAndLieBehindThoseOfCommands) {
  const auto pages = std::move(*MemoryPages::create());
  std::set<std::uint64_t> offsets;
  std::vector<void*> taken;
  for (int i = 0; i < 20; ++i) {
    taken.push_back(*pages->take());
    const std::uint64_t offset = pages->offset_of(taken.back());
    EXPECT_EQ(offset % kPage, 0u);
    EXPECT_GE(offset / kPage, std::uint64_t{1} << 24);
    EXPECT_TRUE(offsets.insert(offset).second);
  }
  for (void* const page : taken) pages->give_back(page);
}

TEST(UverbsMemoryPages, APageThatComesAgainIsZero) {
  const auto pages = std::move(*MemoryPages::create());
  void* const before = *pages->take();
  const std::uint64_t offset = pages->offset_of(before);
  std::memset(before, 0xff, kPage);
  pages->give_back(before);
  void* const again = *pages->take();
  EXPECT_EQ(pages->offset_of(again), offset);
  EXPECT_EQ(word(again), 0u);
  pages->give_back(again);
}

TEST(UverbsMemoryPages, AFixedPageIsWhereItWasAskedFor) {
  const auto pages = std::move(*MemoryPages::create());
  void* const page = *pages->map_at(0x700 * kPage, kPage);
  word(page) = 5;
  EXPECT_EQ(Mapped(*pages, 0x700 * kPage).word(), 5u);
  EXPECT_EQ(Mapped(*pages, 0x701 * kPage).word(), 0u);
}

TEST(UverbsMemoryPages, FilesAreOfTheirOwnAndGoWithAnExec) {
  const auto pages = std::move(*MemoryPages::create());
  const UniqueFileDescriptor one(*pages->open_file()), other(*pages->open_file());
  EXPECT_NE(one.get(), other.get());
  EXPECT_NE(::fcntl(one.get(), F_GETFD) & FD_CLOEXEC, 0);
  struct stat first {
  }, second{};
  ASSERT_EQ(::fstat(one.get(), &first), 0);
  ASSERT_EQ(::fstat(other.get(), &second), 0);
  EXPECT_EQ(first.st_ino, second.st_ino);
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
