#include "core/host/sharing/memory_sharing.h"

#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "core/host/bootstrap/same_on_all_pes.h"
#include "core/host/memory/host_memory.h"
#include "tests/host/bootstrap_job.h"

namespace gdakit {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using namespace testing_bootstrap;

constexpr std::uint64_t kReserved = 1 << 20;

std::uint64_t word_at(const AddressRange& range, std::uint64_t offset) {
  std::uint64_t word = 0;
  std::memcpy(&word, range.base() + offset, sizeof word);
  return word;
}

void store(AddressRange& range, std::uint64_t offset, std::uint64_t word) {
  std::memcpy(range.base() + offset, &word, sizeof word);
}

TEST(HostMemory, AChunkIsTheSameMemoryInAnotherRange) {
  HostMemoryProvider memory;
  const std::uint64_t page = memory.granularity();
  auto own = std::move(*memory.reserve(kReserved)), other = std::move(*memory.reserve(kReserved));
  ASSERT_TRUE(own->commit(page));
  ASSERT_TRUE(own->commit(2 * page));
  for (const std::uint64_t at : {std::uint64_t{0}, page}) {
    auto chunk = own->export_chunk(at);
    ASSERT_TRUE(chunk) << chunk.error().message();
    EXPECT_EQ(chunk->bytes, at == 0 ? page : 2 * page);
    ASSERT_TRUE(other->import_chunk(*chunk));
  }
  EXPECT_EQ(other->committed(), 3 * page);
  store(*own, page + 8, 42);
  store(*other, 2 * page, 43);
  EXPECT_EQ(word_at(*other, page + 8), 42u);
  EXPECT_EQ(word_at(*own, 2 * page), 43u);
  own.reset();
  EXPECT_EQ(word_at(*other, page + 8), 42u) << "it stays when its owner has gone";
}

TEST(HostMemory, OnlyWholeChunksAreExported) {
  HostMemoryProvider memory;
  const std::uint64_t page = memory.granularity();
  auto range = std::move(*memory.reserve(kReserved));
  EXPECT_FALSE(range->export_chunk(0));
  ASSERT_TRUE(range->commit(2 * page));
  EXPECT_FALSE(range->export_chunk(page));
  EXPECT_TRUE(range->export_chunk(0));
}

TEST(HostMemory, RefusesWhatWouldEndTheProcessWhenTouched) {
  HostMemoryProvider memory;
  const std::uint64_t page = memory.granularity();
  auto range = std::move(*memory.reserve(4 * page)), other = std::move(*memory.reserve(4 * page));
  ASSERT_TRUE(range->commit(page));
  SharedChunk chunk = std::move(*range->export_chunk(0));
  chunk.bytes = 2 * page;
  EXPECT_THAT(message_of(other->import_chunk(chunk)), HasSubstr("not a heap that has them"));
  chunk.bytes = page;
  chunk.offset = ~std::uint64_t{0} - page + 1;
  EXPECT_FALSE(other->import_chunk(chunk));
  SharedChunk unsealed{UniqueFileDescriptor(::memfd_create("test", MFD_CLOEXEC)), 0, page};
  ASSERT_EQ(::ftruncate(unsealed.descriptor.get(), static_cast<off_t>(page)), 0);
  EXPECT_FALSE(other->import_chunk(unsealed));
  chunk.offset = 0;
  chunk.bytes = 5 * page;
  EXPECT_THAT(message_of(other->import_chunk(chunk)), HasSubstr("reserved bytes are left"));
  chunk.bytes = page;
  EXPECT_TRUE(other->import_chunk(chunk));
}

// The system's own answer is SIGXFSZ.
TEST(HostMemory, AboveTheLimitOnFilesIsASentence) {
  HostMemoryProvider memory;
  const std::uint64_t page = memory.granularity();
  const auto range = std::move(*memory.reserve(4 * page));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit two_pages{2 * page, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &two_pages), 0);
  const Result<void> fits = range->commit(2 * page);
  const Result<void> above = range->commit(page);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_TRUE(fits) << message_of(fits);
  EXPECT_THAT(message_of(above), HasSubstr("raise it (ulimit -f)"));
  EXPECT_TRUE(range->commit(page));
}

void share_and_look(Bootstrap& bootstrap) {
  HostMemoryProvider memory;
  const std::uint64_t page = memory.granularity();
  const auto rank = static_cast<std::uint64_t>(bootstrap.rank());
  auto sharing = MemorySharing::open(bootstrap, memory, 20s);
  ASSERT_TRUE(sharing) << sharing.error().message();
  auto heap = std::move(*memory.reserve(kReserved));
  for (std::uint64_t growth = 0; growth < 3; ++growth) {
    ASSERT_TRUE(heap->commit(page));
    // A PE whose part of an earlier growth has succeeded where others failed has two chunks.
    if (growth == 1 && rank == 1) {
      ASSERT_TRUE(heap->commit(page));
    }
    store(*heap, growth * page, 100 * rank + growth);
    bool mapped = false;
    Result<void> shared = (*sharing)->share(*heap, [&] { mapped = true; });
    ASSERT_TRUE(shared) << shared.error().message();
    EXPECT_TRUE(mapped);
    for (int pe = 0; pe < bootstrap.size(); ++pe) {
      const AddressRange* const theirs = (*sharing)->peer(pe);
      if (pe == bootstrap.rank()) {
        EXPECT_EQ(theirs, nullptr);
        continue;
      }
      ASSERT_NE(theirs, nullptr);
      EXPECT_EQ(theirs->committed(), page * (growth + 1 + (growth >= 1 && pe == 1 ? 1 : 0)));
      EXPECT_EQ(word_at(*theirs, growth * page), 100 * static_cast<std::uint64_t>(pe) + growth);
    }
  }
  ASSERT_TRUE(bootstrap.barrier());
}

TEST(MemorySharing, EveryPeSeesWhatTheOthersGrow) {
  for (const int size : {2, 4}) {
    run_job(Wire::local, size, 20s,
            [](std::unique_ptr<Bootstrap> bootstrap) { share_and_look(*bootstrap); });
  }
}

// PEs 0 and 2 are of one group, and 1 and 3.
TEST(MemorySharing, APeSeesThoseOfItsGroupAlone) {
  run_job(Wire::local, 4, 20s, [](std::unique_ptr<Bootstrap> bootstrap) {
    HostMemoryProvider memory;
    const int rank = bootstrap->rank();
    std::vector<bool> group(4);
    for (std::size_t pe = 0; pe < 4; ++pe) group[pe] = pe % 2 == static_cast<std::size_t>(rank) % 2;
    auto sharing = MemorySharing::open(*bootstrap, memory, 20s, group);
    ASSERT_TRUE(sharing) << sharing.error().message();
    const std::uint64_t page = memory.granularity();
    auto mine = *memory.reserve(page);
    ASSERT_TRUE(mine->commit(page));
    std::memcpy(mine->base(), &rank, sizeof rank);
    ASSERT_TRUE((*sharing)->share(*mine, [] {}));
    for (int pe = 0; pe < 4; ++pe) {
      const AddressRange* const theirs = (*sharing)->peer(pe);
      const bool is_seen = pe != rank && pe % 2 == rank % 2;
      ASSERT_EQ(theirs != nullptr, is_seen) << pe;
      if (is_seen) {
        EXPECT_EQ(std::memcmp(theirs->base(), &pe, sizeof pe), 0);
      }
    }
    ASSERT_TRUE(bootstrap->barrier());
  });
}

// A provider whose ranges fail in one way or another.
class FaultyRange final : public AddressRange {
 public:
  FaultyRange(std::unique_ptr<AddressRange> inner, const char* fault)
      : AddressRange(inner->base(), inner->size()), inner_(std::move(inner)), fault_(fault) {}

  Result<void> commit(std::uint64_t bytes) override {
    if (std::strcmp(fault_, "commit") == 0) return Error(Code::exhausted, "no memory is left");
    Result<void> done = inner_->commit(bytes);
    committed_ = inner_->committed();
    return done;
  }
  Result<SharedChunk> export_chunk(std::uint64_t offset) override {
    return std::strcmp(fault_, "export") == 0 ? AddressRange::export_chunk(offset)
                                              : inner_->export_chunk(offset);
  }
  Result<void> import_chunk(const SharedChunk& chunk) override {
    if (std::strcmp(fault_, "import") == 0) return AddressRange::import_chunk(chunk);
    Result<void> done = inner_->import_chunk(chunk);
    committed_ = inner_->committed();
    // Another page in its place: as a handle that names something else would.
    if (done && std::strcmp(fault_, "content") == 0) {
      ::mmap(base_, chunk.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
             -1, 0);
    }
    return done;
  }

 private:
  std::unique_ptr<AddressRange> inner_;
  const char* fault_;
};

class FaultyMemory final : public MemoryProvider {
 public:
  explicit FaultyMemory(const char* fault) : fault_(fault) {}

  std::uint64_t granularity() const override { return host_.granularity(); }
  Result<std::unique_ptr<MemoryBlock>> allocate(std::uint64_t bytes, Place place) override {
    return host_.allocate(bytes, place);
  }
  Result<std::unique_ptr<AddressRange>> reserve(std::uint64_t bytes) override {
    if (std::strcmp(fault_, "reserve") == 0) return Error(Code::exhausted, "no addresses are left");
    auto range = host_.reserve(bytes);
    if (!range) return range;
    return std::unique_ptr<AddressRange>(std::make_unique<FaultyRange>(std::move(*range), fault_));
  }
  Result<void> copy(void* to, const void* from, std::uint64_t bytes) override {
    return host_.copy(to, from, bytes);
  }

 private:
  HostMemoryProvider host_;
  const char* fault_;
};

TEST(MemorySharing, APeThatCannotTakePartIsNamedOnEveryPe) {
  struct Fault {
    const char* where;
    const char* message;
  };
  for (const Fault& fault :
       {Fault{"reserve", "no addresses are left"}, Fault{"commit", "no memory is left"},
        Fault{"export", "cannot be shared"}, Fault{"import", "memory of PE 0"},
        Fault{"content", "does not hold what that PE has written"}}) {
    run_job(Wire::local, 3, 20s, [&](std::unique_ptr<Bootstrap> bootstrap) {
      HostMemoryProvider good;
      FaultyMemory bad(fault.where);
      MemoryProvider* const memory =
          bootstrap->rank() == 2 ? static_cast<MemoryProvider*>(&bad) : &good;
      auto sharing = MemorySharing::open(*bootstrap, *memory, 20s);
      EXPECT_THAT(message_of(sharing), AllOf(HasSubstr("PE 2: "), HasSubstr(fault.message)))
          << fault.where;
      // The job goes on: the PEs still agree on where they are.
      EXPECT_TRUE(bootstrap->barrier());
    });
  }
}

// PE 1 takes part in all that PE 0 does, and gives nothing.
TEST(MemorySharing, APeThatGivesNoMemoryIsNamed) {
  run_job(Wire::local, 2, 20s, [](std::unique_ptr<Bootstrap> bootstrap) {
    if (bootstrap->rank() == 0) {
      HostMemoryProvider memory;
      EXPECT_THAT(message_of(MemorySharing::open(*bootstrap, memory, 20s)),
                  HasSubstr("PE 1 gave no memory to try it with"));
      return;
    }
    auto exchange = HandleExchange::open(*bootstrap, 20s);
    ASSERT_TRUE(exchange);
    EXPECT_TRUE(all_succeed(*bootstrap, {}));
    EXPECT_TRUE((*exchange)->exchange({}));
    EXPECT_TRUE(all_succeed(*bootstrap, {}));
    EXPECT_FALSE(all_succeed(*bootstrap, {}));
  });
}

TEST(MemorySharing, AGrowthThatFailsOnOnePeFailsOnAllAndForEver) {
  run_job(Wire::local, 3, 20s, [](std::unique_ptr<Bootstrap> bootstrap) {
    HostMemoryProvider memory;
    auto sharing = MemorySharing::open(*bootstrap, memory, 20s);
    ASSERT_TRUE(sharing) << sharing.error().message();
    const char* const fault = bootstrap->rank() == 1 ? "export" : "none";
    FaultyRange heap(std::move(*memory.reserve(kReserved)), fault);
    ASSERT_TRUE(heap.commit(memory.granularity()));
    for (int i = 0; i < 2; ++i) {
      EXPECT_THAT(message_of((*sharing)->share(heap, [] {})), HasSubstr("PE 1: "));
    }
    EXPECT_TRUE(bootstrap->barrier());
  });
}

}  // namespace
}  // namespace gdakit
