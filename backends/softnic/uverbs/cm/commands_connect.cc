// Commands of rdma_cm that lead to a connection, and end it.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <rdma/rdma_user_cm.h>

#include "backends/softnic/uverbs/cm/command_input.h"
#include "backends/softnic/uverbs/cm/commands_query.h"
#include "backends/softnic/uverbs/limits.h"

namespace gdakit::softnic::uverbs::cm {
namespace {

constexpr std::uint32_t kCommunicationEstablished = 4;  // enum ib_event_type
constexpr std::uint16_t kVendorOption = 35;             // a reason that a program may give
constexpr std::uint8_t kMostRetries = 7;

// Numbers that messages have fewer bits for are cut, as the kernel does.
ConnectParameters parameters_of(const rdma_ucm_conn_param& from, const rdma_ucm_ece& ece) {
  ConnectParameters to;
  to.ece = {ece.vendor_id, ece.attr_mod};
  to.qp.qpn = from.qp_num & kMostNumber;
  to.qp.qkey = from.qkey;
  to.qp.srq = from.srq != 0;
  to.qp.responder_resources = from.responder_resources;
  to.qp.initiator_depth = from.initiator_depth;
  to.qp.flow_control = from.flow_control != 0;
  to.qp.retry_count = std::min(from.retry_count, kMostRetries);
  to.qp.rnr_retry_count = std::min(from.rnr_retry_count, kMostRetries);
  to.private_data.assign(from.private_data, from.private_data + from.private_data_len);
  return to;
}

}  // namespace

int connect(const Caller& caller, const Input& in) {
  rdma_ucm_connect command;
  if (const int error = read_command(in, command, offsetof(rdma_ucm_connect, ece))) return error;
  if (command.conn_param.valid == 0) return EINVAL;
  return caller.manager.connect(*caller.file, command.id,
                                parameters_of(command.conn_param, command.ece));
}

int listen(const Caller& caller, const Input& in) {
  rdma_ucm_listen command;
  if (const int error = read_command(in, command)) return error;
  return caller.manager.listen(*caller.file, command.id, command.backlog);
}

int accept(const Caller& caller, const Input& in) {
  rdma_ucm_accept command;
  if (const int error = read_command(in, command, offsetof(rdma_ucm_accept, ece))) return error;
  if (command.conn_param.valid == 0) return caller.manager.confirm(*caller.file, command.id);
  ConnectParameters parameters = parameters_of(command.conn_param, command.ece);
  if (parameters.qp.qkey == 0) parameters.qp.qkey = kUdpQkey;
  return caller.manager.accept(*caller.file, command.id, command.uid, parameters);
}

int reject(const Caller& caller, const Input& in) {
  rdma_ucm_reject command;
  if (const int error = read_command(in, command)) return error;
  const std::uint16_t reason = command.reason == 0 ? kConsumerDefined : command.reason;
  if (reason != kConsumerDefined && reason != kVendorOption) return EINVAL;
  return caller.manager.reject(
      *caller.file, command.id, reason,
      {command.private_data, command.private_data + command.private_data_len});
}

int disconnect(const Caller& caller, const Input& in) {
  rdma_ucm_disconnect command;
  if (const int error = read_command(in, command)) return error;
  return caller.manager.disconnect(*caller.file, command.id);
}

int init_qp_attr(const Caller& caller, const Input& in) {
  rdma_ucm_init_qp_attr command;
  if (const int error = read_command(in, command)) return error;
  if (in.room < sizeof(ib_uverbs_qp_attr)) return ENOSPC;
  IdState state;
  if (const int error = caller.manager.query(*caller.file, command.id, state)) return error;
  ib_uverbs_qp_attr attributes;
  if (const int error = qp_attributes(caller.manager.spec(), state, command.qp_state, attributes)) {
    return error;
  }
  return write_answer(in, command.response, attributes);
}

int notify(const Caller& caller, const Input& in) {
  rdma_ucm_notify command;
  if (const int error = read_command(in, command)) return error;
  if (command.event != kCommunicationEstablished) return EINVAL;
  return caller.manager.communication_established(*caller.file, command.id);
}

}  // namespace gdakit::softnic::uverbs::cm
