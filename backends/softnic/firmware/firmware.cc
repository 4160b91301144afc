#include "backends/softnic/firmware/firmware.h"

#include <algorithm>
#include <array>
#include <vector>

#include "backends/softnic/firmware/object_mailbox.h"
#include "core/format/prm/command.h"
#include "core/format/prm/counters.h"
#include "core/format/prm/cq.h"
#include "core/format/prm/dct.h"
#include "core/format/prm/mkey.h"
#include "core/format/prm/pd.h"
#include "core/format/prm/qp.h"
#include "core/format/prm/query.h"
#include "core/format/prm/rmp.h"
#include "core/format/prm/srq.h"
#include "core/format/prm/vport.h"

namespace gdakit::softnic {

using namespace format;

struct Firmware::Command {
  prm::Opcode opcode;
  std::size_t in_bytes;
  std::size_t out_bytes;
  Status (Firmware::*run)(In in, Out out);
  // Clients have room for the part of the answer that they know.
  bool may_be_cut = false;
};

namespace {

// Where an answer has its status and syndrome; shorter ones have no room for them.
constexpr std::size_t kLeastOutBytes = 8;

}  // namespace

std::span<const Firmware::Command> Firmware::commands() {
  using Op = prm::Opcode;
  constexpr std::size_t kIn = prm::MboxIn::kBytes, kOut = prm::MboxOut::kBytes;
  constexpr std::size_t kModifyQp = prm::Rst2initQpIn::kBytes;
  static constexpr std::array kCommands = {
      Command{Op::query_hca_cap, kIn, prm::QueryHcaCapOut::kBytes, &Firmware::query_hca_cap,
              /*may_be_cut=*/true},
      Command{Op::query_issi, kIn, prm::QueryIssiOut::kBytes, &Firmware::query_issi,
              /*may_be_cut=*/true},
      Command{Op::query_roce_address, kIn, prm::QueryRoceAddressOut::kBytes,
              &Firmware::query_roce_address, /*may_be_cut=*/true},
      Command{Op::query_adapter, kIn, prm::QueryAdapterOut::kBytes, &Firmware::query_adapter,
              /*may_be_cut=*/true},
      Command{Op::query_vport_state, kIn, kOut, &Firmware::query_vport_state},
      Command{Op::query_nic_vport_context, kIn, prm::QueryNicVportContextOut::kBytes,
              &Firmware::query_nic_vport_context, /*may_be_cut=*/true},
      Command{Op::query_hca_vport_context, kIn, prm::QueryHcaVportContextOut::kBytes,
              &Firmware::query_hca_vport_context, /*may_be_cut=*/true},
      Command{Op::query_lag, kIn, kOut, &Firmware::tell_nothing},
      Command{Op::nop, kIn, kOut, &Firmware::tell_nothing},
      Command{Op::alloc_pd, kIn, kOut, &Firmware::alloc_pd},
      Command{Op::dealloc_pd, kIn, kOut, &Firmware::dealloc_pd},
      Command{Op::create_mkey, prm::CreateMkeyIn::kBytes, kOut, &Firmware::create_mkey},
      Command{Op::query_mkey, kIn, prm::QueryMkeyOut::kBytes, &Firmware::query_mkey,
              /*may_be_cut=*/true},
      Command{Op::destroy_mkey, kIn, kOut, &Firmware::destroy_mkey},
      Command{Op::create_cq, prm::CreateCqIn::kBytes, kOut, &Firmware::create_cq},
      Command{Op::query_cq, kIn, prm::QueryCqOut::kBytes, &Firmware::query_cq},
      Command{Op::modify_cq, prm::ModifyCqIn::kBytes, kOut, &Firmware::modify_cq},
      Command{Op::destroy_cq, kIn, kOut, &Firmware::destroy_cq},
      Command{Op::create_qp, prm::CreateQpIn::kBytes, kOut, &Firmware::create_qp},
      Command{Op::rst2init_qp, kModifyQp, kOut, &Firmware::modify_qp},
      Command{Op::init2init_qp, kModifyQp, kOut, &Firmware::modify_qp},
      Command{Op::init2rtr_qp, kModifyQp, kOut, &Firmware::modify_qp},
      Command{Op::rtr2rts_qp, kModifyQp, kOut, &Firmware::modify_qp},
      Command{Op::rts2rts_qp, kModifyQp, kOut, &Firmware::modify_qp},
      Command{Op::sqerr2rts_qp, kModifyQp, kOut, &Firmware::modify_qp},
      Command{Op::rts2sqd_qp, kModifyQp, kOut, &Firmware::modify_qp},
      Command{Op::sqd2sqd_qp, kModifyQp, kOut, &Firmware::modify_qp},
      Command{Op::sqd2rts_qp, kModifyQp, kOut, &Firmware::modify_qp},
      Command{Op::qp_2err, kIn, kOut, &Firmware::modify_qp},
      Command{Op::qp_2rst, kIn, kOut, &Firmware::modify_qp},
      Command{Op::query_qp, kIn, prm::QueryQpOut::kBytes, &Firmware::query_qp},
      Command{Op::destroy_qp, kIn, kOut, &Firmware::destroy_qp},
      Command{Op::create_dct, prm::CreateDctIn::kBytes, kOut, &Firmware::create_dct},
      Command{Op::query_dct, kIn, prm::QueryDctOut::kBytes, &Firmware::query_dct},
      Command{Op::drain_dct, kIn, kOut, &Firmware::drain_dct},
      Command{Op::arm_dct_for_key_violation, kIn, kOut, &Firmware::arm_dct},
      Command{Op::destroy_dct, kIn, kOut, &Firmware::destroy_dct},
      Command{Op::create_rmp, prm::CreateRmpIn::kBytes, kOut, &Firmware::create_rmp},
      Command{Op::modify_rmp, prm::ModifyRmpIn::kBytes, kOut, &Firmware::modify_rmp},
      Command{Op::query_rmp, kIn, prm::QueryRmpOut::kBytes, &Firmware::query_rmp},
      Command{Op::destroy_rmp, kIn, kOut, &Firmware::destroy_rmp},
      Command{Op::alloc_q_counter, kIn, kOut, &Firmware::alloc_q_counter},
      Command{Op::dealloc_q_counter, kIn, kOut, &Firmware::dealloc_q_counter},
      Command{Op::query_q_counter, prm::QueryQCounterIn::kBytes, prm::QueryQCounterOut::kBytes,
              &Firmware::query_q_counter},
      Command{Op::alloc_xrcd, kIn, kOut, &Firmware::alloc_xrcd},
      Command{Op::dealloc_xrcd, kIn, kOut, &Firmware::dealloc_xrcd},
      Command{Op::create_srq, prm::CreateSrqIn::kBytes, kOut, &Firmware::create_srq},
      Command{Op::query_srq, kIn, prm::QuerySrqOut::kBytes, &Firmware::query_srq},
      Command{Op::arm_rq, kIn, kOut, &Firmware::arm_srq},
      Command{Op::destroy_srq, kIn, kOut, &Firmware::destroy_srq},
      Command{Op::create_xrc_srq, prm::CreateXrcSrqIn::kBytes, kOut, &Firmware::create_srq},
      Command{Op::query_xrc_srq, kIn, prm::QueryXrcSrqOut::kBytes, &Firmware::query_srq},
      Command{Op::arm_xrc_srq, kIn, kOut, &Firmware::arm_srq},
      Command{Op::destroy_xrc_srq, kIn, kOut, &Firmware::destroy_srq},
  };
  return kCommands;
}

CommandStatus Firmware::execute(std::span<const std::uint8_t> in, Out out, Sender sender) {
  std::ranges::fill(out, std::uint8_t{0});
  let_go();
  const Status status = run({in, sender}, out);
  if (status.ok() || out.size() < kLeastOutBytes) return status.status;
  std::array<std::uint8_t, prm::MboxOut::kBytes> answer{};
  const prm::View<prm::MboxOut, std::uint8_t> view(answer);
  view.set(prm::MboxOut::status, static_cast<std::uint64_t>(status.status));
  view.set(prm::MboxOut::syndrome, static_cast<std::uint64_t>(status.syndrome));
  std::copy_n(answer.begin(), kLeastOutBytes, out.begin());
  return status.status;
}

Status Firmware::run(In in, Out out) {
  if (in.size() < prm::MboxIn::kBytes) {
    return refusal(CommandSyndrome::mailbox_in_length, prm::MboxIn::kBytes, in.size());
  }
  const std::uint64_t opcode = prm::View<prm::MboxIn>(in).get(prm::MboxIn::opcode);
  const auto rows = commands();
  const auto command = std::ranges::find_if(rows, [opcode](const Command& one) {
    return static_cast<std::uint64_t>(one.opcode) == opcode;
  });
  if (command == rows.end()) return refusal(CommandSyndrome::mailbox_opcode, 0, opcode);
  if (in.size() < command->in_bytes) {
    return refusal(CommandSyndrome::mailbox_in_length,
                   static_cast<std::uint32_t>(command->in_bytes), in.size());
  }
  const std::size_t least =
      command->may_be_cut ? std::size_t{prm::MboxOut::kBytes} : command->out_bytes;
  if (out.size() < least) {
    return refusal(CommandSyndrome::mailbox_out_length, static_cast<std::uint32_t>(least),
                   out.size());
  }
  if (out.size() >= command->out_bytes) return (this->*command->run)(in, out);
  std::vector<std::uint8_t> whole(command->out_bytes);
  const Status status = (this->*command->run)(in, whole);
  if (status.ok()) std::copy_n(whole.begin(), out.size(), out.begin());
  return status;
}

void Firmware::let_go() {
  std::erase_if(leaving_, [this](const Leaving& one) { return engine_.removed(one.removal); });
}

Outcome<> Firmware::remove_umem(UmemNumber umem, Uid uid) {
  let_go();
  return umems_.remove(umem, uid);
}

Uid Firmware::uid_of(In in) {
  return static_cast<Uid>(prm::View<prm::MboxIn>(in).get(prm::MboxIn::uid));
}

Outcome<DmaAddress> Firmware::find_memory(bool is_umem, const UmemPart& part, In in,
                                          UmemUses& uses) const {
  if (is_umem) return umems_.find(part, uid_of(in), uses);
  if (in.sender == Sender::user) return refusal(CommandSyndrome::mailbox_no_umem);
  return DmaAddress{part.offset};
}

Status Firmware::alloc_pd(In in, Out out) {
  const Outcome<PdNumber> pd = engine_.alloc_pd(uid_of(in));
  if (!pd) return pd.status();
  prm::View<prm::AllocPdOut, std::uint8_t>(out).set(prm::AllocPdOut::pd, *pd);
  return {};
}

Status Firmware::dealloc_pd(In in, Out) {
  return engine_.dealloc_pd(object_of(in), uid_of(in)).status();
}

}  // namespace gdakit::softnic
