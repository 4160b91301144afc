// ALLOC_MW and DEALLOC_MW. What windows do is tested in tests/softnic and through libmlx5.
#include <cerrno>

#include <gtest/gtest.h>

#include "tests/uverbs/client.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace test;

struct UverbsMw : testing::Test {
  UverbsMw() { pd = client.make_pd(); }

  int alloc(std::uint8_t type, std::uint32_t of_pd) {
    ib_uverbs_alloc_mw request{};
    std::uint32_t answer[2] = {};
    request.pd_handle = of_pd;
    request.mw_type = type;
    WriteCall call(IB_USER_VERBS_CMD_ALLOC_MW);
    call.core_in(request).core_out(answer);
    if (driver.comp_mask != 0 || driver.reserved1 != 0) call.in(UVERBS_ATTR_UHW_IN, driver);
    const int error = call.make(*client.context);
    mw = answer[0];
    rkey = answer[1];
    return error;
  }
  int dealloc(std::uint32_t handle) {
    return client.destroy(UVERBS_OBJECT_MW, UVERBS_METHOD_MW_DESTROY, UVERBS_ATTR_DESTROY_MW_HANDLE,
                          handle);
  }
  int dealloc_by_write(std::uint32_t handle) {
    const ib_uverbs_dealloc_mw request{handle};
    return WriteCall(IB_USER_VERBS_CMD_DEALLOC_MW).core_in(request).make(*client.context);
  }

  std::unique_ptr<Device> device = open_device();
  Client client{*device};
  mlx5_ib_alloc_mw driver{};
  std::uint32_t pd = 0, mw = 0, rkey = 0;
};

TEST_F(UverbsMw, BothTypesComeAndGo) {
  ASSERT_EQ(alloc(1, pd), 0);
  const std::uint32_t first = mw, first_key = rkey;
  ASSERT_EQ(alloc(2, pd), 0);
  EXPECT_NE(rkey >> 8, first_key >> 8);
  EXPECT_EQ(dealloc(first), 0);
  EXPECT_EQ(dealloc(first), ENOENT);
  EXPECT_EQ(dealloc_by_write(mw), 0);
  EXPECT_EQ(dealloc_by_write(mw), ENOENT);
}

TEST_F(UverbsMw, RequestsAreChecked) {
  EXPECT_EQ(alloc(0, pd), EINVAL);
  EXPECT_EQ(alloc(3, pd), EINVAL);
  EXPECT_EQ(alloc(1, pd + 100), EINVAL);
  driver.comp_mask = 1;
  EXPECT_EQ(alloc(1, pd), EOPNOTSUPP);
  driver.comp_mask = 0;
  driver.reserved1 = 1;
  EXPECT_EQ(alloc(1, pd), EOPNOTSUPP);
  EXPECT_EQ(client.destroy_pd(pd), 0);  // none of these holds it
}

TEST_F(UverbsMw, AWindowKeepsItsProtectionDomain) {
  ASSERT_EQ(alloc(2, pd), 0);
  EXPECT_EQ(client.destroy_pd(pd), EBUSY);
  EXPECT_EQ(dealloc(mw), 0);
  EXPECT_EQ(client.destroy_pd(pd), 0);
}

TEST_F(UverbsMw, ARegionIsNoWindow) {
  client.pd = pd;
  const std::uint32_t mr = client.make_mr(IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_MW_BIND);
  EXPECT_EQ(dealloc(mr), ENOENT);
  ASSERT_EQ(alloc(1, pd), 0);
  EXPECT_EQ(client.destroy_mr(mw), ENOENT);
}

TEST_F(UverbsMw, WindowsGoWithTheirClient) {
  ASSERT_EQ(alloc(1, pd), 0);
  client.context.reset();
}

TEST_F(UverbsMw, TheDeviceSaysThatItHasThem) {
  ib_uverbs_query_device request{};
  ib_uverbs_query_device_resp answer{};
  ASSERT_EQ(WriteCall(IB_USER_VERBS_CMD_QUERY_DEVICE)
                .core_in(request)
                .core_out(answer)
                .make(*client.context),
            0);
  EXPECT_GT(answer.max_mw, 1000u);
  EXPECT_NE(answer.device_cap_flags & 1u << 17, 0u);  // IBV_DEVICE_MEM_WINDOW
  EXPECT_NE(answer.device_cap_flags & 1u << 24, 0u);  // IBV_DEVICE_MEM_WINDOW_TYPE_2B
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
