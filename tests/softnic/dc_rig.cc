#include "tests/softnic/dc_rig.h"

namespace gdakit::softnic::test {
namespace {

RigOptions with_addresses(const DcRigOptions& options, Addresses& addresses) {
  RigOptions rig = options.rig;
  rig.engine.addresses = &addresses;
  rig.settings.ack_timeout = options.ack_timeout;
  return rig;
}

}  // namespace

std::vector<format::Segment> dc_av(const PortAddress& to, DctNumber dct, std::uint64_t key,
                                   bool is_long) {
  format::AvSegment av{};
  format::set_dc_key(av, key);
  av.dqp_dct = Be32{dct | (is_long ? format::kExtendedAv : 0)};
  av.stat_rate_sl = 3;
  av.rlid = Be16{to.lid};
  std::memcpy(av.rgid, to.gid.data(), sizeof av.rgid);
  std::vector<format::Segment> segments((is_long ? sizeof av : format::kShortAvBytes) /
                                        format::kSegmentBytes);
  std::memcpy(segments.data(), &av, segments.size() * format::kSegmentBytes);
  return segments;
}

DcRig::DcRig(const DcRigOptions& options)
    : WithAddresses{Addresses(options.addresses)},
      srq(SrqForm::list, options.log_srq, 5),
      rig(with_addresses(options, addresses)),
      options_(options) {
  srqn = *rig.b.engine.create_srq(srq.attributes(rig.b.pd));
  for (std::size_t i = 0; i < options.targets; ++i) {
    targets.push_back(*rig.b.engine.create_dct(target(i)));
  }
  for (std::size_t i = 0; i < options.initiators; ++i) {
    initiators.push_back(std::make_unique<Initiator>());
    make_initiator(*initiators.back());
  }
}

DctAttributes DcRig::target(std::size_t index) const {
  DctAttributes attributes;
  attributes.pd = rig.b.pd;
  attributes.cq = rig.b.receive_cqn;
  attributes.srq = srqn;
  attributes.user_index = kUserIndex + static_cast<std::uint32_t>(index);
  attributes.access_key = kDcKey;
  attributes.access = options_.access;
  return attributes;
}

void DcRig::make_initiator(Initiator& initiator) {
  CqAttributes cq;
  cq.entries = initiator.cq.address();
  cq.log_entries = initiator.cq.log_entries();
  cq.doorbell_record = initiator.cq.record();
  initiator.cqn = *rig.a.engine.create_cq(cq);
  QpAttributes attributes = rig.a.another_qp(initiator.record);
  attributes.service = ServiceType::dc;
  attributes.send_cq = initiator.cqn;
  attributes.send_queue = host_address(initiator.sq.data());
  attributes.log_send_wqebbs = kLogSq;
  initiator.qpn = *rig.a.engine.create_qp(attributes);
  connect(initiator);
}

void DcRig::connect(Initiator& initiator) {
  QpModify modify = with_addresses(options_, addresses).settings;
  for (const QpState state : {QpState::reset, QpState::init, QpState::rtr, QpState::rts}) {
    modify.state = state;
    ASSERT_TRUE(rig.a.engine.modify_qp(initiator.qpn, modify));
  }
  initiator.producer = 0;
  std::memset(initiator.record.data(), 0, initiator.record.size());
}

Wqe DcRig::send_wqe(std::size_t from, std::uint32_t size, format::Opcode opcode,
                    std::uint32_t imm) const {
  Wqe wqe{.opcode = opcode, .imm = imm};
  if (size != 0) wqe.body = {rig.a.data(from, size)};
  return wqe;
}

void DcRig::send_to(std::size_t initiator, DctNumber dct, Wqe wqe, std::uint64_t key) {
  const bool is_long = options_.addresses != AddressKind::infiniband;
  const auto av = dc_av(addresses.address_of(rig.b.wire->endpoint()), dct, key, is_long);
  wqe.body.insert(wqe.body.begin(), av.begin(), av.end());
  post(initiator, wqe);
}

void DcRig::post(std::size_t index, const Wqe& wqe) {
  Initiator& initiator = *initiators[index];
  const auto ds = wqe.ds.value_or(static_cast<std::uint32_t>(1 + wqe.body.size()));
  std::vector<format::Segment> segments = {format::to_segment(format::control(
      wqe.opcode, wqe.opmod, static_cast<std::uint16_t>(initiator.producer), initiator.qpn, ds,
      format::fm_ce_se(wqe.fence, wqe.completion, wqe.solicited), Be32{wqe.imm}))};
  segments.insert(segments.end(), wqe.body.begin(), wqe.body.end());
  const std::uint64_t mask = initiator.sq.size() / format::kSegmentBytes - 1;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::uint64_t slot = (initiator.producer * format::kSegmentsPerWqebb + i) & mask;
    std::memcpy(initiator.sq.data() + slot * format::kSegmentBytes, &segments[i],
                format::kSegmentBytes);
  }
  initiator.producer += format::wqebbs_of(ds);
  const Be32 value = format::doorbell_record_value(initiator.producer);
  std::memcpy(initiator.record.data() + offsetof(format::DoorbellRecord, snd_dbr), &value,
              sizeof value);
  rig.a.engine.doorbell(rig.a.uar, format::kUarDoorbellBegin,
                        format::doorbell_value(initiator.producer, initiator.qpn));
}

std::size_t DcRig::succeeded(std::size_t initiator) {
  std::size_t count = 0;
  while (const auto cqe = initiators[initiator]->cq.poll()) {
    const bool failed = opcode_of(*cqe) != format::CqeOpcode::requester;
    EXPECT_FALSE(failed) << "syndrome " << static_cast<int>(syndrome_of(*cqe));
    ++count;
  }
  return count;
}

format::Syndrome DcRig::next(std::size_t initiator) {
  std::optional<format::Cqe64> cqe;
  EXPECT_TRUE(rig.run_until([&] { return cqe || (cqe = initiators[initiator]->cq.poll()); }));
  if (!cqe || opcode_of(*cqe) == format::CqeOpcode::requester) return format::Syndrome::none;
  return syndrome_of(*cqe);
}

bool DcRig::drain(std::size_t target) {
  Engine& engine = rig.b.engine;
  EXPECT_TRUE(engine.drain_dct(targets[target]));
  return rig.run_until(
      [&] { return engine.query_dct(targets[target])->state == DctState::drained; });
}

}  // namespace gdakit::softnic::test
