// What `gdakit check` is told of a NIC, by libraries that this test plays: each call's answer by
// itself.
#include "backends/mlx5/check_look.h"

#include <cerrno>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/mlx5/played.h"

namespace gdakit::mlx5 {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class CheckLook : public testing::Test {
 protected:
  CheckLook() {
    played() = {};
    played().ports = {port_of(IBV_PORT_ACTIVE, IBV_LINK_LAYER_ETHERNET)};
    played().gids = {gid_of(IBV_GID_TYPE_ROCE_V2, 0xfe, 1)};
  }
  ~CheckLook() override { EXPECT_THAT(played().held(), IsEmpty()); }

  NicLook look(const char* list = "") {
    return look_at_nic(libraries_, played_device(), HcaList::parse(list).value());
  }

  const Libraries& libraries_ = played_libraries();
};

TEST_F(CheckLook, AHealthyNicAnswersEveryCall) {
  const NicLook nic = look();
  EXPECT_EQ(nic.name, "rocep1s0");
  EXPECT_EQ(nic.node, "uverbs3");
  EXPECT_EQ(nic.firmware, "28.39.3004");
  for (const Answer& answer : {nic.open, nic.attributes, nic.dedicated_page, nic.uncached_page,
                               nic.blueflame_page, nic.atomics}) {
    EXPECT_TRUE(answer.ok()) << answer.said;
  }
  EXPECT_TRUE(nic.has_atomics());
  ASSERT_THAT(nic.ports, SizeIs(1));
  EXPECT_TRUE(nic.ports[0].is_active && nic.ports[0].is_ethernet);
  EXPECT_EQ(nic.ports[0].mtu, 1024u);
  ASSERT_THAT(nic.ports[0].gids, SizeIs(1));
  EXPECT_TRUE(nic.ports[0].gids[0].is_v2 && nic.ports[0].gids[0].is_link_local);
  EXPECT_EQ(nic.ports[0].gids[0].text, "fe80::1");
}

TEST_F(CheckLook, TellsWhichQueuesThereCanBe) {
  EXPECT_THAT(look().lacks_dc, IsEmpty());
  EXPECT_FALSE(look().has_recordless);
  played().recordless = true;
  EXPECT_TRUE(look().has_recordless);
  played().dc_atomic_bytes = 8;
  EXPECT_THAT(look().lacks_dc, HasSubstr("atomic operations of DC of 4 and 8 bytes"));
  played().has_dc = false;
  EXPECT_THAT(look().lacks_dc, HasSubstr("no targets of DC"));
}

TEST_F(CheckLook, AContextThatIsRefusedIsTheOnlyAnswer) {
  played().errors["mlx5dv_open_device"] = EACCES;
  const NicLook nic = look();
  EXPECT_TRUE(nic.open.failed());
  EXPECT_EQ(nic.open.code, EACCES);
  EXPECT_THAT(nic.open.said,
              AllOf(HasSubstr("/dev/infiniband/uverbs3"), HasSubstr(std::strerror(EACCES))));
  EXPECT_FALSE(nic.atomics.asked);
  EXPECT_THAT(nic.ports, IsEmpty());
}

TEST_F(CheckLook, OneCallThatFailsHidesNoOther) {
  played().errors = {{"mlx5dv_devx_alloc_uar of a dedicated one", EOPNOTSUPP},
                     {"0100", EREMOTEIO},
                     {"ibv_query_port", EIO}};
  const NicLook nic = look();
  EXPECT_EQ(nic.dedicated_page.code, EOPNOTSUPP);
  EXPECT_TRUE(nic.uncached_page.ok() && nic.blueflame_page.ok());
  EXPECT_EQ(nic.atomics.code, EREMOTEIO);
  EXPECT_FALSE(nic.has_atomics());
  ASSERT_THAT(nic.ports, SizeIs(1));
  EXPECT_EQ(nic.ports[0].query.code, EIO);
}

TEST_F(CheckLook, EachKindOfPageIsAskedForByItself) {
  played().errors["mlx5dv_devx_alloc_uar"] = ENOSPC;
  EXPECT_EQ(look().uncached_page.code, ENOSPC);
  EXPECT_TRUE(look().dedicated_page.ok());
  played().errors = {{"mlx5dv_devx_alloc_uar of BF", EPERM}};
  EXPECT_EQ(look().blueflame_page.code, EPERM);
}

TEST_F(CheckLook, AtomicsAreToldAsTheFirmwareHasThem) {
  played().atomic_operations = 0x3;
  const NicLook nic = look();
  EXPECT_TRUE(nic.atomics.ok());
  EXPECT_EQ(nic.atomic_operations, 0x3u);
  EXPECT_EQ(nic.atomic_sizes, 0xcu);
  EXPECT_FALSE(nic.has_atomics());
  EXPECT_FALSE(nic.swaps_fetched);
  played().swaps_fetched = true;
  EXPECT_TRUE(look().swaps_fetched);
}

TEST_F(CheckLook, WhatTheListLeavesOutIsNotOpened) {
  played().errors["mlx5dv_open_device"] = EIO;
  EXPECT_FALSE(look("^rocep1s0").open.asked);
  EXPECT_FALSE(look("^rocep1s0").is_allowed);
  played().errors.clear();
  EXPECT_THAT(look("rocep1s0:2").ports, IsEmpty());
}

TEST_F(CheckLook, OtherVendorsAreNotOpened) {
  played().is_mlx5 = false;
  EXPECT_FALSE(look().is_connectx);
  EXPECT_FALSE(look().open.asked);
}

TEST_F(CheckLook, GidsThatCannotBeReadAreLeftOut) {
  played().gids = {gid_of(~0u, 0, 0), gid_of(IBV_GID_TYPE_ROCE_V1, 0x20, 2)};
  const NicLook nic = look();
  ASSERT_THAT(nic.ports.at(0).gids, SizeIs(1));
  EXPECT_EQ(nic.ports[0].gids[0].index, 1u);
  EXPECT_TRUE(nic.ports[0].gids[0].is_v1);
}

}  // namespace
}  // namespace gdakit::mlx5
