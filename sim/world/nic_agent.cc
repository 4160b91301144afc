#include "sim/world/nic_agent.h"

#include <limits>

#include "core/base/assert.h"
#include "core/base/bits.h"
#include "core/format/cq_doorbell.h"
#include "core/format/doorbell.h"

namespace gdakit::sim {
namespace {

// Much more than a run's steps take, and less than a NIC's timers.
constexpr std::uint64_t kLongNs = 5'000;

softnic::EngineOptions engine_options(const Knobs& knobs, softnic::AddressResolver* addresses) {
  softnic::EngineOptions options;
  options.addresses = addresses;
  options.window = 16;
  options.payload_buffers = 4;
  options.record_after_doorbell = knobs.record_read != RecordRead::never;
  // Small steps: others may act in between.
  options.packets_per_step = 1;
  options.queues_per_step = std::numeric_limits<std::uint32_t>::max();
  // No sweeps.
  options.sweep_idle_steps = options.sweep_busy_steps = std::numeric_limits<std::uint32_t>::max();
  return options;
}

}  // namespace

NicAgent::NicAgent(weak::Memory& memory, Chooser& chooser, const Knobs& knobs,
                   const AddressSpace& space, const Layout& layout, SimFabric& fabric,
                   const PortPlace& place, softnic::AddressResolver* addresses)
    : memory_(memory),
      chooser_(chooser),
      knobs_(knobs),
      port_(memory, chooser, knobs, space, layout, place),
      wire_(fabric, place.endpoint, port_.agent(), place.lane),
      doorbells_(memory, chooser, knobs, port_.agent(), place.lane),
      engine_(engine_options(knobs, addresses), port_, wire_) {
  port_.place_after(wire_.sender_knew());
}

NicAgent::~NicAgent() {
  // The engine waits for what is pending; nobody performs it any more.
  port_.abandon();
}

void NicAgent::watch(softnic::QpNumber qpn, softnic::UarNumber uar) {
  watched_.push_back({qpn, uar, 0});
  news_ = true;
}

// In the plain order: what is under way is finished before something new is begun.
NicAgent::WorkList NicAgent::possible(std::uint64_t now_ns) const {
  WorkList list;
  const auto add = [&list](bool may, Work work) {
    if (may) list.items[list.count++] = work;
  };
  add(port_.pending(), Work::dma);
  add(engine_ready(now_ns), Work::engine);
  add(doorbells_.deliverable() != 0, Work::doorbell);
  add(may_look(), Work::look);
  return list;
}

void NicAgent::go(std::uint64_t now_ns) {
  if (now_ns - went_ns_ > kLongNs) settled_version_ = memory_.version();
  went_ns_ = now_ns;
  port_.read_newest(memory_.version() == settled_version_);
  const WorkList list = possible(now_ns);
  GDAKIT_ASSERT(list.count != 0);
  switch (list.items[chooser_.choose(Choice::delivery, list.count)]) {
    case Work::dma: port_.advance(); return;
    case Work::engine: step(now_ns); return;
    case Work::doorbell: deliver(); return;
    case Work::look: look_somewhere(); return;
  }
}

void NicAgent::step(std::uint64_t now_ns) {
  seen_arrivals_ = wire_.arrivals();
  seen_completions_ = port_.completions();
  const bool worked = engine_.step(now_ns);
  // What waits for no DMA can go on at once: a record to be read again, for instance.
  news_ = worked || (engine_.waiting() && !port_.pending());
}

void NicAgent::ring(Doorbells::Arrived doorbell) {
  const bool has_record = doorbell.offset != format::kUarNoRecordDoorbell;
  if (has_record && knobs_.doorbell_producer == DoorbellProducer::record) {
    // What it says is known already: the engine reads the record and goes by that.
    const softnic::QpNumber qpn = byte_swap(static_cast<std::uint32_t>(doorbell.value >> 32)) >> 8;
    const auto info = engine_.query_qp(qpn);
    if (info) doorbell.value = format::doorbell_value(info->send_producer, qpn);
  }
  engine_.doorbell(doorbell.uar, doorbell.offset, doorbell.value);
  news_ = true;
}

void NicAgent::deliver() {
  const std::uint32_t picked = chooser_.choose(Choice::delivery, doorbells_.deliverable());
  const auto arrived = doorbells_.deliver(picked);
  if (arrived) ring(*arrived);
}

void NicAgent::look_somewhere() {
  std::uint32_t count = 0;
  for (const Watched& watched : watched_) count += may_look(watched) ? 1 : 0;
  std::uint32_t picked = chooser_.choose(Choice::delivery, count);
  for (Watched& watched : watched_) {
    if (!may_look(watched) || picked-- != 0) continue;
    look(watched);
    return;
  }
}

void NicAgent::look(Watched& watched) {
  watched.looked_at = memory_.version();
  const auto info = engine_.query_qp(watched.qpn);
  if (!info) return;
  ring({watched.uar, format::kUarDoorbellBegin,
        format::doorbell_value(info->send_producer, watched.qpn)});
}

// WQEBBs that the engine knows to be announced, over all queues.
std::uint64_t NicAgent::announced() const {
  std::uint64_t sum = 0;
  for (const Watched& watched : watched_) {
    const auto info = engine_.query_qp(watched.qpn);
    if (info) sum += info->send_producer;
  }
  return sum;
}

bool NicAgent::idle_turn(std::uint64_t now_ns) {
  const bool may_look_again =
      knobs_.record_read == RecordRead::early || knobs_.record_read == RecordRead::recovery;
  if (!may_look_again || watched_.empty()) return false;
  const std::uint64_t before = announced();
  for (Watched& watched : watched_) look(watched);
  step(now_ns);
  port_.finish();
  step(now_ns);
  return announced() != before || has_work(now_ns);
}

bool NicAgent::run_plainly(std::uint64_t now_ns) {
  bool worked = false;
  for (; has_work(now_ns); worked = true) {
    if (port_.pending()) {
      port_.finish();
    } else if (engine_ready(now_ns)) {
      step(now_ns);
    } else {
      const auto arrived = doorbells_.deliver(0, /*surely=*/true);
      if (arrived) ring(*arrived);
    }
  }
  return worked;
}

}  // namespace gdakit::sim
