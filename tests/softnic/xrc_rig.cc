#include "tests/softnic/xrc_rig.h"

namespace gdakit::softnic::test {
namespace {

constexpr std::uint32_t kPsn = 0x123;

RigOptions with_short_timer(RigOptions options) {
  options.settings.ack_timeout = 8;  // about a millisecond
  return options;
}

}  // namespace

XrcQueue::XrcQueue(Side& side, XrcdNumber domain, std::uint32_t user_index, bool own_pd)
    : pd(side.pd), key(side.key), side_(side) {
  Engine& engine = side.engine;
  if (own_pd) {
    pd = *engine.alloc_pd();
    MrAttributes mr;
    mr.pd = pd;
    mr.base = host_address(side.heap.data());
    mr.start = mr.base.value;
    mr.length = side.heap.size();
    mr.access = Access::all;
    key = *engine.reg_mr(mr);
  }
  CqAttributes of_cq;
  of_cq.entries = cq.address();
  of_cq.log_entries = cq.log_entries();
  of_cq.doorbell_record = cq.record();
  cqn = *engine.create_cq(of_cq);
  SrqAttributes attributes = client.attributes(pd);
  attributes.xrc = {domain, cqn, user_index};
  number = *engine.create_srq(attributes);
}

XrcRig::XrcRig(const XrcRigOptions& options)
    : rig(with_short_timer(options.rig)), limits_(with_short_timer(options.rig).settings) {
  limits_.access = options.rig.qp_access;
  domain = *rig.b.engine.alloc_xrcd();
  for (std::size_t i = 0; i < options.queues; ++i) {
    const auto user_index = kUserIndex + static_cast<std::uint32_t>(i);
    queues.push_back(
        std::make_unique<XrcQueue>(rig.b, domain, user_index, options.own_pd && i != 0));
  }
  for (Side* const side : {&rig.a, &rig.b}) {
    EXPECT_TRUE(side->engine.destroy_qp(side->qpn));
  }
  QpAttributes initiator = rig.a.another_qp(rig.a.record);
  initiator.service = ServiceType::xrc;
  initiator.log_send_wqebbs = rig.a.options.log_sq;
  initiator.user_index = 0xabcde;
  rig.a.qpn = *rig.a.engine.create_qp(initiator);
  QpAttributes target;
  target.service = ServiceType::xrc;
  target.xrc_domain = domain;
  rig.b.qpn = *rig.b.engine.create_qp(target);
  connect();
}

void XrcRig::connect() {
  for (Side* const side : {&rig.a, &rig.b}) {
    ASSERT_TRUE(side->engine.modify_qp(side->qpn, {.state = QpState::reset}));
  }
  rig.a.producer = 0;
  rig.a.store_record();
  EngineRig::connect(rig.a, rig.b, limits_, kPsn, 0);
  EngineRig::connect(rig.b, rig.a, limits_, 0, kPsn);
}

Wqe XrcRig::send_wqe(std::size_t from, std::uint32_t size, format::Opcode opcode,
                     std::uint32_t imm) const {
  Wqe wqe{.opcode = opcode, .imm = imm};
  if (size != 0) wqe.body = {rig.a.data(from, size)};
  return wqe;
}

void XrcRig::post_for(SrqNumber srq, Wqe wqe) {
  wqe.body.insert(wqe.body.begin(), format::to_segment(format::XrcSegment{Be32{srq}, {}}));
  rig.a.post(wqe);
  rig.a.ring();
}

format::Syndrome XrcRig::next_sent() {
  std::optional<format::Cqe64> cqe;
  EXPECT_TRUE(rig.run_until([&] { return cqe || (cqe = rig.a.send_cq.poll()); }));
  if (!cqe || opcode_of(*cqe) == format::CqeOpcode::requester) return format::Syndrome::none;
  return syndrome_of(*cqe);
}

void XrcRig::begin_message(std::size_t queue, std::uint32_t size) {
  const std::uint64_t before = rig.b.engine.counters().bytes_received;
  post(queue, send_wqe(0, size));
  ASSERT_TRUE(rig.run_until([&] { return rig.b.engine.counters().bytes_received != before; }));
  ASSERT_LT(rig.b.engine.counters().bytes_received - before, size);
}

}  // namespace gdakit::softnic::test
