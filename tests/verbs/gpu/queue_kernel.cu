#include <cuda/atomic>

#include "tests/verbs/gpu/queue_kernel.h"

namespace gdakit::verbs_gpu {
namespace {

constexpr long long kPatienceClocks = 20'000'000'000;  // some ten seconds

template <class Word>
__device__ void store(Word& to, Word value) {
  cuda::atomic_ref<Word, cuda::thread_scope_system>(to).store(value, cuda::memory_order_relaxed);
}

__device__ void post(const GpuQueue& queue, const Writes& writes, std::uint32_t i) {
  using namespace format;
  const std::uint64_t offset = std::uint64_t{i} * writes.bytes;
  ControlSegment control{};
  control.opmod_idx_opcode = opmod_idx_opcode(Opcode::rdma_write, wire_index(i));
  control.qpn_ds = qpn_ds(queue.qpn, 3);
  control.fm_ce_se = fm_ce_se(FenceMode::none, Completion::always);
  RemoteAddressSegment remote{};
  remote.raddr = Be64{writes.to + offset};
  remote.rkey = Be32{writes.rkey};
  DataSegment data{};
  data.byte_count = Be32{writes.bytes};
  data.lkey = Be32{writes.lkey};
  data.addr = Be64{writes.from + offset};
  Wqebb& wqe = queue.wqes[i % queue.depth];
  wqe.segments[0] = to_segment(control);
  wqe.segments[1] = to_segment(remote);
  wqe.segments[2] = to_segment(data);
  __threadfence_system();
  if (queue.record != nullptr) {
    auto& record = *reinterpret_cast<std::uint32_t*>(&queue.record->snd_dbr);
    store(record, doorbell_record_value(i + 1).raw());
    __threadfence_system();
  }
  store(*queue.doorbell, doorbell_value(i + 1, queue.qpn));
}

// Whether entry i of the CQ, in its first round, says that all is well.
__device__ bool comes_back(const GpuQueue& queue, std::uint32_t i) {
  const cuda::atomic_ref<std::uint8_t, cuda::thread_scope_system> own(queue.cqes[i].op_own);
  const long long begin = clock64();
  std::uint8_t seen = format::kInvalidCqeByte;
  while ((seen = own.load(cuda::memory_order_acquire)) == format::kInvalidCqeByte) {
    if (clock64() - begin > kPatienceClocks) return false;
  }
  return seen >> 4 == static_cast<std::uint8_t>(format::CqeOpcode::requester);
}

__global__ void write_all(GpuQueue queue, Writes writes, std::uint32_t* done) {
  for (std::uint32_t i = 0; i < writes.count; ++i) {
    post(queue, writes, i);
    if (!comes_back(queue, i)) return;
    *done = i + 1;
  }
}

}  // namespace

void run_writes(const GpuQueue& queue, const Writes& writes, std::uint32_t* done) {
  write_all<<<1, 1>>>(queue, writes, done);
}

}  // namespace gdakit::verbs_gpu
