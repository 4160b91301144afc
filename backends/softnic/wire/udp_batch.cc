#include "backends/softnic/wire/udp_batch.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/assert.h"

namespace gdakit::softnic {
namespace {

bool is_full(int system_code) {
  return system_code == EAGAIN || system_code == ENOBUFS || system_code == ENOMEM;
}

}  // namespace

SendRing::SendRing() : places_(kPlaces) {
  for (std::size_t i = 0; i < kPlaces; ++i) {
    places_[i].piece.iov_base = places_[i].bytes.data();
    messages_[i].msg_hdr.msg_iov = &places_[i].piece;
    messages_[i].msg_hdr.msg_iovlen = 1;
  }
}

void SendRing::push(std::size_t size, const SocketAddress& to, std::uint8_t traffic_class) {
  Place& place = places_[tail_ % kPlaces];
  msghdr& header = messages_[tail_ % kPlaces].msg_hdr;
  place.piece.iov_len = size;
  header.msg_name = const_cast<sockaddr*>(&to.any);
  header.msg_namelen = to.size();
  header.msg_control = nullptr;
  header.msg_controllen = 0;
  if (traffic_class != 0) {
    const bool is_v6 = to.any.sa_family == AF_INET6;
    const int value = traffic_class;
    header.msg_control = place.details.bytes.data();
    header.msg_controllen = CMSG_SPACE(sizeof value);
    cmsghdr* const detail = CMSG_FIRSTHDR(&header);
    detail->cmsg_level = is_v6 ? int{IPPROTO_IPV6} : int{IPPROTO_IP};
    detail->cmsg_type = is_v6 ? IPV6_TCLASS : IP_TOS;
    detail->cmsg_len = CMSG_LEN(sizeof value);
    std::memcpy(CMSG_DATA(detail), &value, sizeof value);
  }
  ++tail_;
}

SendRing::Sent SendRing::send(int socket) {
  Sent sent;
  while (!empty()) {
    const std::size_t first = head_ % kPlaces;
    const std::size_t count = std::min<std::size_t>(tail_ - head_, kPlaces - first);
    const int done =
        ::sendmmsg(socket, &messages_[first], static_cast<unsigned>(count), MSG_NOSIGNAL);
    if (done > 0) {
      head_ += static_cast<std::uint64_t>(done);
      sent.datagrams += static_cast<std::size_t>(done);
      continue;
    }
    if (errno == EINTR) continue;
    if (is_full(errno)) break;
    ++head_;
    ++sent.refused;
  }
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
  header.msg_controllen = sizeof(DatagramDetails);
}

void ReceiveBatch::add(std::uint32_t place, std::span<std::uint8_t> bytes) {
  GDAKIT_ASSERT(!full());
  Position& position = positions_[armed_++];
  position.place = place;
  position.piece = {bytes.data(), bytes.size()};
}

void ReceiveBatch::read_details(const msghdr& header, Datagram& datagram) {
  msghdr copy = header;  // CMSG_NXTHDR's is not const
  for (cmsghdr* at = CMSG_FIRSTHDR(&copy); at != nullptr; at = CMSG_NXTHDR(&copy, at)) {
    const bool is_v4 = at->cmsg_level == IPPROTO_IP && at->cmsg_type == IP_TOS;
    const bool is_v6 = at->cmsg_level == IPPROTO_IPV6 && at->cmsg_type == IPV6_TCLASS;
    // A byte, or an int whose lowest byte comes first.
    if (is_v4 || is_v6) std::memcpy(&datagram.traffic_class, CMSG_DATA(at), 1);
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SO_RXQ_OVFL) continue;
    std::uint32_t lost;
    std::memcpy(&lost, CMSG_DATA(at), sizeof lost);
    datagram.lost = lost;
  }
}

std::span<const ReceiveBatch::Datagram> ReceiveBatch::receive(int socket) {
  if (armed_ == 0) return {};
  const int got =
      ::recvmmsg(socket, messages_.data(), static_cast<unsigned>(armed_), MSG_DONTWAIT, nullptr);
  const std::size_t count = got < 0 ? 0 : static_cast<std::size_t>(got);
  for (std::size_t i = 0; i < count; ++i) {
    const msghdr& header = messages_[i].msg_hdr;
    received_[i] = {};
    received_[i].place = positions_[i].place;
    received_[i].from = positions_[i].from.address();
    received_[i].size = messages_[i].msg_len;
    received_[i].is_cut = (header.msg_flags & MSG_TRUNC) != 0;
    read_details(header, received_[i]);
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
