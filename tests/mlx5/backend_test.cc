// What a PE gets of backend mlx5, and what each call that fails leaves behind.
#include <cerrno>
#include <cstring>
#include <span>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/mlx5/mlx5_backend.h"
#include "core/base/hex.h"
#include "core/format/prm/qp.h"
#include "tests/mlx5/backend_fixture.h"

namespace gdakit::mlx5 {
namespace {

namespace prm = format::prm;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(PlayedProvider, RefusesAListThatIsNone) {
  Options options;
  options.hca_list = "rocep1s0:x";
  EXPECT_THAT(refusal_of(open(options)), HasSubstr("GDAKIT_HCA_LIST=\"rocep1s0:x\""));
  options.hca_list = "mlx5_7";
  EXPECT_THAT(refusal_of(open(options)), HasSubstr("mlx5_7"));
  options.hca_list = "^rocep1s0";
  EXPECT_THAT(refusal_of(open(options)), HasSubstr("rocep1s0: left out by GDAKIT_HCA_LIST"));
}

// The codes of both ends of the option's range, and of 8 s in 8 tries.
TEST_F(PlayedProvider, GivesQueuesTheOptionsTime) {
  const auto code_of = [this](std::chrono::milliseconds time) {
    Options options;
    options.nic_timeout = time;
    const auto backend = open(options);
    QueueBlock block;
    const auto queue = (*backend)->create_queue(block.memory());
    EXPECT_TRUE((*backend)->connect_queue(queue->number, queue->card));
    return prm::View<prm::Rtr2rtsQpIn>(std::span<const std::uint8_t>(played().sent.at("0504")))
        .at(prm::Rtr2rtsQpIn::qpc)
        .at(prm::Qpc::primary_address_path)
        .get(prm::Ads::ack_timeout);
  };
  EXPECT_EQ(code_of(std::chrono::seconds(0)), 0u);
  EXPECT_EQ(code_of(std::chrono::seconds(8)), 18u);
  EXPECT_EQ(code_of(std::chrono::seconds(1000)), 25u);
}

TEST_F(PlayedBackend, CannotBeStopped) {
  EXPECT_STREQ(backend_->name(), "mlx5");
  EXPECT_THAT(refusal_of(backend_->pause()), HasSubstr("softnic"));
  EXPECT_THAT(refusal_of(backend_->resume()), HasSubstr("softnic"));
}

TEST_F(PlayedBackend, GivesPeersRightsToSymmetricMemoryAlone) {
  const auto symmetric = backend_->register_memory(blocks_[0].data(), 64, MemoryUse::symmetric);
  const auto local = backend_->register_memory(blocks_[1].data(), 64, MemoryUse::local);
  ASSERT_TRUE(symmetric && local);
  EXPECT_THAT(played().accesses, ElementsAre(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
                                                 IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
                                             IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING));
  EXPECT_EQ(symmetric->lkey, 0x6100u);
  EXPECT_EQ(symmetric->rkey, 0x16100u);
  EXPECT_TRUE(backend_->deregister_memory(*local));
  EXPECT_EQ(played().live["region"], 1);  // which the end gives back
}

TEST_F(PlayedProvider, OrdersWritesToLocalMemoryWhereTheOptionSaysSo) {
  Options options;
  options.relaxed_ordering = false;
  const auto backend = open(options);
  QueueBlock block;
  ASSERT_TRUE((*backend)->register_memory(block.data(), 64, MemoryUse::local));
  EXPECT_THAT(played().accesses, ElementsAre(IBV_ACCESS_LOCAL_WRITE));
}

TEST_F(PlayedBackend, RegistersNothingWhereTheCallFails) {
  const auto register_it = [this] {
    return refusal_of(backend_->register_memory(blocks_[0].data(), 64, MemoryUse::local));
  };
  played().errors = {{"ibv_reg_mr_iova2", ENOMEM}};
  EXPECT_THAT(register_it(),
              AllOf(HasSubstr("ibv_reg_mr_iova2 of 64 bytes on rocep1s0"), HasSubstr("ulimit -l")));
  played().errors = {{"ibv_reg_mr_iova2", EFAULT}};
  EXPECT_THAT(register_it(), HasSubstr(std::strerror(EFAULT)));
}

TEST_F(PlayedBackend, DeregistersWhatItHas) {
  const auto keys = backend_->register_memory(blocks_[0].data(), 64, MemoryUse::local);
  ASSERT_TRUE(keys);
  const MemoryKeys others{Be32{keys->lkey + 1}, keys->rkey};
  EXPECT_THAT(refusal_of(backend_->deregister_memory(others)), HasSubstr("nothing has this key"));
  played().errors = {{"ibv_dereg_mr", EBUSY}};
  EXPECT_THAT(refusal_of(backend_->deregister_memory(*keys)),
              AllOf(HasSubstr("ibv_dereg_mr on rocep1s0"), HasSubstr(std::strerror(EBUSY))));
  played().errors.clear();
  EXPECT_TRUE(backend_->deregister_memory(*keys));
  EXPECT_FALSE(backend_->deregister_memory(*keys));
}

TEST_F(PlayedBackend, MakesAQueueWithACard) {
  const auto queue = create();
  ASSERT_TRUE(queue);
  EXPECT_EQ(queue->number, queue->qpn);
  EXPECT_NE(queue->doorbell, nullptr);
  const ConnectionCard card = card_of(*queue);
  EXPECT_EQ(card.version, ConnectionCard::kVersion);
  EXPECT_EQ(card.qpn, queue->qpn);
  EXPECT_LE(card.first_psn, 0xffffffu);
  EXPECT_EQ(card.address.mtu, IBV_MTU_1024);
  EXPECT_EQ(card.address.gid[15], 1);
  EXPECT_TRUE(backend_->connect_queue(queue->number, queue->card));
  EXPECT_TRUE(backend_->destroy_queue(queue->number));
  EXPECT_THAT(refusal_of(backend_->destroy_queue(queue->number)),
              HasSubstr("destroy_queue: there is no queue " + std::to_string(queue->number)));
  EXPECT_THAT(refusal_of(backend_->connect_queue(queue->number, queue->card)),
              HasSubstr("connect_queue: there is no queue"));
}

TEST_F(PlayedBackend, GivesEachQueueADoorbellOfItsOwnAsLongAsThereAreSome) {
  std::vector<QueueNumber> queues;
  const auto page_of_next = [&] {
    queues.push_back(create(queues.size())->number);
    return prm::View<prm::CreateQpIn>(std::span<const std::uint8_t>(played().sent.at("0500")))
        .at(prm::CreateQpIn::qpc)
        .get(prm::Qpc::uar_page);
  };
  const std::uint32_t first = played().next_page - 1;  // which was tried when it was opened
  EXPECT_EQ(page_of_next(), first);
  EXPECT_EQ(page_of_next(), first + 1);
  EXPECT_EQ(page_of_next(), kSharedPage);
  EXPECT_EQ(page_of_next(), kSharedPage);
  EXPECT_TRUE(backend_->destroy_queue(queues[1]));
  EXPECT_EQ(page_of_next(), first + 1);
  played().errors = {{"mlx5dv_devx_alloc_uar", ENOSPC}};
  EXPECT_NE(page_of_next(), kSharedPage);  // which two have already, and others one
}

// Each call that making a queue takes.
class EachCall : public PlayedBackend, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, EachCall,
                         testing::Values("mlx5dv_devx_umem_reg_ex 1", "mlx5dv_devx_umem_reg_ex 2",
                                         "0400", "0500"));

TEST_P(EachCall, ThatFailsLeavesNothingOfTheQueue) {
  played().errors = {{GetParam(), EINVAL}};
  EXPECT_THAT(refusal_of(create()),
              AllOf(HasSubstr("on rocep1s0"), HasSubstr(std::strerror(EINVAL))));
  EXPECT_EQ(played().live["object"], 1);  // that of the counters
  EXPECT_LE(played().live["umem"], 1);    // that of CQs' records, which stays for the next queue
  EXPECT_EQ(played().live["uar"], 1);     // and so does the doorbell's page
  played().errors.clear();
  const auto queue = create();
  EXPECT_TRUE(queue);
  EXPECT_EQ(played().live["umem"], 2);
  EXPECT_EQ(played().live["uar"], 1);
}

TEST_F(PlayedProvider, WithoutADoorbellIsNotOpened) {
  played().errors = {{"mlx5dv_devx_alloc_uar of a dedicated one", EOPNOTSUPP},
                     {"mlx5dv_devx_alloc_uar", ENOSPC}};
  EXPECT_THAT(refusal_of(open()),
              AllOf(HasSubstr("mlx5dv_devx_alloc_uar"), HasSubstr(std::strerror(ENOSPC))));
}

TEST_F(PlayedBackend, KeepsAQueueThatCannotBeDestroyed) {
  const auto queue = create();
  ASSERT_TRUE(queue);
  // The QP, the CQ of receives, that of sends, and the memory.
  for (const char* call : {"mlx5dv_devx_obj_destroy 1", "mlx5dv_devx_obj_destroy 3",
                           "mlx5dv_devx_obj_destroy 5", "mlx5dv_devx_umem_dereg"}) {
    played().errors = {{call, EBUSY}};
    EXPECT_THAT(refusal_of(backend_->destroy_queue(queue->number)),
                AllOf(HasSubstr("on rocep1s0"), HasSubstr(std::strerror(EBUSY))))
        << call;
    EXPECT_THAT(backend_->describe_queue(queue->number), HasSubstr("rocep1s0"));
    backend_->broken_queues();
  }
  played().errors.clear();
  EXPECT_TRUE(backend_->destroy_queue(queue->number));
  EXPECT_EQ(played().live["object"], 1);  // that of the counters
  EXPECT_EQ(played().live["umem"], 1);
}

// Firmware gives no number twice, and a library no key; what would be said of the first is lost.
TEST_F(PlayedBackend, ANumberThatThereIsAlreadyIsAnError) {
  const auto first = create();
  ASSERT_TRUE(first);
  played().next_object = first->number - 2;  // its two CQs come before
  EXPECT_THAT(refusal_of(create(1)),
              AllOf(HasSubstr("CREATE_QP on rocep1s0"), HasSubstr(hex_number(first->number))));
  EXPECT_TRUE(backend_->destroy_queue(first->number));
  EXPECT_EQ(played().live["object"], 1);  // that of the counters
}

TEST_F(PlayedBackend, AKeyThatThereIsAlreadyIsAnError) {
  const auto keys = backend_->register_memory(blocks_[0].data(), 64, MemoryUse::local);
  ASSERT_TRUE(keys);
  played().next_key = keys->lkey;
  EXPECT_THAT(refusal_of(backend_->register_memory(blocks_[0].data(), 64, MemoryUse::local)),
              AllOf(HasSubstr("ibv_reg_mr on rocep1s0"), HasSubstr("0x6100")));
  EXPECT_TRUE(backend_->deregister_memory(*keys));
}

}  // namespace
}  // namespace gdakit::mlx5
