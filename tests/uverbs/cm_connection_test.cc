// Connections of rdma_cm: two sides, and a way between them that loses, repeats and delays.
#include <algorithm>
#include <cerrno>
#include <deque>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/softnic/uverbs/cm/connection.h"

namespace gdakit::softnic::uverbs::cm {

void PrintTo(EventKind kind, std::ostream* to) { *to << "event " << static_cast<int>(kind); }

namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using State = Connection::State;

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint32_t kActiveId = 0x1001, kPassiveId = 0x2002;
constexpr std::uint32_t kActivePsn = 0x111111, kPassivePsn = 0x222222;

struct Side final : Connection::Owner {
  Side(std::uint32_t id, std::uint32_t psn) : connection(*this, id, psn) {}

  void send(const Message& message) override { on_send(message); }
  void happened(EventKind kind, int status, const Message* message) override {
    events.push_back(kind);
    last_status = status;
    if (message != nullptr) last_data = message->private_data;
  }

  std::vector<EventKind> take_events() { return std::exchange(events, {}); }

  std::function<void(const Message&)> on_send;
  Connection connection;
  std::vector<EventKind> events;
  int last_status = 0;
  std::vector<std::uint8_t> last_data;
};

// What becomes of the message that is sent as this one.
struct Fate {
  enum Kind { arrives, is_lost, comes_twice, comes_late } kind = arrives;
  int which = -1;
};

class Link {
 public:
  explicit Link(Fate fate = {}) : fate_(fate) {
    active.on_send = [this](const Message& message) { carry(message, true); };
    passive.on_send = [this](const Message& message) { carry(message, false); };
  }

  // Until this time has passed, whatever happens.
  void pass(std::uint64_t ns) {
    const std::uint64_t end = now + ns;
    while (true) {
      const auto next = next_ns();
      if (!next || *next > end) break;
      now = std::max(now, *next);
      deliver();
      active.connection.pass(now);
      passive.connection.pass(now);
    }
    now = end;
  }

  int sent() const { return sent_; }
  std::vector<MessageKind> kinds;  // as they were sent

  std::uint64_t now = kSecond;
  bool is_cut = false;
  Side active{kActiveId, kActivePsn};
  Side passive{kPassiveId, kPassivePsn};

 private:
  struct Flight {
    std::uint64_t at = 0;
    bool to_passive = false;
    Mad mad{};
  };
  static constexpr std::uint64_t kDelayNs = 10'000;

  void carry(const Message& message, bool to_passive) {
    kinds.push_back(message.kind);
    const int number = sent_++;
    if (is_cut) return;
    const Mad mad = encode(message);
    const bool is_chosen = number == fate_.which;
    if (is_chosen && fate_.kind == Fate::is_lost) return;
    const bool is_late = is_chosen && fate_.kind == Fate::comes_late;
    flights_.push_back({now + (is_late ? 5 * kSecond / 2 : kDelayNs), to_passive, mad});
    if (is_chosen && fate_.kind == Fate::comes_twice) {
      flights_.push_back({now + 2 * kDelayNs, to_passive, mad});
    }
  }

  std::optional<std::uint64_t> next_ns() const {
    std::optional<std::uint64_t> next;
    const auto at_last = [&next](std::uint64_t ns) { next = next ? std::min(*next, ns) : ns; };
    for (const Flight& flight : flights_) at_last(flight.at);
    if (const auto ns = active.connection.deadline_ns()) at_last(*ns);
    if (const auto ns = passive.connection.deadline_ns()) at_last(*ns);
    return next;
  }

  void deliver() {
    const auto due = [this](const Flight& one) { return one.at <= now; };
    for (auto at = std::ranges::find_if(flights_, due); at != flights_.end();
         at = std::ranges::find_if(flights_, due)) {
      const Flight flight = *at;
      flights_.erase(at);
      const std::optional<Message> message = decode(flight.mad);
      ASSERT_TRUE(message);
      Side& to = flight.to_passive ? passive : active;
      const bool is_new =
          message->kind == MessageKind::req || message->kind == MessageKind::sidr_req;
      if (is_new && to.connection.state() == State::idle) {
        to.connection.requested(*message);
        to.events.push_back(EventKind::connect_request);
        to.last_data = message->private_data;
      } else {
        to.connection.receive(*message, now);
      }
    }
  }

  const Fate fate_;
  int sent_ = 0;
  std::deque<Flight> flights_;
};

Message request(MessageKind kind = MessageKind::req) {
  Message message;
  message.kind = kind;
  message.service_id = 0x1060000 | 7174;
  message.qp = {.qpn = 0x000102,
                .responder_resources = 4,
                .initiator_depth = 3,
                .rnr_retry_count = 6,
                .retry_count = 5};
  message.way.mtu_code = 3;
  message.way.ack_timeout = 17;
  message.destination.port = 7174;
  message.private_data = {1, 2, 3};
  return message;
}

Message reply() {
  Message message;
  message.qp = {
      .qpn = 0x040506, .responder_resources = 2, .initiator_depth = 1, .rnr_retry_count = 7};
  message.private_data = {4, 5};
  return message;
}

std::vector<std::uint8_t> padded(std::vector<std::uint8_t> data, MessageKind kind) {
  data.resize(private_bytes(kind));
  return data;
}

// As programs do it: both sides answer what they are told.
void connect(Link& link) {
  link.active.connection.request(request(), link.now);
  link.pass(6 * kSecond);
  EXPECT_THAT(link.passive.take_events(), ElementsAre(EventKind::connect_request));
  EXPECT_TRUE(link.passive.connection.answer(reply(), link.now));
  link.pass(6 * kSecond);
  EXPECT_THAT(link.active.take_events(), ElementsAre(EventKind::connect_response));
  EXPECT_TRUE(link.active.connection.confirm({}));
  link.pass(6 * kSecond);
  EXPECT_THAT(link.passive.take_events(), ElementsAre(EventKind::established));
  EXPECT_EQ(link.active.connection.state(), State::established);
}

void expect_whole_life(Link& link) {
  connect(link);
  EXPECT_TRUE(link.active.connection.disconnect(link.now));
  link.pass(30 * kSecond);
  const auto end = ElementsAre(EventKind::disconnected, EventKind::timewait_exit);
  EXPECT_THAT(link.active.take_events(), end);
  EXPECT_THAT(link.passive.take_events(), end);
  EXPECT_EQ(link.active.connection.state(), State::ended);
  EXPECT_EQ(link.passive.connection.state(), State::ended);
}

TEST(CmConnection, AgreesOnBothQueuePairs) {
  Link link;
  connect(link);
  const Agreed& active = link.active.connection.agreed();
  EXPECT_EQ(active.peer_qpn, 0x040506u);
  EXPECT_EQ(active.receive_psn, kActivePsn);
  EXPECT_EQ(active.send_psn, kPassivePsn);
  EXPECT_EQ(active.responder_resources, 1);
  EXPECT_EQ(active.initiator_depth, 2);
  EXPECT_EQ(active.retry_count, 5);
  EXPECT_EQ(active.rnr_retry_count, 7);
  EXPECT_EQ(active.mtu_code, 3);
  const Agreed& passive = link.passive.connection.agreed();
  EXPECT_EQ(passive.peer_qpn, 0x000102u);
  EXPECT_EQ(passive.receive_psn, kPassivePsn);
  EXPECT_EQ(passive.send_psn, kActivePsn);
  EXPECT_EQ(passive.responder_resources, 2);
  EXPECT_EQ(passive.initiator_depth, 1);
  EXPECT_EQ(passive.retry_count, 5);
  EXPECT_EQ(passive.rnr_retry_count, 6);
  EXPECT_EQ(passive.ack_timeout, 17);
}

TEST(CmConnection, HandsPrivateDataOverWithZerosBehind) {
  Link link;
  link.active.connection.request(request(), link.now);
  link.pass(kSecond / 100);
  EXPECT_EQ(link.passive.last_data, padded({1, 2, 3}, MessageKind::req));
  link.passive.connection.answer(reply(), link.now);
  link.pass(kSecond / 100);
  EXPECT_EQ(link.active.last_data, padded({4, 5}, MessageKind::rep));
}

// Which of all messages of a connection it is, and what becomes of that.
class CmFates : public testing::TestWithParam<std::tuple<Fate::Kind, int>> {};

TEST_P(CmFates, ConnectsAndDisconnectsAllTheSame) {
  const auto [kind, which] = GetParam();
  Link link({kind, which});
  expect_whole_life(link);
}

// The first ones, and those that are sent again: more than a connection has without faults.
INSTANTIATE_TEST_SUITE_P(Messages, CmFates,
                         testing::Combine(testing::Values(Fate::is_lost, Fate::comes_twice,
                                                          Fate::comes_late),
                                          testing::Range(0, 10)));

TEST(CmConnection, SaysNoMoreThanItMust) {
  Link link;
  link.active.connection.request(request(), link.now);
  link.pass(kSecond / 100);
  link.passive.connection.answer(reply(), link.now);
  link.pass(kSecond / 100);
  link.active.connection.confirm({});
  link.pass(kSecond);
  link.passive.connection.disconnect(link.now);
  link.pass(kSecond);
  EXPECT_THAT(link.kinds, ElementsAre(MessageKind::req, MessageKind::rep, MessageKind::rtu,
                                      MessageKind::dreq, MessageKind::drep));
}

TEST(CmConnection, BothMayDisconnectAtOnce) {
  Link link;
  connect(link);
  EXPECT_TRUE(link.active.connection.disconnect(link.now));
  EXPECT_TRUE(link.passive.connection.disconnect(link.now));
  link.pass(5 * kSecond);
  const auto end = ElementsAre(EventKind::disconnected, EventKind::timewait_exit);
  EXPECT_THAT(link.active.take_events(), end);
  EXPECT_THAT(link.passive.take_events(), end);
}

TEST(CmConnection, GivesUpOnAPeerThatDoesNotAnswer) {
  Link link;
  link.is_cut = true;
  link.active.connection.request(request(), link.now);
  link.pass(60 * kSecond);
  EXPECT_THAT(link.active.take_events(), ElementsAre(EventKind::unreachable));
  EXPECT_EQ(link.active.last_status, -ETIMEDOUT);
  EXPECT_EQ(std::ranges::count(link.kinds, MessageKind::req),
            static_cast<long>(Connection::kMostTries));
}

TEST(CmConnection, GivesUpOnAPeerThatDoesNotConfirm) {
  Link link;
  link.active.connection.request(request(), link.now);
  link.pass(kSecond / 100);
  link.is_cut = true;
  link.passive.take_events();
  link.passive.connection.answer(reply(), link.now);
  link.pass(60 * kSecond);
  EXPECT_THAT(link.passive.take_events(), ElementsAre(EventKind::unreachable));
  EXPECT_EQ(link.passive.last_status, -ETIMEDOUT);
}

TEST(CmConnection, DisconnectsFromAPeerThatDoesNotAnswer) {
  Link link;
  connect(link);
  link.is_cut = true;
  link.active.connection.disconnect(link.now);
  link.pass(60 * kSecond);
  EXPECT_THAT(link.active.take_events(),
              ElementsAre(EventKind::disconnected, EventKind::timewait_exit));
}

TEST(CmConnection, WaitsAsLongAsTheOtherProgramTakes) {
  Link link;
  link.active.connection.request(request(), link.now);
  link.pass(300 * kSecond);
  EXPECT_THAT(link.active.take_events(), IsEmpty());
  EXPECT_TRUE(link.passive.connection.answer(reply(), link.now));
  link.pass(300 * kSecond);
  EXPECT_THAT(link.active.take_events(), ElementsAre(EventKind::connect_response));
  link.passive.take_events();
  EXPECT_TRUE(link.active.connection.confirm({}));
  link.pass(kSecond);
  EXPECT_THAT(link.passive.take_events(), ElementsAre(EventKind::established));
}

TEST(CmConnection, IsRefusedOnceWithReasonAndData) {
  for (const Fate::Kind kind : {Fate::arrives, Fate::is_lost, Fate::comes_twice}) {
    Link link({kind, 1});
    link.active.connection.request(request(), link.now);
    link.pass(kSecond / 100);
    EXPECT_TRUE(link.passive.connection.refuse(kConsumerDefined, {9, 8, 7}, link.now));
    link.pass(10 * kSecond);
    EXPECT_THAT(link.active.take_events(), ElementsAre(EventKind::rejected));
    EXPECT_EQ(link.active.last_status, kConsumerDefined);
    EXPECT_EQ(link.active.last_data, padded({9, 8, 7}, MessageKind::rej));
    EXPECT_THAT(link.passive.take_events(), ElementsAre(EventKind::connect_request));
    EXPECT_FALSE(link.passive.connection.answer(reply(), link.now));
  }
}

TEST(CmConnection, RefusesAnAnswer) {
  Link link;
  link.active.connection.request(request(), link.now);
  link.pass(kSecond / 100);
  link.passive.take_events();
  link.passive.connection.answer(reply(), link.now);
  link.pass(kSecond / 100);
  EXPECT_TRUE(link.active.connection.refuse(kConsumerDefined, {}, link.now));
  link.pass(kSecond);
  EXPECT_THAT(link.passive.take_events(), ElementsAre(EventKind::rejected));
}

TEST(CmConnection, TakesWhatTheQueuePairHearsForTheConfirmation) {
  Link link;
  link.active.connection.request(request(), link.now);
  link.pass(kSecond / 100);
  link.passive.connection.answer(reply(), link.now);
  link.passive.take_events();
  EXPECT_TRUE(link.passive.connection.communication_established());
  EXPECT_FALSE(link.passive.connection.communication_established());
  EXPECT_THAT(link.passive.take_events(), ElementsAre(EventKind::established));
}

TEST(CmConnection, EndsWithItsProgram) {
  struct Case {
    const char* name;
    std::function<void(Link&)> reach;
    bool active_ends;
    EventKind told;
  };
  const auto asked = [](Link& link) {
    link.active.connection.request(request(), link.now);
    link.pass(kSecond / 100);
  };
  const auto answered = [asked](Link& link) {
    asked(link);
    link.passive.connection.answer(reply(), link.now);
    link.pass(kSecond / 100);
  };
  const Case cases[] = {
      {"asked, the passive one", asked, false, EventKind::rejected},
      {"asked, the active one", asked, true, EventKind::rejected},
      {"answered, the passive one", answered, false, EventKind::rejected},
      {"answered, the active one", answered, true, EventKind::rejected},
      {"connected, the passive one", connect, false, EventKind::disconnected},
      {"connected, the active one", connect, true, EventKind::disconnected},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    Link link;
    one.reach(link);
    Side& ends = one.active_ends ? link.active : link.passive;
    Side& other = one.active_ends ? link.passive : link.active;
    ends.take_events();
    other.take_events();
    ends.connection.end(link.now);
    link.pass(5 * kSecond);
    const std::vector<EventKind> told = other.take_events();
    ASSERT_FALSE(told.empty());
    EXPECT_EQ(told.front(), one.told);
    EXPECT_EQ(ends.connection.state(), State::ended);
  }
}

TEST(CmConnection, IsToldOfAPeerThatIsGone) {
  Link link;
  link.is_cut = true;
  link.active.connection.request(request(), link.now);
  link.active.connection.peer_is_gone(link.now);
  EXPECT_THAT(link.active.take_events(), ElementsAre(EventKind::unreachable));
  Link other;
  connect(other);
  EXPECT_TRUE(other.passive.connection.needs_peer());
  other.passive.connection.peer_is_gone(other.now);
  EXPECT_FALSE(other.passive.connection.needs_peer());
  other.passive.connection.peer_is_gone(other.now);
  other.pass(kSecond);
  EXPECT_THAT(other.passive.take_events(),
              ElementsAre(EventKind::disconnected, EventKind::timewait_exit));
}

TEST(CmConnection, DoesNothingOutOfTurn) {
  Link link;
  Connection& idle = link.passive.connection;
  EXPECT_FALSE(idle.answer(reply(), link.now));
  EXPECT_FALSE(idle.confirm({}));
  EXPECT_FALSE(idle.refuse(kConsumerDefined, {}, link.now));
  EXPECT_FALSE(idle.disconnect(link.now));
  EXPECT_FALSE(idle.communication_established());
  for (const MessageKind kind :
       {MessageKind::rep, MessageKind::rtu, MessageKind::rej, MessageKind::dreq, MessageKind::drep,
        MessageKind::mra, MessageKind::sidr_rep}) {
    Message message;
    message.kind = kind;
    idle.receive(message, link.now);
  }
  EXPECT_EQ(link.sent(), 0);
  EXPECT_THAT(link.passive.take_events(), IsEmpty());
  connect(link);
  EXPECT_FALSE(link.active.connection.request(request(), link.now));
}

TEST(CmConnection, FindsAReceiverOfDatagrams) {
  for (const Fate::Kind kind : {Fate::arrives, Fate::is_lost, Fate::comes_twice}) {
    for (const int which : {0, 1, 2}) {
      Link link({kind, which});
      link.active.connection.request(request(MessageKind::sidr_req), link.now);
      link.pass(kSecond);
      EXPECT_THAT(link.passive.take_events(), ElementsAre(EventKind::connect_request));
      Message answer = reply();
      answer.qp.qkey = 0x1234567;
      EXPECT_TRUE(link.passive.connection.answer(std::move(answer), link.now));
      link.pass(5 * kSecond);
      EXPECT_THAT(link.active.take_events(), ElementsAre(EventKind::established));
      EXPECT_EQ(link.active.last_data, padded({4, 5}, MessageKind::sidr_rep));
      EXPECT_EQ(link.active.connection.agreed().peer_qpn, 0x040506u);
    }
  }
}

TEST(CmConnection, IsRefusedAReceiverOfDatagrams) {
  Link link;
  link.active.connection.request(request(MessageKind::sidr_req), link.now);
  link.pass(kSecond / 100);
  EXPECT_TRUE(link.passive.connection.refuse(kConsumerDefined, {}, link.now));
  link.pass(kSecond);
  EXPECT_THAT(link.active.take_events(), ElementsAre(EventKind::unreachable));
  EXPECT_EQ(link.active.last_status, kSidrRejected);
}

}  // namespace
}  // namespace gdakit::softnic::uverbs::cm
