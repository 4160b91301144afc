// Queues whose memory is a slab: they share one umem, which goes with the last of them.
#include <cerrno>
#include <span>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/format/prm/cq.h"
#include "core/format/prm/qp.h"
#include "tests/mlx5/backend_fixture.h"

namespace gdakit::mlx5 {
namespace {

namespace prm = format::prm;
using testing::HasSubstr;

class Slab : public PlayedBackend {
 protected:
  static constexpr std::size_t kQueues = 64;

  QueueSlab slab(std::size_t first = 0, std::size_t count = kQueues) {
    return {slab_[first].data(), count * sizeof(QueueBlock)};
  }
  Result<QueueResources> create_in(const QueueSlab& slab, std::size_t block, bool receives = true) {
    QueueMemory memory = slab_[block].memory(receives);
    memory.slab = slab;
    return backend_->create_queue(memory);
  }
  static int umems() { return played().live["umem"]; }
  template <class Layout>
  static prm::View<Layout> sent(const char* opcode) {
    return prm::View<Layout>(std::span<const std::uint8_t>(played().sent.at(opcode)));
  }

  std::vector<QueueBlock> slab_ = std::vector<QueueBlock>(kQueues);
};

TEST_F(Slab, OfManyQueuesIsOneUmem) {
  std::vector<QueueNumber> queues;
  for (std::size_t i = 0; i < kQueues; ++i) {
    const auto queue = create_in(slab(), i, i % 2 == 0);
    ASSERT_TRUE(queue);
    queues.push_back(queue->number);
    EXPECT_EQ(umems(), 1);
  }
  EXPECT_EQ(played().umems.back().size, kQueues * sizeof(QueueBlock));
  while (queues.size() > 1) {
    ASSERT_TRUE(backend_->destroy_queue(queues.back()));
    queues.pop_back();
    EXPECT_EQ(umems(), 1);
  }
  EXPECT_TRUE(backend_->destroy_queue(queues.front()));
  EXPECT_EQ(umems(), 0);
  ASSERT_TRUE(create_in(slab(), 3));
  EXPECT_EQ(umems(), 1) << "it is registered again";
}

TEST_F(Slab, HasTheQueuesPartsAtTheirPlaces) {
  ASSERT_TRUE(create_in(slab(), 0));
  ASSERT_TRUE(create_in(slab(), 5));
  ASSERT_EQ(played().umems.size(), 1u);
  EXPECT_EQ(played().umems[0].addr, slab_[0].data());
  const std::uint64_t block = 5 * sizeof(QueueBlock);
  const auto qp = sent<prm::CreateQpIn>("0500");
  EXPECT_EQ(qp.get(prm::CreateQpIn::wq_umem_id), Played().next_umem);
  EXPECT_EQ(qp.get(prm::CreateQpIn::wq_umem_offset), block);
  EXPECT_EQ(qp.at(prm::CreateQpIn::qpc).get(prm::Qpc::dbr_addr), block + QueueBlock::kRecord);
  const auto cq = sent<prm::CreateCqIn>("0400");  // of receives, the later one
  EXPECT_EQ(cq.get(prm::CreateCqIn::cq_umem_id), Played().next_umem);
  EXPECT_EQ(cq.get(prm::CreateCqIn::cq_umem_offset), block + QueueBlock::kReceiveCqes);
  EXPECT_EQ(cq.at(prm::CreateCqIn::cqc).get(prm::Cqc::dbr_umem_id), Played().next_umem);
  EXPECT_EQ(cq.at(prm::CreateCqIn::cqc).get(prm::Cqc::dbr_addr), block + QueueBlock::kRecord + 16);
}

TEST_F(Slab, OfOtherPlaceOrSizeIsAnother) {
  ASSERT_TRUE(create_in(slab(0, 4), 0));
  ASSERT_TRUE(create_in(slab(4, 4), 4));
  EXPECT_EQ(umems(), 2);
  ASSERT_TRUE(create_in(slab(0, 3), 1));
  EXPECT_EQ(umems(), 3);
  ASSERT_TRUE(create_in({}, 9));
  EXPECT_EQ(umems(), 4) << "a queue without a slab has one of its own";
}

TEST_F(Slab, OfAnotherPlaceThanTheQueueIsRefused) {
  for (const std::size_t outside : {0, 5}) {
    const auto refused = create_in(slab(1, 4), outside);
    EXPECT_THAT(refusal_of(refused), HasSubstr("not within its slab"));
    EXPECT_EQ(refused.error().code(), Code::invalid_argument);
  }
  EXPECT_EQ(umems(), 0);
}

TEST_F(Slab, StaysWithOthersWhereAQueueCannotBeMade) {
  played().errors = {{"0500", EINVAL}};
  EXPECT_FALSE(create_in(slab(), 0));
  EXPECT_EQ(umems(), 0) << "the first one's goes with it";
  played().errors.clear();
  const auto queue = create_in(slab(), 0);
  ASSERT_TRUE(queue);
  played().errors = {{"0500", EINVAL}};
  EXPECT_FALSE(create_in(slab(), 1));
  EXPECT_EQ(umems(), 1);
  played().errors.clear();
  EXPECT_TRUE(backend_->destroy_queue(queue->number));
  EXPECT_EQ(umems(), 0);
}

TEST_F(Slab, StaysWhileAQueueIsHalfDestroyed) {
  const auto first = create_in(slab(), 0);
  const auto second = create_in(slab(), 1);
  ASSERT_TRUE(first && second);
  played().errors = {{"mlx5dv_devx_obj_destroy 2", EBUSY}};  // a CQ, behind its QP
  EXPECT_FALSE(backend_->destroy_queue(first->number));
  EXPECT_TRUE(backend_->destroy_queue(second->number));
  EXPECT_EQ(umems(), 1);
  played().errors = {{"mlx5dv_devx_umem_dereg", EBUSY}};
  EXPECT_FALSE(backend_->destroy_queue(first->number));
  EXPECT_EQ(umems(), 1);
  ASSERT_TRUE(create_in(slab(), 2));
  EXPECT_EQ(umems(), 1) << "a new queue has the same";
  EXPECT_TRUE(backend_->destroy_queue(first->number)) << "it leaves the umem to the new one";
  EXPECT_EQ(umems(), 1);
  played().errors.clear();
}

}  // namespace
}  // namespace gdakit::mlx5
