// Two clients on two devices of one fabric, from queues and doorbells to CQEs and events.
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/uverbs/client.h"

namespace gdakit::softnic::uverbs {
namespace {

using namespace test;

constexpr int kPatienceMs = 60'000;

// The user handle of the next event of a channel; nothing if none comes.
std::uint64_t read_event(int channel) {
  pollfd one{channel, POLLIN, 0};
  ib_uverbs_comp_event_desc event{};
  if (::poll(&one, 1, kPatienceMs) != 1) return 0;
  return ::read(channel, &event, sizeof event) == ssize_t{sizeof event} ? event.cq_handle : 0;
}

bool has_event(int channel) {
  pollfd one{channel, POLLIN, 0};
  return ::poll(&one, 1, 0) == 1;
}

struct UverbsTraffic : testing::Test {
  UverbsTraffic() {
    sender.make_all(true);
    receiver.make_all(true);
    sender.connect(receiver);
    receiver.connect(sender);
  }
  void fill(Client& client, std::size_t at, std::size_t size, int byte) {
    std::memset(client.payload() + at, byte, size);
  }

  std::unique_ptr<Device> one = open_device(), other = open_device(own_spec(), 1);
  Client sender{*one}, receiver{*other};
};

TEST_F(UverbsTraffic, QueuePairsOfTwoDevicesHaveNumbersApart) {
  EXPECT_NE(place_of(sender.qpn), place_of(receiver.qpn));
}

TEST_F(UverbsTraffic, ASendArrives) {
  fill(sender, 0, 100, 'x');
  receiver.post_receive(512, 256);
  sender.post_send(0, 100);
  const format::Cqe64 sent = sender.next(sender.send_cq);
  EXPECT_EQ(format::cqe_opcode(sent.op_own), format::CqeOpcode::requester);
  EXPECT_EQ(sent.sop_drop_qpn & 0xffffff, sender.qpn);
  EXPECT_EQ(sent.srqn_uidx & 0xffffff, 0x123u);
  const format::Cqe64 received = receiver.next(receiver.receive_cq);
  EXPECT_EQ(format::cqe_opcode(received.op_own), format::CqeOpcode::responder_send);
  EXPECT_EQ(received.byte_cnt, 100u);
  EXPECT_EQ(received.sop_drop_qpn & 0xffffff, receiver.qpn);
  EXPECT_EQ(receiver.payload()[512 + 99], std::byte{'x'});
  EXPECT_EQ(receiver.payload()[512 + 100], std::byte{0});
}

TEST_F(UverbsTraffic, AWriteArrivesWithoutAReceive) {
  fill(sender, 0, 4096, 'w');
  sender.post_write(0, 4096, receiver.address(4096), receiver.key);
  EXPECT_EQ(format::cqe_opcode(sender.next(sender.send_cq).op_own), format::CqeOpcode::requester);
  EXPECT_EQ(receiver.payload()[4096], std::byte{'w'});
  EXPECT_EQ(receiver.payload()[8191], std::byte{'w'});
  EXPECT_EQ(receiver.payload()[4095], std::byte{0});
}

TEST_F(UverbsTraffic, SeveralLapsOfAllQueues) {
  for (std::uint32_t i = 0; i < 3 * kQueue; ++i) {
    fill(sender, 0, 8, static_cast<int>(i + 1));
    receiver.post_receive(64, 8);
    sender.post_send(0, 8);
    ASSERT_EQ(format::cqe_opcode(sender.next(sender.send_cq).op_own), format::CqeOpcode::requester);
    ASSERT_EQ(receiver.next(receiver.receive_cq).byte_cnt, 8u);
    ASSERT_EQ(receiver.payload()[64], static_cast<std::byte>(i + 1));
  }
}

TEST_F(UverbsTraffic, AWrongKeyIsAnErrorAtBothEnds) {
  sender.post_write(0, 64, receiver.address(0), receiver.key ^ 0x100);
  const format::Cqe64 cqe = sender.next(sender.send_cq);
  EXPECT_EQ(format::cqe_opcode(cqe.op_own), format::CqeOpcode::requester_error);
  format::ErrorCqe error;
  std::memcpy(&error, &cqe, sizeof error);
  EXPECT_EQ(static_cast<format::Syndrome>(error.syndrome), format::Syndrome::remote_access);
  EXPECT_EQ(sender.query().qp_state, 6);
}

TEST_F(UverbsTraffic, AnEventComesOnceForWhatWasArmed) {
  receiver.arm(receiver.receive_cq, 0);
  for (int i = 0; i < 2; ++i) {
    receiver.post_receive(0, 64);
    sender.post_send(0, 16);
    sender.next(sender.send_cq);
  }
  EXPECT_EQ(read_event(receiver.channel), receiver.receive_cq.user_handle);
  receiver.next(receiver.receive_cq);
  receiver.next(receiver.receive_cq);
  EXPECT_FALSE(has_event(receiver.channel));

  receiver.arm(receiver.receive_cq, 1);
  receiver.post_receive(0, 64);
  sender.post_send(0, 16);
  EXPECT_EQ(read_event(receiver.channel), receiver.receive_cq.user_handle);
}

TEST_F(UverbsTraffic, WhatWasNotArmedTellsNothing) {
  receiver.post_receive(0, 64);
  sender.post_send(0, 16);
  receiver.next(receiver.receive_cq);
  EXPECT_FALSE(has_event(receiver.channel));
}

TEST_F(UverbsTraffic, DestroyCqCountsOnlyEventsThatWereRead) {
  ib_uverbs_destroy_cq_resp answer{};
  for (std::uint32_t i = 0; i < 2; ++i) {
    receiver.arm(receiver.receive_cq, i);
    receiver.post_receive(0, 64);
    sender.post_send(0, 16);
    receiver.next(receiver.receive_cq);
    if (i == 0) {
      ASSERT_EQ(read_event(receiver.channel), receiver.receive_cq.user_handle);
    } else {
      pollfd event{receiver.channel, POLLIN, 0};
      ASSERT_EQ(::poll(&event, 1, kPatienceMs), 1);
    }
  }
  ASSERT_EQ(receiver.destroy_qp(receiver.qp), 0);
  ASSERT_EQ(receiver.destroy_cq(receiver.receive_cq.handle, &answer), 0);
  EXPECT_EQ(answer.comp_events_reported, 1u);
  EXPECT_EQ(answer.async_events_reported, 0u);
  EXPECT_FALSE(has_event(receiver.channel));
}

TEST_F(UverbsTraffic, ADestroyedQueuePairReadsNoMemoryAnyMore) {
  ASSERT_EQ(receiver.destroy_qp(receiver.qp), 0);
  std::memset(static_cast<void*>(receiver.queues.get()), 0xff, sizeof *receiver.queues);
  receiver.queues.reset();
  EXPECT_EQ(receiver.destroy_cq(receiver.send_cq.handle), 0);
  receiver.send_cq.memory.reset();
}

TEST_F(UverbsTraffic, AContextMayCloseWhileWorkIsOnItsWay) {
  for (std::uint32_t i = 0; i < kQueue - 1; ++i) receiver.post_receive(0, 64);
  for (std::uint32_t i = 0; i < kQueue - 1; ++i) sender.post_send(0, 64);
  receiver.context.reset();
  sender.context.reset();
}

TEST_F(UverbsTraffic, AccessErrorsAreToldByTheFileOfErrors) {
  Client listener(*other);
  Call call(UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC);
  call.number(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE);
  ASSERT_EQ(call.make(*listener.context), 0);
  const UniqueFileDescriptor file(
      static_cast<int>(call.given(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE)));
  listener.make_all();
  Client bad(*one);
  bad.make_all();
  bad.connect(listener);
  listener.connect(bad);
  bad.post_write(0, 64, listener.address(0), listener.key ^ 0x100);
  bad.next(bad.send_cq);
  pollfd event{file.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&event, 1, kPatienceMs), 1);
  ib_uverbs_async_event_desc told{};
  ASSERT_EQ(::read(file.get(), &told, sizeof told), ssize_t{sizeof told});
  EXPECT_EQ(told.element, address_of(&listener));
  EXPECT_EQ(told.event_type, 3u);  // IBV_EVENT_QP_ACCESS_ERR
  ib_uverbs_destroy_qp_resp answer{};
  ASSERT_EQ(Call(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY)
                .number(UVERBS_ATTR_DESTROY_QP_HANDLE, listener.qp)
                .out(UVERBS_ATTR_DESTROY_QP_RESP, answer)
                .make(*listener.context),
            0);
  EXPECT_EQ(answer.events_reported, 1u);
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
