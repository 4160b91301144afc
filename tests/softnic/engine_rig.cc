#include "tests/softnic/engine_rig.h"

#include "backends/softnic/engine/status_text.h"

namespace gdakit::softnic::test {
namespace {

std::unique_ptr<DmaPort> make_port(const RigOptions& options, int side) {
  return options.make_port ? options.make_port(side) : std::make_unique<HostDma>();
}

std::unique_ptr<Wire> make_wire(const RigOptions& options, LoopbackFabric& fabric, int side) {
  std::unique_ptr<Wire> wire = std::move(*fabric.attach());
  return options.wrap_wire ? options.wrap_wire(std::move(wire), side) : std::move(wire);
}

EngineOptions with_sink(EngineOptions options, EventSink* sink) {
  options.events = sink;
  return options;
}

constexpr std::uint32_t kPsnOfB = 0x800000;

}  // namespace

Side::Side(const RigOptions& given, std::unique_ptr<DmaPort> dma, std::unique_ptr<Wire> packets)
    : options(given),
      heap(given.heap),
      sq(format::kWqebbBytes << given.log_sq),
      rq(std::size_t{1} << (given.log_rq + given.log_rq_stride)),
      record(sizeof(format::DoorbellRecord)),
      send_cq(given.log_cq, given.collapsed, given.cqe_size),
      receive_cq(given.log_cq, false),
      port(std::move(dma)),
      wire(std::move(packets)),
      engine(with_sink(given.engine, given.listens ? &events : nullptr), *port, *wire) {
  pd = *engine.alloc_pd();
  uar = *engine.alloc_uar(options.uar_type);
  if (given.armable) arm_page = *engine.alloc_uar(UarType::registers);
  MrAttributes mr;
  mr.pd = pd;
  mr.base = host_address(heap.data());
  mr.start = mr.base.value;
  mr.length = heap.size();
  mr.access = given.mr_access;
  key = *engine.reg_mr(mr);
  CqAttributes cq;
  cq.entries = send_cq.address();
  cq.log_entries = given.log_cq;
  cq.cqe_size = given.cqe_size;
  cq.collapsed = given.collapsed;
  cq.uar = arm_page;
  cq.overrun_ignore = given.overrun_ignore;
  cq.doorbell_record = send_cq.record();
  send_cqn = *engine.create_cq(cq);
  cq.entries = receive_cq.address();
  cq.cqe_size = CqeSize::bytes_64;
  cq.collapsed = false;
  cq.doorbell_record = receive_cq.record();
  receive_cqn = *engine.create_cq(cq);
  QpAttributes qp;
  qp.service = given.service;
  qp.pd = pd;
  qp.send_cq = send_cqn;
  qp.receive_cq = receive_cqn;
  qp.uar = uar;
  qp.send_queue = host_address(sq.data());
  qp.log_send_wqebbs = given.log_sq;
  qp.has_receive_queue = given.has_rq;
  qp.receive_queue = host_address(rq.data());
  qp.log_receive_wqes = given.log_rq;
  qp.log_receive_stride = given.log_rq_stride;
  qp.doorbell_record = host_address(record.data());
  qp.user_index = 0xabcde;
  qpn = *engine.create_qp(qp);
}

std::uint64_t Side::post(const Wqe& wqe) {
  const std::uint64_t index = producer;
  const auto ds = wqe.ds.value_or(static_cast<std::uint32_t>(1 + wqe.body.size()));
  const format::ControlSegment control =
      format::control(wqe.opcode, wqe.opmod, wqe.index.value_or(static_cast<std::uint16_t>(index)),
                      wqe.qpn.value_or(qpn), ds,
                      format::fm_ce_se(wqe.fence, wqe.completion, wqe.solicited), Be32{wqe.imm});
  std::vector<format::Segment> segments = {format::to_segment(control)};
  segments.insert(segments.end(), wqe.body.begin(), wqe.body.end());
  const std::uint64_t slots = (sq.size() / format::kSegmentBytes) - 1;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::uint64_t slot = (index * format::kSegmentsPerWqebb + i) & slots;
    std::memcpy(sq.data() + slot * format::kSegmentBytes, &segments[i], format::kSegmentBytes);
  }
  producer += std::max(1u, format::wqebbs_of(ds));
  return index;
}

void Side::store_record() {
  const Be32 value = format::doorbell_record_value(producer);
  std::memcpy(record.data() + offsetof(format::DoorbellRecord, snd_dbr), &value, sizeof value);
}

void Side::ring() {
  store_record();
  engine.doorbell(uar, format::kUarDoorbellBegin, doorbell());
}

void Side::arm(CqReader& cq, CqNumber cqn, bool solicited_only) {
  const Be32 word = cq.store_arm(solicited_only);
  engine.doorbell(arm_page, format::kUarCqArm, format::cq_arm_value(word, cqn));
}

QpAttributes Side::another_qp(const Pages& doorbell_record) const {
  QpAttributes attributes;
  attributes.pd = pd;
  attributes.send_cq = send_cqn;
  attributes.uar = uar;
  attributes.send_queue = host_address(sq.data());
  attributes.doorbell_record = host_address(doorbell_record.data());
  return attributes;
}

void Side::post_receive(const std::vector<format::DataSegment>& segments) {
  const std::size_t stride = std::size_t{1} << options.log_rq_stride;
  const std::uint64_t mask = (std::uint64_t{1} << options.log_rq) - 1;
  std::uint8_t* wqe = rq.data() + (receive_producer & mask) * stride;
  std::vector<format::DataSegment> all = segments;
  if (all.size() * sizeof(format::DataSegment) < stride)
    all.push_back(format::data(0, Be32{0x100}, 0));
  std::memcpy(wqe, all.data(), all.size() * sizeof(format::DataSegment));
  ++receive_producer;
  const Be32 value = format::doorbell_record_value(receive_producer);
  std::memcpy(record.data() + offsetof(format::DoorbellRecord, rcv_dbr), &value, sizeof value);
}

std::optional<std::uint64_t> earliest_timer_ns(std::initializer_list<const Engine*> engines) {
  std::optional<std::uint64_t> earliest;
  for (const Engine* const engine : engines) {
    const auto timer = engine->next_timer_ns();
    if (timer) earliest = std::min(*timer, earliest.value_or(*timer));
  }
  return earliest;
}

EngineRig::EngineRig(const RigOptions& options)
    : fabric(LoopbackFabric::create(options.wire)),
      a(options, make_port(options, 0), make_wire(options, *fabric, 0)),
      b(options, make_port(options, 1), make_wire(options, *fabric, 1)) {
  QpModify limits = options.settings;
  limits.access = options.qp_access;
  connect(a, b, limits, options.send_psn, kPsnOfB);
  connect(b, a, limits, kPsnOfB, options.send_psn);
}

void EngineRig::connect(Side& side, const Side& peer, const QpModify& limits,
                        std::uint32_t send_psn, std::uint32_t receive_psn) {
  QpModify modify = limits;
  modify.path.endpoint = peer.wire->endpoint();
  modify.remote_qpn = peer.qpn;
  modify.next_send_psn = send_psn;
  modify.next_receive_psn = receive_psn;
  for (const QpState state : {QpState::init, QpState::rtr, QpState::rts}) {
    modify.state = state;
    const Outcome<> modified = side.engine.modify_qp(side.qpn, modify);
    ASSERT_TRUE(modified) << status_text(modified.status());
  }
}

bool EngineRig::step() {
  now_ns += 100;
  const bool worked = a.engine.step(now_ns);
  return b.engine.step(now_ns) || worked;
}

bool EngineRig::run(std::uint64_t limit) {
  // Idle for longer than a sweep takes.
  constexpr int kIdle = 300;
  for (int idle = 0; idle < kIdle && limit != 0; --limit) idle = step() ? 0 : idle + 1;
  return limit != 0;
}

bool EngineRig::run_until(const std::function<bool()>& done, std::uint64_t limit) {
  for (int idle = 0; limit != 0; --limit) {
    if (done()) return true;
    idle = step() ? 0 : idle + 1;
    if (idle < 300) continue;
    now_ns = std::max(now_ns, earliest_timer_ns({&a.engine, &b.engine}).value_or(now_ns));
    idle = 0;
  }
  return done();
}

Wqe write_wqe(const EngineRig& rig, std::size_t to, std::size_t from, std::uint32_t size) {
  Wqe wqe{.opcode = format::Opcode::rdma_write, .body = {rig.b.remote(to)}};
  if (size != 0) wqe.body.push_back(rig.a.data(from, size));
  return wqe;
}

Wqe read_wqe(const EngineRig& rig, std::size_t to, std::size_t from, std::uint32_t size) {
  Wqe wqe{.opcode = format::Opcode::rdma_read, .body = {rig.b.remote(from)}};
  if (size != 0) wqe.body.push_back(rig.a.data(to, size));
  return wqe;
}

std::vector<format::Segment> inline_segments(const std::vector<std::uint8_t>& bytes) {
  std::vector<format::Segment> segments((4 + bytes.size() + 15) / 16);
  const Be32 header{format::kInline | static_cast<std::uint32_t>(bytes.size())};
  auto* at = reinterpret_cast<std::uint8_t*>(segments.data());
  std::memcpy(at, &header, sizeof header);
  if (!bytes.empty()) std::memcpy(at + sizeof header, bytes.data(), bytes.size());
  return segments;
}

Wqe inline_write_wqe(const EngineRig& rig, std::size_t to, const std::vector<std::uint8_t>& bytes) {
  Wqe wqe{.opcode = format::Opcode::rdma_write, .body = {rig.b.remote(to)}};
  const auto segments = inline_segments(bytes);
  wqe.body.insert(wqe.body.end(), segments.begin(), segments.end());
  return wqe;
}

Wqe fetch_add_wqe(const EngineRig& rig, std::size_t result, std::size_t target, std::uint64_t add) {
  return Wqe{
      .opcode = format::Opcode::atomic_fa,
      .body = {rig.b.remote(target), format::to_segment(format::AtomicSegment{Be64{add}, Be64{0}}),
               rig.a.data(result, 8)}};
}

format::CqeOpcode opcode_of(const format::Cqe64& cqe) { return format::cqe_opcode(cqe.op_own); }

format::Syndrome syndrome_of(const format::Cqe64& cqe) {
  return static_cast<format::Syndrome>(bit_cast<format::ErrorCqe>(cqe).syndrome);
}

std::uint8_t vendor_of(const format::Cqe64& cqe) {
  return bit_cast<format::ErrorCqe>(cqe).vendor_err_synd;
}

void expect_fault(EngineRig& rig, const Wqe& bad, format::Syndrome syndrome,
                  std::optional<std::uint8_t> vendor) {
  std::memset(rig.b.heap.data(), 0x33, rig.b.heap.size());
  const std::vector<std::uint8_t> before(rig.b.heap.data() + 16,
                                         rig.b.heap.data() + rig.b.heap.size());
  rig.a.post(write_wqe(rig, 0, 0, 8));
  const std::uint64_t index = rig.a.post(bad);
  rig.a.post(write_wqe(rig, 8, 0, 8));
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  const auto cqes = rig.a.send_cq.poll_all();
  ASSERT_GE(cqes.size(), 3u);
  EXPECT_EQ(opcode_of(cqes[0]), format::CqeOpcode::requester);
  ASSERT_EQ(opcode_of(cqes[1]), format::CqeOpcode::requester_error);
  EXPECT_EQ(syndrome_of(cqes[1]), syndrome);
  EXPECT_EQ(cqes[1].wqe_counter, index);
  EXPECT_EQ(cqes[1].sop_drop_qpn, (static_cast<std::uint32_t>(bad.opcode) << 24) | rig.a.qpn);
  if (vendor) {
    EXPECT_EQ(vendor_of(cqes[1]), *vendor);
  }
  for (std::size_t i = 2; i < cqes.size(); ++i) {
    EXPECT_EQ(opcode_of(cqes[i]), format::CqeOpcode::requester_error);
    EXPECT_EQ(syndrome_of(cqes[i]), format::Syndrome::flushed);
  }
  EXPECT_EQ(std::memcmp(rig.b.heap.data() + 16, before.data(), before.size()), 0);
  const QpInfo info = rig.a.info();
  EXPECT_EQ(info.state, QpState::err);
  EXPECT_EQ(info.first_error.syndrome, syndrome);
  EXPECT_EQ(info.first_error.wqe_index, index);
  EXPECT_EQ(info.first_error.opcode, static_cast<std::uint8_t>(bad.opcode));
}

void fill(std::uint8_t* at, std::size_t size, std::uint32_t seed) {
  for (std::size_t i = 0; i < size; ++i) {
    seed = seed * 1664525 + 1013904223;
    at[i] = static_cast<std::uint8_t>(seed >> 24);
  }
}

}  // namespace gdakit::softnic::test
