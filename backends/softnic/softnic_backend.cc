#include "backends/softnic/softnic_backend.h"

#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "backends/softnic/host_dma.h"
#include "backends/softnic/loopback_wire.h"
#include "backends/softnic/nic.h"
#include "backends/softnic/shm_wire.h"
#include "core/base/bits.h"
#include "core/format/doorbell.h"
#include "core/host/stall.h"

namespace gdakit::softnic {
namespace {

// What the two ends of a connection tell each other.
struct ConnectionCard {
  Endpoint endpoint;
  QpNumber qpn;
};

// 4.096 us * 2^18, about a second: a peer's NIC thread may wait that long for a core, and the wires
// within a host lose nothing.
constexpr std::uint8_t kAckTimeout = 18;

constexpr std::uint32_t kDoorbellStride = 64;  // a cache line each: queues do not slow each other

// Hands out doorbell registers, page by page.
class Doorbells {
 public:
  struct Register {
    UarNumber uar;
    std::uint64_t* word;
  };

  Result<Register> take(Nic& nic) {
    if (free_.empty()) {
      Result<Uar> uar = nic.alloc_uar();
      if (!uar) return uar.error();
      for (std::uint32_t at = format::kUarDoorbellBegin; at < format::kUarDoorbellEnd;
           at += kDoorbellStride) {
        char* const page = static_cast<char*>(uar->page);
        free_.push_back({uar->number, reinterpret_cast<std::uint64_t*>(page + at)});
      }
    }
    const Register taken = free_.back();
    free_.pop_back();
    return taken;
  }

  void give_back(const Register& taken) { free_.push_back(taken); }

 private:
  std::vector<Register> free_;
};

DmaAddress dma_address(const void* memory) { return {reinterpret_cast<std::uint64_t>(memory)}; }

class SoftNicBackend final : public Backend {
 public:
  SoftNicBackend(std::unique_ptr<Nic> nic, PdNumber pd) : nic_(std::move(nic)), pd_(pd) {}

  const char* name() const override { return "softnic"; }
  BackendLimits limits() const override { return {}; }

  NicCounters counters() const override {
    const Counters counters = nic_->counters();
    return {counters.wqes, counters.doorbells, counters.cqes, counters.bytes_sent,
            counters.bytes_received};
  }

  Result<MemoryKeys> register_memory(void* base, std::uint64_t bytes, MemoryUse use) override {
    const Access access =
        use == MemoryUse::symmetric ? Access::all : Access::local_read | Access::local_write;
    MrAttributes attributes;
    attributes.pd = pd_;
    attributes.base = dma_address(base);
    attributes.start = attributes.base.value;
    attributes.length = bytes;
    attributes.access = access;
    Result<MemoryKey> key = nic_->reg_mr(attributes);
    if (!key) return key.error();
    return MemoryKeys{Be32{*key}, Be32{*key}};
  }

  Result<void> deregister_memory(MemoryKeys keys) override { return nic_->dereg_mr(keys.lkey); }

  Result<QueueResources> create_queue(const QueueMemory& memory) override;
  Result<void> connect_queue(QueueNumber queue, std::span<const std::byte> card) override;
  Result<void> destroy_queue(QueueNumber queue) override;
  std::string describe_queue(QueueNumber queue) const override;

  Result<void> pause() override {
    nic_->pause();
    return {};
  }
  Result<void> resume() override {
    nic_->resume();
    return {};
  }

 private:
  struct Queue {
    CqNumber cq;
    Doorbells::Register doorbell;
  };

  std::unique_ptr<Nic> nic_;
  PdNumber pd_;
  std::mutex mutex_;
  Doorbells doorbells_;
  std::map<QueueNumber, Queue> queues_;  // by QPN
};

Result<QueueResources> SoftNicBackend::create_queue(const QueueMemory& memory) {
  const std::lock_guard lock(mutex_);
  Result<Doorbells::Register> doorbell = doorbells_.take(*nic_);
  if (!doorbell) return doorbell.error();
  CqAttributes cq_attributes;
  cq_attributes.entries = dma_address(memory.cqe);
  cq_attributes.collapsed = true;
  cq_attributes.overrun_ignore = true;
  Result<CqNumber> cq = nic_->create_cq(cq_attributes);
  if (!cq) {
    doorbells_.give_back(*doorbell);
    return cq.error();
  }
  QpAttributes attributes;
  attributes.pd = pd_;
  attributes.send_cq = *cq;
  attributes.receive_cq = *cq;
  attributes.uar = doorbell->uar;
  attributes.send_queue = dma_address(memory.slots);
  attributes.log_send_wqebbs = static_cast<std::uint32_t>(log2_floor(memory.depth));
  attributes.doorbell_record = dma_address(memory.doorbell_record);
  Result<QpNumber> qpn = nic_->create_qp(attributes);
  if (!qpn) {
    static_cast<void>(nic_->destroy_cq(*cq));
    doorbells_.give_back(*doorbell);
    return qpn.error();
  }
  queues_[*qpn] = {*cq, *doorbell};
  const ConnectionCard card{nic_->endpoint(), *qpn};
  Bytes bytes(sizeof(card));
  std::memcpy(bytes.data(), &card, sizeof(card));
  return QueueResources{*qpn, *qpn, doorbell->word, std::move(bytes)};
}

Result<void> SoftNicBackend::connect_queue(QueueNumber queue, std::span<const std::byte> card) {
  ConnectionCard peer;
  if (card.size() != sizeof(peer)) {
    return Error(Code::invalid_argument, "connect_queue: a connection card of " +
                                             std::to_string(card.size()) +
                                             " bytes; do all PEs use backend softnic?");
  }
  std::memcpy(&peer, card.data(), sizeof(peer));
  QpModify modify;
  modify.state = QpState::init;
  modify.access = Access::remote_read | Access::remote_write | Access::remote_atomic;
  if (Result<void> done = nic_->modify_qp(queue, modify); !done) return done;
  modify.state = QpState::rtr;
  modify.remote_endpoint = peer.endpoint;
  modify.remote_qpn = peer.qpn;
  if (Result<void> done = nic_->modify_qp(queue, modify); !done) return done;
  modify.state = QpState::rts;
  modify.ack_timeout = kAckTimeout;
  return nic_->modify_qp(queue, modify);
}

Result<void> SoftNicBackend::destroy_queue(QueueNumber queue) {
  const std::lock_guard lock(mutex_);
  const auto found = queues_.find(queue);
  if (found == queues_.end()) {
    return Error(Code::invalid_argument,
                 "destroy_queue: there is no queue " + std::to_string(queue));
  }
  if (Result<void> done = nic_->destroy_qp(queue); !done) return done;
  const Queue gone = found->second;
  queues_.erase(found);
  doorbells_.give_back(gone.doorbell);
  return nic_->destroy_cq(gone.cq);
}

std::string SoftNicBackend::describe_queue(QueueNumber queue) const {
  Result<QpInfo> info = nic_->query_qp(queue);
  if (!info) return info.error().message();
  std::string text = "QP " + std::to_string(queue) + " is in state " + qp_state_name(info->state) +
                     "; WQEBBs announced " + std::to_string(info->send_producer) + ", started " +
                     std::to_string(info->send_started) + ", completed " +
                     std::to_string(info->send_completed);
  const QpError& error = info->first_error;
  if (error.syndrome == format::Syndrome::none) return text;
  return text + "; first error: " + describe(error.syndrome) +
         (error.responder
              ? ", on the receiving side"
              : ", at WQE " + std::to_string(error.wqe_index) + ", " + opcode_name(error.opcode));
}

Result<std::unique_ptr<Backend>> open_on_wire(std::unique_ptr<Wire> wire) {
  Result<std::unique_ptr<Nic>> nic = Nic::open({}, std::make_unique<HostDma>(), std::move(wire));
  if (!nic) return nic.error();
  Result<PdNumber> pd = (*nic)->alloc_pd();
  if (!pd) return pd.error();
  return std::unique_ptr<Backend>(std::make_unique<SoftNicBackend>(std::move(*nic), *pd));
}

class LoopbackProvider final : public BackendProvider {
 public:
  Result<std::unique_ptr<Backend>> open(const Options&, Bootstrap& bootstrap) override {
    Result<std::unique_ptr<Wire>> wire = fabric_->attach(static_cast<Endpoint>(bootstrap.rank()));
    if (!wire) return wire.error();
    return open_on_wire(std::move(*wire));
  }

 private:
  std::shared_ptr<LoopbackFabric> fabric_ = LoopbackFabric::create();
};

// PE 0 makes the segment, whose path the others get by the bootstrap.
Result<std::shared_ptr<ShmSegment>> share_segment(Bootstrap& bootstrap) {
  std::shared_ptr<ShmSegment> own;
  std::string path;
  if (bootstrap.rank() == 0) {
    ShmOptions options;
    options.endpoints = static_cast<std::uint32_t>(bootstrap.size());
    Result<std::shared_ptr<ShmSegment>> made = ShmSegment::create(options);
    if (!made) return made;
    own = *made;
    path = own->path();
  }
  const auto* const first = reinterpret_cast<const std::byte*>(path.data());
  Result<Bytes> sent = bootstrap.broadcast(0, {first, path.size()});
  if (!sent) return sent.error();
  if (own != nullptr) return own;
  return ShmSegment::open({reinterpret_cast<const char*>(sent->data()), sent->size()});
}

class SharedMemoryProvider final : public BackendProvider {
 public:
  Result<std::unique_ptr<Backend>> open(const Options&, Bootstrap& bootstrap) override {
    Result<std::shared_ptr<ShmSegment>> segment = share_segment(bootstrap);
    if (!segment) return segment.error().within("shared-memory wire");
    auto wire = (*segment)->attach(static_cast<Endpoint>(bootstrap.rank()));
    if (!wire) return wire.error().within("shared-memory wire");
    // Nobody may send to an endpoint that is not attached yet.
    if (Result<void> met = bootstrap.barrier(); !met) return met.error();
    return open_on_wire(std::move(*wire));
  }
};

}  // namespace

std::unique_ptr<BackendProvider> make_loopback_provider() {
  return std::make_unique<LoopbackProvider>();
}

std::unique_ptr<BackendProvider> make_shared_memory_provider() {
  return std::make_unique<SharedMemoryProvider>();
}

}  // namespace gdakit::softnic
