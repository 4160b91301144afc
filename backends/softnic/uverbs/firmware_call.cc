#include "backends/softnic/uverbs/firmware_call.h"

#include <cerrno>
#include <cstdio>

namespace gdakit::softnic::uverbs {

int errno_of(CommandStatus status) {
  switch (status) {
    case CommandStatus::ok: return 0;
    case CommandStatus::res_busy: return EBUSY;
    case CommandStatus::lim_err: return ENOMEM;
    case CommandStatus::no_res: return EAGAIN;
    case CommandStatus::internal_error:
    case CommandStatus::bad_sys_state:
    case CommandStatus::bad_inp_len:
    case CommandStatus::bad_outp_len: return EIO;
    case CommandStatus::bad_op:
    case CommandStatus::bad_param:
    case CommandStatus::bad_res:
    case CommandStatus::bad_res_state:
    case CommandStatus::ix_err:
    case CommandStatus::bad_qp_state:
    case CommandStatus::bad_pkt:
    case CommandStatus::bad_size_outs_cqes: return EINVAL;
  }
  return EIO;
}

Error command_error(prm::Opcode opcode, const prm::View<prm::MboxOut>& answer) {
  char text[80];
  std::snprintf(text, sizeof text, "firmware command 0x%x: status 0x%x, syndrome 0x%x",
                static_cast<unsigned>(opcode),
                static_cast<unsigned>(answer.get(prm::MboxOut::status)),
                static_cast<unsigned>(answer.get(prm::MboxOut::syndrome)));
  return Error::from_errno(text,
                           errno_of(static_cast<CommandStatus>(answer.get(prm::MboxOut::status))));
}

Result<void> run_command_of(Device& device, Uid uid, prm::Opcode opcode, std::uint32_t number) {
  prm::Mailbox<ObjectIn> in;
  prm::Mailbox<prm::MboxOut> out;
  in.set(ObjectIn::number, number);
  return run_command(device, uid, opcode, in, out);
}

Result<void> run_command_of(Context& context, prm::Opcode opcode, std::uint32_t number) {
  return run_command_of(context.device(), context.uid(), opcode, number);
}

}  // namespace gdakit::softnic::uverbs
