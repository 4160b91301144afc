#include "backends/softnic/objects/transitions.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

namespace gdakit::softnic {
namespace {

using F = QpField;
using S = QpState;
using T = Transition;
using Sy = CommandSyndrome;

constexpr ServiceType kRc = ServiceType::rc;
constexpr ServiceType kUc = ServiceType::uc;
constexpr ServiceType kUd = ServiceType::ud;
constexpr ServiceType kDc = ServiceType::dc;

// What a queue pair needs to know of its peer.
constexpr QpFields kPeer = {F::path, F::path_mtu, F::remote_qpn};
// What may change while packets are on their way.
constexpr QpFields kReceiverMayChange = {F::access, F::min_rnr_nak};
constexpr QpFields kSenderMayChange = {F::ack_timeout, F::retry_count, F::rnr_retry};

constexpr std::array kTransitions = {
    TransitionRow{kRc, T::rst2init, S::reset, S::init, {F::access, F::pkey}, {}},
    TransitionRow{kRc, T::init2init, S::init, S::init, {}, {F::access, F::pkey}},
    TransitionRow{
        kRc,
        T::init2rtr,
        S::init,
        S::rtr,
        kPeer | QpFields{F::next_receive_psn, F::log_rra_max, F::min_rnr_nak, F::log_msg_max},
        {F::access, F::pkey}},
    TransitionRow{
        kRc, T::rtr2rts, S::rtr, S::rts,
        kSenderMayChange | QpFields{F::next_send_psn, F::log_sra_max, F::send_wqebb_counter},
        kReceiverMayChange},
    TransitionRow{kRc, T::rts2rts, S::rts, S::rts, {}, kReceiverMayChange},
    TransitionRow{kRc, T::rts2sqd, S::rts, S::sqd, {}, {}},
    TransitionRow{kRc, T::sqd2sqd, S::sqd, S::sqd, {}, kReceiverMayChange | kSenderMayChange},
    TransitionRow{kRc, T::sqd2rts, S::sqd, S::rts, {}, kReceiverMayChange},
    // Only the row's shape: a send queue of RC that fails takes its queue pair to err.
    TransitionRow{kRc, T::sqerr2rts, S::sqer, S::rts, {}, kReceiverMayChange},
    TransitionRow{kRc, T::to_err, std::nullopt, S::err, {}, {}},
    TransitionRow{kRc, T::to_reset, std::nullopt, S::reset, {}, {}},

    TransitionRow{kUc, T::rst2init, S::reset, S::init, {F::access, F::pkey}, {}},
    TransitionRow{kUc, T::init2init, S::init, S::init, {}, {F::access, F::pkey}},
    TransitionRow{kUc,
                  T::init2rtr,
                  S::init,
                  S::rtr,
                  kPeer | QpFields{F::next_receive_psn, F::log_msg_max},
                  {F::access, F::pkey}},
    TransitionRow{
        kUc, T::rtr2rts, S::rtr, S::rts, {F::next_send_psn, F::send_wqebb_counter}, {F::access}},
    TransitionRow{kUc, T::rts2rts, S::rts, S::rts, {}, {F::access}},
    TransitionRow{kUc, T::rts2sqd, S::rts, S::sqd, {}, {}},
    TransitionRow{kUc, T::sqd2sqd, S::sqd, S::sqd, {}, {F::access}},
    TransitionRow{kUc, T::sqd2rts, S::sqd, S::rts, {}, {F::access}},
    TransitionRow{kUc, T::sqerr2rts, S::sqer, S::rts, {}, {F::access}},
    TransitionRow{kUc, T::to_err, std::nullopt, S::err, {}, {}},
    TransitionRow{kUc, T::to_reset, std::nullopt, S::reset, {}, {}},

    TransitionRow{kUd, T::rst2init, S::reset, S::init, {F::pkey, F::qkey}, {}},
    TransitionRow{kUd, T::init2init, S::init, S::init, {}, {F::pkey, F::qkey}},
    TransitionRow{kUd, T::init2rtr, S::init, S::rtr, {}, {F::pkey, F::qkey}},
    TransitionRow{kUd, T::rtr2rts, S::rtr, S::rts, {F::next_send_psn}, {F::qkey}},
    TransitionRow{kUd, T::rts2rts, S::rts, S::rts, {}, {F::qkey}},
    TransitionRow{kUd, T::rts2sqd, S::rts, S::sqd, {}, {}},
    TransitionRow{kUd, T::sqd2sqd, S::sqd, S::sqd, {}, {F::pkey, F::qkey}},
    TransitionRow{kUd, T::sqd2rts, S::sqd, S::rts, {}, {F::qkey}},
    TransitionRow{kUd, T::sqerr2rts, S::sqer, S::rts, {}, {F::qkey}},
    TransitionRow{kUd, T::to_err, std::nullopt, S::err, {}, {}},
    TransitionRow{kUd, T::to_reset, std::nullopt, S::reset, {}, {}},

    // Of an initiator. Its peers are what its WQEs name; rights and receive WQEs it has none, of
    // which drivers tell nevertheless.
    TransitionRow{kDc, T::rst2init, S::reset, S::init, {F::pkey}, {F::access}},
    TransitionRow{kDc, T::init2init, S::init, S::init, {}, {F::access, F::pkey}},
    TransitionRow{kDc,
                  T::init2rtr,
                  S::init,
                  S::rtr,
                  {F::path_mtu, F::log_msg_max},
                  {F::access, F::pkey, F::path, F::min_rnr_nak}},
    TransitionRow{
        kDc, T::rtr2rts, S::rtr, S::rts,
        kSenderMayChange | QpFields{F::next_send_psn, F::log_sra_max, F::send_wqebb_counter},
        kReceiverMayChange},
    TransitionRow{kDc, T::rts2rts, S::rts, S::rts, {}, kReceiverMayChange},
    TransitionRow{kDc, T::rts2sqd, S::rts, S::sqd, {}, {}},
    TransitionRow{kDc, T::sqd2sqd, S::sqd, S::sqd, {}, kReceiverMayChange | kSenderMayChange},
    TransitionRow{kDc, T::sqd2rts, S::sqd, S::rts, {}, kReceiverMayChange},
    TransitionRow{kDc, T::sqerr2rts, S::sqer, S::rts, {}, kReceiverMayChange},
    TransitionRow{kDc, T::to_err, std::nullopt, S::err, {}, {}},
    TransitionRow{kDc, T::to_reset, std::nullopt, S::reset, {}, {}},
};

constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t k24Bits = 0xffffff;

template <auto member>
constexpr FieldRow field(QpField which, const char* name, std::uint64_t max = kAny,
                         CommandSyndrome above_max = Sy::none) {
  return {which,
          name,
          max,
          above_max,
          [](const QpModify& modify) { return static_cast<std::uint64_t>(modify.*member); },
          [](const QpModify& from, QpModify& to) { to.*member = from.*member; }};
}
template <auto member>
constexpr FieldRow path_field(QpField which, const char* name) {
  return {which,
          name,
          kAny,
          Sy::none,
          [](const QpModify& modify) { return static_cast<std::uint64_t>(modify.path.*member); },
          [](const QpModify& from, QpModify& to) { to.path.*member = from.path.*member; }};
}

void copy_way(const QpModify& from, QpModify& to) {
  to.path.endpoint = from.path.endpoint;
  to.path.service_level = from.path.service_level;
  to.path.traffic_class = from.path.traffic_class;
}

using M = QpModify;
constexpr std::array kFields = {
    field<&M::access>(F::access, "access"),
    path_field<&Path::pkey>(F::pkey, "pkey"),
    path_field<&Path::qkey>(F::qkey, "qkey"),
    FieldRow{F::path, "path", 15, Sy::modify_qp_service_level,
             [](const M& modify) { return std::uint64_t{modify.path.service_level}; }, copy_way},
    // Whether the wire carries it, the engine knows.
    path_field<&Path::mtu>(F::path_mtu, "path_mtu"),
    field<&M::remote_qpn>(F::remote_qpn, "remote_qpn", k24Bits, Sy::modify_qp_remote_qpn),
    field<&M::next_receive_psn>(F::next_receive_psn, "next_receive_psn", k24Bits,
                                Sy::modify_qp_next_receive_psn),
    field<&M::log_rra_max>(F::log_rra_max, "log_rra_max", 7, Sy::modify_qp_log_rra_max),
    field<&M::min_rnr_nak>(F::min_rnr_nak, "min_rnr_nak", 31, Sy::modify_qp_min_rnr_nak),
    // As ConnectX says; at any MTU a message has fewer PSNs than half of all.
    field<&M::log_msg_max>(F::log_msg_max, "log_msg_max", 30, Sy::modify_qp_log_msg_max),
    field<&M::next_send_psn>(F::next_send_psn, "next_send_psn", k24Bits,
                             Sy::modify_qp_next_send_psn),
    field<&M::log_sra_max>(F::log_sra_max, "log_sra_max", 7, Sy::modify_qp_log_sra_max),
    field<&M::ack_timeout>(F::ack_timeout, "ack_timeout", 31, Sy::modify_qp_ack_timeout),
    field<&M::retry_count>(F::retry_count, "retry_count", 7, Sy::modify_qp_retry_count),
    field<&M::rnr_retry>(F::rnr_retry, "rnr_retry", 7, Sy::modify_qp_rnr_retry),
    field<&M::send_wqebb_counter>(F::send_wqebb_counter, "send_wqebb_counter"),
};

constexpr bool fields_are_in_order() {
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    if (static_cast<std::size_t>(kFields[i].field) != i) return false;
  }
  return true;
}
static_assert(fields_are_in_order());

}  // namespace

std::span<const TransitionRow> transition_rows() { return kTransitions; }
std::span<const FieldRow> field_rows() { return kFields; }

const TransitionRow* find_transition(ServiceType service, QpState from, QpState to) {
  const ServiceType like = service == ServiceType::xrc ? kRc : service;
  const auto* const row =
      std::find_if(kTransitions.begin(), kTransitions.end(), [&](const TransitionRow& one) {
        return one.service == like && one.to == to && one.from.value_or(from) == from;
      });
  return row != kTransitions.end() ? row : nullptr;
}

Outcome<> check_fields(QpNumber qpn, const TransitionRow& row, QpFields given,
                       const QpModify& modify) {
  const QpFields missing = row.required.without(given);
  if (!missing.empty()) {
    return refusal(Sy::modify_qp_field_missing, qpn, static_cast<std::uint64_t>(missing.first()));
  }
  const QpFields unknown = given.without(row.required | row.optional);
  if (!unknown.empty()) {
    return refusal(Sy::modify_qp_field_unknown, qpn, static_cast<std::uint64_t>(unknown.first()));
  }
  for (const FieldRow& field : kFields) {
    if (!given.has(field.field) || field.value(modify) <= field.max) continue;
    return refusal(field.above_max, qpn, field.value(modify));
  }
  return {};
}

void copy_fields(QpFields given, const QpModify& from, QpModify& to) {
  for (const FieldRow& field : kFields) {
    if (given.has(field.field)) field.copy(from, to);
  }
}

std::uint64_t states_detail(QpState from, QpState to) {
  return (static_cast<std::uint64_t>(from) << 8) | static_cast<std::uint64_t>(to);
}
QpState from_state(std::uint64_t detail) { return static_cast<QpState>(detail >> 8); }
QpState to_state(std::uint64_t detail) { return static_cast<QpState>(detail & 0xff); }

const char* field_name(std::uint64_t field) {
  return field < kFields.size() ? kFields[field].name : "an unknown field";
}

const char* qp_state_name(QpState state) {
  switch (state) {
    case QpState::reset: return "reset";
    case QpState::init: return "init";
    case QpState::rtr: return "rtr";
    case QpState::rts: return "rts";
    case QpState::sqer: return "sqer";
    case QpState::sqd: return "sqd";
    case QpState::err: return "err";
  }
  return "unknown";
}

}  // namespace gdakit::softnic
