// Firmware commands that clients give by themselves (DEVX): which ones the kernel lets through, and
// what it does to them on the way.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/format/prm/command.h"

namespace gdakit::softnic::uverbs {

// Objects that commands name. A shared receive queue of verbs is a pool, or one of XRC.
enum class DevxKind : std::uint8_t { pd, mkey, cq, qp, dct, rmp, srq, xrc_srq, xrcd, counter_set };
// Whether events are told of such objects.
constexpr bool has_events(DevxKind kind) {
  return kind >= DevxKind::cq && kind <= DevxKind::xrc_srq;
}

struct DevxName {
  DevxKind kind = DevxKind::pd;
  std::uint32_t number = 0;

  friend bool operator==(const DevxName&, const DevxName&) = default;
};

struct DevxCreation {
  DevxKind kind = DevxKind::pd;
  format::prm::Opcode destroy{};
};

// What a command makes; nothing if it makes no object.
std::optional<DevxCreation> creation_by(std::uint64_t opcode);
// Whether it would make an object of a kind that this NIC has not.
bool makes_what_is_absent(std::uint64_t opcode);
// The object that a command changes, or asks about; nothing if it does no such thing. Of at least
// MboxIn::kBytes.
std::optional<DevxName> changed_by(std::span<const std::uint8_t> in);
std::optional<DevxName> asked_by(std::span<const std::uint8_t> in);
// Whether a command asks about no object.
bool is_general(std::uint64_t opcode);

// Memory that a client's command names is a umem's, whether it has said so or not: else it would be
// an address. Commands that are too short for it are left to the firmware.
void name_umems(std::span<std::uint8_t> in);

}  // namespace gdakit::softnic::uverbs
