// The queues of an execution, as NICs and threads get them.
#include <algorithm>

#include "core/base/bits.h"
#include "core/format/cq_doorbell.h"
#include "device/publication.h"
#include "sim/world/must.h"
#include "sim/world/world_run.h"

namespace gdakit::sim {

softnic::MemoryKey WorldRun::register_range(std::uint32_t pe, std::uint32_t nic,
                                            std::uint64_t begin, std::uint64_t end,
                                            softnic::Access access) {
  softnic::MrAttributes mr;
  mr.pd = pes[pe].pds[nic];
  mr.base = {world.space_.arena_base + begin};
  mr.start = mr.base.value;
  mr.length = end - begin;
  mr.access = access;
  return must(nics[number_of_nic(pe, nic)].engine().reg_mr(mr));
}

// Each chunk with a key of its own, and behind them room for one more.
void WorldRun::register_heap(std::uint32_t pe, std::uint32_t nic) {
  // So that a key of one NIC is of no use at another one.
  for (std::uint32_t i = 0; i < pe * world.options_.nics + nic; ++i) {
    register_range(pe, nic, world.heap_, world.heap_ + 1, softnic::Access::none);
  }
  std::uint64_t begin = world.heap_;
  for (std::size_t i = 0; i <= world.borders_.size(); ++i) {
    const std::uint64_t end = i < world.borders_.size() ? world.borders_[i] : world.used_;
    const softnic::MemoryKey key = register_range(pe, nic, begin, end, softnic::Access::all);
    show_chunk(pe, begin, end, Be32{key});
    begin = end;
  }
  pes[pe].chunks.push_back({});
}

// Of a heap that is checked the objects alone are shown, cut where the chunks are.
void WorldRun::show_chunk(std::uint32_t pe, std::uint64_t begin, std::uint64_t end, Be32 key) {
  const std::uint64_t arena = world.space_.arena_base;
  std::vector<LocalRange>& chunks = pes[pe].chunks;
  if (!world.options_.check_memory) return chunks.push_back({arena + begin, arena + end, key});
  for (const World::Extent& object : world.objects_) {
    const std::uint64_t from = std::max(object.begin, begin);
    const std::uint64_t to = std::min(object.end, end);
    if (from < to) chunks.push_back({arena + from, arena + to, key});
  }
}

void WorldRun::register_local_buffers(std::uint32_t pe, std::uint32_t nic) {
  for (std::uint32_t i = 0; i < world.options_.local_buffers; ++i) {
    const std::uint64_t begin = world.local_ + i * kLocalBufferBytes;
    const std::uint64_t end = begin + kLocalBufferBytes;
    const softnic::MemoryKey key = register_range(
        pe, nic, begin, end, softnic::Access::local_read | softnic::Access::local_write);
    const std::uint64_t arena = world.space_.arena_base;
    pes[pe].local_ranges.push_back({arena + begin, arena + end, Be32{key}});
  }
}

void WorldRun::make_queues(std::uint32_t pe) {
  SimPe& self = pes[pe];
  for (std::uint32_t nic = 0; nic < world.options_.nics; ++nic) {
    softnic::Engine& engine = nics[number_of_nic(pe, nic)].engine();
    self.pds.push_back(must(engine.alloc_pd()));
    self.uars.push_back({nic, must(engine.alloc_uar(softnic::UarType::dense))});
    register_heap(pe, nic);
    register_local_buffers(pe, nic);
    if (world.options_.dc_queues != 0) make_target(pe, nic);
  }
  for (std::uint32_t number = 0; number < world.queues_.size(); ++number) {
    const std::uint32_t home = world.home_of(number);
    if (world.has_qp(pe, number)) {
      make_queue(pe, number);
    } else if (home != number) {
      self.qpns.push_back(self.qpns[home]);
      self.views.push_back(self.views[home]);
      self.views.back().peer = static_cast<std::int32_t>(number % world.options_.pes);
    } else {
      self.qpns.push_back(0);
      self.views.push_back({});
    }
  }
}

void WorldRun::make_queue(std::uint32_t pe, std::uint32_t number) {
  using softnic::Access;
  const std::uint32_t nic = world.nic_of(number);
  softnic::Engine& engine = nic_of(pe, number).engine();
  SimPe& self = pes[pe];
  const World::QueueOffsets& at = world.queues_[number];
  const auto address = [&](std::uint64_t offset) {
    return softnic::DmaAddress{world.space_.arena_base + offset};
  };
  QueueView view = make_view(number);
  const softnic::MemoryKey key = register_range(pe, nic, at.fetch, at.sink + sizeof(std::uint64_t),
                                                Access::local_read | Access::local_write);
  view.fetch_lkey = view.sink_lkey = Be32{key};
  softnic::CqAttributes cq;
  cq.entries = address(at.cqe);
  cq.collapsed = cq.overrun_ignore = true;
  softnic::QpAttributes qp;
  if (world.is_dc(number)) qp.service = softnic::ServiceType::dc;
  qp.pd = self.pds[nic];
  qp.send_cq = qp.receive_cq = must(engine.create_cq(cq));
  qp.uar = self.uars[nic].uar;
  qp.send_queue = address(at.slots);
  qp.log_send_wqebbs = static_cast<std::uint32_t>(log2_floor(world.options_.depth));
  qp.doorbell_record = address(at.record);
  if (world.is_channel(number)) make_receive_queue(pe, number, qp);
  if (world.is_recordless(number)) {
    view.recordless = qp.no_send_record = true;
    view.doorbell = reinterpret_cast<std::uint64_t*>(
        address(world.doorbells_ + self.uars.size() * format::kUarPageBytes +
                format::kUarNoRecordDoorbell)
            .value);
    qp.uar = must(engine.alloc_uar(softnic::UarType::registers));
    self.uars.push_back({nic, qp.uar});
  }
  const softnic::QpNumber qpn = must(engine.create_qp(qp));
  view.qpn_shifted = Be32{qpn << 8};
  self.qpns.push_back(qpn);
  self.views.push_back(device_view(number, view));
  if (!proxies.empty()) proxies[pe].watch(ProxiedQueue::of(self.views.back(), view));
  if (!qp.no_send_record) nic_of(pe, number).watch(qpn, qp.uar);
}

// Its queues have no WQE and get no CQE.
void WorldRun::make_target(std::uint32_t pe, std::uint32_t nic) {
  const std::uint32_t endpoint = number_of_nic(pe, nic);
  softnic::Engine& engine = nics[endpoint].engine();
  const softnic::PdNumber pd = pes[pe].pds[nic];
  const std::uint64_t at = world.space_.arena_base + world.target_ + nic * kTargetBytes;
  softnic::CqAttributes cq;
  cq.entries = {at};
  cq.overrun_ignore = true;
  softnic::SrqAttributes srq;
  srq.pd = pd;
  srq.wqes = {at + kRegionAlignment};
  srq.doorbell_record = {at + 2 * kRegionAlignment};
  softnic::DctAttributes target;
  target.pd = pd;
  target.cq = must(engine.create_cq(cq));
  target.srq = must(engine.create_srq(srq));
  target.access_key = 1 + pe;
  target.access = softnic::Access::all;
  pes[pe].own_targets.push_back({target.access_key, endpoint, must(engine.create_dct(target))});
}

// Lets the PE's queues of DC know where all targets are.
void WorldRun::show_targets(std::uint32_t pe) {
  SimPe& self = pes[pe];
  const std::uint32_t n = world.options_.pes;
  for (std::uint32_t i = 0; i < world.options_.nics * n; ++i) {
    self.targets.push_back(softnic::address_of_target(pes[i % n].own_targets[i / n]));
  }
  for (std::uint32_t number = 0; number < self.views.size(); ++number) {
    if (!world.is_dc(number)) continue;
    const format::AvSegment& to = self.targets[world.nic_of(number) * n + number % n];
    self.views[number].address = reinterpret_cast<const format::Segment*>(&to);
  }
}

void WorldRun::make_receive_queue(std::uint32_t pe, std::uint32_t number,
                                  softnic::QpAttributes& qp) {
  const World::QueueOffsets& at = world.queues_[number];
  const std::uint32_t depth = world.options_.receive_depth;
  const std::uint64_t arena = world.space_.arena_base;
  softnic::CqAttributes cq;
  cq.entries = {arena + at.receive_cqes};
  cq.log_entries = static_cast<std::uint32_t>(log2_floor(depth));
  cq.overrun_ignore = true;
  qp.receive_cq = must(nic_of(pe, number).engine().create_cq(cq));
  qp.has_receive_queue = true;
  qp.receive_queue = {arena + at.receives};
  qp.log_receive_wqes = cq.log_entries;
  qp.log_receive_stride = static_cast<std::uint32_t>(log2_floor(kReceiveWqeBytes));
  ReceiveView view{};
  view.slots = reinterpret_cast<format::Segment*>(arena + at.receives);
  view.cqes = reinterpret_cast<std::uint64_t*>(arena + at.receive_cqes);
  view.record = reinterpret_cast<std::uint32_t*>(arena + at.record) +
                offsetof(format::DoorbellRecord, rcv_dbr) / 4;
  view.state = reinterpret_cast<ReceiveState*>(arena + at.receive_state);
  view.depth = depth;
  pes[pe].receives.push_back(view);
}

QueueView WorldRun::make_view(std::uint32_t number) {
  const World::QueueOffsets& at = world.queues_[number];
  const auto words = [&](std::uint64_t offset) {
    return reinterpret_cast<std::uint64_t*>(world.space_.arena_base + offset);
  };
  QueueView view{};
  view.slots = reinterpret_cast<format::Segment*>(words(at.slots));
  view.depth = world.options_.depth;
  view.record = reinterpret_cast<std::uint32_t*>(words(at.record)) +
                offsetof(format::DoorbellRecord, snd_dbr) / 4;
  view.doorbell =
      words(world.doorbells_ + world.nic_of(number) * format::kUarPageBytes +
            format::kUarDoorbellBegin + number % format::kDoorbellsPerUar * sizeof(std::uint64_t));
  view.cqe = words(at.cqe);
  view.ready = words(at.ready);
  view.state = reinterpret_cast<QueueState*>(words(at.state));
  view.fetch_slots = reinterpret_cast<FetchSlot*>(words(at.fetch));
  view.fetch_count = world.options_.fetch_slots;
  view.sink = words(at.sink);
  view.peer = static_cast<std::int32_t>(number % world.options_.pes);
  const bool is_channel = world.is_channel(number);
  const bool is_shared = is_channel || number / world.options_.pes < world.options_.queues;
  view.handler = world.options_.handler;
  if (is_channel && view.handler == Handler::commands) view.handler = Handler::proxy;
  view.sharing = is_shared ? Sharing::shared : Sharing::exclusive;
  return view;
}

QueueView WorldRun::device_view(std::uint32_t number, QueueView view) {
  const World::QueueOffsets& at = world.queues_[number];
  const std::uint64_t arena = world.space_.arena_base;
  if (view.handler != Handler::gpu) {
    view.doorbell = reinterpret_cast<std::uint64_t*>(arena + at.proxy);
  }
  if (view.handler != Handler::commands) return view;
  view.slots = reinterpret_cast<format::Segment*>(arena + at.commands);
  view.cqe = reinterpret_cast<std::uint64_t*>(arena + at.passed_on);
  return view;
}

void WorldRun::connect(std::uint32_t pe) {
  const std::uint32_t n = world.options_.pes;
  for (std::uint32_t number = 0; number < world.queues_.size(); ++number) {
    if (!world.has_qp(pe, number)) continue;
    const std::uint32_t peer = number % n;
    softnic::QpModify modify;
    modify.access = softnic::Access::remote_read | softnic::Access::remote_write |
                    softnic::Access::remote_atomic;
    if (!world.is_dc(number)) {
      modify.path.endpoint = number_of_nic(peer, world.nic_of(number));
      modify.remote_qpn = pes[peer].qpns[number / n * n + pe];
    }
    // Nothing is lost unless a knob says so, and then time passes only when nothing else happens.
    modify.ack_timeout = knobs.wire_loss == YesNo::yes ? 18 : 0;
    modify.send_wqebb_counter = world.options_.start_index;
    for (const auto state :
         {softnic::QpState::init, softnic::QpState::rtr, softnic::QpState::rts}) {
      modify.state = state;
      must(nic_of(pe, number).engine().modify_qp(pes[pe].qpns[number], modify));
    }
  }
}

}  // namespace gdakit::sim
