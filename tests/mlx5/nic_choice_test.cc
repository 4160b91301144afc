// Which NICs a PE takes, by the map, by distance, and by its local rank.
#include "backends/mlx5/nic_choice.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/mlx5/pci_distance.h"
#include "backends/mlx5/traffic_class.h"
#include "tests/mlx5/played.h"

namespace gdakit::mlx5 {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kGpu = "0000:C3:00.0";  // as CUDA writes it

// A host's tree of PCI devices, in a folder of its own.
class PciTree : public testing::Test {
 protected:
  PciTree() : root_(fs::temp_directory_path() / ("gdakit-pci-" + std::to_string(::getpid()))) {
    fs::create_directories(root_ / "bus/pci/devices");
    gpu_ = add("pci0000:c0/0000:c0:01.0/0000:c1:00.0/0000:c3:00.0", 1);
    fs::create_directory_symlink(gpu_, root_ / "bus/pci/devices/0000:c3:00.0");
  }
  ~PciTree() override { fs::remove_all(root_); }

  fs::path add(const std::string& place, int numa_node) {
    const fs::path folder = root_ / "devices" / place;
    fs::create_directories(folder);
    std::ofstream(folder / "numa_node") << numa_node << '\n';
    return folder;
  }
  // A NIC's folder in /sys/class/infiniband.
  std::string add_nic(const std::string& name, const std::string& place, int numa_node) {
    const fs::path folder = root_ / "class/infiniband" / name;
    fs::create_directories(folder);
    fs::create_directory_symlink(add(place, numa_node), folder / "device");
    return folder.string();
  }
  Apart distance(const std::string& place, int numa_node) {
    return distance_between(add(place, numa_node), kGpu, root_).apart;
  }

  const fs::path root_;
  fs::path gpu_;
};

TEST_F(PciTree, DistanceGoesByWhatTheyHaveInCommon) {
  EXPECT_EQ(distance("pci0000:c0/0000:c0:01.0/0000:c1:00.0/0000:c4:00.0", 1), Apart::bridge);
  EXPECT_EQ(distance("pci0000:c0/0000:c0:01.0/0000:c5:00.0", 1), Apart::bridge);
  EXPECT_EQ(distance("pci0000:c0/0000:c0:02.0/0000:c6:00.0", 1), Apart::host_bridge);
  EXPECT_EQ(distance("pci0000:80/0000:80:01.0/0000:81:00.0", 1), Apart::numa_node);
  EXPECT_EQ(distance("pci0000:00/0000:00:01.0/0000:01:00.0", 0), Apart::host);
  EXPECT_EQ(distance("pci0000:20/0000:20:01.0/0000:21:00.0", -1), Apart::unknown);
}

TEST_F(PciTree, DistanceIsUnknownOfWhatIsNotThere) {
  EXPECT_EQ(distance_between(root_ / "nothing", kGpu, root_).apart, Apart::unknown);
  EXPECT_EQ(distance_between(gpu_, "0000:99:00.0", root_).apart, Apart::unknown);
  EXPECT_EQ(distance_between(gpu_, "", root_).apart, Apart::unknown);
}

TEST_F(PciTree, TrafficClassIsTheSystems) {
  const fs::path nic = add_nic("mlx5_0", "pci0000:00/0000:00:01.0", 0);
  EXPECT_EQ(system_traffic_class(nic, 1), 0);
  fs::create_directories(nic / "tc/1");
  const auto says = [&](const char* text) {
    std::ofstream(nic / "tc/1/traffic_class") << text << '\n';
    return system_traffic_class(nic, 1);
  };
  EXPECT_EQ(says("Global tclass=106"), 106);
  EXPECT_EQ(says("96"), 96);
  EXPECT_EQ(says("Global tclass=0"), 0);
  EXPECT_EQ(says(""), 0);
  EXPECT_EQ(says("Global tclass=999"), 0);
}

class NicChoiceTest : public PciTree {
 protected:
  NicChoiceTest() {
    played() = {};
    played().ports = {port_of(IBV_PORT_ACTIVE, IBV_LINK_LAYER_ETHERNET)};
    played().gids = {gid_of(IBV_GID_TYPE_ROCE_V2, 0, 1)};
    played().devices = 3;
  }
  ~NicChoiceTest() override { EXPECT_THAT(played().held(), testing::IsEmpty()); }

  // Their names, joined by +, each with the port if that is not the first; or the error.
  std::string chosen(const NicWish& wish) {
    const Result<DeviceList> present = DeviceList::get(played_libraries());
    const Result<std::vector<ChosenNic>> nics = choose_nics(*present, wish);
    if (!nics) return nics.error().message();
    EXPECT_EQ(nics->size(), wish.count);
    std::string names;
    for (const ChosenNic& nic : *nics) {
      EXPECT_FALSE(nic.why.empty());
      names += (names.empty() ? "" : "+") + nic.report.name;
      if (nic.report.port != 1) names += ':' + std::to_string(nic.report.port);
    }
    return names;
  }
  // Why the PE takes each.
  std::vector<std::string> whys(const NicWish& wish) {
    const Result<DeviceList> present = DeviceList::get(played_libraries());
    const Result<std::vector<ChosenNic>> nics = choose_nics(*present, wish);
    EXPECT_TRUE(nics);
    std::vector<std::string> whys;
    for (const ChosenNic& nic : *nics) whys.push_back(nic.why);
    return whys;
  }
  // Of the PE of that local rank, among PEs without GPUs.
  static NicWish of(std::size_t local_rank, std::size_t count = 1) {
    return {.count = count,
            .local_rank = local_rank,
            .gpus_before = std::vector<std::string>(local_rank)};
  }
};

TEST_F(NicChoiceTest, PesOfAHostShareNicsOut) {
  EXPECT_EQ(chosen(of(0)), "rocep1s0");
  EXPECT_EQ(chosen(of(1)), "rocep2s0");
  EXPECT_EQ(chosen(of(2)), "rocep3s0");
  EXPECT_EQ(chosen(of(3)), "rocep1s0");
}

TEST_F(NicChoiceTest, TheListLeavesSomeOut) {
  NicWish wish = of(1);
  wish.list = HcaList::parse("^rocep2s0").value();
  EXPECT_EQ(chosen(wish), "rocep3s0");
}

TEST_F(NicChoiceTest, TheMapIsObeyed) {
  NicWish wish = of(0);
  wish.map = HcaMap::parse("rocep3s0:1,rocep1s0").value();
  EXPECT_EQ(chosen(wish), "rocep3s0");
  wish.local_rank = 1;
  EXPECT_EQ(chosen(wish), "rocep1s0");
}

TEST_F(NicChoiceTest, AMapWhoseNicCannotBeTakenIsNamed) {
  NicWish wish = of(0);
  wish.map = HcaMap::parse("mlx5_0").value();
  EXPECT_THAT(chosen(wish), AllOf(HasSubstr("GDAKIT_HCA_MAP"), HasSubstr("mlx5_0"),
                                  HasSubstr("rocep1s0, rocep2s0, rocep3s0")));
  wish.map = HcaMap::parse("rocep1s0:2").value();
  EXPECT_THAT(chosen(wish), HasSubstr("GDAKIT_HCA_MAP names port 2 of rocep1s0, which has 1 port"));
  wish.map = HcaMap::parse("rocep1s0").value();
  played().ports = {port_of(IBV_PORT_DOWN, IBV_LINK_LAYER_ETHERNET)};
  EXPECT_THAT(chosen(wish), AllOf(HasSubstr("GDAKIT_HCA_MAP"), HasSubstr("DOWN")));
}

TEST_F(NicChoiceTest, TheNearestToTheGpuAreSharedOutAmongThoseWhoHaveThem) {
  played().folders = {add_nic("a", "pci0000:00/0000:00:01.0/0000:01:00.0", 0),
                      add_nic("b", "pci0000:c0/0000:c0:01.0/0000:c1:00.0/0000:c4:00.0", 1),
                      add_nic("c", "pci0000:c0/0000:c0:01.0/0000:c1:00.0/0000:c5:00.0", 1)};
  const std::string far = "0000:02:00.0";  // near to a alone
  fs::create_directory_symlink(add("pci0000:00/0000:00:01.0/0000:02:00.0", 0),
                               root_ / "bus/pci/devices" / far);
  const auto taken = [&](std::vector<std::string> before) {
    return chosen({.gpu = kGpu, .gpus_before = std::move(before), .system = root_});
  };
  EXPECT_EQ(taken({}), "rocep2s0");
  EXPECT_EQ(taken({far}), "rocep2s0");
  EXPECT_EQ(taken({kGpu}), "rocep3s0");
  EXPECT_EQ(taken({far, kGpu, far}), "rocep3s0");
  EXPECT_EQ(taken({kGpu, kGpu}), "rocep2s0");
  EXPECT_EQ(chosen({.list = HcaList::parse("rocep1s0").value(), .gpu = kGpu, .system = root_}),
            "rocep1s0");
}

TEST_F(NicChoiceTest, ANearerSwitchWins) {
  played().devices = 2;
  played().folders = {add_nic("a", "pci0000:c0/0000:c0:01.0/0000:c9:00.0", 1),
                      add_nic("b", "pci0000:c0/0000:c0:01.0/0000:c1:00.0/0000:c4:00.0", 1)};
  EXPECT_EQ(chosen({.gpu = kGpu, .system = root_}), "rocep2s0");
}

TEST_F(NicChoiceTest, NicsAtUnknownDistancesAreSharedOut) {
  NicWish wish = of(2);
  wish.gpu = kGpu;
  EXPECT_EQ(chosen(wish), "rocep3s0");
}

TEST_F(NicChoiceTest, PesWithSeveralNicsShareThemOut) {
  EXPECT_EQ(chosen(of(0, 2)), "rocep1s0+rocep2s0");
  EXPECT_EQ(chosen(of(1, 2)), "rocep3s0+rocep1s0");
  EXPECT_EQ(chosen(of(2, 2)), "rocep2s0+rocep3s0");
  EXPECT_EQ(chosen(of(3, 2)), "rocep1s0+rocep2s0");
  EXPECT_EQ(chosen(of(0, 3)), "rocep1s0+rocep2s0+rocep3s0");
  EXPECT_EQ(chosen(of(1, 3)), "rocep1s0+rocep2s0+rocep3s0");
}

TEST_F(NicChoiceTest, TheMapGivesAPeSeveralNicsInItsOrder) {
  NicWish wish = of(0, 2);
  wish.map = HcaMap::parse("rocep3s0+rocep1s0:1,rocep2s0+rocep3s0").value();
  EXPECT_EQ(chosen(wish), "rocep3s0+rocep1s0");
  EXPECT_THAT(whys(wish), testing::Each("by GDAKIT_HCA_MAP"));
  wish.local_rank = 1;
  EXPECT_EQ(chosen(wish), "rocep2s0+rocep3s0");
}

TEST_F(NicChoiceTest, AMapThatGivesAPeAnotherNumberOfNicsIsRefused) {
  NicWish wish = of(0, 2);
  wish.map = HcaMap::parse("rocep1s0+rocep2s0,rocep3s0").value();
  EXPECT_EQ(chosen(wish), wish.map.misfit(2)) << "an entry of another PE, too";
  EXPECT_THAT(chosen(wish), HasSubstr("its entry rocep3s0 names 1 NIC"));
  wish.map = HcaMap::parse("rocep1s0+mlx5_7").value();
  EXPECT_THAT(chosen(wish), AllOf(HasSubstr("the NIC mlx5_7, where this host has rocep1s0")));
}

// One near to the GPU, and two that are farther away.
TEST_F(NicChoiceTest, FartherNicsAreTakenWhereThereAreTooFewNearOnes) {
  played().folders = {add_nic("a", "pci0000:00/0000:00:01.0/0000:01:00.0", 0),
                      add_nic("b", "pci0000:c0/0000:c0:01.0/0000:c1:00.0/0000:c4:00.0", 1),
                      add_nic("c", "pci0000:00/0000:00:02.0/0000:02:00.0", 0)};
  const auto taken = [&](std::size_t count, std::vector<std::string> before) {
    return NicWish{.count = count, .gpu = kGpu, .gpus_before = std::move(before), .system = root_};
  };
  EXPECT_EQ(chosen(taken(1, {})), "rocep2s0");
  EXPECT_EQ(chosen(taken(2, {})), "rocep2s0+rocep3s0");
  EXPECT_EQ(chosen(taken(2, {kGpu})), "rocep2s0+rocep1s0");
  EXPECT_EQ(chosen(taken(2, {kGpu, kGpu})), "rocep2s0+rocep3s0");
  EXPECT_EQ(chosen(taken(3, {})), "rocep2s0+rocep3s0+rocep1s0");
  EXPECT_EQ(chosen(taken(3, {kGpu})), "rocep2s0+rocep3s0+rocep1s0");
  const std::string gpu = kGpu;
  EXPECT_THAT(whys(taken(2, {})), testing::ElementsAre("behind one PCI bridge with GPU " + gpu,
                                                       "of another NUMA node than GPU " + gpu +
                                                           ", number 2 of 2 that are as near"));
}

// Each GPU has a NIC of its own: no NIC is the second one of several PEs.
TEST_F(NicChoiceTest, PesWithOtherNearestNicsTakeOtherFartherOnes) {
  played().folders.clear();
  std::vector<std::string> gpus;
  for (const std::string bus : {"c4", "c5", "c6"}) {
    const std::string bridge = "pci0000:c0/0000:c0:0" + bus.substr(1) + ".0/0000:" + bus;
    played().folders.push_back(add_nic(bus, bridge + ":00.0", 1));
    gpus.push_back("0000:" + bus + ":01.0");
    fs::create_directory_symlink(add(bridge + ":01.0", 1), root_ / "bus/pci/devices" / gpus.back());
  }
  const auto taken = [&](std::size_t gpu) {
    return chosen({.count = 2, .gpu = gpus[gpu], .system = root_});
  };
  EXPECT_EQ(taken(0), "rocep1s0+rocep2s0");
  EXPECT_EQ(taken(1), "rocep2s0+rocep3s0");
  EXPECT_EQ(taken(2), "rocep3s0+rocep1s0");
}

// A GPU that is as near to both NICs takes the one that no other GPU's PE has.
TEST_F(NicChoiceTest, OfNicsThatAreAsNearTheOneWithTheFewestPesIsTaken) {
  played().devices = 2;
  played().folders = {add_nic("a", "pci0000:c0/0000:c0:01.0/0000:c1:00.0/0000:c4:00.0", 1),
                      add_nic("b", "pci0000:c0/0000:c0:02.0/0000:c5:00.0", 1)};
  const std::string between = "0000:c6:00.0";
  fs::create_directory_symlink(add("pci0000:c0/" + between, 1),
                               root_ / "bus/pci/devices" / between);
  const auto taken = [&](const std::string& gpu, std::vector<std::string> before) {
    return chosen({.gpu = gpu, .gpus_before = std::move(before), .system = root_});
  };
  EXPECT_EQ(taken(between, {}), "rocep1s0");
  EXPECT_EQ(taken(kGpu, {}), "rocep1s0");
  EXPECT_EQ(taken(between, {kGpu}), "rocep2s0");
}

TEST_F(NicChoiceTest, TooFewUsableNicsAreCountedWithTheReasonsOfOthers) {
  EXPECT_EQ(chosen(of(0, 4)),
            "GDAKIT_NICS_PER_PE=4, where 3 of this host's 3 RDMA NICs can be used; lower "
            "GDAKIT_NICS_PER_PE");
  NicWish wish = of(0, 3);
  wish.list = HcaList::parse("^rocep2s0").value();
  EXPECT_EQ(chosen(wish),
            "GDAKIT_NICS_PER_PE=3, where 2 of this host's 3 RDMA NICs can be used; lower "
            "GDAKIT_NICS_PER_PE. Those that cannot: rocep2s0: left out by GDAKIT_HCA_LIST");
  wish.count = 2;
  EXPECT_EQ(chosen(wish), "rocep1s0+rocep3s0");
}

// Devices with two ports.
class TwoPortChoice : public NicChoiceTest {
 protected:
  TwoPortChoice() {
    played().devices = 2;
    played().ports.push_back(played().ports.front());
  }
};

TEST_F(TwoPortChoice, ADevicesPortsAreNicsThatPesTakeInTurn) {
  played().devices = 1;
  EXPECT_EQ(chosen(of(0)), "rocep1s0");
  EXPECT_EQ(chosen(of(1)), "rocep1s0:2");
  EXPECT_EQ(chosen(of(2)), "rocep1s0");
  EXPECT_EQ(chosen(of(1, 2)), "rocep1s0+rocep1s0:2");
  EXPECT_THAT(whys(of(1)), testing::ElementsAre("number 2 of 2 that are as near"));
  EXPECT_EQ(chosen(of(0, 3)),
            "GDAKIT_NICS_PER_PE=3, where 2 of this host's 2 RDMA NICs can be used; lower "
            "GDAKIT_NICS_PER_PE");
}

TEST_F(TwoPortChoice, FirstPortsAreTakenBeforeSecondOnes) {
  EXPECT_EQ(chosen(of(0)), "rocep1s0");
  EXPECT_EQ(chosen(of(1)), "rocep2s0");
  EXPECT_EQ(chosen(of(2)), "rocep1s0:2");
  EXPECT_EQ(chosen(of(3)), "rocep2s0:2");
  EXPECT_EQ(chosen(of(0, 2)), "rocep1s0+rocep2s0");
  EXPECT_EQ(chosen(of(1, 2)), "rocep1s0:2+rocep2s0:2");
  EXPECT_EQ(chosen(of(0, 4)), "rocep1s0+rocep2s0+rocep1s0:2+rocep2s0:2");
}

TEST_F(TwoPortChoice, ANearDevicesSecondPortIsTakenBeforeAFartherDevicesFirst) {
  played().folders = {add_nic("a", "pci0000:00/0000:00:01.0/0000:01:00.0", 0),
                      add_nic("b", "pci0000:c0/0000:c0:01.0/0000:c1:00.0/0000:c4:00.0", 1)};
  EXPECT_EQ(chosen({.count = 2, .gpu = kGpu, .system = root_}), "rocep2s0+rocep2s0:2");
  EXPECT_EQ(chosen({.count = 3, .gpu = kGpu, .system = root_}), "rocep2s0+rocep2s0:2+rocep1s0");
}

TEST_F(TwoPortChoice, TheListLeavesOutPorts) {
  NicWish wish = of(0, 2);
  wish.list = HcaList::parse("rocep1s0:1,rocep1s0:2").value();
  EXPECT_EQ(chosen(wish), "rocep1s0+rocep1s0:2");
  wish.list = HcaList::parse("^rocep1s0:1").value();
  EXPECT_EQ(chosen(wish), "rocep1s0:2+rocep2s0");
  wish = of(0);
  wish.list = HcaList::parse("rocep2s0:2").value();
  EXPECT_EQ(chosen(wish), "rocep2s0:2");
  wish.list = HcaList::parse("rocep2s0:3").value();
  EXPECT_THAT(chosen(wish), HasSubstr("names port 3 of rocep2s0, which has 2 ports"));
}

TEST_F(TwoPortChoice, APortThatIsDownIsPassedBy) {
  played().ports[0] = port_of(IBV_PORT_DOWN, IBV_LINK_LAYER_ETHERNET);
  EXPECT_EQ(chosen(of(0)), "rocep1s0:2");
  EXPECT_EQ(chosen(of(1)), "rocep2s0:2");
  EXPECT_THAT(chosen(of(0, 3)), AllOf(HasSubstr("where 2 of this host's 4 RDMA NICs"),
                                      HasSubstr("Those that cannot: rocep1s0: port 1 is DOWN"),
                                      HasSubstr("; rocep2s0: port 1 is DOWN")));
}

TEST_F(TwoPortChoice, TheMapNamesPorts) {
  NicWish wish = of(0, 2);
  wish.map = HcaMap::parse("rocep1s0:2+rocep1s0:1").value();
  EXPECT_EQ(chosen(wish), "rocep1s0:2+rocep1s0");
  wish.map = HcaMap::parse("rocep1s0+rocep1s0:2").value();
  EXPECT_EQ(chosen(wish), wish.map.misfit(2)) << "which may be one port";
  wish = of(0);
  wish.map = HcaMap::parse("rocep2s0").value();
  EXPECT_EQ(chosen(wish), "rocep2s0");
  played().ports[0] = port_of(IBV_PORT_DOWN, IBV_LINK_LAYER_ETHERNET);
  EXPECT_EQ(chosen(wish), "rocep2s0:2") << "the first that can be used";
  wish.map = HcaMap::parse("rocep2s0:1").value();
  EXPECT_THAT(chosen(wish),
              AllOf(HasSubstr("the NIC rocep2s0:1, which cannot be used: port 1 is DOWN"),
                    HasSubstr("; port 2 is left out by GDAKIT_HCA_MAP")));
}

TEST_F(NicChoiceTest, WithoutAUsableNicTellsEachOnesReason) {
  played().ports = {port_of(IBV_PORT_INIT, IBV_LINK_LAYER_INFINIBAND)};
  EXPECT_THAT(chosen(of(0)), AllOf(HasSubstr("rocep1s0: port 1 is INIT"), HasSubstr("rocep3s0: ")));
}

}  // namespace
}  // namespace gdakit::mlx5
