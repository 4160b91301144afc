// Memory that is named by a dma-buf. What a GPU's does is seen on a GPU alone (tests/verbs/gpu);
// what is refused, here.
#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "backends/softnic/gpu/gpu_dma.h"
#include "backends/softnic/uverbs/gpus.h"
#include "core/base/file_descriptor.h"
#include "tests/uverbs/devx_client.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace test;

constexpr int kNoSuchGpu = 1000;
constexpr std::uint64_t kBytes = 8192;

struct DmaBuf : testing::Test {
  DmaBuf() {
    client.make_all();
    pd = client.pd;
  }

  struct Region {
    std::uint64_t offset = 0;
    std::uint64_t length = 4096;
    std::uint64_t iova = 0x70000000;
    std::uint32_t access = IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_RELAXED_ORDERING;
    int file = -1;
  };
  int reg_mr(const Region& region) {
    std::uint32_t lkey = 0, rkey = 0;
    return Call(UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR)
        .number(UVERBS_ATTR_REG_DMABUF_MR_HANDLE)
        .number(UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, pd)
        .in(UVERBS_ATTR_REG_DMABUF_MR_OFFSET, region.offset)
        .in(UVERBS_ATTR_REG_DMABUF_MR_LENGTH, region.length)
        .in(UVERBS_ATTR_REG_DMABUF_MR_IOVA, region.iova)
        .in(UVERBS_ATTR_REG_DMABUF_MR_FD, region.file)
        .in(UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, region.access)
        .out(UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, lkey)
        .out(UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, rkey)
        .make(*client.context);
  }
  int reg_umem(std::uint64_t offset, std::uint64_t length, int file) {
    std::uint32_t number = 0;
    return Call(MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_REG)
        .number(MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE)
        .in(MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, offset)
        .in(MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, length)
        .in(MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, std::uint32_t{IB_UVERBS_ACCESS_LOCAL_WRITE})
        .out(MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, number)
        .number(MLX5_IB_ATTR_DEVX_UMEM_REG_DMABUF_FD, static_cast<std::uint64_t>(file))
        .make(*client.context);
  }
  // A library without CUDA has no use for any.
  static int or_unsupported(int error) { return has_gpu_dma() ? error : EOPNOTSUPP; }

  std::unique_ptr<Device> device = open_device();
  DevxClient client{*device};
  std::uint32_t pd = 0;
  const UniqueFileDescriptor plain{::memfd_create("plain", 0)};
};

// Clients ask so whether there are dma-bufs at all.
TEST_F(DmaBuf, OfNoFileIsSaidToBe) {
  EXPECT_EQ(reg_mr({}), or_unsupported(EBADF));
  EXPECT_EQ(reg_mr({.length = 0}), or_unsupported(EBADF));
  EXPECT_EQ(reg_umem(0, 4096, 900), or_unsupported(EBADF));
}

TEST_F(DmaBuf, IsNoOtherFile) {
  EXPECT_EQ(reg_mr({.file = plain.get()}), or_unsupported(EINVAL));
  EXPECT_EQ(reg_umem(0, 4096, plain.get()), or_unsupported(EINVAL));
}

TEST_F(DmaBuf, IsOfWhatItWasMadeFor) {
  note_dma_buf(plain.get(), {0x7f0000000000, kBytes, kNoSuchGpu});
  EXPECT_EQ(reg_mr({.length = kBytes + 1, .file = plain.get()}), or_unsupported(EINVAL));
  EXPECT_EQ(reg_mr({.offset = kBytes, .file = plain.get()}), or_unsupported(EINVAL));
  EXPECT_EQ(reg_mr({.length = 0, .file = plain.get()}), or_unsupported(EINVAL));
  EXPECT_EQ(reg_umem(4096, 4097, plain.get()), or_unsupported(EINVAL));
  EXPECT_EQ(reg_umem(~std::uint64_t{0}, 4096, plain.get()), or_unsupported(EINVAL));
}

TEST_F(DmaBuf, OfAGpuThatIsNotReachedIsRefused) {
  note_dma_buf(plain.get(), {0x7f0000000000, kBytes, kNoSuchGpu});
  EXPECT_EQ(reg_mr({.length = kBytes, .file = plain.get()}), EOPNOTSUPP);
  EXPECT_EQ(reg_umem(4096, 4096, plain.get()), EOPNOTSUPP);
}

TEST_F(DmaBuf, IsAskedForAsAKernelWantsIt) {
  note_dma_buf(plain.get(), {0x7f0000000000, kBytes, kNoSuchGpu});
  EXPECT_EQ(reg_mr({.iova = 0x70000001, .file = plain.get()}), EINVAL);
  EXPECT_EQ(reg_mr({.access = IB_UVERBS_ACCESS_ON_DEMAND, .file = plain.get()}), EINVAL);
  EXPECT_EQ(reg_mr({.access = IB_UVERBS_ACCESS_REMOTE_WRITE, .file = plain.get()}), EINVAL);
  pd = 12345;
  EXPECT_EQ(reg_mr({.file = plain.get()}), ENOENT);
}

TEST_F(DmaBuf, IsKnownByItsFileAndNotByItsNumber) {
  const int number = ::memfd_create("first", 0);
  note_dma_buf(number, {0x7f0000000000, kBytes, kNoSuchGpu});
  const UniqueFileDescriptor same(::dup(number));
  ::close(number);
  EXPECT_EQ(memory_of_dma_buf(number), std::nullopt);
  const UniqueFileDescriptor second(::memfd_create("second", 0));
  ASSERT_EQ(second.get(), number);
  EXPECT_EQ(memory_of_dma_buf(number), std::nullopt);
  ASSERT_NE(memory_of_dma_buf(same.get()), std::nullopt);
  EXPECT_EQ(memory_of_dma_buf(same.get())->length, kBytes);
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
