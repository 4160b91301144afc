// Lists of failures, and what each of them is of a NIC.
#include "backends/softnic/uverbs/failures.h"

#include <array>
#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gdakit::softnic::uverbs {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string refused(const std::string& text) {
  const Result<Failures> failures = Failures::parse(text);
  return failures ? "taken" : failures.error().message();
}

// One value of each row, and one that is none.
struct Example {
  std::string_view good, bad;
};
constexpr std::array kExamples = {Example{"node=absent", "node=gone"},
                                  Example{"driver=efa", "driver=mlx5"},
                                  Example{"name=roce_rail", "name=Roce-"},
                                  Example{"devx=EOPNOTSUPP", "devx=EWHAT"},
                                  Example{"uar=nc", "uar=dedicated"},
                                  Example{"uars=4", "uars=few"},
                                  Example{"doorbells=lost", "doorbells=late"},
                                  Example{"dma=denied", "dma=allowed"},
                                  Example{"dmabuf=EFAULT", "dmabuf=0"},
                                  Example{"locked=8M", "locked=8T"},
                                  Example{"qps=64", "qps=-1"},
                                  Example{"cqs=0", "cqs="},
                                  Example{"ports=2", "ports=3"},
                                  Example{"port=init:2", "port=up"},
                                  Example{"gids=none", "gids=v2"},
                                  Example{"gids_move=3", "gids_move=now"},
                                  Example{"grh=required", "grh=1"},
                                  Example{"mtu=1024", "mtu=1500"},
                                  Example{"atomics=swapped", "atomics=all"},
                                  Example{"dc=absent", "dc=here"},
                                  Example{"lag=bonded", "lag=2"},
                                  Example{"route=110", "route=999"},
                                  Example{"pci_width=8", "pci_width=32"},
                                  Example{"pci_speed=8.0", "pci_speed=8"},
                                  Example{"read_request=512", "read_request=64"},
                                  Example{"relaxed_ordering=off", "relaxed_ordering=on"},
                                  Example{"iommu=DMA", "iommu=identity"},
                                  Example{"acs=on", "acs=off"},
                                  Example{"numa_node=-1", "numa_node=-2"},
                                  Example{"traffic_class=106", "traffic_class=256"},
                                  Example{"handles=1", "handles=max"},
                                  Example{"objects=1", "objects=max"},
                                  Example{"module=mlx5_core:4.9", "module=../x"},
                                  Example{"library=libmlx5.so.1", "library="},
                                  Example{"symbol=ibv_reg_mr", "symbol="},
                                  Example{"reg_mr=ENOMEM", "reg_mr=0"},
                                  Example{"CREATE_QP=0x8/0x19c6d6", "CREATE_QP=0"}};

std::string_view name_of(std::string_view failure) { return failure.substr(0, failure.find('=')); }

TEST(Failures, EachRowTakesItsValuesAndNoOthers) {
  ASSERT_EQ(failure_rows().size(), kExamples.size());
  for (std::size_t i = 0; i < kExamples.size(); ++i) {
    const FailureRow* const row = find_failure_row(name_of(kExamples[i].good));
    EXPECT_EQ(row, &failure_rows()[i]) << kExamples[i].good;
    EXPECT_EQ(refused(std::string(kExamples[i].good)), "taken");
    EXPECT_THAT(refused(std::string(kExamples[i].bad)),
                AllOf(HasSubstr(std::string(kExamples[i].bad)), HasSubstr("write "),
                      HasSubstr(std::string(row->value))));
  }
}

TEST(Failures, ATextOfThemIsWhatItWasMadeOf) {
  for (const char* const text : {"", "port=down", "mlx5_3/port=down,pe12:devx=EPERM",
                                 "pe0:mlx5_0/CREATE_CQ=0x8/0x1234,0x500=3,query_port=EIO"}) {
    EXPECT_EQ(Failures::parse(text)->text(), text);
  }
  EXPECT_TRUE(Failures::parse("")->empty());
}

TEST(Failures, AnUnknownNameIsToldWhichThereAre) {
  EXPECT_THAT(refused("prot=down"), AllOf(HasSubstr("no failure \"prot\""),
                                          HasSubstr("node, driver,"), HasSubstr("CALL, COMMAND")));
  EXPECT_THAT(refused("down"), AllOf(HasSubstr("NAME=VALUE"), HasSubstr("node, driver,")));
  EXPECT_THAT(refused("port=down,"), "taken");
  EXPECT_THAT(refused("port=down,,qps=1"), HasSubstr("NAME=VALUE"));
}

TEST(Failures, WhoseItIsStandsBeforeTheName) {
  for (const char* const text : {"mlx5_0/pe1:port=down", "mlx4_0/port=down", "pe:port=down",
                                 "mlx5_16/port=down", "pe-1:port=down", "mlx5_/port=down"}) {
    EXPECT_THAT(refused(text), HasSubstr("peN: and mlx5_N/")) << text;
  }
  EXPECT_THAT(refused("mlx5_0/library=libmlx5.so.1"), HasSubstr("of the whole node"));
  EXPECT_EQ(refused("pe1:library=libmlx5.so.1"), "taken");
}

TEST(Failures, OneOfANicIsOfNoOther) {
  const Failures failures = *Failures::parse("mlx5_1/port=down,mtu=1024");
  EXPECT_THAT(failures.of_nic(0).port_states, ElementsAre(4, 4));
  EXPECT_THAT(failures.of_nic(1).port_states, ElementsAre(1, 1));
  EXPECT_EQ(failures.of_nic(0).mtu, 1024u);
  EXPECT_EQ(failures.of_nic(1).mtu, 1024u);
}

TEST(Failures, AStateIsOfAllPortsOrOfOne) {
  const auto states = [](const char* text) { return Failures::parse(text)->of_nic(0).port_states; };
  EXPECT_THAT(states("port=init"), ElementsAre(2, 2));
  EXPECT_THAT(states("port=down:1"), ElementsAre(1, 4));
  EXPECT_THAT(states("port=armed:2"), ElementsAre(4, 3));
  EXPECT_THAT(states("port=armed:2,port=down:1"), ElementsAre(1, 3));
  EXPECT_EQ(Failures::parse("ports=2")->of_nic(0).ports, 2u);
  EXPECT_EQ(Failures::parse("mlx5_1/ports=2")->of_nic(0).ports, 1u);
  for (const char* const text : {"port=down:0", "port=down:3", "port=down:", "port=:1", "port=up:1",
                                 "ports=1", "ports=3", "ports="}) {
    EXPECT_NE(refused(text), "taken") << text;
  }
}

TEST(Failures, OneOfAPeIsOfNoOther) {
  const Failures failures = *Failures::parse("pe1:devx=EPERM,pe3:qps=2,cqs=7");
  EXPECT_THAT(failures.pes(), ElementsAre(1, 3));
  EXPECT_EQ(failures.of_pe(1).of_nic(0).devx, EPERM);
  EXPECT_EQ(failures.of_pe(3).of_nic(0).qps, 2u);
  for (const std::optional<int> pe : {std::optional<int>(0), std::optional<int>()}) {
    EXPECT_EQ(failures.of_pe(pe).text(), "cqs=7");
    EXPECT_EQ(failures.of_pe(pe).of_nic(0).devx, 0);
  }
}

TEST(Failures, ValuesAreWhatTheySay) {
  const NicFailures one =
      Failures::parse(
          "locked=8M,route=ENETUNREACH,CREATE_CQ=0x8/0x1234,0x500=3,2RST_QP=1,reg_mr=14,"
          "module=ib_core:5.1,module=nvidia_peermem,driver=bnxt_re,uar=all")
          ->of_nic(0);
  EXPECT_EQ(one.locked_bytes, 8u << 20);
  EXPECT_EQ(one.route, ENETUNREACH);
  EXPECT_EQ(one.commands.at(0x400).status, 8);
  EXPECT_EQ(one.commands.at(0x400).syndrome, 0x1234u);
  EXPECT_EQ(one.commands.at(0x500).status, 3);
  EXPECT_EQ(one.commands.at(0x50a).status, 1);
  EXPECT_EQ(one.of_call("reg_mr"), EFAULT);
  EXPECT_EQ(one.of_call("dereg_mr"), 0);
  EXPECT_EQ(one.modules.at("ib_core"), "5.1");
  EXPECT_EQ(one.modules.at("nvidia_peermem"), "");
  EXPECT_EQ(one.other->vendor, 0x14e4);
  EXPECT_TRUE(one.no_nc_page && one.no_bf_page);
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
