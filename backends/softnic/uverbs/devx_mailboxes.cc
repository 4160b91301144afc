#include "backends/softnic/uverbs/devx_mailboxes.h"

#include <algorithm>
#include <array>

#include "backends/softnic/uverbs/firmware_call.h"
#include "core/format/prm/counters.h"
#include "core/format/prm/cq.h"
#include "core/format/prm/mkey.h"
#include "core/format/prm/qp.h"
#include "core/format/prm/rmp.h"

namespace gdakit::softnic::uverbs {
namespace {

using prm::Opcode;

struct Creation {
  Opcode opcode{};
  DevxCreation makes;
};
constexpr std::array kCreations = {
    Creation{Opcode::alloc_pd, {DevxKind::pd, Opcode::dealloc_pd}},
    Creation{Opcode::create_mkey, {DevxKind::mkey, Opcode::destroy_mkey}},
    Creation{Opcode::create_cq, {DevxKind::cq, Opcode::destroy_cq}},
    Creation{Opcode::create_qp, {DevxKind::qp, Opcode::destroy_qp}},
    Creation{Opcode::create_rmp, {DevxKind::rmp, Opcode::destroy_rmp}},
    Creation{Opcode::create_srq, {DevxKind::srq, Opcode::destroy_srq}},
    Creation{Opcode::create_xrc_srq, {DevxKind::xrc_srq, Opcode::destroy_xrc_srq}},
    Creation{Opcode::alloc_q_counter, {DevxKind::counter_set, Opcode::dealloc_q_counter}},
    Creation{Opcode::alloc_xrcd, {DevxKind::xrcd, Opcode::dealloc_xrcd}},
    Creation{Opcode::create_dct, {DevxKind::dct, Opcode::destroy_dct}},
};

// Those of other kinds that mlx5_ib lets through.
constexpr std::array<std::uint16_t, 8> kAbsentCreations = {
    0x717,  // CREATE_XRQ
    0x816,  // ALLOC_TRANSPORT_DOMAIN
    0x900,  // CREATE_TIR
    0x904,  // CREATE_SQ
    0x908,  // CREATE_RQ
    0x912,  // CREATE_TIS
    0x916,  // CREATE_RQT
    0xa00,  // CREATE_GENERAL_OBJECT
};

struct Use {
  Opcode opcode{};
  DevxKind kind = DevxKind::pd;
};
constexpr std::array kChanges = {
    Use{Opcode::rst2init_qp, DevxKind::qp},
    Use{Opcode::init2init_qp, DevxKind::qp},
    Use{Opcode::init2rtr_qp, DevxKind::qp},
    Use{Opcode::rtr2rts_qp, DevxKind::qp},
    Use{Opcode::rts2rts_qp, DevxKind::qp},
    Use{Opcode::sqerr2rts_qp, DevxKind::qp},
    Use{Opcode::qp_2err, DevxKind::qp},
    Use{Opcode::qp_2rst, DevxKind::qp},
    Use{Opcode::modify_rmp, DevxKind::rmp},
    Use{Opcode::arm_rq, DevxKind::srq},
    Use{Opcode::arm_xrc_srq, DevxKind::xrc_srq},
    Use{Opcode::modify_cq, DevxKind::cq},
    Use{Opcode::drain_dct, DevxKind::dct},
    Use{Opcode::arm_dct_for_key_violation, DevxKind::dct},
};
constexpr std::array kQuestions = {
    Use{Opcode::query_mkey, DevxKind::mkey},
    Use{Opcode::query_cq, DevxKind::cq},
    Use{Opcode::query_qp, DevxKind::qp},
    Use{Opcode::query_rmp, DevxKind::rmp},
    Use{Opcode::query_srq, DevxKind::srq},
    Use{Opcode::query_xrc_srq, DevxKind::xrc_srq},
    Use{Opcode::query_q_counter, DevxKind::counter_set},
    Use{Opcode::query_dct, DevxKind::dct},
};

// Those that mlx5_ib lets through, whether the firmware has them or not.
constexpr std::array<std::uint16_t, 15> kGeneral = {
    0x100,  // QUERY_HCA_CAP
    0x101,  // QUERY_ADAPTER
    0x10a,  // QUERY_ISSI
    0x750,  // QUERY_VPORT_STATE
    0x752,  // QUERY_ESW_VPORT_CONTEXT
    0x754,  // QUERY_NIC_VPORT_CONTEXT
    0x760,  // QUERY_ROCE_ADDRESS
    0x762,  // QUERY_HCA_VPORT_CONTEXT
    0x76f,  // QUERY_VNIC_ENV
    0x770,  // QUERY_VPORT_COUNTER
    0x80d,  // NOP
    0x822,  // QUERY_CONG_STATUS
    0x824,  // QUERY_CONG_PARAMS
    0x826,  // QUERY_CONG_STATISTICS
    0x842,  // QUERY_LAG
};

std::uint64_t opcode_of(std::span<const std::uint8_t> in) {
  return prm::View<prm::MboxIn>(in).get(prm::MboxIn::opcode);
}

template <class Rows>
auto find(const Rows& rows, std::uint64_t opcode) {
  return std::ranges::find_if(
      rows, [opcode](const auto& row) { return static_cast<std::uint64_t>(row.opcode) == opcode; });
}

template <class Rows>
std::optional<DevxName> named_by(const Rows& rows, std::span<const std::uint8_t> in) {
  const auto row = find(rows, opcode_of(in));
  if (row == rows.end()) return std::nullopt;
  if (row->opcode != Opcode::query_q_counter) return DevxName{row->kind, object_of(in)};
  // The one command that has the number elsewhere.
  using prm::QueryQCounterIn;
  if (in.size() < QueryQCounterIn::kBytes) return std::nullopt;
  const auto set = prm::View<QueryQCounterIn>(in).get(QueryQCounterIn::counter_set_id);
  return DevxName{row->kind, static_cast<std::uint32_t>(set)};
}

void name_umems(prm::View<prm::CreateCqIn, std::uint8_t> in) {
  in.set(prm::CreateCqIn::cq_umem_valid, 1);
  in.at(prm::CreateCqIn::cqc).set(prm::Cqc::dbr_umem_valid, 1);
}

// Lists name no memory.
void name_umems(prm::View<prm::CreateMkeyIn, std::uint8_t> in) {
  const prm::MkeyAccessMode mode =
      access_mode_of(prm::View<prm::Mkc>(in.at(prm::CreateMkeyIn::memory_key_mkey_entry).bytes()));
  const bool has_list = mode == prm::MkeyAccessMode::klms || mode == prm::MkeyAccessMode::ksm;
  if (!has_list) in.set(prm::CreateMkeyIn::mkey_umem_valid, 1);
}

void name_umems(prm::View<prm::CreateQpIn, std::uint8_t> in) {
  in.set(prm::CreateQpIn::wq_umem_valid, 1);
  in.at(prm::CreateQpIn::qpc).set(prm::Qpc::dbr_umem_valid, 1);
}

void name_umems(prm::View<prm::CreateRmpIn, std::uint8_t> in) {
  const auto wq = in.at(prm::CreateRmpIn::rmp_context).at(prm::Rmpc::wq);
  wq.set(prm::Wq::wq_umem_valid, 1);
  wq.set(prm::Wq::dbr_umem_valid, 1);
}

template <class Layout>
void name_umems_of(std::span<std::uint8_t> in) {
  if (in.size() >= Layout::kBytes) name_umems(prm::View<Layout, std::uint8_t>(in));
}

}  // namespace

std::optional<DevxCreation> creation_by(std::uint64_t opcode) {
  const auto row = find(kCreations, opcode);
  if (row == kCreations.end()) return std::nullopt;
  return row->makes;
}

bool makes_what_is_absent(std::uint64_t opcode) {
  return std::ranges::find(kAbsentCreations, opcode) != kAbsentCreations.end();
}

std::optional<DevxName> changed_by(std::span<const std::uint8_t> in) {
  return named_by(kChanges, in);
}

std::optional<DevxName> asked_by(std::span<const std::uint8_t> in) {
  return named_by(kQuestions, in);
}

bool is_general(std::uint64_t opcode) {
  return std::ranges::find(kGeneral, opcode) != kGeneral.end();
}

void name_umems(std::span<std::uint8_t> in) {
  const std::uint64_t opcode = opcode_of(in);
  if (opcode == static_cast<std::uint64_t>(Opcode::create_cq)) name_umems_of<prm::CreateCqIn>(in);
  if (opcode == static_cast<std::uint64_t>(Opcode::create_qp)) name_umems_of<prm::CreateQpIn>(in);
  if (opcode == static_cast<std::uint64_t>(Opcode::create_mkey)) {
    name_umems_of<prm::CreateMkeyIn>(in);
  }
  if (opcode == static_cast<std::uint64_t>(Opcode::create_rmp)) {
    name_umems_of<prm::CreateRmpIn>(in);
  }
}

}  // namespace gdakit::softnic::uverbs
