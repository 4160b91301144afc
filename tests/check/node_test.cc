// Steps that look at the node: each on a healthy one, and on one where its thing is wrong.
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/check/made_up.h"
#include "tools/check/pci.h"

namespace gdakit::tools::check {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class CheckNode : public CheckSteps {
 protected:
  void expect_ok(Look look) { expect(look, Verdict::ok); }
};

TEST_F(CheckNode, ModulesThatAreLoadedAreNamed) {
  expect_ok(look_at_modules);
  EXPECT_THAT(look_at_modules(machine_.surroundings()).summary,
              HasSubstr("mlx5_core, mlx5_ib, ib_uverbs, ib_core loaded"));
}

TEST_F(CheckNode, AModuleThatIsMissingIsNamedWithItsRemedy) {
  machine_.remove("/sys/module/mlx5_ib");
  machine_.surroundings().nics = std::vector<mlx5::NicLook>{};
  const Finding finding = finding_of(look_at_modules, Verdict::failed);
  EXPECT_THAT(finding.answer, AllOf(HasSubstr("mlx5_ib"), Not(HasSubstr("ib_core"))));
  EXPECT_THAT(finding.remedy, HasSubstr("modprobe mlx5_ib"));
}

TEST_F(CheckNode, AKernelThatAnswersHasItsModulesBuiltIn) {
  machine_.remove("/sys/module/mlx5_ib");
  expect_ok(look_at_modules);
  EXPECT_THAT(look_at_modules(machine_.surroundings()).summary, HasSubstr("mlx5_ib not in"));
}

TEST_F(CheckNode, AnOldKernelIsAWarning) {
  machine_.write("/proc/sys/kernel/osrelease", "5.4.0");
  EXPECT_THAT(finding_of(look_at_modules, Verdict::warning).answer, HasSubstr("5.4.0"));
}

TEST_F(CheckNode, DeviceNodesAreOpened) {
  expect_ok(look_at_nodes);
  machine_.remove("/dev/infiniband/uverbs0");
  const Finding absent = finding_of(look_at_nodes, Verdict::failed);
  EXPECT_THAT(absent.answer, HasSubstr("ENOENT, 2"));
  EXPECT_THAT(absent.remedy, HasSubstr("--device=/dev/infiniband/uverbs0"));
}

TEST_F(CheckNode, AKernelWithoutRdmaDevicesIsAFailure) {
  machine_.remove("/sys/class/infiniband_verbs");
  EXPECT_THAT(finding_of(look_at_nodes, Verdict::failed).cause, HasSubstr("network namespace"));
}

TEST_F(CheckNode, NodesOfNvidiaAreLookedAtWhereThereIsAGpu) {
  machine_.add_gpu(std::string(kBridge) + "/0000:3c:00.0", 0);
  const auto report = [&] { return look_at_nodes(machine_.surroundings()); };
  EXPECT_EQ(report().verdict, Verdict::warning);
  EXPECT_THAT(report().findings, SizeIs(3));
  for (const char* node : {"nvidiactl", "nvidia-uvm", "nvidia1", "nvidia-caps"}) {
    machine_.write(std::string("/dev/") + node, "");
  }
  EXPECT_EQ(report().verdict, Verdict::ok);
  EXPECT_THAT(report().summary, AllOf(HasSubstr("/dev/nvidiactl, /dev/nvidia-uvm, /dev/nvidia1"),
                                      Not(HasSubstr("nvidia-caps"))));
}

TEST_F(CheckNode, TheNodeOfGdrCopyIsLookedAtWhereItsDriverIs) {
  machine_.write("/sys/module/gdrdrv/version", "2.4");
  EXPECT_THAT(look_at_modules(machine_.surroundings()).summary, HasSubstr("gdrdrv 2.4 loaded"));
  EXPECT_EQ(finding_of(look_at_nodes, Verdict::warning).on, "/dev/gdrdrv");
  machine_.write("/dev/gdrdrv", "");
  expect_ok(look_at_nodes);
}

TEST_F(CheckNode, LibrariesThatAreAbsentAreToldInTheirOwnWords) {
  expect_ok(look_at_libraries);
  machine_.surroundings().libraries = Error(Code::unavailable, "dlopen: libibverbs.so.1: none");
  EXPECT_THAT(finding_of(look_at_libraries, Verdict::failed).answer, HasSubstr("dlopen"));
}

TEST_F(CheckNode, LockedMemoryIsHeldAgainstHeapAndQueues) {
  expect_ok(look_at_limits);
  machine_.surroundings().locked_bytes = 8 << 20;
  const Finding finding = finding_of(look_at_limits, Verdict::failed);
  EXPECT_THAT(finding.answer, AllOf(HasSubstr("8 MiB"), HasSubstr("wanted are 67 MiB"),
                                    HasSubstr("2 MiB for 32 queues of a job of 16 PEs")));
  EXPECT_EQ(finding.proof, "ulimit -l");
  machine_.surroundings().locked_bytes = 100 << 20;
  expect_ok(look_at_limits);
  machine_.surroundings().options.nics_per_pe = 2;
  EXPECT_THAT(finding_of(look_at_limits, Verdict::failed).answer,
              HasSubstr("wanted are 135 MiB, of them for each of the PE's 2 NICs 64 MiB"));
  machine_.surroundings().options.nics_per_pe = 1;
  machine_.surroundings().options.symmetric_size = 1 << 20;
  machine_.surroundings().locked_bytes = 32 << 20;
  expect_ok(look_at_limits);
}

TEST_F(CheckNode, ACapabilityLiftsTheLimitOutsideOfUserNamespacesAlone) {
  machine_.surroundings().locked_bytes = 8 << 20;
  machine_.write("/proc/self/status", "Name:\tgdakit\nCapEff:\t0000000000004000\n");
  expect_ok(look_at_limits);
  machine_.write("/proc/self/uid_map", "0 1000 1\n");
  EXPECT_THAT(finding_of(look_at_limits, Verdict::failed).cause, HasSubstr("IPC_LOCK"));
}

TEST_F(CheckNode, LimitsOfControlGroupsAreRead) {
  machine_.write("/sys/fs/cgroup/job/rdma.max", "mlx5_0 hca_handle=max hca_object=max");
  expect_ok(look_at_limits);
  machine_.write("/sys/fs/cgroup/job/rdma.max", "mlx5_0 hca_handle=4 hca_object=500");
  machine_.write("/sys/fs/cgroup/job/rdma.current", "mlx5_0 hca_handle=1 hca_object=20");
  EXPECT_THAT(finding_of(look_at_limits, Verdict::warning).answer, HasSubstr("in use are 20"));
  machine_.write("/sys/fs/cgroup/job/rdma.current", "mlx5_0 hca_handle=1 hca_object=500");
  EXPECT_EQ(finding_of(look_at_limits, Verdict::failed).on, "mlx5_0");
}

TEST_F(CheckNode, MemoryOfAControlGroupIsHeldAgainstTheHeap) {
  machine_.write("/proc/self/cgroup", "4:memory:/small\n0::/\n");
  machine_.write("/sys/fs/cgroup/memory/small/memory.limit_in_bytes", "33554432");
  EXPECT_THAT(finding_of(look_at_limits, Verdict::failed).answer, HasSubstr("32 MiB"));
}

TEST_F(CheckNode, AHealthyLinkIsTold) {
  expect_ok(look_at_pcie);
  EXPECT_EQ(look_at_pcie(machine_.surroundings()).summary,
            "mlx5_0 x16 at 32.0 GT/s PCIe, reads of 512 bytes, relaxed ordering on");
}

TEST_F(CheckNode, RelaxedOrderingThatIsOffIsAWarning) {
  std::string bytes = configuration(0);
  bytes[0x68] = 0;
  machine_.write(std::string(kNic) + "/config", bytes);
  EXPECT_EQ(finding_of(look_at_pcie, Verdict::warning).answer,
            "relaxed ordering off; wanted is on");
}

TEST_F(CheckNode, ALinkBelowItsMaximumIsAWarning) {
  machine_.write(std::string(kNic) + "/current_link_width", "8");
  EXPECT_THAT(finding_of(look_at_pcie, Verdict::warning).answer,
              HasSubstr("x8 at 32.0 GT/s PCIe; of at most x16"));
  machine_.write(std::string(kNic) + "/current_link_width", "16");
  machine_.write(std::string(kNic) + "/current_link_speed", "8.0 GT/s PCIe");
  EXPECT_THAT(finding_of(look_at_pcie, Verdict::warning).answer, HasSubstr("8.0 GT/s"));
}

TEST_F(CheckNode, AnIommuThatTranslatesIsAWarning) {
  for (const char* type : {"DMA", "DMA-FQ"}) {
    machine_.write(std::string(kNic) + "/iommu_group/type", type);
    EXPECT_THAT(finding_of(look_at_pcie, Verdict::warning).answer, HasSubstr(type));
  }
}

TEST_F(CheckNode, AccessControlThatRedirectsIsAWarningWithItsBridge) {
  machine_.write(std::string(kBridge) + "/config", configuration(0x1d));
  const Finding finding = finding_of(look_at_pcie, Verdict::warning);
  EXPECT_THAT(finding.on, HasSubstr("0000:3a:00.0"));
  EXPECT_THAT(finding.answer, HasSubstr("0x001d"));
  machine_.write(std::string(kBridge) + "/config", configuration(0x1));  // no redirection
  expect_ok(look_at_pcie);
}

TEST_F(CheckNode, AccessControlStaysOnInAVirtualMachine) {
  machine_.write(std::string(kBridge) + "/config", configuration(0x1d));
  machine_.write("/proc/cpuinfo", "flags : fpu hypervisor lahf_lm");
  expect_ok(look_at_pcie);
}

TEST_F(CheckNode, AccessControlThatOnlyRootMayReadIsSaidToBeUnknown) {
  machine_.write(std::string(kBridge) + "/config", configuration(0x1d).substr(0, 64));
  expect_ok(look_at_pcie);
  EXPECT_THAT(look_at_pcie(machine_.surroundings()).summary, HasSubstr("sudo gdakit check"));
}

TEST_F(CheckNode, AConfigurationSpaceThatLeadsInCirclesEnds) {
  std::string bytes = configuration(0);
  bytes[0x60] = 0x05;  // some other capability, which names itself as the next one
  bytes[0x61] = 0x60;
  bytes[0x102] = 0x00;
  bytes[0x103] = 0x10;
  machine_.write(std::string(kBridge) + "/config", bytes);
  machine_.write(std::string(kNic) + "/config", bytes);
  expect_ok(look_at_pcie);
}

TEST_F(CheckNode, AGpuOnAnotherSocketIsAWarning) {
  machine_.add_gpu(std::string(kBridge) + "/0000:3c:00.0", 0);
  expect_ok(look_at_pcie);
  EXPECT_THAT(look_at_pcie(machine_.surroundings()).summary,
              HasSubstr("GPU 0000:3c:00.0 takes mlx5_0 (the nearest to 0000:3c:00.0)"));
  machine_.add_gpu("/sys/devices/pci0000:ba/0000:ba:00.0/0000:bb:00.0", 1);
  EXPECT_THAT(finding_of(look_at_pcie, Verdict::warning).answer,
              HasSubstr("mlx5_0 is on node 0, the GPU on 1"));
}

TEST_F(CheckNode, EachNicOfAPeIsToldAndHeldAgainstItsGpu) {
  machine_.surroundings().place_nics = [](const std::vector<std::string>&) {
    return std::vector{mlx5::PlacedNic{"mlx5_0", 1, "near"}, mlx5::PlacedNic{"mlx5_1", 2, "far"}};
  };
  EXPECT_THAT(look_at_qos(machine_.surroundings()).summary,
              HasSubstr("this PE takes mlx5_0 port 1 (near), mlx5_1 port 2 (far)"));
  const std::string other = "/sys/devices/pci0000:ba/0000:ba:01.0";
  machine_.surroundings().nics->push_back(healthy_nic("mlx5_1"));
  machine_.write(other + "/numa_node", "1");
  machine_.link("/sys/class/infiniband/mlx5_1/device", other);
  machine_.add_gpu(std::string(kBridge) + "/0000:3c:00.0", 0);
  EXPECT_EQ(finding_of(look_at_pcie, Verdict::warning).answer, "mlx5_1 is on node 1, the GPU on 0");
  EXPECT_THAT(look_at_pcie(machine_.surroundings()).summary,
              AllOf(HasSubstr("GPU 0000:3c:00.0 takes mlx5_0 (near)"),
                    HasSubstr("GPU 0000:3c:00.0 takes mlx5_1 (far)")));
}

TEST_F(CheckNode, NicsAreThoseOfTheGpusThatPesTake) {
  std::vector<std::string> asked;
  machine_.surroundings().place_nics =
      [&](const std::vector<std::string>& gpus) -> Result<std::vector<mlx5::PlacedNic>> {
    asked = gpus;
    return std::vector<mlx5::PlacedNic>();
  };
  auto& gpus = machine_.surroundings().gpus.gpus;
  gpus.resize(3);
  for (int i = 0; i < 3; ++i) {
    gpus[static_cast<std::size_t>(i)].ordinal = i;
    gpus[static_cast<std::size_t>(i)].bus = "bus " + std::to_string(i);
  }
  Options& options = machine_.surroundings().options;
  options.local_rank = 1;
  EXPECT_TRUE(machine_.surroundings().nics_of_this_pe());
  EXPECT_THAT(asked, ElementsAre("bus 0", "bus 1"));
  options.gpus = {2, 0};
  options.local_rank = 2;
  EXPECT_TRUE(machine_.surroundings().nics_of_this_pe());
  EXPECT_THAT(asked, ElementsAre("bus 2", "bus 0", "bus 2"));
  options.device = DeviceChoice::cpu;
  options.local_rank = 0;
  EXPECT_TRUE(machine_.surroundings().nics_of_this_pe());
  EXPECT_THAT(asked, ElementsAre(""));
}

TEST_F(CheckNode, TooFewNicsForThisPeAreAFailure) {
  machine_.surroundings().place_nics =
      [](const std::vector<std::string>&) -> Result<std::vector<mlx5::PlacedNic>> {
    return Error(Code::unavailable, "GDAKIT_NICS_PER_PE=2, where 1 can be used");
  };
  const Finding finding = finding_of(look_at_qos, Verdict::failed);
  EXPECT_EQ(finding.answer, "GDAKIT_NICS_PER_PE=2, where 1 can be used");
  EXPECT_THAT(finding.remedy, HasSubstr("a lower GDAKIT_NICS_PER_PE"));
}

TEST_F(CheckNode, TheHostsTrafficClassIsTakenUnlessAnotherOneIsAskedFor) {
  const auto said = [&] { return look_at_qos(machine_.surroundings()).summary; };
  expect_ok(look_at_qos);
  EXPECT_THAT(said(), AllOf(HasSubstr("traffic class 0, service level 0"),
                            HasSubstr("this PE takes mlx5_0 port 1 (the nearest to none)")));
  machine_.write("/sys/class/infiniband/mlx5_0/tc/1/traffic_class", "Global tclass=106\n");
  expect_ok(look_at_qos);
  EXPECT_THAT(said(), HasSubstr("traffic class 106"));
  machine_.write("/sys/class/infiniband/mlx5_0/tc/1/traffic_class", "106\n");
  EXPECT_THAT(said(), HasSubstr("traffic class 106"));
  machine_.surroundings().options.traffic_class = 0;
  EXPECT_THAT(finding_of(look_at_qos, Verdict::warning).answer,
              HasSubstr("GDAKIT_TRAFFIC_CLASS=0, where the host has tclass=106"));
}

}  // namespace
}  // namespace gdakit::tools::check
