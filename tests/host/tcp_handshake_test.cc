// How the ends of a bootstrap's connection prove that they know the job's secret.
#include <algorithm>
#include <cstdint>
#include <future>
#include <memory>
#include <sys/socket.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/host/bootstrap/job_proof.h"
#include "core/host/bootstrap/tcp_bootstrap.h"
#include "core/host/bootstrap/tcp_wire.h"
#include "tests/host/bootstrap_job.h"
#include "tests/host/raw_client.h"

namespace gdakit::testing_bootstrap {
namespace {

using tcp_wire::Hello;
using tcp_wire::Verdict;
using tcp_wire::Welcome;
using testing::AllOf;
using testing::HasSubstr;

const Log kQuiet(LogLevel::error);

struct Challenge {
  Welcome welcome;
  tcp_wire::Nonce nonce;
};

template <class T>
bool holds(const T& words, const JobSecret& secret) {
  const auto* const begin = reinterpret_cast<const std::uint8_t*>(&words);
  const auto* const end = begin + sizeof words;
  return std::search(begin, end, secret.begin(), secret.end()) != end;
}

TEST(JobProof, DependsOnAllThatItIsMadeOf) {
  const JobSecret secret = {1, 2, 3};
  const Hello hello{tcp_wire::kMagic, Be32(3), Be32(1), Be32(2), Be32(0), {7}};
  const tcp_wire::Nonce nonce = {9};
  const auto proof = make_proof(secret, ProofRole::member, hello, nonce);
  EXPECT_TRUE(is_same(proof, make_proof(secret, ProofRole::member, hello, nonce)));
  EXPECT_FALSE(is_same(proof, make_proof(secret, ProofRole::hub, hello, nonce)));
  EXPECT_FALSE(is_same(proof, make_proof({1, 2, 4}, ProofRole::member, hello, nonce)));
  EXPECT_FALSE(is_same(proof, make_proof(secret, ProofRole::member, hello, {8})));
  Hello other = hello;
  other.rank = Be32(0);
  EXPECT_FALSE(is_same(proof, make_proof(secret, ProofRole::member, other, nonce)));
}

// As somebody hears it who can read all of the network.
TEST(TcpHandshake, TheSecretIsNotSent) {
  const TcpJob job(2);
  auto zero =
      std::async(std::launch::async, [&] { return open_tcp_bootstrap(job.info(0), kQuiet); });
  RawClient client(job);
  const Hello hello = hello_of(job, 1);
  client.send(hello);
  Challenge challenge{};
  ASSERT_TRUE(client.receive(challenge));
  const auto proof = make_proof(job.secret, ProofRole::member, hello, challenge.nonce);
  EXPECT_FALSE(holds(hello, job.secret) || holds(challenge, job.secret) ||
               holds(proof, job.secret));
  const auto one = open_tcp_bootstrap(job.info(1), kQuiet);
  EXPECT_TRUE(one && zero.get());
}

TEST(TcpHandshake, WhatWasOverheardProvesNothingLater) {
  const TcpJob job(2);
  auto zero =
      std::async(std::launch::async, [&] { return open_tcp_bootstrap(job.info(0), kQuiet); });
  RawClient first(job), second(job);
  const Hello hello = hello_of(job, 1);
  Challenge challenge{}, other{};
  first.send(hello);
  second.send(hello);
  ASSERT_TRUE(first.receive(challenge) && second.receive(other));
  EXPECT_NE(challenge.nonce, other.nonce);
  second.send(make_proof(job.secret, ProofRole::member, hello, challenge.nonce));
  Welcome welcome{};
  ASSERT_TRUE(second.receive(welcome));
  EXPECT_EQ(welcome.verdict, static_cast<std::uint32_t>(Verdict::wrong_secret));
  const auto one = open_tcp_bootstrap(job.info(1), kQuiet);
  EXPECT_TRUE(one && zero.get());
}

// More of them than the hub keeps. A member whose Hello has come is not one to make room for them.
TEST(TcpHandshake, SilentStrangersPushOutNobodyWhoHasSaidHello) {
  const TcpJob job(2);
  auto zero =
      std::async(std::launch::async, [&] { return open_tcp_bootstrap(job.info(0), kQuiet); });
  RawClient one(job);
  const Hello hello = hello_of(job, 1);
  one.send(hello);
  Challenge challenge{};
  ASSERT_TRUE(one.receive(challenge));
  std::vector<std::unique_ptr<RawClient>> strangers;
  for (int i = 0; i < 100; ++i) strangers.push_back(std::make_unique<RawClient>(job));
  std::byte nothing{};
  EXPECT_FALSE(strangers.front()->receive(nothing)) << "the oldest makes room";
  one.send(make_proof(job.secret, ProofRole::member, hello, challenge.nonce));
  Welcome welcome{};
  ASSERT_TRUE(one.receive(welcome));
  EXPECT_EQ(welcome.verdict, static_cast<std::uint32_t>(Verdict::accepted));
  tcp_wire::Proof proof{};
  EXPECT_TRUE(one.receive(proof));
  one.send(header_of(kJoin, 0, 0));
  EXPECT_TRUE(zero.get());
}

// A hub that knows `secret` takes PE 1's connection; returns what PE 1 says of it.
Error joined_to(const std::function<void(const TcpJob&, int socket)>& hub) {
  const TcpJob job(2);
  auto one =
      std::async(std::launch::async, [&] { return open_tcp_bootstrap(job.info(1), kQuiet); });
  const UniqueFileDescriptor peer(::accept(job.listener.get(), nullptr, nullptr));
  hub(job, peer.get());
  const auto joined = one.get();
  return joined ? Error(Code::internal, "PE 1 has joined") : joined.error();
}

TEST(TcpHandshake, AHubWithoutTheSecretIsFound) {
  const Error error = joined_to([](const TcpJob& job, int socket) {
    JobSecret wrong = job.secret;
    wrong[3] ^= 4;
    welcome_member(socket, wrong, 2);
  });
  EXPECT_EQ(error.code(), Code::permission_denied);
  EXPECT_THAT(error.message(), AllOf(HasSubstr("does not prove"), HasSubstr("GDAKIT_SECRET")));
}

TEST(TcpHandshake, AHubThatAsksForNoProofIsFound) {
  const Error error = joined_to([](const TcpJob&, int socket) {
    const Welcome welcome{tcp_wire::kMagic, Be32(tcp_wire::kVersion), Be32(0), Be32(2), Be32(0)};
    ASSERT_EQ(::send(socket, &welcome, sizeof(welcome), 0), ssize_t{sizeof(welcome)});
  });
  EXPECT_THAT(error.message(), HasSubstr("does not prove"));
}

// What a member has proved is no proof of a hub's, though it was made with the secret.
TEST(TcpHandshake, AMembersOwnProofIsNotTakenBack) {
  const Error error = joined_to([](const TcpJob&, int socket) {
    const auto say = [socket](const auto& words) {
      ASSERT_EQ(::send(socket, &words, sizeof words, MSG_NOSIGNAL), ssize_t{sizeof words});
    };
    const auto welcome = [](Verdict verdict) {
      return Welcome{tcp_wire::kMagic, Be32(tcp_wire::kVersion),
                     Be32(static_cast<std::uint32_t>(verdict)), Be32(2), Be32(0)};
    };
    Hello hello;
    tcp_wire::Proof proof;
    say(welcome(Verdict::challenge));
    say(tcp_wire::Nonce{});
    ASSERT_EQ(::recv(socket, &hello, sizeof hello, MSG_WAITALL), ssize_t{sizeof hello});
    ASSERT_EQ(::recv(socket, &proof, sizeof proof, MSG_WAITALL), ssize_t{sizeof proof});
    say(welcome(Verdict::accepted));
    say(proof);
  });
  EXPECT_THAT(error.message(), HasSubstr("does not prove"));
}

}  // namespace
}  // namespace gdakit::testing_bootstrap
