#include "backends/mlx5/completion_queue.h"

#include <utility>

#include "core/format/prm/cq.h"

namespace gdakit::mlx5 {

namespace prm = format::prm;

Result<void> CompletionQueue::create(const OpenNic& nic, const CqOptions& options) {
  prm::Mailbox<prm::CreateCqIn> in;
  prm::Mailbox<prm::CreateCqOut> out;
  const auto context = in.at(prm::CreateCqIn::cqc);
  context.set(prm::Cqc::cc, options.collapsed ? 1 : 0);
  context.set(prm::Cqc::oi, 1);
  context.set(prm::Cqc::log_cq_size, options.log_size);
  context.set(prm::Cqc::uar_page, options.uar_page);
  context.set(prm::Cqc::c_eqn, nic.eqn());
  context.set(prm::Cqc::dbr_umem_valid, 1);
  context.set(prm::Cqc::dbr_umem_id, options.record.umem->id());
  context.set(prm::Cqc::dbr_addr, options.record.offset);
  in.set(prm::CreateCqIn::cq_umem_valid, 1);
  in.set(prm::CreateCqIn::cq_umem_id, options.cqes.umem->id());
  in.set(prm::CreateCqIn::cq_umem_offset, options.cqes.offset);
  Result<DevxObject> made = nic.create(prm::Opcode::create_cq, in, out);
  if (!made) return made.error();
  object_.emplace(std::move(*made));
  number_ = static_cast<std::uint32_t>(out.get(prm::CreateCqOut::cqn));
  return {};
}

Result<void> CompletionQueue::destroy(const OpenNic& nic) {
  if (!object_) return {};
  if (const int code = object_->destroy(); code != 0) return nic.failure("DESTROY_CQ", code);
  object_.reset();
  return {};
}

}  // namespace gdakit::mlx5
