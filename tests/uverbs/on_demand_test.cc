// Regions that are paged on demand: what may be registered, what is told of them, and what happens
// where there is no memory when it is used.
#include "backends/softnic/dma/on_demand.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>

#include <gtest/gtest.h>

#include "tests/uverbs/client.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace test;

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kAll = ~std::uint64_t{0};
constexpr std::uint32_t kOnDemand = IB_UVERBS_ACCESS_ON_DEMAND;
constexpr std::uint32_t kRights = kOnDemand | IB_UVERBS_ACCESS_LOCAL_WRITE |
                                  IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_READ;

// Addresses of pages, which are there or not.
class Row {
 public:
  static constexpr std::uint64_t kPages = 4;

  Row() : memory_(::mmap(nullptr, kPages * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;
  ~Row() { ::munmap(memory_, kPages * kPage); }

  std::byte* at(std::uint64_t page) const {
    return static_cast<std::byte*>(memory_) + page * kPage;
  }
  std::uint64_t address(std::uint64_t page) const { return address_of(at(page)); }
  void make(std::uint64_t page, int rights = PROT_READ | PROT_WRITE) const {
    ::mmap(at(page), kPage, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  }
  bool is_made(std::uint64_t page) const {
    unsigned char resident = 0;
    return ::mincore(at(page), kPage, &resident) == 0 && (resident & 1) != 0;
  }

 private:
  void* memory_;
};

format::Syndrome outcome(Client& client, ClientCq& cq) {
  const format::Cqe64 cqe = client.next(cq);
  const format::CqeOpcode opcode = format::cqe_opcode(cqe.op_own);
  const bool failed =
      opcode == format::CqeOpcode::requester_error || opcode == format::CqeOpcode::responder_error;
  if (!failed) return format::Syndrome::none;
  format::ErrorCqe error;
  std::memcpy(&error, &cqe, sizeof error);
  return static_cast<format::Syndrome>(error.syndrome);
}

struct UverbsOnDemand : testing::Test {
  void SetUp() override {
    if (!has_on_demand_memory()) GTEST_SKIP() << "the system does not copy for this process";
    client.make_all();
  }

  ib_uverbs_reg_mr region(std::uint32_t access = kRights) const {
    ib_uverbs_reg_mr request{};
    request.start = request.hca_va = row.address(0);
    request.length = Row::kPages * kPage;
    request.pd_handle = client.pd;
    request.access_flags = access;
    return request;
  }
  ib_uverbs_reg_mr everything() const {
    ib_uverbs_reg_mr request = region();
    request.start = request.hca_va = 0;
    request.length = kAll;
    return request;
  }
  int reg(const ib_uverbs_reg_mr& request, ib_uverbs_reg_mr_resp& answer) {
    return WriteCall(IB_USER_VERBS_CMD_REG_MR)
        .core_in(request)
        .core_out(answer)
        .make(*client.context);
  }
  int reg(const ib_uverbs_reg_mr& request) {
    ib_uverbs_reg_mr_resp answer{};
    return reg(request, answer);
  }
  ib_uverbs_reg_mr_resp have(const ib_uverbs_reg_mr& request) {
    ib_uverbs_reg_mr_resp answer{};
    EXPECT_EQ(reg(request, answer), 0);
    return answer;
  }
  int advise(std::uint64_t advice, const std::vector<ib_uverbs_sge>& ranges,
             std::uint32_t flags = IB_UVERBS_ADVISE_MR_FLAG_FLUSH, std::uint32_t pd = 0) {
    return Call(UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR)
        .number(UVERBS_ATTR_ADVISE_MR_PD_HANDLE, pd == 0 ? client.pd : pd)
        .in(UVERBS_ATTR_ADVISE_MR_ADVICE, advice)
        .in(UVERBS_ATTR_ADVISE_MR_FLAGS, flags)
        .in_bytes(UVERBS_ATTR_ADVISE_MR_SGE_LIST, ranges.data(),
                  ranges.size() * sizeof(ib_uverbs_sge))
        .make(*client.context);
  }

  Row row;
  std::unique_ptr<Device> device = open_device();
  Client client{*device};
};

TEST_F(UverbsOnDemand, TheDeviceSaysWhatItPages) {
  ib_uverbs_ex_query_device request{};
  ib_uverbs_ex_query_device_resp answer{};
  WriteCall call(kExtendedCommand | IB_USER_VERBS_CMD_QUERY_DEVICE);
  ASSERT_EQ(call.core_in(request).core_out(answer).make(*client.context), 0);
  EXPECT_EQ(answer.odp_caps.general_caps, 3u);
  EXPECT_EQ(answer.odp_caps.per_transport_caps.rc_odp_caps, 0x2fu);
  EXPECT_EQ(answer.odp_caps.per_transport_caps.uc_odp_caps, 0u);
  EXPECT_EQ(answer.odp_caps.per_transport_caps.ud_odp_caps, 1u);
  EXPECT_EQ(answer.xrc_odp_caps, 0x2fu);
}

TEST_F(UverbsOnDemand, MemoryNeedNotBeThereToBeRegistered) {
  EXPECT_EQ(reg(region()), 0);
  EXPECT_EQ(reg(region(kRights & ~kOnDemand)), EFAULT);
  ib_uverbs_reg_mr request = region();
  request.start = request.hca_va = kNowhere;
  request.length = 16;
  EXPECT_EQ(reg(request), 0);
}

TEST_F(UverbsOnDemand, RegistrationIsChecked) {
  EXPECT_EQ(reg(region(kOnDemand | IB_UVERBS_ACCESS_REMOTE_WRITE)), EINVAL);
  ib_uverbs_reg_mr request = region();
  request.length = 0;
  EXPECT_EQ(reg(request), EINVAL);
  request = region();
  request.hca_va += 8;
  EXPECT_EQ(reg(request), EINVAL);
  request = region();
  request.length = kAll;
  EXPECT_EQ(reg(request), EOVERFLOW);
  request.start = request.hca_va = 0xfffffffffffff000;
  request.length = 4096;
  EXPECT_EQ(reg(request), EOVERFLOW);
  request.start = request.hca_va = std::uint64_t{1} << 63;
  EXPECT_EQ(reg(request), EFAULT);
  request = everything();
  EXPECT_EQ(reg(request), 0);
  request.hca_va = 4096;
  EXPECT_EQ(reg(request), EINVAL);
}

TEST_F(UverbsOnDemand, ARegionOfEverythingSaysSo) {
  const ib_uverbs_reg_mr_resp all = have(everything());
  std::uint64_t length = 0, iova = 1;
  EXPECT_EQ(Call(UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR)
                .number(UVERBS_ATTR_QUERY_MR_HANDLE, all.mr_handle)
                .out(UVERBS_ATTR_QUERY_MR_RESP_LENGTH, length)
                .out(UVERBS_ATTR_QUERY_MR_RESP_IOVA, iova)
                .make(*client.context),
            0);
  EXPECT_EQ(length, kAll);
  EXPECT_EQ(iova, 0u);
}

TEST_F(UverbsOnDemand, PrefetchMakesPages) {
  const ib_uverbs_reg_mr_resp all = have(region());
  const auto prefetch = [&](std::uint64_t advice, std::uint64_t page) {
    return advise(advice, {{row.address(page), kPage, all.lkey}});
  };
  EXPECT_EQ(prefetch(IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH, 0), EFAULT);
  EXPECT_EQ(prefetch(IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, 0), 0);
  for (std::uint64_t page = 0; page < 3; ++page) row.make(page);
  EXPECT_EQ(prefetch(IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, 0), 0);
  EXPECT_FALSE(row.is_made(0));
  EXPECT_EQ(prefetch(IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH, 0), 0);
  EXPECT_EQ(prefetch(IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE, 1), 0);
  EXPECT_TRUE(row.is_made(1));
  EXPECT_FALSE(row.is_made(2));
  row.make(3, PROT_READ);
  EXPECT_EQ(prefetch(IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH, 3), 0);
  EXPECT_EQ(prefetch(IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE, 3), EFAULT);
}

TEST_F(UverbsOnDemand, PrefetchIsChecked) {
  constexpr std::uint64_t kWrite = IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE;
  const ib_uverbs_reg_mr_resp all = have(region()), fixed = have(region(kOnDemand));
  for (std::uint64_t page = 0; page < 4; ++page) row.make(page);
  const std::uint64_t begin = row.address(0), end = row.address(4);
  EXPECT_EQ(advise(kWrite, {{begin, 64, all.lkey}, {end - 64, 64, all.lkey}}), 0);
  EXPECT_EQ(advise(kWrite, {}), EINVAL);
  EXPECT_EQ(advise(3, {{begin, 64, all.lkey}}), EOPNOTSUPP);
  EXPECT_EQ(advise(kWrite, {{begin, 64, all.lkey}}, 2), EINVAL);
  EXPECT_EQ(advise(kWrite, {{begin, 64, all.lkey ^ 0xff}}), ENOENT);
  EXPECT_EQ(advise(kWrite, {{client.address(0), 64, client.key}}), ENOENT);
  EXPECT_EQ(advise(kWrite, {{begin, 64, fixed.lkey}}), EPERM);
  EXPECT_EQ(advise(kWrite, {{begin, 64, all.lkey}}, 1, client.make_pd()), EPERM);
  EXPECT_EQ(advise(kWrite, {{begin, 64, all.lkey}}, 1, client.mr), ENOENT);
  EXPECT_EQ(advise(kWrite, {{begin - 64, 64, all.lkey}}), EFAULT);
  EXPECT_EQ(advise(kWrite, {{end - 32, 64, all.lkey}}), EFAULT);
  EXPECT_EQ(advise(kWrite, {{end - 32, 64, all.lkey}}, 0), 0);
  EXPECT_EQ(advise(kWrite, {{begin, 64, all.lkey ^ 0xff}}, 0), ENOENT);
}

TEST_F(UverbsOnDemand, PrefetchWithoutItsAttributesIsRefused) {
  Call call(UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR);
  EXPECT_EQ(call.make(*client.context), EINVAL);
  call.number(UVERBS_ATTR_ADVISE_MR_PD_HANDLE, client.pd)
      .in(UVERBS_ATTR_ADVISE_MR_ADVICE, std::uint64_t{0})
      .in(UVERBS_ATTR_ADVISE_MR_FLAGS, std::uint32_t{0});
  EXPECT_EQ(call.make(*client.context), EINVAL);
  const std::array<std::byte, 20> part{};
  call.in_bytes(UVERBS_ATTR_ADVISE_MR_SGE_LIST, part.data(), part.size());
  EXPECT_EQ(call.make(*client.context), EINVAL);
}

TEST_F(UverbsOnDemand, ARegionMayBecomeOneAndCeaseToBe) {
  const ib_uverbs_reg_mr_resp all = have(region());
  ib_uverbs_rereg_mr request{};
  request.mr_handle = all.mr_handle;
  request.flags = 4;
  request.access_flags = IB_UVERBS_ACCESS_LOCAL_WRITE;
  ib_uverbs_rereg_mr_resp answer{};
  const auto rereg = [&] {
    return WriteCall(IB_USER_VERBS_CMD_REREG_MR)
        .core_in(request)
        .core_out(answer)
        .make(*client.context);
  };
  EXPECT_EQ(rereg(), EFAULT);
  for (std::uint64_t page = 0; page < 4; ++page) row.make(page);
  EXPECT_EQ(rereg(), 0);
  EXPECT_TRUE(row.is_made(3));
  EXPECT_EQ(advise(0, {{row.address(0), 64, all.lkey}}), ENOENT);
  request.access_flags |= kOnDemand;
  EXPECT_EQ(rereg(), 0);
  EXPECT_EQ(advise(0, {{row.address(0), 64, all.lkey}}), 0);
}

// A peer, and a key for all of each side's addresses.
struct UverbsPaging : UverbsOnDemand {
  void connect(std::uint32_t type = IB_UVERBS_QPT_RC) {
    client.type = peer.type = type;
    client.qp = client.make_qp();
    peer.make_all();
    client.connect(peer);
    peer.connect(client);
    key = client.key = have(everything()).lkey;
  }
  // For the client's calls, which name memory by its distance from the payload.
  std::size_t at(std::uint64_t page) { return row.address(page) - client.address(0); }

  std::unique_ptr<Device> other = open_device(own_spec(), 1);
  Client peer{*other};
  std::uint32_t key = 0;
};

TEST_F(UverbsPaging, WritesFindTheMemoryThatThereIsByNow) {
  connect();
  row.make(1);
  std::memset(peer.payload(), 'p', 64);
  peer.post_write(0, 64, row.address(1), key);
  EXPECT_EQ(outcome(peer, peer.send_cq), format::Syndrome::none);
  EXPECT_EQ(row.at(1)[63], std::byte{'p'});
  peer.post_write(0, 64, row.address(2), key);
  EXPECT_EQ(outcome(peer, peer.send_cq), format::Syndrome::remote_access);
  EXPECT_EQ(client.query().qp_state, 6);
}

TEST_F(UverbsPaging, ASendFromNowhereFails) {
  connect();
  row.make(0);
  peer.post_receive(0, 256);
  client.post_send(at(0), 64);
  EXPECT_EQ(outcome(client, client.send_cq), format::Syndrome::none);
  client.post_send(at(1), 64);
  EXPECT_EQ(outcome(client, client.send_cq), format::Syndrome::local_protection);
  EXPECT_EQ(client.query().qp_state, 6);
}

TEST_F(UverbsPaging, AReceiveToNowhereFailsAtBothEnds) {
  connect();
  client.post_receive(at(3), 256);
  peer.post_send(0, 64);
  EXPECT_EQ(outcome(peer, peer.send_cq), format::Syndrome::remote_operation);
  EXPECT_EQ(outcome(client, client.receive_cq), format::Syndrome::local_protection);
}

TEST_F(UverbsPaging, UnreliableSendsFromNowhereFail) {
  connect(IB_UVERBS_QPT_UC);
  client.post_send(at(0), 64);
  EXPECT_EQ(outcome(client, client.send_cq), format::Syndrome::local_protection);
}

TEST_F(UverbsPaging, PagesThatAreTakenAwayComeBackEmpty) {
  connect();
  row.make(0);
  std::memset(row.at(0), 1, kPage);
  ::madvise(row.at(0), kPage, MADV_DONTNEED);
  peer.post_write(0, 8, row.address(0), key);
  EXPECT_EQ(outcome(peer, peer.send_cq), format::Syndrome::none);
  EXPECT_EQ(row.at(0)[8], std::byte{0});
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
