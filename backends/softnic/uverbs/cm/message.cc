#include "backends/softnic/uverbs/cm/message.h"

#include <algorithm>
#include <span>

namespace gdakit::softnic::uverbs::cm {
namespace {

using format::prm::View;
using layout::IpHeader;

constexpr std::uint8_t kIpv4 = 4, kIpv6 = 6;
constexpr std::uint8_t kReliable = 0, kUnreliable = 1;  // transport service types
constexpr std::uint8_t kResponseTimeout = 20;           // 4.3 s, as the kernel says
constexpr std::uint8_t kCmRetries = 15;

template <class Layout>
using Out = View<Layout, std::uint8_t>;
template <class Layout>
using From = View<Layout>;

// Calls with the layout of the kind. False: there is none.
template <class Call>
bool with_layout(MessageKind kind, Call&& call) {
  switch (kind) {
    case MessageKind::req: return call(layout::Req()), true;
    case MessageKind::mra: return call(layout::Mra()), true;
    case MessageKind::rej: return call(layout::Rej()), true;
    case MessageKind::rep: return call(layout::Rep()), true;
    case MessageKind::rtu:
    case MessageKind::drep: return call(layout::Rtu()), true;
    case MessageKind::dreq: return call(layout::Dreq()), true;
    case MessageKind::sidr_req: return call(layout::SidrReq()), true;
    case MessageKind::sidr_rep: return call(layout::SidrRep()), true;
  }
  return false;
}

bool has_ip_header(MessageKind kind) {
  return kind == MessageKind::req || kind == MessageKind::sidr_req;
}

std::uint16_t port_of(std::uint64_t service_id) { return static_cast<std::uint16_t>(service_id); }

void copy(std::span<const std::uint8_t> from, std::span<std::uint8_t> to) {
  std::copy_n(from.begin(), std::min(from.size(), to.size()), to.begin());
}

void write_ip_header(const Message& message, std::span<std::uint8_t> to) {
  const Out<IpHeader> out(to);
  out.set(IpHeader::ip_version, is_ipv4(message.destination.ip) ? kIpv4 : kIpv6);
  out.set(IpHeader::source_port, message.source.port);
  // Of IPv4 the last four bytes alone.
  const std::size_t skipped = is_ipv4(message.destination.ip) ? 12 : 0;
  copy(std::span(message.source.ip).subspan(skipped), out.at(IpHeader::source).subspan(skipped));
  copy(std::span(message.destination.ip).subspan(skipped),
       out.at(IpHeader::destination).subspan(skipped));
}

Gid ip_of_header(std::span<const std::uint8_t, 16> bytes, bool ipv4) {
  Gid ip{};
  std::copy(bytes.begin(), bytes.end(), ip.begin());
  if (!ipv4) return ip;
  std::fill_n(ip.begin(), 10, std::uint8_t{0});
  ip[10] = ip[11] = 0xff;
  return ip;
}

bool read_ip_header(std::span<const std::uint8_t> from, Message& message) {
  const From<IpHeader> in(from);
  const std::uint64_t version = in.get(IpHeader::ip_version);
  if (in.get(IpHeader::cma_version) != 0 || (version != kIpv4 && version != kIpv6)) return false;
  const bool ipv4 = version == kIpv4;
  message.source = {ip_of_header(in.at(IpHeader::source), ipv4),
                    static_cast<std::uint16_t>(in.get(IpHeader::source_port))};
  message.destination = {ip_of_header(in.at(IpHeader::destination), ipv4),
                         port_of(message.service_id)};
  return true;
}

void write(const Message& message, Out<layout::Req> out) {
  using layout::Req;
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

}  // namespace

std::size_t private_bytes(MessageKind kind) {
  std::size_t bytes = 0;
  with_layout(kind, [&]<class Layout>(Layout) {
    bytes = From<Layout>(Mad{}).at(Layout::private_data).size();
  });
  return has_ip_header(kind) ? bytes - IpHeader::kBytes : bytes;
}

Mad encode(const Message& message) {
  using layout::Header;
  Mad mad{};
  const Out<Header> header(mad);
  header.set(Header::base_version, layout::kBaseVersion);
  header.set(Header::management_class, layout::kCmClass);
  header.set(Header::class_version, layout::kCmClassVersion);
  header.set(Header::method, layout::kSend);
  header.set(Header::transaction_id, message.local_id);
  header.set(Header::attribute_id, static_cast<std::uint16_t>(message.kind));
  with_layout(message.kind, [&]<class Layout>(Layout) {
    const Out<Layout> out(mad);
    write(message, out);
    std::span<std::uint8_t> data = out.at(Layout::private_data);
    if (has_ip_header(message.kind)) {
      write_ip_header(message, data);
      data = data.subspan(IpHeader::kBytes);
    }
    copy(message.private_data, data);
  });
  return mad;
}

std::optional<Message> decode(const Mad& mad) {
  using layout::Header;
  const From<Header> header(mad);
  if (header.get(Header::base_version) != layout::kBaseVersion ||
      header.get(Header::management_class) != layout::kCmClass ||
      header.get(Header::class_version) != layout::kCmClassVersion ||
      header.get(Header::method) != layout::kSend) {
    return std::nullopt;
  }
  Message message;
  message.kind = static_cast<MessageKind>(header.get(Header::attribute_id));
  bool is_good = true;
  const bool is_known = with_layout(message.kind, [&]<class Layout>(Layout) {
    const From<Layout> in(mad);
    read(in, message);
    std::span<const std::uint8_t> data = in.at(Layout::private_data);
    if (has_ip_header(message.kind)) {
      is_good = read_ip_header(data, message);
      data = data.subspan(IpHeader::kBytes);
    }
    message.private_data.assign(data.begin(), data.end());
  });
  if (!is_known || !is_good) return std::nullopt;
  return message;
}

}  // namespace gdakit::softnic::uverbs::cm
