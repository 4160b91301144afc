// What opening a NIC and making queue pairs come to where a call fails: its name, and nothing is
// left behind.
#include "backends/mlx5/open_nic.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/mlx5/doorbell_pages.h"
#include "backends/mlx5/queue_pair.h"
#include "core/format/cqe.h"
#include "core/format/doorbell.h"
#include "core/format/prm/cq.h"
#include "core/format/prm/qp.h"
#include "core/host/memory/host_memory.h"
#include "tests/mlx5/played.h"

namespace gdakit::mlx5 {
namespace {

namespace prm = format::prm;
using testing::AllOf;
using testing::HasSubstr;

class OpenNicTest : public testing::Test {
 protected:
  OpenNicTest() {
    played() = {};
    played().ports = {port_of(IBV_PORT_ACTIVE, IBV_LINK_LAYER_ETHERNET)};
    played().gids = {gid_of(IBV_GID_TYPE_ROCE_V2, 0xfe, 1)};
  }
  ~OpenNicTest() override { EXPECT_THAT(played().held(), testing::IsEmpty()); }

  Result<std::unique_ptr<OpenNic>> open() { return OpenNic::open(libraries_, nic_options_); }
  std::string refusal() {
    const auto nic = open();
    EXPECT_FALSE(nic);
    return nic ? "" : nic.error().message();
  }

  const Libraries& libraries_ = played_libraries();
  HostMemoryProvider host_;
  NicOptions nic_options_;
};

TEST_F(OpenNicTest, HasThePortsAddress) {
  const auto nic = open();
  ASSERT_TRUE(nic) << nic.error().message();
  EXPECT_EQ((*nic)->name(), "rocep1s0");
  EXPECT_EQ((*nic)->pdn(), 77u);
  EXPECT_EQ((*nic)->address().mtu, IBV_MTU_1024);
  EXPECT_EQ((*nic)->address().gid[15], 1);
}

TEST_F(OpenNicTest, TakesTheGidThatReachesFarthest) {
  const auto best = [&](std::vector<ibv_gid_entry> gids) {
    played().gids = std::move(gids);
    const auto nic = open();
    return nic ? (*nic)->address().gid[15] : 0;
  };
  const ibv_gid_entry v1_local = gid_of(IBV_GID_TYPE_ROCE_V1, 0xfe, 1);
  const ibv_gid_entry v2_local = gid_of(IBV_GID_TYPE_ROCE_V2, 0xfe, 2);
  const ibv_gid_entry v1 = gid_of(IBV_GID_TYPE_ROCE_V1, 0, 3);
  const ibv_gid_entry v2 = gid_of(IBV_GID_TYPE_ROCE_V2, 0, 4);
  const ibv_gid_entry empty = gid_of(~0u, 0, 5);
  ibv_gid_entry v2_ipv4 = gid_of(IBV_GID_TYPE_ROCE_V2, 0, 6);
  v2_ipv4.gid.raw[10] = v2_ipv4.gid.raw[11] = 0xff;
  EXPECT_EQ(best({v1_local, v2_local, v1, v2}), 4);
  EXPECT_EQ(best({v1_local, v1, v2_local}), 2);
  EXPECT_EQ(best({v1_local, v1}), 3);
  EXPECT_EQ(best({empty, v1_local}), 1);
  EXPECT_EQ(best({v2, v2_ipv4}), 6);
  EXPECT_EQ(best({v2_ipv4, v2}), 6);
}

TEST_F(OpenNicTest, TakesTheGidThatIsAskedFor) {
  ibv_gid_entry v2_ipv4 = gid_of(IBV_GID_TYPE_ROCE_V2, 0, 7);
  v2_ipv4.gid.raw[10] = v2_ipv4.gid.raw[11] = 0xff;
  v2_ipv4.gid.raw[12] = 10;
  played().gids = {gid_of(IBV_GID_TYPE_ROCE_V1, 0xfe, 1), v2_ipv4,
                   gid_of(IBV_GID_TYPE_ROCE_V2, 0xfd, 3)};
  const auto taken = [&](const char* choice) {
    const auto nic = OpenNic::open(libraries_, {.gid = GidChoice::parse(choice).value()});
    return nic ? std::to_string((*nic)->gid_index()) : nic.error().message();
  };
  EXPECT_EQ(taken(""), "1");
  EXPECT_EQ(taken("0"), "0");
  EXPECT_EQ(taken("v1"), "0");
  EXPECT_EQ(taken("ipv6"), "2");
  EXPECT_EQ(taken("10.0.0.0/8"), "1");
  EXPECT_THAT(taken("v1,ipv4"), AllOf(HasSubstr("rocep1s0 has no GID of GDAKIT_GID=v1,ipv4"),
                                      HasSubstr("0 is fe80::1, RoCE v1")));
}

TEST_F(OpenNicTest, FindsItsGidAgainWhereTheTableHasMoved) {
  const ibv_gid_entry empty = gid_of(~0u, 0, 0);
  const ibv_gid_entry mine = gid_of(IBV_GID_TYPE_ROCE_V2, 0xfe, 1);
  played().gids = {mine, empty};
  const auto nic = open();
  ASSERT_TRUE(nic);
  played().gids = {empty, mine};
  ASSERT_TRUE((*nic)->find_gid_again());
  EXPECT_EQ((*nic)->gid_index(), 1);
  played().gids = {gid_of(IBV_GID_TYPE_ROCE_V2, 0xfe, 2), empty};
  const Result<void> gone = (*nic)->find_gid_again();
  ASSERT_FALSE(gone);
  EXPECT_THAT(gone.error().message(), AllOf(HasSubstr("rocep1s0"), HasSubstr("fe80::1")));
}

TEST_F(OpenNicTest, APriorityThatEthernetLacksIsRefused) {
  const auto nic = OpenNic::open(libraries_, {.service_level = 8});
  ASSERT_FALSE(nic);
  EXPECT_THAT(nic.error().message(), HasSubstr("GDAKIT_SERVICE_LEVEL=8"));
}

TEST_F(OpenNicTest, WithoutAGidSaysWhereToLook) {
  played().gids = {gid_of(~0u, 0, 0)};
  EXPECT_THAT(refusal(), AllOf(HasSubstr("rocep1s0 has no GID"), HasSubstr("show_gids")));
}

TEST_F(OpenNicTest, WithoutAUsableDeviceTellsEachOnesReason) {
  played().ports = {port_of(IBV_PORT_DOWN, IBV_LINK_LAYER_ETHERNET)};
  EXPECT_THAT(refusal(), HasSubstr("rocep1s0: port 1 is DOWN"));
  played().devices = 0;
  EXPECT_THAT(refusal(), HasSubstr("`ibv_devices` lists none"));
  played().answers = false;
  EXPECT_THAT(refusal(), AllOf(HasSubstr("ibv_get_device_list"), HasSubstr("mlx5_ib")));
}

TEST_F(OpenNicTest, ACallThatFailsIsNamed) {
  for (const char* call : {"ibv_alloc_pd", "mlx5dv_init_obj of PD", "mlx5dv_devx_query_eqn"}) {
    played().errors = {{call, ENOMEM}};
    const std::string name = std::string(call).substr(0, std::string(call).find(' '));
    EXPECT_THAT(refusal(),
                AllOf(HasSubstr(name), HasSubstr("rocep1s0"), HasSubstr(std::strerror(ENOMEM))));
  }
}

TEST_F(OpenNicTest, HasAsManyReadsUnderWayAsTheDeviceAndGdakitHave) {
  const auto log_reads = [&](int most) {
    played().reads = most;
    const auto nic = open();
    return nic ? (*nic)->address().log_reads : 99;
  };
  EXPECT_EQ(log_reads(128), 4);
  EXPECT_EQ(log_reads(16), 4);
  EXPECT_EQ(log_reads(7), 2);
  EXPECT_EQ(log_reads(0), 0);
}

// A queue pair's memory: receives, slots, CQE, record, CQEs of receives.
class QueuePairTest : public OpenNicTest {
 protected:
  QueuePairTest() {
    options_.memory.receive_slots = memory_.data();
    options_.memory.receive_depth = 4;
    options_.memory.slots = memory_.data() + 256;
    options_.memory.depth = 64;
    options_.memory.cqe = memory_.data() + 256 + 4096;
    options_.memory.doorbell_record = memory_.data() + 256 + 4096 + 64;
    options_.memory.receive_cqes = memory_.data() + 256 + 4096 + 128;
    options_.uar = &uar_;
  }

  // Of a queue pair that is made, connected with a peer, and destroyed.
  Result<void> make(const ConnectionCard& peer = {}) {
    const auto nic = open();
    if (!nic) return nic.error();
    const auto records = Umem::make(**nic, host_, memory_.data(), memory_.size());
    if (!records) return records.error();
    options_.cq_records = records->get();
    const auto pair = QueuePair::create(**nic, host_, options_);
    if (!pair) return pair.error();
    if (auto connected = (*pair)->connect(peer); !connected) return connected;
    if (const auto state = (*pair)->state(); !state) return state.error();
    return (*pair)->destroy();
  }

  alignas(4096) std::array<std::uint8_t, 8192> memory_{};
  mlx5dv_devx_uar uar_{};
  QueuePairOptions options_;
};

TEST_F(QueuePairTest, IsMadeAndConnectedByCommands) {
  const auto made = make();
  EXPECT_TRUE(made) << made.error().message();
}

TEST_F(QueuePairTest, ACallThatFailsIsNamed) {
  for (const char* call : {"mlx5dv_devx_umem_reg_ex 1", "mlx5dv_devx_umem_reg_ex 2",
                           "ibv_create_ah", "mlx5dv_init_obj of AH"}) {
    played().errors = {{call, EFAULT}};
    played().umems.clear();
    const auto made = make();
    ASSERT_FALSE(made) << call;
    const std::string name = std::string(call).substr(0, std::string(call).find(' '));
    EXPECT_THAT(made.error().message(),
                AllOf(HasSubstr(name), HasSubstr("rocep1s0"), HasSubstr(std::strerror(EFAULT))));
  }
}

TEST_F(QueuePairTest, MemoryThatCannotBePinnedNamesTheLimit) {
  played().errors = {{"mlx5dv_devx_umem_reg_ex 2", ENOMEM}};
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
  const auto records = Umem::make(**nic, host_, memory_.data(), memory_.size());
  options_.cq_records = records->get();
  const auto pair = QueuePair::create(**nic, host_, options_);
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
  EXPECT_EQ(played().live["umem"], 1);  // the records'
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
  ASSERT_EQ(played().umems.size(), 2u);
  EXPECT_EQ(played().umems[1].addr, options_.memory.receive_slots);
  EXPECT_EQ(played().umems[1].size, 256u + 4096 + 128 + 4 * 64);
  EXPECT_EQ(played().umems[1].pgsz_bitmap, 0x1fffu);
  const auto qp = sent<prm::CreateQpIn>("0500");
  EXPECT_EQ(qp.get(prm::CreateQpIn::wq_umem_offset), 0u);
  const auto context = qp.at(prm::CreateQpIn::qpc);
  EXPECT_EQ(context.get(prm::Qpc::dbr_addr), 256u + 4096 + 64);
  EXPECT_EQ(context.get(prm::Qpc::log_sq_size), 6u);
  EXPECT_EQ(context.get(prm::Qpc::log_rq_size), 2u);
  EXPECT_EQ(context.get(prm::Qpc::log_rq_stride), 2u);  // 64 bytes
  EXPECT_EQ(context.get(prm::Qpc::pd), 77u);
  const auto cq = sent<prm::CreateCqIn>("0400");  // of receives, the later one
  EXPECT_EQ(cq.get(prm::CreateCqIn::cq_umem_offset), 256u + 4096 + 128);
  EXPECT_EQ(cq.at(prm::CreateCqIn::cqc).get(prm::Cqc::log_cq_size), 2u);
  EXPECT_EQ(cq.at(prm::CreateCqIn::cqc).get(prm::Cqc::cc), 0u);
  EXPECT_EQ(cq.at(prm::CreateCqIn::cqc).get(prm::Cqc::oi), 1u);
  EXPECT_EQ(cq.at(prm::CreateCqIn::cqc).get(prm::Cqc::c_eqn), 5u);
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
  played().ports = {port_of(IBV_PORT_ACTIVE, IBV_LINK_LAYER_INFINIBAND)};
  played().ports[0].flags = IBV_QPF_GRH_REQUIRED;
  played().gids = {gid_of(IBV_GID_TYPE_IB, 0xfe, 1)};
  const auto over_infiniband = path();
  EXPECT_EQ(over_infiniband.get(prm::Ads::sl), 5u);
  EXPECT_EQ(over_infiniband.get(prm::Ads::eth_prio), 0u);
  EXPECT_EQ(over_infiniband.get(prm::Ads::tclass), 106u);
}

TEST_F(Commands, OnInfiniBandHaveARoutingHeaderWhereOneIsNeeded) {
  const auto has_grh = [&](std::uint8_t prefix, int flags) {
    played().ports = {port_of(IBV_PORT_ACTIVE, IBV_LINK_LAYER_INFINIBAND)};
    played().ports[0].flags = static_cast<std::uint8_t>(flags);
    played().gids = {gid_of(IBV_GID_TYPE_IB, 0xfe, 1)};
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

TEST_F(OpenNicTest, DoorbellPagesAreDedicatedAsLongAsThereAreSome) {
  const auto nic = open();
  ASSERT_TRUE(nic);
  DoorbellPages pages(**nic, host_);
  const auto take = [&pages] { return pages.take()->page; };
  mlx5dv_devx_uar* const first = take();
  EXPECT_NE(take(), first);
  mlx5dv_devx_uar* const shared = take();
  EXPECT_EQ(take(), shared);
  pages.give_back(first);
  EXPECT_EQ(take(), first);
}

TEST_F(OpenNicTest, DoorbellPagesAreSharedWhereNoneIsDedicated) {
  const auto nic = open();
  ASSERT_TRUE(nic);
  DoorbellPages pages(**nic, host_);
  played().errors = {{"mlx5dv_devx_alloc_uar of a dedicated one", EOPNOTSUPP},
                     {"mlx5dv_devx_alloc_uar", ENOSPC}};
  EXPECT_THAT(pages.take().error().message(), HasSubstr("mlx5dv_devx_alloc_uar"));
  played().errors.erase("mlx5dv_devx_alloc_uar");
  mlx5dv_devx_uar* const first = pages.take()->page;
  EXPECT_EQ(pages.take()->page, first);
  pages.give_back(first);
  pages.give_back(first);
  EXPECT_EQ(pages.take()->page, first);
}

}  // namespace
}  // namespace gdakit::mlx5
