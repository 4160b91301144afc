// Firmware commands of a hostile client for objects that there are, of the device, and of events.
#include <algorithm>
#include <cstring>

#include "core/format/prm/counters.h"
#include "core/format/prm/cq.h"
#include "core/format/prm/mkey.h"
#include "core/format/prm/qp.h"
#include "core/format/prm/query.h"
#include "core/format/prm/rmp.h"
#include "core/format/prm/srq.h"
#include "core/format/prm/vport.h"
#include "tests/uverbs/hostile_calls.h"

namespace gdakit::softnic::uverbs::test {
namespace {

namespace prm = format::prm;
using prm::Opcode;

struct Use {
  Opcode opcode{};
  DevxKind kind{};
};
constexpr Use kChanges[] = {
    {Opcode::rst2init_qp, DevxKind::qp},      {Opcode::init2init_qp, DevxKind::qp},
    {Opcode::init2rtr_qp, DevxKind::qp},      {Opcode::rtr2rts_qp, DevxKind::qp},
    {Opcode::rts2rts_qp, DevxKind::qp},       {Opcode::sqerr2rts_qp, DevxKind::qp},
    {Opcode::qp_2err, DevxKind::qp},          {Opcode::qp_2rst, DevxKind::qp},
    {Opcode::modify_rmp, DevxKind::rmp},      {Opcode::arm_rq, DevxKind::srq},
    {Opcode::arm_xrc_srq, DevxKind::xrc_srq}, {Opcode::modify_cq, DevxKind::cq},
    {Opcode::drain_dct, DevxKind::dct},       {Opcode::arm_dct_for_key_violation, DevxKind::dct},
};
// In each of the states RESET, INIT, RTR and RTS: what a queue pair takes, last what leads on.
constexpr Opcode kSteps[][2] = {{Opcode::rst2init_qp, Opcode::rst2init_qp},
                                {Opcode::init2init_qp, Opcode::init2rtr_qp},
                                {Opcode::rtr2rts_qp, Opcode::rtr2rts_qp},
                                {Opcode::rts2rts_qp, Opcode::rts2rts_qp}};
constexpr Use kQuestions[] = {
    {Opcode::query_qp, DevxKind::qp},           {Opcode::query_cq, DevxKind::cq},
    {Opcode::query_rmp, DevxKind::rmp},         {Opcode::query_srq, DevxKind::srq},
    {Opcode::query_xrc_srq, DevxKind::xrc_srq}, {Opcode::query_q_counter, DevxKind::counter_set},
    {Opcode::query_mkey, DevxKind::mkey},       {Opcode::query_dct, DevxKind::dct},
};
constexpr Opcode kGeneral[] = {
    Opcode::query_hca_cap,
    Opcode::query_hca_cap,
    Opcode::query_adapter,
    Opcode::query_issi,
    Opcode::query_roce_address,
    Opcode::query_roce_address,
    Opcode::query_vport_state,
    Opcode::query_nic_vport_context,
    Opcode::query_hca_vport_context,
    Opcode::query_lag,
    Opcode::nop,
};

// The longest mailbox of those that change something; all name their object at the same bits.
using Longest = prm::Rst2initQpIn;
static_assert(prm::ModifyCqIn::kBytes <= Longest::kBytes);
static_assert(prm::ModifyRmpIn::kBytes <= Longest::kBytes);

template <class Layout>
prm::View<Layout, std::uint8_t> as(std::span<std::uint8_t> in) {
  return prm::View<Layout, std::uint8_t>(in);
}

}  // namespace

void HostileClient::know(const Known& known) {
  if (known.handle != 0) known_[input_.below(known_.size())] = known;
}

// Any, where there is none of the kind.
HostileClient::Known& HostileClient::known(DevxKind kind) {
  const std::uint32_t begin = input_.below(known_.size());
  for (std::uint32_t i = 0; i < known_.size(); ++i) {
    Known& one = known_[(begin + i) % known_.size()];
    if (one.handle != 0 && one.name.kind == kind) return one;
  }
  return known_[begin];
}

void HostileClient::add_known(Call& call, std::uint16_t id, const Known& known) {
  if (rarely(16)) return add_handle(call, id, rarely(4) ? Kind::qp : Kind::devx);
  call.number(id, known.handle);
}

void HostileClient::fill_change(DevxKind kind, std::span<std::uint8_t> in) {
  switch (kind) {
    case DevxKind::qp: {
      as<Longest>(in).set(Longest::opt_param_mask, rarely(2) ? 0 : input_.take<std::uint16_t>());
      const auto context = as<Longest>(in).at(Longest::qpc);
      context.set(prm::Qpc::mtu, 1 + input_.below(5));
      context.set(prm::Qpc::log_msg_max, input_.below(31));
      context.set(prm::Qpc::remote_qpn, qpn_ & 0xffffff);
      context.set(prm::Qpc::rwe, 1);
      const Gid gid = context_.device().identity().gid(1);
      std::memcpy(context.at(prm::Qpc::primary_address_path).at(prm::Ads::rgid_rip).data(),
                  gid.data(), gid.size());
      return;
    }
    case DevxKind::rmp: {
      as<prm::ModifyRmpIn>(in).at(prm::ModifyRmpIn::bitmask).back() = prm::kRmpBitmaskLwm;
      const auto context = as<prm::ModifyRmpIn>(in).at(prm::ModifyRmpIn::ctx);
      return context.at(prm::Rmpc::wq).set(prm::Wq::lwm, input_.below(8));
    }
    case DevxKind::cq: {
      const auto change = as<prm::ModifyCqIn>(in);
      change.set(prm::ModifyCqIn::modify_field_select_resize_field_select, input_.below(4));
      change.at(prm::ModifyCqIn::cq_context).set(prm::Cqc::cq_max_count, input_.below(4));
      return change.at(prm::ModifyCqIn::cq_context).set(prm::Cqc::cq_period, input_.below(64));
    }
    case DevxKind::srq:
    case DevxKind::xrc_srq:
      as<prm::ArmXrcSrqIn>(in).set(prm::MboxIn::op_mod, prm::kArmSrq);
      return as<prm::ArmXrcSrqIn>(in).set(prm::ArmXrcSrqIn::lwm, input_.below(8));
    default: return;
  }
}

// Of queue pairs mostly what leads to the next state.
std::string HostileClient::change_devx() {
  Use use = kChanges[input_.below(std::size(kChanges))];
  Known& object = known(use.kind);
  if (use.kind == DevxKind::qp && !rarely(4)) use.opcode = kSteps[object.steps][input_.below(2)];
  prm::Mailbox<Longest> in;
  fill_change(use.kind, in.bytes());
  in.set(Longest::qpn, rarely(16) ? qpn_ & 0xffffff : object.name.number);
  Call call(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_MODIFY);
  add_known(call, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE, object);
  add_mailbox(call, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN, use.opcode, in.bytes());
  add_out(call, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT, 16);
  std::string wrong = make(call);
  if (last_error_ != 0 || use.kind != DevxKind::qp) return wrong;
  if (use.opcode == kSteps[object.steps][1]) {
    object.steps = std::min<std::uint32_t>(object.steps + 1, std::size(kSteps) - 1);
  } else if (use.opcode == Opcode::qp_2err || use.opcode == Opcode::qp_2rst) {
    object.steps = 0;
  }
  return wrong;
}

int HostileClient::open_file(UniqueFileDescriptor& file, Call& call, std::uint16_t id) {
  const int error = call.number(id).make(context_);
  if (error == 0) file = UniqueFileDescriptor(static_cast<int>(call.given(id)));
  return error;
}

// Through a file of answers, which nobody reads: at some time it is full.
std::string HostileClient::ask_later(Call& call) {
  if (!answers_) {
    Call open(MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD, MLX5_IB_METHOD_DEVX_ASYNC_CMD_FD_ALLOC);
    if (open_file(answers_, open, MLX5_IB_ATTR_DEVX_ASYNC_CMD_FD_ALLOC_HANDLE) != 0) return {};
  }
  call.header.method_id = MLX5_IB_METHOD_DEVX_OBJ_ASYNC_QUERY;
  call.number(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_FD, static_cast<std::uint32_t>(answers_.get()));
  add(call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_WR_ID, number());
  const std::uint64_t bytes = rarely(8) ? number() : 16 * (1 + input_.below(24));
  add(call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_OUT_LEN, bytes);
  return make(call);
}

std::string HostileClient::ask_devx() {
  const Use& use = kQuestions[input_.below(std::size(kQuestions))];
  const Known& object = known(use.kind);
  prm::Mailbox<prm::QueryQCounterIn> in;  // the longest of them
  as<prm::QueryQpIn>(in.bytes()).set(prm::QueryQpIn::qpn, object.name.number);
  if (use.kind == DevxKind::counter_set) {
    in = {};
    in.set(prm::QueryQCounterIn::counter_set_id, object.name.number & 0xff);
    in.set(prm::QueryQCounterIn::clear, input_.below(2));
  }
  if (use.kind == DevxKind::mkey) {
    as<prm::QueryMkeyIn>(in.bytes()).set(prm::QueryMkeyIn::pg_access, input_.below(2));
  }
  // Both ways to ask have the same two attributes first.
  static_assert(+MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE == +MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_HANDLE);
  static_assert(+MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN == +MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_CMD_IN);
  Call call(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY);
  add_known(call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, object);
  add_mailbox(call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, use.opcode, in.bytes());
  if (rarely(3)) return ask_later(call);
  add_out(call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT, 16 + 16 * input_.below(24));
  return make(call);
}

// A port, an address and another function's vport stand at the same bits of all that name one.
std::string HostileClient::ask_device() {
  prm::Mailbox<prm::QueryRoceAddressIn> in;
  in.set(prm::MboxIn::op_mod, input_.below(80));
  if (rarely(2)) in.set(prm::QueryRoceAddressIn::roce_address_index, input_.below(300));
  in.set(prm::QueryRoceAddressIn::vhca_port_num, input_.below(3));
  const auto any = static_cast<Opcode>(0x100 + input_.below(0x800));
  Call call(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER);
  add_mailbox(call, MLX5_IB_ATTR_DEVX_OTHER_CMD_IN,
              rarely(8) ? any : kGeneral[input_.below(std::size(kGeneral))], in.bytes());
  add_out(call, MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT, rarely(4) ? 16 * input_.below(40) : 4112);
  return make(call);
}

// From one file of events, which is opened first.
std::string HostileClient::subscribe() {
  if (!events_) {
    Call open(MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD, MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC);
    open.in(MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS, std::uint32_t{input_.below(2)});
    if (open_file(events_, open, MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE) != 0) return {};
  }
  Call call(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT);
  add(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE, number());
  add(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST,
      static_cast<std::uint16_t>(input_.below(0x20)));
  call.number(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE,
              static_cast<std::uint32_t>(events_.get()));
  if (!rarely(8)) {
    const auto kind = static_cast<DevxKind>(input_.below(10));
    add_known(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE, known(kind));
  }
  return make(call);
}

}  // namespace gdakit::softnic::uverbs::test
