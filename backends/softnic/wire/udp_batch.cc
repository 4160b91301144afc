#include "backends/softnic/wire/udp_batch.h"

#include <cerrno>
#include <cstring>
#include <netinet/udp.h>

#include "core/base/assert.h"

namespace gdakit::softnic {
namespace {

bool is_full(int system_code) {
  return system_code == EAGAIN || system_code == ENOBUFS || system_code == ENOMEM;
}

// What a system says that does not cut trains, or not on this way.
bool is_about_trains(int system_code) {
  return system_code == EINVAL || system_code == EIO || system_code == EOPNOTSUPP ||
         system_code == ENOPROTOOPT;
}

// Appends a detail to a header whose room for them is large enough.
template <class Value>
void put_detail(msghdr& header, int level, int type, Value value) {
  auto* const at = reinterpret_cast<cmsghdr*>(static_cast<std::byte*>(header.msg_control) +
                                              header.msg_controllen);
  at->cmsg_level = level;
  at->cmsg_type = type;
  at->cmsg_len = CMSG_LEN(sizeof value);
  std::memcpy(CMSG_DATA(at), &value, sizeof value);
  header.msg_controllen += CMSG_SPACE(sizeof value);
}

}  // namespace

SendBatch::SendBatch(bool cuts) : cuts_(cuts), bytes_(new std::uint8_t[kBytes]) {}

bool SendBatch::joins(std::size_t size, const SocketAddress& to, std::uint8_t traffic_class) const {
  if (!cuts_ || empty()) return false;
  // IPv4's length counts the headers, too.
  constexpr std::size_t kMostBytes = 0xffff - 20 - 8;
  const Train& last = trains_[tail_ - 1];
  return last.to == &to && last.traffic_class == traffic_class && !last.ended &&
         size <= last.datagram_bytes && last.datagrams < kMostInTrain &&
         last.bytes + size <= kMostBytes;
}

SendBatch::Room SendBatch::add(std::size_t size, const SocketAddress& to,
                               std::uint8_t traffic_class) {
  GDAKIT_ASSERT(!full() && size != 0 && size <= kDatagramBytes);
  if (!joins(size, to, traffic_class)) {
    Train& train = trains_[tail_++];
    train.begin = end_;
    train.bytes = 0;
    train.datagram_bytes = size;
    train.datagrams = 0;
    train.to = &to;
    train.traffic_class = traffic_class;
  }
  Train& train = trains_[tail_ - 1];
  train.ended = size < train.datagram_bytes;
  train.bytes += size;
  std::uint8_t* const bytes = bytes_.get() + end_;
  end_ += size;
  return {{bytes, size}, train.datagrams++};
}

void SendBatch::prepare(std::size_t number) {
  Train& train = trains_[number];
  msghdr& header = messages_[number].msg_hdr;
  train.piece = {bytes_.get() + train.begin, train.bytes};
  header.msg_iov = &train.piece;
  header.msg_iovlen = 1;
  header.msg_name = const_cast<sockaddr*>(&train.to->any);
  header.msg_namelen = train.to->size();
  header.msg_control = train.details.bytes.data();
  header.msg_controllen = 0;
  if (train.traffic_class != 0) {
    const bool is_v6 = train.to->any.sa_family == AF_INET6;
    put_detail(header, is_v6 ? int{IPPROTO_IPV6} : int{IPPROTO_IP}, is_v6 ? IPV6_TCLASS : IP_TOS,
               int{train.traffic_class});
  }
  if (train.datagrams > 1) {
    put_detail(header, IPPROTO_UDP, UDP_SEGMENT, static_cast<std::uint16_t>(train.datagram_bytes));
  }
}

SendBatch::Sent SendBatch::send(int socket) {
  Sent sent;
  for (std::size_t i = head_; i < tail_; ++i) prepare(i);
  while (!empty()) {
    const int done =
        ::sendmmsg(socket, &messages_[head_], static_cast<unsigned>(tail_ - head_), MSG_NOSIGNAL);
    for (int i = 0; i < done; ++i) sent.datagrams += trains_[head_++].datagrams;
    if (done > 0 || errno == EINTR) continue;
    if (is_full(errno)) return sent;
    const std::uint32_t refused = trains_[head_++].datagrams;
    if (refused > 1 && is_about_trains(errno)) cuts_ = false;
    sent.refused += refused;
  }
  head_ = tail_ = end_ = 0;
  return sent;
}

ReceiveBatch::ReceiveBatch() {
  for (std::size_t i = 0; i < kMost; ++i) {
    msghdr& header = messages_[i].msg_hdr;
    header.msg_name = &positions_[i].from;
    header.msg_iov = &positions_[i].piece;
    header.msg_iovlen = 1;
    header.msg_control = positions_[i].details.bytes.data();
    arm(i);
  }
}

// The system has overwritten how long these are.
void ReceiveBatch::arm(std::size_t position) {
  msghdr& header = messages_[position].msg_hdr;
  header.msg_namelen = sizeof(SocketAddress);
  header.msg_controllen = sizeof(MessageDetails);
}

void ReceiveBatch::add(std::uint32_t place, std::uint8_t* bytes) {
  GDAKIT_ASSERT(!full());
  Position& position = positions_[armed_++];
  position.place = place;
  position.piece = {bytes, kMessageBytes};
}

void ReceiveBatch::read_details(const msghdr& header, Message& message) {
  msghdr copy = header;  // CMSG_NXTHDR's is not const
  for (cmsghdr* at = CMSG_FIRSTHDR(&copy); at != nullptr; at = CMSG_NXTHDR(&copy, at)) {
    const bool is_v4 = at->cmsg_level == IPPROTO_IP && at->cmsg_type == IP_TOS;
    const bool is_v6 = at->cmsg_level == IPPROTO_IPV6 && at->cmsg_type == IPV6_TCLASS;
    // A byte, or an int whose lowest byte comes first.
    if (is_v4 || is_v6) std::memcpy(&message.traffic_class, CMSG_DATA(at), 1);
    if (at->cmsg_level == IPPROTO_UDP && at->cmsg_type == UDP_GRO) {
      int bytes;
      std::memcpy(&bytes, CMSG_DATA(at), sizeof bytes);
      if (bytes > 0) message.datagram_bytes = static_cast<std::uint32_t>(bytes);
    }
    if (at->cmsg_level == SOL_SOCKET && at->cmsg_type == SO_RXQ_OVFL) {
      std::uint32_t lost;
      std::memcpy(&lost, CMSG_DATA(at), sizeof lost);
      message.lost = lost;
    }
  }
}

std::span<const ReceiveBatch::Message> ReceiveBatch::receive(int socket) {
  if (armed_ == 0) return {};
  const int got =
      ::recvmmsg(socket, messages_.data(), static_cast<unsigned>(armed_), MSG_DONTWAIT, nullptr);
  const std::size_t count = got < 0 ? 0 : static_cast<std::size_t>(got);
  for (std::size_t i = 0; i < count; ++i) {
    received_[i] = {};
    received_[i].place = positions_[i].place;
    received_[i].from = positions_[i].from.address();
    received_[i].size = received_[i].datagram_bytes = messages_[i].msg_len;
    read_details(messages_[i].msg_hdr, received_[i]);
    arm(i);
  }
  // The positions behind, whose places are still the batch's, move to the front.
  for (std::size_t i = count; i < armed_ && count != 0; ++i) {
    positions_[i - count].place = positions_[i].place;
    positions_[i - count].piece = positions_[i].piece;
  }
  armed_ -= count;
  return std::span(received_).first(count);
}

}  // namespace gdakit::softnic
