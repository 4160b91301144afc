#include "tests/world/nic_rig.h"

#include <cstring>

#include "core/base/assert.h"
#include "core/format/doorbell.h"
#include "sim/explore/exhaustive.h"

namespace gdakit::sim::test {

std::set<std::string> outcomes(const std::function<std::string(Chooser&)>& execution) {
  ExhaustiveStrategy strategy;
  Chooser chooser(strategy);
  std::set<std::string> seen;
  while (chooser.begin()) {
    seen.insert(execution(chooser));
    chooser.end();
  }
  return seen;
}

std::string RigNames::place(weak::Address address) const {
  return place_name(rig_.space, rig_.layout, address);
}

std::string RigNames::agent(weak::AgentId agent) const {
  for (std::uint32_t pe = 0; pe < NicRig::kPes; ++pe) {
    if (agent == rig_.threads[pe]) return "thread of PE " + std::to_string(pe);
  }
  return "agent " + std::to_string(agent);
}

NicRig::NicRig(const Knobs& given) : knobs(given), memory(kPes * kBytes, names) {
  const auto add = [this](std::uint64_t begin, std::uint64_t bytes, RegionKind kind,
                          const char* name, Owner owner = Owner::gpu) {
    Region region;
    region.begin = begin;
    region.end = begin + bytes;
    region.kind = kind;
    region.name = name;
    region.owner = owner;
    layout.add(region);
  };
  add(kSlots, 0x200, RegionKind::slots, "queue 0");
  add(kCqe, 64, RegionKind::cqe, "queue 0");
  add(kRecord, 8, RegionKind::record, "queue 0");
  add(kSink, 8, RegionKind::sink, "queue 0");
  add(kSignal, 64, RegionKind::signal, "signals");
  add(kHeap, kHeapBytes, RegionKind::heap, "heap");
  add(kHost, 64, RegionKind::heap, "host memory", Owner::host);
}

PortPlace NicRig::port_place(std::uint32_t pe) const {
  return {pe, pe, nic_place(knobs, layout, pe, 100 + pe), pe, 3 + pe};
}

void NicRig::begin(Chooser& chosen, Trace* trace, bool bare) {
  for (auto& nic : nics) nic.reset();
  memory.begin({}, chosen, trace);
  for (std::uint32_t pe = 0; pe < kPes; ++pe) threads[pe] = memory.add_agent({pe, pe, false});
  stranger = memory.add_agent({2, 2, false});
  fabric = std::make_unique<SimFabric>(memory, chosen, knobs);
  if (bare) return;
  for (std::uint32_t pe = 0; pe < kPes; ++pe) {
    nics[pe] =
        std::make_unique<NicAgent>(memory, chosen, knobs, space, layout, *fabric, port_place(pe));
    make_objects(pe);
    producers[pe] = 0;
    std::uint8_t cqe[64];
    std::memset(cqe, format::kInvalidCqeByte, sizeof cqe);
    memory.initialize(model(pe, kCqe), cqe, sizeof cqe);
  }
  for (auto& nic : nics) nic->run_plainly(0);
}

void NicRig::make_objects(std::uint32_t pe) {
  softnic::Engine& engine = nics[pe]->engine();
  const softnic::PdNumber pd = *engine.alloc_pd();
  uar = *engine.alloc_uar(softnic::UarType::dense);
  softnic::MrAttributes mr;
  mr.pd = pd;
  mr.base = at(0);
  mr.start = mr.base.value;
  mr.length = kBytes;
  mr.access = softnic::Access::all;
  key = *engine.reg_mr(mr);
  softnic::CqAttributes cq;
  cq.entries = at(kCqe);
  cq.collapsed = cq.overrun_ignore = true;
  softnic::QpAttributes qp;
  qp.pd = pd;
  qp.send_cq = *engine.create_cq(cq);
  qp.uar = uar;
  qp.send_queue = at(kSlots);
  qp.log_send_wqebbs = kLogDepth;
  qp.doorbell_record = at(kRecord);
  qpn = *engine.create_qp(qp);
  softnic::QpModify modify;
  modify.access = softnic::Access::all;
  modify.path.endpoint = 1 - pe;
  modify.remote_qpn = qpn;
  modify.ack_timeout = knobs.wire_loss == YesNo::yes ? 1 : 0;
  for (const auto state : {softnic::QpState::init, softnic::QpState::rtr, softnic::QpState::rts}) {
    modify.state = state;
    const softnic::Outcome<> modified = engine.modify_qp(qpn, modify);
    GDAKIT_ASSERT(modified);
  }
  nics[pe]->watch(qpn, uar);
}

void NicRig::store(std::uint32_t pe, std::uint64_t offset, std::uint64_t value, weak::Sem sem) {
  memory.store(threads[pe], model(pe, offset), 8, value, {.sem = sem});
}

std::uint64_t NicRig::load(std::uint32_t pe, std::uint64_t offset, weak::Sem sem) {
  return memory.load(threads[pe], model(pe, offset), 8, {.sem = sem});
}

void NicRig::release(std::uint32_t pe, Scope scope) {
  memory.fence(threads[pe], weak::Sem::release, scope);
}

void NicRig::write_wqe(std::uint32_t pe, format::Opcode opcode, std::vector<format::Segment> body) {
  const std::uint64_t index = producers[pe]++;
  const auto ds = static_cast<std::uint32_t>(1 + body.size());
  const auto flags = format::fm_ce_se(format::FenceMode::none, format::Completion::always);
  body.insert(body.begin(), format::to_segment(format::control(
                                opcode, 0, static_cast<std::uint16_t>(index), qpn, ds, flags)));
  const std::uint64_t slot = kSlots + (index & ((1u << kLogDepth) - 1)) * format::kWqebbBytes;
  for (std::size_t i = 0; i < body.size(); ++i) {
    store(pe, slot + i * format::kSegmentBytes, body[i].low);
    store(pe, slot + i * format::kSegmentBytes + 8, body[i].high);
  }
}

void NicRig::store_record(std::uint32_t pe) {
  memory.store(threads[pe], model(pe, kRecord + 4), 4,
               format::doorbell_record_value(producers[pe]).raw(), {.sem = weak::Sem::relaxed});
}

void NicRig::ring(std::uint32_t pe, std::uint64_t producer) {
  nics[pe]->store_doorbell(threads[pe], uar, format::kUarDoorbellBegin,
                           format::doorbell_value(producer, qpn));
}

void NicRig::post(std::uint32_t pe, format::Opcode opcode, std::vector<format::Segment> body) {
  write_wqe(pe, opcode, std::move(body));
  release(pe);
  store_record(pe);
  release(pe);
  ring(pe);
}

format::Segment NicRig::remote(std::uint64_t offset) const {
  return format::to_segment(format::remote_address(at(offset).value, Be32{key}));
}

format::Segment NicRig::local(std::uint64_t offset, std::uint32_t bytes) const {
  return format::to_segment(format::data(at(offset).value, Be32{key}, bytes));
}

bool NicRig::has_work() const { return nics[0]->has_work(0) || nics[1]->has_work(0); }

void NicRig::run() {
  while (has_work()) {
    for (auto& nic : nics) {
      if (nic->has_work(0)) nic->go(0);
    }
  }
}

}  // namespace gdakit::sim::test
