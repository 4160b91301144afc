#include "backends/mlx5/dc_target.h"

#include <utility>

#include "backends/mlx5/rights.h"
#include "backends/mlx5/way.h"
#include "core/format/prm/dct.h"
#include "core/format/prm/rmp.h"

namespace gdakit::mlx5 {
namespace {

namespace prm = format::prm;

// The least that the kernel makes for a program: two WQEs of 32 bytes.
constexpr std::uint64_t kLogReceives = 1, kLogReceiveBytes = 5;
// Offsets in their page, in whose middle the CQE is: its place is a multiple of 1/64 of a page.
constexpr std::uint64_t kReceives = 0, kRecord = 64, kCqRecord = 128;

}  // namespace

Result<std::unique_ptr<DcReceives>> DcReceives::make(const OpenNic& nic, std::uint32_t uar_page) {
  Result<HostPage> page = HostPage::make(nic);
  if (!page) return page.error();
  std::unique_ptr<DcReceives> receives(new DcReceives(std::move(*page)));
  const Umem& umem = receives->page_.umem();
  auto made = receives->cq_.create(
      nic,
      {.cqes = {&umem, nic.page_bytes() / 2}, .record = {&umem, kCqRecord}, .uar_page = uar_page});
  if (made) made = receives->create_srq(nic);
  if (!made) return made.error();
  return receives;
}

// As a receive memory pool, which is what the kernel, UCX and DOCA make of one.
Result<void> DcReceives::create_srq(const OpenNic& nic) {
  prm::Mailbox<prm::CreateRmpIn> in;
  prm::Mailbox<prm::CreateRmpOut> out;
  const auto context = in.at(prm::CreateRmpIn::rmp_context);
  context.set(prm::Rmpc::state, static_cast<std::uint64_t>(prm::RmpState::ready));
  const auto wq = context.at(prm::Rmpc::wq);
  wq.set(prm::Wq::wq_type, static_cast<std::uint64_t>(prm::WqType::list));
  wq.set(prm::Wq::pd, nic.pdn());
  wq.set(prm::Wq::log_wq_sz, kLogReceives);
  wq.set(prm::Wq::log_wq_stride, kLogReceiveBytes);
  wq.set(prm::Wq::wq_umem_valid, 1);
  wq.set(prm::Wq::wq_umem_id, page_.umem().id());
  wq.set(prm::Wq::wq_umem_offset, kReceives);
  wq.set(prm::Wq::dbr_umem_valid, 1);
  wq.set(prm::Wq::dbr_umem_id, page_.umem().id());
  wq.set(prm::Wq::dbr_addr, kRecord);
  Result<DevxObject> made = nic.create(prm::Opcode::create_rmp, in, out);
  if (!made) return made.error();
  srq_.emplace(std::move(*made));
  srqn_ = static_cast<std::uint32_t>(out.get(prm::CreateRmpOut::rmpn));
  return {};
}

Result<DcTarget> DcTarget::create(const OpenNic& nic, const DcReceives& receives,
                                  const DcTargetOptions& options) {
  prm::Mailbox<prm::CreateDctIn> in;
  prm::Mailbox<prm::CreateDctOut> out;
  const auto context = in.at(prm::CreateDctIn::dct_context_entry);
  context.set(prm::Dctc::pd, nic.pdn());
  context.set(prm::Dctc::srqn_xrqn, receives.srqn());
  context.set(prm::Dctc::cqn, receives.cqn());
  context.set(prm::Dctc::counter_set_id, options.counter_set);
  context.set(prm::Dctc::dc_access_key, options.key);
  give_all_rights<prm::Dctc>(context);
  context.set(prm::Dctc::min_rnr_nak, kMinRnrTimer);
  context.set(prm::Dctc::mtu, options.mtu);
  const std::uint8_t lag_port = nic.next_lag_port();
  context.set(prm::Dctc::port, lag_port == 0 ? nic.port() : lag_port);
  context.set(prm::Dctc::pkey_index, nic.pkey_index());
  context.set(prm::Dctc::my_addr_index, nic.gid_index());
  context.set(prm::Dctc::hop_limit, kHopLimit);
  context.set(prm::Dctc::tclass, nic.traffic_class());
  if (is_ethernet(nic)) write_ethernet_class<prm::Dctc>(nic, context);
  Result<DevxObject> made = nic.create(prm::Opcode::create_dct, in, out);
  if (!made) return made.error();
  const auto number = static_cast<std::uint32_t>(out.get(prm::CreateDctOut::dctn));
  if (auto good = nic.check_qpn("CREATE_DCT", number); !good) return good.error();
  return DcTarget(std::move(*made), number, nic.gid_index());
}

}  // namespace gdakit::mlx5
