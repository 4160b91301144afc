#include "backends/softnic/uverbs/cm/message.h"

#include <algorithm>
#include <span>

#include "backends/softnic/uverbs/cm/message_fields.h"

namespace gdakit::softnic::uverbs::cm {
namespace {

using layout::IpHeader;

constexpr std::uint8_t kIpv4 = 4, kIpv6 = 6;

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
