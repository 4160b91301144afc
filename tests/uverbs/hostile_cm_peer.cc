// What the peer of a hostile program of rdma_cm says, and which command or message comes next.
#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "tests/uverbs/hostile_cm.h"

namespace gdakit::softnic::uverbs::cm::test {
namespace {

constexpr int kMostErrno = 133;
constexpr std::size_t kMostHeard = 4;
constexpr PortSpace kSpaces[] = {PortSpace::tcp, PortSpace::udp, PortSpace::ipoib, PortSpace::ib};
constexpr MessageKind kKinds[] = {MessageKind::req,  MessageKind::mra,      MessageKind::rej,
                                  MessageKind::rep,  MessageKind::rtu,      MessageKind::dreq,
                                  MessageKind::drep, MessageKind::sidr_req, MessageKind::sidr_rep};

// What a peer says that behaves.
MessageKind answer_to(MessageKind heard) {
  switch (heard) {
    case MessageKind::req: return MessageKind::rep;
    case MessageKind::rep: return MessageKind::rtu;
    case MessageKind::dreq: return MessageKind::drep;
    case MessageKind::sidr_req: return MessageKind::sidr_rep;
    default: return MessageKind::dreq;
  }
}

}  // namespace

HostileCm::HostileCm(Manager& manager, Device& own, Device& peer, softnic::test::Input& input)
    : manager_(manager),
      own_(own),
      peer_(peer),
      input_(input),
      files_{*File::open(), *File::open()} {
  peer_.mads().set_receiver([this](Endpoint, const Mad& mad) {
    const std::lock_guard lock(heard_mutex_);
    heard_.push_back(mad);
    if (heard_.size() > kMostHeard) heard_.pop_front();
  });
}

HostileCm::~HostileCm() {
  peer_.mads().set_receiver(nullptr);
  for (const auto& file : files_) manager_.close(*file);
}

// The last message, or one of those before.
std::optional<Message> HostileCm::heard() {
  const std::lock_guard lock(heard_mutex_);
  if (heard_.empty()) return std::nullopt;
  const auto count = static_cast<std::uint32_t>(heard_.size());
  return decode(heard_[rarely(3) ? input_.below(count) : count - 1]);
}

// A request of its own, or about what it has heard; and it may be garbled.
int HostileCm::speak() {
  Message message;
  message.kind = kKinds[input_.below(std::size(kKinds))];
  message.local_id = 1 + input_.below(4);
  if (const auto before = heard(); before && !rarely(3)) {
    message.remote_id = before->local_id;
    if (!rarely(4)) message.kind = answer_to(before->kind);
  }
  const PortSpace space = kSpaces[rarely(2) ? 0 : input_.below(std::size(kSpaces))];
  message.destination = {ip_of_nic(manager_.spec(), 0),
                         static_cast<std::uint16_t>(kFirstPort + input_.below(kPorts))};
  message.source = {ip_of_nic(manager_.spec(), 1), kFirstPort};
  message.service_id =
      std::uint64_t{static_cast<std::uint16_t>(space)} << 16 | message.destination.port;
  message.qp.qpn = input_.take<std::uint32_t>() & 0xffffff;
  message.way.mtu_code = static_cast<std::uint8_t>(input_.below(8));
  message.reason = static_cast<std::uint16_t>(rarely(2) ? 0 : input_.below(40));
  message.answered = static_cast<std::uint8_t>(input_.below(4));
  message.private_data.assign(input_.below(300), 0x5a);
  Mad mad = encode(message);
  for (std::uint32_t garbled = rarely(2) ? 0 : input_.below(4); garbled != 0; --garbled) {
    mad[input_.below(kMadBytes)] = static_cast<std::uint8_t>(input_.below(256));
  }
  peer_.mads().send(peer_.nic(), own_.place(), mad);
  return 0;
}

// Until what was said has been heard, mostly.
int HostileCm::pause() {
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return 0;
}

std::string HostileCm::act() {
  using Act = int (HostileCm::*)();
  constexpr Act kActs[] = {
      &HostileCm::create,     &HostileCm::create,  &HostileCm::bind,    &HostileCm::resolve,
      &HostileCm::resolve,    &HostileCm::lead_on, &HostileCm::lead_on, &HostileCm::listen,
      &HostileCm::listen,     &HostileCm::ask,     &HostileCm::connect, &HostileCm::connect,
      &HostileCm::accept,     &HostileCm::accept,  &HostileCm::reject,  &HostileCm::end,
      &HostileCm::fetch,      &HostileCm::fetch,   &HostileCm::fetch,   &HostileCm::fetch,
      &HostileCm::set_option, &HostileCm::notify,  &HostileCm::join,    &HostileCm::leave,
      &HostileCm::migrate,    &HostileCm::any,     &HostileCm::speak,   &HostileCm::speak,
      &HostileCm::speak,      &HostileCm::speak,   &HostileCm::pause,   &HostileCm::pause,
      &HostileCm::pause,      &HostileCm::pause,   &HostileCm::connect, &HostileCm::lead_on,
      &HostileCm::fetch,      &HostileCm::fetch,   &HostileCm::fetch,   &HostileCm::speak,
  };
  const int error = (this->*kActs[input_.below(std::size(kActs))])();
  if (error >= 0 && error <= kMostErrno) return {};
  return "an answer that is no errno value: " + std::to_string(error);
}

}  // namespace gdakit::softnic::uverbs::cm::test
