// How fast is the soft ConnectX's engine by itself? Requester and responder run in one thread over
// the loopback wire; WQEs are posted beforehand, so that nothing but the engines is measured.
//
// EightByteWrites: 8-byte WRITEs a second, one signalled WQE in 64. Bound: 5 million on one core.
//
// EightByteWritesByRegisters: the same where the doorbell rings in a page of registers, as those of
// verbs and of firmware commands (DEVX) do: it says that there is something, and the doorbell
// record how much. Bound: 95 % of EightByteWrites.
//
// LargeWrites: 64 KiB WRITEs, in bytes a second. Bound: 70 % of MemcpySameBytes.
//
// MemcpySameBytes: memcpy over the same buffers.
//
// With as many idle queue pairs, connected, beside the busy one as the name says. Bound: the same
// for 16,000 as for 10.
//   IdleStep: a step while the busy queue pair moves 8-byte WRITEs.
//   IdleTimer: a step in which a timer of the busy queue pair fires.
//   IdleDeregister: registering and removing a memory key.
//   GoneSweep: a step without work, after the queue pairs have been destroyed.
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "backends/softnic/dma/host_dma.h"
#include "backends/softnic/engine/engine.h"
#include "backends/softnic/wire/loopback_wire.h"
#include "bench/pages.h"
#include "core/base/assert.h"
#include "core/format/doorbell.h"
#include "core/format/wqe.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint32_t kLogDepth = 13;
constexpr std::uint32_t kDepth = 1u << kLogDepth;
constexpr std::uint32_t kBatch = 64;

// One NIC with one QP.
struct Side {
  Side(LoopbackFabric& fabric, std::size_t heap_bytes, UarType registers)
      : heap(make_pages(heap_bytes)),
        sq(make_pages(std::size_t{kDepth} * format::kWqebbBytes)),
        cq(make_pages(sizeof(format::Cqe64))),
        record(make_pages(sizeof(format::DoorbellRecord))),
        wire(std::move(*fabric.attach())),
        engine({}, port, *wire) {
    std::memset(cq.get(), format::kInvalidCqeByte, sizeof(format::Cqe64));
    const PdNumber pd = *engine.alloc_pd();
    const DmaAddress base = host_address(heap.get());
    key = *engine.reg_mr({pd, base, base.value, heap_bytes, Access::all, kAnyQp, {}});
    uar = *engine.alloc_uar(registers);
    const CqNumber cqn = *engine.create_cq({host_address(cq.get()), 0, true, true, {}});
    attributes.pd = pd;
    attributes.send_cq = cqn;
    attributes.uar = uar;
    attributes.send_queue = host_address(sq.get());
    attributes.log_send_wqebbs = kLogDepth;
    attributes.doorbell_record = host_address(record.get());
    qpn = *engine.create_qp(attributes);
  }

  void connect(QpNumber own, const Side& peer) {
    QpModify modify;
    modify.access = Access::all;
    modify.path.endpoint = peer.wire->endpoint();
    modify.remote_qpn = peer.qpn;
    for (const QpState state : {QpState::init, QpState::rtr, QpState::rts}) {
      modify.state = state;
      GDAKIT_ASSERT(engine.modify_qp(own, modify));
    }
  }

  // Connects queue pairs that have nothing to do, all with the same memory.
  std::vector<QpNumber> add_idle(std::int64_t count, const Side& peer) {
    QpAttributes idle = attributes;
    idle.send_queue = host_address(idle_sq.get());
    idle.log_send_wqebbs = 10;
    idle.doorbell_record = host_address(idle_record.get());
    std::vector<QpNumber> numbers;
    for (std::int64_t i = 0; i < count; ++i) {
      numbers.push_back(*engine.create_qp(idle));
      connect(numbers.back(), peer);
    }
    return numbers;
  }

  Pages heap, sq, cq, record;
  Pages idle_sq = make_pages(1 << 16);
  Pages idle_record = make_pages(sizeof(format::DoorbellRecord));
  QpAttributes attributes;
  HostDma port;
  std::unique_ptr<Wire> wire;
  Engine engine;
  MemoryKey key = 0;
  UarNumber uar = 0;
  QpNumber qpn = 0;
};

class Pair {
 public:
  Pair(std::uint32_t size, std::size_t heap_bytes, UarType registers = UarType::dense)
      : fabric_(LoopbackFabric::create()),
        size_(size),
        heap_bytes_(heap_bytes),
        a_(*fabric_, heap_bytes, registers),
        b_(*fabric_, heap_bytes, registers) {
    a_.connect(a_.qpn, b_);
    b_.connect(b_.qpn, a_);
    for (std::uint32_t slot = 0; slot < kDepth; ++slot) post(slot);
  }

  // Moves one batch through, from its doorbell to its CQE.
  void run_batch() {
    ring_batch();
    const std::uint16_t last = format::wire_index(producer_ - 1);
    while (completed() != last) {
      step();
      b_.engine.step(now_ns_);
    }
  }
  void ring_batch() {
    // The index in a control segment goes on beyond the queue's end.
    if (producer_ >= kDepth) {
      for (std::uint32_t i = 0; i < kBatch; ++i) set_index(producer_ + i);
    }
    producer_ += kBatch;
    const Be32 record = format::doorbell_record_value(producer_);
    std::memcpy(a_.record.get() + offsetof(format::DoorbellRecord, snd_dbr), &record,
                sizeof record);
    a_.engine.doorbell(a_.uar, format::kUarDoorbellBegin,
                       format::doorbell_value(producer_, a_.qpn));
  }
  // One of the side that sends.
  void step() {
    now_ns_ += 100;
    a_.engine.step(now_ns_);
    ++steps_;
  }
  // The next one in which a timer fires.
  void step_to_timer() {
    now_ns_ = a_.engine.next_timer_ns().value();
    a_.engine.step(now_ns_);
  }
  std::vector<QpNumber> add_idle(std::int64_t count) {
    std::vector<QpNumber> numbers = a_.add_idle(count, b_);
    // Their records are looked at once.
    for (std::int64_t i = 0; i < count; ++i) step();
    steps_ = 0;
    return numbers;
  }
  Side& sender() { return a_; }
  std::int64_t steps() const { return steps_; }
  std::uint8_t* source(std::uint64_t n) { return a_.heap.get() + offset(n); }
  std::uint8_t* target(std::uint64_t n) { return b_.heap.get() + offset(n); }

 private:
  std::size_t offset(std::uint64_t n) const { return n * size_ % heap_bytes_; }
  format::Wqebb* slot(std::uint64_t index) {
    return reinterpret_cast<format::Wqebb*>(a_.sq.get()) + index % kDepth;
  }
  void post(std::uint64_t index) {
    const bool last = (index + 1) % kBatch == 0;
    const auto completion = last ? format::Completion::always : format::Completion::on_error;
    *slot(index) = {
        {format::to_segment(format::control(format::Opcode::rdma_write, 0,
                                            format::wire_index(index), a_.qpn, 3,
                                            format::fm_ce_se(format::FenceMode::none, completion))),
         format::to_segment(
             format::remote_address(host_address(target(index)).value, Be32{b_.key})),
         format::to_segment(format::data(host_address(source(index)).value, Be32{a_.key}, size_)),
         {}}};
  }
  void set_index(std::uint64_t index) {
    const Be32 word =
        format::opmod_idx_opcode(format::Opcode::rdma_write, format::wire_index(index));
    std::memcpy(slot(index), &word, sizeof word);
  }
  std::uint16_t completed() const {
    std::uint64_t tail;
    std::memcpy(&tail, a_.cq.get() + format::kCqeTailOffset, sizeof tail);
    GDAKIT_ASSERT(format::CqeTail{tail}.opcode() != format::CqeOpcode::requester_error);
    return format::CqeTail{tail}.wqe_counter();
  }

  std::shared_ptr<LoopbackFabric> fabric_;
  std::uint32_t size_;
  std::size_t heap_bytes_;
  Side a_, b_;
  std::uint64_t producer_ = 0;
  std::uint64_t now_ns_ = 1;
  std::int64_t steps_ = 0;
};

void EightByteWrites(benchmark::State& state) {
  Pair pair(8, 1 << 16);
  for (auto _ : state) pair.run_batch();
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(EightByteWrites);

void EightByteWritesByRegisters(benchmark::State& state) {
  Pair pair(8, 1 << 16, UarType::registers);
  for (auto _ : state) pair.run_batch();
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(EightByteWritesByRegisters);

constexpr std::uint32_t kLarge = 65536;

void LargeWrites(benchmark::State& state) {
  Pair pair(kLarge, static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) pair.run_batch();
  state.SetBytesProcessed(state.iterations() * kBatch * kLarge);
}
BENCHMARK(LargeWrites)->ArgName("buffer")->Arg(1 << 20)->Arg(64 << 20);

void MemcpySameBytes(benchmark::State& state) {
  Pair pair(kLarge, static_cast<std::size_t>(state.range(0)));
  std::uint64_t n = 0;
  for (auto _ : state) {
    for (std::uint32_t i = 0; i < kBatch; ++i, ++n) {
      std::memcpy(pair.target(n), pair.source(n), kLarge);
      benchmark::ClobberMemory();
    }
  }
  state.SetBytesProcessed(state.iterations() * kBatch * kLarge);
}
BENCHMARK(MemcpySameBytes)->ArgName("buffer")->Arg(1 << 20)->Arg(64 << 20);

void idle_counts(benchmark::internal::Benchmark* bench) {
  bench->ArgName("queues")->Arg(10)->Arg(1000)->Arg(16000);
}

void IdleStep(benchmark::State& state) {
  Pair pair(8, 1 << 16);
  pair.add_idle(state.range(0));
  for (auto _ : state) pair.run_batch();
  using benchmark::Counter;
  state.counters["step"] =
      Counter(static_cast<double>(pair.steps()),
              static_cast<Counter::Flags>(Counter::kIsRate | Counter::kInvert));
}
BENCHMARK(IdleStep)->Apply(idle_counts);

// The peer takes nothing: its NIC is given time, again and again.
void IdleTimer(benchmark::State& state) {
  Pair pair(8, 1 << 16);
  pair.add_idle(state.range(0));
  pair.ring_batch();
  while (!pair.sender().engine.next_timer_ns()) pair.step();
  for (auto _ : state) pair.step_to_timer();
}
BENCHMARK(IdleTimer)->Apply(idle_counts);

void IdleDeregister(benchmark::State& state) {
  Pair pair(8, 1 << 16);
  pair.add_idle(state.range(0));
  Side& sender = pair.sender();
  const DmaAddress base = host_address(sender.heap.get());
  for (auto _ : state) {
    const MemoryKey key = *sender.engine.reg_mr(
        {sender.attributes.pd, base, base.value, 4096, Access::all, kAnyQp, {}});
    GDAKIT_ASSERT(sender.engine.dereg_mr(key));
    GDAKIT_ASSERT(sender.engine.drained());
  }
}
BENCHMARK(IdleDeregister)->Apply(idle_counts);

void GoneSweep(benchmark::State& state) {
  Pair pair(8, 1 << 16);
  for (const QpNumber qpn : pair.add_idle(state.range(0))) {
    GDAKIT_ASSERT(pair.sender().engine.destroy_qp(qpn));
  }
  for (auto _ : state) pair.step();
}
BENCHMARK(GoneSweep)->Apply(idle_counts);

}  // namespace
}  // namespace gdakit::softnic

BENCHMARK_MAIN();
