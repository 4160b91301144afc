// What programs write to /dev/infiniband/rdma_cm, good and bad.
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <endian.h>
#include <map>
#include <memory>
#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/uverbs/cm/commands.h"
#include "backends/softnic/uverbs/cm/commands_query.h"
#include "tests/uverbs/caller.h"

namespace gdakit::softnic::uverbs::cm {
namespace {

using test::address_of;
using test::kNowhere;

constexpr std::uint32_t kNoId = 0x7fff'ffff;

template <class Sockaddr>
Sockaddr loopback(std::uint16_t port, std::uint8_t last = 1) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_port = htons(port);
  in.sin_addr.s_addr = htonl(0x7f000000u | last);
  Sockaddr address{};
  std::memcpy(&address, &in, sizeof in);
  return address;
}

class CmCommands : public testing::Test {
 protected:
  CmCommands() { caller_.may_block = false; }

  // Of a command, with its header.
  template <class Command>
  int make(std::uint32_t number, const Command& command, std::size_t room = 0,
           std::size_t bytes = sizeof(Command)) {
    std::vector<std::uint8_t> written(sizeof(rdma_ucm_cmd_hdr) + bytes);
    const rdma_ucm_cmd_hdr header{number, static_cast<std::uint16_t>(bytes),
                                  static_cast<std::uint16_t>(room)};
    std::memcpy(written.data(), &header, sizeof header);
    std::memcpy(written.data() + sizeof header, &command, std::min(bytes, sizeof command));
    return write_command(caller_, address_of(written.data()), written.size());
  }

  std::uint32_t create(std::uint16_t space = RDMA_PS_TCP) {
    rdma_ucm_create_id_resp answer{kNoId};
    rdma_ucm_create_id command{};
    command.uid = 7;
    command.ps = space;
    command.response = address_of(&answer);
    EXPECT_EQ(make(RDMA_USER_CM_CMD_CREATE_ID, command, sizeof answer), 0);
    return answer.id;
  }
  rdma_ucm_event_resp event() {
    rdma_ucm_event_resp answer{};
    rdma_ucm_get_event command{address_of(&answer)};
    EXPECT_EQ(make(RDMA_USER_CM_CMD_GET_EVENT, command, sizeof answer), 0);
    return answer;
  }
  int resolve(std::uint32_t id, std::uint16_t port, std::uint8_t last = 1) {
    rdma_ucm_resolve_addr command{};
    command.id = id;
    command.dst_size = sizeof(sockaddr_in);
    command.dst_addr = loopback<__kernel_sockaddr_storage>(port, last);
    return make(RDMA_USER_CM_CMD_RESOLVE_ADDR, command);
  }

  const Spec spec_ = test::own_spec("cm-commands");
  std::map<int, std::unique_ptr<Device>> devices_;
  Manager manager_{spec_, [this](int nic) -> Result<Device*> {
                     Result<std::unique_ptr<Device>> device = Device::open(spec_, nic);
                     if (!device) return device.error();
                     return (devices_[nic] = std::move(*device)).get();
                   }};
  std::shared_ptr<File> file_ = *File::open();
  Caller caller_{manager_, file_, false, [](int) { return std::shared_ptr<File>(); }};
};

TEST_F(CmCommands, RefusesWhatIsNoCommand) {
  const rdma_ucm_cmd_hdr header{RDMA_USER_CM_CMD_CREATE_ID, 0, 0};
  EXPECT_EQ(write_command(caller_, address_of(&header), sizeof header - 1), EINVAL);
  EXPECT_EQ(write_command(caller_, kNowhere, sizeof header), EFAULT);
  const rdma_ucm_cmd_hdr longer{RDMA_USER_CM_CMD_CREATE_ID, sizeof(rdma_ucm_create_id), 4};
  EXPECT_EQ(write_command(caller_, address_of(&longer), sizeof longer), EINVAL);
  EXPECT_EQ(make(RDMA_USER_CM_CMD_JOIN_MCAST + 1, 0), EINVAL);
  EXPECT_EQ(make(~0u, 0), EINVAL);
  EXPECT_EQ(make(RDMA_USER_CM_CMD_GET_OPTION, rdma_ucm_set_option{}), ENOSYS);
}

TEST_F(CmCommands, WantsWholeCommands) {
  for (std::uint32_t number = 0; number <= RDMA_USER_CM_CMD_JOIN_MCAST; ++number) {
    const int error = make(number, std::uint16_t{0}, 512);
    const bool is_unknown = number == RDMA_USER_CM_CMD_GET_OPTION;
    EXPECT_EQ(error, is_unknown ? ENOSYS : EINVAL) << number;
  }
}

TEST_F(CmCommands, JoinsAGroupAndLeavesIt) {
  const std::uint32_t id = create(RDMA_PS_UDP);
  ASSERT_EQ(resolve(id, 0), 0);
  event();
  rdma_ucm_create_id_resp group{kNoId};
  rdma_ucm_join_mcast join{};
  join.response = address_of(&group);
  join.uid = 99;
  join.id = id;
  EXPECT_EQ(make(RDMA_USER_CM_CMD_JOIN_MCAST, join, sizeof group), EINVAL) << "of no address";
  join.addr = loopback<__kernel_sockaddr_storage>(0);
  join.addr_size = sizeof(sockaddr_in);
  EXPECT_EQ(make(RDMA_USER_CM_CMD_JOIN_MCAST, join, sizeof group), EINVAL) << "of one NIC";
  const std::uint32_t ip = htonl(0xef010203);
  std::memcpy(reinterpret_cast<std::uint8_t*>(&join.addr) + offsetof(sockaddr_in, sin_addr), &ip,
              sizeof ip);
  join.join_flags = RDMA_MC_JOIN_FLAG_RESERVED;
  EXPECT_EQ(make(RDMA_USER_CM_CMD_JOIN_MCAST, join, sizeof group), EINVAL);
  join.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
  EXPECT_EQ(make(RDMA_USER_CM_CMD_JOIN_MCAST, join, 0), ENOSPC);
  ASSERT_EQ(make(RDMA_USER_CM_CMD_JOIN_MCAST, join, sizeof group), 0);
  const rdma_ucm_event_resp told = event();
  EXPECT_EQ(told.event, 12u) << "RDMA_CM_EVENT_MULTICAST_JOIN";
  EXPECT_EQ(told.uid, 99u);
  EXPECT_EQ(told.id, group.id);
  EXPECT_EQ(told.param.ud.qp_num, kMulticastQp);
  EXPECT_EQ(told.param.ud.qkey, kUdpQkey);
  EXPECT_EQ(told.param.ud.ah_attr.is_global, 1u);
  EXPECT_EQ(told.param.ud.ah_attr.grh.dgid[12], 239);
  rdma_ucm_destroy_id_resp left{};
  rdma_ucm_destroy_id leave{};
  leave.response = address_of(&left);
  leave.id = group.id;
  ASSERT_EQ(make(RDMA_USER_CM_CMD_LEAVE_MCAST, leave, sizeof left), 0);
  EXPECT_EQ(left.events_reported, 1u);
  EXPECT_EQ(make(RDMA_USER_CM_CMD_LEAVE_MCAST, leave, sizeof left), ENOENT);
}

TEST_F(CmCommands, KnowsNoOthersIdentifiers) {
  std::array<std::uint8_t, 1024> answer{};
  const std::uint64_t to = address_of(answer.data());
  const auto expect_unknown = [&](std::uint32_t number, const auto& command) {
    EXPECT_EQ(make(number, command, answer.size()), ENOENT) << number;
  };
  const auto try_all = [&](std::uint32_t id) {
    expect_unknown(RDMA_USER_CM_CMD_DESTROY_ID, rdma_ucm_destroy_id{to, id, 0});
    expect_unknown(RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{id, 0});
    expect_unknown(RDMA_USER_CM_CMD_QUERY_ROUTE, rdma_ucm_query{to, id, 0});
    expect_unknown(RDMA_USER_CM_CMD_QUERY, rdma_ucm_query{to, id, 0});
    expect_unknown(RDMA_USER_CM_CMD_LISTEN, rdma_ucm_listen{id, 0});
    expect_unknown(RDMA_USER_CM_CMD_DISCONNECT, rdma_ucm_disconnect{id});
    expect_unknown(RDMA_USER_CM_CMD_INIT_QP_ATTR, rdma_ucm_init_qp_attr{to, id, 1});
    expect_unknown(RDMA_USER_CM_CMD_NOTIFY, rdma_ucm_notify{id, 4});
    rdma_ucm_reject reject{};
    reject.id = id;
    expect_unknown(RDMA_USER_CM_CMD_REJECT, reject);
    rdma_ucm_accept accept{};
    accept.id = id;
    expect_unknown(RDMA_USER_CM_CMD_ACCEPT, accept);
    accept.conn_param.valid = 1;
    expect_unknown(RDMA_USER_CM_CMD_ACCEPT, accept);
    rdma_ucm_connect connect{};
    connect.id = id;
    connect.conn_param.valid = 1;
    expect_unknown(RDMA_USER_CM_CMD_CONNECT, connect);
    EXPECT_EQ(resolve(id, 1), ENOENT);
    rdma_ucm_bind bind{};
    bind.id = id;
    bind.addr_size = sizeof(sockaddr_in);
    bind.addr = loopback<__kernel_sockaddr_storage>(7000);
    expect_unknown(RDMA_USER_CM_CMD_BIND, bind);
  };
  try_all(kNoId);
  const std::uint32_t id = create();
  caller_.file = *File::open();
  try_all(id);
}

TEST_F(CmCommands, ChangesNothingWhereTheAnswerCannotGo) {
  rdma_ucm_create_id command{};
  command.ps = RDMA_PS_TCP;
  command.response = kNowhere;
  EXPECT_EQ(make(RDMA_USER_CM_CMD_CREATE_ID, command, sizeof(rdma_ucm_create_id_resp)), EFAULT);
  EXPECT_EQ(make(RDMA_USER_CM_CMD_CREATE_ID, command, 0), ENOSPC);
  const std::uint32_t id = create();
  EXPECT_EQ(make(RDMA_USER_CM_CMD_DESTROY_ID, rdma_ucm_destroy_id{kNowhere, id, 0}, 4), EFAULT);
  EXPECT_EQ(resolve(id, 7000), 0);
  rdma_ucm_get_event wrong{kNowhere};
  EXPECT_EQ(make(RDMA_USER_CM_CMD_GET_EVENT, wrong, sizeof(rdma_ucm_event_resp)), EFAULT);
  EXPECT_EQ(make(RDMA_USER_CM_CMD_GET_EVENT, wrong, 4), ENOSPC);
  EXPECT_EQ(event().event, static_cast<std::uint32_t>(EventKind::addr_resolved));
}

TEST_F(CmCommands, SaysWhenThereIsNoEvent) {
  rdma_ucm_event_resp answer{};
  EXPECT_EQ(
      make(RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{address_of(&answer)}, sizeof answer),
      EAGAIN);
}

TEST_F(CmCommands, KnowsPortSpaces) {
  std::uint32_t id = kNoId;
  rdma_ucm_create_id command{};
  command.response = address_of(&id);
  for (const std::uint16_t space : {RDMA_PS_TCP, RDMA_PS_UDP, RDMA_PS_IPOIB}) {
    command.ps = space;
    EXPECT_EQ(make(RDMA_USER_CM_CMD_CREATE_ID, command, sizeof id), 0);
  }
  command.ps = RDMA_PS_IB;
  command.qp_type = 3;
  EXPECT_EQ(make(RDMA_USER_CM_CMD_CREATE_ID, command, sizeof id), 0);
  command.qp_type = 200;
  EXPECT_EQ(make(RDMA_USER_CM_CMD_CREATE_ID, command, sizeof id), EINVAL);
  command.ps = 0x1234;
  EXPECT_EQ(make(RDMA_USER_CM_CMD_CREATE_ID, command, sizeof id), EINVAL);
}

TEST_F(CmCommands, WantsAddressesOfIp) {
  const std::uint32_t id = create();
  rdma_ucm_bind bind{};
  bind.id = id;
  bind.addr = loopback<__kernel_sockaddr_storage>(0);
  for (const std::uint16_t bytes : {0, 1, 4, 15}) {
    bind.addr_size = bytes;
    EXPECT_EQ(make(RDMA_USER_CM_CMD_BIND, bind), EINVAL) << bytes;
  }
  bind.addr_size = 65535;
  bind.addr.ss_family = AF_UNIX;
  EXPECT_EQ(make(RDMA_USER_CM_CMD_BIND, bind), EINVAL);
  rdma_ucm_resolve_ip resolve_ip{};
  resolve_ip.id = id;
  EXPECT_EQ(make(RDMA_USER_CM_CMD_RESOLVE_IP, resolve_ip), EINVAL);
  // Both ways to say it.
  rdma_ucm_bind_ip bind_ip{};
  bind_ip.id = id;
  bind_ip.addr = loopback<sockaddr_in6>(0);
  EXPECT_EQ(make(RDMA_USER_CM_CMD_BIND_IP, bind_ip), 0);
}

TEST_F(CmCommands, TakesOptionsOfTheirLength) {
  const std::uint32_t id = create();
  std::uint32_t value = 20;
  const auto set = [&](std::uint32_t level, std::uint32_t name, std::uint32_t bytes) {
    return make(RDMA_USER_CM_CMD_SET_OPTION,
                rdma_ucm_set_option{address_of(&value), id, level, name, bytes});
  };
  EXPECT_EQ(set(RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, 1), 0);
  EXPECT_EQ(set(RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, 4), EINVAL);
  EXPECT_EQ(set(RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, 1), 0);
  EXPECT_EQ(set(RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, 4), 0);
  EXPECT_EQ(set(RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, 1), EINVAL);
  EXPECT_EQ(set(RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, 4), 0);
  EXPECT_EQ(set(RDMA_OPTION_ID, 99, 4), ENOSYS);
  EXPECT_EQ(set(RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, 4), ENOSYS);
  value = 32;
  EXPECT_EQ(set(RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, 1), EINVAL);
  EXPECT_EQ(make(RDMA_USER_CM_CMD_SET_OPTION,
                 rdma_ucm_set_option{kNowhere, id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, 1}),
            EFAULT);
}

TEST_F(CmCommands, MovesNothingFromWhatIsNoFile) {
  std::uint32_t reported = 0;
  EXPECT_EQ(make(RDMA_USER_CM_CMD_MIGRATE_ID,
                 rdma_ucm_migrate_id{address_of(&reported), create(), 1}, sizeof reported),
            EINVAL);
}

TEST_F(CmCommands, AnswersWhereAnIdentifierLeads) {
  const std::uint32_t id = create();
  rdma_ucm_query_route_resp route{};
  const rdma_ucm_query query{address_of(&route), id, RDMA_USER_CM_QUERY_ADDR};
  EXPECT_EQ(make(RDMA_USER_CM_CMD_QUERY_ROUTE, query, sizeof route), 0);
  EXPECT_EQ(route.node_guid, 0u);
  EXPECT_EQ(resolve(id, 7000), 0);
  EXPECT_EQ(make(RDMA_USER_CM_CMD_QUERY_ROUTE, query, sizeof route), 0);
  EXPECT_EQ(route.node_guid, htobe64(Identity(spec_, 0).guid()));
  EXPECT_EQ(route.port_num, 1);
  EXPECT_EQ(route.num_paths, 0u);
  EXPECT_EQ(route.ib_route[0].dgid[15], 1);
  EXPECT_EQ(make(RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{id, 0}), 0);
  EXPECT_EQ(make(RDMA_USER_CM_CMD_QUERY_ROUTE, query, sizeof route), 0);
  EXPECT_EQ(route.num_paths, 1u);
  EXPECT_EQ(make(RDMA_USER_CM_CMD_QUERY_ROUTE, query, 16), ENOSPC);
  rdma_ucm_query_addr_resp addresses{};
  const rdma_ucm_query of_addresses{address_of(&addresses), id, RDMA_USER_CM_QUERY_ADDR};
  EXPECT_EQ(make(RDMA_USER_CM_CMD_QUERY, of_addresses, sizeof addresses), 0);
  EXPECT_EQ(addresses.dst_size, sizeof(sockaddr_in));
  EXPECT_EQ(addresses.dst_addr.ss_family, AF_INET);
  const rdma_ucm_query of_nothing{address_of(&addresses), id, 99};
  EXPECT_EQ(make(RDMA_USER_CM_CMD_QUERY, of_nothing, sizeof addresses), ENOSYS);
  std::array<std::uint8_t, sizeof(rdma_ucm_query_path_resp) + 6 * sizeof(ib_path_rec_data)> paths{};
  const rdma_ucm_query of_paths{address_of(paths.data()), id, RDMA_USER_CM_QUERY_PATH};
  EXPECT_EQ(make(RDMA_USER_CM_CMD_QUERY, of_paths, paths.size()), 0);
  EXPECT_EQ(paths[0], 1);  // how many
  // Behind the record's flags: its destination's GID, of which this is the last byte.
  EXPECT_EQ(paths[sizeof(rdma_ucm_query_path_resp) + 8 + 23], 1);
}

TEST_F(CmCommands, GivesTheAttributesOfAQueuePair) {
  IdState state;
  ib_uverbs_qp_attr attributes{};
  EXPECT_EQ(qp_attributes(spec_, state, 1, attributes), EINVAL);  // no NIC yet
  state.kind = QpKind::rc;
  state.nic = 0;
  EXPECT_EQ(qp_attributes(spec_, state, 1, attributes), 0);
  EXPECT_EQ(attributes.qp_access_flags, 0u);
  EXPECT_EQ(qp_attributes(spec_, state, 2, attributes), EINVAL);  // no peer yet
  state.way.destination = ip_of_nic(spec_, 0);
  state.agreed = Agreed{.peer_qpn = 9,
                        .receive_psn = 5,
                        .send_psn = 6,
                        .responder_resources = 3,
                        .initiator_depth = 4,
                        .retry_count = 7,
                        .rnr_retry_count = 2,
                        .mtu_code = 5,
                        .ack_timeout = 17};
  EXPECT_EQ(qp_attributes(spec_, state, 1, attributes), 0);
  EXPECT_EQ(attributes.qp_attr_mask, 0x39u);    // state, access, P_Key, port
  EXPECT_EQ(attributes.qp_access_flags, 0xeu);  // remote write, read, atomic
  EXPECT_EQ(qp_attributes(spec_, state, 2, attributes), 0);
  EXPECT_EQ(attributes.qp_attr_mask, 0x12'9181u);
  EXPECT_EQ(attributes.dest_qp_num, 9u);
  EXPECT_EQ(attributes.rq_psn, 5u);
  EXPECT_EQ(attributes.max_dest_rd_atomic, 3);
  EXPECT_EQ(attributes.path_mtu, 5u);
  EXPECT_EQ(attributes.ah_attr.is_global, 1);
  EXPECT_EQ(attributes.ah_attr.grh.sgid_index, 3);
  EXPECT_EQ(attributes.ah_attr.grh.dgid[15], 1);
  EXPECT_EQ(qp_attributes(spec_, state, 3, attributes), 0);
  EXPECT_EQ(attributes.qp_attr_mask, 0x1'2e01u);
  EXPECT_EQ(attributes.sq_psn, 6u);
  EXPECT_EQ(attributes.timeout, 17);
  EXPECT_EQ(attributes.retry_cnt, 7);
  EXPECT_EQ(attributes.rnr_retry, 2);
  EXPECT_EQ(attributes.max_rd_atomic, 4);
  EXPECT_EQ(qp_attributes(spec_, state, 4, attributes), EINVAL);
  state.kind = QpKind::uc;
  EXPECT_EQ(qp_attributes(spec_, state, 3, attributes), 0);
  EXPECT_EQ(attributes.qp_attr_mask, 0x1'0001u);
  state.kind = QpKind::ud;
  EXPECT_EQ(qp_attributes(spec_, state, 1, attributes), 0);
  EXPECT_EQ(attributes.qkey, 0x01234567u);
}

}  // namespace
}  // namespace gdakit::softnic::uverbs::cm
