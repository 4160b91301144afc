// Firmware commands of a hostile client: mailboxes of every kind, whose fields are mostly such that
// they could be right.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/format/prm/cq.h"
#include "core/format/prm/mkey.h"
#include "core/format/prm/qp.h"
#include "core/format/prm/rmp.h"
#include "core/format/prm/srq.h"
#include "core/format/umr.h"
#include "tests/uverbs/hostile_calls.h"

namespace gdakit::softnic::uverbs::test {
namespace {

namespace prm = format::prm;

constexpr std::uint32_t kFewNumbers = 8;  // the first that objects get
constexpr std::uint64_t kUmemBytes = 8192;

}  // namespace

void HostileClient::add_mailbox(Call& call, std::uint16_t id, prm::Opcode opcode,
                                std::span<std::uint8_t> in) {
  const prm::View<prm::MboxIn, std::uint8_t> begin(in);
  begin.set(prm::MboxIn::opcode, static_cast<std::uint64_t>(opcode));
  if (rarely(8)) change(in.data(), in.size());
  last_opcode_ = begin.get(prm::MboxIn::opcode);
  add(call, id, in.data(), in.size());
}

std::uint32_t HostileClient::number_of(Numbered kind) {
  if (rarely(24)) return input_.below(kFewNumbers);
  const auto& numbers = other_ != nullptr && rarely(24) ? other_->numbers_ : numbers_;
  return numbers[static_cast<std::size_t>(kind)][input_.below(kRemembered)];
}

// The first one of a kind is all that is known.
void HostileClient::remember_number(Numbered kind, std::uint32_t number) {
  auto& known = numbers_[static_cast<std::size_t>(kind)];
  std::ranges::replace(known, 0u, number);
  known[input_.below(kRemembered)] = number;
}

std::string HostileClient::make_umem() {
  Call call(MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_REG);
  std::uint32_t umem = 0;
  add(call, MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, place(kUmemBytes, 64));
  add(call, MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, std::uint64_t{kUmemBytes});
  add(call, MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, std::uint32_t{rarely(8) ? input_.below(8) : 1});
  if (rarely(16)) {
    add_out(call, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, sizeof umem);
  } else {
    call.out(MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, umem);
  }
  std::string wrong = make(call, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, Kind::umem);
  if (umem != 0) remember_number(Numbered::umem, umem);
  return wrong;
}

void HostileClient::fill(prm::Mailbox<prm::CreateCqIn>& in) {
  const auto context = in.at(prm::CreateCqIn::cqc);
  context.set(prm::Cqc::log_cq_size, input_.below(5));
  context.set(prm::Cqc::oi, input_.below(2));
  context.set(prm::Cqc::cc, input_.below(2));
  context.set(prm::Cqc::c_eqn, 1);
  context.set(prm::Cqc::uar_page, uar_number_ & 0xffffff);
  context.set(prm::Cqc::dbr_umem_id, number_of(Numbered::umem));
  context.set(prm::Cqc::dbr_addr, offset());
  in.set(prm::CreateCqIn::cq_umem_id, number_of(Numbered::umem));
  in.set(prm::CreateCqIn::cq_umem_offset, offset());
}

// Of a umem's memory, or of a list, whose entries come behind the mailbox.
void HostileClient::fill(prm::Mailbox<prm::CreateMkeyIn>& in) {
  const auto context = in.at(prm::CreateMkeyIn::memory_key_mkey_entry);
  const bool is_list = rarely(2);
  context.set(prm::Mkc::access_mode_1_0,
              rarely(8) ? input_.below(4) : 1 + (is_list ? 1 + input_.below(2) : 0));
  context.set(prm::Mkc::free, is_list ? 1 : 0);
  context.set(prm::Mkc::umr_en, is_list ? 1 : 0);
  context.set(prm::Mkc::lr, 1);
  context.set(prm::Mkc::lw, input_.below(2));
  context.set(prm::Mkc::rw, input_.below(2));
  context.set(prm::Mkc::qpn, rarely(8) ? number_of(Numbered::qp) : prm::kMkcOfAnyQp);
  context.set(prm::Mkc::mkey_7_0, input_.below(256));
  context.set(prm::Mkc::pd, number_of(Numbered::pd));
  context.set(prm::Mkc::start_addr, number());
  context.set(prm::Mkc::len, rarely(8) ? number() : 1 + input_.below(4096));
  context.set(prm::Mkc::translations_octword_size, rarely(8) ? input_.take<std::uint32_t>() : 4);
  context.set(prm::Mkc::log_page_size, input_.below(64));
  in.set(prm::CreateMkeyIn::mkey_umem_id, number_of(Numbered::umem));
  in.set(prm::CreateMkeyIn::mkey_umem_offset, offset());
}

// Parts of other keys, few of them.
void HostileClient::add_entries(std::vector<std::uint8_t>& in) {
  const std::uint32_t count = input_.below(5);
  for (std::uint32_t i = 0; i < count; ++i) {
    format::KlmSegment entry{};
    entry.byte_count = Be32(1 + input_.below(4096));
    entry.mkey = Be32(number_of(Numbered::mkey) << 8 | (rarely(4) ? input_.below(256) : 0));
    entry.address = Be64(number());
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&entry);
    in.insert(in.end(), bytes, bytes + sizeof entry);
  }
  prm::View<prm::CreateMkeyIn, std::uint8_t>(in).set(
      prm::CreateMkeyIn::translations_octword_actual_size, rarely(8) ? input_.below(99) : count);
}

void HostileClient::fill(prm::Mailbox<prm::CreateQpIn>& in) {
  const auto context = in.at(prm::CreateQpIn::qpc);
  constexpr std::uint64_t kRqTypes[] = {0, 0, 1, 3};
  constexpr std::uint64_t kServices[] = {0, 0, 1, 2, 3, prm::kStDci};
  context.set(prm::Qpc::st,
              rarely(8) ? input_.below(8) : kServices[input_.below(std::size(kServices))]);
  context.set(prm::Qpc::pd, number_of(Numbered::pd));
  context.set(prm::Qpc::cqn_snd, number_of(Numbered::cq));
  context.set(prm::Qpc::cqn_rcv, number_of(Numbered::cq));
  context.set(prm::Qpc::rq_type, kRqTypes[input_.below(std::size(kRqTypes))]);
  context.set(prm::Qpc::srqn_rmpn_xrqn, number_of(Numbered::rmp));
  context.set(prm::Qpc::log_rq_size, input_.below(6));
  context.set(prm::Qpc::log_sq_size, rarely(8) ? input_.below(16) : input_.below(5));
  context.set(prm::Qpc::no_sq, rarely(4) ? 1 : 0);
  context.set(prm::Qpc::counter_set_id, rarely(4) ? number_of(Numbered::counter_set) & 0xff : 0);
  context.set(prm::Qpc::xrcd, rarely(2) ? number_of(Numbered::xrcd) : 0);
  context.set(prm::Qpc::send_dbr_mode, rarely(4) ? input_.below(4) : 0);
  context.set(prm::Qpc::uar_page, uar_number_ & 0xffffff);
  context.set(prm::Qpc::dbr_umem_id, number_of(Numbered::umem));
  context.set(prm::Qpc::dbr_addr, offset());
  in.set(prm::CreateQpIn::wq_umem_id, number_of(Numbered::umem));
  in.set(prm::CreateQpIn::wq_umem_offset, offset());
}

void HostileClient::fill(prm::Mailbox<prm::CreateRmpIn>& in) {
  const auto wq = in.at(prm::CreateRmpIn::rmp_context).at(prm::Rmpc::wq);
  wq.set(prm::Wq::wq_type, rarely(8) ? input_.below(4) : input_.below(2));
  wq.set(prm::Wq::pd, number_of(Numbered::pd));
  wq.set(prm::Wq::lwm, rarely(4) ? input_.below(4) : 0);
  wq.set(prm::Wq::log_wq_sz, input_.below(5));
  wq.set(prm::Wq::log_wq_stride, 5 + input_.below(2));
  wq.set(prm::Wq::dbr_umem_id, number_of(Numbered::umem));
  wq.set(prm::Wq::dbr_addr, offset());
  wq.set(prm::Wq::wq_umem_id, number_of(Numbered::umem));
  wq.set(prm::Wq::wq_umem_offset, offset());
}

void HostileClient::fill(prm::Mailbox<prm::CreateXrcSrqIn>& in) {
  const auto context = in.at(prm::CreateXrcSrqIn::xrc_srq_context_entry);
  context.set(prm::XrcSrqc::log_xrc_srq_size, input_.below(5));
  context.set(prm::XrcSrqc::log_rq_stride, 1 + input_.below(2));
  context.set(prm::XrcSrqc::xrcd, number_of(Numbered::xrcd));
  context.set(prm::XrcSrqc::cqn, number_of(Numbered::cq));
  context.set(prm::XrcSrqc::pd, number_of(Numbered::pd));
}

template <class Layout>
std::string HostileClient::make_devx(prm::Opcode opcode, Numbered kind) {
  prm::Mailbox<Layout> mailbox;
  prm::Mailbox<ObjectOut> out;
  if constexpr (!std::is_same_v<Layout, prm::MboxIn>) fill(mailbox);
  std::vector<std::uint8_t> in(mailbox.bytes().begin(), mailbox.bytes().end());
  if constexpr (std::is_same_v<Layout, prm::CreateMkeyIn>) add_entries(in);
  Call call(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE);
  add_mailbox(call, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, opcode, in);
  if (rarely(16)) {
    add_out(call, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, out.bytes().size());
  } else {
    call.at(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, address_of(out.bytes().data()),
            out.bytes().size());
  }
  std::string wrong = make(call, MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, Kind::devx);
  const auto number = static_cast<std::uint32_t>(out.get(ObjectOut::number));
  const auto creation = creation_by(static_cast<std::uint64_t>(opcode));
  if (creation) know({{creation->kind, number}, last_handle_});
  if (last_error_ == 0 && number != 0) remember_number(kind, number);
  return wrong;
}

std::string HostileClient::make_devx() {
  // A target of DC takes a PD, a CQ and a pool.
  switch (input_.below(19)) {
    case 0: return make_devx<prm::MboxIn>(prm::Opcode::alloc_pd, Numbered::pd);
    case 1:
    case 2: return make_devx<prm::CreateCqIn>(prm::Opcode::create_cq, Numbered::cq);
    case 3:
    case 4:
    case 5: return make_devx<prm::CreateRmpIn>(prm::Opcode::create_rmp, Numbered::rmp);
    case 6: return make_devx<prm::MboxIn>(prm::Opcode::alloc_xrcd, Numbered::xrcd);
    case 7: return make_devx<prm::MboxIn>(prm::Opcode::alloc_q_counter, Numbered::counter_set);
    case 8:
      return make_devx<prm::CreateXrcSrqIn>(
          rarely(2) ? prm::Opcode::create_srq : prm::Opcode::create_xrc_srq, Numbered::rmp);
    case 9:
    case 10:
    case 11: return make_devx<prm::CreateMkeyIn>(prm::Opcode::create_mkey, Numbered::mkey);
    case 12:
    case 13:
    case 14: return make_devx<prm::CreateDctIn>(prm::Opcode::create_dct, Numbered::dct);
    default: return make_devx<prm::CreateQpIn>(prm::Opcode::create_qp, Numbered::qp);
  }
}

}  // namespace gdakit::softnic::uverbs::test
