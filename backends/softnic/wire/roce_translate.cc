#include "backends/softnic/wire/roce_translate.h"

#include <array>
#include <optional>

#include "core/base/assert.h"
#include "core/base/bits.h"

namespace gdakit::softnic::roce {
namespace {

constexpr auto kNoOperation = static_cast<Operation>(0xff);

// By PacketOpcode. Atomic requests are told apart by their kind, connects and disconnects by their
// solicited bit; a CNP is none of the transport's operations.
constexpr std::array kOperations = {
    Operation::send_first,
    Operation::send_middle,
    Operation::send_last,
    Operation::send_last_imm,
    Operation::send_only,
    Operation::send_only_imm,
    Operation::send_last_invalidate,
    Operation::send_only_invalidate,
    Operation::write_first,
    Operation::write_middle,
    Operation::write_last,
    Operation::write_last_imm,
    Operation::write_only,
    Operation::write_only_imm,
    Operation::read_request,
    Operation::read_response_first,
    Operation::read_response_middle,
    Operation::read_response_last,
    Operation::read_response_only,
    Operation::acknowledge,
    Operation::atomic_acknowledge,
    Operation::compare_swap,
    kNoOperation,
    Operation::dc_connect,
    Operation::dc_connect,
};
static_assert(kOperations.size() == static_cast<std::size_t>(PacketOpcode::count));

Transport transport_for(ServiceType service) {
  switch (service) {
    case ServiceType::rc: return Transport::rc;
    case ServiceType::uc: return Transport::uc;
    case ServiceType::ud: return Transport::ud;
    case ServiceType::xrc: return Transport::xrc;
    case ServiceType::dc: return Transport::dc;
    case ServiceType::count: break;
  }
  GDAKIT_ASSERT(false);
  return Transport::rc;
}

constexpr bool is_own_of_dc(Operation operation) {
  return operation == Operation::own_dc_compare_swap || operation == Operation::own_dc_fetch_add;
}

// Of RC are CNPs, too, and what has no public form.
std::optional<ServiceType> service_for(std::uint8_t opcode) {
  switch (transport_of(opcode)) {
    case Transport::rc: return ServiceType::rc;
    case Transport::own:
      return is_own_of_dc(operation_of(opcode)) ? ServiceType::dc : ServiceType::rc;
    case Transport::uc: return ServiceType::uc;
    case Transport::ud: return ServiceType::ud;
    case Transport::xrc:
    case Transport::own_xrc: return ServiceType::xrc;
    case Transport::dc: return ServiceType::dc;
    case Transport::cnp: break;
  }
  return opcode == kCnpOpcode ? std::optional(ServiceType::rc) : std::nullopt;
}

std::optional<PacketOpcode> opcode_for(std::uint8_t opcode, bool solicited) {
  if (opcode == kCnpOpcode) return PacketOpcode::congestion_notification;
  Operation operation = operation_of(opcode);
  if (operation == Operation::dc_connect && solicited) return PacketOpcode::dc_disconnect;
  if (operation == Operation::fetch_add || is_own_of_dc(operation)) {
    operation = Operation::compare_swap;
  }
  for (std::size_t i = 0; i < kOperations.size(); ++i) {
    if (kOperations[i] == operation) return static_cast<PacketOpcode>(i);
  }
  return {};
}

// Of the AETH: a kind in the upper three bits, of a NAK a code in the others.
constexpr std::uint8_t kNoCredits = 0x1f;  // "no information": nobody counts receive WQEs
constexpr std::uint8_t kRnr = 0x20;
constexpr std::uint8_t kNak = 0x60;
constexpr std::uint8_t kKindMask = 0xe0;
constexpr std::uint8_t kCodeMask = 0x1f;

std::uint8_t syndrome_of(const Aeth& aeth) {
  switch (aeth.acknowledge) {
    case Acknowledge::ack: return kNoCredits;
    case Acknowledge::rnr_nak:
      return static_cast<std::uint8_t>(kRnr | (aeth.rnr_timer & kCodeMask));
    case Acknowledge::nak_sequence: return kNak;
    case Acknowledge::nak_invalid_request: return kNak | 1;
    case Acknowledge::nak_remote_access: return kNak | 2;
    case Acknowledge::nak_remote_operation: return kNak | 3;
    case Acknowledge::nak_no_responder: return kNak | 4;
    case Acknowledge::count: break;
  }
  GDAKIT_ASSERT(false);
  return 0;
}

bool take_syndrome(std::uint8_t syndrome, Aeth& aeth) {
  const std::uint8_t code = syndrome & kCodeMask;
  switch (syndrome & kKindMask) {
    case 0: aeth.acknowledge = Acknowledge::ack; return true;
    case kRnr:
      aeth.acknowledge = Acknowledge::rnr_nak;
      aeth.rnr_timer = code;
      return true;
    case kNak:
      if (code > 4) return false;
      aeth.acknowledge =
          static_cast<Acknowledge>(static_cast<std::uint8_t>(Acknowledge::nak_sequence) + code);
      return true;
    default: return false;
  }
}
static_assert(static_cast<int>(Acknowledge::nak_no_responder) ==
              static_cast<int>(Acknowledge::nak_sequence) + 4);

bool is_plain(const AtomicRequest& atomic) {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  if (atomic.size != 8) return false;
  if (atomic.kind == AtomicKind::fetch_add) return atomic.boundary == 0;
  return atomic.swap_mask == kAll && atomic.compare_mask == kAll;
}

std::uint8_t own_atomic_opcode(ServiceType service, bool adds) {
  if (service == ServiceType::dc) {
    return opcode_of(Transport::own,
                     adds ? Operation::own_dc_fetch_add : Operation::own_dc_compare_swap);
  }
  return opcode_of(service == ServiceType::xrc ? Transport::own_xrc : Transport::own,
                   adds ? Operation::fetch_add : Operation::compare_swap);
}

void put_atomic(const Packet& packet, RocePacket& out) {
  const AtomicRequest& atomic = packet.atomic;
  const bool adds = atomic.kind == AtomicKind::fetch_add;
  const ServiceType service = packet.header.service;
  out.opcode = is_plain(atomic) ? opcode_of(transport_for(service),
                                            adds ? Operation::fetch_add : Operation::compare_swap)
                                : own_atomic_opcode(service, adds);
  out.atomic = {packet.header.reth.address, packet.header.reth.rkey, atomic.swap_add,
                atomic.compare};
  out.masked = {atomic.size, atomic.swap_mask, atomic.compare_mask, atomic.boundary};
}

bool take_atomic(const RocePacket& from, Packet& to) {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  const Transport transport = transport_of(from.opcode);
  const bool is_own = transport == Transport::own || transport == Transport::own_xrc;
  const MaskedEth masked = is_own ? from.masked : MaskedEth{8, kAll, kAll, 0};
  if (masked.size != 4 && masked.size != 8) return false;
  to.header.reth = {from.atomic.address, from.atomic.rkey, masked.size};
  const Operation operation = operation_of(from.opcode);
  const bool adds = operation == Operation::fetch_add || operation == Operation::own_dc_fetch_add;
  to.atomic.kind = adds ? AtomicKind::fetch_add : AtomicKind::compare_swap;
  to.atomic.size = static_cast<std::uint8_t>(masked.size);
  to.atomic.swap_add = from.atomic.swap_add;
  to.atomic.compare = from.atomic.compare;
  to.atomic.swap_mask = masked.swap_mask;
  to.atomic.compare_mask = masked.compare_mask;
  to.atomic.boundary = masked.boundary;
  return true;
}

// Connects and disconnects of DC are told apart by it.
bool is_solicited(const PacketHeader& header) {
  if (header.opcode == PacketOpcode::dc_disconnect) return true;
  return header.solicited && header.opcode != PacketOpcode::dc_connect;
}

// As a ConnectX-4 Lx sends it.
void put_cnp(RocePacket& out) {
  out.opcode = kCnpOpcode;
  out.becn = true;
  out.migrated = false;
}

}  // namespace

RocePacket to_roce(const Packet& packet) {
  const PacketHeader& header = packet.header;
  GDAKIT_ASSERT(header.fragment_count == 0 && has_transport(header.service));
  RocePacket out;
  out.opcode = opcode_of(transport_for(header.service),
                         kOperations[static_cast<std::size_t>(header.opcode)]);
  out.solicited = is_solicited(header);
  out.ack_request = header.ack_request;
  out.pkey = header.pkey;
  out.destination_qpn = header.destination_qpn;
  out.psn = header.psn;
  out.xrc_srq = header.xrc_srq;
  out.dc_qpn = header.dc_source;
  out.imm = bit_cast<std::uint32_t>(Be32{header.imm});
  out.invalidate = header.imm;
  out.payload = {packet.payload, header.payload_size};
  if (header.service == ServiceType::ud) {
    out.deth = header.deth;
    return out;
  }
  switch (extension_of(header.opcode)) {
    case ExtensionKind::reth: out.reth = header.reth; break;
    case ExtensionKind::aeth:
      out.aeth = {syndrome_of(header.aeth), header.aeth.msn};
      out.atomic_original = header.aeth.atomic_result;
      break;
    case ExtensionKind::dcceth: out.dc_connect = header.dcceth; break;
    case ExtensionKind::none: break;
  }
  if (header.opcode == PacketOpcode::atomic_request) put_atomic(packet, out);
  if (header.opcode == PacketOpcode::congestion_notification) put_cnp(out);
  return out;
}

Unfit from_roce(const RocePacket& from, Packet& to) {
  const auto service = service_for(from.opcode);
  const auto opcode = opcode_for(from.opcode, from.solicited);
  if (!service || !opcode) return Unfit::opcode;
  to = Packet();
  PacketHeader& header = to.header;
  header.service = *service;
  header.opcode = *opcode;
  header.solicited = from.solicited;
  header.ack_request = from.ack_request;
  header.pkey = from.pkey;
  header.destination_qpn = from.destination_qpn;
  header.psn = from.psn;
  if (header.service == ServiceType::xrc && !is_response(header.opcode)) {
    header.xrc_srq = from.xrc_srq;
  }
  if (header.service == ServiceType::dc) header.dc_source = from.dc_qpn;
  header.imm = invalidates(*opcode) ? from.invalidate : std::uint32_t{bit_cast<Be32>(from.imm)};
  to.payload = from.payload.data();
  header.payload_size = static_cast<std::uint32_t>(from.payload.size());
  if (header.service == ServiceType::ud) {
    header.deth = from.deth;
    return Unfit::none;
  }
  switch (extension_of(header.opcode)) {
    case ExtensionKind::reth: header.reth = from.reth; break;
    case ExtensionKind::aeth:
      header.aeth = {.atomic_result = from.atomic_original, .msn = from.aeth.msn};
      if (!take_syndrome(from.aeth.syndrome, header.aeth) ||
          (header.aeth.acknowledge == Acknowledge::nak_no_responder &&
           header.service != ServiceType::dc)) {
        return Unfit::syndrome;
      }
      break;
    case ExtensionKind::dcceth: header.dcceth = from.dc_connect; break;
    case ExtensionKind::none: break;
  }
  const bool is_atomic = header.opcode == PacketOpcode::atomic_request;
  return is_atomic && !take_atomic(from, to) ? Unfit::atomic : Unfit::none;
}

}  // namespace gdakit::softnic::roce
