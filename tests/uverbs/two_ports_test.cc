// A device with two ports (--fail ports=2), as its clients find it.
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "core/format/prm/caps.h"
#include "core/format/prm/query.h"
#include "tests/uverbs/devx_client.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace test;
using prm::Opcode;

std::unique_ptr<Device> open_two_ports(const std::string& more = "", const char* link = "roce") {
  Spec spec = *Spec::parse(std::string("link=") + link);
  spec.fabric = own_spec("two-ports").fabric;
  spec.failures = *Failures::parse("ports=2" + more);
  return open_device(spec);
}

struct UverbsTwoPorts : testing::Test {
  void open(const std::string& more = "", const char* link = "roce") {
    context.reset();
    device = open_two_ports(more, link);
    context = std::make_unique<Context>(*device);
    ASSERT_EQ(get_context(*context, /*with_devx=*/true), 0);
  }
  int query_port(std::uint8_t port, ib_uverbs_query_port_resp& answer) {
    ib_uverbs_query_port_resp_ex whole{};
    const int error = Call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT)
                          .in(UVERBS_ATTR_QUERY_PORT_PORT_NUM, port)
                          .out(UVERBS_ATTR_QUERY_PORT_RESP, whole)
                          .make(*context);
    answer = whole.legacy_resp;
    return error;
  }
  int state_of(std::uint8_t port) {
    ib_uverbs_query_port_resp answer{};
    EXPECT_EQ(query_port(port, answer), 0);
    return answer.state;
  }

  std::unique_ptr<Device> device;
  std::unique_ptr<Context> context;
};

TEST_F(UverbsTwoPorts, AreCountedByVerbsAndByFirmware) {
  open();
  ib_uverbs_query_device request{};
  ib_uverbs_query_device_resp verbs{};
  WriteCall call(IB_USER_VERBS_CMD_QUERY_DEVICE);
  ASSERT_EQ(call.core_in(request).core_out(verbs).make(*context), 0);
  EXPECT_EQ(verbs.phys_port_cnt, 2);
  DevxClient client(*device);
  prm::Mailbox<prm::QueryHcaCapIn> in;
  in.set(prm::MboxIn::opcode, static_cast<std::uint64_t>(Opcode::query_hca_cap));
  in.set(prm::MboxIn::op_mod, 1);  // what is, of the first page
  std::vector<std::uint8_t> out(prm::MboxOut::kBytes + prm::CmdHcaCap::kBytes);
  ASSERT_EQ(client.general(in.bytes(), out), 0);
  const std::span<const std::uint8_t> answer(out);
  const prm::View<prm::CmdHcaCap> caps(answer.subspan(prm::MboxOut::kBytes));
  EXPECT_EQ(caps.get(prm::CmdHcaCap::num_ports), 2u);
}

TEST_F(UverbsTwoPorts, HaveAddressesOfTheirOwn) {
  ib_uverbs_query_port_resp first{}, second{};
  open("", "ib");
  ASSERT_EQ(query_port(1, first), 0);
  ASSERT_EQ(query_port(2, second), 0);
  EXPECT_NE(first.lid, second.lid);
  EXPECT_EQ(query_port(0, second), EINVAL);
  EXPECT_EQ(query_port(3, second), EINVAL);
  open();
  std::array<ib_uverbs_gid_entry, 16> entries{};
  std::uint64_t count = 0;
  ASSERT_EQ(
      Call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE)
          .in(UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, std::uint64_t{sizeof entries[0]})
          .in(UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, std::uint32_t{0})
          .at(UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, address_of(entries.data()), sizeof entries)
          .out(UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, count)
          .make(*context),
      0);
  ASSERT_EQ(count, 8u);
  for (unsigned i = 0; i < 8; ++i) {
    const unsigned port = 1 + i / 4, index = i % 4;
    EXPECT_EQ(entries[i].port_num, port);
    EXPECT_EQ(entries[i].gid_index, index);
    const Gid gid = device->identity().gid(static_cast<int>(index), port);
    EXPECT_EQ(std::memcmp(entries[i].gid, gid.data(), gid.size()), 0);
    ib_uverbs_gid_entry one{};
    ASSERT_EQ(Call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY)
                  .in(UVERBS_ATTR_QUERY_GID_ENTRY_PORT, std::uint32_t{port})
                  .in(UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, std::uint32_t{index})
                  .in(UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, std::uint32_t{0})
                  .out(UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, one)
                  .make(*context),
              0);
    EXPECT_EQ(std::memcmp(&one, &entries[i], sizeof one), 0);
  }
}

TEST_F(UverbsTwoPorts, HaveStatesOfTheirOwnAtFirst) {
  open(",port=down:1");
  EXPECT_EQ(state_of(1), 1);
  EXPECT_EQ(state_of(2), 4);
  device->set_port(true);
  EXPECT_EQ(state_of(1), 4);
  device->set_port(false);
  EXPECT_EQ(state_of(1), 1);
  EXPECT_EQ(state_of(2), 1) << "as gdakit verbs kill-port has it";
  open(",port=armed:2");
  EXPECT_EQ(state_of(1), 4);
  EXPECT_EQ(state_of(2), 3);
  open(",port=init");
  EXPECT_EQ(state_of(1), 2);
  EXPECT_EQ(state_of(2), 2);
}

// Of the other end, too.
TEST_F(UverbsTwoPorts, AQueuePairOfEitherReachesEither) {
  open();
  Client client(*device), peer(*device);
  for (Client* const one : {&client, &peer}) one->make_all();
  const auto connect = [&](Client& from, const Client& to, std::uint8_t by, unsigned at) {
    ib_uverbs_modify_qp init = from.to_init(), rtr = from.to_rtr(to.qpn);
    init.port_num = rtr.dest.port_num = by;
    const Gid gid = device->identity().gid(to.gid_index, at);
    std::copy(gid.begin(), gid.end(), rtr.dest.dgid);
    ASSERT_EQ(from.modify(init), 0);
    ASSERT_EQ(from.modify(rtr), 0);
    ASSERT_EQ(from.modify(from.to_rts()), 0);
    EXPECT_EQ(from.query().port_num, by);
  };
  connect(client, peer, 2, 1);
  connect(peer, client, 1, 2);
  std::memcpy(client.payload(), "by port 2", 10);
  client.post_write(0, 10, peer.address(100), peer.key);
  EXPECT_EQ(format::cqe_opcode(client.next(client.send_cq).op_own), format::CqeOpcode::requester);
  EXPECT_EQ(std::memcmp(peer.payload() + 100, "by port 2", 10), 0);
}

struct UverbsPortOfAQueuePair : UverbsTwoPorts {
  // The error of RST2INIT by this port, and the port that QUERY_QP tells behind INIT2RTR by the
  // other one.
  int init(DevxClient& client, std::uint64_t port, std::uint64_t rtr_port, std::uint64_t& told) {
    using prm::Qpc;
    client.make_all();
    const auto umem = client.make_umem(client.queues.get(), sizeof *client.queues, /*access=*/0);
    const DevxMade qp = client.create(Opcode::create_qp, client.qp_request(umem.number));
    EXPECT_EQ(qp.error, 0);
    auto request = client.request(qp.number);
    const auto name = [](auto& of, std::uint64_t number) {
      of.at(prm::Rst2initQpIn::qpc)
          .at(Qpc::primary_address_path)
          .set(prm::Ads::vhca_port_num, number);
    };
    name(request, port);
    if (const int error = client.modify(qp.handle, Opcode::rst2init_qp, request)) return error;
    auto rtr = client.rtr_request(qp.number, client.qpn);
    name(rtr, rtr_port);
    EXPECT_EQ(client.modify(qp.handle, Opcode::init2rtr_qp, rtr), 0);
    EXPECT_EQ(client.modify(qp.handle, Opcode::rtr2rts_qp, client.rts_request(qp.number)), 0);
    prm::Mailbox<prm::QueryQpOut> out;
    EXPECT_EQ(client.query(qp.handle, Opcode::query_qp, qp.number, out), 0);
    told = out.at(prm::QueryQpOut::qpc).at(Qpc::primary_address_path).get(prm::Ads::vhca_port_num);
    return 0;
  }
};

TEST_F(UverbsPortOfAQueuePair, IsToldAsCommandsHaveNamedIt) {
  open();
  const auto told = [&](std::uint64_t port, std::uint64_t rtr_port) {
    DevxClient client(*device);
    std::uint64_t known = 99;
    EXPECT_EQ(init(client, port, rtr_port, known), 0);
    return known;
  };
  EXPECT_EQ(told(0, 0), 1u);
  EXPECT_EQ(told(1, 1), 1u);
  EXPECT_EQ(told(2, 2), 2u);
  EXPECT_EQ(told(2, 0), 2u) << "a path that names none";
  EXPECT_EQ(told(1, 2), 2u);
}

TEST_F(UverbsPortOfAQueuePair, MustBeThereAndUp) {
  const auto error = [&](std::uint64_t port) {
    DevxClient client(*device);
    std::uint64_t told = 0;
    return init(client, port, port, told);
  };
  open();
  EXPECT_EQ(error(2), 0);
  EXPECT_EQ(error(3), EREMOTEIO);
  open(",port=down:1");
  EXPECT_EQ(error(1), EREMOTEIO);
  EXPECT_EQ(error(0), EREMOTEIO) << "the first one";
  EXPECT_EQ(error(2), 0);
  context.reset();
  device = open_device(own_spec("one-port"));
  EXPECT_EQ(error(1), 0);
  EXPECT_EQ(error(2), EREMOTEIO);
}

TEST_F(UverbsTwoPorts, AreBothToldOfByEvents) {
  open();
  Call call(UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC);
  call.number(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE);
  ASSERT_EQ(call.make(*context), 0);
  const UniqueFileDescriptor file(
      static_cast<int>(call.given(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE)));
  device->set_port(false);
  for (const std::uint64_t port : {1, 2}) {
    AsyncRecord record{};
    ASSERT_EQ(::read(file.get(), &record, sizeof record), ssize_t{sizeof record});
    EXPECT_EQ(record.element, port);
  }
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
