// Memory that calls name: of regions, queues and records.
#include <cerrno>
#include <chrono>
#include <optional>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "core/format/cq_doorbell.h"
#include "tests/uverbs/client.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace test;

// Pages that are there, but for those behind them.
class Hole {
 public:
  Hole()
      : memory_(::mmap(nullptr, 2 * kPages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                       0)) {
    ::munmap(static_cast<std::byte*>(memory_) + kPages, kPages);
  }
  Hole(const Hole&) = delete;
  Hole& operator=(const Hole&) = delete;
  ~Hole() { ::munmap(memory_, kPages); }
  std::uint64_t begin() const { return address_of(memory_); }
  std::uint64_t end() const { return begin() + kPages; }

  static constexpr std::size_t kPages = 4 * 4096;

 private:
  void* memory_;
};

struct UverbsMemory : testing::Test {
  UverbsMemory() {
    client.make_all();
    EXPECT_EQ(client.destroy_qp(client.qp), 0);
    hole.emplace();
  }

  ib_uverbs_reg_mr region() const {
    ib_uverbs_reg_mr request{};
    request.start = request.hca_va = client.address(0);
    request.length = kPayloadBytes;
    request.pd_handle = client.pd;
    request.access_flags = IB_UVERBS_ACCESS_LOCAL_WRITE;
    return request;
  }
  int reg_mr(const ib_uverbs_reg_mr& request) {
    ib_uverbs_reg_mr_resp answer{};
    return WriteCall(IB_USER_VERBS_CMD_REG_MR)
        .core_in(request)
        .core_out(answer)
        .make(*client.context);
  }
  int create_cq(const mlx5_ib_create_cq& driver) {
    return client.cq_call(client.send_cq, driver).make(*client.context);
  }
  int create_qp(const mlx5_ib_create_qp& driver) {
    return client.qp_call(driver).make(*client.context);
  }

  std::unique_ptr<Device> device = open_device();
  // Made last, so that nothing of the client's comes to lie in it; it outlives the client's
  // objects.
  std::optional<Hole> hole;
  Client client{*device};
};

TEST_F(UverbsMemory, RegionsAreChecked) {
  ib_uverbs_reg_mr request = region();
  EXPECT_EQ(reg_mr(request), 0);
  request.pd_handle = client.send_cq.handle;
  EXPECT_EQ(reg_mr(request), EINVAL);
  request = region();
  request.hca_va += 1;
  EXPECT_EQ(reg_mr(request), EINVAL);
  request.hca_va = request.start + 0x10000;
  EXPECT_EQ(reg_mr(request), 0);
}

// As the kernel counts: one of no bytes that begins within a page has that page.
TEST_F(UverbsMemory, ARegionMayHaveNoBytesWithinAPage) {
  ib_uverbs_reg_mr request = region();
  request.length = 0;
  request.start = request.hca_va = (request.start & ~std::uint64_t{4095}) + 16;
  EXPECT_EQ(reg_mr(request), 0);
  request.start = request.hca_va = request.start - 16;
  EXPECT_EQ(reg_mr(request), EINVAL);
  request.start = request.hca_va = 16;
  EXPECT_EQ(reg_mr(request), EFAULT);
}

TEST_F(UverbsMemory, RightsAreChecked) {
  ib_uverbs_reg_mr request = region();
  request.access_flags = 0;
  EXPECT_EQ(reg_mr(request), 0);
  request.access_flags = IB_UVERBS_ACCESS_REMOTE_READ;
  EXPECT_EQ(reg_mr(request), 0);
  request.access_flags = IB_UVERBS_ACCESS_REMOTE_WRITE;
  EXPECT_EQ(reg_mr(request), EINVAL);
  request.access_flags = IB_UVERBS_ACCESS_REMOTE_ATOMIC;
  EXPECT_EQ(reg_mr(request), EINVAL);
  request.access_flags = IB_UVERBS_ACCESS_LOCAL_WRITE | 1u << 10;
  EXPECT_EQ(reg_mr(request), EOPNOTSUPP);
  // Optional ones may be left unheard.
  request.access_flags = IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_RELAXED_ORDERING;
  EXPECT_EQ(reg_mr(request), 0);
}

TEST_F(UverbsMemory, RegionsOfWhatIsNotThereAreAFault) {
  ib_uverbs_reg_mr request = region();
  request.start = request.hca_va = hole->begin();
  request.length = Hole::kPages;
  EXPECT_EQ(reg_mr(request), 0);
  request.length = Hole::kPages + 1;
  EXPECT_EQ(reg_mr(request), EFAULT);
  request.length = ~std::uint64_t{0};
  EXPECT_EQ(reg_mr(request), EFAULT);
  request.length = std::uint64_t{1} << 62;
  EXPECT_EQ(reg_mr(request), EFAULT);
  request.start = request.hca_va = kNowhere;
  request.length = 16;
  EXPECT_EQ(reg_mr(request), EFAULT);
}

// The NIC's thread would end the program by touching it.
TEST_F(UverbsMemory, RegionsThatTheClientMayNotTouchAreAFault) {
  ib_uverbs_reg_mr request = region();
  request.start = request.hca_va = hole->begin();
  request.length = Hole::kPages;
  ASSERT_EQ(::mprotect(reinterpret_cast<void*>(hole->begin()), Hole::kPages, PROT_READ), 0);
  EXPECT_EQ(reg_mr(request), EFAULT);
  request.access_flags = IB_UVERBS_ACCESS_REMOTE_READ;
  EXPECT_EQ(reg_mr(request), 0);
  ASSERT_EQ(::mprotect(reinterpret_cast<void*>(hole->begin()), Hole::kPages, PROT_NONE), 0);
  EXPECT_EQ(reg_mr(request), EFAULT);
}

TEST_F(UverbsMemory, ARegionEndsBelowTheEndOfAddresses) {
  ib_uverbs_reg_mr request = region();
  request.hca_va = 0xfffffffffffff000 | (request.start & 0xfff);
  EXPECT_NE(reg_mr(request), 0);
}

TEST_F(UverbsMemory, EntriesOfACqMustBeThere) {
  mlx5_ib_create_cq driver = client.cq_driver(client.send_cq);
  EXPECT_EQ(create_cq(driver), 0);
  driver.buf_addr = kNowhere << 12;
  EXPECT_EQ(create_cq(driver), EFAULT);
  driver.buf_addr = hole->end() - 64 * kQueue;
  EXPECT_EQ(create_cq(driver), 0);
  driver.buf_addr += 64;
  EXPECT_EQ(create_cq(driver), EFAULT);
}

TEST_F(UverbsMemory, TheRecordOfACqMustBeThere) {
  mlx5_ib_create_cq driver = client.cq_driver(client.send_cq);
  driver.db_addr = kNowhere;
  EXPECT_EQ(create_cq(driver), EFAULT);
  driver.db_addr = hole->end();
  EXPECT_EQ(create_cq(driver), EFAULT);
  driver.db_addr = hole->end() - 8;
  EXPECT_EQ(create_cq(driver), 0);
}

TEST_F(UverbsMemory, MemoryOfACqMustBeAligned) {
  mlx5_ib_create_cq driver = client.cq_driver(client.send_cq);
  driver.buf_addr += 8;
  EXPECT_EQ(create_cq(driver), EINVAL);
  driver = client.cq_driver(client.send_cq);
  driver.db_addr += 4;
  EXPECT_EQ(create_cq(driver), EINVAL);
}

TEST_F(UverbsMemory, ACqThatIsRefusedLeavesItsRecordAlone) {
  ClientCq cq;
  mlx5_ib_create_cq driver = client.cq_driver(cq);
  driver.uar_page_index = 0x7777;
  EXPECT_NE(client.cq_call(cq, driver).make(*client.context), 0);
  EXPECT_EQ(cq.memory->record[1], 0u);
  driver = client.cq_driver(cq);
  EXPECT_EQ(client.cq_call(cq, driver).make(*client.context), 0);
  EXPECT_EQ(__atomic_load_n(&cq.memory->record[1], __ATOMIC_ACQUIRE), format::kCqNotArmed);
  client.context.reset();  // before the memory goes that its CQ lies in
}

TEST_F(UverbsMemory, QueuesMustBeThere) {
  mlx5_ib_create_qp driver = client.qp_driver();
  EXPECT_EQ(create_qp(driver), 0);
  driver.buf_addr = kNowhere << 12;
  EXPECT_EQ(create_qp(driver), EFAULT);
  const std::size_t bytes = kQueue * (16 + 64);
  driver.buf_addr = hole->end() - bytes;
  EXPECT_EQ(create_qp(driver), 0);
  driver.buf_addr += 64;
  EXPECT_EQ(create_qp(driver), EFAULT);
  driver = client.qp_driver();
  driver.db_addr = hole->end();
  EXPECT_EQ(create_qp(driver), EFAULT);
}

TEST_F(UverbsMemory, MemoryOfAQpMustBeAligned) {
  mlx5_ib_create_qp driver = client.qp_driver();
  driver.buf_addr += 16;
  EXPECT_EQ(create_qp(driver), EINVAL);
  driver = client.qp_driver();
  driver.db_addr += 4;
  EXPECT_EQ(create_qp(driver), EINVAL);
}

TEST_F(UverbsMemory, SizesOfQueuesAreChecked) {
  mlx5_ib_create_qp driver = client.qp_driver();
  driver.sq_wqe_count = 15;
  EXPECT_EQ(create_qp(driver), EINVAL);
  driver.sq_wqe_count = 1 << 16;
  EXPECT_EQ(create_qp(driver), EINVAL);
  driver = client.qp_driver();
  driver.rq_wqe_count = 3;
  EXPECT_EQ(create_qp(driver), EINVAL);
  driver.rq_wqe_count = ~0u;
  EXPECT_EQ(create_qp(driver), EINVAL);
  for (const std::uint32_t shift : {0u, 3u, 10u, 32u, ~0u}) {
    driver = client.qp_driver();
    driver.rq_wqe_shift = shift;
    EXPECT_EQ(create_qp(driver), EINVAL) << shift;
  }
}

TEST_F(UverbsMemory, OptionsThatAreNotThereAreRefused) {
  mlx5_ib_create_qp driver = client.qp_driver();
  driver.flags = 0;
  EXPECT_EQ(create_qp(driver), EOPNOTSUPP);
  driver = client.qp_driver();
  driver.flags |= MLX5_QP_FLAG_SIGNATURE;
  EXPECT_EQ(create_qp(driver), EOPNOTSUPP);
  driver = client.qp_driver();
  driver.bfreg_index = 0x7777;
  EXPECT_NE(create_qp(driver), 0);
  mlx5_ib_create_cq cq = client.cq_driver(client.send_cq);
  cq.flags = 0;
  EXPECT_EQ(create_cq(cq), EOPNOTSUPP);
  cq = client.cq_driver(client.send_cq);
  cq.cqe_size = 32;
  EXPECT_EQ(create_cq(cq), EINVAL);
}

TEST_F(UverbsMemory, TypesOfQueuePairsAreChecked) {
  const auto create = [this](std::uint32_t type) {
    Call call(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
    call.in(UVERBS_ATTR_CREATE_QP_TYPE, type)
        .number(UVERBS_ATTR_CREATE_QP_HANDLE)
        .number(UVERBS_ATTR_CREATE_QP_PD_HANDLE, client.pd)
        .number(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, client.send_cq.handle)
        .number(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, client.receive_cq.handle)
        .in(UVERBS_ATTR_CREATE_QP_USER_HANDLE, std::uint64_t{1})
        .in(UVERBS_ATTR_CREATE_QP_CAP, ib_uverbs_qp_cap{})
        .in(UVERBS_ATTR_UHW_IN, client.qp_driver());
    return call.make(*client.context);
  };
  EXPECT_EQ(create(IB_UVERBS_QPT_RC), 0);
  EXPECT_EQ(create(0), EOPNOTSUPP);
  EXPECT_EQ(create(0x100 | IB_UVERBS_QPT_RC), EOPNOTSUPP);
  EXPECT_EQ(create(~0u), EOPNOTSUPP);
}

// Neither a send queue nor a receive queue: a doorbell for it leads nowhere.
TEST_F(UverbsMemory, AQueuePairWithoutQueuesReadsNoMemory) {
  Client peer(client.device);
  peer.make_all();
  mlx5_ib_create_qp driver = client.qp_driver();
  driver.buf_addr = hole->end();
  driver.sq_wqe_count = driver.rq_wqe_count = 0;
  Call call = client.qp_call(driver);
  call.out(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, client.qpn);
  ASSERT_EQ(call.make(*client.context), 0);
  client.qp = call.given(UVERBS_ATTR_CREATE_QP_HANDLE);
  client.connect(peer);
  client.post_send(0, 8);
  constexpr std::uint8_t kError = 6;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (client.query().qp_state != kError && std::chrono::steady_clock::now() < limit) {
    std::this_thread::yield();
  }
  EXPECT_EQ(client.query().qp_state, kError);
  EXPECT_EQ(client.destroy_qp(client.qp), 0);
}

TEST_F(UverbsMemory, ACallThatCannotAnswerMakesNothing) {
  const std::uint32_t last = client.context->handles().last_unused()->handle();
  ib_uverbs_alloc_pd pd{};
  WriteCall alloc(IB_USER_VERBS_CMD_ALLOC_PD);
  alloc.core_in(pd).at(UVERBS_ATTR_CORE_OUT, kNowhere, 4);
  EXPECT_EQ(alloc.make(*client.context), EFAULT);
  WriteCall reg(IB_USER_VERBS_CMD_REG_MR);
  reg.core_in(region()).at(UVERBS_ATTR_CORE_OUT, kNowhere, 12);
  EXPECT_EQ(reg.make(*client.context), EFAULT);
  EXPECT_EQ(client.cq_call(client.send_cq, client.cq_driver(client.send_cq))
                .at(UVERBS_ATTR_CREATE_CQ_RESP_CQE, kNowhere, 4)
                .make(*client.context),
            EFAULT);
  EXPECT_EQ(client.qp_call(client.qp_driver())
                .at(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, kNowhere, 4)
                .make(*client.context),
            EFAULT);
  EXPECT_EQ(Call(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC)
                .number(MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE)
                .at(MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, kNowhere, 4)
                .make(*client.context),
            EFAULT);
  EXPECT_EQ(client.context->handles().last_unused()->handle(), last);
  // Nothing that was not made uses anything.
  EXPECT_EQ(client.destroy_cq(client.send_cq.handle), 0);
  EXPECT_EQ(client.destroy_mr(client.mr), 0);
  EXPECT_EQ(client.destroy_pd(client.pd), 0);
}

// Nor may the pages of address space that is only reserved be made one after the other: there are
// terabytes of it in some programs.
TEST_F(UverbsMemory, MoreThanTheMachineHasIsNotPinned) {
  const std::uint64_t all =
      std::uint64_t{4096} * static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  void* const reserved =
      ::mmap(nullptr, all + 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(reserved, MAP_FAILED);
  ib_uverbs_reg_mr request = region();
  request.start = request.hca_va = address_of(reserved);
  request.access_flags = 0;
  request.length = all + 1;
  EXPECT_EQ(reg_mr(request), ENOMEM);
  ::munmap(reserved, all + 4096);
}

TEST_F(UverbsMemory, AFailedCallLeavesNoFileOpen) {
  const int before = ::dup(0);
  ::close(before);
  ib_uverbs_create_comp_channel request{};
  WriteCall channel(IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL);
  channel.core_in(request).at(UVERBS_ATTR_CORE_OUT, kNowhere, 4);
  EXPECT_EQ(channel.make(*client.context), EFAULT);
  const int after = ::dup(0);
  ::close(after);
  EXPECT_EQ(after, before);
}

TEST_F(UverbsMemory, AChannelMustBeOneOfTheContext) {
  Call call = client.cq_call(client.send_cq, client.cq_driver(client.send_cq));
  call.number(UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, 0);
  EXPECT_EQ(call.make(*client.context), EBADF);
}

TEST_F(UverbsMemory, NumbersOfEntriesAreChecked) {
  const auto create = [this](std::uint32_t entries_less_one, std::uint32_t vector) {
    Call call(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
    call.number(UVERBS_ATTR_CREATE_CQ_HANDLE)
        .in(UVERBS_ATTR_CREATE_CQ_CQE, entries_less_one)
        .in(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, std::uint64_t{1})
        .in(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, vector)
        .in(UVERBS_ATTR_UHW_IN, client.cq_driver(client.send_cq));
    return call.make(*client.context);
  };
  EXPECT_EQ(create(kQueue - 1, 0), 0);
  EXPECT_EQ(create(0, 0), EINVAL);
  EXPECT_EQ(create(~0u, 0), EINVAL);
  EXPECT_EQ(create(1u << 22, 0), EINVAL);
  EXPECT_EQ(create(kQueue - 1, 1), EINVAL);
}

// Its new PD is younger than the region is: the region goes first all the same.
TEST_F(UverbsMemory, ARegionThatHasMovedToALaterPdEndsWithItsContext) {
  const std::uint32_t later = client.make_pd();
  ib_uverbs_rereg_mr request{};
  ib_uverbs_rereg_mr_resp answer{};
  request.flags = 2;  // the PD
  request.mr_handle = client.mr;
  request.pd_handle = later;
  ASSERT_EQ(
      WriteCall(IB_USER_VERBS_CMD_REREG_MR).core_in(request).core_out(answer).make(*client.context),
      0);
  EXPECT_NE(client.context->handles().last_unused()->handle(), later);
  client.context.reset();
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
