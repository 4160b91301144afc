// What a PE gets of backend mlx5, and what each call that fails leaves behind.
#include <cerrno>
#include <cstring>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/mlx5/mlx5_backend.h"
#include "core/base/hex.h"
#include "core/base/register_store.h"
#include "core/format/prm/qp.h"
#include "tests/mlx5/backend_fixture.h"

namespace gdakit::mlx5 {
namespace {

namespace prm = format::prm;
using testing::AllOf;
using testing::AnyOf;
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

// That of the queue that was made last.
std::uint64_t page_sent() {
  return prm::View<prm::CreateQpIn>(std::span<const std::uint8_t>(played().sent.at("0500")))
      .at(prm::CreateQpIn::qpc)
      .get(prm::Qpc::uar_page);
}

TEST_F(PlayedBackend, GivesEachQueueADoorbellOfItsOwnAsLongAsThereAreSome) {
  registers_combine_writes = false;
  std::vector<QueueNumber> queues;
  const auto page_of_next = [&] {
    queues.push_back(create(queues.size())->number);
    return page_sent();
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
  EXPECT_FALSE(registers_combine_writes);
}

// Each call that making a queue takes.
class EachCall : public PlayedBackend, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, EachCall, testing::Values("mlx5dv_devx_umem_reg_ex", "0400", "0500"));

TEST_P(EachCall, ThatFailsLeavesNothingOfTheQueue) {
  played().errors = {{GetParam(), EINVAL}};
  EXPECT_THAT(refusal_of(create()),
              AllOf(HasSubstr("on rocep1s0"), HasSubstr(std::strerror(EINVAL))));
  EXPECT_EQ(played().live["object"], 1);  // that of the counters
  EXPECT_EQ(played().live["umem"], 0);
  EXPECT_EQ(played().live["uar"], 1);  // which stays for the next queue
  played().errors.clear();
  const auto queue = create();
  EXPECT_TRUE(queue);
  EXPECT_EQ(played().live["umem"], 1);
  EXPECT_EQ(played().live["uar"], 1);
}

// What is said of queues one by one is whether they are broken.
TEST_F(PlayedBackend, CountsForAllQueuesTogether) {
  const auto first = create(0), second = create(1);
  ASSERT_TRUE(first && second);
  played().counted = {{"out_of_sequence", 5}};
  const NicCount count = backend_->count();
  EXPECT_EQ(count.counts, Counts::together);
  EXPECT_EQ(count.nic.out_of_sequence, 5u);
  ASSERT_EQ(count.queues.size(), 2u);
  EXPECT_EQ(count.queues[0].number, first->number);
  EXPECT_EQ(count.queues[1].number, second->number);
}

// What it does without is a matter of the log's level info.
TEST_F(PlayedProvider, SaysOnceWhatItsNicDoesNotTell) {
  const auto said = [this](std::map<std::string, int> errors) {
    Options options;
    options.log = LogLevel::info;
    played().errors = std::move(errors);
    testing::internal::CaptureStderr();
    std::vector<QueueBlock> blocks(2);
    const auto backend = open(options);
    EXPECT_TRUE(backend);
    for (QueueBlock& block : blocks) EXPECT_TRUE((*backend)->create_queue(block.memory()));
    (*backend)->broken_queues();
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(said({}), testing::Not(AnyOf(HasSubstr("firmware"), HasSubstr("asked"))));
  EXPECT_THAT(said({{"mlx5dv_devx_create_event_channel", EOPNOTSUPP}}),
              HasSubstr("broken queues are found by asking firmware about each: "
                        "mlx5dv_devx_create_event_channel on rocep1s0"));
  const std::string line = "firmware is asked whether peers have broken queues";
  const std::string unsubscribed = said({{"mlx5dv_devx_subscribe_devx_event", EPERM}});
  EXPECT_THAT(unsubscribed, HasSubstr(line));
  EXPECT_EQ(unsubscribed.find(line), unsubscribed.rfind(line)) << "of two queues";
  EXPECT_THAT(said({{"mlx5dv_devx_create_event_channel", EOPNOTSUPP}, {"050b", EINTR}}),
              HasSubstr("a queue is asked about again: QUERY_QP"));
}

TEST_F(PlayedProvider, CountsNothingWithoutASetOfCounters) {
  played().errors = {{"0771", EREMOTEIO}};
  const auto backend = open();
  ASSERT_TRUE(backend);
  EXPECT_EQ((*backend)->count().counts, Counts::nothing);
}

TEST_F(PlayedProvider, HasQueuesWithoutRecordsWhereFirmwareHasThemAndTheDeviceRings) {
  const auto has_them = [this](NicHandler handler) {
    Options options;
    options.nic_handler = handler;
    return (*open(options))->limits().has_recordless;
  };
  EXPECT_FALSE(has_them(NicHandler::automatic));
  played().recordless = true;
  EXPECT_TRUE(has_them(NicHandler::automatic));
  EXPECT_FALSE(has_them(NicHandler::proxy));
}

class Recordless : public PlayedBackend {
 protected:
  Recordless() : PlayedBackend([] { played().recordless = true; }) {}

  Result<QueueResources> create_recordless(std::size_t block) {
    QueueMemory memory = blocks_[block].memory();
    memory.recordless = true;
    return backend_->create_queue(memory);
  }
  static std::uint64_t place(const QueueResources& queue) {
    return reinterpret_cast<std::uint64_t>(queue.doorbell) % 4096;
  }
  static std::uint64_t mode_sent() {
    return prm::View<prm::CreateQpIn>(std::span<const std::uint8_t>(played().sent.at("0500")))
        .at(prm::CreateQpIn::qpc)
        .get(prm::Qpc::send_dbr_mode);
  }
};

TEST_F(Recordless, QueuesRingAtARegisterOfTheirOwn) {
  const auto with = create(0);
  ASSERT_TRUE(with);
  EXPECT_EQ(place(*with), 0x800u);
  EXPECT_EQ(mode_sent(), 0u);
  const auto without = create_recordless(1);
  ASSERT_TRUE(without);
  EXPECT_EQ(place(*without), 0x600u);
  EXPECT_EQ(mode_sent(), 1u);
  EXPECT_NE(without->device_doorbell, nullptr);
}

// Two dedicated pages, and one that is write-combining, are all that the played NIC has.
TEST_F(Recordless, QueuesHaveAPageEach) {
  std::vector<QueueResources> queues;
  for (std::size_t block = 0; block < 3; ++block) {
    const auto queue = create_recordless(block);
    ASSERT_TRUE(queue) << queue.error().message();
    for (const QueueResources& other : queues) EXPECT_NE(other.doorbell, queue->doorbell);
    queues.push_back(*queue);
  }
  EXPECT_THAT(refusal_of(create_recordless(3)), HasSubstr("takes one of its own"));
  EXPECT_TRUE(backend_->destroy_queue(queues[1].number));
  const auto again = create_recordless(3);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->doorbell, queues[1].doorbell);
}

// The two registers of the dedicated page make no difference.
TEST_F(Recordless, QueuesHaveAPageEachWhereOneHasSeveralRegisters) {
  played().registers_of_a_page = 2;
  const auto first = create_recordless(0);
  const auto second = create_recordless(1);
  ASSERT_TRUE(first && second);
  EXPECT_THAT(refusal_of(create_recordless(2)), HasSubstr("takes one of its own"));
  EXPECT_TRUE(backend_->destroy_queue(second->number));
  EXPECT_TRUE(create_recordless(2));
}

TEST_F(PlayedProvider, WithoutADoorbellIsNotOpened) {
  played().errors = {{"mlx5dv_devx_alloc_uar of a dedicated one", EOPNOTSUPP},
                     {"mlx5dv_devx_alloc_uar", EOPNOTSUPP},
                     {"mlx5dv_devx_alloc_uar of BF", ENOSPC}};
  EXPECT_THAT(refusal_of(open()),
              AllOf(HasSubstr("mlx5dv_devx_alloc_uar"), HasSubstr(std::strerror(ENOSPC))));
}

TEST_F(PlayedProvider, TakesPagesThatCombineWritesWhereThereAreNoOthers) {
  played().errors = {{"mlx5dv_devx_alloc_uar of a dedicated one", EOPNOTSUPP},
                     {"mlx5dv_devx_alloc_uar", EPERM}};
  registers_combine_writes = false;
  const auto backend = open();
  ASSERT_TRUE(backend) << backend.error().message();
  QueueBlock first, second;
  for (QueueBlock* block : {&first, &second}) {
    ASSERT_TRUE((*backend)->create_queue(block->memory()));
    EXPECT_EQ(page_sent(), kCombiningPage);
  }
  EXPECT_TRUE(registers_combine_writes);
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
  EXPECT_EQ(played().live["umem"], 0);
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
