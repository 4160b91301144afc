#include "backends/softnic/firmware/qp_context.h"

#include <algorithm>
#include <array>

namespace gdakit::softnic {
namespace {

using format::prm::Ads;
using format::prm::OptParam;
using format::prm::Qpc;

// A field of the NIC's with its bits of opt_param_mask (none: it is always required, or of no
// transition that names it), and how it is copied.
struct ContextField {
  QpField field;
  std::uint32_t mask = 0;
  void (*copy)(QpcView from, QpcWriter to) = nullptr;
};

template <const auto&... fields>
void copy_bits(QpcView from, QpcWriter to) {
  (to.set(fields, from.get(fields)), ...);
}

void copy_path(QpcView from, QpcWriter to) {
  const auto path = from.at(Qpc::primary_address_path).bytes();
  const auto place = to.at(Qpc::primary_address_path);
  const std::uint64_t pkey = place.get(Ads::pkey_index), timeout = place.get(Ads::ack_timeout);
  std::ranges::copy(path, place.bytes().begin());
  place.set(Ads::pkey_index, pkey);
  place.set(Ads::ack_timeout, timeout);
}

template <const auto& field>
void copy_path_bits(QpcView from, QpcWriter to) {
  to.at(Qpc::primary_address_path).set(field, from.at(Qpc::primary_address_path).get(field));
}

constexpr std::uint32_t bit(OptParam param) { return static_cast<std::uint32_t>(param); }
constexpr std::uint32_t kRights = bit(OptParam::rre) | bit(OptParam::rae) | bit(OptParam::rwe);

// But for the rights, which have a bit each.
constexpr std::array kFields = {
    ContextField{QpField::pkey, bit(OptParam::pkey_index), copy_path_bits<Ads::pkey_index>},
    ContextField{QpField::qkey, bit(OptParam::q_key), copy_bits<Qpc::q_key>},
    ContextField{QpField::path, bit(OptParam::primary_address_path), copy_path},
    ContextField{QpField::path_mtu, 0, copy_bits<Qpc::mtu>},
    ContextField{QpField::remote_qpn, 0, copy_bits<Qpc::remote_qpn>},
    ContextField{QpField::next_receive_psn, 0, copy_bits<Qpc::next_rcv_psn>},
    ContextField{QpField::log_rra_max, bit(OptParam::log_rra_max), copy_bits<Qpc::log_rra_max>},
    ContextField{QpField::min_rnr_nak, bit(OptParam::min_rnr_nak), copy_bits<Qpc::min_rnr_nak>},
    ContextField{QpField::log_msg_max, 0, copy_bits<Qpc::log_msg_max>},
    ContextField{QpField::next_send_psn, 0, copy_bits<Qpc::next_send_psn>},
    ContextField{QpField::log_sra_max, bit(OptParam::log_sra_max), copy_bits<Qpc::log_sra_max>},
    ContextField{QpField::ack_timeout, bit(OptParam::ack_timeout),
                 copy_path_bits<Ads::ack_timeout>},
    ContextField{QpField::retry_count, bit(OptParam::retry_count), copy_bits<Qpc::retry_count>},
    ContextField{QpField::rnr_retry, bit(OptParam::rnr_retry), copy_bits<Qpc::rnr_retry>},
    ContextField{QpField::send_wqebb_counter, 0, copy_bits<Qpc::hw_sq_wqebb_counter>},
};

Access access_of(QpcView context) {
  Access access = Access::none;
  if (context.get(Qpc::rre) != 0) access = access | Access::remote_read;
  if (context.get(Qpc::rwe) != 0) access = access | Access::remote_write;
  if (context.get(Qpc::rae) != 0) access = access | Access::remote_atomic;
  return access;
}

}  // namespace

ServiceType service_of(QpcView context) {
  const std::uint64_t st = context.get(Qpc::st);
  if (st == format::prm::kStDci) return ServiceType::dc;
  return st <= static_cast<std::uint64_t>(ServiceType::xrc) ? static_cast<ServiceType>(st)
                                                            : ServiceType::count;
}

QpFields optional_fields(std::uint32_t opt_param_mask) {
  QpFields fields;
  if ((opt_param_mask & kRights) != 0) fields = fields | QpFields{QpField::access};
  for (const ContextField& one : kFields) {
    if ((opt_param_mask & one.mask) != 0) fields = fields | QpFields{one.field};
  }
  return fields;
}

void read_qpc(QpcView context, QpModify& modify) {
  const auto path = context.at(Qpc::primary_address_path);
  const std::uint64_t mtu = context.get(Qpc::mtu);
  modify.access = access_of(context);
  modify.remote_qpn = static_cast<QpNumber>(context.get(Qpc::remote_qpn));
  // Drivers of Ethernet give a priority, and of the class the upper six bits; a kernel gives both.
  modify.path.service_level =
      static_cast<std::uint8_t>(path.get(Ads::sl) | path.get(Ads::eth_prio));
  modify.path.traffic_class =
      static_cast<std::uint8_t>(path.get(Ads::tclass) | path.get(Ads::dscp) << 2);
  modify.path.mtu = mtu == 0 ? 0 : 128u << mtu;
  modify.path.qkey = static_cast<std::uint32_t>(context.get(Qpc::q_key));
  modify.next_receive_psn = static_cast<std::uint32_t>(context.get(Qpc::next_rcv_psn));
  modify.log_rra_max = static_cast<std::uint8_t>(context.get(Qpc::log_rra_max));
  modify.min_rnr_nak = static_cast<std::uint8_t>(context.get(Qpc::min_rnr_nak));
  modify.log_msg_max = static_cast<std::uint8_t>(context.get(Qpc::log_msg_max));
  modify.next_send_psn = static_cast<std::uint32_t>(context.get(Qpc::next_send_psn));
  modify.log_sra_max = static_cast<std::uint8_t>(context.get(Qpc::log_sra_max));
  modify.ack_timeout = static_cast<std::uint8_t>(path.get(Ads::ack_timeout));
  modify.retry_count = static_cast<std::uint8_t>(context.get(Qpc::retry_count));
  modify.rnr_retry = static_cast<std::uint8_t>(context.get(Qpc::rnr_retry));
  modify.send_wqebb_counter = context.get(Qpc::hw_sq_wqebb_counter);
}

void copy_qpc(QpcView from, QpFields fields, std::uint32_t opt_param_mask, QpcWriter to) {
  for (const ContextField& one : kFields) {
    if (fields.has(one.field)) one.copy(from, to);
  }
  if (!fields.has(QpField::access)) return;
  const bool all = (opt_param_mask & kRights) == 0;
  if (all || (opt_param_mask & bit(OptParam::rre)) != 0) copy_bits<Qpc::rre>(from, to);
  if (all || (opt_param_mask & bit(OptParam::rae)) != 0) copy_bits<Qpc::rae>(from, to);
  if (all || (opt_param_mask & bit(OptParam::rwe)) != 0) copy_bits<Qpc::rwe>(from, to);
}

AddressVector peer_of(QpcView context) {
  const auto path = context.at(Qpc::primary_address_path);
  AddressVector address;
  std::ranges::copy(path.at(Ads::rgid_rip), address.gid.begin());
  address.qpn = static_cast<QpNumber>(context.get(Qpc::remote_qpn));
  address.lid = static_cast<std::uint16_t>(path.get(Ads::rlid));
  address.by_qpn_alone = path.get(Ads::grh) == 0;
  return address;
}

}  // namespace gdakit::softnic
