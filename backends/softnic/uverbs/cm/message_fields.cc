#include "backends/softnic/uverbs/cm/message_fields.h"

namespace gdakit::softnic::uverbs::cm {
namespace {

constexpr std::uint8_t kReliable = 0, kUnreliable = 1;  // transport service types
constexpr std::uint8_t kResponseTimeout = 20;           // 4.3 s, as the kernel says
constexpr std::uint8_t kCmRetries = 15;
constexpr std::uint32_t kVendorBits = 0xffffff;

void write_ids(const Message& message, Out<layout::Connected> out) {
  out.set(layout::Connected::local_comm_id, message.local_id);
  out.set(layout::Connected::remote_comm_id, message.remote_id);
}

void read_ids(From<layout::Connected> in, Message& message) {
  message.local_id = static_cast<std::uint32_t>(in.get(layout::Connected::local_comm_id));
  message.remote_id = static_cast<std::uint32_t>(in.get(layout::Connected::remote_comm_id));
}

template <class Layout>
Out<layout::Connected> ids(Out<Layout> out) {
  return Out<layout::Connected>(out.bytes());
}
template <class Layout>
From<layout::Connected> ids(From<Layout> in) {
  return From<layout::Connected>(in.bytes());
}

}  // namespace

void write(const Message& message, Out<layout::Req> out) {
  using layout::Req;
  out.set(Req::attribute_modifier, message.ece.options);
  out.set(Req::vendor_id, message.ece.vendor_id & kVendorBits);
  out.set(Req::local_comm_id, message.local_id);
  out.set(Req::service_id, message.service_id);
  out.set(Req::local_ca_guid, message.guid);
  out.set(Req::local_qkey, message.qp.qkey);
  out.set(Req::local_qpn, message.qp.qpn);
  out.set(Req::responder_resources, message.qp.responder_resources);
  out.set(Req::initiator_depth, message.qp.initiator_depth);
  out.set(Req::remote_response_timeout, kResponseTimeout);
  out.set(Req::transport_service_type, message.unreliable ? kUnreliable : kReliable);
  out.set(Req::flow_control, message.qp.flow_control);
  out.set(Req::starting_psn, message.qp.psn);
  out.set(Req::local_response_timeout, kResponseTimeout);
  out.set(Req::retry_count, message.qp.retry_count);
  out.set(Req::partition_key, kDefaultPartition);
  out.set(Req::path_mtu, message.way.mtu_code);
  out.set(Req::rnr_retry_count, message.qp.rnr_retry_count);
  out.set(Req::max_cm_retries, kCmRetries);
  out.set(Req::srq, message.qp.srq);
  out.set(Req::local_lid, message.way.source_lid);
  out.set(Req::remote_lid, message.way.destination_lid);
  copy(message.way.source, out.at(Req::local_gid));
  copy(message.way.destination, out.at(Req::remote_gid));
  out.set(Req::traffic_class, message.way.traffic_class);
  out.set(Req::hop_limit, kHopLimit);
  out.set(Req::subnet_local, 1);
  out.set(Req::local_ack_timeout, message.way.ack_timeout);
}

void read(From<layout::Req> in, Message& message) {
  using layout::Req;
  message.ece = {static_cast<std::uint32_t>(in.get(Req::vendor_id)),
                 static_cast<std::uint32_t>(in.get(Req::attribute_modifier))};
  message.local_id = static_cast<std::uint32_t>(in.get(Req::local_comm_id));
  message.service_id = in.get(Req::service_id);
  message.guid = in.get(Req::local_ca_guid);
  message.unreliable = in.get(Req::transport_service_type) == kUnreliable;
  message.qp = {.qpn = static_cast<QpNumber>(in.get(Req::local_qpn)),
                .qkey = static_cast<std::uint32_t>(in.get(Req::local_qkey)),
                .psn = static_cast<std::uint32_t>(in.get(Req::starting_psn)),
                .responder_resources = static_cast<std::uint8_t>(in.get(Req::responder_resources)),
                .initiator_depth = static_cast<std::uint8_t>(in.get(Req::initiator_depth)),
                .rnr_retry_count = static_cast<std::uint8_t>(in.get(Req::rnr_retry_count)),
                .retry_count = static_cast<std::uint8_t>(in.get(Req::retry_count)),
                .flow_control = in.get(Req::flow_control) != 0,
                .srq = in.get(Req::srq) != 0};
  copy(in.at(Req::local_gid), message.way.source);
  copy(in.at(Req::remote_gid), message.way.destination);
  message.way.source_lid = static_cast<std::uint16_t>(in.get(Req::local_lid));
  message.way.destination_lid = static_cast<std::uint16_t>(in.get(Req::remote_lid));
  message.way.mtu_code = static_cast<std::uint8_t>(in.get(Req::path_mtu));
  message.way.traffic_class = static_cast<std::uint8_t>(in.get(Req::traffic_class));
  message.way.ack_timeout = static_cast<std::uint8_t>(in.get(Req::local_ack_timeout));
}

void write(const Message& message, Out<layout::Mra> out) {
  write_ids(message, ids(out));
  out.set(layout::Mra::message, message.answered);
  out.set(layout::Mra::service_timeout, kResponseTimeout);
}

void read(From<layout::Mra> in, Message& message) {
  read_ids(ids(in), message);
  message.answered = static_cast<std::uint8_t>(in.get(layout::Mra::message));
}

void write(const Message& message, Out<layout::Rej> out) {
  write_ids(message, ids(out));
  out.set(layout::Rej::message, message.answered);
  out.set(layout::Rej::reason, message.reason);
}

void read(From<layout::Rej> in, Message& message) {
  read_ids(ids(in), message);
  message.answered = static_cast<std::uint8_t>(in.get(layout::Rej::message));
  message.reason = static_cast<std::uint16_t>(in.get(layout::Rej::reason));
}

void write(const Message& message, Out<layout::Rep> out) {
  using layout::Rep;
  write_ids(message, ids(out));
  out.set(Rep::attribute_modifier, message.ece.options);
  out.set(Rep::vendor_id_high, message.ece.vendor_id >> 16 & 0xff);
  out.set(Rep::vendor_id_middle, message.ece.vendor_id >> 8 & 0xff);
  out.set(Rep::vendor_id_low, message.ece.vendor_id & 0xff);
  out.set(Rep::local_qkey, message.qp.qkey);
  out.set(Rep::local_qpn, message.qp.qpn);
  out.set(Rep::starting_psn, message.qp.psn);
  out.set(Rep::responder_resources, message.qp.responder_resources);
  out.set(Rep::initiator_depth, message.qp.initiator_depth);
  out.set(Rep::flow_control, message.qp.flow_control);
  out.set(Rep::rnr_retry_count, message.qp.rnr_retry_count);
  out.set(Rep::srq, message.qp.srq);
  out.set(Rep::local_ca_guid, message.guid);
}

void read(From<layout::Rep> in, Message& message) {
  using layout::Rep;
  read_ids(ids(in), message);
  const std::uint64_t vendor = in.get(Rep::vendor_id_high) << 16 |
                               in.get(Rep::vendor_id_middle) << 8 | in.get(Rep::vendor_id_low);
  message.ece = {static_cast<std::uint32_t>(vendor),
                 static_cast<std::uint32_t>(in.get(Rep::attribute_modifier))};
  message.guid = in.get(Rep::local_ca_guid);
  message.qp = {.qpn = static_cast<QpNumber>(in.get(Rep::local_qpn)),
                .qkey = static_cast<std::uint32_t>(in.get(Rep::local_qkey)),
                .psn = static_cast<std::uint32_t>(in.get(Rep::starting_psn)),
                .responder_resources = static_cast<std::uint8_t>(in.get(Rep::responder_resources)),
                .initiator_depth = static_cast<std::uint8_t>(in.get(Rep::initiator_depth)),
                .rnr_retry_count = static_cast<std::uint8_t>(in.get(Rep::rnr_retry_count)),
                .flow_control = in.get(Rep::flow_control) != 0,
                .srq = in.get(Rep::srq) != 0};
}

void write(const Message& message, Out<layout::Rtu> out) { write_ids(message, ids(out)); }
void read(From<layout::Rtu> in, Message& message) { read_ids(ids(in), message); }

void write(const Message& message, Out<layout::Dreq> out) {
  write_ids(message, ids(out));
  out.set(layout::Dreq::remote_qpn, message.qp.qpn);
}

void read(From<layout::Dreq> in, Message& message) {
  read_ids(ids(in), message);
  message.qp.qpn = static_cast<QpNumber>(in.get(layout::Dreq::remote_qpn));
}

void write(const Message& message, Out<layout::SidrReq> out) {
  out.set(layout::SidrReq::request_id, message.local_id);
  out.set(layout::SidrReq::partition_key, kDefaultPartition);
  out.set(layout::SidrReq::service_id, message.service_id);
}

void read(From<layout::SidrReq> in, Message& message) {
  message.local_id = static_cast<std::uint32_t>(in.get(layout::SidrReq::request_id));
  message.service_id = in.get(layout::SidrReq::service_id);
}

void write(const Message& message, Out<layout::SidrRep> out) {
  using layout::SidrRep;
  out.set(SidrRep::request_id, message.remote_id);
  out.set(SidrRep::status, message.reason);
  out.set(SidrRep::qpn, message.qp.qpn);
  out.set(SidrRep::qkey, message.qp.qkey);
  out.set(SidrRep::service_id, message.service_id);
}

void read(From<layout::SidrRep> in, Message& message) {
  using layout::SidrRep;
  message.remote_id = static_cast<std::uint32_t>(in.get(SidrRep::request_id));
  message.reason = static_cast<std::uint16_t>(in.get(SidrRep::status));
  message.qp.qpn = static_cast<QpNumber>(in.get(SidrRep::qpn));
  message.qp.qkey = static_cast<std::uint32_t>(in.get(SidrRep::qkey));
  message.service_id = in.get(SidrRep::service_id);
}

}  // namespace gdakit::softnic::uverbs::cm
