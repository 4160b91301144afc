// A device with two ports, on a played host: each port is a NIC of its own, whose queues and
// targets are those of the port.
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/format/prm/dct.h"
#include "core/format/prm/qp.h"
#include "tests/mlx5/backend_fixture.h"

namespace gdakit::mlx5 {
namespace {

namespace prm = format::prm;
using testing::AllOf;
using testing::HasSubstr;

// Port 1 has the GID at index 0, port 2 that at index 1.
class TwoPorts : public PlayedProvider {
 protected:
  TwoPorts() {
    played().ports.push_back(played().ports.front());
    played().ports[1].active_mtu = IBV_MTU_512;
    played().ports[1].lid = 18;
    played().gids.push_back(gid_of(IBV_GID_TYPE_ROCE_V2, 0xfe, 2));
    for (std::uint32_t port = 1; port <= 2; ++port) played().gids[port - 1].port_num = port;
    options_.nics_per_pe = 2;
  }
  Result<QueueResources> create(Backend& backend, std::uint32_t nic) {
    QueueMemory memory = blocks_[nic].memory();
    memory.nic = nic;
    return backend.create_queue(memory);
  }
  static ConnectionCard card_of(const QueueResources& queue) {
    ConnectionCard card;
    std::memcpy(static_cast<void*>(&card), queue.card.data(), sizeof card);
    return card;
  }
  template <class Layout>
  static prm::View<Layout> sent(const char* opcode) {
    return prm::View<Layout>(std::span<const std::uint8_t>(played().sent.at(opcode)));
  }
  static std::uint64_t port_of_init() {
    const auto context = sent<prm::Rst2initQpIn>("0502").at(prm::Rst2initQpIn::qpc);
    return context.at(prm::Qpc::primary_address_path).get(prm::Ads::vhca_port_num);
  }

  Options options_;
  std::vector<QueueBlock> blocks_ = std::vector<QueueBlock>(2);
};

TEST_F(TwoPorts, AreTwoNicsOfAPe) {
  options_.log = LogLevel::info;
  testing::internal::CaptureStderr();
  const auto backend = open(options_);
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(backend) << backend.error().message();
  EXPECT_EQ((*backend)->limits().nics, 2u);
  EXPECT_EQ(played().live["context"], 2);
  EXPECT_THAT(said, AllOf(HasSubstr("NIC rocep1s0, port 1: number 1 of 2 that are as near"),
                          HasSubstr("NIC rocep1s0, port 2: number 2 of 2 that are as near")));
}

TEST_F(TwoPorts, HaveQueuesWithThePortsOwnAddress) {
  const auto backend = open(options_);
  ASSERT_TRUE(backend);
  for (std::uint32_t nic = 0; nic < 2; ++nic) {
    const auto queue = create(**backend, nic);
    ASSERT_TRUE(queue) << queue.error().message();
    const ConnectionCard card = card_of(*queue);
    EXPECT_EQ(card.address.gid[15], nic + 1);
    EXPECT_EQ(card.address.lid, 17 + nic);
    EXPECT_EQ(card.address.mtu, nic == 0 ? IBV_MTU_1024 : IBV_MTU_512);
    ASSERT_TRUE((*backend)->connect_queue(queue->number, queue->card));
    EXPECT_EQ(played().handle_port, nic + 1);
    EXPECT_EQ(port_of_init(), nic + 1);
    const auto context = sent<prm::Init2rtrQpIn>("0503").at(prm::Init2rtrQpIn::qpc);
    const auto path = context.at(prm::Qpc::primary_address_path);
    EXPECT_EQ(path.get(prm::Ads::vhca_port_num), nic + 1);
    EXPECT_EQ(path.get(prm::Ads::src_addr_index), nic);
    EXPECT_EQ(context.get(prm::Qpc::mtu), std::uint64_t{card.address.mtu});
  }
}

TEST_F(TwoPorts, HaveTargetsAndInitiatorsOfDcOfTheirOwn) {
  options_.queue_type = QueueType::dc;
  const auto backend = open(options_);
  ASSERT_TRUE(backend) << backend.error().message();
  for (std::uint32_t nic = 0; nic < 2; ++nic) {
    ASSERT_TRUE((*backend)->nic(nic).dc_target());
    const auto context = sent<prm::CreateDctIn>("0710").at(prm::CreateDctIn::dct_context_entry);
    EXPECT_EQ(context.get(prm::Dctc::port), nic + 1);
    EXPECT_EQ(context.get(prm::Dctc::my_addr_index), nic);
    EXPECT_EQ(context.get(prm::Dctc::mtu), std::uint64_t{IBV_MTU_512}) << "the least of both";
    QueueMemory memory = blocks_[nic].memory(/*receives=*/false);
    memory.nic = nic;
    memory.type = QueueType::dc;
    const auto initiator = (*backend)->create_queue(memory);
    ASSERT_TRUE(initiator) << initiator.error().message();
    EXPECT_EQ(port_of_init(), nic + 1);
  }
}

TEST_F(TwoPorts, AreNamedByWhatFailsOnThem) {
  const auto backend = open(options_);
  ASSERT_TRUE(backend);
  const auto queue = create(**backend, 1);
  ASSERT_TRUE(queue);
  EXPECT_THAT((*backend)->describe_queue(queue->number), HasSubstr("of rocep1s0:2 is in state"));
  played().errors = {{"0503", EINVAL}};
  EXPECT_THAT(refusal_of((*backend)->connect_queue(queue->number, queue->card)),
              HasSubstr("INIT2RTR_QP on rocep1s0:2: "));
  played().errors = {{"ibv_create_ah", ENETUNREACH}};
  EXPECT_THAT(refusal_of((*backend)->connect_queue(queue->number, queue->card)),
              AllOf(HasSubstr("ibv_create_ah on rocep1s0:2: "), HasSubstr("from GID fe80::2")));
  played().errors.clear();
  played().gids[1] = gid_of(~0u, 0, 0);
  EXPECT_THAT(refusal_of((*backend)->connect_queue(queue->number, queue->card)),
              HasSubstr("port 2 of rocep1s0 has lost its GID fe80::2"));
}

TEST_F(TwoPorts, OfWhichOneIsDownAreOneNic) {
  played().ports[0].state = IBV_PORT_DOWN;
  EXPECT_THAT(refusal_of(open(options_)),
              AllOf(HasSubstr("GDAKIT_NICS_PER_PE=2, where 1 of this host's 2 RDMA NICs can be "
                              "used; lower GDAKIT_NICS_PER_PE"),
                    HasSubstr("rocep1s0: port 1 is DOWN")));
  options_.nics_per_pe = 1;
  for (const char* const list : {"", "rocep1s0:2", "rocep1s0", "^rocep1s0:1"}) {
    options_.hca_list = list;
    const auto backend = open(options_);
    ASSERT_TRUE(backend) << list;
    const auto queue = create(**backend, 0);
    ASSERT_TRUE(queue);
    EXPECT_EQ(card_of(*queue).address.gid[15], 2) << list;
    ASSERT_TRUE((*backend)->connect_queue(queue->number, queue->card));
    EXPECT_EQ(port_of_init(), 2u) << list;
  }
  options_.hca_list = "rocep1s0:1";
  EXPECT_THAT(refusal_of(open(options_)), HasSubstr("rocep1s0: port 1 is DOWN"));
}

TEST_F(TwoPorts, AreTakenInTheOrderOfTheMap) {
  options_.hca_map = "rocep1s0:2+rocep1s0:1";
  const auto backend = open(options_);
  ASSERT_TRUE(backend) << backend.error().message();
  for (std::uint32_t nic = 0; nic < 2; ++nic) {
    const auto queue = create(**backend, nic);
    ASSERT_TRUE(queue);
    EXPECT_EQ(card_of(*queue).address.gid[15], 2 - nic);
  }
}

}  // namespace
}  // namespace gdakit::mlx5
