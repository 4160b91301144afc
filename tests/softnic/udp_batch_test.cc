// Trains of datagrams, over this host's loopback interface.
#include "backends/softnic/wire/udp_batch.h"

#include <algorithm>
#include <netinet/udp.h>
#include <numeric>
#include <poll.h>
#include <sys/socket.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/wire/udp_socket.h"

namespace gdakit::softnic {
namespace {

using Bytes = std::vector<std::uint8_t>;

UdpSocket any_socket() { return std::move(*UdpSocket::open(*UdpAddress::parse("127.0.0.1:0"))); }

void wait_for_data(int socket) {
  pollfd waiting{socket, POLLIN, 0};
  ASSERT_EQ(::poll(&waiting, 1, 20'000), 1) << "no datagram came";
}

// Which no other datagram has.
Bytes bytes_of(std::size_t number, std::size_t size) {
  Bytes bytes(size);
  std::iota(bytes.begin(), bytes.end(), static_cast<std::uint8_t>(number * 37));
  return bytes;
}

// A batch, and datagrams of these sizes that go to one receiver.
class Sending {
 public:
  explicit Sending(const UdpAddress& to) : to_(to) {}

  // Returns the datagrams' numbers in their trains.
  std::vector<std::uint32_t> add(const std::vector<std::size_t>& sizes, std::uint8_t traffic = 0) {
    std::vector<std::uint32_t> numbers;
    for (const std::size_t size : sizes) {
      const SendBatch::Room room = batch.add(size, to_, traffic);
      const Bytes bytes = bytes_of(datagrams.size(), size);
      std::copy(bytes.begin(), bytes.end(), room.bytes.begin());
      datagrams.push_back(bytes);
      numbers.push_back(room.number);
    }
    return numbers;
  }
  SendBatch::Sent send() { return batch.send(socket.get()); }

  UdpSocket socket = any_socket();
  SendBatch batch{socket.cuts_messages()};
  std::vector<Bytes> datagrams;

 private:
  SocketAddress to_;
};

// A socket that has not asked for joined datagrams, as those of other programs.
class PlainReceiver {
 public:
  PlainReceiver() {
    const int off = 0;
    ::setsockopt(socket_.get(), IPPROTO_UDP, UDP_GRO, &off, sizeof off);
  }
  const UdpAddress& address() const { return socket_.address(); }
  std::vector<Bytes> receive(std::size_t count) {
    std::vector<Bytes> all;
    for (std::size_t i = 0; i < count && !::testing::Test::HasFatalFailure(); ++i) {
      wait_for_data(socket_.get());
      Bytes bytes(kMessageBytes);
      const ssize_t size = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      bytes.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
      all.push_back(bytes);
    }
    return all;
  }

 private:
  UdpSocket socket_ = any_socket();
};

std::vector<Bytes> receive_by_batch(UdpSocket& socket, std::size_t count) {
  std::vector<Bytes> places(4, Bytes(kMessageBytes));
  std::vector<Bytes> all;
  ReceiveBatch batch;
  for (std::uint32_t i = 0; i < places.size(); ++i) batch.add(i, places[i].data());
  while (all.size() < count && !::testing::Test::HasFatalFailure()) {
    wait_for_data(socket.get());
    for (const ReceiveBatch::Message& message : batch.receive(socket.get())) {
      const std::uint8_t* const bytes = places[message.place].data();
      for (std::uint32_t i = 0; i < message.datagrams(); ++i) {
        const std::uint32_t begin = i * message.datagram_bytes;
        const std::uint32_t end = std::min(begin + message.datagram_bytes, message.size);
        all.emplace_back(bytes + begin, bytes + end);
      }
      batch.add(message.place, places[message.place].data());
    }
  }
  return all;
}

using Numbers = std::vector<std::uint32_t>;

TEST(UdpBatch, ATrainArrivesAtAPlainSocketDatagramByDatagram) {
  PlainReceiver receiver;
  Sending sending(receiver.address());
  ASSERT_TRUE(sending.batch.cuts());
  EXPECT_EQ(sending.add({100, 100, 100, 60, 100}), (Numbers{0, 1, 2, 3, 0}));
  const SendBatch::Sent sent = sending.send();
  EXPECT_EQ(sent.datagrams, 5u);
  EXPECT_EQ(sent.refused, 0u);
  EXPECT_TRUE(receiver.receive(5) == sending.datagrams);
}

TEST(UdpBatch, WhatComesJoinedIsTakenApartWithAShortLastOne) {
  UdpSocket receiver = any_socket();
  Sending sending(receiver.address());
  sending.add({4112, 4112, 4112, 20});
  EXPECT_EQ(sending.send().datagrams, 4u);
  EXPECT_TRUE(receive_by_batch(receiver, 4) == sending.datagrams);
}

TEST(UdpBatch, DatagramsOfAllSizesArriveInTheirOrder) {
  UdpSocket receiver = any_socket();
  Sending sending(receiver.address());
  std::size_t sent = 0;
  for (std::size_t i = 0; i < 500; ++i) {
    if (sending.batch.full()) sent += sending.send().datagrams;
    // Runs of one size, of several lengths, and single ones.
    sending.add({4 + (i / 7 * 389) % 4100 + (i % 5 == 0 ? 4 : 0)});
  }
  sent += sending.send().datagrams;
  EXPECT_EQ(sent, 500u);
  EXPECT_TRUE(receive_by_batch(receiver, 500) == sending.datagrams);
}

TEST(UdpBatch, ATrainHasOnePeerOneTrafficClassAndAnEnd) {
  UdpSocket receiver = any_socket();
  Sending sending(receiver.address());
  EXPECT_EQ(sending.add({40, 40}), (Numbers{0, 1}));
  EXPECT_EQ(sending.add({40, 40}, 0x68), (Numbers{0, 1}));
  const SocketAddress other(*UdpAddress::parse("127.0.0.1:9"));
  EXPECT_EQ(sending.batch.add(40, other, 0x68).number, 0u);
  EXPECT_EQ(sending.add({40, 44}, 0x68), (Numbers{0, 0}));
  const Numbers numbers = sending.add(std::vector<std::size_t>(70, 44), 0x68);
  EXPECT_EQ(numbers[62], 63u);
  EXPECT_EQ(numbers[63], 0u);
  // No message is longer than what IP carries.
  const Numbers long_ones = sending.add(std::vector<std::size_t>(16, 4112), 0x68);
  EXPECT_EQ(long_ones[14], 14u);
  EXPECT_EQ(long_ones[15], 0u);
  EXPECT_EQ(sending.send().refused, 0u);
}

TEST(UdpBatch, OnASystemThatDoesNotCutTrainsDatagramsGoAlone) {
  PlainReceiver receiver;
  Sending sending(receiver.address());
  sending.batch = SendBatch(/*cuts=*/false);
  EXPECT_EQ(sending.add({100, 100, 60}), (Numbers{0, 0, 0}));
  EXPECT_EQ(sending.send().datagrams, 3u);
  EXPECT_TRUE(receiver.receive(3) == sending.datagrams);
}

// Linux cuts no trains of a socket without checksums.
TEST(UdpBatch, ATrainThatTheSystemRefusesIsLostAndTheNextDatagramsGoAlone) {
  PlainReceiver receiver;
  Sending sending(receiver.address());
  const int on = 1;
  ASSERT_EQ(::setsockopt(sending.socket.get(), SOL_SOCKET, SO_NO_CHECK, &on, sizeof on), 0);
  sending.add({100, 100, 100});
  const SendBatch::Sent refused = sending.send();
  EXPECT_EQ(refused.datagrams, 0u);
  EXPECT_EQ(refused.refused, 3u);
  EXPECT_FALSE(sending.batch.cuts());
  sending.datagrams.clear();
  EXPECT_EQ(sending.add({100, 100, 60}), (Numbers{0, 0, 0}));
  EXPECT_EQ(sending.send().datagrams, 3u);
  EXPECT_TRUE(receiver.receive(3) == sending.datagrams);
}

}  // namespace
}  // namespace gdakit::softnic
