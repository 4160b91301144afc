// NICs of which something is broken, as their clients find them.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include <gtest/gtest.h>

#include "core/format/prm/caps.h"
#include "core/format/prm/query.h"
#include "tests/uverbs/devx_client.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace test;
using prm::Opcode;

std::unique_ptr<Device> open_failing(const std::string& failures,
                                     const std::string& link = "roce") {
  Spec spec = *Spec::parse("link=" + link);
  spec.fabric = own_spec("failing").fabric;
  spec.failures = *Failures::parse(failures);
  return open_device(spec);
}

int begin(Device& device, bool with_devx) {
  Context context(device);
  return get_context(context, with_devx);
}

ib_uverbs_query_port_resp port_of(Device& device, std::uint8_t number = 1) {
  Context context(device);
  EXPECT_EQ(get_context(context), 0);
  ib_uverbs_query_port_resp_ex answer{};
  EXPECT_EQ(Call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT)
                .in(UVERBS_ATTR_QUERY_PORT_PORT_NUM, number)
                .out(UVERBS_ATTR_QUERY_PORT_RESP, answer)
                .make(context),
            0);
  return answer.legacy_resp;
}

constexpr std::uint64_t kPage = 4096;
alignas(kPage) std::array<std::byte, 4 * kPage> pages_of_the_test;

// Registers memory from the first page's middle on; 0 or the error, and the handle.
int register_region(Client& client, std::uint64_t length, std::uint32_t& handle) {
  ib_uverbs_reg_mr request{};
  request.start = request.hca_va = address_of(pages_of_the_test.data() + kPage / 2);
  request.length = length;
  request.pd_handle = client.pd;
  request.access_flags = IB_UVERBS_ACCESS_LOCAL_WRITE;
  ib_uverbs_reg_mr_resp answer{};
  const int error =
      WriteCall(IB_USER_VERBS_CMD_REG_MR).core_in(request).core_out(answer).make(*client.context);
  handle = answer.mr_handle;
  return error;
}

TEST(UverbsFailing, DevxIsRefusedToThoseAloneThatAskForIt) {
  const auto device = open_failing("devx=EPERM");
  EXPECT_EQ(begin(*device, /*with_devx=*/true), EPERM);
  EXPECT_EQ(begin(*device, /*with_devx=*/false), 0);
}

TEST(UverbsFailing, AControlGroupHasSoManyContextsAndObjects) {
  const auto device = open_failing("handles=1,objects=1");
  {
    Context first(*device), second(*device);
    EXPECT_EQ(get_context(first), 0);
    EXPECT_EQ(get_context(second), EAGAIN);
  }
  Client client(*device);
  client.pd = client.make_pd();
  std::uint32_t handle = 0;
  EXPECT_EQ(register_region(client, 100, handle), EAGAIN);
  EXPECT_EQ(client.destroy_pd(client.pd), 0);
  EXPECT_NE(client.make_pd(), 0u);
}

TEST(UverbsFailing, LockedMemoryIsCountedByPagesAndGivenBack) {
  const auto device = open_failing("locked=12K");
  DevxClient client(*device);
  client.pd = client.make_pd();
  const void* const memory = pages_of_the_test.data();
  std::uint32_t one = 0, other = 0;
  ASSERT_EQ(register_region(client, kPage, one), 0);  // two pages
  EXPECT_EQ(register_region(client, kPage, other), ENOMEM);
  EXPECT_EQ(client.make_umem(memory, 2 * kPage).error, ENOMEM);
  EXPECT_EQ(client.make_umem(memory, kPage).error, 0);
  EXPECT_EQ(client.make_umem(memory, 1).error, ENOMEM);
  EXPECT_EQ(client.destroy_mr(one), 0);
  const DevxClient::Umem umem = client.make_umem(memory, 2 * kPage);
  EXPECT_EQ(umem.error, 0);
  EXPECT_EQ(register_region(client, 1, other), ENOMEM);
  EXPECT_EQ(client.destroy_umem(umem.handle), 0);
  EXPECT_EQ(register_region(client, kPage, other), 0);
}

TEST(UverbsFailing, QueuePairsAreFewAndCountedByBothWays) {
  const auto device = open_failing("qps=2");
  DevxClient client(*device);
  client.make_all();
  const DevxClient::Umem umem =
      client.make_umem(client.queues.get(), sizeof *client.queues, /*access=*/0);
  const DevxMade second = client.create(Opcode::create_qp, client.qp_request(umem.number));
  EXPECT_EQ(second.error, 0);
  const DevxMade third = client.create(Opcode::create_qp, client.qp_request(umem.number));
  EXPECT_EQ(third.error, EREMOTEIO);
  EXPECT_EQ(third.status, CommandStatus::lim_err);
  EXPECT_EQ(client.qp_call(client.qp_driver()).make(*client.context), ENOMEM);
  EXPECT_EQ(client.destroy_devx(second.handle), 0);
  EXPECT_EQ(client.create(Opcode::create_qp, client.qp_request(umem.number)).error, 0);
}

TEST(UverbsFailing, AContextThatEndsGivesItsQueuesBack) {
  const auto device = open_failing("qps=1,cqs=2");
  for (int round = 0; round < 3; ++round) Client(*device).make_all();
  Client last(*device);
  last.make_all();
  ClientCq third;
  EXPECT_EQ(last.cq_call(third, last.cq_driver(third)).make(*last.context), ENOMEM);
}

TEST(UverbsFailing, AnyCommandIsRefusedWithItsStatusAndSyndrome) {
  const auto device = open_failing("CREATE_MKEY=0x5/0x77,ALLOC_PD=0x8");
  DevxClient client(*device);
  prm::Mailbox<ObjectIn> in;
  EXPECT_EQ(client.create(Opcode::create_mkey, in).status, CommandStatus::bad_res);
  EXPECT_EQ(client.create(Opcode::alloc_pd, in).status, CommandStatus::lim_err);
  ib_uverbs_alloc_pd_resp answer{};
  EXPECT_EQ(WriteCall(IB_USER_VERBS_CMD_ALLOC_PD)
                .core_in(ib_uverbs_alloc_pd{})
                .core_out(answer)
                .make(*client.context),
            ENOMEM);
}

TEST(UverbsFailing, AnyCallFailsAndDoesNothing) {
  const auto device = open_failing("reg_mr=EFAULT,register_umem=EIO,query_port=ENODEV");
  DevxClient client(*device);
  client.pd = client.make_pd();
  std::uint32_t handle = 0;
  EXPECT_EQ(register_region(client, 100, handle), EFAULT);
  EXPECT_EQ(client.make_umem(client.payload(), 100).error, EIO);
  EXPECT_EQ(client.destroy_pd(client.pd), 0) << "nothing uses it";
}

TEST(UverbsFailing, DoorbellPagesAreRefusedByTypeAndNumber) {
  const auto alloc = [](Device& device, std::uint64_t type, int count) {
    Context context(device);
    EXPECT_EQ(get_context(context), 0);
    int error = 0;
    for (int i = 0; error == 0 && i < count; ++i) {
      std::uint64_t offset = 0;
      error = Call(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC)
                  .number(MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE)
                  .in(MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, type)
                  .out(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, offset)
                  .make(context);
    }
    return error;
  };
  constexpr std::uint64_t kBf = MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF,
                          kNc = MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC;
  const auto no_nc = open_failing("uar=nc"), few = open_failing("uars=2");
  EXPECT_EQ(alloc(*no_nc, kNc, 1), EOPNOTSUPP);
  EXPECT_EQ(alloc(*no_nc, kBf, 1), 0);
  EXPECT_EQ(alloc(*few, kNc, 2), 0);
  EXPECT_EQ(alloc(*few, kNc, 3), ENOMEM);
}

TEST(UverbsFailing, ThePortIsAsItIsToBe) {
  EXPECT_EQ(port_of(*open_failing("port=down")).state, 1);
  EXPECT_EQ(port_of(*open_failing("port=init")).state, 2);
  const auto armed = open_failing("port=armed,mtu=1024");
  EXPECT_EQ(port_of(*armed).state, 3);
  EXPECT_EQ(port_of(*armed).phys_state, 5);
  EXPECT_EQ(port_of(*armed).active_mtu, 3);
  armed->set_port(true);
  EXPECT_EQ(port_of(*armed).state, 4) << "as gdakit verbs set port=up has it";
  const auto routed = open_failing("grh=required", "ib");
  EXPECT_EQ(port_of(*routed).flags & IB_UVERBS_QPF_GRH_REQUIRED, IB_UVERBS_QPF_GRH_REQUIRED);
}

TEST(UverbsFailing, APathThatThePortCannotTakeIsRefused) {
  const auto device = open_failing("mtu=512");
  DevxClient client(*device);
  client.make_all();
  const DevxClient::Umem umem =
      client.make_umem(client.queues.get(), sizeof *client.queues, /*access=*/0);
  const DevxMade qp = client.create(Opcode::create_qp, client.qp_request(umem.number));
  ASSERT_EQ(client.modify(qp.handle, Opcode::rst2init_qp, client.request(qp.number)), 0);
  auto rtr = client.rtr_request(qp.number, client.qpn);  // 1024 bytes
  EXPECT_EQ(client.modify(qp.handle, Opcode::init2rtr_qp, rtr), EREMOTEIO);
  rtr.at(prm::Rst2initQpIn::qpc).set(prm::Qpc::mtu, 2);
  EXPECT_EQ(client.modify(qp.handle, Opcode::init2rtr_qp, rtr), 0);
}

// That of an initiator of DC or of datagrams, which is said of no peer, is not refused.
TEST(UverbsFailing, APathWithoutTheRoutingHeaderThatThePortDemandsIsRefused) {
  const auto device = open_failing("grh=required", "ib");
  DevxClient client(*device);
  client.make_all();
  const DevxClient::Umem umem =
      client.make_umem(client.queues.get(), sizeof *client.queues, /*access=*/0);
  for (const bool has_peer : {true, false}) {
    auto request = client.qp_request(umem.number);
    if (!has_peer) {
      const auto context = request.at(prm::CreateQpIn::qpc);
      context.set(prm::Qpc::st, prm::kStDci);
      context.set(prm::Qpc::rq_type, static_cast<std::uint64_t>(prm::RqType::shared));
    }
    const DevxMade qp = client.create(Opcode::create_qp, request);
    ASSERT_EQ(qp.error, 0);
    ASSERT_EQ(client.modify(qp.handle, Opcode::rst2init_qp, client.request(qp.number)), 0);
    auto rtr = client.request(qp.number);
    rtr.at(prm::Rst2initQpIn::qpc).set(prm::Qpc::mtu, 3);
    rtr.at(prm::Rst2initQpIn::qpc).set(prm::Qpc::remote_qpn, has_peer ? client.qpn : 0);
    EXPECT_EQ(client.modify(qp.handle, Opcode::init2rtr_qp, rtr), has_peer ? EREMOTEIO : 0);
  }
}

TEST(UverbsFailing, CapabilitiesAreDenied) {
  const auto page = [](Device& device, prm::CapabilityPage which) {
    DevxClient client(device);
    prm::Mailbox<prm::QueryHcaCapIn> in;
    in.set(prm::MboxIn::opcode, static_cast<std::uint64_t>(Opcode::query_hca_cap));
    in.set(prm::MboxIn::op_mod, static_cast<std::uint64_t>(which) << 1 | 1);
    prm::Mailbox<prm::QueryHcaCapOut> out;
    EXPECT_EQ(client.general(in.bytes(), out.bytes()), 0);
    return out;
  };
  const auto atomics = [&page](const std::string& failures, auto field) {
    const auto device = open_failing(failures);
    const auto out = page(*device, prm::CapabilityPage::atomic_caps);
    const auto bytes = out.at(prm::QueryHcaCapOut::capability);
    return prm::View<prm::AtomicCaps>(std::span<const std::uint8_t>(bytes)).get(field);
  };
  constexpr auto kOperations = prm::AtomicCaps::atomic_operations;
  EXPECT_EQ(atomics("qps=1", kOperations), 15u);
  EXPECT_EQ(atomics("atomics=standard", kOperations), 3u);
  EXPECT_EQ(atomics("atomics=none", kOperations), 0u);
  EXPECT_EQ(atomics("atomics=swapped", kOperations), 15u);
  EXPECT_EQ(atomics("atomics=swapped", prm::AtomicCaps::atomic_req_8B_endianness_mode), 0u);
  EXPECT_EQ(atomics("qps=1", prm::AtomicCaps::atomic_req_8B_endianness_mode), 1u);
  EXPECT_EQ(atomics("qps=1", prm::AtomicCaps::atomic_size_dc), 12u);
  EXPECT_EQ(atomics("atomics=standard", prm::AtomicCaps::atomic_size_dc), 8u);
  EXPECT_EQ(atomics("atomics=none", prm::AtomicCaps::atomic_size_dc), 0u);
  const auto device = open_failing("dc=absent");
  const auto out = page(*device, prm::CapabilityPage::cmd_hca_cap);
  const auto bytes = out.at(prm::QueryHcaCapOut::capability);
  EXPECT_EQ(
      prm::View<prm::CmdHcaCap>(std::span<const std::uint8_t>(bytes)).get(prm::CmdHcaCap::dct), 0u);
}

TEST(UverbsFailing, TwoPortsAreBonded) {
  const auto lag_ports = [](const std::string& failures) {
    const auto device = open_failing(failures);
    DevxClient client(*device);
    prm::Mailbox<prm::QueryHcaCapIn> in;
    in.set(prm::MboxIn::opcode, static_cast<std::uint64_t>(Opcode::query_hca_cap));
    prm::Mailbox<prm::QueryHcaCapOut> caps;
    EXPECT_EQ(client.general(in.bytes(), caps.bytes()), 0);
    prm::Mailbox<prm::MboxIn> ask;
    prm::Mailbox<prm::QueryLagOut> lag;
    ask.set(prm::MboxIn::opcode, static_cast<std::uint64_t>(Opcode::query_lag));
    EXPECT_EQ(client.general(ask.bytes(), lag.bytes()), 0);
    const auto bytes = caps.at(prm::QueryHcaCapOut::capability);
    const prm::View<prm::CmdHcaCap> page{std::span<const std::uint8_t>(bytes)};
    const bool active = lag.at(prm::QueryLagOut::ctx).get(prm::Lagc::lag_state) != 0;
    EXPECT_EQ(active, page.get(prm::CmdHcaCap::lag_tx_port_affinity) != 0);
    return page.get(prm::CmdHcaCap::num_lag_ports);
  };
  EXPECT_EQ(lag_ports("lag=bonded"), 2u);
  EXPECT_EQ(lag_ports("qps=9"), 0u);
}

TEST(UverbsFailing, GidsAreFew) {
  const auto gids = [](const std::string& failures) {
    Spec spec;
    spec.failures = *Failures::parse(failures);
    const Identity identity(spec, 0);
    std::vector<std::uint32_t> types;
    for (int i = 0; i < identity.gids(); ++i) types.push_back(identity.gid_type(i));
    return types;
  };
  EXPECT_EQ(gids("gids=none"), (std::vector<std::uint32_t>{}));
  EXPECT_EQ(gids("gids=local"), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(gids("gids=v1"), (std::vector<std::uint32_t>{1, 1}));
  EXPECT_EQ(gids("mlx5_1/gids=none"), (std::vector<std::uint32_t>{1, 2, 1, 2}));
}

// Which of the first eight places have an address.
std::string slots(Context& context) {
  std::string text;
  for (std::uint32_t slot = 0; slot < 8; ++slot) {
    ib_uverbs_gid_entry entry{};
    const int error = Call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY)
                          .in(UVERBS_ATTR_QUERY_GID_ENTRY_PORT, 1u)
                          .in(UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, slot)
                          .in(UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, 0u)
                          .out(UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, entry)
                          .make(context);
    EXPECT_EQ(entry.gid_index, error == 0 ? slot : 0);
    std::uint8_t first = 0;
    std::memcpy(&first, entry.gid, sizeof first);
    text += error == 0 ? (first == 0xfe ? 'l' : 'r') : '-';
  }
  return text;
}

TEST(UverbsFailing, GidsMoveWhenTheyAreRenumbered) {
  const auto device = open_failing("qps=9");
  Client client(*device), peer(*device);
  client.make_all();
  peer.make_all();
  client.gid_index = peer.gid_index = 3;
  EXPECT_EQ(slots(*client.context), "llrr----");
  device->renumber_gids();
  EXPECT_EQ(slots(*client.context), "ll--rr--");
  EXPECT_EQ(client.modify(client.to_init()), 0);
  ib_uverbs_modify_qp to_rtr = client.to_rtr(peer.qpn);
  to_rtr.dest.sgid_index = 3;
  EXPECT_EQ(client.modify(to_rtr), EINVAL);
  to_rtr.dest.sgid_index = 5;
  EXPECT_EQ(client.modify(to_rtr), 0);
  device->renumber_gids();
  EXPECT_EQ(slots(*client.context), "llrr----");
}

TEST(UverbsFailing, GidsMoveAfterSoManyReads) {
  const auto device = open_failing("gids_move=8");
  Context context(*device);
  ASSERT_EQ(get_context(context), 0);
  EXPECT_EQ(slots(context), "llrr----");
  EXPECT_EQ(slots(context), "ll--rr--");
  EXPECT_EQ(slots(context), "ll--rr--");
}

TEST(UverbsFailing, WithoutARouteNoQueuePairIsConnected) {
  const auto device = open_failing("route=ENETUNREACH");
  Client client(*device), peer(*device);
  client.make_all();
  peer.make_all();
  EXPECT_EQ(client.modify(client.to_init()), 0);
  EXPECT_EQ(client.modify(client.to_rtr(peer.qpn)), ENETUNREACH);
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
