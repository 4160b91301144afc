// What is said of each device, by libraries that this test plays.
#include "backends/mlx5/judge.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/mlx5/fixture.h"

namespace gdakit::mlx5 {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Judge : public PlayedHost {
 protected:
  Result<std::vector<DeviceReport>> judge_all(const char* list = "", const char* gid = "") {
    return judge_device(libraries_, played_device(), HcaList::parse(list).value(),
                        GidChoice::parse(gid).value());
  }
  std::vector<DeviceReport> reports(const char* list = "") {
    auto reports = judge_all(list);
    EXPECT_TRUE(reports);
    return reports ? std::move(*reports) : std::vector<DeviceReport>();
  }
  std::vector<std::string> sentences(const char* list = "") {
    std::vector<std::string> said;
    for (const DeviceReport& report : reports(list)) said.push_back(report.sentence);
    return said;
  }
  // Of a device with one port.
  DeviceReport judge(const char* list = "", const char* gid = "") {
    const auto reports = judge_all(list, gid);
    EXPECT_TRUE(reports);
    EXPECT_THAT(*reports, SizeIs(1));
    return reports->front();
  }
  std::string refusal(const char* list = "") {
    const DeviceReport report = judge(list);
    EXPECT_FALSE(report.usable());
    return report.sentence;
  }
  // The numbers of those that can be used.
  std::vector<int> usable_ports(const char* list = "") {
    std::vector<int> ports;
    for (const DeviceReport& report : reports(list)) {
      EXPECT_EQ(report.name, "rocep1s0");
      if (report.usable()) ports.push_back(report.port);
    }
    return ports;
  }
};

TEST_F(Judge, AnActivePortIsTaken) {
  const DeviceReport report = judge();
  EXPECT_EQ(report.name, "rocep1s0");
  EXPECT_EQ(report.port, 1);
  EXPECT_EQ(report.sentence, "port 1, RoCE, MTU 1024, firmware 28.39.3004");
}

TEST_F(Judge, EachPortThatWorksAndIsAllowedCanBeUsed) {
  played().ports = {port_of(IBV_PORT_DOWN, IBV_LINK_LAYER_ETHERNET),
                    port_of(IBV_PORT_ACTIVE, IBV_LINK_LAYER_INFINIBAND),
                    port_of(IBV_PORT_ACTIVE, IBV_LINK_LAYER_ETHERNET)};
  EXPECT_THAT(usable_ports(), ElementsAre(2, 3));
  EXPECT_THAT(usable_ports("^rocep1s0:2"), ElementsAre(3));
  EXPECT_THAT(usable_ports("rocep1s0:3"), ElementsAre(3));
  EXPECT_THAT(usable_ports("rocep1s0:3,rocep1s0:2"), ElementsAre(2, 3));
  EXPECT_THAT(usable_ports("rocep1s0:1"), IsEmpty());
  EXPECT_THAT(sentences("^rocep1s0:3"),
              ElementsAre(HasSubstr("port 1 is DOWN"),
                          "port 2, InfiniBand, MTU 1024, LID 17, firmware 28.39.3004",
                          "port 3 is left out by GDAKIT_HCA_LIST"));
}

TEST_F(Judge, APortThatTheDeviceHasNotIsToldWithWhatItHas) {
  const auto said = [&](const char* list) { return judge_all(list).error().message(); };
  EXPECT_EQ(judge_all("rocep1s0:1,rocep1s0:2").error().code(), Code::not_found);
  EXPECT_EQ(said("rocep1s0:1,rocep1s0:2"),
            "GDAKIT_HCA_LIST names port 2 of rocep1s0, which has 1 port; from ConnectX-4 on most "
            "ports are devices of their own, and `ibv_devices` lists these");
  played().ports.push_back(played().ports.front());
  EXPECT_THAT(said("rocep1s0:255"), HasSubstr("names port 255 of rocep1s0, which has 2 ports;"));
  EXPECT_THAT(usable_ports("^rocep1s0:3"), ElementsAre(1, 2)) << "nothing is asked for";
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
  EXPECT_THAT(refusal("^rocep1s0:1"), HasSubstr("port 1 is left out by GDAKIT_HCA_LIST"));
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
  const auto said = [&](const char* choice) { return judge("", choice).sentence; };
  EXPECT_THAT(said("v2"), HasSubstr("port 1, RoCE"));
  EXPECT_THAT(said("10.0.0.0/8"), HasSubstr("port 1 has no GID of GDAKIT_GID=10.0.0.0/8"));
}

TEST_F(Judge, EachPortThatCannotBeUsedIsToldWithItsState) {
  played().ports = {port_of(IBV_PORT_DOWN, IBV_LINK_LAYER_ETHERNET),
                    port_of(IBV_PORT_INIT, IBV_LINK_LAYER_INFINIBAND),
                    port_of(IBV_PORT_ARMED, IBV_LINK_LAYER_INFINIBAND),
                    port_of(IBV_PORT_ACTIVE, IBV_LINK_LAYER_UNSPECIFIED),
                    port_of(IBV_PORT_NOP, IBV_LINK_LAYER_ETHERNET)};
  EXPECT_THAT(sentences(),
              ElementsAre(HasSubstr("port 1 is DOWN"), HasSubstr("port 2 is INIT"),
                          HasSubstr("port 3 is ARMED"), HasSubstr("port 4 is of an unknown link"),
                          HasSubstr("port 5 is in an unknown state")));
  EXPECT_THAT(usable_ports(), IsEmpty());
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
