#include "backends/softnic/uverbs/command_names.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/format/prm/command.h"

namespace gdakit::softnic::uverbs {
namespace {

using format::prm::Opcode;

struct Named {
  std::string_view name;
  Opcode opcode{};
};

constexpr std::array kNames = {
    Named{"QUERY_HCA_CAP", Opcode::query_hca_cap},
    Named{"QUERY_ADAPTER", Opcode::query_adapter},
    Named{"QUERY_ISSI", Opcode::query_issi},
    Named{"CREATE_MKEY", Opcode::create_mkey},
    Named{"QUERY_MKEY", Opcode::query_mkey},
    Named{"DESTROY_MKEY", Opcode::destroy_mkey},
    Named{"CREATE_CQ", Opcode::create_cq},
    Named{"DESTROY_CQ", Opcode::destroy_cq},
    Named{"QUERY_CQ", Opcode::query_cq},
    Named{"MODIFY_CQ", Opcode::modify_cq},
    Named{"CREATE_QP", Opcode::create_qp},
    Named{"DESTROY_QP", Opcode::destroy_qp},
    Named{"RST2INIT_QP", Opcode::rst2init_qp},
    Named{"INIT2RTR_QP", Opcode::init2rtr_qp},
    Named{"RTR2RTS_QP", Opcode::rtr2rts_qp},
    Named{"RTS2RTS_QP", Opcode::rts2rts_qp},
    Named{"SQERR2RTS_QP", Opcode::sqerr2rts_qp},
    Named{"2ERR_QP", Opcode::qp_2err},
    Named{"RTS2SQD_QP", Opcode::rts2sqd_qp},
    Named{"2RST_QP", Opcode::qp_2rst},
    Named{"QUERY_QP", Opcode::query_qp},
    Named{"SQD2RTS_QP", Opcode::sqd2rts_qp},
    Named{"INIT2INIT_QP", Opcode::init2init_qp},
    Named{"SQD2SQD_QP", Opcode::sqd2sqd_qp},
    Named{"CREATE_SRQ", Opcode::create_srq},
    Named{"DESTROY_SRQ", Opcode::destroy_srq},
    Named{"QUERY_SRQ", Opcode::query_srq},
    Named{"ARM_RQ", Opcode::arm_rq},
    Named{"CREATE_XRC_SRQ", Opcode::create_xrc_srq},
    Named{"DESTROY_XRC_SRQ", Opcode::destroy_xrc_srq},
    Named{"QUERY_XRC_SRQ", Opcode::query_xrc_srq},
    Named{"ARM_XRC_SRQ", Opcode::arm_xrc_srq},
    Named{"CREATE_DCT", Opcode::create_dct},
    Named{"DESTROY_DCT", Opcode::destroy_dct},
    Named{"DRAIN_DCT", Opcode::drain_dct},
    Named{"QUERY_DCT", Opcode::query_dct},
    Named{"ARM_DCT_FOR_KEY_VIOLATION", Opcode::arm_dct_for_key_violation},
    Named{"QUERY_VPORT_STATE", Opcode::query_vport_state},
    Named{"QUERY_NIC_VPORT_CONTEXT", Opcode::query_nic_vport_context},
    Named{"QUERY_ROCE_ADDRESS", Opcode::query_roce_address},
    Named{"QUERY_HCA_VPORT_CONTEXT", Opcode::query_hca_vport_context},
    Named{"ALLOC_Q_COUNTER", Opcode::alloc_q_counter},
    Named{"DEALLOC_Q_COUNTER", Opcode::dealloc_q_counter},
    Named{"QUERY_Q_COUNTER", Opcode::query_q_counter},
    Named{"ALLOC_PD", Opcode::alloc_pd},
    Named{"DEALLOC_PD", Opcode::dealloc_pd},
    Named{"NOP", Opcode::nop},
    Named{"ALLOC_XRCD", Opcode::alloc_xrcd},
    Named{"DEALLOC_XRCD", Opcode::dealloc_xrcd},
    Named{"QUERY_LAG", Opcode::query_lag},
    Named{"CREATE_RMP", Opcode::create_rmp},
    Named{"MODIFY_RMP", Opcode::modify_rmp},
    Named{"DESTROY_RMP", Opcode::destroy_rmp},
    Named{"QUERY_RMP", Opcode::query_rmp},
};

}  // namespace

std::optional<std::uint16_t> opcode_by_name(std::string_view name) {
  const auto at = std::ranges::find(kNames, name, &Named::name);
  if (at != kNames.end()) return static_cast<std::uint16_t>(at->opcode);
  if (!name.starts_with("0x")) return std::nullopt;
  const std::string_view digits = name.substr(2);
  const char* const last = digits.data() + digits.size();
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), last, number, 16);
  return error == std::errc() && end == last ? std::optional(number) : std::nullopt;
}

}  // namespace gdakit::softnic::uverbs
