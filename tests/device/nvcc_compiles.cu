// The protocol as device code: compiled by nvcc to PTX for every architecture, and to machine code
// for the oldest one, without relaxed constexpr rules and with warnings as errors. Nothing of it
// runs.
#include "device/channel.h"
#include "device/cuda_machine.cuh"
#include "device/pe.h"

namespace gdakit::compile_check {

__global__ void transfers(DeviceContext context, int* data, std::uint64_t* word) {
  CudaMachine m(context);
  Pe<CudaMachine> pe(m, context);
  pe.put(data, data, 3, 1);
  pe.warp().put_nbi(data, data, 3, 1);
  pe.block().get(data, data, 4, 1);
  pe.put_value(data, pe.get_value(data, 1), 1);
  pe.put_signal(data, data, 3, word, 1, SignalOp::set, 1);
  pe.block().put_signal_nbi(data, data, 3, word, 1, SignalOp::add, 1);
  pe.exclusively_on(0).put_nbi(data, data, 3, 1, Batch::more);
}

__global__ void strided(DeviceContext context, double* data) {
  CudaMachine m(context);
  Pe<CudaMachine> pe(m, context);
  pe.iput(data, data, 2, -3, 5, 1);
  pe.warp().iget_nbi(data, data, 2, 1, 5, 1);
  pe.put_bytes(data, data, 3, 1);
}

__global__ void locked(DeviceContext context, Lock* lock, std::uint64_t* word, std::int64_t* old) {
  CudaMachine m(context);
  Pe<CudaMachine> pe(m, context);
  pe.block().set_lock(lock);
  pe.atomic_fetch_add_nbi(old, old, 1, 1);
  const std::uint64_t wanted[] = {1, 2};
  pe.block().wait_until_all_vector(word, 2, nullptr, Compare::ge, wanted);
  pe.signal(word, pe.signal_fetch(word), SignalOp::set, 1);
  pe.block().clear_lock(lock);
  if (pe.test_lock(lock)) pe.clear_lock(lock);
}

__global__ void words(DeviceContext context, int* data, std::uint64_t* word, double* real) {
  CudaMachine m(context);
  Pe<CudaMachine> pe(m, context);
  pe.atomic_or(data, 1, 1);
  pe.atomic_set(real, pe.atomic_fetch(real, 1), 1);
  pe.atomic_add(word, pe.atomic_compare_swap(word, 1, 2, 1), 1);
  pe.wait_until(word, Compare::ge, 1);
  pe.quiet();
  pe.block().barrier_all();
}

__global__ void messages(DeviceContext context, Channels channels, int* data) {
  CudaMachine m(context);
  Pe<CudaMachine> pe(m, context);
  auto channel = pe.channel(channels);
  channel.post_receive(data, 4, 1);
  channel.send(data, 1, 1);
  channel.put_async(data, data, 1, 1, Batch::more);
  channel.put_with_immediate(data, data, 1, 7, 1);
  const Received got = channel.wait_receive_any();
  if (got.arrived()) channel.post_receive(got.buffer, 4, got.peer);
  channel.poll_receive(1);
  channel.quiet();
}

struct Loose {
  char bytes[4];
};

__global__ void loose(DeviceContext context, Loose* data) {
  CudaMachine m(context);
  Pe<CudaMachine> pe(m, context);
  pe.put_value(data, pe.get_value(data + 1, 1), 1, Batch::more);
  auto own = pe.exclusively_on(1);
  own.put_value(data, own.get_value(data + 1, 1), 1);
}

}  // namespace gdakit::compile_check
