#include "backends/softnic/uverbs/devx_call.h"

#include <cerrno>

#include "backends/softnic/uverbs/firmware_call.h"
#include "backends/softnic/uverbs/objects.h"

namespace gdakit::softnic::uverbs {
namespace {

std::optional<DevxName> name_of(const Handles& handles, std::uint32_t handle) {
  if (const auto* const one = handles.find<DevxObject>(handle)) return one->name;
  if (const auto* const pd = handles.find<Pd>(handle)) return DevxName{DevxKind::pd, pd->number};
  if (const auto* const cq = handles.find<Cq>(handle)) return DevxName{DevxKind::cq, cq->number};
  if (const auto* const qp = handles.find<Qp>(handle)) {
    if (qp->number == 0) return std::nullopt;  // of a target of DC that is not made yet
    return DevxName{qp->dct != nullptr ? DevxKind::dct : DevxKind::qp, qp->number};
  }
  const auto* const srq = handles.find<Srq>(handle);
  if (srq == nullptr) return std::nullopt;
  const bool is_xrc = srq->xrcd.get() != nullptr;
  return DevxName{is_xrc ? DevxKind::xrc_srq : DevxKind::rmp, srq->number};
}

}  // namespace

int DevxCall::read(const Context& context, const Attributes& call, std::uint16_t id) {
  if (!context.has_devx()) return EINVAL;
  if (const int error = call.array(id, in_)) return error;
  if (in_.size() < prm::MboxIn::kBytes) return EINVAL;
  prm::View<prm::MboxIn, std::uint8_t>(in_).set(prm::MboxIn::uid, context.uid());
  name_umems(in_);
  return 0;
}

int DevxCall::check_object(const Context& context, const Attributes& call, std::uint16_t handle_id,
                           Names names) const {
  const auto named = names(in_);
  if (!named) return EINVAL;
  DevxName object;
  if (const int error = read_devx_name(context, call, handle_id, object)) return error;
  return object == *named ? 0 : EINVAL;
}

int DevxCall::execute(Context& context, std::size_t out_bytes) {
  if (out_bytes < prm::MboxOut::kBytes) return EINVAL;
  out_.assign(out_bytes, 0);
  CommandStatus status = CommandStatus::ok;
  const Result<void> done = context.device().command(in_, out_, Sender::user, status);
  // A queue pair that is reset is so, though a peer that stands still may use its memory yet: the
  // firmware keeps its umem for as long.
  if (!done && done.error().code() != Code::timed_out) return errno_of(done.error());
  return status == CommandStatus::ok ? 0 : EREMOTEIO;
}

int DevxCall::give_answer(Attributes& call, std::uint16_t out_id, int error) const {
  if (error != 0 && error != EREMOTEIO) return error;
  const int written = call.write_bytes(out_id, out_.data(), out_.size());
  return written != 0 ? written : error;
}

int DevxCall::answer(Context& context, Attributes& call, std::uint16_t out_id) {
  return give_answer(call, out_id, execute(context, call.length(out_id)));
}

std::uint64_t DevxCall::opcode() const {
  return prm::View<prm::MboxIn>(in_).get(prm::MboxIn::opcode);
}

int read_devx_name(const Context& context, const Attributes& call, std::uint16_t handle_id,
                   DevxName& to) {
  std::uint32_t handle = 0;
  if (const int error = call.number(handle_id, handle)) return error;
  const auto name = name_of(context.handles(), handle);
  if (!name) return ENOENT;
  to = *name;
  return 0;
}

}  // namespace gdakit::softnic::uverbs
