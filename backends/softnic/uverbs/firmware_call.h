// Commands that the kernel gives to the firmware for a client's verbs.
//
//   prm::Mailbox<prm::CreateCqIn> in;
//   prm::Mailbox<prm::CreateCqOut> out;
//   const Result<void> made = run_command(context, prm::Opcode::create_cq, in, out);
#pragma once

#include <cstdint>

#include "backends/softnic/firmware/object_mailbox.h"
#include "backends/softnic/objects/status.h"
#include "backends/softnic/uverbs/context.h"
#include "core/base/result.h"
#include "core/format/prm/command.h"

namespace gdakit::softnic::uverbs {

namespace prm = format::prm;

// As the kernel returns it.
int errno_of(CommandStatus status);

// A refused command: its errno value is errno_of(status).
Error command_error(prm::Opcode opcode, const prm::View<prm::MboxOut>& answer);

// Fills in opcode and uid. Memory is named by addresses where there would be offsets in a umem.
// Errors: command_error(); timed_out, if what it has removed is still in
// use.
template <class Request, class Answer>
Result<void> run_command(Device& device, Uid uid, prm::Opcode opcode, prm::Mailbox<Request>& in,
                         prm::Mailbox<Answer>& out) {
  in.set(prm::MboxIn::opcode, static_cast<std::uint64_t>(opcode));
  in.set(prm::MboxIn::uid, uid);
  CommandStatus status = CommandStatus::ok;
  const Result<void> done = device.command(in.bytes(), out.bytes(), Sender::kernel, status);
  if (!done) return done.error();
  if (status == CommandStatus::ok) return {};
  return command_error(opcode, prm::View<prm::MboxOut>(out.bytes()));
}
template <class Request, class Answer>
Result<void> run_command(Context& context, prm::Opcode opcode, prm::Mailbox<Request>& in,
                         prm::Mailbox<Answer>& out) {
  return run_command(context.device(), context.uid(), opcode, in, out);
}

// The same of a command that names an object, and no more.
Result<void> run_command_of(Device& device, Uid uid, prm::Opcode opcode, std::uint32_t number);
Result<void> run_command_of(Context& context, prm::Opcode opcode, std::uint32_t number);

}  // namespace gdakit::softnic::uverbs
