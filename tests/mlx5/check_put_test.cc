// The puts of `gdakit check`, on a NIC that this test plays: it writes the CQEs itself.
#include <cerrno>
#include <cstring>
#include <span>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/mlx5/check_look.h"
#include "core/format/address_vector.h"
#include "core/format/cqe.h"
#include "core/format/doorbell.h"
#include "core/format/prm/qp.h"
#include "core/format/wqe.h"
#include "tests/mlx5/played.h"
#include "tests/mlx5/played_gpu.h"

namespace gdakit::mlx5 {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::chrono::milliseconds kShortly{20};
constexpr std::size_t kQueueBytes = 64 * format::kWqebbBytes;

class CheckPut : public testing::Test {
 protected:
  CheckPut() {
    played() = {};
    played().ports = {port_of(IBV_PORT_ACTIVE, IBV_LINK_LAYER_INFINIBAND)};
    played().gids = {gid_of(IBV_GID_TYPE_IB, 0xfe, 1)};
  }
  ~CheckPut() override {
    end_.reset();
    EXPECT_THAT(played().held(), IsEmpty());
  }

  PutEnd& connected(QueueType type = QueueType::rc) {
    auto opened = open_put_end(libraries_, "rocep1s0", 1, options_);
    EXPECT_TRUE(opened);
    end_ = std::move(*opened);
    const auto card = end_->make_queue(type);
    EXPECT_TRUE(card);
    EXPECT_TRUE(end_->connect(*card));
    return *end_;
  }
  // The queue's memory, which became a umem behind the page of DC's receives.
  char* queue() { return static_cast<char*>(played().umems.back().addr); }
  void complete(format::CqeOpcode opcode, std::uint16_t wqe, std::uint8_t syndrome = 0) {
    format::ErrorCqe cqe{};
    cqe.syndrome = syndrome;
    cqe.vendor_err_synd = 0x81;
    cqe.s_wqe_opcode_qpn =
        Be32{std::uint32_t{static_cast<std::uint8_t>(format::Opcode::rdma_write)} << 24};
    cqe.wqe_counter = Be16{wqe};
    cqe.op_own = format::op_own(opcode, false);
    std::memcpy(queue() + kQueueBytes, &cqe, sizeof cqe);
  }

  const Libraries& libraries_ = played_libraries();
  Options options_;
  std::unique_ptr<PutEnd> end_;
};

TEST_F(CheckPut, APutIsAWriteThatIsRungFor) {
  PutEnd& end = connected();
  complete(format::CqeOpcode::requester, 0);
  EXPECT_EQ(end.put(8, 1, kShortly).kind, PutOutcome::Kind::arrived);
  format::ControlSegment control;
  std::memcpy(&control, queue(), sizeof control);
  EXPECT_EQ(control.opcode(), static_cast<std::uint8_t>(format::Opcode::rdma_write));
  EXPECT_EQ(control.completion(), format::Completion::always);
  format::DoorbellRecord record;
  std::memcpy(&record, queue() + kQueueBytes + sizeof(format::Cqe64), sizeof record);
  EXPECT_EQ(record.snd_dbr, 1u);
  EXPECT_EQ(*static_cast<std::uint64_t*>(played_uar(0)->reg_addr),
            format::doorbell_value(1, control.qpn()));
}

// An address vector lies behind the control segment, and so a put takes two WQEBBs.
TEST_F(CheckPut, OfDcAPutSaysWhereItsTargetIs) {
  PutEnd& end = connected(QueueType::dc);
  char* const slots = queue();
  for (std::uint16_t put = 0; put < 2; ++put) {
    complete(format::CqeOpcode::requester, static_cast<std::uint16_t>(2 * put));
    EXPECT_EQ(end.put(8, 1, kShortly).kind, PutOutcome::Kind::arrived);
    format::ControlSegment control;
    std::memcpy(&control, slots + 2 * put * format::kWqebbBytes, sizeof control);
    EXPECT_EQ(control.wqe_index(), 2 * put);
    EXPECT_EQ(control.ds(), 6u);
  }
  format::AvSegment address;
  std::memcpy(&address, slots + format::kSegmentBytes, sizeof address);
  EXPECT_NE(address.dqp_dct & format::kExtendedAv, 0u);
  EXPECT_NE(format::dc_key(address), 0u);
  format::DoorbellRecord record;
  std::memcpy(&record, slots + kQueueBytes + sizeof(format::Cqe64), sizeof record);
  EXPECT_EQ(record.snd_dbr, 4u);
}

TEST_F(CheckPut, TheGidIsLookedForAgainBeforeAQueueIsConnected) {
  played().ports = {port_of(IBV_PORT_ACTIVE, IBV_LINK_LAYER_ETHERNET)};
  const ibv_gid_entry mine = gid_of(IBV_GID_TYPE_ROCE_V2, 0xfe, 1);
  played().gids = {mine};
  auto end = open_put_end(libraries_, "rocep1s0", 1, options_);
  ASSERT_TRUE(end);
  const auto card = (*end)->make_queue(QueueType::rc);
  ASSERT_TRUE(card);
  played().gids = {gid_of(IBV_GID_TYPE_ROCE_V2, 0xfe, 2), mine};
  ASSERT_TRUE((*end)->connect(*card));
  using Sent = format::prm::Init2rtrQpIn;
  const format::prm::View<Sent> sent(std::span<const std::uint8_t>(played().sent.at("0503")));
  EXPECT_EQ(sent.at(Sent::qpc)
                .at(format::prm::Qpc::primary_address_path)
                .get(format::prm::Ads::src_addr_index),
            1u);
}

TEST_F(CheckPut, APutIsInThePartition) {
  played().ports[0].pkey_tbl_len = 4;
  options_.pkey_index = 3;
  connected();
  using Sent = format::prm::Rst2initQpIn;
  const format::prm::View<Sent> sent(std::span<const std::uint8_t>(played().sent.at("0502")));
  EXPECT_EQ(sent.at(Sent::qpc)
                .at(format::prm::Qpc::primary_address_path)
                .get(format::prm::Ads::pkey_index),
            3u);
  end_.reset();
  options_.pkey_index = 4;
  const auto refused = open_put_end(libraries_, "rocep1s0", 1, options_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("a table of 4 partition keys"));
}

TEST_F(CheckPut, OfDcANicThatHasNoneIsTold) {
  played().has_dc = false;
  auto opened = open_put_end(libraries_, "rocep1s0", 1, Options());
  ASSERT_TRUE(opened);
  const auto card = (*opened)->make_queue(QueueType::dc);
  ASSERT_FALSE(card);
  EXPECT_THAT(card.error().message(), HasSubstr("queues of DC on rocep1s0"));
}

TEST_F(CheckPut, BothEndsHaveTheSameTypeOfQueue) {
  PutEnd& end = connected();
  auto other = open_put_end(libraries_, "rocep1s0", 1, Options());
  ASSERT_TRUE(other);
  const auto card = (*other)->make_queue(QueueType::dc);
  ASSERT_TRUE(card);
  const auto refused = end.connect(*card);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("one has a queue of DC and the other none"));
}

TEST_F(CheckPut, TheCompletionOfAnEarlierPutIsNotTaken) {
  PutEnd& end = connected();
  complete(format::CqeOpcode::requester, 0);
  EXPECT_EQ(end.put(8, 1, kShortly).kind, PutOutcome::Kind::arrived);
  EXPECT_EQ(end.put(8, 1, kShortly).kind, PutOutcome::Kind::silent);
  complete(format::CqeOpcode::requester, 2);
  EXPECT_EQ(end.put(8, 1, kShortly).kind, PutOutcome::Kind::arrived);
}

TEST_F(CheckPut, WithoutACompletionItEndsAtItsLimit) {
  const PutOutcome outcome = connected().put(8, 1, kShortly);
  EXPECT_EQ(outcome.kind, PutOutcome::Kind::silent);
  EXPECT_THAT(outcome.said, HasSubstr("QUERY_QP"));
}

TEST_F(CheckPut, AnErrorIsToldByItsSyndromes) {
  PutEnd& end = connected();
  complete(format::CqeOpcode::requester_error, 0, 0x15);
  const PutOutcome outcome = end.put(8, 1, kShortly);
  EXPECT_EQ(outcome.kind, PutOutcome::Kind::failed);
  EXPECT_EQ(outcome.status, 0x15u);
  EXPECT_EQ(outcome.vendor_status, 0x81u);
  EXPECT_THAT(outcome.said, HasSubstr("retry"));
}

TEST_F(CheckPut, NothingIsRightBeforeItArrives) {
  PutEnd& end = connected();
  end.prepare(4096, 7);
  EXPECT_EQ(end.count_wrong(4096, 7), 4096u);
}

TEST_F(CheckPut, EachQueueReplacesTheLastOne) {
  PutEnd& end = connected();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(end.make_queue(QueueType::rc));
  EXPECT_EQ(played().live["object"], 3);  // a QP, its CQ, and the counters
}

TEST_F(CheckPut, TellsWhatTheNicHasCounted) {
  played().counted = {{"packet_seq_err", 3}};
  EXPECT_EQ(connected().counters()->packet_seq_err, 3u);
  using Sent = format::prm::Rst2initQpIn;
  const format::prm::View<Sent> sent(std::span<const std::uint8_t>(played().sent.at("0502")));
  EXPECT_NE(sent.at(Sent::qpc).get(format::prm::Qpc::counter_set_id), 0u) << "it joins the set";
  end_.reset();
  played().errors = {{"0771", EREMOTEIO}};
  EXPECT_FALSE(connected().counters());
}

TEST_F(CheckPut, WhatFailsIsToldByItsCall) {
  const auto why = [&] {
    auto opened = open_put_end(libraries_, "rocep1s0", 1, Options());
    if (!opened) return opened.error().message();
    const auto card = (*opened)->make_queue(QueueType::rc);
    return card ? std::string() : card.error().message();
  };
  played().errors = {{"ibv_reg_mr_iova2", ENOMEM}};
  EXPECT_THAT(why(), HasSubstr("ibv_reg_mr_iova2 of 2097152 bytes on rocep1s0"));
  played().errors = {{"0500", EREMOTEIO}};
  EXPECT_THAT(why(), HasSubstr("CREATE_QP"));
  played().errors = {{"mlx5dv_open_device", EACCES}};
  EXPECT_THAT(why(), HasSubstr("mlx5dv_open_device"));
}

TEST_F(CheckPut, ACardOfAnotherVersionIsRefused) {
  PutEnd& end = connected();
  EXPECT_FALSE(end.connect(Bytes(3)));
}

TEST_F(CheckPut, EachWayToAGpusMemoryIsTriedByItself) {
  PutEnd& end = connected();
  PlayedGpu gpu;
  std::uint64_t memory = 0;
  GpuMemoryTrial trial = end.try_gpu_memory(gpu, &memory, 4096);
  EXPECT_TRUE(trial.region_by_peer_memory.ok() && trial.object_by_peer_memory.ok());
  EXPECT_TRUE(trial.region_by_dma_buf.ok() && trial.object_by_dma_buf.ok());
  played().errors = {{"ibv_reg_mr_iova2", EFAULT}};
  trial = end.try_gpu_memory(gpu, &memory, 4096);
  EXPECT_EQ(trial.region_by_peer_memory.code, EFAULT);
  EXPECT_TRUE(trial.object_by_peer_memory.ok() && trial.region_by_dma_buf.ok());
  played().errors = {{"ibv_reg_dmabuf_mr", EOPNOTSUPP}};
  trial = end.try_gpu_memory(gpu, &memory, 4096);
  EXPECT_EQ(trial.region_by_dma_buf.code, EOPNOTSUPP);
  EXPECT_TRUE(trial.region_by_peer_memory.ok() && trial.object_by_dma_buf.ok());
  gpu.exports = false;
  trial = end.try_gpu_memory(gpu, &memory, 4096);
  EXPECT_TRUE(trial.region_by_dma_buf.failed() && trial.object_by_dma_buf.failed());
  EXPECT_THAT(trial.region_by_dma_buf.said, HasSubstr("cuMemGetHandleForAddressRange"));
}

TEST_F(CheckPut, ADoorbellPageIsMappedForAGpu) {
  PutEnd& end = connected();
  PlayedGpu gpu;
  GpuDoorbellTrial trial = end.try_gpu_doorbell(gpu);
  EXPECT_TRUE(trial.page && trial.mapped);
  EXPECT_EQ(gpu.mapped, 0);
  gpu.maps = false;
  trial = end.try_gpu_doorbell(gpu);
  EXPECT_TRUE(trial.page);
  ASSERT_FALSE(trial.mapped);
  EXPECT_THAT(trial.mapped.error().message(), HasSubstr("800"));
}

TEST_F(CheckPut, ADoorbellPageThatNobodyGetsIsToldApart) {
  PutEnd& end = connected();
  PlayedGpu gpu;
  played().errors = {{"mlx5dv_devx_alloc_uar of a dedicated one", EOPNOTSUPP},
                     {"mlx5dv_devx_alloc_uar", EOPNOTSUPP},
                     {"mlx5dv_devx_alloc_uar of BF", EOPNOTSUPP}};
  const GpuDoorbellTrial trial = end.try_gpu_doorbell(gpu);
  ASSERT_FALSE(trial.page);
  EXPECT_EQ(trial.page.error().system_code(), EOPNOTSUPP);
}

}  // namespace
}  // namespace gdakit::mlx5
