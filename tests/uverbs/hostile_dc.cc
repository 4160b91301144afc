// Calls for the ends of DC.
#include "tests/uverbs/hostile_calls.h"

namespace gdakit::softnic::uverbs::test {

namespace prm = format::prm;

void HostileClient::fill(prm::Mailbox<prm::CreateDctIn>& in) {
  const auto context = in.at(prm::CreateDctIn::dct_context_entry);
  context.set(prm::Dctc::pd, number_of(Numbered::pd));
  context.set(prm::Dctc::cqn, number_of(Numbered::cq));
  context.set(prm::Dctc::srqn_xrqn, number_of(Numbered::rmp));
  context.set(prm::Dctc::user_index, input_.below(1 << 24));
  context.set(prm::Dctc::dc_access_key, input_.below(2));
  context.set(prm::Dctc::rwe, 1);
  context.set(prm::Dctc::mtu, rarely(8) ? input_.below(8) : 1 + input_.below(5));
  context.set(prm::Dctc::offload_type, rarely(8) ? 1 : 0);
}

// By verbs: an initiator, a target, or neither.
std::string HostileClient::make_dc_end() {
  const std::uint32_t log_wqes = input_.below(6);
  const bool is_target = rarely(2);
  mlx5_ib_create_qp driver{};
  driver.flags = is_target ? std::uint32_t{MLX5_QP_FLAG_TYPE_DCT}
                           : MLX5_QP_FLAG_TYPE_DCI | MLX5_QP_FLAG_UAR_PAGE_INDEX;
  driver.buf_addr = place(std::size_t{64} << log_wqes, 64);
  driver.db_addr = place(8, 8);
  driver.sq_wqe_count = 1u << log_wqes;
  driver.uidx = input_.take<std::uint32_t>();
  driver.bfreg_index = uar_number_;
  driver.access_key = input_.below(2);
  Call call(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
  add_handle(call, UVERBS_ATTR_CREATE_QP_PD_HANDLE, Kind::pd);
  add_handle(call, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, Kind::cq);
  add_handle(call, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, Kind::cq);
  if (is_target) add_handle(call, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, Kind::srq);
  add(call, UVERBS_ATTR_CREATE_QP_USER_HANDLE, number());
  add(call, UVERBS_ATTR_CREATE_QP_CAP, ib_uverbs_qp_cap{});
  add(call, UVERBS_ATTR_CREATE_QP_TYPE, std::uint32_t{IB_UVERBS_QPT_DRIVER});
  add(call, UVERBS_ATTR_UHW_IN, driver);
  call.out(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, qpn_);
  return make(call, UVERBS_ATTR_CREATE_QP_HANDLE, Kind::qp);
}

}  // namespace gdakit::softnic::uverbs::test
