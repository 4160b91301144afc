// What opening a NIC comes to, and where a call fails: its name, and nothing is left behind.
#include "backends/mlx5/open_nic.h"

#include <cerrno>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/mlx5/doorbell_pages.h"
#include "tests/mlx5/fixture.h"

namespace gdakit::mlx5 {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class OpenNicTest : public PlayedHost {
 protected:
  std::string refusal() {
    const auto nic = open();
    EXPECT_FALSE(nic);
    return nic ? "" : nic.error().message();
  }
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
    const auto nic = OpenNic::open(libraries_, {.wish = {.gid = GidChoice::parse(choice).value()}});
    return nic ? std::to_string((*nic)->gid_index()) : nic.error().message();
  };
  EXPECT_EQ(taken(""), "1");
  EXPECT_EQ(taken("0"), "0");
  EXPECT_EQ(taken("v1"), "0");
  EXPECT_EQ(taken("ipv6"), "2");
  EXPECT_EQ(taken("10.0.0.0/8"), "1");
  EXPECT_THAT(taken("v1,ipv4"),
              AllOf(HasSubstr("rocep1s0: port 1 has no GID of GDAKIT_GID=v1,ipv4"),
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

// A VLAN has the link-local address of the interface that it is on.
TEST_F(OpenNicTest, FindsTheGidOfItsOwnNetworkInterfaceAgain) {
  const ibv_gid_entry empty = gid_of(~0u, 0, 0);
  ibv_gid_entry below = gid_of(IBV_GID_TYPE_ROCE_V2, 0xfe, 1), vlan = below;
  below.ndev_ifindex = 2;
  vlan.ndev_ifindex = 3;
  played().gids = {below, vlan, empty};
  nic_options_.wish.gid = GidChoice::parse("1").value();
  const auto nic = open();
  ASSERT_TRUE(nic);
  ASSERT_TRUE((*nic)->find_gid_again());
  EXPECT_EQ((*nic)->gid_index(), 1);
  played().gids = {below, empty, vlan};
  ASSERT_TRUE((*nic)->find_gid_again());
  EXPECT_EQ((*nic)->gid_index(), 2);
}

TEST_F(OpenNicTest, APriorityThatEthernetLacksIsRefused) {
  const auto nic = OpenNic::open(libraries_, {.service_level = 8});
  ASSERT_FALSE(nic);
  EXPECT_THAT(nic.error().message(), HasSubstr("GDAKIT_SERVICE_LEVEL=8"));
}

TEST_F(OpenNicTest, APartitionBeyondThePortsTableIsRefusedWithItsSize) {
  put_on_infiniband();
  played().ports[0].pkey_tbl_len = 128;
  nic_options_.pkey_index = 127;
  const auto nic = open();
  ASSERT_TRUE(nic);
  EXPECT_EQ((*nic)->pkey_index(), 127);
  nic_options_.pkey_index = 128;
  EXPECT_EQ(refusal(),
            "GDAKIT_PKEY_INDEX=128: port 1 of rocep1s0 has a table of 128 partition keys, from "
            "index 0 on; `grep . /sys/class/infiniband/rocep1s0/ports/1/pkeys/*` shows them");
}

TEST_F(OpenNicTest, RoceHasOnePartition) {
  played().ports[0].pkey_tbl_len = 1;
  EXPECT_TRUE(open());
  nic_options_.pkey_index = 1;
  EXPECT_THAT(refusal(), AllOf(HasSubstr("GDAKIT_PKEY_INDEX=1: port 1 of rocep1s0"),
                               HasSubstr("a table of 1 partition key, at index 0;")));
}

TEST_F(OpenNicTest, WithoutAGidSaysWhereToLook) {
  played().gids = {gid_of(~0u, 0, 0)};
  EXPECT_THAT(refusal(), AllOf(HasSubstr("rocep1s0: port 1 has no GID"), HasSubstr("show_gids")));
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
    EXPECT_THAT(refusal(), AllOf(HasSubstr(name_of(call)), HasSubstr("rocep1s0"),
                                 HasSubstr(std::strerror(ENOMEM))));
  }
}

// What no field of a command has room for.
TEST_F(OpenNicTest, NumbersThatNoCommandCanNameAreErrors) {
  played().pd = 1u << 24;
  EXPECT_THAT(refusal(), AllOf(HasSubstr("mlx5dv_init_obj"), HasSubstr("0x1000000")));
  played().pd = 77;
  played().eqn = 256;
  EXPECT_THAT(refusal(), AllOf(HasSubstr("mlx5dv_devx_query_eqn"), HasSubstr("0x100")));
  played().eqn = 255;
  EXPECT_TRUE(open());
}

TEST_F(OpenNicTest, APortThatGoesDownBeforeItIsOpenIsToldWithItsState) {
  played().ports_later = {port_of(IBV_PORT_DOWN, IBV_LINK_LAYER_ETHERNET)};
  EXPECT_THAT(refusal(), AllOf(HasSubstr("port 1 of rocep1s0 is DOWN"), HasSubstr("ip link")));
}

TEST_F(OpenNicTest, AGidThatNoCommandCanNameIsNotTaken) {
  played().gids.assign(300, gid_of(~0u, 0, 0));
  played().gids[256] = gid_of(IBV_GID_TYPE_ROCE_V2, 0xfe, 1);
  EXPECT_THAT(refusal(), HasSubstr("rocep1s0: port 1 has no GID"));
  played().gids[255] = played().gids[256];
  const auto nic = open();
  ASSERT_TRUE(nic);
  EXPECT_EQ((*nic)->gid_index(), 255);
}

TEST_F(OpenNicTest, AllOfATableOfManyGidsIsLookedAt) {
  played().gids.assign(1000, gid_of(IBV_GID_TYPE_ROCE_V1, 0x20, 1));
  played().gids[255] = gid_of(IBV_GID_TYPE_ROCE_V2, 0x20, 2);
  const auto nic = open();
  ASSERT_TRUE(nic);
  EXPECT_EQ((*nic)->gid_index(), 255);
}

TEST_F(OpenNicTest, AGidOfAnotherPortIsNotTaken) {
  played().ports.push_back(played().ports.front());
  played().gids = {gid_of(IBV_GID_TYPE_ROCE_V2, 0x20, 2), gid_of(IBV_GID_TYPE_ROCE_V1, 0x20, 1)};
  played().gids[0].port_num = 2;
  const auto nic = open();
  ASSERT_TRUE(nic);
  EXPECT_EQ((*nic)->gid_index(), 1);
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

TEST_F(OpenNicTest, ADoorbellPageThatNoCommandCanNameIsAnError) {
  const auto nic = open();
  ASSERT_TRUE(nic);
  DoorbellPages pages(**nic, host_);
  played().next_page = 1u << 24;
  const auto page = pages.take();
  ASSERT_FALSE(page);
  EXPECT_THAT(page.error().message(),
              AllOf(HasSubstr("mlx5dv_devx_alloc_uar on rocep1s0"), HasSubstr("0x1000000")));
}

TEST_F(OpenNicTest, DoorbellPagesAreSharedWhereNoneIsDedicated) {
  const auto nic = open();
  ASSERT_TRUE(nic);
  DoorbellPages pages(**nic, host_);
  played().errors = {{"mlx5dv_devx_alloc_uar of a dedicated one", EOPNOTSUPP},
                     {"mlx5dv_devx_alloc_uar", ENOSPC},
                     {"mlx5dv_devx_alloc_uar of BF", ENOSPC}};
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
