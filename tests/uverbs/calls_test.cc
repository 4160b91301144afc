// How a call finds its command, and what all of them have in common.
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/uverbs/commands.h"
#include "backends/softnic/uverbs/own_files.h"
#include "tests/uverbs/client.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace test;

struct UverbsCalls : testing::Test {
  std::unique_ptr<Device> device = open_device();
};

// So libibverbs asks, before all else, whether commands of the write() interface may be calls; any
// answer but EPROTONOSUPPORT and ENOTTY is a yes.
TEST_F(UverbsCalls, AnEmptyWriteLacksRoom) {
  Context context(*device);
  EXPECT_EQ(WriteCall(IB_USER_VERBS_CMD_QUERY_DEVICE).make(context), ENOSPC);
}

TEST_F(UverbsCalls, WhatIsNotThereIsNotSupported) {
  Client client(*device);
  EXPECT_EQ(Call(UVERBS_OBJECT_MR, 77).make(*client.context), EPROTONOSUPPORT);
  EXPECT_EQ(Call(0x7777, 0).make(*client.context), EPROTONOSUPPORT);
  EXPECT_EQ(WriteCall(0x7777).make(*client.context), EOPNOTSUPP);
  EXPECT_EQ(WriteCall(kExtendedCommand | 0x7777).make(*client.context), EOPNOTSUPP);
}

TEST_F(UverbsCalls, OtherDriversAreRefused) {
  Client client(*device);
  std::uint8_t port = 1;
  ib_uverbs_query_port_resp_ex answer{};
  Call call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
  call.in(UVERBS_ATTR_QUERY_PORT_PORT_NUM, port).out(UVERBS_ATTR_QUERY_PORT_RESP, answer);
  EXPECT_EQ(call.make(*client.context), 0);
  call.header.driver_id = RDMA_DRIVER_MLX4;
  EXPECT_EQ(call.make(*client.context), EINVAL);
}

TEST_F(UverbsCalls, AWrongHeaderIsRefused) {
  Client client(*device);
  Call call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT);
  EXPECT_EQ(call.make(*client.context), 0);
  call.extra_length = 8;
  EXPECT_EQ(call.make(*client.context), EINVAL);
  call.extra_length = 0;
  call.header.reserved1 = 1;
  EXPECT_EQ(call.make(*client.context), EPROTONOSUPPORT);
  EXPECT_EQ(client.context->call(kNowhere), EFAULT);
}

// As a kernel does that is older than the attribute.
TEST_F(UverbsCalls, AnUnknownAttributeIsIgnoredUnlessItIsMandatory) {
  Client client(*device);
  for (const int id : {2, 77, 0x0fff, 0x1001, 0x1002, 0xffff}) {
    const auto number = static_cast<std::uint16_t>(id);
    Call ignored(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT);
    EXPECT_EQ(ignored.in(number, std::uint64_t{1}).make(*client.context), 0) << id;
    Call refused(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT);
    refused.in(number, std::uint64_t{1}).mandatory();
    EXPECT_EQ(refused.make(*client.context), EPROTONOSUPPORT) << id;
  }
}

// libibverbs says so of nearly all.
TEST_F(UverbsCalls, AKnownAttributeMayBeMandatory) {
  Client client(*device);
  const std::uint8_t port = 1;
  ib_uverbs_query_port_resp_ex answer{};
  EXPECT_EQ(Call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT)
                .in(UVERBS_ATTR_QUERY_PORT_PORT_NUM, port)
                .mandatory()
                .out(UVERBS_ATTR_QUERY_PORT_RESP, answer)
                .mandatory()
                .make(*client.context),
            0);
  mlx5_ib_alloc_ucontext_resp driver{};
  EXPECT_EQ(Call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT)
                .out(MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX, driver)
                .mandatory()
                .make(*client.context),
            0);
}

TEST_F(UverbsCalls, AnAttributeComesOnce) {
  Client client(*device);
  const std::uint8_t port = 1;
  ib_uverbs_query_port_resp_ex answer{};
  Call call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
  call.in(UVERBS_ATTR_QUERY_PORT_PORT_NUM, port).out(UVERBS_ATTR_QUERY_PORT_RESP, answer);
  EXPECT_EQ(call.make(*client.context), 0);
  EXPECT_EQ(call.in(UVERBS_ATTR_QUERY_PORT_PORT_NUM, port).make(*client.context), EINVAL);
  // Of those that nobody knows nobody minds.
  Call other(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT);
  EXPECT_EQ(other.in(99, port).in(99, port).make(*client.context), 0);
}

// An object whose memory the NIC still uses after its patience.
struct Stuck final : Object {
  static constexpr ObjectType kType = ObjectType::ah;
  Stuck() : Object(kType) {}
  Result<void> end(Context&) override {
    ++ends;
    return Error(Code::timed_out, "still uses the memory");
  }

  int ends = 0;
};

TEST_F(UverbsCalls, WhatCannotGoInTimeStaysAndMayGoLater) {
  Client client(*device);
  auto object = std::make_unique<Stuck>();
  Stuck& stuck = *object;
  const std::uint32_t handle = client.context->handles().add(std::move(object));
  ASSERT_EQ(destroy<Stuck>(*client.context, handle), EBUSY);
  ASSERT_EQ(client.context->handles().find<Stuck>(handle), &stuck);
  EXPECT_EQ(stuck.ends, 1);
  // The NIC has it no more: what is waited for is its memory alone.
  EXPECT_EQ(destroy<Stuck>(*client.context, handle), 0);
  EXPECT_EQ(client.context->handles().find<Stuck>(handle), nullptr);
}

int create_channel(Client& client) {
  ib_uverbs_create_comp_channel request{};
  ib_uverbs_create_comp_channel_resp answer{};
  WriteCall call(IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL);
  EXPECT_EQ(call.core_in(request).core_out(answer).make(*client.context), 0);
  return static_cast<int>(answer.fd);
}

std::size_t count_own_files() {
  std::size_t count = 0;
  for (auto file = next_own_file(0); file; file = next_own_file(*file + 1)) ++count;
  return count;
}

// Each has a number of its own, since what takes its place in between stays open.
TEST_F(UverbsCalls, ChannelsThatAreClosedLeaveNothingOpen) {
  Client client(*device);
  const std::size_t before = count_own_files();
  std::vector<UniqueFileDescriptor> others;
  for (int i = 0; i < 200; ++i) {
    const int channel = create_channel(client);
    ASSERT_GE(channel, 0);
    others.emplace_back(::open("/dev/null", O_RDONLY));
    ::close(channel);
    others.emplace_back(::open("/dev/null", O_RDONLY));
  }
  EXPECT_LT(count_own_files(), before + 50);
}

TEST_F(UverbsCalls, AChannelThatIsInUseStays) {
  Client client(*device);
  client.make_all(/*with_channel=*/true);
  const auto pipe = client.context->channel(Context::ChannelOf::completions, client.channel);
  ASSERT_NE(pipe, nullptr);
  const UniqueFileDescriptor other(::dup(client.channel));
  EXPECT_EQ(client.context->channel(Context::ChannelOf::completions, other.get()), pipe);
  for (int i = 0; i < 40; ++i) ::close(create_channel(client));
  EXPECT_EQ(client.context->channel(Context::ChannelOf::completions, client.channel), pipe);
  EXPECT_EQ(client.context->channel(Context::ChannelOf::completions, 0), nullptr);
}

TEST_F(UverbsCalls, NothingGoesBeforeGetContext) {
  Context context(*device);
  ib_uverbs_alloc_pd request{};
  ib_uverbs_alloc_pd_resp answer{};
  WriteCall pd(IB_USER_VERBS_CMD_ALLOC_PD);
  pd.core_in(request).core_out(answer);
  EXPECT_EQ(pd.make(context), EINVAL);
  EXPECT_EQ(Call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT).make(context), EINVAL);
  EXPECT_EQ(test::get_context(context), 0);
  EXPECT_EQ(test::get_context(context), EINVAL);
  EXPECT_EQ(pd.make(context), 0);
}

TEST_F(UverbsCalls, AWriteWithTooLittleRoomIsRefused) {
  Client client(*device);
  const std::uint8_t little = 0;
  ib_uverbs_alloc_pd request{};
  ib_uverbs_alloc_pd_resp answer{};
  EXPECT_EQ(WriteCall(IB_USER_VERBS_CMD_ALLOC_PD).make(*client.context), ENOSPC);
  EXPECT_EQ(WriteCall(IB_USER_VERBS_CMD_ALLOC_PD).core_in(request).make(*client.context), ENOSPC);
  EXPECT_EQ(
      WriteCall(IB_USER_VERBS_CMD_ALLOC_PD).core_in(little).core_out(answer).make(*client.context),
      ENOSPC);
}

TEST_F(UverbsCalls, HandlesOfOneContextSayNothingToAnother) {
  Client client(*device), other(*device);
  const std::uint32_t pd = client.make_pd();
  EXPECT_EQ(other.destroy_pd(pd), ENOENT);
  EXPECT_EQ(client.destroy_pd(pd), 0);
  EXPECT_EQ(client.destroy_pd(pd), ENOENT);
}

TEST_F(UverbsCalls, HandlesOfOtherTypesAreNotFound) {
  Client client(*device);
  client.make_all();
  EXPECT_EQ(client.destroy_pd(client.qp), ENOENT);
  EXPECT_EQ(client.destroy_mr(client.pd), ENOENT);
  EXPECT_EQ(client.destroy_cq(client.qp), ENOENT);
  EXPECT_EQ(client.destroy_qp(client.send_cq.handle), ENOENT);
  EXPECT_EQ(client.destroy_uar(client.pd), ENOENT);
}

TEST_F(UverbsCalls, ObjectsGoInTheRightOrderOnly) {
  Client client(*device);
  client.make_all();
  EXPECT_EQ(client.destroy_pd(client.pd), EBUSY);
  EXPECT_EQ(client.destroy_cq(client.send_cq.handle), EBUSY);
  EXPECT_EQ(client.destroy_cq(client.receive_cq.handle), EBUSY);
  EXPECT_EQ(client.destroy_uar(client.uar), EBUSY);
  EXPECT_EQ(client.destroy_qp(client.qp), 0);
  EXPECT_EQ(client.destroy_cq(client.send_cq.handle), 0);
  EXPECT_EQ(client.destroy_cq(client.receive_cq.handle), 0);
  EXPECT_EQ(client.destroy_pd(client.pd), EBUSY);
  EXPECT_EQ(client.destroy_mr(client.mr), 0);
  EXPECT_EQ(client.destroy_pd(client.pd), 0);
  EXPECT_EQ(client.destroy_uar(client.uar), 0);
}

TEST_F(UverbsCalls, AnAddressHandleUsesItsPd) {
  Client client(*device);
  const std::uint32_t pd = client.make_pd();
  ib_uverbs_create_ah request{};
  request.pd_handle = pd;
  request.attr.port_num = 1;
  request.attr.is_global = 1;
  ib_uverbs_create_ah_resp answer{};
  mlx5_ib_create_ah_resp driver{};
  const auto create = [&] {
    WriteCall call(IB_USER_VERBS_CMD_CREATE_AH);
    return call.core_in(request)
        .core_out(answer)
        .out(UVERBS_ATTR_UHW_OUT, driver)
        .make(*client.context);
  };
  ASSERT_EQ(create(), 0);
  EXPECT_EQ(driver.response_length, sizeof driver);
  EXPECT_EQ(client.destroy_pd(pd), EBUSY);
  const std::uint32_t handle = answer.ah_handle;
  request.attr.port_num = 2;
  EXPECT_EQ(create(), EINVAL);
  request.attr.port_num = 1;
  request.attr.grh.sgid_index = 4;
  EXPECT_EQ(create(), EINVAL);
  request.attr.grh.sgid_index = 0;
  request.attr.is_global = 0;
  EXPECT_EQ(create(), EINVAL);
  request.attr.is_global = 1;
  request.pd_handle = handle;
  EXPECT_EQ(create(), EINVAL);
  EXPECT_EQ(client.destroy(UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY,
                           UVERBS_ATTR_DESTROY_AH_HANDLE, handle),
            0);
  EXPECT_EQ(client.destroy_pd(pd), 0);
}

TEST_F(UverbsCalls, AContextThatClosesTakesAllWithIt) {
  for (int round = 0; round < 3; ++round) {
    Client client(*device);
    client.make_all(true);
    client.connect(client);
    client.post_receive(0, 64);
  }
  EXPECT_TRUE(device->nic().count().queues.empty());
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
