// Calls for what XRC needs.
#include <fcntl.h>

#include "tests/uverbs/hostile_calls.h"

namespace gdakit::softnic::uverbs::test {

std::string HostileClient::make_xrcd() {
  ib_uverbs_open_xrcd request{};
  request.fd = rarely(4) ? static_cast<std::uint32_t>(number()) : ~0u;
  request.oflags = rarely(4) ? static_cast<std::uint32_t>(number()) : O_CREAT;
  WriteCall call(IB_USER_VERBS_CMD_OPEN_XRCD);
  ib_uverbs_open_xrcd_resp answer{};
  add(call, UVERBS_ATTR_CORE_IN, request);
  call.core_out(answer);
  std::string wrong = make(call);
  if (last_error_ == 0) remember(Kind::xrcd, answer.xrcd_handle);
  return wrong;
}

std::string HostileClient::make_srq() {
  const std::uint32_t log_wqes = 1 + input_.below(6);
  const bool is_xrc = rarely(2);
  mlx5_ib_create_srq driver{};
  driver.buf_addr = place(std::size_t{32} << log_wqes, 64);
  driver.db_addr = place(8, 8);
  driver.uidx = input_.take<std::uint32_t>();
  Call call(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE);
  add_handle(call, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, Kind::pd);
  add(call, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, number());
  add(call, UVERBS_ATTR_CREATE_SRQ_TYPE, is_xrc ? 1u : 0u);
  add(call, UVERBS_ATTR_CREATE_SRQ_MAX_WR, (1u << log_wqes) - 1);
  add(call, UVERBS_ATTR_CREATE_SRQ_MAX_SGE, 1u);
  if (is_xrc) {
    add_handle(call, UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, Kind::xrcd);
    add_handle(call, UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE, Kind::cq);
  }
  add(call, UVERBS_ATTR_UHW_IN, driver);
  std::uint32_t srqn = 0;
  call.out(UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, srqn);
  std::string wrong = make(call, UVERBS_ATTR_CREATE_SRQ_HANDLE, Kind::srq);
  know({{is_xrc ? DevxKind::xrc_srq : DevxKind::rmp, srqn}, last_handle_});
  return wrong;
}

// Of XRC; sometimes one that is there.
std::string HostileClient::make_target() {
  if (rarely(4)) {
    ib_uverbs_open_qp request{};
    request.user_handle = number();
    request.pd_handle = static_cast<std::uint32_t>(handle(Kind::xrcd));
    request.qpn = rarely(4) ? static_cast<std::uint32_t>(number()) : qpn_;
    request.qp_type = IB_UVERBS_QPT_XRC_TGT;
    WriteCall call(IB_USER_VERBS_CMD_OPEN_QP);
    ib_uverbs_create_qp_resp answer{};
    add(call, UVERBS_ATTR_CORE_IN, request);
    call.core_out(answer);
    std::string wrong = make(call);
    if (last_error_ == 0) remember(Kind::qp, answer.qp_handle);
    return wrong;
  }
  mlx5_ib_create_qp driver{};
  driver.flags = MLX5_QP_FLAG_UAR_PAGE_INDEX;
  driver.buf_addr = number();
  driver.sq_wqe_count = static_cast<std::uint32_t>(number());
  Call call(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
  add_handle(call, UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, Kind::xrcd);
  add(call, UVERBS_ATTR_CREATE_QP_USER_HANDLE, number());
  add(call, UVERBS_ATTR_CREATE_QP_CAP, ib_uverbs_qp_cap{});
  add(call, UVERBS_ATTR_CREATE_QP_TYPE, std::uint32_t{IB_UVERBS_QPT_XRC_TGT});
  add(call, UVERBS_ATTR_UHW_IN, driver);
  call.out(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, qpn_);
  return make(call, UVERBS_ATTR_CREATE_QP_HANDLE, Kind::qp);
}

}  // namespace gdakit::softnic::uverbs::test
