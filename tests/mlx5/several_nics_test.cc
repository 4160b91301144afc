// A PE that spreads its queues over several NICs (GDAKIT_NICS_PER_PE), on a played host: each is
// opened, and what PEs agree on is of all of them.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/mlx5/agreement.h"
#include "core/format/prm/dct.h"
#include "tests/mlx5/backend_fixture.h"
#include "tests/mlx5/played_gpu.h"

namespace gdakit::mlx5 {
namespace {

namespace prm = format::prm;
using testing::AllOf;
using testing::HasSubstr;

// Two PEs, which give so many NICs.
std::array<std::string, 2> agreed(std::uint32_t first, std::uint32_t second) {
  const auto bootstraps = make_local_bootstraps(2, std::chrono::seconds(60));
  std::array<std::string, 2> told;
  const auto agree = [&](std::size_t pe, std::uint32_t nics) {
    const Result<void> same = agree_on_nics(*bootstraps->at(pe), nics);
    if (!same) told[pe] = same.error().message();
  };
  std::thread other([&] { agree(1, second); });
  agree(0, first);
  other.join();
  return told;
}

TEST(NicsAgreement, IsThatAllPesHaveAsMany) {
  EXPECT_EQ(agreed(2, 2), (std::array<std::string, 2>{}));
  const auto told = agreed(1, 4);
  EXPECT_EQ(told[0], told[1]);
  EXPECT_EQ(told[0],
            "GDAKIT_NICS_PER_PE: PE 1 gave 4 where PE 0 gave 1; all PEs must have as many NICs");
}

class NicsOfOnePe : public PlayedProvider {
 protected:
  NicsOfOnePe() {
    played().devices = 3;
    options_.nics_per_pe = 2;
  }
  std::string name_of(Backend& nic) {
    played().errors = {{"ibv_reg_mr_iova2", EFAULT}};
    const auto refused = nic.register_memory(blocks_[0].data(), 64, MemoryUse::local);
    played().errors.clear();
    const std::string said = refusal_of(refused);
    return said.substr(said.find("rocep"), std::strlen("rocep1s0"));
  }

  Options options_;
  std::vector<QueueBlock> blocks_ = std::vector<QueueBlock>(4);
};

TEST_F(NicsOfOnePe, AreOpenedInTheirOrder) {
  options_.hca_map = "rocep3s0+rocep1s0";
  const auto backend = open(options_);
  ASSERT_TRUE(backend) << backend.error().message();
  EXPECT_EQ((*backend)->limits().nics, 2u);
  EXPECT_EQ(played().live["context"], 2);
  EXPECT_EQ(name_of((*backend)->nic(0)), "rocep3s0");
  EXPECT_EQ(name_of((*backend)->nic(1)), "rocep1s0");
}

TEST_F(NicsOfOnePe, OneIsNoSet) {
  options_.nics_per_pe = 1;
  const auto backend = open(options_);
  ASSERT_TRUE(backend);
  EXPECT_EQ((*backend)->limits().nics, 1u);
  EXPECT_EQ(&(*backend)->nic(0), backend->get());
  EXPECT_TRUE((*backend)->register_memory(blocks_[0].data(), 64, MemoryUse::local));
}

TEST_F(NicsOfOnePe, AreNamedInTheLogWithTheReasonOfEach) {
  options_.log = LogLevel::info;
  testing::internal::CaptureStderr();
  EXPECT_TRUE(open(options_));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("NIC rocep1s0, port 1: number 1 of 3 that are as near"),
                    HasSubstr("NIC rocep2s0, port 1: number 2 of 3 that are as near")));
}

TEST_F(NicsOfOnePe, OfWhichOneFailsNoneStaysOpen) {
  options_.hca_map = "rocep1s0+mlx5_7";
  EXPECT_THAT(refusal_of(open(options_)), HasSubstr("mlx5_7"));
  options_.hca_map = "rocep1s0";
  EXPECT_THAT(refusal_of(open(options_)), HasSubstr("names 1 NIC, where a PE takes 2"));
  options_.hca_map.clear();
  options_.nics_per_pe = 4;
  EXPECT_THAT(refusal_of(open(options_)), HasSubstr("where 3 of this host's 3 RDMA NICs"));
  EXPECT_THAT(played().held(), testing::IsEmpty());
}

TEST_F(NicsOfOnePe, EachHaveQueuesOfTheirOwn) {
  const auto backend = open(options_);
  ASSERT_TRUE(backend);
  std::array<QueueResources, 2> queues;
  for (std::uint32_t nic = 0; nic < 2; ++nic) {
    QueueMemory memory = blocks_[nic].memory();
    memory.nic = nic;
    const auto made = (*backend)->create_queue(memory);
    ASSERT_TRUE(made) << made.error().message();
    queues[nic] = *made;
    EXPECT_THAT((*backend)->describe_queue(made->number),
                HasSubstr(nic == 0 ? "rocep1s0" : "rocep2s0"));
  }
  EXPECT_TRUE((*backend)->connect_queue(queues[0].number, queues[1].card));
  played().errors = {{"0502", EINVAL}};
  EXPECT_THAT(refusal_of((*backend)->connect_queue(queues[1].number, queues[0].card)),
              HasSubstr("on rocep2s0"));
}

TEST_F(NicsOfOnePe, EachHaveATargetOfDcOfTheLeastMtu) {
  options_.queue_type = QueueType::dc;
  played().second_mtu = IBV_MTU_512;
  const auto backend = open(options_);
  ASSERT_TRUE(backend) << backend.error().message();
  for (std::uint32_t nic = 0; nic < 2; ++nic) {
    ASSERT_TRUE((*backend)->nic(nic).dc_target());
    const prm::View<prm::CreateDctIn> sent(std::span<const std::uint8_t>(played().sent.at("0710")));
    EXPECT_EQ(sent.at(prm::CreateDctIn::dct_context_entry).get(prm::Dctc::mtu),
              std::uint64_t{IBV_MTU_512});
  }
}

// Of a PE on a GPU.
class NicsOfOnePeOnAGpu : public NicsOfOnePe {
 protected:
  ~NicsOfOnePeOnAGpu() override { EXPECT_EQ(gpu_.mapped, 0); }
  PlayedGpu gpu_;
};

TEST_F(NicsOfOnePeOnAGpu, AreAllRungByIt) {
  const auto backend = open(options_, gpu_);
  ASSERT_TRUE(backend);
  EXPECT_TRUE((*backend)->limits().device_rings);
  EXPECT_EQ(gpu_.mapped, 2);
}

TEST_F(NicsOfOnePeOnAGpu, AreAllRungByTheHostWhereItCannotRingOne) {
  gpu_.most_mapped = 1;
  testing::internal::CaptureStderr();
  const auto backend = open(options_, gpu_);
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(backend);
  EXPECT_FALSE((*backend)->limits().device_rings);
  EXPECT_THAT(said, HasSubstr("warn: host threads ring the NICs of all PEs"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
}

TEST_F(NicsOfOnePeOnAGpu, OfWhichItIsToRingAllAndCannotNameTheOne) {
  gpu_.most_mapped = 1;
  options_.nic_handler = NicHandler::gpu;
  EXPECT_THAT(refusal_of(open(options_, gpu_)),
              AllOf(HasSubstr("GDAKIT_NIC_HANDLER=gpu"), HasSubstr("rocep2s0"), HasSubstr("800")));
}

}  // namespace
}  // namespace gdakit::mlx5
