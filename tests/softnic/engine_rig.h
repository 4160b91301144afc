// Two engines on a wire in one thread, and what a client of each has: memory, queues, doorbell
// record.
//
//   EngineRig rig;                         // QPs connected, in rts
//   rig.a.post(write_wqe(rig, 0, 0, 64));  // heap offset 0 of b <- heap offset 0 of a
//   rig.a.ring();
//   rig.run();                             // until both engines are idle
//   auto cqe = rig.a.send_cq.poll();
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/dma/host_dma.h"
#include "backends/softnic/engine/engine.h"
#include "backends/softnic/wire/loopback_wire.h"
#include "core/format/cq_doorbell.h"
#include "core/format/cqe.h"
#include "core/format/doorbell.h"
#include "core/format/wqe.h"

namespace gdakit::softnic::test {

// Zeroed memory aligned to a page.
class Pages {
 public:
  explicit Pages(std::size_t size)
      : size_(size), bytes_(static_cast<std::uint8_t*>(::operator new(size, kAlign))) {
    std::memset(bytes_, 0, size);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { ::operator delete(bytes_, kAlign); }

  std::uint8_t* data() const { return bytes_; }
  std::size_t size() const { return size_; }

 private:
  static constexpr std::align_val_t kAlign{4096};
  std::size_t size_;
  std::uint8_t* bytes_;
};

// A completion queue as its consumer sees it.
class CqReader {
 public:
  CqReader(std::uint32_t log_entries, bool collapsed, CqeSize cqe_size = CqeSize::bytes_64)
      : log_entries_(log_entries),
        collapsed_(collapsed),
        entry_bytes_(entry_bytes(cqe_size)),
        memory_(std::size_t{entry_bytes_} << log_entries) {
    std::memset(memory_.data(), format::kInvalidCqeByte, memory_.size());
    store_arm_word(Be32{format::kCqNotArmed});
  }

  DmaAddress address() const { return host_address(memory_.data()); }
  std::uint32_t log_entries() const { return log_entries_; }
  bool collapsed() const { return collapsed_; }
  DmaAddress record() const { return host_address(record_.data()); }

  format::Cqe64 at(std::uint64_t index) const {
    format::Cqe64 cqe;
    const std::uint64_t slot = collapsed_ ? 0 : index & ((1u << log_entries_) - 1);
    std::memcpy(&cqe, memory_.data() + (slot + 1) * entry_bytes_ - sizeof cqe, sizeof cqe);
    return cqe;
  }
  std::uint8_t byte(std::size_t offset) const { return memory_.data()[offset]; }
  // The next CQE of an ordinary CQ, if it is there; consumes it.
  std::optional<format::Cqe64> poll() {
    const format::Cqe64 cqe = at(consumer_);
    const bool owner = ((consumer_ >> log_entries_) & 1) != 0;
    if (format::cqe_opcode(cqe.op_own) == format::CqeOpcode::invalid ||
        ((cqe.op_own & 1) != 0) != owner) {
      return std::nullopt;
    }
    store_consumer(++consumer_);
    return cqe;
  }
  std::vector<format::Cqe64> poll_all() {
    std::vector<format::Cqe64> all;
    while (const auto cqe = poll()) all.push_back(*cqe);
    return all;
  }
  void store_consumer(std::uint64_t consumer) {
    const Be32 index{static_cast<std::uint32_t>(consumer & format::kCqIndexMask)};
    std::memcpy(record_.data(), &index, sizeof index);
  }

  // What a consumer stores that wants an event of whatever it has not polled; returns the arm word.
  Be32 store_arm(bool solicited_only = false) {
    const Be32 word = format::cq_arm(events_read, solicited_only, consumer_);
    store_arm_word(word);
    return word;
  }
  void store_arm_word(Be32 word) {
    std::memcpy(record_.data() + offsetof(format::CqDoorbellRecord, arm), &word, sizeof word);
  }

  std::uint32_t events_read = 0;

 private:
  std::uint32_t log_entries_;
  bool collapsed_;
  std::size_t entry_bytes_;
  Pages memory_;
  Pages record_{8};
  std::uint64_t consumer_ = 0;
};

// Notes what an engine tells.
class RecordedEvents final : public EventSink {
 public:
  void event(const Event& event) override { events_.push_back(event); }
  // Those since the last call.
  std::vector<Event> take() { return std::exchange(events_, {}); }
  // Those of a kind, since the last take().
  std::vector<Event> of(EventKind kind) const {
    std::vector<Event> some;
    std::copy_if(events_.begin(), events_.end(), std::back_inserter(some),
                 [&](const Event& event) { return event.kind == kind; });
    return some;
  }

 private:
  std::vector<Event> events_;
};

// A WQE to be posted; ds, index and QPN are filled in unless they are given.
struct Wqe {
  format::Opcode opcode = format::Opcode::nop;
  std::uint8_t opmod = 0;
  format::Completion completion = format::Completion::always;
  format::FenceMode fence = format::FenceMode::none;
  bool solicited = false;
  std::uint32_t imm = 0;
  std::vector<format::Segment> body = {};
  std::optional<std::uint32_t> ds = {};
  std::optional<std::uint16_t> index = {};
  std::optional<std::uint32_t> qpn = {};
};

struct RigOptions {
  EngineOptions engine;
  LoopbackOptions wire;
  ServiceType service = ServiceType::rc;
  UarType uar_type = UarType::dense;
  std::uint32_t log_sq = 6;
  std::uint32_t log_cq = 10;
  bool collapsed = false;
  bool overrun_ignore = true;
  CqeSize cqe_size = CqeSize::bytes_64;  // of the send CQ
  bool armable = false;
  bool listens = true;  // to events
  std::uint32_t log_rq = 4;
  std::uint32_t log_rq_stride = 6;
  bool has_rq = true;
  std::size_t heap = 1 << 20;
  Access mr_access = Access::all;
  Access qp_access = Access::all;
  std::uint32_t send_psn = 0;  // of a; b sends from 0x800000 on
  QpModify settings;           // path, limits and timers
  std::function<std::unique_ptr<DmaPort>(int side)> make_port;
  std::function<std::unique_ptr<Wire>(std::unique_ptr<Wire>, int side)> wrap_wire;
};

// One NIC and its client.
class Side {
 public:
  Side(const RigOptions& options, std::unique_ptr<DmaPort> dma, std::unique_ptr<Wire> packets);

  // Writes the WQE at the producer index, wrapping around the queue's end; returns its index.
  std::uint64_t post(const Wqe& wqe);
  // Stores record and doorbell for everything posted.
  void ring();
  void store_record();
  // Arms the completion queue: the word of its record, then the register.
  void arm(CqReader& cq, CqNumber cqn, bool solicited_only = false);
  DmaAddress send_record() const {
    return host_address(record.data()) + offsetof(format::DoorbellRecord, snd_dbr);
  }
  std::uint64_t doorbell() const { return format::doorbell_value(producer, qpn); }
  // Posts a receive WQE of these data segments and stores the record.
  void post_receive(const std::vector<format::DataSegment>& segments);

  std::uint64_t heap_address(std::size_t offset) const {
    return host_address(heap.data() + offset).value;
  }
  format::Segment data(std::size_t offset, std::uint32_t size) const {
    return format::to_segment(format::data(heap_address(offset), Be32{key}, size));
  }
  format::Segment remote(std::size_t offset) const {
    return format::to_segment(format::remote_address(heap_address(offset), Be32{key}));
  }
  template <class T>
  T& word(std::size_t offset) const {
    return *reinterpret_cast<T*>(heap.data() + offset);
  }
  QpInfo info() const { return *engine.query_qp(qpn); }
  // Of a queue pair without receive queue, whose send queue is the memory of this one's.
  QpAttributes another_qp(const Pages& doorbell_record) const;

  RigOptions options;
  Pages heap, sq, rq, record;
  CqReader send_cq, receive_cq;
  std::unique_ptr<DmaPort> port;
  std::unique_ptr<Wire> wire;
  RecordedEvents events;
  Engine engine;
  PdNumber pd = 0;
  UarNumber uar = 0;
  UarNumber arm_page = 0;  // of both CQs, if they can be armed
  MemoryKey key = 0;
  CqNumber send_cqn = 0, receive_cqn = 0;
  QpNumber qpn = 0;
  std::uint64_t producer = 0;
  std::uint64_t receive_producer = 0;
};

// The earliest timer that runs in any of these engines, in nanoseconds; none, if none does.
std::optional<std::uint64_t> earliest_timer_ns(std::initializer_list<const Engine*> engines);

class EngineRig {
 public:
  explicit EngineRig(const RigOptions& options = {});

  // Takes b's and a's QP from reset to rts.
  static void connect(Side& side, const Side& peer, const QpModify& limits, std::uint32_t send_psn,
                      std::uint32_t receive_psn);

  // Steps both engines until neither works for a while; time passes in small steps. False: `limit`
  // reached.
  bool run(std::uint64_t limit = 1'000'000);
  // Steps until `done`, letting time jump to the earliest timer whenever both engines are idle.
  bool run_until(const std::function<bool()>& done, std::uint64_t limit = 5'000'000);
  bool step();

  std::uint64_t now_ns = 1000;
  std::shared_ptr<LoopbackFabric> fabric;
  Side a, b;
};

// WQEs between heap offsets.
Wqe write_wqe(const EngineRig& rig, std::size_t to, std::size_t from, std::uint32_t size);
Wqe read_wqe(const EngineRig& rig, std::size_t to, std::size_t from, std::uint32_t size);
Wqe inline_write_wqe(const EngineRig& rig, std::size_t to, const std::vector<std::uint8_t>& bytes);
Wqe fetch_add_wqe(const EngineRig& rig, std::size_t result, std::size_t target, std::uint64_t add);

// Inline segment and data, padded to whole segments.
std::vector<format::Segment> inline_segments(const std::vector<std::uint8_t>& bytes);

format::CqeOpcode opcode_of(const format::Cqe64& cqe);
format::Syndrome syndrome_of(const format::Cqe64& cqe);
std::uint8_t vendor_of(const format::Cqe64& cqe);

// Posts a good WQE, the bad one and another good one, and expects that the first completes, the
// second fails with `syndrome`, the third is flushed, and no byte of b's heap changes but what the
// first writes.
void expect_fault(EngineRig& rig, const Wqe& bad, format::Syndrome syndrome,
                  std::optional<std::uint8_t> vendor = {});

// Fills with bytes that depend on `seed` and on the place.
void fill(std::uint8_t* at, std::size_t size, std::uint32_t seed);

}  // namespace gdakit::softnic::test
