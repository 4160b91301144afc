// Targets of DC, which clients make as queue pairs.
#include "backends/softnic/uverbs/commands_dct.h"

#include <cerrno>
#include <rdma/ib_user_ioctl_verbs.h>

#include "backends/softnic/uverbs/firmware_call.h"
#include "backends/softnic/uverbs/limits.h"
#include "backends/softnic/uverbs/qp_values.h"
#include "backends/softnic/uverbs/transition_masks.h"
#include "core/format/prm/dct.h"

namespace gdakit::softnic::uverbs {
namespace {

constexpr std::uint8_t kLeastMtu = 1, kMostMtu = 5;

// As the attributes are noted.
void describe(const Qp& qp, prm::View<prm::Dctc, std::uint8_t> context) {
  using prm::Dctc;
  const ib_uverbs_query_qp_resp& known = *qp.known;
  const auto allows = [&known](std::uint32_t right) {
    return (known.qp_access_flags & right) != 0 ? 1u : 0u;
  };
  context.set(Dctc::user_index, qp.dct->user_index & kMostNumber);
  context.set(Dctc::cqn, qp.receive_cq->number);
  context.set(Dctc::srqn_xrqn, qp.srq->number);
  context.set(Dctc::pd, qp.pd->number);
  context.set(Dctc::rre, allows(IB_UVERBS_ACCESS_REMOTE_READ));
  context.set(Dctc::rwe, allows(IB_UVERBS_ACCESS_REMOTE_WRITE));
  context.set(Dctc::rae, allows(IB_UVERBS_ACCESS_REMOTE_ATOMIC));
  context.set(Dctc::min_rnr_nak, known.min_rnr_timer & 0x1f);
  context.set(Dctc::tclass, known.dest.traffic_class);
  context.set(Dctc::flow_label, known.dest.flow_label & 0xfffff);
  context.set(Dctc::hop_limit, known.dest.hop_limit);
  context.set(Dctc::my_addr_index, known.dest.sgid_index);
  context.set(Dctc::dc_access_key, qp.dct->access_key);
  context.set(Dctc::mtu, known.path_mtu);
  context.set(Dctc::port, known.port_num);
}

int make_target(Context& context, Qp& qp) {
  if (qp.known->path_mtu < kLeastMtu || qp.known->path_mtu > kMostMtu) return EINVAL;
  prm::Mailbox<prm::CreateDctIn> in;
  prm::Mailbox<prm::CreateDctOut> out;
  describe(qp, in.at(prm::CreateDctIn::dct_context_entry));
  const Result<void> done = run_command(context, prm::Opcode::create_dct, in, out);
  if (!done) return errno_of(done);
  qp.number = static_cast<QpNumber>(out.get(prm::CreateDctOut::dctn));
  return 0;
}

}  // namespace

int modify_dct(Context& context, Qp& qp, QpState to) {
  if (to == QpState::rtr) {
    if (const int error = make_target(context, qp)) return error;
  }
  qp.dct->state = to;
  return 0;
}

int query_dct(const Qp& qp, std::uint32_t mask, ib_uverbs_query_qp_resp& known) {
  constexpr std::uint32_t kTold = attr::kState | attr::kAccess | attr::kPort | attr::kMinRnrTimer |
                                  attr::kPath | attr::kPathMtu | attr::kPkeyIndex;
  if (qp.dct->state != QpState::rtr || (mask & ~kTold) != 0) return EINVAL;
  known = *qp.known;
  known.qp_state = known.cur_qp_state = verbs_state(QpState::rtr);
  return 0;
}

}  // namespace gdakit::softnic::uverbs
