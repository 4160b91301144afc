#include "bench/plain_udp.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <utility>

namespace gdakit::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kMostPerMessage = 64;  // as older systems allow
constexpr std::uint32_t kMostMessageBytes = 65'000;
constexpr std::uint32_t kInFlightAtOnce = 128;  // datagrams of one sendmmsg
constexpr std::size_t kReceives = 16;           // messages of one recvmmsg
constexpr std::chrono::seconds kLimit{20};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Looks again soon, and leaves the core to others now and then.
class Waiting {
 public:
  // False after too long.
  bool again() {
    if (++looks_ % 16 == 0) std::this_thread::yield();
    return looks_ % 4096 != 0 || Clock::now() - begin_ < kLimit;
  }

 private:
  std::uint32_t looks_ = 0;
  Clock::time_point begin_ = Clock::now();
};

bool set(const softnic::UdpSocket& socket, int name, int value) {
  return ::setsockopt(socket.get(), IPPROTO_UDP, name, &value, sizeof value) == 0;
}

// The same bytes again and again, for one system call.
class Messages {
 public:
  Messages(std::vector<std::uint8_t>& bytes, std::size_t size, std::size_t count,
           softnic::SocketAddress* to)
      : messages_(count), pieces_(count) {
    for (std::size_t i = 0; i < count; ++i) {
      pieces_[i] = {bytes.data() + i * size, size};
      messages_[i].msg_hdr.msg_iov = &pieces_[i];
      messages_[i].msg_hdr.msg_iovlen = 1;
      if (to == nullptr) continue;
      messages_[i].msg_hdr.msg_name = &to->any;
      messages_[i].msg_hdr.msg_namelen = to->size();
    }
  }
  mmsghdr* data() { return messages_.data(); }
  unsigned size() const { return static_cast<unsigned>(messages_.size()); }

 private:
  std::vector<mmsghdr> messages_;
  std::vector<iovec> pieces_;
};

}  // namespace

Result<std::unique_ptr<PlainUdp>> PlainUdp::open(const PlainUdpShape& shape) {
  const auto any_port = softnic::UdpAddress::parse("127.0.0.1:0");
  if (!any_port) return any_port.error();
  auto near = softnic::UdpSocket::open(*any_port);
  if (!near) return near.error();
  auto far = softnic::UdpSocket::open(*any_port);
  if (!far) return far.error();
  if (shape.segments && (!set(*near, UDP_SEGMENT, static_cast<int>(shape.datagram_bytes)) ||
                         !set(*far, UDP_GRO, 1))) {
    return Error::from_errno("this system does not cut and join datagrams", errno);
  }
  return std::unique_ptr<PlainUdp>(new PlainUdp(shape, std::move(*near), std::move(*far)));
}

PlainUdp::PlainUdp(const PlainUdpShape& shape, softnic::UdpSocket near, softnic::UdpSocket far)
    : shape_(shape),
      near_(std::move(near)),
      far_(std::move(far)),
      sent_(std::size_t{kInFlightAtOnce} * shape.datagram_bytes, 1),
      got_(kReceives * 0x10000),
      server_([this] { serve(); }) {}

PlainUdp::~PlainUdp() {
  work_.store(Work::end);
  server_.join();
}

std::uint32_t PlainUdp::per_message() const {
  if (!shape_.segments) return 1;
  return std::min(kMostPerMessage, kMostMessageBytes / shape_.datagram_bytes);
}

Result<double> PlainUdp::stream(std::uint64_t datagrams) {
  softnic::SocketAddress to(far_.address());
  const std::uint32_t each = per_message();
  Messages messages(sent_, std::size_t{each} * shape_.datagram_bytes, kInFlightAtOnce / each, &to);
  const std::uint64_t window = far_.receive_buffer() / (2 * shape_.datagram_bytes + 1024) / 2;
  const std::uint64_t first = fetched_.load();
  const Clock::time_point begin = Clock::now();
  std::uint64_t sent = 0;
  Waiting waiting;
  for (std::uint64_t done = 0; done < datagrams; done = fetched_.load() - first) {
    const std::uint64_t room = std::min(window - (sent - done), datagrams - sent);
    const auto count = static_cast<unsigned>(std::min<std::uint64_t>(messages.size(), room / each));
    const int taken = count == 0 ? 0 : ::sendmmsg(near_.get(), messages.data(), count, 0);
    if (taken > 0) sent += static_cast<std::uint64_t>(taken) * each;
    if (taken < 0 && errno != EAGAIN) return Error::from_errno("sendmmsg", errno);
    if (sent + each > datagrams && done == sent) break;
    if (taken <= 0 && !waiting.again()) {
      return Error(Code::timed_out, "datagrams of the plain pair got lost");
    }
  }
  // What is left of the last message is not sent.
  return seconds_since(begin) * static_cast<double>(datagrams) / static_cast<double>(sent);
}

Result<double> PlainUdp::ping_pong(std::uint64_t trips) {
  const softnic::SocketAddress to(far_.address());
  begin(Work::answer);
  const Clock::time_point start = Clock::now();
  for (std::uint64_t i = 0; i < trips; ++i) {
    if (::sendto(near_.get(), sent_.data(), shape_.datagram_bytes, 0, &to.any, to.size()) < 0) {
      return Error::from_errno("sendto", errno);
    }
    Waiting waiting;
    while (::recv(near_.get(), sent_.data(), shape_.datagram_bytes, 0) < 0) {
      if (!waiting.again()) return Error(Code::timed_out, "a plain datagram got lost");
    }
  }
  const double seconds = seconds_since(start);
  begin(Work::fetch);
  return seconds;
}

// Returns once the far end does nothing else any more: what it was at would take the next datagram.
void PlainUdp::begin(Work work) {
  work_.store(work);
  while (at_work_.load() != work) std::this_thread::yield();
}

void PlainUdp::serve() {
  for (;;) {
    const Work work = work_.load();
    if (work == Work::end) return;
    at_work_.store(work);
    if (work == Work::fetch) fetch();
    if (work == Work::answer) answer();
  }
}

void PlainUdp::fetch() {
  Messages messages(got_, 0x10000, kReceives, nullptr);
  while (work_.load() == Work::fetch) {
    const int count =
        ::recvmmsg(far_.get(), messages.data(), messages.size(), MSG_DONTWAIT, nullptr);
    if (count <= 0) std::this_thread::yield();
    std::uint64_t bytes = 0;
    for (int i = 0; i < count; ++i) bytes += messages.data()[i].msg_len;
    fetched_.store(fetched_.load() + bytes / shape_.datagram_bytes);
  }
}

void PlainUdp::answer() {
  const softnic::SocketAddress to(near_.address());
  Waiting waiting;
  while (work_.load() == Work::answer) {
    const ssize_t size = ::recv(far_.get(), got_.data(), got_.size(), MSG_DONTWAIT);
    if (size > 0) {
      ::sendto(far_.get(), got_.data(), static_cast<std::size_t>(size), 0, &to.any, to.size());
    } else {
      waiting.again();
    }
  }
}

}  // namespace gdakit::bench
