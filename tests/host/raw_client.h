// A connection to the hub of a TCP bootstrap that says what a test makes it say.
#pragma once

#include <arpa/inet.h>
#include <future>
#include <memory>
#include <netinet/in.h>
#include <optional>
#include <sys/socket.h>
#include <sys/time.h>
#include <utility>

#include <gtest/gtest.h>

#include "core/host/bootstrap/job_proof.h"
#include "core/host/bootstrap/tcp_wire.h"
#include "tests/host/bootstrap_job.h"

namespace gdakit::testing_bootstrap {

class RawClient {
 public:
  explicit RawClient(const TcpJob& job) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    // What does not come fails the test, and does not hold it up for ever.
    const timeval patience{30, 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(job.address.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }

  explicit RawClient(UniqueFileDescriptor connected) : socket_(std::move(connected)) {}

  template <class T>
  void send(const T& value) {
    send_bytes(&value, sizeof(value));
  }
  void send_bytes(const void* bytes, std::size_t size) {
    EXPECT_EQ(::send(socket_.get(), bytes, size, MSG_NOSIGNAL), static_cast<ssize_t>(size));
  }
  // False if the connection ended first.
  template <class T>
  bool receive(T& value) {
    return ::recv(socket_.get(), &value, sizeof(value), MSG_WAITALL) ==
           static_cast<ssize_t>(sizeof(value));
  }
  void close() { socket_.reset(); }
  int socket() const { return socket_.get(); }

 private:
  UniqueFileDescriptor socket_;
};

inline tcp_wire::Hello hello_of(const TcpJob& job, int rank) {
  return {tcp_wire::kMagic,
          Be32(tcp_wire::kVersion),
          Be32(static_cast<std::uint32_t>(rank)),
          Be32(static_cast<std::uint32_t>(job.size)),
          Be32(0),
          make_nonce()};
}

// Says that it is PE `rank`, and proves with `secret` that it belongs to the job. The hub's
// verdict, or none if it has hung up.
inline std::optional<tcp_wire::Verdict> shake_hands(RawClient& client, const TcpJob& job, int rank,
                                                    const JobSecret& secret) {
  const tcp_wire::Hello hello = hello_of(job, rank);
  client.send(hello);
  tcp_wire::Welcome welcome{};
  tcp_wire::Nonce nonce{};
  if (!client.receive(welcome) || !client.receive(nonce)) return std::nullopt;
  client.send(make_proof(secret, ProofRole::member, hello, nonce));
  if (!client.receive(welcome)) return std::nullopt;
  const auto verdict = static_cast<tcp_wire::Verdict>(std::uint32_t{welcome.verdict});
  tcp_wire::Proof proof{};
  if (verdict == tcp_wire::Verdict::accepted && client.receive(proof)) {
    EXPECT_TRUE(is_same(proof, make_proof(secret, ProofRole::hub, hello, nonce)));
  }
  return verdict;
}

// The other side of it: what a hub says that knows `secret`.
inline void welcome_member(int socket, const JobSecret& secret, int size) {
  const auto say = [socket](const auto& words) {
    ASSERT_EQ(::send(socket, &words, sizeof words, MSG_NOSIGNAL), ssize_t{sizeof words});
  };
  const auto hear = [socket](auto& words) {
    ASSERT_EQ(::recv(socket, &words, sizeof words, MSG_WAITALL), ssize_t{sizeof words});
  };
  const auto welcome = [size](tcp_wire::Verdict verdict) {
    return tcp_wire::Welcome{tcp_wire::kMagic, Be32(tcp_wire::kVersion),
                             Be32(static_cast<std::uint32_t>(verdict)),
                             Be32(static_cast<std::uint32_t>(size)), Be32(0)};
  };
  tcp_wire::Hello hello;
  tcp_wire::Proof proof;
  const tcp_wire::Nonce nonce = make_nonce();
  hear(hello);
  say(welcome(tcp_wire::Verdict::challenge));
  say(nonce);
  hear(proof);
  say(welcome(tcp_wire::Verdict::accepted));
  say(make_proof(secret, ProofRole::hub, hello, nonce));
}

inline tcp_wire::FrameHeader header_of(std::uint32_t type, std::uint64_t sequence,
                                       std::uint64_t length) {
  return {Be16(0), Be16(static_cast<std::uint16_t>(type)), Be32(0), Be64(sequence), Be64(length)};
}

inline constexpr auto kJoin = static_cast<std::uint32_t>(CollectiveKind::join);
inline constexpr auto kBarrier = static_cast<std::uint32_t>(CollectiveKind::barrier);

// PE `rank` of `job` as a raw client that has joined.
inline std::unique_ptr<RawClient> join_raw(const TcpJob& job, int rank = 1) {
  auto client = std::make_unique<RawClient>(job);
  EXPECT_EQ(shake_hands(*client, job, rank, job.secret), tcp_wire::Verdict::accepted);
  client->send(header_of(kJoin, 0, 0));
  tcp_wire::FrameHeader answer{};
  EXPECT_TRUE(client->receive(answer));
  EXPECT_EQ(answer.type, static_cast<std::uint32_t>(tcp_wire::FrameType::answer));
  return client;
}

// Runs PE 0 of a job of two, whose PE 1 is `other`; returns the message of PE 0's barrier.
inline std::string barrier_beside(const std::function<void(const TcpJob&)>& other,
                                  std::chrono::milliseconds timeout = 20s) {
  const TcpJob job(2, timeout);
  auto message = std::async(std::launch::async, [&] {
    auto member = open_tcp_bootstrap(job.info(0), Log(LogLevel::error));
    return member ? message_of((*member)->barrier()) : member.error().message();
  });
  other(job);
  return message.get();
}

}  // namespace gdakit::testing_bootstrap
