// Memory of the device: pieces of it, their regions, and what the NIC moves there.
#include "backends/softnic/uverbs/device_memory.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>

#include <gtest/gtest.h>

#include "tests/uverbs/client.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace test;

constexpr std::uint64_t kMost = DeviceMemory::kMostBytes;
constexpr std::uint64_t kPage = DeviceMemory::kPage;

constexpr std::uint32_t kRights = IB_UVERBS_ACCESS_ZERO_BASED | IB_UVERBS_ACCESS_LOCAL_WRITE |
                                  IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_READ |
                                  IB_UVERBS_ACCESS_REMOTE_ATOMIC;

struct Piece {
  std::uint32_t handle = 0;
  std::uint64_t offset = ~std::uint64_t{0};
  std::uint16_t page = 0xffff;
};

struct Region {
  std::uint32_t handle = 0, lkey = 0, rkey = 1;
};

// The first page of a piece as its client maps it.
class Mapped {
 public:
  Mapped(Device& device, const Piece& piece) {
    const UniqueFileDescriptor file(*device.pages().open_file());
    const std::uint64_t index = piece.page;
    const std::uint64_t page = index >> 8 << 16 | 8u << 8 | (index & 0xff);
    memory_ = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(),
                     static_cast<off_t>(page * kPage));
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() { ::munmap(memory_, kPage); }
  std::byte* bytes() const { return static_cast<std::byte*>(memory_); }

 private:
  void* memory_;
};

struct UverbsDeviceMemory : testing::Test {
  UverbsDeviceMemory() { client.make_all(); }

  static Call alloc_call(std::uint64_t length, std::uint32_t log_alignment, Piece& piece) {
    Call call(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC);
    call.number(UVERBS_ATTR_ALLOC_DM_HANDLE)
        .in(UVERBS_ATTR_ALLOC_DM_LENGTH, length)
        .in(UVERBS_ATTR_ALLOC_DM_ALIGNMENT, log_alignment)
        .out(MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX, piece.page)
        .out(MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, piece.offset);
    return call;
  }
  int alloc(std::uint64_t length, Piece& piece, std::uint32_t log_alignment = 0) {
    Call call = alloc_call(length, log_alignment, piece);
    const int error = call.make(*client.context);
    if (error == 0) piece.handle = call.given(UVERBS_ATTR_ALLOC_DM_HANDLE);
    return error;
  }
  Piece have(std::uint64_t length) {
    Piece piece;
    EXPECT_EQ(alloc(length, piece), 0);
    return piece;
  }
  int free(const Piece& piece) {
    return client.destroy(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE, UVERBS_ATTR_FREE_DM_HANDLE,
                          piece.handle);
  }
  int reg(std::uint32_t dm, std::uint64_t offset, std::uint64_t length, std::uint64_t access,
          Region& region) {
    Call call(UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG);
    call.number(UVERBS_ATTR_REG_DM_MR_HANDLE)
        .in(UVERBS_ATTR_REG_DM_MR_OFFSET, offset)
        .in(UVERBS_ATTR_REG_DM_MR_LENGTH, length)
        .in(UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, access)
        .number(UVERBS_ATTR_REG_DM_MR_PD_HANDLE, client.pd)
        .number(UVERBS_ATTR_REG_DM_MR_DM_HANDLE, dm)
        .out(UVERBS_ATTR_REG_DM_MR_RESP_LKEY, region.lkey)
        .out(UVERBS_ATTR_REG_DM_MR_RESP_RKEY, region.rkey);
    const int error = call.make(*client.context);
    if (error == 0) region.handle = call.given(UVERBS_ATTR_REG_DM_MR_HANDLE);
    return error;
  }
  Region have_region(const Piece& piece, std::uint64_t offset, std::uint64_t length) {
    Region region;
    EXPECT_EQ(reg(piece.handle, offset, length, kRights, region), 0);
    EXPECT_EQ(region.lkey, region.rkey);
    return region;
  }

  std::unique_ptr<Device> device = open_device();
  Client client{*device};
};

TEST_F(UverbsDeviceMemory, TheDeviceSaysHowMuchAPieceMayHave) {
  ib_uverbs_ex_query_device request{};
  ib_uverbs_ex_query_device_resp answer{};
  WriteCall call(kExtendedCommand | IB_USER_VERBS_CMD_QUERY_DEVICE);
  ASSERT_EQ(call.core_in(request).core_out(answer).make(*client.context), 0);
  EXPECT_EQ(answer.max_dm_size, 131072u);
}

TEST_F(UverbsDeviceMemory, APieceIsZeroAndItsClientsAlone) {
  const Piece one = have(4), other = have(kPage + 1);
  EXPECT_EQ(one.offset, 0u);
  EXPECT_NE(one.page, other.page);
  std::memset(Mapped(*device, one).bytes(), 1, kPage);
  EXPECT_EQ(Mapped(*device, other).bytes()[0], std::byte{0});
  EXPECT_EQ(free(one), 0);
  const Piece again = have(4);
  EXPECT_EQ(again.page, one.page);
  EXPECT_EQ(Mapped(*device, again).bytes()[100], std::byte{0});
}

TEST_F(UverbsDeviceMemory, SizesAndAlignmentsAreChecked) {
  Piece piece;
  EXPECT_EQ(alloc(0, piece), EINVAL);
  EXPECT_EQ(alloc(kMost + 1, piece), ENOMEM);
  EXPECT_EQ(alloc(~std::uint64_t{0}, piece), ENOMEM);
  EXPECT_EQ(alloc(64, piece, 13), EINVAL);
  EXPECT_EQ(alloc(64, piece, ~0u), EINVAL);
  EXPECT_EQ(alloc(kMost, piece, 12), 0);
}

TEST_F(UverbsDeviceMemory, ThereIsOnlySoMuch) {
  const Piece one = have(kMost), other = have(kMost);
  Piece more;
  EXPECT_EQ(alloc(1, more), ENOMEM);
  EXPECT_EQ(free(one), 0);
  EXPECT_EQ(free(one), ENOENT);
  EXPECT_EQ(alloc(1, more), 0);
  EXPECT_EQ(alloc(kMost, more), ENOMEM);
  EXPECT_EQ(free(other), 0);
  EXPECT_EQ(alloc(kMost, more), 0);
}

TEST_F(UverbsDeviceMemory, AllGoesWithTheClient) {
  have_region(have(kMost), 0, 64);
  have(kMost);
  client.context.reset();
  Client later(*device);
  Piece piece;
  Call call = alloc_call(kMost, 0, piece);
  EXPECT_EQ(call.make(*later.context), 0);
}

TEST_F(UverbsDeviceMemory, OtherKindsAreNotThere) {
  Piece piece;
  EXPECT_EQ(
      alloc_call(64, 0, piece)
          .in(MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE, std::uint64_t{MLX5_IB_UAPI_DM_TYPE_STEERING_SW_ICM})
          .make(*client.context),
      EOPNOTSUPP);
  EXPECT_EQ(alloc_call(64, 0, piece)
                .in(MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE, std::uint64_t{MLX5_IB_UAPI_DM_TYPE_MEMIC})
                .make(*client.context),
            0);
}

TEST_F(UverbsDeviceMemory, AllocationsWithoutTheirAttributesAreRefused) {
  Piece piece;
  Call bare(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC);
  EXPECT_EQ(bare.make(*client.context), EINVAL);
  bare.number(UVERBS_ATTR_ALLOC_DM_HANDLE)
      .in(UVERBS_ATTR_ALLOC_DM_LENGTH, std::uint64_t{64})
      .in(UVERBS_ATTR_ALLOC_DM_ALIGNMENT, std::uint32_t{0});
  EXPECT_EQ(bare.make(*client.context), EINVAL);
  bare.out(MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, piece.offset);
  EXPECT_EQ(bare.make(*client.context), 0);
}

TEST_F(UverbsDeviceMemory, AnAnswerThatCannotBeWrittenAllocatesNothing) {
  for (int i = 0; i < 8; ++i) {
    Piece piece;
    Call call(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC);
    call.number(UVERBS_ATTR_ALLOC_DM_HANDLE)
        .in(UVERBS_ATTR_ALLOC_DM_LENGTH, kMost)
        .in(UVERBS_ATTR_ALLOC_DM_ALIGNMENT, std::uint32_t{0})
        .at(MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, kNowhere, 8);
    EXPECT_EQ(call.make(*client.context), EFAULT);
  }
}

TEST_F(UverbsDeviceMemory, RegionsMustLieInTheirPiece) {
  const Piece piece = have(100);
  Region region;
  EXPECT_EQ(reg(piece.handle, 0, 100, kRights, region), 0);
  EXPECT_EQ(reg(piece.handle, 0, 101, kRights, region), EINVAL);
  EXPECT_EQ(reg(piece.handle, 100, 1, kRights, region), EINVAL);
  EXPECT_EQ(reg(piece.handle, 101, 0, kRights, region), EINVAL);
  EXPECT_EQ(reg(piece.handle, ~std::uint64_t{0}, 2, kRights, region), EINVAL);
  EXPECT_EQ(reg(piece.handle, 60, 40, kRights, region), 0);
  EXPECT_EQ(reg(piece.handle, 100, 0, kRights, region), 0);
}

TEST_F(UverbsDeviceMemory, RightsOfRegionsAreChecked) {
  const Piece piece = have(100);
  Region region;
  EXPECT_EQ(reg(piece.handle, 0, 100, IB_UVERBS_ACCESS_LOCAL_WRITE, region), EINVAL);
  EXPECT_EQ(reg(piece.handle, 0, 100, IB_UVERBS_ACCESS_ZERO_BASED | IB_UVERBS_ACCESS_REMOTE_WRITE,
                region),
            EINVAL);
  EXPECT_EQ(reg(piece.handle, 0, 100, kRights | IB_UVERBS_ACCESS_ON_DEMAND, region), EINVAL);
  EXPECT_EQ(reg(piece.handle, 0, 100, kRights | IB_UVERBS_ACCESS_RELAXED_ORDERING, region), EINVAL);
  EXPECT_EQ(reg(piece.handle, 0, 100, kRights | std::uint64_t{1} << 40, region), EINVAL);
  EXPECT_EQ(reg(client.mr, 0, 100, kRights, region), ENOENT);
}

TEST_F(UverbsDeviceMemory, APieceInUseStays) {
  const Piece piece = have(100);
  const Region region = have_region(piece, 0, 100);
  EXPECT_EQ(free(piece), EBUSY);
  EXPECT_EQ(client.destroy_mr(region.handle), 0);
  EXPECT_EQ(free(piece), 0);
}

TEST_F(UverbsDeviceMemory, RegionsOfItAreNotMoved) {
  const Region region = have_region(have(100), 0, 100);
  ib_uverbs_rereg_mr request{};
  request.mr_handle = region.handle;
  request.flags = 4;
  request.access_flags = IB_UVERBS_ACCESS_LOCAL_WRITE;
  ib_uverbs_rereg_mr_resp answer{};
  WriteCall call(IB_USER_VERBS_CMD_REREG_MR);
  EXPECT_EQ(call.core_in(request).core_out(answer).make(*client.context), EINVAL);
}

TEST_F(UverbsDeviceMemory, WhoImportsItLearnsWhereItIs) {
  have(1);
  const Piece piece = have(100);
  Piece known;
  std::uint64_t length = 0;
  const auto query = [&](std::uint32_t handle) {
    return Call(UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_QUERY)
        .number(MLX5_IB_ATTR_QUERY_DM_REQ_HANDLE, handle)
        .out(MLX5_IB_ATTR_QUERY_DM_RESP_START_OFFSET, known.offset)
        .out(MLX5_IB_ATTR_QUERY_DM_RESP_PAGE_INDEX, known.page)
        .out(MLX5_IB_ATTR_QUERY_DM_RESP_LENGTH, length)
        .make(*client.context);
  };
  EXPECT_EQ(query(piece.handle), 0);
  EXPECT_EQ(known.page, piece.page);
  EXPECT_EQ(known.offset, 0u);
  EXPECT_EQ(length, 100u);
  EXPECT_EQ(query(client.pd), ENOENT);
}

TEST_F(UverbsDeviceMemory, AtomicsByLoadsAndStoresAreNotThere) {
  const Piece piece = have(100);
  const auto map = [&](std::uint32_t handle) {
    return Call(UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_MAP_OP_ADDR)
        .number(MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_HANDLE, handle)
        .in(MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_OP, std::uint8_t{0})
        .make(*client.context);
  };
  EXPECT_EQ(map(piece.handle), EOPNOTSUPP);
  EXPECT_EQ(map(client.pd), ENOENT);
}

TEST_F(UverbsDeviceMemory, WritesOfAPeerArriveThere) {
  const std::unique_ptr<Device> other = open_device(own_spec(), 1);
  Client peer(*other);
  peer.make_all();
  peer.connect(client);
  client.connect(peer);
  const Piece piece = have(256);
  const Region region = have_region(piece, 64, 128);
  std::memset(peer.payload(), 'd', 128);
  peer.post_write(0, 128, 0, region.rkey);
  EXPECT_EQ(format::cqe_opcode(peer.next(peer.send_cq).op_own), format::CqeOpcode::requester);
  const Mapped mapped(*device, piece);
  EXPECT_EQ(mapped.bytes()[63], std::byte{0});
  EXPECT_EQ(mapped.bytes()[64], std::byte{'d'});
  EXPECT_EQ(mapped.bytes()[191], std::byte{'d'});
  EXPECT_EQ(mapped.bytes()[192], std::byte{0});
  peer.post_write(0, 128, 1, region.rkey);
  EXPECT_EQ(format::cqe_opcode(peer.next(peer.send_cq).op_own), format::CqeOpcode::requester_error);
}

TEST_F(UverbsDeviceMemory, NobodyTouchesARegionOfNoBytes) {
  const std::unique_ptr<Device> other = open_device(own_spec(), 1);
  Client peer(*other);
  peer.make_all();
  peer.connect(client);
  client.connect(peer);
  const Region region = have_region(have(64), 0, 0);
  peer.post_write(0, 1, 0, region.rkey);
  EXPECT_EQ(format::cqe_opcode(peer.next(peer.send_cq).op_own), format::CqeOpcode::requester_error);
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
