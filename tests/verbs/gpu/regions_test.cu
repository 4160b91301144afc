// Regions of GPU memory, by address and by dma-buf: what is sent from there arrives, wherever the
// other end lies.
#include <cerrno>
#include <cstring>
#include <numeric>
#include <sys/mman.h>

#include "tests/verbs/gpu/gpu_memory.cuh"
#include "tests/verbs/gpu/nic.h"

namespace gdakit::verbs_gpu {
namespace {

constexpr std::size_t kBytes = std::size_t{2} << 20;
constexpr std::size_t kGuard = 64;

std::vector<std::uint8_t> pattern(std::size_t bytes, std::uint8_t seed) {
  std::vector<std::uint8_t> made(bytes);
  std::iota(made.begin(), made.end(), seed);
  return made;
}

// Memory that a test's QPs use, of the host or of the GPU.
struct Region {
  ibv_mr* mr = nullptr;
  std::uint64_t address = 0;
};

enum class Way { address, dma_buf };

class Regions : public testing::TestWithParam<Way> {
 protected:
  // By the way that the test is for.
  Region of(const GpuBuffer& buffer) {
    if (GetParam() == Way::address) {
      return keep(ibv_reg_mr(nic_.pd(), buffer.data(), buffer.size(), kAllAccess),
                  buffer.address());
    }
    const int file = buffer.dma_buf();
    EXPECT_GE(file, 0);
    ibv_mr* const mr = ibv_reg_dmabuf_mr(nic_.pd(), 0, buffer.size(), buffer.address(), file,
                                         kAllAccess | IBV_ACCESS_RELAXED_ORDERING);
    ::close(file);
    return keep(mr, buffer.address());
  }
  Region of(std::vector<std::uint8_t>& bytes) {
    return keep(ibv_reg_mr(nic_.pd(), bytes.data(), bytes.size(), kAllAccess),
                reinterpret_cast<std::uintptr_t>(bytes.data()));
  }
  Region keep(ibv_mr* mr, std::uint64_t address) {
    EXPECT_NE(mr, nullptr) << errno;
    regions_.push_back(mr);
    return {mr, address};
  }
  void TearDown() override {
    for (ibv_mr* const mr : regions_) EXPECT_EQ(ibv_dereg_mr(mr), 0);
  }

  int move(ibv_wr_opcode opcode, const Region& local, const Region& remote, std::size_t at,
           std::size_t bytes) {
    ibv_sge piece{local.address + at, static_cast<std::uint32_t>(bytes), local.mr->lkey};
    ibv_send_wr request{};
    request.sg_list = &piece;
    request.num_sge = 1;
    request.opcode = opcode;
    request.wr.rdma = {remote.address + at, remote.mr->rkey};
    return pair_.run(request);
  }

  Nic nic_;
  Pair pair_{nic_};
  std::vector<ibv_mr*> regions_;
};

INSTANTIATE_TEST_SUITE_P(, Regions, testing::Values(Way::address, Way::dma_buf),
                         [](const auto& of) {
                           return of.param == Way::address ? "ByAddress" : "ByDmaBuf";
                         });

TEST_P(Regions, CarryEverySizeBetweenGpuAndGpu) {
  const GpuBuffer from(kBytes), to(kBytes);
  from.put(pattern(kBytes, 1));
  const Region local = of(from), remote = of(to);
  for (const std::size_t bytes : {1, 4, 8, 63, 4096, 4097, 70000, 1 << 20}) {
    EXPECT_EQ(cudaMemset(to.data(), 0, kBytes), cudaSuccess);
    ASSERT_EQ(move(IBV_WR_RDMA_WRITE, local, remote, kGuard, bytes), IBV_WC_SUCCESS) << bytes;
    EXPECT_EQ(to.get(kGuard, bytes), from.get(kGuard, bytes)) << bytes;
    EXPECT_EQ(to.get(0, kGuard), std::vector<std::uint8_t>(kGuard)) << bytes;
    EXPECT_EQ(to.get(kGuard + bytes, kGuard), std::vector<std::uint8_t>(kGuard)) << bytes;
  }
}

TEST_P(Regions, CarryBetweenHostAndGpu) {
  const GpuBuffer gpu(kBytes);
  std::vector<std::uint8_t> host = pattern(kBytes, 7);
  const std::vector<std::uint8_t> sent = host;
  const Region here = of(host), there = of(gpu);
  ASSERT_EQ(move(IBV_WR_RDMA_WRITE, here, there, 0, kBytes), IBV_WC_SUCCESS);
  EXPECT_EQ(gpu.get(0, kBytes), sent);
  host.assign(kBytes, 0);
  ASSERT_EQ(move(IBV_WR_RDMA_READ, here, there, 0, kBytes), IBV_WC_SUCCESS);
  EXPECT_EQ(host, sent);
  host.assign(kBytes, 0);
  ASSERT_EQ(move(IBV_WR_RDMA_WRITE, there, here, 0, kBytes), IBV_WC_SUCCESS);
  EXPECT_EQ(host, sent);
}

TEST_P(Regions, TakeMessages) {
  const GpuBuffer from(kBytes), to(kBytes);
  from.put(pattern(kBytes, 3));
  const Region local = of(from), remote = of(to);
  ibv_sge room{remote.address, kBytes, remote.mr->lkey};
  ibv_recv_wr receive{0, nullptr, &room, 1};
  ibv_recv_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_recv(pair_.second(), &receive, &bad), 0);
  ASSERT_EQ(move(IBV_WR_SEND, local, remote, 0, 100000), IBV_WC_SUCCESS);
  EXPECT_EQ(nic_.next_status(), IBV_WC_SUCCESS);
  EXPECT_EQ(to.get(0, 100000), from.get(0, 100000));
}

TEST_P(Regions, TakeAtomics) {
  const GpuBuffer word(kGpuPage);
  std::vector<std::uint8_t> old(8);
  const Region local = of(old), remote = of(word);
  for (std::uint64_t i = 0; i < 20; ++i) {
    ibv_sge piece{local.address, 8, local.mr->lkey};
    ibv_send_wr request{};
    request.sg_list = &piece;
    request.num_sge = 1;
    request.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
    request.wr.atomic = {remote.address + 8, 5, 0, remote.mr->rkey};
    ASSERT_EQ(pair_.run(request), IBV_WC_SUCCESS);
    std::uint64_t before = 0;
    std::memcpy(&before, old.data(), sizeof before);
    EXPECT_EQ(before, 5 * i);
  }
  EXPECT_EQ(word.get(8, 1)[0], 100);
}

// Exports are of whole pages, and may end behind what is allocated.
TEST_P(Regions, AreOfLessThanAPage) {
  const GpuBuffer from(100), to(100);
  from.put(pattern(100, 9));
  const Region local = of(from), remote = of(to);
  ASSERT_EQ(move(IBV_WR_RDMA_WRITE, local, remote, 0, 100), IBV_WC_SUCCESS);
  EXPECT_EQ(to.get(0, 100), from.get(0, 100));
}

TEST_P(Regions, AreOfNothingElse) {
  const GpuBuffer gpu(kGpuPage);
  const int file = gpu.dma_buf();
  // Beyond its end; of a file that is no dma-buf; of none.
  EXPECT_EQ(ibv_reg_dmabuf_mr(nic_.pd(), 0, 2 * kGpuPage, 0, file, kAllAccess), nullptr);
  EXPECT_EQ(errno, EINVAL);
  const int other = ::memfd_create("other", 0);
  EXPECT_EQ(ibv_reg_dmabuf_mr(nic_.pd(), 0, 4096, 0, other, kAllAccess), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_reg_dmabuf_mr(nic_.pd(), 0, 4096, 0, -1, kAllAccess), nullptr);
  EXPECT_EQ(errno, EBADF);
  ::close(other);
  ::close(file);
  // Memory that the GPU has no more.
  const std::uint64_t gone = [] { return GpuBuffer(kGpuPage).address(); }();
  EXPECT_EQ(ibv_reg_mr(nic_.pd(), reinterpret_cast<void*>(gone + (std::uint64_t{1} << 40)), 4096,
                       kAllAccess),
            nullptr);
  EXPECT_EQ(errno, EFAULT);
}

}  // namespace
}  // namespace gdakit::verbs_gpu
