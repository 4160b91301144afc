// Frames that no PE sends, and how the hub takes them.
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/host/bootstrap/tcp_wire.h"
#include "tests/host/raw_client.h"

namespace gdakit::testing_bootstrap {
namespace {

using tcp_wire::FrameHeader;
using tcp_wire::FrameType;
using testing::AllOf;
using testing::HasSubstr;

TEST(TcpBootstrap, AMessageThatIsTooLongIsRefusedByItsHeader) {
  EXPECT_THAT(barrier_beside([](const TcpJob& job) {
                const auto client = join_raw(job);
                client->send(header_of(kBarrier, 1, std::uint64_t{1} << 62));
                FrameHeader answer{};
                EXPECT_FALSE(client->receive(answer));
              }),
              AllOf(HasSubstr("PE 1 broke the bootstrap's protocol"),
                    HasSubstr("a message of 4611686018427387904 bytes")));
}

TEST(TcpBootstrap, AnAbortThatIsTooLongIsRefusedByItsHeader) {
  EXPECT_THAT(barrier_beside([](const TcpJob& job) {
                const auto client = join_raw(job);
                client->send(header_of(static_cast<std::uint32_t>(FrameType::abort), 0,
                                       tcp_wire::kMaxTextBytes + 1));
                FrameHeader answer{};
                EXPECT_FALSE(client->receive(answer));
              }),
              HasSubstr("a message of 4097 bytes where at most 4096 are allowed"));
}

// Of this process.
std::uint64_t resident_bytes() {
  std::uint64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

TEST(TcpBootstrap, AHeaderAloneTakesNoMemory) {
  constexpr std::uint64_t kMuch = std::uint64_t{60} << 20;
  barrier_beside([](const TcpJob& job) {
    const auto client = join_raw(job);
    const std::uint64_t before = resident_bytes();
    client->send(header_of(static_cast<std::uint32_t>(CollectiveKind::allgather), 1, kMuch));
    std::this_thread::sleep_for(200ms);
    EXPECT_LT(resident_bytes(), before + kMuch / 2);
  });
}

TEST(TcpBootstrap, BlobsWhoseLengthsDoNotAddUpAreRefused) {
  EXPECT_THAT(barrier_beside([](const TcpJob& job) {
                const auto client = join_raw(job);
                client->send(header_of(kBarrier, 1, sizeof(Be64)));
                client->send(Be64(1000));
                FrameHeader answer{};
                EXPECT_FALSE(client->receive(answer));
              }),
              HasSubstr("blobs of impossible lengths"));
}

TEST(TcpBootstrap, AMessageOfUnknownTypeIsRefused) {
  EXPECT_THAT(barrier_beside([](const TcpJob& job) {
                const auto client = join_raw(job);
                client->send(header_of(99, 1, 0));
                FrameHeader answer{};
                EXPECT_FALSE(client->receive(answer));
              }),
              HasSubstr("unknown type 99"));
}

// A PE reads each answer before it calls again. The hub keeps no pile of answers for one that does
// not; 64 MiB of them are more than sockets keep.
TEST(TcpBootstrap, APeThatReadsNoAnswersIsFound) {
  const TcpJob job(2);
  auto zero = std::async(std::launch::async,
                         [&] { return open_tcp_bootstrap(job.info(0), Log(LogLevel::error)); });
  const auto client = join_raw(job);
  const auto member = zero.get();
  ASSERT_TRUE(member) << member.error().message();
  const Bytes much(std::size_t{1} << 20);
  std::string message;
  for (std::uint64_t call = 1; call <= 64 && message.empty(); ++call) {
    client->send(header_of(static_cast<std::uint32_t>(CollectiveKind::allgather), call, 8));
    client->send(Be64(0));
    const auto all = (*member)->allgather(much);
    if (!all) message = all.error().message();
  }
  EXPECT_THAT(message, AllOf(HasSubstr("PE 1 broke the bootstrap's protocol"),
                             HasSubstr("without reading the answers to its earlier calls")));
}

TEST(TcpWire, AFailureWithoutATextHasASentence) {
  tcp_wire::Frame frame{};
  frame.header.type = Be16(static_cast<std::uint16_t>(FrameType::failure));
  EXPECT_EQ(tcp_wire::decode_failure(frame).message(), "PE 0 ended the job, and did not say why");
}

}  // namespace
}  // namespace gdakit::testing_bootstrap
