// Clients that call what they like: the process lives on, and every answer is an errno value.
#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/uverbs/hostile_calls.h"
#include "tests/uverbs/hostile_cm.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace test;

constexpr int kRounds = 20;
constexpr int kCalls = 500;  // of a thread, in a round

std::vector<std::uint8_t> random_bytes(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> bytes(std::size_t{kCalls} * 1024);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

// One that makes queues by commands, too, in a context of its own.
struct RandomClient {
  RandomClient(Device& device, unsigned seed) : context(device), bytes(random_bytes(seed)) {
    EXPECT_EQ(get_context(context, /*with_devx=*/true), 0);
  }

  Context context;
  const std::vector<std::uint8_t> bytes;
  softnic::test::Input input{bytes.data(), bytes.size()};
  HostileClient calls{context, input};
};

std::string play(Context& context, unsigned seed) {
  const std::vector<std::uint8_t> bytes = random_bytes(seed);
  softnic::test::Input input(bytes.data(), bytes.size());
  HostileClient client(context, input);
  for (int i = 0; i < kCalls; ++i) {
    const std::string wrong = client.call();
    if (!wrong.empty()) return wrong + ", of seed " + std::to_string(seed);
  }
  return {};
}

TEST(UverbsHostile, TwoThreadsOfRandomCallsGetErrnoValues) {
  const std::unique_ptr<Device> device = open_device(own_spec("hostile"));
  for (unsigned round = 0; round < kRounds; ++round) {
    Context context(*device);
    ASSERT_EQ(get_context(context, /*with_devx=*/true), 0);
    std::string wrong;
    std::thread other([&] { wrong = play(context, 2 * round); });
    EXPECT_EQ(play(context, 2 * round + 1), "");
    other.join();
    EXPECT_EQ(wrong, "");
  }
  EXPECT_TRUE(device->nic().count().queues.empty());
}

// Of the commands by DEVX all that can be carried out: shared receive queues are made by verbs
// alone, and those but of XRC are pools; SQERR is a state that no call brings about.
TEST(UverbsHostile, RandomCallsCarryOutAllCommandsAndJoinGroups) {
  using format::prm::Opcode;
  const std::unique_ptr<Device> device = open_device(own_spec("hostile"));
  std::set<Opcode> carried_out;
  bool has_joined = false;
  for (unsigned seed = 0; seed < 48; ++seed) {
    RandomClient client(*device, seed);
    for (int i = 0; i < kCalls; ++i) client.calls.call();
    carried_out.insert(client.calls.carried_out().begin(), client.calls.carried_out().end());
    has_joined = has_joined || client.calls.has_joined();
  }
  EXPECT_TRUE(has_joined);
  for (const Opcode opcode : {Opcode::query_hca_cap,     Opcode::query_adapter,
                              Opcode::query_issi,        Opcode::query_roce_address,
                              Opcode::query_vport_state, Opcode::query_nic_vport_context,
                              Opcode::query_lag,         Opcode::nop,
                              Opcode::alloc_pd,          Opcode::create_mkey,
                              Opcode::query_mkey,        Opcode::create_cq,
                              Opcode::modify_cq,         Opcode::query_cq,
                              Opcode::create_qp,         Opcode::rst2init_qp,
                              Opcode::init2init_qp,      Opcode::init2rtr_qp,
                              Opcode::rtr2rts_qp,        Opcode::rts2rts_qp,
                              Opcode::qp_2err,           Opcode::qp_2rst,
                              Opcode::query_qp,          Opcode::create_rmp,
                              Opcode::modify_rmp,        Opcode::query_rmp,
                              Opcode::query_xrc_srq,     Opcode::arm_xrc_srq,
                              Opcode::alloc_xrcd,        Opcode::create_dct,
                              Opcode::drain_dct,         Opcode::arm_dct_for_key_violation,
                              Opcode::query_dct,         Opcode::alloc_q_counter,
                              Opcode::query_q_counter}) {
    EXPECT_TRUE(carried_out.contains(opcode)) << std::hex << static_cast<int>(opcode);
  }
}

TEST(UverbsHostile, RandomCallsMakeObjectsOfAllKinds) {
  const std::unique_ptr<Device> device = open_device(own_spec("hostile"));
  std::set<ObjectType> made;
  std::set<DevxKind> by_commands;
  for (unsigned seed = 0; seed < 48; ++seed) {
    RandomClient client(*device, seed);
    for (int i = 0; i < kCalls; ++i) {
      client.calls.call();
      const Object* const last = client.context.handles().last_unused();
      if (last == nullptr) continue;
      made.insert(last->type());
      if (last->type() != ObjectType::devx) continue;
      by_commands.insert(static_cast<const DevxObject*>(last)->name.kind);
    }
  }
  for (const DevxKind kind : {DevxKind::pd, DevxKind::mkey, DevxKind::cq, DevxKind::rmp,
                              DevxKind::qp, DevxKind::dct, DevxKind::xrcd, DevxKind::counter_set}) {
    EXPECT_TRUE(by_commands.contains(kind)) << static_cast<int>(kind);
  }
  for (const ObjectType type :
       {ObjectType::pd, ObjectType::mr, ObjectType::cq, ObjectType::qp, ObjectType::ah,
        ObjectType::uar, ObjectType::devx, ObjectType::umem, ObjectType::xrcd, ObjectType::srq}) {
    EXPECT_TRUE(made.contains(type)) << static_cast<int>(type);
  }
}

// But for that of the end of TIMEWAIT, which comes half a second later. When threads run is not in
// the input, so there are as many rounds as that takes.
TEST(UverbsHostile, RandomCommandsOfRdmaCmLeadToAllEvents) {
  using Kind = cm::EventKind;
  constexpr Kind kKinds[] = {Kind::addr_resolved,    Kind::addr_error,  Kind::route_resolved,
                             Kind::connect_request,  Kind::rejected,    Kind::unreachable,
                             Kind::connect_response, Kind::established, Kind::disconnected,
                             Kind::multicast_join};
  constexpr unsigned kMostRounds = 500;
  const Spec spec = own_spec("hostile");
  const std::unique_ptr<Device> own = open_device(spec, 0), peer = open_device(spec, 1);
  cm::PortNames ports(spec.fabric);
  const auto listener = ports.listen(cm::PortSpace::tcp,
                                     {cm::ip_of_nic(spec, 1), cm::test::kFirstPort}, peer->place());
  std::set<Kind> events;
  const auto has_come = [&events](Kind kind) { return events.contains(kind); };
  for (unsigned seed = 0; seed < kMostRounds && !std::ranges::all_of(kKinds, has_come); ++seed) {
    cm::Manager manager(spec, [&](int) -> Result<Device*> { return own.get(); });
    const std::vector<std::uint8_t> bytes = random_bytes(seed);
    softnic::test::Input input(bytes.data(), bytes.size());
    cm::test::HostileCm client(manager, *own, *peer, input);
    for (int i = 0; i < kCalls; ++i) ASSERT_EQ(client.act(), "");
    events.insert(client.events().begin(), client.events().end());
  }
  for (const Kind kind : kKinds) EXPECT_TRUE(has_come(kind)) << static_cast<int>(kind);
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
