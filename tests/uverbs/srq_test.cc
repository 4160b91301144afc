// Shared receive queues and regions that are registered anew, as clients ask for them.
#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>

#include <gtest/gtest.h>

#include "tests/uverbs/client.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace test;

constexpr std::uint32_t kWqes = 16;
constexpr std::uint32_t kWqeBytes = 32;

struct SrqMemory {
  alignas(64) std::array<std::byte, kWqes * kWqeBytes> wqes{};
  alignas(64) std::uint32_t record = 0;
};

class UverbsSrq : public testing::Test {
 protected:
  UverbsSrq() { client.make_all(); }

  mlx5_ib_create_srq driver() const {
    mlx5_ib_create_srq driver{};
    driver.buf_addr = address_of(memory->wqes.data());
    driver.db_addr = address_of(&memory->record);
    return driver;
  }
  int create(const mlx5_ib_create_srq& driver, std::uint32_t max_wr = kWqes - 1,
             std::uint32_t type = IB_UVERBS_SRQT_BASIC) {
    Call call(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE);
    const int error = call.number(UVERBS_ATTR_CREATE_SRQ_HANDLE)
                          .number(UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, client.pd)
                          .in(UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, std::uint64_t{77})
                          .in(UVERBS_ATTR_CREATE_SRQ_TYPE, type)
                          .in(UVERBS_ATTR_CREATE_SRQ_MAX_WR, max_wr)
                          .in(UVERBS_ATTR_CREATE_SRQ_MAX_SGE, std::uint32_t{1})
                          .in(UVERBS_ATTR_UHW_IN, driver)
                          .out(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, granted_wr)
                          .make(*client.context);
    srq = call.given(UVERBS_ATTR_CREATE_SRQ_HANDLE);
    return error;
  }
  int modify(std::uint32_t mask, std::uint32_t limit) {
    ib_uverbs_modify_srq request{};
    request.srq_handle = srq;
    request.attr_mask = mask;
    request.srq_limit = limit;
    return WriteCall(IB_USER_VERBS_CMD_MODIFY_SRQ).core_in(request).make(*client.context);
  }
  int destroy() {
    return client.destroy(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY,
                          UVERBS_ATTR_DESTROY_SRQ_HANDLE, srq);
  }

  // Goes after the client, until whose end the NIC may read it.
  std::unique_ptr<SrqMemory> memory = std::make_unique<SrqMemory>();
  std::unique_ptr<Device> device = open_device();
  Client client{*device};
  std::uint32_t srq = 0;
  std::uint32_t granted_wr = 0;
};

TEST_F(UverbsSrq, HasAsManyWqesAsItsMemory) {
  ASSERT_EQ(create(driver()), 0);
  EXPECT_EQ(granted_wr, kWqes - 1);
  ib_uverbs_query_srq request{};
  request.srq_handle = srq;
  ib_uverbs_query_srq_resp answer{};
  ASSERT_EQ(WriteCall(IB_USER_VERBS_CMD_QUERY_SRQ)
                .core_in(request)
                .core_out(answer)
                .make(*client.context),
            0);
  EXPECT_EQ(answer.max_wr, kWqes - 1);
  EXPECT_EQ(answer.max_sge, 1u);
  EXPECT_EQ(answer.srq_limit, 0u);
}

TEST_F(UverbsSrq, IsRefusedForWhatThereIsNot) {
  EXPECT_EQ(create(driver(), kWqes - 1, IB_UVERBS_SRQT_TM), EOPNOTSUPP);
  EXPECT_EQ(create(driver(), 1u << 16), EINVAL);
  mlx5_ib_create_srq nowhere = driver();
  nowhere.buf_addr = kNowhere;
  EXPECT_EQ(create(nowhere), EFAULT);
  nowhere = driver();
  nowhere.db_addr = kNowhere;
  EXPECT_EQ(create(nowhere), EFAULT);
}

TEST_F(UverbsSrq, TakesALimitAndNoOtherSize) {
  ASSERT_EQ(create(driver()), 0);
  EXPECT_EQ(modify(2, kWqes), EINVAL);
  EXPECT_EQ(modify(1, 0), EINVAL);
  EXPECT_EQ(modify(2, 4), 0);
}

TEST_F(UverbsSrq, StaysWhileAQueuePairUsesIt) {
  ASSERT_EQ(create(driver()), 0);
  mlx5_ib_create_qp queue = client.qp_driver();
  EXPECT_EQ(
      client.qp_call(queue).number(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, srq).make(*client.context),
      EINVAL)
      << "it has a receive queue of its own";
  queue.rq_wqe_count = 0;
  Call call = client.qp_call(queue);
  ASSERT_EQ(call.number(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, srq).make(*client.context), 0);
  EXPECT_EQ(destroy(), EBUSY);
  EXPECT_EQ(client.destroy_qp(call.given(UVERBS_ATTR_CREATE_QP_HANDLE)), 0);
  EXPECT_EQ(destroy(), 0);
  EXPECT_EQ(destroy(), ENOENT);
}

class UverbsRereg : public UverbsSrq {
 protected:
  ib_uverbs_rereg_mr request(std::uint32_t flags) const {
    ib_uverbs_rereg_mr request{};
    request.mr_handle = client.mr;
    request.flags = flags;
    return request;
  }
  int make(const ib_uverbs_rereg_mr& request, ib_uverbs_rereg_mr_resp& answer) {
    return WriteCall(IB_USER_VERBS_CMD_REREG_MR)
        .core_in(request)
        .core_out(answer)
        .make(*client.context);
  }
};

TEST_F(UverbsRereg, KeepsTheKey) {
  ib_uverbs_rereg_mr_resp answer{};
  ib_uverbs_rereg_mr changed = request(4);
  changed.access_flags = IB_UVERBS_ACCESS_LOCAL_WRITE;
  ASSERT_EQ(make(changed, answer), 0);
  EXPECT_EQ(answer.lkey, client.key);
  EXPECT_EQ(answer.rkey, client.key);
}

TEST_F(UverbsRereg, RefusesWhatCannotBe) {
  ib_uverbs_rereg_mr_resp answer{};
  EXPECT_EQ(make(request(0), answer), EINVAL);
  EXPECT_EQ(make(request(8), answer), EOPNOTSUPP);
  ib_uverbs_rereg_mr wrong = request(4);
  wrong.access_flags = IB_UVERBS_ACCESS_REMOTE_WRITE;
  EXPECT_EQ(make(wrong, answer), EINVAL);
  wrong = request(1);
  wrong.start = wrong.hca_va = kNowhere;
  wrong.length = 4096;
  EXPECT_EQ(make(wrong, answer), EFAULT);
  wrong = request(2);
  wrong.pd_handle = client.mr;
  EXPECT_EQ(make(wrong, answer), EINVAL);
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
