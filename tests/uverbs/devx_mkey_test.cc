// Memory keys that clients make by commands, beside verbs' objects.
#include <cerrno>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "core/format/prm/mkey.h"
#include "tests/uverbs/devx_client.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace test;
using prm::CreateMkeyIn;
using prm::Mkc;
using prm::MkeyAccessMode;
using prm::Opcode;

constexpr std::uint64_t kStart = 0x7000;

struct UverbsDevxMkey : testing::Test {
  UverbsDevxMkey() {
    client.make_all();
    peer.make_all();
    client.connect(peer);
    peer.connect(client);
    umem = client.make_umem(client.payload(), kPayloadBytes);
    EXPECT_EQ(umem.error, 0);
  }
  prm::Mailbox<CreateMkeyIn> request(MkeyAccessMode mode) {
    prm::Mailbox<CreateMkeyIn> in;
    const auto context = in.at(CreateMkeyIn::memory_key_mkey_entry);
    context.set(Mkc::access_mode_1_0, static_cast<std::uint64_t>(mode));
    context.set(Mkc::lr, 1);
    context.set(Mkc::lw, 1);
    context.set(Mkc::rr, 1);
    context.set(Mkc::rw, 1);
    context.set(Mkc::qpn, prm::kMkcOfAnyQp);
    context.set(Mkc::mkey_7_0, 0x42);
    context.set(Mkc::pd, client.pd_number());
    return in;
  }
  // No valid bit is set.
  prm::Mailbox<CreateMkeyIn> umem_request() {
    auto in = request(MkeyAccessMode::mtt);
    const auto context = in.at(CreateMkeyIn::memory_key_mkey_entry);
    context.set(Mkc::start_addr, kStart);
    context.set(Mkc::len, 64);
    in.set(CreateMkeyIn::mkey_umem_id, umem.number);
    in.set(CreateMkeyIn::mkey_umem_offset, 128);
    return in;
  }
  DevxMade make(prm::Mailbox<CreateMkeyIn> in) { return client.create(Opcode::create_mkey, in); }
  // What becomes of a WRITE of the peer's.
  format::CqeOpcode write(std::uint32_t key) {
    std::memcpy(peer.payload(), "mkey", 4);
    peer.post_write(0, 4, kStart, key);
    return format::cqe_opcode(peer.next(peer.send_cq).op_own);
  }

  std::unique_ptr<Device> device = open_device(own_spec("devx_mkey"));
  DevxClient client{*device};
  Client peer{*device};
  DevxClient::Umem umem;
};

TEST_F(UverbsDevxMkey, OfAUmemIsUsedByPeers) {
  const DevxMade made = make(umem_request());
  ASSERT_EQ(made.error, 0);
  EXPECT_EQ(write(made.number << 8 | 0x42), format::CqeOpcode::requester);
  EXPECT_EQ(std::memcmp(client.payload() + 128, "mkey", 4), 0);
}

TEST_F(UverbsDevxMkey, EndsWithItsHandle) {
  const DevxMade made = make(umem_request());
  ASSERT_EQ(made.error, 0);
  EXPECT_EQ(client.destroy_umem(umem.handle), EBUSY);
  EXPECT_EQ(client.destroy_mr(made.handle), ENOENT) << "it is none of verbs";
  ASSERT_EQ(client.destroy_devx(made.handle), 0);
  EXPECT_EQ(client.destroy_umem(umem.handle), 0);
  EXPECT_EQ(write(made.number << 8 | 0x42), format::CqeOpcode::requester_error);
}

// A key of PA is one of a umem, too, when the kernel has seen it, and the firmware makes none.
TEST_F(UverbsDevxMkey, OfOtherModesIsRefused) {
  auto in = umem_request();
  in.at(CreateMkeyIn::memory_key_mkey_entry)
      .set(Mkc::access_mode_1_0, static_cast<std::uint64_t>(MkeyAccessMode::pa));
  EXPECT_EQ(make(in).error, EREMOTEIO);
  EXPECT_EQ(make(in).status, CommandStatus::bad_param);
  in = umem_request();
  in.set(CreateMkeyIn::mkey_umem_id, umem.number + 5);
  EXPECT_EQ(make(in).status, CommandStatus::bad_res);
  EXPECT_EQ(client.destroy_umem(umem.handle), 0);
}

TEST_F(UverbsDevxMkey, OfAnotherClientsPdOrUmemIsRefused) {
  DevxClient other(*device);
  other.make_all();
  EXPECT_EQ(other.create(Opcode::create_mkey, umem_request()).status, CommandStatus::bad_res);
  auto in = umem_request();
  in.at(CreateMkeyIn::memory_key_mkey_entry).set(Mkc::pd, other.pd_number());
  EXPECT_EQ(make(in).status, CommandStatus::bad_res);
}

// As mlx5dv_create_mkey makes it.
TEST_F(UverbsDevxMkey, OfNoPartsYetIsMadeAndAskedAbout) {
  auto in = request(MkeyAccessMode::klms);
  const auto context = in.at(CreateMkeyIn::memory_key_mkey_entry);
  context.set(Mkc::free, 1);
  context.set(Mkc::umr_en, 1);
  context.set(Mkc::translations_octword_size, 4);
  const DevxMade made = make(in);
  ASSERT_EQ(made.error, 0);
  prm::Mailbox<prm::QueryMkeyOut> out;
  ASSERT_EQ(client.query(made.handle, Opcode::query_mkey, made.number, out), 0);
  const auto told = out.at(prm::QueryMkeyOut::memory_key_mkey_entry);
  EXPECT_EQ(told.get(Mkc::free), 1u);
  EXPECT_EQ(told.get(Mkc::translations_octword_size), 4u);
  EXPECT_EQ(client.query(made.handle, Opcode::query_mkey, made.number + 1, out), EINVAL);
  EXPECT_EQ(client.query(made.handle, Opcode::query_cq, made.number, out), EINVAL);
  EXPECT_EQ(write(made.number << 8 | 0x42), format::CqeOpcode::requester_error);
}

// As UCX makes them: parts of a region of verbs behind the mailbox, and no umem.
TEST_F(UverbsDevxMkey, OfKsmsHasPartsOfARegion) {
  auto in = request(MkeyAccessMode::ksm);
  const auto context = in.at(CreateMkeyIn::memory_key_mkey_entry);
  context.set(Mkc::start_addr, kStart);
  context.set(Mkc::len, 4096);
  context.set(Mkc::log_page_size, 12);
  context.set(Mkc::translations_octword_size, 1);
  in.set(CreateMkeyIn::translations_octword_actual_size, 1);
  in.set(prm::MboxIn::opcode, static_cast<std::uint64_t>(Opcode::create_mkey));
  const KeyListEntry part{Be32{0}, Be32{client.key}, Be64{client.address(512)}};
  std::vector<std::uint8_t> command(in.bytes().begin(), in.bytes().end());
  command.resize(command.size() + sizeof part);
  std::memcpy(command.data() + CreateMkeyIn::kBytes, &part, sizeof part);
  prm::Mailbox<prm::CreateMkeyOut> out;
  Call call(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE);
  ASSERT_EQ(call.number(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE)
                .in_bytes(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, command.data(), command.size())
                .at(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, address_of(out.bytes().data()),
                    out.bytes().size())
                .make(*client.context),
            0);
  const auto index = static_cast<std::uint32_t>(out.get(prm::CreateMkeyOut::mkey_index));
  EXPECT_EQ(write(index << 8 | 0x42), format::CqeOpcode::requester);
  EXPECT_EQ(std::memcmp(client.payload() + 512, "mkey", 4), 0);
}

// Its client closes with the key, the umem and the PD as they are.
TEST_F(UverbsDevxMkey, IsNotLeftOver) {
  const DevxMade made = make(umem_request());
  ASSERT_EQ(made.error, 0);
  const Uid uid = client.context->uid();
  client.context.reset();
  EXPECT_EQ(errno_of(run_command_of(*device, uid, Opcode::destroy_mkey, made.number)), EINVAL);
  EXPECT_EQ(device->remove_umem(umem.number, uid), CommandStatus::bad_res);
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
