// What a client that registers and deregisters memory again and again, as libraries with a cache of
// registrations do, costs others of its NIC.
//
// PingPong/others:0  64 KiB WRITEs one at a time between two NICs and back, each NIC with a thread.
// PingPong/others:1  beside a thread that registers and deregisters some other page of the first
//                    NIC, 5,000 times a second. Bound: 1.1 times the first.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>

#include <benchmark/benchmark.h>

#include "backends/softnic/dma/host_dma.h"
#include "backends/softnic/engine/nic.h"
#include "backends/softnic/wire/loopback_wire.h"
#include "bench/pages.h"
#include "core/base/assert.h"
#include "core/format/doorbell.h"
#include "core/format/wqe.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint32_t kBytes = 65536;
constexpr std::uint32_t kLogDepth = 6;
constexpr std::uint32_t kDepth = 1u << kLogDepth;

// A NIC with a queue pair, and a thread's way to use it.
class Client {
 public:
  explicit Client(LoopbackFabric& fabric)
      : nic(std::move(*Nic::open({}, std::make_unique<HostDma>(), std::move(*fabric.attach())))) {
    std::memset(cq_.get(), format::kInvalidCqeByte, sizeof(format::Cqe64));
    pd = *nic->alloc_pd();
    uar_ = *nic->alloc_uar(UarType::dense);
    key = *nic->reg_mr({pd,
                        host_address(heap.get()),
                        host_address(heap.get()).value,
                        kBytes,
                        Access::all,
                        kAnyQp,
                        {}});
    QpAttributes attributes;
    attributes.pd = pd;
    attributes.send_cq = *nic->create_cq({host_address(cq_.get()), 0, true, true, {}});
    attributes.uar = uar_.number;
    attributes.send_queue = host_address(sq_.get());
    attributes.log_send_wqebbs = kLogDepth;
    attributes.doorbell_record = host_address(record_.get());
    qpn = *nic->create_qp(attributes);
  }

  void connect(const Client& peer) {
    QpModify modify;
    modify.access = Access::all;
    modify.path.endpoint = peer.nic->endpoint();
    modify.remote_qpn = peer.qpn;
    for (const QpState state : {QpState::init, QpState::rtr, QpState::rts}) {
      modify.state = state;
      GDAKIT_ASSERT(nic->modify_qp(qpn, modify));
    }
  }

  // Writes all of the heap to the peer's; returns when the NIC says that it is there.
  void write(const Client& peer) {
    const format::Segment segments[3] = {
        format::to_segment(
            format::control(format::Opcode::rdma_write, 0, format::wire_index(producer_), qpn, 3,
                            format::fm_ce_se(format::FenceMode::none, format::Completion::always))),
        format::to_segment(
            format::remote_address(host_address(peer.heap.get()).value, Be32{peer.key})),
        format::to_segment(format::data(host_address(heap.get()).value, Be32{key}, kBytes))};
    std::memcpy(sq_.get() + producer_ % kDepth * format::kWqebbBytes, segments, sizeof segments);
    ++producer_;
    auto* record = reinterpret_cast<std::uint32_t*>(record_.get()) + 1;
    __atomic_store_n(record, format::doorbell_record_value(producer_).raw(), __ATOMIC_RELEASE);
    auto* doorbell = static_cast<std::uint8_t*>(uar_.page) + format::kUarDoorbellBegin;
    __atomic_store_n(reinterpret_cast<std::uint64_t*>(doorbell),
                     format::doorbell_value(producer_, qpn), __ATOMIC_RELEASE);
    while (tail().wqe_counter() != format::wire_index(producer_ - 1)) std::this_thread::yield();
    GDAKIT_ASSERT(tail().opcode() == format::CqeOpcode::requester);
  }

  Pages heap = make_pages(kBytes);
  std::unique_ptr<Nic> nic;
  PdNumber pd = 0;
  MemoryKey key = 0;
  QpNumber qpn = 0;

 private:
  format::CqeTail tail() const {
    return {
        __atomic_load_n(reinterpret_cast<const std::uint64_t*>(cq_.get()) + 7, __ATOMIC_ACQUIRE)};
  }

  Pages sq_ = make_pages(kDepth * format::kWqebbBytes);
  Pages cq_ = make_pages(sizeof(format::Cqe64));
  Pages record_ = make_pages(sizeof(format::DoorbellRecord));
  Uar uar_;
  std::uint64_t producer_ = 0;
};

void register_until(const std::atomic<bool>& stop, Client& client) {
  const Pages page = make_pages(4096);
  MrAttributes mr;
  mr.pd = client.pd;
  mr.base = host_address(page.get());
  mr.length = 4096;
  mr.access = Access::local_read;
  while (!stop) {
    GDAKIT_ASSERT(client.nic->dereg_mr(*client.nic->reg_mr(mr)));
    std::this_thread::sleep_for(std::chrono::microseconds(150));
  }
}

void PingPong(benchmark::State& state) {
  const auto fabric = LoopbackFabric::create();
  Client a(*fabric), b(*fabric);
  a.connect(b);
  b.connect(a);
  std::atomic<bool> stop{false};
  std::thread other;
  if (state.range(0) != 0) other = std::thread([&] { register_until(stop, a); });
  for (auto _ : state) {
    a.write(b);
    b.write(a);
  }
  stop = true;
  if (other.joinable()) other.join();
  state.counters["retries"] = static_cast<double>(a.nic->counters().retries);
}
BENCHMARK(PingPong)->ArgName("others")->Arg(0)->Arg(1)->UseRealTime();

}  // namespace
}  // namespace gdakit::softnic

BENCHMARK_MAIN();
