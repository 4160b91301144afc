// Multicast groups: queue pairs of several devices in one, and who is told of datagrams to it.
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "backends/softnic/uverbs/multicast_groups.h"
#include "tests/uverbs/client.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace test;

constexpr std::size_t kTo = 512, kData = kTo + format::kGrhBytes;
constexpr Gid kGroup = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 3};
constexpr Gid kOtherGroup = {0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9};

// Until senders know who is in a group.
void wait_for_groups() {
  std::this_thread::sleep_for(2 * std::chrono::nanoseconds(MulticastGroups::kDelayNs));
}

struct UverbsMulticast : testing::Test {
  UverbsMulticast() {
    for (Client* client : {&sender, &near, &far}) {
      client->type = IB_UVERBS_QPT_UD;
      client->make_all();
      client->connect(*client);
    }
  }
  static int change(Client& client, std::uint32_t command, const Gid& group) {
    ib_uverbs_attach_mcast request{};
    std::memcpy(request.gid, group.data(), group.size());
    request.qp_handle = client.qp;
    return WriteCall(command).core_in(request).make(*client.context);
  }
  static int attach(Client& client, const Gid& group) {
    return change(client, IB_USER_VERBS_CMD_ATTACH_MCAST, group);
  }
  static int detach(Client& client, const Gid& group) {
    return change(client, IB_USER_VERBS_CMD_DETACH_MCAST, group);
  }
  void send(char what, const Gid& group) {
    format::AvSegment to{};
    to.hop_limit = 1;
    std::memcpy(to.rgid, group.data(), group.size());
    std::memset(sender.payload(), what, 100);
    sender.post_datagram(0, 100, to, kMulticastQp);
    EXPECT_EQ(format::cqe_opcode(sender.next(sender.send_cq).op_own), format::CqeOpcode::requester);
  }
  static void expect(char what, Client& client) {
    EXPECT_EQ(client.next(client.receive_cq).byte_cnt, 100u + format::kGrhBytes);
    EXPECT_EQ(client.payload()[kData], static_cast<std::byte>(what));
    EXPECT_EQ(client.payload()[kData + 99], static_cast<std::byte>(what));
  }

  const Spec spec = own_spec("multicast");
  std::unique_ptr<Device> one = open_device(spec), other = open_device(spec, 1);
  Client sender{*one}, near{*one}, far{*other};
};

TEST_F(UverbsMulticast, ADatagramReachesAllOfItsGroup) {
  ASSERT_EQ(attach(near, kGroup), 0);
  ASSERT_EQ(attach(far, kGroup), 0);
  wait_for_groups();
  for (const char what : {'a', 'b'}) {
    near.post_receive(kTo, 256);
    far.post_receive(kTo, 256);
    send(what, kGroup);
    expect(what, near);
    expect(what, far);
  }
}

TEST_F(UverbsMulticast, WhoIsInAnotherGroupOrHasLeftIsToldNothing) {
  ASSERT_EQ(attach(near, kGroup), 0);
  ASSERT_EQ(attach(far, kOtherGroup), 0);
  wait_for_groups();
  near.post_receive(kTo, 256);
  far.post_receive(kTo, 256);
  send('a', kGroup);
  expect('a', near);
  // At once: what is sent behind the call does not come.
  ASSERT_EQ(detach(near, kGroup), 0);
  near.post_receive(kTo, 256);
  send('b', kGroup);
  send('c', kOtherGroup);
  expect('c', far);
  EXPECT_EQ(near.payload()[kData], std::byte{'a'});
}

TEST_F(UverbsMulticast, ADatagramToNobodyIsLost) {
  send('a', kGroup);
  send('b', {});
}

TEST_F(UverbsMulticast, AQueuePairStaysAsLongAsItIsInAGroup) {
  ASSERT_EQ(attach(near, kGroup), 0);
  EXPECT_EQ(attach(near, kGroup), 0) << "it is in it already";
  EXPECT_EQ(near.destroy_qp(near.qp), EBUSY);
  EXPECT_EQ(detach(near, kOtherGroup), EINVAL);
  EXPECT_EQ(detach(near, kGroup), 0);
  EXPECT_EQ(detach(near, kGroup), EINVAL);
  EXPECT_EQ(near.destroy_qp(near.qp), 0);
}

TEST_F(UverbsMulticast, OnlyQueuePairsOfDatagramsAreInGroups) {
  Client connected{*one};
  connected.make_all();
  EXPECT_EQ(attach(connected, kGroup), EINVAL);
  EXPECT_EQ(attach(near, one->identity().gid(1)), EINVAL) << "an address of one";
  near.qp = 0x7777;
  EXPECT_EQ(attach(near, kGroup), EINVAL);
}

TEST_F(UverbsMulticast, AContextThatClosesLeaves) {
  ASSERT_EQ(attach(far, kGroup), 0);
  EXPECT_EQ(MulticastGroups(spec.fabric).members(kGroup, 1).size(), 1u);
  far.context.reset();
  EXPECT_TRUE(MulticastGroups(spec.fabric).members(kGroup, 1).empty());
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
