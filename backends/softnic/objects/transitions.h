// What modify_qp does by the state that a queue pair is in: the rules as data.
//
//   {service type, from, to} --> transition --> the fields that it requires, and those it may have
//   field                    --> its largest value, and the syndrome of a larger one
//
//   reset --> init --> rtr --> rts <--> sqd          any state --> err, any state --> reset
//              ()               ()       ()          (): to itself, with other fields
//   UC, UD: rts, sqd --> sqer when a send WQE fails, sqer --> rts
//   XRC: as RC, at both ends
//   DC: an initiator's, as RC's but for what tells of the peer
//
// A command says by bits of opt_param_mask which optional fields it has; required ones have none.
//
//   access      rre 0x2, rae 0x4, rwe 0x8: one bit for each right; those without keep their value
//   pkey        0x10             qkey        0x20
//   path        0x80 (primary_address_path)
//   min_rnr_nak 0x40             retry_count 0x1000
//   log_sra_max 0x100            rnr_retry   0x2000
//   log_rra_max 0x200            ack_timeout 0x4000
//   the rest    without a bit
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/objects/status.h"

namespace gdakit::softnic {

// By the commands' names.
enum class Transition : std::uint8_t {
  rst2init,
  init2init,
  init2rtr,
  rtr2rts,
  rts2rts,
  rts2sqd,
  sqd2sqd,
  sqd2rts,
  sqerr2rts,
  to_err,
  to_reset,
};

struct TransitionRow {
  ServiceType service = ServiceType::rc;
  Transition transition = Transition::rst2init;
  std::optional<QpState> from;  // nothing: any
  QpState to = QpState::reset;
  QpFields required;
  QpFields optional;
};
std::span<const TransitionRow> transition_rows();
// Null: the state cannot change so. Of XRC it is RC's row.
const TransitionRow* find_transition(ServiceType service, QpState from, QpState to);

struct FieldRow {
  QpField field = QpField::access;
  const char* name = nullptr;
  std::uint64_t max = 0;
  CommandSyndrome above_max = CommandSyndrome::none;  // none: it has no larger value
  std::uint64_t (*value)(const QpModify&) = nullptr;
  void (*copy)(const QpModify& from, QpModify& to) = nullptr;
};
std::span<const FieldRow> field_rows();

// Whether the transition may have these fields, with these values.
Outcome<> check_fields(QpNumber qpn, const TransitionRow& row, QpFields given,
                       const QpModify& modify);
// Copies these fields, and no others.
void copy_fields(QpFields given, const QpModify& from, QpModify& to);

// The detail of modify_qp_transition, and what it says: "from init to rts".
std::uint64_t states_detail(QpState from, QpState to);
QpState from_state(std::uint64_t detail);
QpState to_state(std::uint64_t detail);

// Of a field's number; "an unknown field" if there is no such field.
const char* field_name(std::uint64_t field);

}  // namespace gdakit::softnic
