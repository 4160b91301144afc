#include "backends/softnic/uverbs/objects.h"

#include "backends/softnic/uverbs/context.h"
#include "backends/softnic/uverbs/dct_end.h"
#include "backends/softnic/uverbs/firmware_call.h"

namespace gdakit::softnic::uverbs {

Result<void> Pd::end(Context& context) {
  return run_command_of(context, prm::Opcode::dealloc_pd, number);
}

Result<void> Dm::end(Context& context) {
  context.device().memory().give_back(first, pages);
  return {};
}

Result<void> Mr::end(Context& context) { return context.nic().dereg_mr(key, context.uid()); }

Result<void> Mw::end(Context& context) { return context.nic().dealloc_mw(key, context.uid()); }

Result<void> UarPage::end(Context& context) {
  return context.nic().free_uar(number, context.uid());
}

Result<void> Cq::end(Context& context) {
  Result<void> ended = run_command_of(context, prm::Opcode::destroy_cq, number);
  if (is_gone(ended)) told = context.device().events().remove_cq(number);
  return ended;
}

Result<void> Xrcd::end(Context& context) {
  return context.device().xrc_domains().close(context.device(), number);
}

Result<void> Srq::end(Context& context) {
  const bool is_xrc = xrcd.get() != nullptr;
  Result<void> ended = run_command_of(
      context, is_xrc ? prm::Opcode::destroy_xrc_srq : prm::Opcode::destroy_rmp, number);
  if (is_gone(ended)) told = context.device().events().remove_srq(number);
  return ended;
}

// There is none before the queue pair that stands for it is in RTR.
Result<void> Qp::end_target(Context& context) {
  if (number == 0) return {};
  Result<void> ended = end_dct(context, number);
  if (is_gone(ended)) context.device().events().devx().unsubscribe({DevxKind::dct, number});
  return ended;
}

Result<void> Qp::end(Context& context) {
  if (dct != nullptr) return end_target(context);
  Device& device = context.device();
  Result<void> ended = is_target() ? device.xrc_targets().close(device, number)
                                   : run_command_of(device, uid, prm::Opcode::destroy_qp, number);
  if (!is_gone(ended)) return ended;
  groups.clear();
  told = device.events().remove_qp(number, listener);
  return ended;
}

Result<void> DevxObject::end(Context& context) {
  Result<void> ended = name.kind == DevxKind::dct ? end_dct(context, name.number)
                                                  : run_command_of(context, destroy, name.number);
  if (is_gone(ended)) context.device().events().devx().unsubscribe(name);
  return ended;
}

Result<void> DevxUmem::end(Context& context) {
  const CommandStatus status = context.device().remove_umem(number, context.uid());
  if (status == CommandStatus::ok) return {};
  return Error::from_errno("umem", errno_of(status));
}

Result<void> Ah::end(Context&) { return {}; }

}  // namespace gdakit::softnic::uverbs
