// What making and connecting queue pairs come to, and where a call fails: its name, and nothing is
// left behind.
#include "backends/mlx5/queue_pair.h"

#include <cerrno>
#include <cstring>
#include <set>
#include <span>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/mlx5/way.h"
#include "core/format/prm/cq.h"
#include "core/format/prm/qp.h"
#include "tests/mlx5/fixture.h"

namespace gdakit::mlx5 {
namespace {

namespace prm = format::prm;
using testing::AllOf;
using testing::HasSubstr;

using QueuePairTest = PlayedQueuePair;

TEST_F(QueuePairTest, IsMadeAndConnectedByCommands) {
  const auto made = make();
  EXPECT_TRUE(made) << made.error().message();
}

TEST_F(QueuePairTest, ACallThatFailsIsNamed) {
  for (const char* call : {"mlx5dv_devx_umem_reg_ex", "ibv_create_ah", "mlx5dv_init_obj of AH"}) {
    played().errors = {{call, EFAULT}};
    const auto made = make();
    ASSERT_FALSE(made) << call;
    EXPECT_THAT(made.error().message(), AllOf(HasSubstr(name_of(call)), HasSubstr("rocep1s0"),
                                              HasSubstr(std::strerror(EFAULT))));
  }
}

TEST_F(QueuePairTest, MemoryThatCannotBePinnedNamesTheLimit) {
  played().errors = {{"mlx5dv_devx_umem_reg_ex", ENOMEM}};
  const auto made = make();
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message(), HasSubstr("ulimit -l"));
}

TEST_F(QueuePairTest, AWayThatIsNotThereIsToldWithBothGids) {
  played().errors = {{"ibv_create_ah", ENETUNREACH}};
  ConnectionCard peer;
  peer.address.gid = {0xfd, 1};
  const auto made = make(peer);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message(), AllOf(HasSubstr("fe80::1"), HasSubstr("fd01::")));
}

// A queue pair that could not be connected is in reset, and so can be tried again.
TEST_F(QueuePairTest, IsResetIfItCannotBeConnected) {
  played().errors = {{"0504", EREMOTEIO}};
  EXPECT_FALSE(make());
  EXPECT_TRUE(played().sent.contains("050a"));
}

TEST_F(QueuePairTest, ThatCannotBeDestroyedSaysSoAndCanBeLater) {
  const auto nic = open();
  ASSERT_TRUE(nic);
  QueueUmems umems(**nic, host_);
  const auto pair = QueuePair::create(**nic, umems, options_);
  ASSERT_TRUE(pair);
  for (const char* call : {"mlx5dv_devx_obj_destroy", "mlx5dv_devx_umem_dereg"}) {
    played().errors = {{call, EBUSY}};
    const auto gone = (*pair)->destroy();
    ASSERT_FALSE(gone);
    EXPECT_THAT(gone.error().message(), HasSubstr(std::strerror(EBUSY)));
  }
  played().errors.clear();
  EXPECT_TRUE((*pair)->destroy());
  EXPECT_EQ(played().live["object"], 0);
  EXPECT_EQ(played().live["umem"], 0);
}

// Of one that is gone but for its CQs: DESTROY_CQ has failed.
TEST_F(QueuePairTest, ThatIsHalfDestroyedHasNoState) {
  const auto nic = open();
  ASSERT_TRUE(nic);
  QueueUmems umems(**nic, host_);
  const auto pair = QueuePair::create(**nic, umems, options_);
  ASSERT_TRUE(pair);
  played().errors = {{"mlx5dv_devx_obj_destroy 2", EBUSY}};
  ASSERT_FALSE((*pair)->destroy());
  const auto report = (*pair)->report();
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message(), HasSubstr("is destroyed"));
  const auto connected = (*pair)->connect(ConnectionCard{});
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().message(), report.error().message());
  played().errors.clear();
  EXPECT_TRUE((*pair)->destroy());
}

// What the kernel's rules and other clients ask of the commands.
class Commands : public QueuePairTest {
 protected:
  template <class Layout>
  prm::View<Layout> sent(const char* opcode) {
    return prm::View<Layout>(std::span<const std::uint8_t>(played().sent.at(opcode)));
  }
};

TEST_F(Commands, NamePlacesInOneUmemOfSmallPages) {
  ASSERT_TRUE(make());
  ASSERT_EQ(played().umems.size(), 1u);
  EXPECT_EQ(played().umems[0].addr, options_.memory.receive_slots);
  EXPECT_EQ(played().umems[0].size, QueueBlock::kReceiveCqes + 4 * 64);
  EXPECT_EQ(played().umems[0].pgsz_bitmap, 0x1fffu);
  const auto qp = sent<prm::CreateQpIn>("0500");
  EXPECT_EQ(qp.get(prm::CreateQpIn::wq_umem_offset), 0u);
  const auto context = qp.at(prm::CreateQpIn::qpc);
  EXPECT_EQ(context.get(prm::Qpc::dbr_addr), QueueBlock::kRecord);
  EXPECT_EQ(context.get(prm::Qpc::log_sq_size), 6u);
  EXPECT_EQ(context.get(prm::Qpc::log_rq_size), 2u);
  EXPECT_EQ(context.get(prm::Qpc::log_rq_stride), 2u);  // 64 bytes
  EXPECT_EQ(context.get(prm::Qpc::pd), 77u);
  const auto cq = sent<prm::CreateCqIn>("0400");  // of receives, the later one
  EXPECT_EQ(cq.get(prm::CreateCqIn::cq_umem_offset), QueueBlock::kReceiveCqes);
  EXPECT_EQ(cq.at(prm::CreateCqIn::cqc).get(prm::Cqc::log_cq_size), 2u);
  EXPECT_EQ(cq.at(prm::CreateCqIn::cqc).get(prm::Cqc::cc), 0u);
  EXPECT_EQ(cq.at(prm::CreateCqIn::cqc).get(prm::Cqc::oi), 1u);
  EXPECT_EQ(cq.at(prm::CreateCqIn::cqc).get(prm::Cqc::c_eqn), 5u);
}

TEST_F(Commands, NameRecordsOfCqsBehindTheQueuesOwn) {
  for (const bool receives : {false, true}) {
    options_.memory = block_.memory(receives);
    ASSERT_TRUE(make());
    const auto queue = sent<prm::CreateQpIn>("0500").at(prm::CreateQpIn::qpc);
    const auto cq = sent<prm::CreateCqIn>("0400").at(prm::CreateCqIn::cqc);  // the later one
    EXPECT_EQ(cq.get(prm::Cqc::dbr_umem_id), queue.get(prm::Qpc::dbr_umem_id));
    EXPECT_EQ(cq.get(prm::Cqc::dbr_addr), queue.get(prm::Qpc::dbr_addr) + (receives ? 16 : 8));
    if (receives) continue;
    EXPECT_EQ(played().umems.back().size, QueueBlock::kRecord + 24 - QueueBlock::kSlots);
  }
}

// Of a LAG: the ports that queue pairs of one NIC name, in their order.
class PortsOfALag : public Commands {
 protected:
  std::vector<std::uint64_t> ports(std::size_t count) {
    const auto nic = open();
    QueueUmems umems(**nic, host_);
    std::vector<std::uint64_t> named;
    for (std::size_t i = 0; i < count; ++i) {
      const auto pair = QueuePair::create(**nic, umems, options_);
      EXPECT_TRUE((*pair)->connect(ConnectionCard{}));
      const auto context = sent<prm::Rst2initQpIn>("0502").at(prm::Rst2initQpIn::qpc);
      named.push_back(context.get(prm::Qpc::lag_tx_port_affinity));
    }
    return named;
  }
  std::uint64_t named_in_rtr() {
    const auto command = sent<prm::Init2rtrQpIn>("0503");
    EXPECT_EQ(command.get(prm::Init2rtrQpIn::opt_param_mask) != 0, played().lag_port_in_rtr);
    return command.at(prm::Init2rtrQpIn::qpc).get(prm::Qpc::lag_tx_port_affinity);
  }
};

TEST_F(PortsOfALag, AreNamedInTurn) {
  played().lag_ports = 2;
  EXPECT_THAT(ports(5), testing::ElementsAre(1, 2, 1, 2, 1));
  EXPECT_EQ(named_in_rtr(), 0u);
  played().lag_port_in_rtr = true;
  played().lag_ports = 4;
  EXPECT_THAT(ports(6), testing::ElementsAre(1, 2, 3, 4, 1, 2));
  EXPECT_EQ(named_in_rtr(), 2u);
}

TEST_F(PortsOfALag, AreLeftToTheNicWhereThereIsNoneOrItSpreadsByItself) {
  EXPECT_THAT(ports(2), testing::ElementsAre(0, 0));
  played().lag_ports = 1;
  EXPECT_THAT(ports(2), testing::ElementsAre(0, 0));
  played().lag_ports = 2;
  played().lag_mode = 1;  // by its flow table
  EXPECT_THAT(ports(2), testing::ElementsAre(0, 0));
  played().lag_mode = played().lag_state = 0;
  EXPECT_THAT(ports(2), testing::ElementsAre(0, 0));
  played().lag_state = 1;
  played().errors = {{"0842", EREMOTEIO}};
  EXPECT_THAT(ports(2), testing::ElementsAre(0, 0));
}

TEST_F(Commands, TakeTheLessOfBothEndsAndAPortOfTheirOwn) {
  ConnectionCard peer;
  peer.qpn = 0x1234;
  peer.first_psn = 0x56789a;
  peer.address.mtu = IBV_MTU_512;
  peer.address.log_reads = 1;
  ASSERT_TRUE(make(peer));
  const auto rtr = sent<prm::Init2rtrQpIn>("0503").at(prm::Init2rtrQpIn::qpc);
  EXPECT_EQ(rtr.get(prm::Qpc::mtu), IBV_MTU_512);
  EXPECT_EQ(rtr.get(prm::Qpc::remote_qpn), 0x1234u);
  EXPECT_EQ(rtr.get(prm::Qpc::next_rcv_psn), 0x56789au);
  EXPECT_EQ(rtr.get(prm::Qpc::log_rra_max), 4u);
  const auto path = rtr.at(prm::Qpc::primary_address_path);
  EXPECT_GE(path.get(prm::Ads::udp_sport), 0xc000u);
  EXPECT_EQ(path.get(prm::Ads::grh), 0u);
  const auto rts = sent<prm::Rtr2rtsQpIn>("0504").at(prm::Rtr2rtsQpIn::qpc);
  EXPECT_EQ(rts.get(prm::Qpc::log_sra_max), 1u);
  const std::uint64_t port = path.get(prm::Ads::udp_sport);
  peer.qpn = 0x1235;
  ASSERT_TRUE(make(peer));
  EXPECT_NE(sent<prm::Init2rtrQpIn>("0503")
                .at(prm::Init2rtrQpIn::qpc)
                .at(prm::Qpc::primary_address_path)
                .get(prm::Ads::udp_sport),
            port);
}

// PEs make their queues to all peers in one order, so the numbers of both ends are alike.
TEST(SourcePort, OfEachQueueToAPeerIsAnother) {
  constexpr std::uint32_t kBase = 0x40, kRows = 8;
  for (std::uint32_t pes = 2; pes <= 64; ++pes) {
    for (std::uint32_t peer = 0; peer < pes; ++peer) {
      std::set<std::uint16_t> ports;
      for (std::uint32_t row = 0; row < kRows; ++row) {
        ports.insert(source_port_of(kBase + row * pes + peer, kBase + row * pes + 1));
      }
      ASSERT_EQ(ports.size(), kRows) << pes << " PEs, to PE " << peer;
      ASSERT_GE(*ports.begin(), 0xc000);
    }
  }
}

TEST_F(Commands, CarryTheServiceLevelAndTheTrafficClass) {
  nic_options_ = {.service_level = 5, .traffic_class = 106};
  const auto path = [&] {
    EXPECT_TRUE(make());
    return sent<prm::Init2rtrQpIn>("0503")
        .at(prm::Init2rtrQpIn::qpc)
        .at(prm::Qpc::primary_address_path);
  };
  const auto over_ethernet = path();
  EXPECT_EQ(over_ethernet.get(prm::Ads::eth_prio), 5u);
  EXPECT_EQ(over_ethernet.get(prm::Ads::sl), 0u);
  EXPECT_EQ(over_ethernet.get(prm::Ads::tclass), 106u);
  EXPECT_EQ(over_ethernet.get(prm::Ads::dscp), 106u >> 2);
  put_on_infiniband();
  played().ports[0].flags = IBV_QPF_GRH_REQUIRED;
  const auto over_infiniband = path();
  EXPECT_EQ(over_infiniband.get(prm::Ads::sl), 5u);
  EXPECT_EQ(over_infiniband.get(prm::Ads::eth_prio), 0u);
  EXPECT_EQ(over_infiniband.get(prm::Ads::tclass), 106u);
}

// Later commands leave it as it is: they do not name it among what they change.
TEST_F(Commands, PutTheQueueIntoThePartition) {
  const auto index = [&] {
    EXPECT_TRUE(make());
    return sent<prm::Rst2initQpIn>("0502")
        .at(prm::Rst2initQpIn::qpc)
        .at(prm::Qpc::primary_address_path)
        .get(prm::Ads::pkey_index);
  };
  put_on_infiniband();
  EXPECT_EQ(index(), 0u);
  played().ports[0].pkey_tbl_len = 128;
  nic_options_.pkey_index = 5;
  EXPECT_EQ(index(), 5u);
  EXPECT_EQ(sent<prm::Init2rtrQpIn>("0503").get(prm::Init2rtrQpIn::opt_param_mask), 0u);
}

TEST_F(Commands, OnInfiniBandHaveARoutingHeaderWhereOneIsNeeded) {
  const auto has_grh = [&](std::uint8_t prefix, int flags) {
    put_on_infiniband();
    played().ports[0].flags = static_cast<std::uint8_t>(flags);
    ConnectionCard peer;
    peer.address.gid = {0xfe, 0x80, prefix};
    peer.address.lid = 9;
    EXPECT_TRUE(make(peer));
    const auto path = sent<prm::Init2rtrQpIn>("0503")
                          .at(prm::Init2rtrQpIn::qpc)
                          .at(prm::Qpc::primary_address_path);
    EXPECT_EQ(path.get(prm::Ads::rlid), 9u);
    const bool names_gid = path.at(prm::Ads::rgid_rip)[0] == 0xfe;
    EXPECT_EQ(names_gid, path.get(prm::Ads::grh) == 1);
    return names_gid;
  };
  EXPECT_FALSE(has_grh(0, 0));
  EXPECT_TRUE(has_grh(1, 0));
  EXPECT_TRUE(has_grh(0, IBV_QPF_GRH_REQUIRED));
}

struct Refused {
  const char* opcode;
  const char* name;
};
class CommandTest : public QueuePairTest, public testing::WithParamInterface<Refused> {};
INSTANTIATE_TEST_SUITE_P(All, CommandTest,
                         testing::Values(Refused{"0400", "CREATE_CQ"}, Refused{"0500", "CREATE_QP"},
                                         Refused{"0502", "RST2INIT_QP"},
                                         Refused{"0503", "INIT2RTR_QP"},
                                         Refused{"0504", "RTR2RTS_QP"},
                                         Refused{"050b", "QUERY_QP"}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(CommandTest, ThatTheFirmwareRefusesIsToldWithItsStatus) {
  played().errors = {{GetParam().opcode, EREMOTEIO}};
  played().status = 0x08;
  played().syndrome = 0x19c6d6;
  const auto made = make();
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message(), AllOf(HasSubstr(GetParam().name), HasSubstr("rocep1s0"),
                                            HasSubstr("0x8 (limits exceeded), syndrome 0x19c6d6")));
  EXPECT_EQ(made.error().system_code(), EREMOTEIO);
}

TEST_P(CommandTest, ThatDoesNotReachTheFirmwareIsToldByTheSystemsCode) {
  played().errors = {{GetParam().opcode, EINTR}};
  const auto made = make();
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message(),
              AllOf(HasSubstr(GetParam().name), HasSubstr(std::strerror(EINTR)),
                    testing::Not(HasSubstr("syndrome"))));
}

}  // namespace
}  // namespace gdakit::mlx5
