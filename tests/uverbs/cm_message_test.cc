// The messages of connection managers, as bytes.
#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/uverbs/cm/message.h"

namespace gdakit::softnic::uverbs::cm {
namespace {

constexpr MessageKind kKinds[] = {MessageKind::req,  MessageKind::mra,      MessageKind::rej,
                                  MessageKind::rep,  MessageKind::rtu,      MessageKind::dreq,
                                  MessageKind::drep, MessageKind::sidr_req, MessageKind::sidr_rep};

Gid ipv4(std::uint8_t last) { return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, last}; }

Message full(MessageKind kind) {
  Message message;
  message.kind = kind;
  message.local_id = 0x01020304;
  message.remote_id = 0x05060708;
  message.unreliable = true;
  message.service_id = 0x0106'1c06;
  message.guid = 0x1122334455667788;
  message.qp = {.qpn = 0xabcdef,
                .qkey = 0x80010000,
                .psn = 0x123456,
                .responder_resources = 16,
                .initiator_depth = 15,
                .rnr_retry_count = 7,
                .retry_count = 6,
                .flow_control = true,
                .srq = true};
  message.ece = {.vendor_id = 0x0015b3, .options = 0x30000002};
  message.way = {.source = ipv4(1),
                 .destination = ipv4(2),
                 .source_lid = 3,
                 .destination_lid = 4,
                 .mtu_code = 5,
                 .traffic_class = 104,
                 .ack_timeout = 17};
  message.source = {ipv4(1), 40000};
  message.destination = {ipv4(2), 0x1c06};
  message.reason = 28;
  message.answered = 1;
  message.private_data.resize(private_bytes(kind));
  for (std::size_t i = 0; i < message.private_data.size(); ++i) {
    message.private_data[i] = static_cast<std::uint8_t>(i + 1);
  }
  return message;
}

TEST(CmMessage, HasRoomForPrivateDataAsSpecified) {
  EXPECT_EQ(private_bytes(MessageKind::req), 56u);  // 92, and IP's header
  EXPECT_EQ(private_bytes(MessageKind::mra), 222u);
  EXPECT_EQ(private_bytes(MessageKind::rej), 148u);
  EXPECT_EQ(private_bytes(MessageKind::rep), 196u);
  EXPECT_EQ(private_bytes(MessageKind::rtu), 224u);
  EXPECT_EQ(private_bytes(MessageKind::dreq), 220u);
  EXPECT_EQ(private_bytes(MessageKind::drep), 224u);
  EXPECT_EQ(private_bytes(MessageKind::sidr_req), 180u);
  EXPECT_EQ(private_bytes(MessageKind::sidr_rep), 136u);
}

TEST(CmMessage, ArrivesWhole) {
  for (const MessageKind kind : kKinds) {
    const Message said = full(kind);
    const auto heard = decode(encode(said));
    ASSERT_TRUE(heard) << static_cast<int>(kind);
    EXPECT_EQ(heard->kind, kind);
    EXPECT_EQ(heard->private_data, said.private_data);
    const bool has_ece = kind == MessageKind::req || kind == MessageKind::rep;
    EXPECT_EQ(heard->ece, has_ece ? said.ece : Ece{});
    const bool is_request = kind == MessageKind::req || kind == MessageKind::sidr_req;
    EXPECT_EQ(heard->local_id, kind == MessageKind::sidr_rep ? 0 : said.local_id);
    EXPECT_EQ(heard->remote_id, is_request ? 0 : said.remote_id);
    if (!is_request) continue;
    EXPECT_EQ(heard->service_id, said.service_id);
    EXPECT_EQ(heard->source, said.source);
    EXPECT_EQ(heard->destination, said.destination);
  }
}

TEST(CmMessage, SaysAllOfAQueuePair) {
  for (const MessageKind kind : {MessageKind::req, MessageKind::rep}) {
    const Message said = full(kind);
    const QpSide heard = decode(encode(said))->qp;
    EXPECT_EQ(heard.qpn, said.qp.qpn);
    EXPECT_EQ(heard.qkey, said.qp.qkey);
    EXPECT_EQ(heard.psn, said.qp.psn);
    EXPECT_EQ(heard.responder_resources, said.qp.responder_resources);
    EXPECT_EQ(heard.initiator_depth, said.qp.initiator_depth);
    EXPECT_EQ(heard.rnr_retry_count, said.qp.rnr_retry_count);
    EXPECT_EQ(heard.retry_count, kind == MessageKind::req ? said.qp.retry_count : 0);
    EXPECT_TRUE(heard.flow_control);
    EXPECT_TRUE(heard.srq);
  }
}

TEST(CmMessage, SaysTheWay) {
  const Message said = full(MessageKind::req);
  const Message heard = *decode(encode(said));
  EXPECT_TRUE(heard.unreliable);
  EXPECT_EQ(heard.guid, said.guid);
  EXPECT_EQ(heard.way.source, said.way.source);
  EXPECT_EQ(heard.way.destination, said.way.destination);
  EXPECT_EQ(heard.way.source_lid, 3);
  EXPECT_EQ(heard.way.destination_lid, 4);
  EXPECT_EQ(heard.way.mtu_code, 5);
  EXPECT_EQ(heard.way.traffic_class, 104);
  EXPECT_EQ(heard.way.ack_timeout, 17);
}

// By the offsets of the specification, as Wireshark reads them.
TEST(CmMessage, LiesAsSpecified) {
  const Mad mad = encode(full(MessageKind::req));
  const auto byte = [&mad](std::size_t at) { return mad[at]; };
  EXPECT_EQ(byte(0), 1);  // base version
  EXPECT_EQ(byte(1), 7);  // class: communication management
  EXPECT_EQ(byte(2), 2);
  EXPECT_EQ(byte(3), 3);      // method: send
  EXPECT_EQ(byte(17), 0x10);  // attribute: REQ
  constexpr std::size_t kMessage = 24;
  EXPECT_EQ(byte(kMessage + 0), 1);
  EXPECT_EQ(byte(kMessage + 15), 0x06);   // the service's last byte
  EXPECT_EQ(byte(kMessage + 32), 0xab);   // QPN
  EXPECT_EQ(byte(kMessage + 35), 16);     // responder resources
  EXPECT_EQ(byte(kMessage + 44), 0x12);   // PSN
  EXPECT_EQ(byte(kMessage + 47) & 7, 6);  // retries
  EXPECT_EQ(byte(kMessage + 50), 5 << 4 | 7);
  EXPECT_EQ(byte(kMessage + 56 + 15), 1);       // the GID's last byte
  EXPECT_EQ(byte(kMessage + 140 + 1), 4 << 4);  // IPv4
  EXPECT_EQ(byte(kMessage + 140 + 36), 1);      // private data
}

TEST(CmMessage, KnowsAddressesOfIpv6) {
  Message said = full(MessageKind::req);
  said.source.ip[0] = said.destination.ip[0] = 0xfd;
  const auto heard = decode(encode(said));
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->source, said.source);
  EXPECT_EQ(heard->destination, said.destination);
}

TEST(CmMessage, IsNotWhatIsNone) {
  const Mad good = encode(full(MessageKind::req));
  for (const std::size_t at : {0u, 1u, 2u, 3u, 16u, 17u}) {
    Mad bad = good;
    bad[at] ^= 0xff;
    EXPECT_FALSE(decode(bad)) << at;
  }
  Mad no_ip = good;
  no_ip[24 + 140 + 1] = 0;
  EXPECT_FALSE(decode(no_ip));
  EXPECT_FALSE(decode(Mad{}));
}

TEST(CmMessage, ReadsAnythingWithoutHarm) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    Mad mad;
    std::ranges::generate(mad, [&random] { return static_cast<std::uint8_t>(random()); });
    std::copy_n(std::begin({std::uint8_t{1}, std::uint8_t{7}, std::uint8_t{2}, std::uint8_t{3}}), 4,
                mad.begin());
    mad[16] = 0;
    mad[17] = static_cast<std::uint8_t>(0x10 + random() % 9);
    if (const auto message = decode(mad)) encode(*message);
  }
}

TEST(CmMessage, CutsWhatItHasNoRoomFor) {
  Message said = full(MessageKind::rej);
  said.private_data.resize(1000, 7);
  EXPECT_EQ(decode(encode(said))->private_data.size(), private_bytes(MessageKind::rej));
}

}  // namespace
}  // namespace gdakit::softnic::uverbs::cm
