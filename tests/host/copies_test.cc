// Context::upload and download: what they refuse instead of touching it.
#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/job.h"

namespace gdakit {
namespace {

using test::expect_job;
using test::job_options;
using test::mismatch;
using testing::HasSubstr;

// ok if the copy is refused in these words.
Result<void> refused(const Result<void>& copied, const std::string& call,
                     const std::string& words) {
  if (copied) return mismatch(call + " was not refused: " + words);
  const std::string& message = copied.error().message();
  EXPECT_EQ(copied.error().code(), Code::invalid_argument) << message;
  EXPECT_THAT(message, HasSubstr(call));
  EXPECT_THAT(message, HasSubstr(words));
  return {};
}

TEST(Copies, AreRefusedOutsideTheHeapAndRegisteredBuffers) {
  expect_job(1, job_options(), [](Context& c) -> Result<void> {
    int here[4] = {1, 2, 3, 4};
    auto* const nowhere = reinterpret_cast<int*>(0x1234);
    const std::string outside = "they are neither in the symmetric heap nor in a registered buffer";
    auto done = refused(c.upload(nowhere, here, 4),
                        "upload of 4 elements of 4 bytes to address 0x1234: ", outside);
    if (!done) return done;
    done = refused(c.download(here, nowhere, 4),
                   "download of 4 elements of 4 bytes from address 0x1234: ", outside);
    if (!done) return done;
    std::vector<int> stranger(4);
    if (done = refused(c.upload(stranger.data(), here, 4), "upload", outside); !done) return done;
    if (done = c.register_buffer(stranger.data(), 16); !done) return done;
    if (done = c.upload(stranger.data(), here, 4); !done) return done;
    if (stranger[3] != 4) return mismatch("it did not arrive");
    done = refused(c.upload(stranger.data() + 2, here, 4), "upload",
                   "reach 8 bytes over the end of a registered buffer of 16 bytes; stay within");
    if (!done) return done;
    if (done = c.unregister_buffer(stranger.data()); !done) return done;
    return refused(c.download(here, stranger.data(), 4), "download", outside);
  });
}

TEST(Copies, AreRefusedPastTheEndOfAnObjectAndAfterItsFree) {
  expect_job(2, job_options(), [](Context& c) -> Result<void> {
    auto counts = c.allocate<int>(10, "counts");
    auto other = c.allocate<int>(10, "other");
    if (!counts || !other) return mismatch("allocate");
    std::vector<int> here(20);
    if (auto done = c.upload(*counts + 6, here.data(), 4); !done) return done;
    auto done = refused(c.upload(*counts + 6, here.data(), 5), "upload of 5 elements of 4 bytes",
                        "they begin at 'counts' (40 bytes) + 24 and reach 4 bytes over its end");
    if (!done) return done;
    done = refused(c.download(here.data(), *counts + 10, 1), "download of 1 elements of 4 bytes",
                   "they lie right behind 'counts' (40 bytes)");
    if (!done) return done;
    if (done = c.free(*counts); !done) return done;
    return refused(c.download(here.data(), *counts + 1, 1), "download",
                   "they lie in 'counts' (40 bytes, freed) + 4");
  });
}

TEST(Copies, AreRefusedWhereTheHostHasNoMemory) {
  expect_job(1, job_options(), [](Context& c) -> Result<void> {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    auto object = c.allocate<char>(2 * page);
    if (!object) return object.error();
    void* const pages =
        ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return Error::from_errno("mmap", errno);
    char* const bytes = static_cast<char*>(pages);
    if (::munmap(bytes + page, page) != 0) return Error::from_errno("munmap", errno);
    if (auto done = c.upload(*object, bytes, page); !done) return done;
    const std::string words = "are memory of this process; give as many as are copied";
    auto done = refused(c.upload(*object, bytes, page + 1), "upload", words);
    if (!done) return done;
    if (done = refused(c.download(bytes + page - 1, *object, 2), "download", words); !done) {
      return done;
    }
    const char* const null = nullptr;
    if (done = refused(c.upload(*object, null, 1), "upload", words); !done) return done;
    const auto far = reinterpret_cast<const char*>(~std::uintptr_t{0} - 4);
    if (done = refused(c.upload(*object, far, 8), "upload", words); !done) return done;
    ::munmap(bytes, page);
    return c.upload(*object, null, 0);  // nothing, from nowhere
  });
}

TEST(Copies, AreRefusedWhoseBytesCannotBeCounted) {
  expect_job(1, job_options(), [](Context& c) -> Result<void> {
    auto object = c.allocate<std::uint64_t>(1);
    if (!object) return object.error();
    std::uint64_t here = 0;
    return refused(c.upload(*object, &here, ~std::size_t{0} / 4), "upload",
                   "is more than there is memory");
  });
}

TEST(Copies, ReachWhatADirectPeerShows) {
  Options options = job_options();
  options.transport = TransportChoice::direct;
  expect_job(2, options, [](Context& c) -> Result<void> {
    auto number = c.allocate<int>(1, "number");
    if (!number) return number.error();
    const int mine = 7 + c.my_pe();
    if (auto done = c.upload(*number, &mine, 1); !done) return done;
    if (auto met = c.barrier(); !met) return met;
    const int* const theirs = c.ptr(*number, 1 - c.my_pe());
    if (theirs == nullptr) return mismatch("the other PE is no direct peer");
    int got = 0;
    if (auto done = c.download(&got, theirs, 1); !done) return done;
    if (got != 8 - c.my_pe()) return mismatch("another number than the peer's");
    return refused(c.download(&got, theirs + 1, 1), "download", "right behind 'number' (4 bytes)");
  });
}

}  // namespace
}  // namespace gdakit
