// Ports that go down, come back and meet with faults while their NICs run, and how a running NIC is
// asked through its fabric.
#include <poll.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/softnic/uverbs/fabric_control.h"
#include "tests/uverbs/client.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

constexpr int kPatienceMs = 60'000;

struct UverbsPort : testing::Test {
  UverbsPort() {
    sender.make_all();
    receiver.make_all();
    sender.connect(receiver);
    receiver.connect(sender);
  }
  Member member(const Device& device) const {
    for (const Member& found : fabric_members(spec.fabric)) {
      if (found.place == device.place()) return found;
    }
    throw std::runtime_error("the device is not listed");
  }
  Result<std::string> ask_one(const std::string& request) { return ask(member(*one), request); }
  int errors_of(Client& client) {
    std::uint32_t file = 0;
    Call call(UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC);
    call.number(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE);
    EXPECT_EQ(call.make(*client.context), 0);
    file = call.given(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE);
    return static_cast<int>(file);
  }
  std::uint8_t port_state(Client& client) {
    ib_uverbs_query_port_resp_ex answer{};
    Call call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
    call.in(UVERBS_ATTR_QUERY_PORT_PORT_NUM, std::uint8_t{1})
        .out(UVERBS_ATTR_QUERY_PORT_RESP, answer);
    EXPECT_EQ(call.make(*client.context), 0);
    return answer.legacy_resp.state;
  }
  // Of the requester.
  format::CqeOpcode outcome_of_a_send() {
    receiver.post_receive(512, 256);
    sender.post_send(0, 100);
    return format::cqe_opcode(sender.next(sender.send_cq).op_own);
  }

  Spec spec = own_spec();
  std::unique_ptr<Device> one = open_device(spec), other = open_device(spec, 1);
  Client sender{*one}, receiver{*other};
};

TEST_F(UverbsPort, SaysWhatItDoes) {
  EXPECT_EQ(outcome_of_a_send(), format::CqeOpcode::requester);
  const auto state = ask_one("state");
  ASSERT_TRUE(state) << state.error().message();
  EXPECT_THAT(*state, AllOf(HasSubstr("device=mlx5_0 port=up qps=1 packets_sent=1 "),
                            HasSubstr(" faults=")));
  const auto counters = ask_one("counters");
  ASSERT_TRUE(counters) << counters.error().message();
  EXPECT_THAT(*counters,
              HasSubstr("gdakit_packets_sent_total{pe=\"" + std::to_string(one->place()) +
                        "\",qp=\"" + std::to_string(sender.qpn) + "\"} 1\n"));
}

TEST_F(UverbsPort, WhatItCannotBeAskedSaysWhatCan) {
  for (const char* request : {"", "stat", "port", "port sideways", "state now"}) {
    if (*request == '\0') continue;
    const auto answer = ask_one(request);
    ASSERT_FALSE(answer) << request;
    EXPECT_THAT(answer.error().message(), HasSubstr("ask for state, counters, port up"));
  }
  const auto faults = ask_one("faults drop=150%");
  ASSERT_FALSE(faults);
  EXPECT_THAT(faults.error().message(), HasSubstr("drop"));
  EXPECT_THAT(*ask_one("state"), HasSubstr("port=up"));
}

TEST_F(UverbsPort, ADownPortIsToldAndLosesEverything) {
  const int errors = errors_of(sender);
  EXPECT_EQ(port_state(sender), 4);
  ASSERT_TRUE(ask_one("port down"));
  EXPECT_EQ(port_state(sender), 1);
  EXPECT_EQ(port_state(receiver), 4) << "another NIC's port";
  pollfd readable{errors, POLLIN, 0};
  ASSERT_EQ(::poll(&readable, 1, kPatienceMs), 1);
  ib_uverbs_async_event_desc event{};
  ASSERT_EQ(::read(errors, &event, sizeof event), ssize_t{sizeof event});
  EXPECT_EQ(event.element, 1u);
  EXPECT_EQ(event.event_type, 10u);
  EXPECT_EQ(outcome_of_a_send(), format::CqeOpcode::requester_error);
  EXPECT_EQ(other->nic().counters().packets_received, 0u);
  ::close(errors);
}

// What comes to it is lost, too: the sender is on the other side.
TEST_F(UverbsPort, NothingComesToAPortThatIsDown) {
  ASSERT_TRUE(ask(member(*other), "port down"));
  EXPECT_EQ(outcome_of_a_send(), format::CqeOpcode::requester_error);
  EXPECT_EQ(other->nic().counters().packets_received, 0u);
}

TEST_F(UverbsPort, ComesBack) {
  ASSERT_TRUE(ask_one("port down"));
  sender.post_send(0, 100);
  receiver.post_receive(512, 256);
  ASSERT_TRUE(ask_one("port up"));
  EXPECT_EQ(port_state(sender), 4);
  EXPECT_EQ(format::cqe_opcode(sender.next(sender.send_cq).op_own), format::CqeOpcode::requester)
      << "it is sent again";
}

TEST_F(UverbsPort, MeetsWithFaultsAndIsRidOfThem) {
  ASSERT_TRUE(ask_one("faults repeat=100%"));
  EXPECT_THAT(*ask_one("state"), HasSubstr(" faults=repeat=100%"));
  EXPECT_EQ(outcome_of_a_send(), format::CqeOpcode::requester);
  EXPECT_EQ(other->nic().counters().packets_received, 2u);
  ASSERT_TRUE(ask_one("faults"));
  EXPECT_EQ(outcome_of_a_send(), format::CqeOpcode::requester);
  EXPECT_EQ(other->nic().counters().packets_received, 3u);
}

TEST_F(UverbsPort, AMemberThatIsGoneCannotBeAsked) {
  const Member gone = member(*other);
  receiver.context.reset();
  other.reset();
  const auto answer = ask(gone, "state");
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message(), HasSubstr("cannot be asked"));
  EXPECT_EQ(fabric_members(spec.fabric).size(), 1u);
}

// A listener that answers nothing is given up, by those who ask and by one who is asked.
TEST_F(UverbsPort, OneWhoSaysNothingDoesNotStopOthers) {
  const auto silent = connect_to(member(*one));
  ASSERT_TRUE(silent);
  const auto answer = ask_one("state");
  EXPECT_TRUE(answer || answer.error().code() == Code::timed_out);
  EXPECT_TRUE(ask_one("state")) << "by now the silent one has been given up";
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
