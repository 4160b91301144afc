// What is said of each device, by libraries that this test plays.
#include "backends/mlx5/judge.h"

#include <cerrno>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gdakit::mlx5 {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// The one device there is, as a test wants it.
struct Played {
  bool is_mlx5 = true;
  int open_error = 0;
  int device_error = 0;
  ibv_atomic_cap atomics = IBV_ATOMIC_HCA;
  std::vector<ibv_port_attr> ports = {};
  int port_error = 0;
  int opened = 0;
  int closed = 0;
};
Played played;
verbs_context context{};

ibv_port_attr port_of(ibv_port_state state, std::uint8_t link_layer) {
  ibv_port_attr port{};
  port.state = state;
  port.link_layer = link_layer;
  port.active_mtu = IBV_MTU_1024;
  port.lid = 17;
  return port;
}

int query_port(ibv_context*, std::uint8_t number, ibv_port_attr* attributes, std::size_t size) {
  EXPECT_EQ(size, sizeof *attributes);
  *attributes = played.ports.at(number - 1u);
  return played.port_error;
}
const char* device_name(ibv_device* device) { return device->name; }
bool is_supported(ibv_device*) { return played.is_mlx5; }
ibv_context* open_device(ibv_device*, mlx5dv_context_attr* attributes) {
  EXPECT_EQ(attributes->flags, static_cast<std::uint32_t>(MLX5DV_CONTEXT_FLAGS_DEVX));
  errno = played.open_error;
  if (played.open_error != 0) return nullptr;
  ++played.opened;
  return &context.context;
}
int close_device(ibv_context*) { return ++played.closed, 0; }
int query_device(ibv_context*, ibv_device_attr* attributes) {
  *attributes = {};
  attributes->atomic_cap = played.atomics;
  attributes->phys_port_cnt = static_cast<std::uint8_t>(played.ports.size());
  std::strcpy(attributes->fw_ver, "28.39.3004");
  return played.device_error;
}

class Judge : public testing::Test {
 protected:
  Judge() {
    played = {};
    played.ports = {port_of(IBV_PORT_ACTIVE, IBV_LINK_LAYER_ETHERNET)};
    context = {};
    context.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    context.sz = sizeof context;
    context.query_port = query_port;
    libraries_.get_device_name = device_name;
    libraries_.is_supported = is_supported;
    libraries_.open_device = open_device;
    libraries_.close_device = close_device;
    libraries_.query_device = query_device;
    std::strcpy(device_.name, "rocep1s0");
    std::strcpy(device_.dev_name, "uverbs3");
    std::strcpy(device_.ibdev_path, "/nowhere");
  }
  ~Judge() override { EXPECT_EQ(played.opened, played.closed); }

  DeviceReport judge(const char* list = "") {
    return judge_device(libraries_, &device_, HcaList::parse(list).value());
  }
  std::string refusal(const char* list = "") {
    const DeviceReport report = judge(list);
    EXPECT_FALSE(report.usable());
    return report.sentence;
  }

  Libraries libraries_;
  ibv_device device_{};
};

TEST_F(Judge, AnActivePortIsTaken) {
  const DeviceReport report = judge();
  EXPECT_EQ(report.name, "rocep1s0");
  EXPECT_EQ(report.port, 1);
  EXPECT_EQ(report.sentence, "port 1, RoCE, MTU 1024, firmware 28.39.3004");
}

TEST_F(Judge, TheFirstPortThatWorksAndIsAllowedIsTaken) {
  played.ports = {port_of(IBV_PORT_DOWN, IBV_LINK_LAYER_ETHERNET),
                  port_of(IBV_PORT_ACTIVE, IBV_LINK_LAYER_INFINIBAND),
                  port_of(IBV_PORT_ACTIVE, IBV_LINK_LAYER_ETHERNET)};
  EXPECT_EQ(judge().port, 2);
  EXPECT_THAT(judge().sentence, HasSubstr("InfiniBand, MTU 1024, LID 17"));
  EXPECT_EQ(judge("^rocep1s0:2").port, 3);
  EXPECT_EQ(judge("rocep1s0:3").port, 3);
}

TEST_F(Judge, OtherVendorsAreToldByTheirNumber) {
  played.is_mlx5 = false;
  EXPECT_THAT(refusal(), AllOf(HasSubstr("no ConnectX"), HasSubstr("vendor")));
  EXPECT_EQ(played.opened, 0);
}

TEST_F(Judge, WhatTheListLeavesOutIsNotOpened) {
  EXPECT_THAT(refusal("^rocep1s0"), HasSubstr("GDAKIT_HCA_LIST"));
  EXPECT_THAT(refusal("mlx5_0"), HasSubstr("GDAKIT_HCA_LIST"));
  EXPECT_EQ(played.opened, 0);
  EXPECT_THAT(refusal("rocep1s0:2"), HasSubstr("port 1 is left out by GDAKIT_HCA_LIST"));
}

TEST_F(Judge, ADeviceThatCannotBeOpenedIsToldByItsNode) {
  const auto refused = [&](int error) {
    played.open_error = error;
    return refusal();
  };
  for (const int error : {ENOENT, ENODEV, EACCES, EPERM, EOPNOTSUPP, EIO}) {
    EXPECT_THAT(refused(error),
                AllOf(HasSubstr("/dev/infiniband/uverbs3"), HasSubstr(std::strerror(error))));
  }
  EXPECT_THAT(refused(ENOENT), HasSubstr("--device=/dev/infiniband/uverbs3"));
  EXPECT_THAT(refused(EACCES), HasSubstr("`ls -l /dev/infiniband/uverbs3`"));
  EXPECT_THAT(refused(EOPNOTSUPP), HasSubstr("Linux 5.3"));
}

TEST_F(Judge, WithoutAtomicsADeviceIsRefused) {
  played.atomics = IBV_ATOMIC_NONE;
  EXPECT_THAT(refusal(), HasSubstr("PCI_ATOMIC_MODE"));
}

TEST_F(Judge, EachPortThatCannotBeUsedIsToldWithItsState) {
  played.ports = {port_of(IBV_PORT_DOWN, IBV_LINK_LAYER_ETHERNET),
                  port_of(IBV_PORT_INIT, IBV_LINK_LAYER_INFINIBAND),
                  port_of(IBV_PORT_ARMED, IBV_LINK_LAYER_INFINIBAND),
                  port_of(IBV_PORT_ACTIVE, IBV_LINK_LAYER_UNSPECIFIED),
                  port_of(IBV_PORT_NOP, IBV_LINK_LAYER_ETHERNET)};
  EXPECT_THAT(refusal(),
              AllOf(HasSubstr("port 1 is DOWN"), HasSubstr("; port 2 is INIT"),
                    HasSubstr("; port 3 is ARMED"), HasSubstr("; port 4 is of an unknown link"),
                    HasSubstr("; port 5 is in an unknown state")));
  played.ports = {};
  EXPECT_EQ(refusal(), "it has no port");
}

TEST_F(Judge, QueriesThatFailAreNamed) {
  played.port_error = EIO;
  EXPECT_THAT(refusal(), AllOf(HasSubstr("ibv_query_port"), HasSubstr(std::strerror(EIO))));
  context.query_port = nullptr;
  EXPECT_THAT(refusal(), HasSubstr("libibverbs is older"));
  played.device_error = ENODEV;
  EXPECT_THAT(refusal(), AllOf(HasSubstr("ibv_query_device"), HasSubstr(std::strerror(ENODEV))));
}

}  // namespace
}  // namespace gdakit::mlx5
