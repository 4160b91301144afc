// Steps that look at NICs, their ports and GPUs, and the puts: each on a healthy machine, and on
// one where its thing is wrong.
#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/check/made_up.h"

namespace gdakit::tools::check {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class CheckNic : public CheckSteps {
 protected:
  // ... and which NIC or GPU it is of.
  Finding finding_of(Look look, Verdict wanted) {
    Finding finding = CheckSteps::finding_of(look, wanted);
    EXPECT_THAT(finding.on, Not(IsEmpty())) << finding.tried;
    return finding;
  }
  void fail_open(int code) {
    machine_.nic().open = {true, code, "mlx5dv_open_device"};
    machine_.nic().ports = {};
  }
  GpuInfo& add_gpu() {
    machine_.surroundings().gpus.gpus.emplace_back();
    return machine_.surroundings().gpus.gpus.back();
  }
};

TEST_F(CheckNic, ANicThatDoesNotTellWhatItIsFails) {
  machine_.nic().attributes = {true, EIO, "ibv_query_device"};
  EXPECT_THAT(finding_of(look_at_devices, Verdict::failed).answer,
              AllOf(HasSubstr("ibv_query_device"), HasSubstr("EIO")));
}

TEST_F(CheckNic, GidsThatCannotBeReadAreToldFromThoseThatAreNotThere) {
  machine_.port().gids = {};
  EXPECT_EQ(finding_of(look_at_gids, Verdict::failed).answer, "there is none");
  machine_.port().gids_read = {true, EIO, "ibv_query_gid_table"};
  EXPECT_THAT(finding_of(look_at_gids, Verdict::failed).answer,
              AllOf(HasSubstr("ibv_query_gid_table"), HasSubstr("EIO")));
}

TEST_F(CheckNic, AllStepsOfAHealthyMachineAreOkOrSkipped) {
  const std::vector<StepReport> reports = run_steps(machine_.surroundings(), {});
  EXPECT_THAT(reports, SizeIs(steps().size()));
  for (const StepReport& report : reports) {
    EXPECT_LE(report.verdict, Verdict::ok) << report.step << ": " << report.summary;
    EXPECT_THAT(report.findings, IsEmpty());
  }
  EXPECT_EQ(machine_.puts().puts, 2);
}

TEST_F(CheckNic, OnlyTheStepsThatAreNamedAreRun) {
  const auto reports = run_steps(machine_.surroundings(), {"qos", "port"});
  ASSERT_THAT(reports, SizeIs(2));
  EXPECT_EQ(reports[0].step, "port");
  EXPECT_EQ(reports[1].step, "qos");
}

TEST_F(CheckNic, AContextThatIsRefusedIsToldByNameAndNumber) {
  for (const auto& [code, text] : {std::pair{EACCES, "EACCES, 13"},
                                   {EPERM, "EPERM, 1"},
                                   {ENOENT, "ENOENT, 2"},
                                   {EOPNOTSUPP, "EOPNOTSUPP, 95"},
                                   {EIO, "EIO, 5"}}) {
    fail_open(code);
    const Finding finding = finding_of(look_at_devices, Verdict::failed);
    EXPECT_EQ(finding.on, "mlx5_0");
    EXPECT_THAT(finding.answer, HasSubstr(text));
  }
  expect(look_at_ports, Verdict::skipped);
  expect(look_at_put, Verdict::skipped);
}

TEST_F(CheckNic, WithoutDedicatedDoorbellPagesQueuesShareOne) {
  machine_.nic().dedicated_page = {true, EOPNOTSUPP, "alloc_uar"};
  expect(look_at_devices, Verdict::ok);
  machine_.nic().uncached_page = {true, EPERM, "mlx5dv_devx_alloc_uar"};
  machine_.nic().blueflame_page = {true, 0, ""};
  const Finding combining = finding_of(look_at_devices, Verdict::warning);
  EXPECT_THAT(combining.answer, AllOf(HasSubstr("EPERM, 1"), HasSubstr("type BF can be had")));
  EXPECT_THAT(combining.otherwise, HasSubstr("write-combining"));
  machine_.nic().blueflame_page = {true, EPERM, "mlx5dv_devx_alloc_uar"};
  EXPECT_THAT(finding_of(look_at_devices, Verdict::failed).answer, HasSubstr("EPERM, 1"));
}

TEST_F(CheckNic, AHostWithoutAConnectXIsAFailure) {
  const auto answer = [&] {
    return look_at_devices(machine_.surroundings()).findings.at(0).answer;
  };
  machine_.nic().is_connectx = false;
  EXPECT_THAT(answer(), HasSubstr("mlx5_0 (vendor"));
  machine_.nic().is_connectx = true;
  machine_.nic().is_allowed = false;
  EXPECT_THAT(answer(), HasSubstr("GDAKIT_HCA_LIST"));
  machine_.surroundings().nics = std::vector<mlx5::NicLook>{};
  EXPECT_THAT(answer(), HasSubstr("lists no device"));
  machine_.surroundings().nics = Error(Code::unavailable, "ibv_get_device_list", ENOSYS);
  EXPECT_THAT(answer(), HasSubstr("ENOSYS, 38"));
}

TEST_F(CheckNic, MissingAtomicsAreAFailure) {
  expect(look_at_atomics, Verdict::ok);
  machine_.nic().atomic_operations = 0x3;
  const Finding finding = finding_of(look_at_atomics, Verdict::failed);
  EXPECT_THAT(finding.answer, AllOf(HasSubstr("operations 0x3"), HasSubstr("wanted")));
  EXPECT_THAT(finding.proof, HasSubstr("PCI_ATOMIC_MODE"));
}

TEST_F(CheckNic, AtomicsThatAnswerInTheOtherOrderOfBytesAreAFailure) {
  machine_.nic().swaps_fetched = true;
  const Finding finding = finding_of(look_at_atomics, Verdict::failed);
  EXPECT_THAT(finding.answer, AllOf(HasSubstr("fetched big-endian"), HasSubstr("mode is 0")));
}

TEST_F(CheckNic, QueuesThatFirmwareLacksAreAFailureWhereTheyAreAskedFor) {
  const auto summary = [&] { return look_at_devices(machine_.surroundings()).summary; };
  EXPECT_THAT(summary(), AllOf(HasSubstr(", queues of DC"), Not(HasSubstr("without doorbell"))));
  machine_.nic().lacks_dc = "it has no targets";
  machine_.nic().has_recordless = true;
  EXPECT_THAT(summary(), AllOf(HasSubstr(", no queues of DC"), HasSubstr("without doorbell")));
  expect(look_at_devices, Verdict::ok);
  machine_.surroundings().options.queue_type = QueueType::dc;
  machine_.surroundings().options.doorbell_records = false;
  const Finding dc = finding_of(look_at_devices, Verdict::failed);
  EXPECT_EQ(dc.answer, "it has no targets");
  EXPECT_THAT(dc.remedy, HasSubstr("GDAKIT_QUEUE_TYPE=rc"));
  machine_.nic().lacks_dc = {};
  machine_.nic().has_recordless = false;
  EXPECT_THAT(finding_of(look_at_devices, Verdict::failed).remedy,
              HasSubstr("GDAKIT_DOORBELL_RECORDS=on"));
}

TEST_F(CheckNic, APutGoesByTheQueuesThatAPeWouldHave) {
  expect(look_at_put, Verdict::ok);
  EXPECT_EQ(machine_.puts().type, QueueType::rc);
  machine_.surroundings().options.queue_type = QueueType::dc;
  expect(look_at_put, Verdict::ok);
  EXPECT_EQ(machine_.puts().type, QueueType::dc);
  EXPECT_THAT(look_at_put(machine_.surroundings()).summary, HasSubstr("every byte right, by DC"));
  machine_.puts().made = Error(Code::unavailable, "queues of DC on mlx5_0: it has no targets");
  const Finding finding = finding_of(look_at_put, Verdict::failed);
  EXPECT_THAT(finding.tried, HasSubstr("an initiator of DC"));
  EXPECT_EQ(finding.remedy, "GDAKIT_QUEUE_TYPE=rc");
}

TEST_F(CheckNic, APortThatIsNotActiveIsAFailure) {
  expect(look_at_ports, Verdict::ok);
  machine_.port().is_active = false;
  machine_.port().state = "DOWN";
  machine_.write("/sys/class/infiniband/mlx5_0/ports/1/phys_state", "3: Disabled");
  EXPECT_THAT(finding_of(look_at_ports, Verdict::failed).answer,
              HasSubstr("DOWN, physical state 3: Disabled; wanted is ACTIVE"));
  machine_.port().is_ethernet = false;
  machine_.port().is_infiniband = true;
  machine_.port().state = "INIT";
  EXPECT_THAT(finding_of(look_at_ports, Verdict::failed).cause, HasSubstr("subnet manager"));
}

TEST_F(CheckNic, APortThatDemandsAGlobalRoutingHeaderIsSaidTo) {
  machine_.port().needs_grh = true;
  expect(look_at_ports, Verdict::ok);
  EXPECT_THAT(look_at_ports(machine_.surroundings()).summary,
              HasSubstr("demands a global routing header"));
}

TEST_F(CheckNic, ASecondPortMayBeDown) {
  mlx5::PortLook second = machine_.port();
  second.number = 2;
  second.is_active = false;
  second.state = "DOWN";
  machine_.nic().ports.push_back(second);
  expect(look_at_ports, Verdict::ok);
  EXPECT_THAT(look_at_ports(machine_.surroundings()).summary, HasSubstr("port 2 DOWN"));
}

TEST_F(CheckNic, ASmallMtuIsAWarning) {
  machine_.port().mtu = 1024;
  EXPECT_THAT(finding_of(look_at_ports, Verdict::warning).answer,
              HasSubstr("1024 of at most 4096"));
}

TEST_F(CheckNic, AnInfiniBandPortWithoutALidIsAFailure) {
  machine_.port().is_ethernet = false;
  machine_.port().is_infiniband = true;
  EXPECT_THAT(finding_of(look_at_ports, Verdict::failed).cause, HasSubstr("subnet manager"));
  machine_.port().lid = 7;
  expect(look_at_ports, Verdict::ok);
}

TEST_F(CheckNic, TheGidIsThatOfTheOption) {
  mlx5::GidLook other = machine_.port().gids.front();
  other.index = 5;
  other.text = "fd00::5";
  other.raw = {0xfd};
  other.is_ipv4 = false;
  machine_.port().gids.push_back(other);
  const auto summary = [this](const char* choice) {
    machine_.surroundings().options.gid = choice;
    expect(look_at_gids, Verdict::ok);
    return look_at_gids(machine_.surroundings()).summary;
  };
  EXPECT_EQ(summary(""), "mlx5_0 port 1 ::ffff:10.0.0.1 (index 3, RoCE v2)");
  EXPECT_EQ(summary("5"), "mlx5_0 port 1 fd00::5 (index 5, RoCE v2), by GDAKIT_GID=5");
  EXPECT_THAT(summary("v2,fd00::/8"), HasSubstr("(index 5, RoCE v2), by GDAKIT_GID=v2,fd00::/8"));
  EXPECT_EQ(machine_.surroundings().usable_ports().front().address(), "fd00::5");
}

TEST_F(CheckNic, AGidThatTheOptionAsksForInVainIsNamedWithThoseThatThereAre) {
  machine_.surroundings().options.gid = "7";
  const Finding finding = finding_of(look_at_gids, Verdict::failed);
  EXPECT_THAT(finding.tried, HasSubstr("GDAKIT_GID=7"));
  EXPECT_THAT(finding.answer, HasSubstr("::ffff:10.0.0.1 (index 3, RoCE v2)"));
  EXPECT_THAT(finding.otherwise, HasSubstr("index 3"));
}

TEST_F(CheckNic, ThePartitionOfAnInfiniBandPortIsLookedAt) {
  const std::string file = "/sys/class/infiniband/mlx5_0/ports/1/pkeys/0";
  machine_.write(file, "0x0000");  // of Ethernet it says nothing
  expect(look_at_ports, Verdict::ok);
  machine_.port().is_ethernet = false;
  machine_.port().is_infiniband = true;
  machine_.port().lid = 3;
  EXPECT_THAT(finding_of(look_at_ports, Verdict::failed).cause, HasSubstr("the place is empty"));
  machine_.write(file, "0x7fff\n");
  EXPECT_THAT(finding_of(look_at_ports, Verdict::warning).cause, HasSubstr("a limited member"));
  machine_.write(file, "0x8123\n");
  expect(look_at_ports, Verdict::ok);
  const StepReport report = look_at_ports(machine_.surroundings());
  EXPECT_THAT(report.summary, HasSubstr("pkey 0x8123"));
  EXPECT_EQ(report.facts.at("partition"), "0x123");
  machine_.remove(file);
  expect(look_at_ports, Verdict::ok);
}

TEST_F(CheckNic, ThePartitionIsThatOfTheOption) {
  machine_.port().is_ethernet = false;
  machine_.port().is_infiniband = true;
  machine_.port().lid = 3;
  machine_.port().pkeys = 128;
  machine_.write("/sys/class/infiniband/mlx5_0/ports/1/pkeys/0", "0xffff");
  machine_.write("/sys/class/infiniband/mlx5_0/ports/1/pkeys/5", "0x0000");
  expect(look_at_ports, Verdict::ok);
  machine_.surroundings().options.pkey_index = 5;
  const Finding finding = finding_of(look_at_ports, Verdict::failed);
  EXPECT_THAT(finding.tried, HasSubstr("ports/1/pkeys/5"));
  EXPECT_THAT(finding.cause, HasSubstr("the place is empty"));
  machine_.write("/sys/class/infiniband/mlx5_0/ports/1/pkeys/5", "0x9234");
  EXPECT_EQ(look_at_ports(machine_.surroundings()).facts.at("partition"), "0x1234");
}

TEST_F(CheckNic, APartitionBeyondThePortsTableIsAFailureThatTellsItsSize) {
  machine_.surroundings().options.pkey_index = 1;
  const Finding roce = finding_of(look_at_ports, Verdict::failed);
  EXPECT_EQ(roce.answer, "the port's table has 1 place, where GDAKIT_PKEY_INDEX=1");
  EXPECT_EQ(roce.cause, "RoCE has one partition");
  machine_.port().pkeys = 128;
  expect(look_at_ports, Verdict::ok);
  machine_.port().is_ethernet = false;
  machine_.port().is_infiniband = true;
  machine_.port().lid = 3;
  machine_.surroundings().options.pkey_index = 128;
  EXPECT_EQ(finding_of(look_at_ports, Verdict::failed).answer,
            "the port's table has 128 places, where GDAKIT_PKEY_INDEX=128");
}

TEST_F(CheckNic, QueuePairsOfAJobAreHeldAgainstThoseThatTheNicHas) {
  machine_.surroundings().pes = 1024;
  expect(look_at_qos, Verdict::ok);
  EXPECT_THAT(look_at_qos(machine_.surroundings()).summary,
              HasSubstr("2048 queue pairs a PE of at most 131072"));
  machine_.nic().most_queue_pairs = 2047;
  const Finding finding = finding_of(look_at_qos, Verdict::failed);
  EXPECT_EQ(finding.answer, "2048 in a job of 1024 PEs, where it has 2047");
  EXPECT_THAT(finding.remedy, HasSubstr("GDAKIT_QUEUE_TYPE=dc"));
  machine_.surroundings().options.queue_type = QueueType::dc;
  expect(look_at_qos, Verdict::ok);
  machine_.surroundings().options.queue_type = QueueType::rc;
  machine_.surroundings().options.nics_per_pe = 2;
  machine_.surroundings().nics->push_back(healthy_nic("mlx5_1"));
  EXPECT_THAT(look_at_qos(machine_.surroundings()).summary, HasSubstr("1024 queue pairs a PE"));
}

// It arrives, and the NIC had to send it again.
TEST_F(CheckNic, PutsThatTheNicRepeatedAreAWarning) {
  machine_.puts().counted_by_a_put.rx_write_requests = 1;
  expect(look_at_put, Verdict::ok);
  machine_.puts().counted_by_a_put.packet_seq_err = 2;
  machine_.puts().counted_by_a_put.out_of_sequence = 1;
  const Finding finding = finding_of(look_at_put, Verdict::warning);
  EXPECT_EQ(finding.answer, "2 of out_of_sequence, 4 of packet_seq_err");
  machine_.puts().counters.reset();  // a NIC that counts nothing
  expect(look_at_put, Verdict::ok);
}

TEST_F(CheckNic, GidsAreJudgedByWhoIsReachedByThem) {
  expect(look_at_gids, Verdict::ok);
  auto& gid = machine_.port().gids.front();
  gid.is_ipv4 = false;
  gid.is_link_local = true;
  EXPECT_THAT(finding_of(look_at_gids, Verdict::warning).answer, HasSubstr("link-local"));
  gid.is_v2 = false;
  gid.is_v1 = true;
  EXPECT_THAT(finding_of(look_at_gids, Verdict::warning).answer, HasSubstr("RoCE v1 alone"));
  machine_.port().gids = {};
  EXPECT_THAT(finding_of(look_at_gids, Verdict::failed).answer, HasSubstr("there is none"));
}

TEST_F(CheckNic, APutThatCannotBeginIsToldByItsCall) {
  machine_.puts().opened = Error(Code::exhausted, "ibv_reg_mr_iova2", ENOMEM);
  const Finding locked = finding_of(look_at_put, Verdict::failed);
  EXPECT_THAT(locked.answer, HasSubstr("ENOMEM, 12"));
  EXPECT_EQ(locked.proof, "ulimit -l");
  machine_.puts().opened = Error(Code::invalid_argument, "GDAKIT_PKEY_INDEX=9: port 1 of mlx5_0");
  EXPECT_EQ(finding_of(look_at_put, Verdict::failed).proof, "gdakit check --only port");
  machine_.puts().opened = {};
  machine_.puts().made = Error(Code::system, "CREATE_QP; 0x8 (limits exceeded)", EREMOTEIO);
  EXPECT_EQ(finding_of(look_at_put, Verdict::failed).proof, "rdma resource show");
  machine_.puts().made = {};
  machine_.puts().connected = Error(Code::system, "INIT2RTR_QP", ETIMEDOUT);
  EXPECT_THAT(finding_of(look_at_put, Verdict::failed).cause, HasSubstr("does not answer"));
  EXPECT_EQ(machine_.puts().puts, 0);
}

TEST_F(CheckNic, APutThatFailsIsToldByItsStatus) {
  machine_.puts().outcome = {mlx5::PutOutcome::Kind::failed, 0x15, 0x81, "transport retry", {}};
  EXPECT_THAT(finding_of(look_at_put, Verdict::failed).answer,
              HasSubstr("transport retry (status 0x15, vendor's 0x81)"));
  EXPECT_EQ(machine_.puts().puts, 1);
}

TEST_F(CheckNic, APutWithoutACompletionIsToldByItsLimit) {
  machine_.puts().outcome = {mlx5::PutOutcome::Kind::silent, 0, 0, "RTS", {}};
  EXPECT_THAT(finding_of(look_at_put, Verdict::failed).answer,
              HasSubstr("neither completion nor error within 10000 ms"));
}

TEST_F(CheckNic, WrongBytesAreCounted) {
  machine_.puts().wrong = 3;
  EXPECT_THAT(finding_of(look_at_put, Verdict::failed).answer, HasSubstr("3 of 8 bytes are wrong"));
}

TEST_F(CheckNic, EveryNicIsTried) {
  machine_.surroundings().nics->push_back(healthy_nic("mlx5_1"));
  expect(look_at_put, Verdict::ok);
  EXPECT_EQ(machine_.puts().puts, 4);
  machine_.puts().wrong = 1;
  EXPECT_THAT(look_at_put(machine_.surroundings()).findings, SizeIs(2));
}

TEST_F(CheckNic, WithoutAGpuItsStepsAreSkippedWithTheReason) {
  for (const Look look : {look_at_gpu_memory, look_at_gpu_objects, look_at_gpu_put}) {
    expect(look, Verdict::skipped);
    EXPECT_THAT(look(machine_.surroundings()).summary, HasSubstr("no driver"));
  }
  machine_.add_gpu(std::string(kBridge) + "/0000:3c:00.0", 0);
  EXPECT_THAT(look_at_gpu_memory(machine_.surroundings()).summary, HasSubstr("shows 1 on its PCI"));
}

TEST_F(CheckNic, OneWayToAGpusMemoryIsEnough) {
  add_gpu();
  machine_.puts().gpu_memory.region_by_peer_memory = {true, 0, ""};
  expect(look_at_gpu_memory, Verdict::ok);
  EXPECT_THAT(look_at_gpu_memory(machine_.surroundings()).summary, HasSubstr("by peer memory"));
}

TEST_F(CheckNic, NoWayToAGpusMemoryIsAFailureThatTellsBoth) {
  add_gpu();
  machine_.puts().gpu_memory.region_by_peer_memory = {true, EFAULT, "ibv_reg_mr_iova2"};
  machine_.puts().gpu_memory.region_by_dma_buf = {true, EOPNOTSUPP, "export_dma_buf"};
  const Finding finding = finding_of(look_at_gpu_memory, Verdict::failed);
  EXPECT_THAT(finding.answer, AllOf(HasSubstr("EOPNOTSUPP, 95"), HasSubstr("EFAULT, 14")));
  EXPECT_THAT(finding.cause, HasSubstr("exports no dma-buf"));
  EXPECT_THAT(finding.remedy, HasSubstr("modprobe nvidia-peermem"));
}

TEST_F(CheckNic, AGpuThatCudaSaysNoNicReachesIsNotBlamedOnTheKernel) {
  add_gpu();
  machine_.puts().gpu_memory.region_by_peer_memory = {true, EFAULT, "ibv_reg_mr_iova2"};
  machine_.puts().gpu_memory.region_by_dma_buf = {true, EOPNOTSUPP, "export_dma_buf"};
  machine_.puts().gpu_rdma.is_supported = false;
  EXPECT_THAT(finding_of(look_at_gpu_memory, Verdict::failed).cause,
              HasSubstr("GPU_DIRECT_RDMA_SUPPORTED is 0"));
  machine_.puts().gpu_rdma = {.is_supported = true, .takes_heaps = false, .orders_writes = true};
  EXPECT_THAT(finding_of(look_at_gpu_memory, Verdict::failed).cause,
              HasSubstr("WITH_CUDA_VMM_SUPPORTED is 0"));
}

TEST_F(CheckNic, WhatCudaSaysOfNicsAtAGpuIsTold) {
  add_gpu();
  machine_.puts().gpu_memory.region_by_dma_buf = {true, 0, ""};
  const auto summary = [&] { return look_at_gpu_memory(machine_.surroundings()).summary; };
  EXPECT_THAT(summary(), HasSubstr("GPU 0: GPUDirect RDMA, NICs' writes in order"));
  machine_.puts().gpu_rdma = {.is_supported = false, .takes_heaps = false, .orders_writes = false};
  EXPECT_THAT(summary(), AllOf(HasSubstr("CUDA says that it has no GPUDirect RDMA"),
                               HasSubstr("where a read comes behind them")));
  const StepReport report = look_at_gpu_memory(machine_.surroundings());
  EXPECT_EQ(report.facts.at("GPUDirect RDMA"), "no");
  EXPECT_EQ(report.facts.at("order of NICs' writes to GPUs"), "by reads");
}

TEST_F(CheckNic, AHeapThatTheGpusApertureDoesNotShowIsToldFromMemoryThatNobodyReaches) {
  add_gpu();
  machine_.puts().gpu_memory.region_by_peer_memory = {true, 0, ""};
  machine_.puts().most_gpu_bytes = 65536;
  const Finding finding = finding_of(look_at_gpu_memory, Verdict::failed);
  EXPECT_THAT(finding.tried, HasSubstr("registration of 67108864 bytes"));
  EXPECT_THAT(finding.cause, HasSubstr("BAR1 aperture is smaller"));
  EXPECT_THAT(finding.remedy, HasSubstr("GDAKIT_SYMMETRIC_SIZE"));
}

TEST_F(CheckNic, QueuesMayLieInTheHostsMemory) {
  add_gpu();
  machine_.puts().gpu_memory.object_by_peer_memory = {true, EFAULT, "umem"};
  EXPECT_THAT(finding_of(look_at_gpu_objects, Verdict::warning).otherwise,
              HasSubstr("GDAKIT_QUEUE_MEMORY=host"));
  machine_.puts().gpu_memory.object_by_dma_buf = {true, 0, ""};
  expect(look_at_gpu_objects, Verdict::ok);
}

TEST_F(CheckNic, WithoutAGpuTheDriversSettingForDoorbellsIsRead) {
  expect(look_at_gpu_doorbell, Verdict::skipped);
  machine_.write("/proc/driver/nvidia/params", "RegistryDwords: \"PeerMappingOverride=1;\"\n");
  expect(look_at_gpu_doorbell, Verdict::skipped);
  machine_.write("/proc/driver/nvidia/params", "RegistryDwords: \"\"\n");
  const Finding finding = finding_of(look_at_gpu_doorbell, Verdict::warning);
  EXPECT_THAT(finding.remedy, HasSubstr("NVreg_EnableStreamMemOPs=1"));
  EXPECT_THAT(finding.otherwise, HasSubstr("GDAKIT_NIC_HANDLER=proxy"));
}

TEST_F(CheckNic, ADoorbellPageIsMappedForEachGpu) {
  add_gpu();
  expect(look_at_gpu_doorbell, Verdict::ok);
  machine_.puts().gpu_doorbell.mapped =
      Error(Code::unavailable, "cudaHostRegister: 800, not permitted");
  const Finding finding = finding_of(look_at_gpu_doorbell, Verdict::warning);
  EXPECT_EQ(finding.on, "GPU 0 and mlx5_0 port 1");
  EXPECT_THAT(finding.answer, HasSubstr("800"));
  EXPECT_THAT(finding.cause, HasSubstr("PeerMappingOverride"));
}

TEST_F(CheckNic, ADoorbellPageThatNobodyGetsIsNoFaultOfTheGpus) {
  add_gpu();
  machine_.puts().gpu_doorbell.page = Error(Code::unavailable, "mlx5dv_devx_alloc_uar on mlx5_0");
  const Finding finding = finding_of(look_at_gpu_doorbell, Verdict::warning);
  EXPECT_THAT(finding.answer, HasSubstr("mlx5dv_devx_alloc_uar"));
  EXPECT_THAT(finding.cause, HasSubstr("nobody gets such a page"));
  EXPECT_THAT(finding.proof, HasSubstr("--only device"));
}

TEST_F(CheckNic, APutOfAGpuIsTriedForEachNic) {
  add_gpu();
  machine_.surroundings().nics->push_back(healthy_nic("mlx5_1"));
  expect(look_at_gpu_put, Verdict::ok);
  EXPECT_THAT(look_at_gpu_put(machine_.surroundings()).summary,
              AllOf(HasSubstr("GPU 0 and mlx5_0 port 1"), HasSubstr("GPU 0 and mlx5_1 port 1")));
  machine_.puts().by_gpu = machine_.puts().by_host = Error(Code::timed_out, "stalled");
  EXPECT_THAT(look_at_gpu_put(machine_.surroundings()).findings, SizeIs(2));
}

TEST_F(CheckNic, APutThatAHostThreadMustRingForIsAWarning) {
  add_gpu();
  machine_.puts().by_gpu = Error(Code::timed_out, "stalled");
  const Finding finding = finding_of(look_at_gpu_put, Verdict::warning);
  EXPECT_THAT(finding.answer, AllOf(HasSubstr("stalled"), HasSubstr("a host thread rings")));
  EXPECT_THAT(finding.otherwise, HasSubstr("GDAKIT_NIC_HANDLER=proxy"));
  machine_.surroundings().options.nic_handler = NicHandler::proxy;
  expect(look_at_gpu_put, Verdict::ok);
  EXPECT_THAT(look_at_gpu_put(machine_.surroundings()).summary, HasSubstr("by handler proxy"));
}

}  // namespace
}  // namespace gdakit::tools::check
