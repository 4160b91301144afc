// Connection managers of two processes' NICs on a fabric, here both in one.
#include <cerrno>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/uverbs/cm/manager.h"
#include "tests/uverbs/caller.h"

namespace gdakit::softnic::uverbs::cm {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 60s;
constexpr std::uint16_t kPort = 7174;

// A process: its NICs, its manager, and a file with one event channel.
class Process {
 public:
  explicit Process(const Spec& spec)
      : spec_(spec),
        manager_(std::make_unique<Manager>(spec, [this](int nic) { return open(nic); })) {
    Result<std::shared_ptr<File>> opened = File::open();
    if (!opened) throw std::runtime_error(opened.error().message());
    file = *opened;
  }
  ~Process() { manager_.reset(); }

  Manager& manager() { return *manager_; }

  std::uint32_t make_id(PortSpace space = PortSpace::tcp) {
    std::uint32_t handle = 0;
    const QpKind kind = space == PortSpace::tcp ? QpKind::rc : QpKind::ud;
    EXPECT_EQ(manager().create_id(file, ++uids_, space, kind, handle), 0);
    return handle;
  }
  std::uint32_t listen(std::uint32_t backlog = 0, PortSpace space = PortSpace::tcp) {
    const std::uint32_t id = make_id(space);
    EXPECT_EQ(manager().bind(*file, id, {{}, kPort}), 0);
    EXPECT_EQ(manager().listen(*file, id, backlog), 0);
    return id;
  }
  // Up to the route.
  std::uint32_t resolve(const IpPort& to, PortSpace space = PortSpace::tcp) {
    const std::uint32_t id = make_id(space);
    EXPECT_EQ(manager().resolve_address(*file, id, {}, to), 0);
    EXPECT_EQ(next().kind, EventKind::addr_resolved);
    EXPECT_EQ(manager().resolve_route(*file, id), 0);
    EXPECT_EQ(next().kind, EventKind::route_resolved);
    return id;
  }
  IdState state(std::uint32_t id) {
    IdState found;
    EXPECT_EQ(manager().query(*file, id, found), 0);
    return found;
  }
  int destroy(std::uint32_t id) {
    std::uint32_t reported = 0;
    return manager().destroy_id(*file, id, reported);
  }

  Event next() {
    const auto limit = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < limit) {
      if (auto event = manager().next_event(*file)) return std::move(*event);
      std::this_thread::sleep_for(1ms);
    }
    ADD_FAILURE() << "no event has come";
    return {};
  }
  bool has_event_within(std::chrono::milliseconds time) {
    std::this_thread::sleep_for(time);
    return manager().next_event(*file).has_value();
  }

  Device& device(int nic = 0) { return *devices_.at(nic); }

  std::shared_ptr<File> file;

 private:
  Result<Device*> open(int nic) {
    Result<std::unique_ptr<Device>> opened = Device::open(spec_, nic);
    if (!opened) return opened.error();
    return (devices_[nic] = std::move(*opened)).get();
  }

  const Spec spec_;
  std::map<int, std::unique_ptr<Device>> devices_;
  std::uint64_t uids_ = 100;
  std::unique_ptr<Manager> manager_;
};

ConnectParameters parameters(std::vector<std::uint8_t> data = {}) {
  ConnectParameters parameters;
  parameters.qp.qpn = 77;
  parameters.qp.responder_resources = parameters.qp.initiator_depth = 2;
  parameters.private_data = std::move(data);
  return parameters;
}

class CmManager : public testing::Test {
 protected:
  static Spec named(const char* name, int nics = 1) {
    Spec spec = test::own_spec(name);
    spec.nics = nics;
    return spec;
  }

  IpPort address(int nic = 0) const { return {ip_of_nic(spec_, nic), kPort}; }

  // Both sides' identifiers of a connection.
  std::pair<std::uint32_t, std::uint32_t> connect() {
    server_.listen();
    const std::uint32_t active = client_.resolve(address());
    EXPECT_EQ(client_.manager().connect(*client_.file, active, parameters()), 0);
    const std::uint32_t passive = server_.next().handle;
    EXPECT_EQ(server_.manager().accept(*server_.file, passive, 55, parameters()), 0);
    EXPECT_EQ(client_.next().kind, EventKind::connect_response);
    EXPECT_EQ(client_.manager().confirm(*client_.file, active), 0);
    const Event established = server_.next();
    EXPECT_EQ(established.kind, EventKind::established);
    EXPECT_EQ(established.uid, 55u);
    return {active, passive};
  }

  // A request that the server's program does not fetch. Returns who listens.
  std::uint32_t ask() {
    const std::uint32_t listener = server_.listen();
    const std::uint32_t active = client_.resolve(address());
    EXPECT_EQ(client_.manager().connect(*client_.file, active, parameters()), 0);
    std::this_thread::sleep_for(200ms);
    return listener;
  }

  const Spec spec_ = named("cm");
  Process server_{spec_};
  Process client_{spec_};
};

TEST_F(CmManager, ConnectsTwoProcesses) {
  const auto [active, passive] = connect();
  const IdState at_client = client_.state(active);
  const IdState at_server = server_.state(passive);
  EXPECT_EQ(at_client.destination, address());
  EXPECT_EQ(at_server.source, address());
  EXPECT_EQ(at_client.source, at_server.destination);
  EXPECT_NE(at_client.source.port, 0);
  ASSERT_TRUE(at_client.agreed && at_server.agreed);
  EXPECT_EQ(at_client.agreed->receive_psn, at_server.agreed->send_psn);
  EXPECT_EQ(at_client.agreed->send_psn, at_server.agreed->receive_psn);
  EXPECT_EQ(at_server.agreed->peer_qpn, 77u);
  EXPECT_EQ(client_.manager().disconnect(*client_.file, active), 0);
  EXPECT_EQ(server_.next().kind, EventKind::disconnected);
  EXPECT_EQ(client_.next().kind, EventKind::disconnected);
  EXPECT_EQ(server_.next().kind, EventKind::timewait_exit);
  EXPECT_EQ(client_.next().kind, EventKind::timewait_exit);
}

TEST_F(CmManager, TellsEachSideWhatTheOthersNicCanDo) {
  server_.listen();
  const std::uint32_t active = client_.resolve(address());
  ConnectParameters asked = parameters(), answered = parameters();
  asked.ece = {0x15b3, 0x30000002};
  answered.ece = {0x15b3, 2};
  ASSERT_EQ(client_.manager().connect(*client_.file, active, asked), 0);
  const Event request = server_.next();
  EXPECT_EQ(request.ece, asked.ece);
  ASSERT_EQ(server_.manager().accept(*server_.file, request.handle, 55, answered), 0);
  EXPECT_EQ(client_.next().ece, answered.ece);
}

TEST_F(CmManager, ConnectsByTheLoopbackAddressOfIpv6) {
  constexpr Gid kLoopback = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  const std::uint32_t listener = server_.make_id();
  ASSERT_EQ(server_.manager().bind(*server_.file, listener, {kLoopback, kPort}), 0);
  ASSERT_EQ(server_.manager().listen(*server_.file, listener, 0), 0);
  const std::uint32_t active = client_.resolve({kLoopback, kPort});
  EXPECT_EQ(client_.state(active).source.ip, kLoopback);
  EXPECT_EQ(client_.state(active).nic, 0);
  ASSERT_EQ(client_.manager().connect(*client_.file, active, parameters()), 0);
  const Event request = server_.next();
  EXPECT_EQ(request.kind, EventKind::connect_request);
  const IdState passive = server_.state(request.handle);
  EXPECT_EQ(passive.source.ip, kLoopback);
  EXPECT_EQ(passive.destination.ip, kLoopback);
  EXPECT_EQ(passive.way.destination, gid_of_nic(spec_, 0));
  ASSERT_EQ(server_.manager().accept(*server_.file, request.handle, 55, parameters()), 0);
  EXPECT_EQ(client_.next().kind, EventKind::connect_response);
}

TEST_F(CmManager, ConnectsThroughABadNetwork) {
  const std::uint32_t opens_nic = server_.listen();
  EXPECT_EQ(server_.destroy(opens_nic), 0);
  static_cast<void>(client_.resolve(address()));
  for (Process* const process : {&server_, &client_}) {
    Device& device = process->device();
    ASSERT_TRUE(device.port().set_faults(device.nic(), "drop=30%,repeat=20%,delay=50us..20ms"));
  }
  const auto [active, passive] = connect();
  EXPECT_EQ(server_.manager().disconnect(*server_.file, passive), 0);
  EXPECT_EQ(server_.next().kind, EventKind::disconnected);
  EXPECT_EQ(client_.next().kind, EventKind::disconnected);
}

TEST_F(CmManager, IsToldWhenNobodyListens) {
  const std::uint32_t id = client_.resolve(address());
  EXPECT_EQ(client_.manager().connect(*client_.file, id, parameters()), 0);
  const Event event = client_.next();
  EXPECT_EQ(event.kind, EventKind::rejected);
  EXPECT_EQ(event.status, kInvalidServiceId);
  EXPECT_EQ(client_.manager().disconnect(*client_.file, id), EINVAL);
}

TEST_F(CmManager, IsToldOfAnAddressThatIsNoNics) {
  const std::uint32_t id = client_.make_id();
  IpPort nowhere = address();
  nowhere.ip[12] = 10;
  EXPECT_EQ(client_.manager().resolve_address(*client_.file, id, {}, nowhere), 0);
  const Event event = client_.next();
  EXPECT_EQ(event.kind, EventKind::addr_error);
  EXPECT_EQ(event.status, -ENODEV);
  // It may try again.
  EXPECT_EQ(client_.manager().resolve_address(*client_.file, id, {}, address()), 0);
  EXPECT_EQ(client_.next().kind, EventKind::addr_resolved);
}

TEST_F(CmManager, HandsARefusalOver) {
  server_.listen();
  const std::uint32_t active = client_.resolve(address());
  EXPECT_EQ(client_.manager().connect(*client_.file, active, parameters({1})), 0);
  const Event request = server_.next();
  EXPECT_EQ(request.private_data.at(0), 1);
  EXPECT_EQ(server_.manager().reject(*server_.file, request.handle, kConsumerDefined, {2, 3}), 0);
  const Event event = client_.next();
  EXPECT_EQ(event.kind, EventKind::rejected);
  EXPECT_EQ(event.status, kConsumerDefined);
  EXPECT_EQ(event.private_data.at(1), 3);
  EXPECT_EQ(server_.manager().accept(*server_.file, request.handle, 1, parameters()), EINVAL);
  EXPECT_EQ(server_.destroy(request.handle), 0);
}

TEST_F(CmManager, GivesAPortToOneAtATime) {
  const std::uint32_t listener = server_.listen();
  const std::uint32_t other = client_.make_id();
  EXPECT_EQ(client_.manager().bind(*client_.file, other, {{}, kPort}), EADDRINUSE);
  EXPECT_EQ(client_.manager().bind(*client_.file, other, address()), EADDRINUSE);
  const std::uint32_t own = server_.make_id();
  EXPECT_EQ(server_.manager().bind(*server_.file, own, address()), EADDRINUSE);
  // That of datagrams is another one.
  const std::uint32_t datagrams = client_.make_id(PortSpace::udp);
  EXPECT_EQ(client_.manager().bind(*client_.file, datagrams, {{}, kPort}), 0);
  EXPECT_EQ(server_.destroy(listener), 0);
  EXPECT_EQ(client_.manager().bind(*client_.file, other, address()), 0);
}

TEST_F(CmManager, FindsAFreePort) {
  const std::uint32_t id = server_.make_id();
  EXPECT_EQ(server_.manager().bind(*server_.file, id, {address().ip, 0}), 0);
  const std::uint16_t port = server_.state(id).source.port;
  EXPECT_GE(port, 32768);
  const std::uint32_t other = client_.make_id();
  EXPECT_EQ(client_.manager().bind(*client_.file, other, {{}, port}), EADDRINUSE);
}

TEST_F(CmManager, BindsToItsOwnNicsAlone) {
  const std::uint32_t id = server_.make_id();
  EXPECT_EQ(server_.manager().bind(*server_.file, id, address(1)), EADDRNOTAVAIL);
  EXPECT_EQ(server_.manager().bind(*server_.file, id, address(0)), 0);
  EXPECT_EQ(server_.manager().bind(*server_.file, id, address(0)), EINVAL);
  EXPECT_EQ(server_.state(id).nic, 0);
}

TEST_F(CmManager, TakesNoMoreRequestsThanItsBacklog) {
  server_.listen(/*backlog=*/1);
  const std::uint32_t first = client_.resolve(address());
  const std::uint32_t second = client_.resolve(address());
  EXPECT_EQ(client_.manager().connect(*client_.file, first, parameters({1})), 0);
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(client_.manager().connect(*client_.file, second, parameters({2})), 0);
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(server_.next().private_data.at(0), 1);
  // The second one comes again, and there is room now.
  EXPECT_EQ(server_.next().private_data.at(0), 2);
}

TEST_F(CmManager, RefusesWhatNobodyHasFetchedWhenTheListenerEnds) {
  const std::uint32_t listener = ask();
  EXPECT_EQ(server_.destroy(listener), 0);
  EXPECT_EQ(client_.next().kind, EventKind::rejected);
  EXPECT_FALSE(server_.has_event_within(10ms));
}

TEST_F(CmManager, RefusesWhatNobodyHasFetchedWhenTheFileIsClosed) {
  ask();
  server_.manager().close(*server_.file);
  EXPECT_EQ(client_.next().kind, EventKind::rejected);
}

TEST_F(CmManager, RefusesWhatNobodyHasFetchedWhenTheProcessEnds) {
  ask();
  server_.manager().try_close_all();
  EXPECT_EQ(client_.next().kind, EventKind::rejected);
}

// Handles can be guessed.
TEST_F(CmManager, EndsARequestThatNobodyHasFetchedBeforeItsListener) {
  const std::uint32_t listener = ask();
  const std::uint32_t request = listener + 1;
  EXPECT_EQ(server_.state(request).source.port, kPort);
  EXPECT_EQ(server_.destroy(request), 0);
  EXPECT_EQ(server_.destroy(listener), 0);
  EXPECT_EQ(client_.next().kind, EventKind::rejected);
}

TEST_F(CmManager, TellsThePeerWhenTheProgramClosesItsFile) {
  connect();
  server_.manager().close(*server_.file);
  EXPECT_EQ(client_.next().kind, EventKind::disconnected);
}

TEST(CmManagerAlone, IsToldOfAProcessThatIsGone) {
  const Spec spec = test::own_spec("cm-gone");
  Process client(spec);
  auto server = std::make_unique<Process>(spec);
  server->listen();
  const std::uint32_t active = client.resolve({ip_of_nic(spec, 0), kPort});
  EXPECT_EQ(client.manager().connect(*client.file, active, parameters()), 0);
  const std::uint32_t passive = server->next().handle;
  EXPECT_EQ(server->manager().accept(*server->file, passive, 1, parameters()), 0);
  EXPECT_EQ(client.next().kind, EventKind::connect_response);
  EXPECT_EQ(client.manager().confirm(*client.file, active), 0);
  EXPECT_EQ(server->next().kind, EventKind::established);
  // As of one that is killed: it says nothing any more.
  Device& device = server->device();
  device.set_port(false);
  server.reset();
  EXPECT_EQ(client.next().kind, EventKind::disconnected);
}

TEST_F(CmManager, MovesAnIdentifierWithItsEvents) {
  const auto [active, passive] = connect();
  EXPECT_EQ(server_.manager().disconnect(*server_.file, passive), 0);
  std::this_thread::sleep_for(100ms);
  const std::shared_ptr<File> before = client_.file;
  client_.file = *File::open();
  std::uint32_t reported = 0;
  EXPECT_EQ(client_.manager().migrate(*before, client_.file, active, reported), 0);
  EXPECT_EQ(reported, 3u);
  EXPECT_EQ(client_.next().kind, EventKind::disconnected);
  IdState state;
  EXPECT_EQ(client_.manager().query(*before, active, state), ENOENT);
}

TEST_F(CmManager, CountsTheEventsThatWereFetched) {
  const std::uint32_t id = client_.resolve(address());
  std::uint32_t reported = 0;
  EXPECT_EQ(client_.manager().destroy_id(*client_.file, id, reported), 0);
  EXPECT_EQ(reported, 2u);
  EXPECT_EQ(client_.manager().destroy_id(*client_.file, id, reported), ENOENT);
}

TEST_F(CmManager, FindsReceiversOfDatagrams) {
  server_.listen(0, PortSpace::udp);
  const std::uint32_t active = client_.resolve(address(), PortSpace::udp);
  EXPECT_EQ(client_.manager().connect(*client_.file, active, parameters({5})), 0);
  const Event request = server_.next();
  EXPECT_TRUE(request.is_datagram);
  ConnectParameters answer = parameters({6});
  answer.qp.qkey = 0x1234567;
  EXPECT_EQ(server_.manager().accept(*server_.file, request.handle, 9, answer), 0);
  const Event found = client_.next();
  EXPECT_EQ(found.kind, EventKind::established);
  EXPECT_EQ(found.qp.qpn, 77u);
  EXPECT_EQ(found.qp.qkey, 0x1234567u);
  EXPECT_EQ(found.way.destination, address().ip);
}

constexpr Gid kGroup = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 3};

TEST_F(CmManager, TellsHowAGroupIsCalled) {
  const std::uint32_t id = client_.make_id(PortSpace::udp);
  std::uint32_t group = 0, reported = 0;
  const auto join = [&] {
    return client_.manager().join(*client_.file, id, 44, {kGroup, 0}, group);
  };
  EXPECT_EQ(join(), EINVAL) << "it has no NIC yet";
  ASSERT_EQ(client_.manager().resolve_address(*client_.file, id, {}, {kGroup, 0}), 0);
  EXPECT_EQ(client_.next().kind, EventKind::addr_resolved);
  EXPECT_EQ(client_.state(id).way.destination, kGroup);
  EXPECT_EQ(client_.state(id).way.destination_lid, 0) << "RoCE has none";
  ASSERT_EQ(join(), 0);
  const Event joined = client_.next();
  EXPECT_EQ(joined.kind, EventKind::multicast_join);
  EXPECT_EQ(joined.uid, 44u);
  EXPECT_EQ(joined.handle, group);
  EXPECT_EQ(joined.qp.qpn, kMulticastQp);
  EXPECT_EQ(joined.qp.qkey, kUdpQkey);
  EXPECT_EQ(joined.way.destination, gid_of_group(spec_, PortSpace::udp, kGroup));
  EXPECT_EQ(server_.manager().leave(*server_.file, group, reported), ENOENT) << "another's";
  EXPECT_EQ(client_.manager().leave(*client_.file, group, reported), 0);
  EXPECT_EQ(reported, 1u);
  EXPECT_EQ(client_.manager().leave(*client_.file, group, reported), ENOENT);
  // What nobody has fetched goes with the group, and a group with its identifier.
  ASSERT_EQ(join(), 0);
  EXPECT_EQ(client_.manager().leave(*client_.file, group, reported), 0);
  EXPECT_EQ(reported, 0u);
  EXPECT_FALSE(client_.has_event_within(10ms));
  ASSERT_EQ(join(), 0);
  EXPECT_EQ(client_.destroy(id), 0);
  EXPECT_EQ(client_.manager().leave(*client_.file, group, reported), ENOENT);
}

TEST_F(CmManager, JoinsGroupsOfDatagramsAlone) {
  const std::uint32_t stream = client_.resolve(address());
  const std::uint32_t datagrams = client_.resolve(address(), PortSpace::udp);
  std::uint32_t group = 0;
  EXPECT_EQ(client_.manager().join(*client_.file, stream, 1, {kGroup, 0}, group), EINVAL);
  EXPECT_EQ(client_.manager().join(*client_.file, datagrams, 1, address(), group), EINVAL);
  EXPECT_EQ(client_.manager().join(*client_.file, 0x7777, 1, {kGroup, 0}, group), ENOENT);
}

TEST(CmGroups, AreCalledAsIpoibCallsThem) {
  Spec roce, infiniband;
  infiniband.link = LinkLayer::infiniband;
  EXPECT_EQ(gid_of_group(roce, PortSpace::udp, kGroup), kGroup);
  const Gid v4 = gid_of_group(infiniband, PortSpace::udp, kGroup);
  EXPECT_EQ(v4, (Gid{0xff, 0x12, 0x40, 0x01, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 15, 1, 2, 3}));
  EXPECT_EQ(gid_of_group(infiniband, PortSpace::ipoib, kGroup)[3], 0x1b);
  EXPECT_GE(lid_of_group(v4), 0xc000);
}

TEST_F(CmManager, WantsCallsInTheirOrder) {
  const std::uint32_t id = client_.make_id();
  Manager& manager = client_.manager();
  const File& file = *client_.file;
  EXPECT_EQ(manager.resolve_route(file, id), EINVAL);
  EXPECT_EQ(manager.connect(file, id, parameters()), EINVAL);
  EXPECT_EQ(manager.accept(file, id, 1, parameters()), EINVAL);
  EXPECT_EQ(manager.confirm(file, id), EINVAL);
  EXPECT_EQ(manager.reject(file, id, kConsumerDefined, {}), EINVAL);
  EXPECT_EQ(manager.disconnect(file, id), EINVAL);
  EXPECT_EQ(manager.communication_established(file, id), EINVAL);
  EXPECT_EQ(client_.destroy(id), 0);
  EXPECT_EQ(manager.bind(file, id, address()), ENOENT);
  const std::uint32_t resolved = client_.resolve(address());
  EXPECT_EQ(manager.listen(file, resolved, 1), EINVAL);
  EXPECT_EQ(manager.connect(file, resolved, parameters(std::vector<std::uint8_t>(57))), EINVAL);
}

TEST(CmManagerTwoNics, ListensAtBoth) {
  Spec spec = test::own_spec("cm-nics");
  spec.nics = 2;
  Process server(spec), client(spec);
  server.listen();
  for (const int nic : {0, 1}) {
    const std::uint32_t active = client.resolve({ip_of_nic(spec, nic), kPort});
    EXPECT_EQ(client.state(active).nic, nic);
    EXPECT_EQ(client.manager().connect(*client.file, active, parameters()), 0);
    EXPECT_EQ(server.next().nic, nic);
  }
}

}  // namespace
}  // namespace gdakit::softnic::uverbs::cm
