// What a client asks of the device as a whole.
#include <array>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/uverbs/client.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace test;

struct UverbsDevice : testing::Test {
  void open(const std::string& text, int index = 0) {
    Spec spec = *Spec::parse(text);
    spec.fabric = own_spec().fabric;
    device = open_device(spec, index);
    context = std::make_unique<Context>(*device);
    ASSERT_EQ(get_context(*context), 0);
  }
  int query_port(std::uint8_t port, ib_uverbs_query_port_resp_ex& answer) const {
    return Call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT)
        .in(UVERBS_ATTR_QUERY_PORT_PORT_NUM, port)
        .out(UVERBS_ATTR_QUERY_PORT_RESP, answer)
        .make(*context);
  }
  int query_gid(std::uint32_t index, ib_uverbs_gid_entry& entry, std::uint32_t port = 1,
                std::uint32_t flags = 0) const {
    return Call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY)
        .in(UVERBS_ATTR_QUERY_GID_ENTRY_PORT, port)
        .in(UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, index)
        .in(UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, flags)
        .out(UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, entry)
        .make(*context);
  }

  std::unique_ptr<Device> device;
  std::unique_ptr<Context> context;
};

TEST_F(UverbsDevice, GetContextTellsWhatLibmlx5LivesBy) {
  const std::unique_ptr<Device> opened = open_device();
  Context fresh(*opened);
  mlx5_ib_alloc_ucontext_req_v2 request{};
  request.total_num_bfregs = 16;
  request.num_low_latency_bfregs = 4;
  request.lib_caps = 3;
  mlx5_ib_alloc_ucontext_resp answer{};
  std::uint32_t vectors = 0;
  std::uint64_t support = ~std::uint64_t{0};
  Call call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
  call.out(UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, vectors)
      .out(UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, support)
      .in(UVERBS_ATTR_UHW_IN, request)
      .out(UVERBS_ATTR_UHW_OUT, answer);
  ASSERT_EQ(call.make(fresh), 0);
  EXPECT_TRUE(call.written(UVERBS_ATTR_UHW_OUT));
  EXPECT_EQ(vectors, 1u);
  EXPECT_EQ(support, 0u);
  EXPECT_EQ(answer.qp_tab_size, 1u << 18);
  EXPECT_EQ(answer.bf_reg_size, 512u);
  EXPECT_EQ(answer.tot_bfregs, 0u);
  EXPECT_EQ(answer.cache_line_size, 64u);
  EXPECT_EQ(answer.cqe_version, 1u);
  EXPECT_EQ(answer.log_uar_size, 12u);
  EXPECT_EQ(answer.num_uars_per_page, 1u);
  EXPECT_EQ(answer.response_length, sizeof answer);
}

TEST_F(UverbsDevice, QueryContextSaysItAgain) {
  open("");
  mlx5_ib_alloc_ucontext_resp answer{};
  EXPECT_EQ(Call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT)
                .out(MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX, answer)
                .make(*context),
            0);
  EXPECT_EQ(answer.qp_tab_size, 1u << 18);
}

TEST_F(UverbsDevice, ThePortIsOneOfItsLink) {
  ib_uverbs_query_port_resp_ex answer{};
  open("link=roce");
  ASSERT_EQ(query_port(1, answer), 0);
  EXPECT_EQ(answer.legacy_resp.state, 4);
  EXPECT_EQ(answer.legacy_resp.link_layer, 2);
  EXPECT_EQ(answer.legacy_resp.lid, 0);
  EXPECT_EQ(answer.legacy_resp.active_mtu, 5);
  EXPECT_EQ(query_port(0, answer), EINVAL);
  EXPECT_EQ(query_port(2, answer), EINVAL);
  context.reset();
  open("link=ib,model=6", 1);
  ASSERT_EQ(query_port(1, answer), 0);
  EXPECT_EQ(answer.legacy_resp.link_layer, 1);
  EXPECT_EQ(answer.legacy_resp.lid, 2);
  EXPECT_EQ(answer.legacy_resp.active_speed, 64);
}

TEST_F(UverbsDevice, GidsEndWithoutData) {
  open("link=roce");
  ib_uverbs_gid_entry entry{};
  for (std::uint32_t index = 0; index < 4; ++index) {
    ASSERT_EQ(query_gid(index, entry), 0);
    const Gid gid = device->identity().gid(static_cast<int>(index));
    EXPECT_EQ(std::memcmp(entry.gid, gid.data(), gid.size()), 0);
    EXPECT_EQ(entry.gid_index, index);
    EXPECT_EQ(entry.port_num, 1u);
    EXPECT_EQ(entry.gid_type, index % 2 == 0 ? 1u : 2u);
    EXPECT_EQ(entry.netdev_ifindex, 1u);
  }
  EXPECT_EQ(query_gid(4, entry), ENODATA);
  EXPECT_EQ(query_gid(255, entry), ENODATA);
  EXPECT_EQ(query_gid(256, entry), EINVAL);
  EXPECT_EQ(query_gid(~0u, entry), EINVAL);
  EXPECT_EQ(query_gid(0, entry, 2), EINVAL);
  EXPECT_EQ(query_gid(0, entry, 1, 1), EINVAL);
}

TEST_F(UverbsDevice, TheTableOfGidsComesWhole) {
  open("link=roce");
  std::array<ib_uverbs_gid_entry, 8> entries{};
  const auto query = [&](std::uint64_t size, std::size_t room, std::uint64_t& count) {
    return Call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE)
        .in(UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, size)
        .in(UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, std::uint32_t{0})
        .at(UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, address_of(entries.data()), room)
        .out(UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, count)
        .make(*context);
  };
  std::uint64_t count = 0;
  ASSERT_EQ(query(sizeof entries[0], sizeof entries, count), 0);
  EXPECT_EQ(count, 4u);
  EXPECT_EQ(entries[3].gid_index, 3u);
  EXPECT_EQ(entries[4].port_num, 0u);
  EXPECT_EQ(query(sizeof entries[0], 2 * sizeof entries[0], count), EINVAL);
  // Entries of a later version are longer.
  ASSERT_EQ(query(2 * sizeof entries[0], sizeof entries, count), 0);
  EXPECT_EQ(count, 4u);
  EXPECT_EQ(entries[2].gid_index, 1u);
  EXPECT_EQ(query(~std::uint64_t{0}, sizeof entries, count), EINVAL);
  EXPECT_EQ(query(0, sizeof entries, count), EINVAL);
}

TEST_F(UverbsDevice, TheDeviceSaysWhatItIs) {
  open("model=8");
  ib_uverbs_query_device request{};
  ib_uverbs_query_device_resp answer{};
  WriteCall call(IB_USER_VERBS_CMD_QUERY_DEVICE);
  ASSERT_EQ(call.core_in(request).core_out(answer).make(*context), 0);
  EXPECT_EQ(answer.vendor_part_id, 4131u);
  EXPECT_EQ(answer.fw_ver, device->identity().firmware_number());
  EXPECT_EQ(answer.phys_port_cnt, 1);
  EXPECT_EQ(answer.max_qp_rd_atom, 16);
}

TEST_F(UverbsDevice, TheLongerAnswerIsAsLongAsTheClientKnows) {
  open("");
  ib_uverbs_ex_query_device request{};
  ib_uverbs_ex_query_device_resp answer{};
  mlx5_ib_query_device_resp driver{};
  WriteCall whole(kExtendedCommand | IB_USER_VERBS_CMD_QUERY_DEVICE);
  ASSERT_EQ(whole.core_in(request).core_out(answer).out(UVERBS_ATTR_UHW_OUT, driver).make(*context),
            0);
  EXPECT_EQ(answer.response_length, sizeof answer);
  EXPECT_EQ(driver.response_length, sizeof driver);
  EXPECT_EQ(answer.base.vendor_part_id, 4129u);
  answer = {};
  WriteCall part(kExtendedCommand | IB_USER_VERBS_CMD_QUERY_DEVICE);
  part.core_in(request);
  part.at(UVERBS_ATTR_CORE_OUT, address_of(&answer), 200);
  ASSERT_EQ(part.make(*context), 0);
  EXPECT_EQ(answer.response_length, 200u);
  EXPECT_EQ(answer.max_wq_type_rq, 0u);
}

TEST_F(UverbsDevice, TheClocksPageIsBehindItsCommand) {
  open("");
  const UniqueFileDescriptor file(*device->pages().open_file());
  void* const page = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file.get(), 0x700 * 4096);
  ASSERT_NE(page, MAP_FAILED);
  mlx5_ib_clock_info clock{};
  std::memcpy(&clock, page, sizeof clock);
  ::munmap(page, 4096);
  EXPECT_EQ(clock.mult, 1u);
  EXPECT_EQ(clock.shift, 0u);
  EXPECT_EQ(clock.sign, 0u);
}

TEST_F(UverbsDevice, ErrorsHaveAFileOfTheirOwn) {
  open("");
  Call call(UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC);
  EXPECT_EQ(call.make(*context), EINVAL);
  call.number(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE);
  ASSERT_EQ(call.make(*context), 0);
  const UniqueFileDescriptor file(
      static_cast<int>(call.given(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE)));
  EXPECT_NE(context->errors(), nullptr);
}

// Root has no limit of threads.
bool become_one_without_threads() {
  const rlimit none{0, 0};
  if (::setrlimit(RLIMIT_NPROC, &none) != 0) return false;
  return ::getuid() != 0 || (::setgid(65534) == 0 && ::setuid(65534) == 0);
}

TEST(UverbsOpening, WithoutThreadsSaysSo) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!become_one_without_threads()) ::_exit(1);
    const auto device = Device::open(own_spec(), 0);
    ::_exit(device ? 0 : errno_of(device.error()));
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), EAGAIN);
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
