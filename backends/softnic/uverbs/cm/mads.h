// Management datagrams of the connection manager (CM), as InfiniBand's specification lays them out:
// a header of 24 bytes, then the message, 256 bytes in all. So captures show what they are.
//
// Offsets of fields are counted as in the specification, from the begin of the message. Lengths of
// private data are the message's own: a receiver gets all of it, with zeros behind what was given.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/softnic/uverbs/mad_wire.h"
#include "core/format/prm/mailbox.h"

namespace gdakit::softnic::uverbs::cm {

namespace layout {

inline constexpr std::size_t kHeaderBytes = 24;

// At this byte of the message, and this bit of it.
template <class Layout, std::size_t kByte, std::size_t kWidth, std::size_t kBit = 0>
using In = format::prm::Field<Layout, 8 * (kHeaderBytes + kByte) + kBit, kWidth>;
template <class Layout, std::size_t kByte, std::size_t kCount>
using Bytes = format::prm::Octets<Layout, 8 * (kHeaderBytes + kByte), kCount>;

struct Header {
  static constexpr std::size_t kBytes = kMadBytes;
  static constexpr format::prm::Field<Header, 0, 8> base_version{};
  static constexpr format::prm::Field<Header, 8, 8> management_class{};
  static constexpr format::prm::Field<Header, 16, 8> class_version{};
  static constexpr format::prm::Field<Header, 24, 8> method{};
  static constexpr format::prm::Field<Header, 64, 64> transaction_id{};
  static constexpr format::prm::Field<Header, 128, 16> attribute_id{};
  static constexpr format::prm::Field<Header, 160, 32> attribute_modifier{};
};
inline constexpr std::uint8_t kBaseVersion = 1, kCmClass = 7, kCmClassVersion = 2, kSend = 3;

// All messages but SIDR's begin with them.
struct Connected : Header {
  static constexpr In<Connected, 0, 32> local_comm_id{};
  static constexpr In<Connected, 4, 32> remote_comm_id{};
};

struct Req : Header {
  static constexpr In<Req, 0, 32> local_comm_id{};
  static constexpr In<Req, 5, 24> vendor_id{};
  static constexpr In<Req, 8, 64> service_id{};
  static constexpr In<Req, 16, 64> local_ca_guid{};
  static constexpr In<Req, 28, 32> local_qkey{};
  static constexpr In<Req, 32, 24> local_qpn{};
  static constexpr In<Req, 35, 8> responder_resources{};
  static constexpr In<Req, 39, 8> initiator_depth{};
  static constexpr In<Req, 43, 5> remote_response_timeout{};
  static constexpr In<Req, 43, 2, 5> transport_service_type{};
  static constexpr In<Req, 43, 1, 7> flow_control{};
  static constexpr In<Req, 44, 24> starting_psn{};
  static constexpr In<Req, 47, 5> local_response_timeout{};
  static constexpr In<Req, 47, 3, 5> retry_count{};
  static constexpr In<Req, 48, 16> partition_key{};
  static constexpr In<Req, 50, 4> path_mtu{};
  static constexpr In<Req, 50, 3, 5> rnr_retry_count{};
  static constexpr In<Req, 51, 4> max_cm_retries{};
  static constexpr In<Req, 51, 1, 4> srq{};
  static constexpr In<Req, 52, 16> local_lid{};
  static constexpr In<Req, 54, 16> remote_lid{};
  static constexpr Bytes<Req, 56, 16> local_gid{};
  static constexpr Bytes<Req, 72, 16> remote_gid{};
  static constexpr In<Req, 92, 8> traffic_class{};
  static constexpr In<Req, 93, 8> hop_limit{};
  static constexpr In<Req, 94, 1, 4> subnet_local{};
  static constexpr In<Req, 95, 5> local_ack_timeout{};
  static constexpr Bytes<Req, 140, 92> private_data{};
};

struct Mra : Connected {
  static constexpr In<Mra, 8, 2> message{};
  static constexpr In<Mra, 9, 5> service_timeout{};
  static constexpr Bytes<Mra, 10, 222> private_data{};
};

struct Rej : Connected {
  static constexpr In<Rej, 8, 2> message{};
  static constexpr In<Rej, 10, 16> reason{};
  static constexpr Bytes<Rej, 84, 148> private_data{};
};

struct Rep : Connected {
  static constexpr In<Rep, 8, 32> local_qkey{};
  static constexpr In<Rep, 12, 24> local_qpn{};
  // In three pieces, the highest first.
  static constexpr In<Rep, 15, 8> vendor_id_high{};
  static constexpr In<Rep, 19, 8> vendor_id_middle{};
  static constexpr In<Rep, 23, 8> vendor_id_low{};
  static constexpr In<Rep, 20, 24> starting_psn{};
  static constexpr In<Rep, 24, 8> responder_resources{};
  static constexpr In<Rep, 25, 8> initiator_depth{};
  static constexpr In<Rep, 26, 5> target_ack_delay{};
  static constexpr In<Rep, 26, 1, 7> flow_control{};
  static constexpr In<Rep, 27, 3> rnr_retry_count{};
  static constexpr In<Rep, 27, 1, 3> srq{};
  static constexpr In<Rep, 28, 64> local_ca_guid{};
  static constexpr Bytes<Rep, 36, 196> private_data{};
};

struct Rtu : Connected {
  static constexpr Bytes<Rtu, 8, 224> private_data{};
};

struct Dreq : Connected {
  static constexpr In<Dreq, 8, 24> remote_qpn{};
  static constexpr Bytes<Dreq, 12, 220> private_data{};
};

using Drep = Rtu;

struct SidrReq : Header {
  static constexpr In<SidrReq, 0, 32> request_id{};
  static constexpr In<SidrReq, 4, 16> partition_key{};
  static constexpr In<SidrReq, 8, 64> service_id{};
  static constexpr Bytes<SidrReq, 16, 216> private_data{};
};

struct SidrRep : Header {
  static constexpr In<SidrRep, 0, 32> request_id{};
  static constexpr In<SidrRep, 4, 8> status{};
  static constexpr In<SidrRep, 8, 24> qpn{};
  static constexpr In<SidrRep, 12, 64> service_id{};
  static constexpr In<SidrRep, 20, 32> qkey{};
  static constexpr Bytes<SidrRep, 96, 136> private_data{};
};

// What private data begins with where a service is one of IP: who calls whom.
struct IpHeader {
  static constexpr std::size_t kBytes = 36;
  static constexpr format::prm::Field<IpHeader, 0, 8> cma_version{};
  static constexpr format::prm::Field<IpHeader, 8, 4> ip_version{};
  static constexpr format::prm::Field<IpHeader, 16, 16> source_port{};
  static constexpr format::prm::Octets<IpHeader, 32, 16> source{};
  static constexpr format::prm::Octets<IpHeader, 160, 16> destination{};
};

}  // namespace layout
}  // namespace gdakit::softnic::uverbs::cm
