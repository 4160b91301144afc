// Calls for queue pairs.
#include <algorithm>
#include <iterator>

#include "backends/softnic/uverbs/transition_masks.h"
#include "tests/uverbs/hostile_calls.h"

namespace gdakit::softnic::uverbs::test {

std::string HostileClient::make_qp() {
  mlx5_ib_create_qp driver{};
  driver.sq_wqe_count = 1u << input_.below(6);
  driver.rq_wqe_count = rarely(4) ? 0 : 4u << input_.below(4);
  driver.rq_wqe_shift = 4 + input_.below(3);
  driver.buf_addr =
      place(driver.sq_wqe_count * 64 + (driver.rq_wqe_count << driver.rq_wqe_shift), 64);
  driver.db_addr = place(8, 8);
  driver.flags = MLX5_QP_FLAG_UAR_PAGE_INDEX;
  driver.uidx = input_.take<std::uint32_t>();
  driver.bfreg_index = uar_number_;
  Call call(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
  add_handle(call, UVERBS_ATTR_CREATE_QP_PD_HANDLE, Kind::pd);
  add_handle(call, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, Kind::cq);
  add_handle(call, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, Kind::cq);
  add(call, UVERBS_ATTR_CREATE_QP_USER_HANDLE, number());
  add(call, UVERBS_ATTR_CREATE_QP_CAP, ib_uverbs_qp_cap{});
  constexpr std::uint32_t kTypes[] = {IB_UVERBS_QPT_RC,      IB_UVERBS_QPT_RC, IB_UVERBS_QPT_RC,
                                      IB_UVERBS_QPT_XRC_INI, IB_UVERBS_QPT_UC, IB_UVERBS_QPT_UD};
  const std::uint32_t type = kTypes[input_.below(std::size(kTypes))];
  if (type == IB_UVERBS_QPT_XRC_INI) driver.rq_wqe_count = 0;
  add(call, UVERBS_ATTR_CREATE_QP_TYPE, type);
  add(call, UVERBS_ATTR_UHW_IN, driver);
  add_out(call, UVERBS_ATTR_CREATE_QP_RESP_CAP, sizeof(ib_uverbs_qp_cap));
  call.out(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, qpn_);
  std::string wrong = make(call, UVERBS_ATTR_CREATE_QP_HANDLE, Kind::qp);
  know({{DevxKind::qp, qpn_}, last_handle_});
  return wrong;
}

// Towards the next state, with what it requires; one in some has anything.
std::string HostileClient::modify_qp() {
  constexpr std::uint32_t kMasks[] = {
      attr::kState, attr::kState | attr::kPkeyIndex | attr::kPort | attr::kAccess,
      attr::kState | attr::kPath | attr::kPathMtu | attr::kRemoteQpn | attr::kReceivePsn |
          attr::kMaxPeerReads | attr::kMinRnrTimer,
      attr::kState | attr::kTimeout | attr::kRetryCount | attr::kRnrRetry | attr::kSendPsn |
          attr::kMaxReads};
  constexpr std::uint32_t kDatagramMasks[] = {
      attr::kState, attr::kState | attr::kPkeyIndex | attr::kPort | attr::kQkey, attr::kState,
      attr::kState | attr::kSendPsn, attr::kState};
  ib_uverbs_ex_modify_qp request{};
  ib_uverbs_modify_qp& base = request.base;
  const std::uint32_t state = input_.below(8);
  base.qp_handle = static_cast<std::uint32_t>(handle(Kind::qp));
  base.qp_state = static_cast<std::uint8_t>(state);
  base.attr_mask = state < 4 ? kMasks[state] : attr::kState;
  // As the ends of DC have it.
  if (rarely(3)) base.attr_mask &= ~(attr::kRemoteQpn | attr::kReceivePsn | attr::kMaxPeerReads);
  if (rarely(6)) base.attr_mask &= ~(attr::kAccess | attr::kPath | attr::kMinRnrTimer);
  if (rarely(6)) base.attr_mask = kDatagramMasks[std::min(state, 4u)];
  base.port_num = base.dest.port_num = 1;
  base.dest.is_global = 1;
  base.path_mtu = static_cast<std::uint8_t>(1 + input_.below(5));
  base.dest_qp_num = input_.take<std::uint32_t>() & 0xff0000ff;
  base.qp_access_flags = 0xf;
  base.retry_cnt = static_cast<std::uint8_t>(input_.below(2));
  base.timeout = 1;
  const bool longer = rarely(4);
  WriteCall call(IB_USER_VERBS_CMD_MODIFY_QP | (longer ? kExtendedCommand : 0));
  if (longer) {
    add(call, UVERBS_ATTR_CORE_IN, request);
    add_out(call, UVERBS_ATTR_CORE_OUT, sizeof(ib_uverbs_ex_modify_qp_resp));
    add_out(call, UVERBS_ATTR_UHW_OUT, sizeof(mlx5_ib_modify_qp_resp));
    return make(call);
  }
  if (rarely(8)) change(&base, sizeof base);
  add(call, UVERBS_ATTR_CORE_IN, static_cast<const void*>(&base), sizeof base);
  return make(call);
}

std::string HostileClient::query_qp() {
  ib_uverbs_query_qp request{};
  request.qp_handle = static_cast<std::uint32_t>(handle(Kind::qp));
  WriteCall call(IB_USER_VERBS_CMD_QUERY_QP);
  add(call, UVERBS_ATTR_CORE_IN, request);
  add_out(call, UVERBS_ATTR_CORE_OUT, sizeof(ib_uverbs_query_qp_resp));
  return make(call);
}

}  // namespace gdakit::softnic::uverbs::test
