#include "backends/softnic/wire/roce_headers.h"

namespace gdakit::softnic::roce {
namespace {

using enum Operation;

// As RC has them.
constexpr std::optional<Extensions> of_operation(Operation operation) {
  switch (operation) {
    case send_first:
    case send_middle:
    case send_last:
    case send_only:
    case write_middle:
    case write_last:
    case read_response_middle: return Extensions{};
    case send_last_imm:
    case send_only_imm:
    case write_last_imm: return Extensions{Extension::imm};
    case write_first:
    case write_only:
    case read_request:
    case atomic_write: return Extensions{Extension::reth};
    case write_only_imm: return Extensions{Extension::reth, Extension::imm};
    case read_response_first:
    case read_response_last:
    case read_response_only:
    case acknowledge: return Extensions{Extension::aeth};
    case atomic_acknowledge: return Extensions{Extension::aeth, Extension::atomic_ack_eth};
    case compare_swap:
    case fetch_add: return Extensions{Extension::atomic_eth};
    case send_last_invalidate:
    case send_only_invalidate: return Extensions{Extension::ieth};
    case flush: return Extensions{Extension::feth, Extension::reth};
    case dc_connect:
    case own_dc_compare_swap:
    case own_dc_fetch_add: break;
  }
  return {};
}

constexpr bool is_response(Operation operation) {
  return operation >= read_response_first && operation <= atomic_acknowledge;
}

constexpr bool is_of_annex_19(Operation operation) {
  return operation == flush || operation == atomic_write;
}

constexpr std::optional<Extensions> of_dc(Operation operation, bool solicited) {
  if (operation == dc_connect) {
    const Extensions disconnect{Extension::dceth};
    return solicited ? disconnect : disconnect.with(Extension::dcceth);
  }
  if (is_of_annex_19(operation)) return {};
  const auto as_rc = of_operation(operation);
  if (!as_rc) return {};
  return as_rc->with(Extension::dceth);
}

constexpr std::optional<Extensions> of_xrc(Operation operation) {
  if (is_of_annex_19(operation)) return {};
  const auto as_rc = of_operation(operation);
  if (!as_rc || is_response(operation)) return as_rc;
  return as_rc->with(Extension::xrceth);
}

constexpr std::optional<Extensions> of_own(Operation operation) {
  if (operation != compare_swap && operation != fetch_add) return {};
  return of_operation(operation)->with(Extension::masked_eth);
}

}  // namespace

PayloadLimits payload_limits(std::uint8_t opcode) {
  constexpr std::size_t kCnpBytes = 16, kAtomicWriteBytes = 8;
  constexpr std::size_t kUnbounded = ~std::size_t{0};
  if (opcode == kCnpOpcode) return {kCnpBytes, kCnpBytes};
  switch (operation_of(opcode)) {
    case read_request:
    case acknowledge:
    case atomic_acknowledge:
    case compare_swap:
    case fetch_add:
    case own_dc_compare_swap:
    case own_dc_fetch_add:
    case dc_connect:
    case flush: return {0, 0};
    case atomic_write: return {kAtomicWriteBytes, kAtomicWriteBytes};
    default: return {0, kUnbounded};
  }
}

namespace {

constexpr std::optional<Extensions> look_up_extensions(std::uint8_t opcode, bool solicited) {
  const Operation operation = operation_of(opcode);
  switch (transport_of(opcode)) {
    case Transport::rc: return of_operation(operation);
    case Transport::uc:
      if (operation > write_only_imm) return {};
      return of_operation(operation);
    case Transport::dc: return of_dc(operation, solicited);
    case Transport::ud:
      if (operation != send_only && operation != send_only_imm) return {};
      return of_operation(operation)->with(Extension::deth);
    case Transport::cnp:
      if (opcode != kCnpOpcode) return {};
      return Extensions{};
    case Transport::xrc: return of_xrc(operation);
    case Transport::own:
      if (operation == own_dc_compare_swap || operation == own_dc_fetch_add) {
        return of_own(compare_swap)->with(Extension::dceth);
      }
      return of_own(operation);
    case Transport::own_xrc: {
      const auto own = of_own(operation);
      return own ? own->with(Extension::xrceth) : own;
    }
  }
  return {};
}

// By `solicited` and opcode: each packet asks, on both sides.
using ExtensionTable = std::array<std::optional<Extensions>, 512>;

constexpr ExtensionTable make_extension_table() {
  ExtensionTable table;
  for (std::size_t i = 0; i < table.size(); ++i) {
    table[i] = look_up_extensions(static_cast<std::uint8_t>(i), i >= 256);
  }
  return table;
}
constexpr ExtensionTable kExtensionsByOpcode = make_extension_table();

}  // namespace

std::optional<Extensions> extensions_of(std::uint8_t opcode, bool solicited) {
  return kExtensionsByOpcode[opcode + (solicited ? 256u : 0u)];
}

}  // namespace gdakit::softnic::roce
