// The command by which a program fetches an event.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <rdma/rdma_user_cm.h>

#include "backends/softnic/uverbs/cm/command_input.h"
#include "backends/softnic/uverbs/cm/commands_query.h"

namespace gdakit::softnic::uverbs::cm {
namespace {

rdma_ucm_event_resp answer_of(const Spec& spec, const Event& event) {
  rdma_ucm_event_resp answer{};
  answer.uid = event.uid;
  answer.id = event.handle;
  answer.event = static_cast<std::uint32_t>(event.kind);
  answer.status = static_cast<std::uint32_t>(event.status);
  const auto put_data = [&event](auto& to) {
    const std::size_t bytes = std::min(event.private_data.size(), sizeof to.private_data);
    std::copy_n(event.private_data.begin(), bytes, to.private_data);
    to.private_data_len = static_cast<std::uint8_t>(bytes);
  };
  if (event.is_datagram) {
    rdma_ucm_ud_param& ud = answer.param.ud;
    ud.qp_num = event.qp.qpn;
    ud.qkey = event.qp.qkey;
    if (event.nic >= 0) ud.ah_attr = address_handle(spec, event.nic, event.way);
    put_data(ud);
    return answer;
  }
  answer.ece = {event.ece.vendor_id, event.ece.options};
  rdma_ucm_conn_param& conn = answer.param.conn;
  conn.qp_num = event.qp.qpn;
  conn.srq = event.qp.srq;
  conn.responder_resources = event.qp.responder_resources;
  conn.initiator_depth = event.qp.initiator_depth;
  conn.flow_control = event.qp.flow_control;
  conn.retry_count = event.qp.retry_count;
  conn.rnr_retry_count = event.qp.rnr_retry_count;
  put_data(conn);
  return answer;
}

}  // namespace

int get_event(const Caller& caller, const Input& in) {
  rdma_ucm_get_event command;
  if (const int error = read_command(in, command)) return error;
  constexpr std::size_t kLeast = offsetof(rdma_ucm_event_resp, reserved);
  if (const int error = expect_answer<rdma_ucm_event_resp>(in, command.response, kLeast)) {
    return error;
  }
  while (true) {
    if (const auto event = caller.manager.next_event(*caller.file, caller.may_block)) {
      return write_answer(in, command.response, answer_of(caller.manager.spec(), *event));
    }
    if (!caller.may_block) return EAGAIN;
    if (const int error = caller.file->wait()) {
      caller.manager.has_not_waited(*caller.file);
      return error;
    }
  }
}

}  // namespace gdakit::softnic::uverbs::cm
