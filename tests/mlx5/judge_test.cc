// What is said of each device, by libraries that this test plays.
#include "backends/mlx5/judge.h"

#include <cerrno>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/mlx5/fixture.h"

namespace gdakit::mlx5 {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Judge : public PlayedHost {
 protected:
  DeviceReport judge(const char* list = "") {
    return judge_device(libraries_, played_device(), HcaList::parse(list).value());
  }
  std::string refusal(const char* list = "") {
    const DeviceReport report = judge(list);
    EXPECT_FALSE(report.usable());
    return report.sentence;
  }
};

TEST_F(Judge, AnActivePortIsTaken) {
  const DeviceReport report = judge();
  EXPECT_EQ(report.name, "rocep1s0");
  EXPECT_EQ(report.port, 1);
  EXPECT_EQ(report.sentence, "port 1, RoCE, MTU 1024, firmware 28.39.3004");
}

TEST_F(Judge, TheFirstPortThatWorksAndIsAllowedIsTaken) {
  played().ports = {port_of(IBV_PORT_DOWN, IBV_LINK_LAYER_ETHERNET),
                    port_of(IBV_PORT_ACTIVE, IBV_LINK_LAYER_INFINIBAND),
                    port_of(IBV_PORT_ACTIVE, IBV_LINK_LAYER_ETHERNET)};
  EXPECT_EQ(judge().port, 2);
  EXPECT_THAT(judge().sentence, HasSubstr("InfiniBand, MTU 1024, LID 17"));
  EXPECT_EQ(judge("^rocep1s0:2").port, 3);
  EXPECT_EQ(judge("rocep1s0:3").port, 3);
}

TEST_F(Judge, OtherVendorsAreToldByTheirNumber) {
  played().is_mlx5 = false;
  EXPECT_THAT(refusal(), AllOf(HasSubstr("no ConnectX"), HasSubstr("vendor")));
}

TEST_F(Judge, WhatTheListLeavesOutIsNotOpened) {
  played().errors["mlx5dv_open_device"] = EIO;
  EXPECT_THAT(refusal("^rocep1s0"), HasSubstr("GDAKIT_HCA_LIST"));
  EXPECT_THAT(refusal("mlx5_0"), HasSubstr("GDAKIT_HCA_LIST"));
  played().errors.clear();
  EXPECT_THAT(refusal("rocep1s0:2"), HasSubstr("port 1 is left out by GDAKIT_HCA_LIST"));
}

TEST_F(Judge, ADeviceThatCannotBeOpenedIsToldByItsNode) {
  const auto refused = [&](int error) {
    played().errors["mlx5dv_open_device"] = error;
    return refusal();
  };
  for (const int error : {ENOENT, ENODEV, EACCES, EPERM, EINVAL, EOPNOTSUPP, EIO}) {
    EXPECT_THAT(refused(error),
                AllOf(HasSubstr("/dev/infiniband/uverbs3"), HasSubstr(std::strerror(error))));
  }
  EXPECT_THAT(refused(ENOENT), HasSubstr("--device=/dev/infiniband/uverbs3"));
  EXPECT_THAT(refused(EACCES), HasSubstr("`ls -l /dev/infiniband/uverbs3`"));
  EXPECT_THAT(refused(EINVAL), HasSubstr("has no DEVX"));
  EXPECT_THAT(refused(EOPNOTSUPP), HasSubstr("Linux 5.7"));
}

TEST_F(Judge, WithoutAllAtomicsADeviceIsRefused) {
  for (const std::uint16_t operations : {0x0, 0x3, 0x7, 0xb}) {
    played().atomic_operations = operations;
    EXPECT_THAT(refusal(), HasSubstr("PCI_ATOMIC_MODE"));
  }
  played().atomic_operations = 0xf;
  played().atomic_bytes = 8;
  EXPECT_THAT(refusal(), HasSubstr("those of 4 bytes"));
  played().errors["0100"] = EREMOTEIO;
  EXPECT_THAT(refusal(), HasSubstr("QUERY_HCA_CAP"));
}

TEST_F(Judge, ADeviceWhoseAtomicsAnswerInTheOtherOrderOfBytesIsRefused) {
  played().swaps_fetched = true;
  EXPECT_THAT(refusal(), HasSubstr("big-endian (atomic_req_8B_endianness_mode is 0)"));
}

TEST_F(Judge, APortWithoutAGidThatIsAskedForIsRefused) {
  const auto said = [&](const char* choice) {
    return judge_device(libraries_, played_device(), HcaList(), GidChoice::parse(choice).value())
        .sentence;
  };
  EXPECT_THAT(said("v2"), HasSubstr("port 1, RoCE"));
  EXPECT_THAT(said("10.0.0.0/8"), HasSubstr("port 1 has no GID of GDAKIT_GID=10.0.0.0/8"));
}

TEST_F(Judge, EachPortThatCannotBeUsedIsToldWithItsState) {
  played().ports = {port_of(IBV_PORT_DOWN, IBV_LINK_LAYER_ETHERNET),
                    port_of(IBV_PORT_INIT, IBV_LINK_LAYER_INFINIBAND),
                    port_of(IBV_PORT_ARMED, IBV_LINK_LAYER_INFINIBAND),
                    port_of(IBV_PORT_ACTIVE, IBV_LINK_LAYER_UNSPECIFIED),
                    port_of(IBV_PORT_NOP, IBV_LINK_LAYER_ETHERNET)};
  EXPECT_THAT(refusal(),
              AllOf(HasSubstr("port 1 is DOWN"), HasSubstr("; port 2 is INIT"),
                    HasSubstr("; port 3 is ARMED"), HasSubstr("; port 4 is of an unknown link"),
                    HasSubstr("; port 5 is in an unknown state")));
  played().ports = {};
  EXPECT_EQ(refusal(), "it has no port, as ibv_query_device tells");
}

TEST_F(Judge, APortWithAnMtuThatIsNoneIsRefused) {
  for (const std::uint32_t mtu : {0u, 6u, 7u}) {
    played().ports[0].active_mtu = static_cast<ibv_mtu>(mtu);
    EXPECT_THAT(refusal(), HasSubstr("has an MTU that is none (" + std::to_string(mtu) + ')'));
  }
}

TEST_F(Judge, AFirmwaresNameEndsWithItsField) {
  played().firmware = std::string(sizeof ibv_device_attr::fw_ver, '9');
  EXPECT_THAT(judge().sentence, testing::EndsWith(", firmware " + played().firmware));
}

TEST_F(Judge, QueriesThatFailAreNamed) {
  played().errors["ibv_query_port"] = EIO;
  EXPECT_THAT(refusal(), AllOf(HasSubstr("ibv_query_port"), HasSubstr(std::strerror(EIO))));
  played_context().query_port = nullptr;
  EXPECT_THAT(refusal(), HasSubstr("libibverbs is older"));
  played().errors["ibv_query_device"] = ENODEV;
  EXPECT_THAT(refusal(), AllOf(HasSubstr("ibv_query_device"), HasSubstr(std::strerror(ENODEV))));
}

}  // namespace
}  // namespace gdakit::mlx5
