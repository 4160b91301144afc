// Connection cards of backend mlx5: one that its own queues did not make is refused, in a sentence.
#include <cerrno>
#include <cstring>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/mlx5/backend_fixture.h"

namespace gdakit::mlx5 {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Cards : public PlayedBackend {
 protected:
  Cards() : queue_(*create()) {}

  // Of a card that is good but for a change.
  Result<void> connect(const std::function<void(ConnectionCard&)>& change) {
    ConnectionCard card = card_of(queue_);
    change(card);
    Bytes bytes(sizeof card);
    std::memcpy(bytes.data(), &card, sizeof card);
    return backend_->connect_queue(queue_.number, bytes);
  }

  const QueueResources queue_;
};

TEST_F(Cards, OfAnotherSizeAreRefused) {
  for (const std::size_t size : {0, 1, 35, 37, 4096}) {
    EXPECT_THAT(refusal_of(backend_->connect_queue(queue_.number, Bytes(size))),
                AllOf(HasSubstr("a connection card of " + std::to_string(size) + " bytes"),
                      HasSubstr("do all PEs use backend mlx5?")));
  }
  EXPECT_FALSE(played().sent.contains("0502"));
}

TEST_F(Cards, OfAnotherVersionAreRefused) {
  for (const std::uint32_t version : {0u, 2u, ~0u}) {
    EXPECT_THAT(refusal_of(connect([&](ConnectionCard& card) { card.version = version; })),
                AllOf(HasSubstr("is of another version"), HasSubstr("same version of gdakit?")));
  }
}

TEST_F(Cards, WithNumbersOutOfRangeAreRefused) {
  EXPECT_THAT(refusal_of(connect([](ConnectionCard& card) { card.qpn = 1 << 24; })),
              HasSubstr("names numbers out of range"));
  EXPECT_THAT(refusal_of(connect([](ConnectionCard& card) { card.first_psn = 1 << 24; })),
              HasSubstr("names numbers out of range"));
  for (const std::uint8_t mtu : {0, 6, 255}) {
    EXPECT_THAT(refusal_of(connect([&](ConnectionCard& card) { card.address.mtu = mtu; })),
                HasSubstr("names limits out of range"));
  }
  EXPECT_THAT(refusal_of(connect([](ConnectionCard& card) { card.address.log_reads = 8; })),
              HasSubstr("names limits out of range"));
}

TEST_F(Cards, WithNumbersAtTheEndsOfTheirRangesAreTaken) {
  for (const std::uint32_t number : {0u, 0xffffffu}) {
    EXPECT_TRUE(connect([&](ConnectionCard& card) { card.qpn = card.first_psn = number; }));
  }
  for (const std::uint8_t mtu : {IBV_MTU_256, IBV_MTU_4096}) {
    EXPECT_TRUE(connect([&](ConnectionCard& card) {
      card.address.mtu = mtu;
      card.address.log_reads = 7;
    }));
  }
}

TEST_F(Cards, OfAnotherLinkAreRefused) {
  EXPECT_THAT(refusal_of(connect([](ConnectionCard& card) {
                card.address.link_layer = IBV_LINK_LAYER_INFINIBAND;
              })),
              AllOf(HasSubstr("of rocep1s0 and the peer's NIC"),
                    HasSubstr("one is on InfiniBand and the other on Ethernet"),
                    HasSubstr("GDAKIT_HCA_LIST")));
}

TEST_F(Cards, OfAnotherRoceVersionAreRefused) {
  EXPECT_THAT(refusal_of(connect(
                  [](ConnectionCard& card) { card.address.gid_type = IBV_GID_TYPE_ROCE_V1; })),
              AllOf(HasSubstr("RoCE v2 and the other of v1"), HasSubstr("show_gids")));
}

// The types of GIDs on InfiniBand say nothing.
TEST_F(PlayedProvider, OnInfiniBandTakesCardsOfAnyTypeOfGid) {
  put_on_infiniband();
  const auto backend = open();
  ASSERT_TRUE(backend);
  QueueBlock block;
  auto queue = (*backend)->create_queue(block.memory());
  ASSERT_TRUE(queue);
  ConnectionCard card;
  std::memcpy(&card, queue->card.data(), sizeof card);
  card.address.gid_type = IBV_GID_TYPE_ROCE_V2;
  std::memcpy(queue->card.data(), &card, sizeof card);
  EXPECT_TRUE((*backend)->connect_queue(queue->number, queue->card));
}

TEST_F(Cards, CanBeTakenLaterWhereACallFailed) {
  for (const char* call : {"ibv_create_ah", "mlx5dv_init_obj of AH", "0502", "0503", "0504"}) {
    played().errors = {{call, EINVAL}};
    EXPECT_THAT(refusal_of(connect([](ConnectionCard&) {})),
                AllOf(HasSubstr("rocep1s0"), HasSubstr(std::strerror(EINVAL))));
    EXPECT_EQ(played().live["handle"], 0);
    played().errors.clear();
    EXPECT_TRUE(connect([](ConnectionCard&) {})) << call;
  }
}

}  // namespace
}  // namespace gdakit::mlx5
