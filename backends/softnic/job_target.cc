#include "backends/softnic/job_target.h"

#include <cstddef>
#include <cstring>

#include "backends/softnic/dma/dma_address.h"
#include "core/base/endian.h"
#include "core/base/random.h"
#include "core/format/cqe.h"
#include "core/format/srq.h"

namespace gdakit::softnic {
namespace {

constexpr std::size_t kEndpointAt = sizeof(Gid) - sizeof(Be32);
constexpr std::uint32_t kLogStride = 5;  // the shortest WQE of a shared receive queue

// The queues of a target: one receive WQE and one CQE, of which none is ever used.
struct TargetQueues {
  alignas(64) std::uint8_t cqe[sizeof(format::Cqe64)];
  alignas(64) std::uint8_t receive[1u << kLogStride];
  alignas(8) format::SrqDoorbellRecord record;
};

Gid gid_of(Endpoint endpoint) {
  Gid gid{};
  const Be32 number{endpoint};
  std::memcpy(&gid[kEndpointAt], &number, sizeof number);
  return gid;
}

}  // namespace

std::optional<Endpoint> JobAddresses::endpoint_of(const AddressVector& address) {
  Be32 number;
  std::memcpy(&number, &address.gid[kEndpointAt], sizeof number);
  const Endpoint endpoint = number;
  const bool is_one = endpoint < job_size_ && address.gid == gid_of(endpoint);
  return is_one ? std::optional(endpoint) : std::nullopt;
}

PortAddress JobAddresses::address_of(Endpoint endpoint) { return {gid_of(endpoint), 0}; }

format::AvSegment address_of_target(const TargetCard& card) {
  format::AvSegment av{};
  format::set_dc_key(av, card.access_key);
  av.dqp_dct = Be32{card.dct | format::kExtendedAv};
  const Gid gid = gid_of(card.endpoint);
  std::memcpy(av.rgid, gid.data(), sizeof av.rgid);
  return av;
}

Result<std::unique_ptr<JobTarget>> JobTarget::create(Nic& nic, PdNumber pd,
                                                     MemoryProvider& provider) {
  auto memory = provider.allocate(sizeof(TargetQueues), gdakit::Place::shared);
  if (!memory) return memory.error();
  auto* const queues = static_cast<TargetQueues*>((*memory)->data());
  const auto address = [&](const void* at) { return dma_address(provider, at); };
  std::memset(queues->cqe, format::kInvalidCqeByte, sizeof queues->cqe);
  CqAttributes cq;
  cq.entries = address(queues->cqe);
  cq.overrun_ignore = true;
  const Result<CqNumber> cqn = nic.create_cq(cq);
  if (!cqn) return cqn.error();
  SrqAttributes srq;
  srq.pd = pd;
  srq.wqes = address(queues->receive);
  srq.log_stride = kLogStride;
  srq.doorbell_record = address(&queues->record);
  const Result<SrqNumber> srqn = nic.create_srq(srq);
  if (!srqn) return srqn.error();
  DctAttributes target;
  target.pd = pd;
  target.cq = *cqn;
  target.srq = *srqn;
  target.access_key = random_u64();  // other jobs' initiators shall not find it by accident
  target.access = Access::remote_read | Access::remote_write | Access::remote_atomic;
  const Result<DctNumber> dct = nic.create_dct(target);
  if (!dct) return dct.error();
  const TargetCard card{target.access_key, nic.endpoint(), *dct};
  return std::unique_ptr<JobTarget>(new JobTarget(std::move(*memory), card));
}

}  // namespace gdakit::softnic
