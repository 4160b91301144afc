// What opening a NIC and making queue pairs come to where a call fails: its name, and nothing is
// left behind.
#include "backends/mlx5/open_nic.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/mlx5/doorbell_pages.h"
#include "backends/mlx5/queue_pair.h"
#include "core/format/cqe.h"
#include "core/format/doorbell.h"
#include "tests/mlx5/played.h"

namespace gdakit::mlx5 {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class OpenNicTest : public testing::Test {
 protected:
  OpenNicTest() {
    played() = {};
    played().ports = {port_of(IBV_PORT_ACTIVE, IBV_LINK_LAYER_ETHERNET)};
    played().gids = {gid_of(IBV_GID_TYPE_ROCE_V2, 0xfe, 1)};
  }
  ~OpenNicTest() override { EXPECT_EQ(played().held(), 0); }

  Result<std::unique_ptr<OpenNic>> open() { return OpenNic::open(libraries_, HcaList()); }
  std::string refusal() {
    const auto nic = open();
    EXPECT_FALSE(nic);
    return nic ? "" : nic.error().message();
  }

  const Libraries& libraries_ = played_libraries();
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
  EXPECT_EQ(best({v1_local, v2_local, v1, v2}), 4);
  EXPECT_EQ(best({v1_local, v1, v2_local}), 2);
  EXPECT_EQ(best({v1_local, v1}), 3);
  EXPECT_EQ(best({empty, v1_local}), 1);
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

  // Of a queue pair that is made and connected.
  Result<void> make() {
    const auto nic = open();
    if (!nic) return nic.error();
    const auto records = Umem::make(**nic, memory_.data(), memory_.size());
    if (!records) return records.error();
    options_.cq_records = records->get();
    const auto pair = QueuePair::create(**nic, options_);
    if (!pair) return pair.error();
    if (auto connected = (*pair)->connect({}); !connected) return connected;
    const auto state = (*pair)->state();
    return state ? Result<void>() : Result<void>(state.error());
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
  for (const char* call : {"mlx5dv_devx_umem_reg", "ibv_create_ah", "mlx5dv_init_obj of AH"}) {
    played().errors = {{call, EFAULT}};
    const auto made = make();
    ASSERT_FALSE(made) << call;
    const std::string name = std::string(call).substr(0, std::string(call).find(' '));
    EXPECT_THAT(made.error().message(),
                AllOf(HasSubstr(name), HasSubstr("rocep1s0"), HasSubstr(std::strerror(EFAULT))));
  }
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

TEST_F(OpenNicTest, DoorbellPagesAreSharedWhereThereAreNoMore) {
  const auto nic = open();
  ASSERT_TRUE(nic);
  DoorbellPages pages(**nic);
  played().errors = {{"mlx5dv_devx_alloc_uar", ENOSPC}};
  EXPECT_THAT(pages.take().error().message(), HasSubstr("mlx5dv_devx_alloc_uar"));
  played().errors.clear();
  const auto first = pages.take();
  ASSERT_TRUE(first);
  played().errors = {{"mlx5dv_devx_alloc_uar", ENOSPC}};
  EXPECT_EQ(*pages.take(), *first);
}

}  // namespace
}  // namespace gdakit::mlx5
