#include "tests/softnic/srq_rig.h"

#include <gmock/gmock.h>

#include "backends/softnic/engine/status_text.h"

namespace gdakit::softnic::test {
namespace {

constexpr std::uint32_t kEndOfList = 0x100;

}  // namespace

SrqClient::SrqClient(SrqForm form, std::uint32_t log_wqes, std::uint32_t log_stride)
    : form_(form),
      log_wqes_(log_wqes),
      log_stride_(log_stride),
      wqes_(std::size_t{1} << (log_wqes + log_stride)),
      tail_(static_cast<std::uint16_t>((1u << log_wqes) - 1)) {
  for (std::uint16_t i = 0; form != SrqForm::basic_cyclic && i < tail_; ++i) {
    store_next(i, static_cast<std::uint16_t>(i + 1));
  }
}

SrqAttributes SrqClient::attributes(PdNumber pd) const {
  return {.pd = pd,
          .form = form_,
          .wqes = host_address(wqes_.data()),
          .log_wqes = log_wqes_,
          .log_stride = log_stride_,
          .doorbell_record = record()};
}

void SrqClient::store_next(std::uint16_t index, std::uint16_t next) {
  format::SrqNextSegment link{};
  link.next_wqe_index = Be16{next};
  std::memcpy(at(index), &link, sizeof link);
}

std::uint16_t SrqClient::next_of(std::uint16_t index) const {
  format::SrqNextSegment link;
  std::memcpy(&link, at(index), sizeof link);
  return link.next_wqe_index;
}

std::uint16_t SrqClient::post(const std::vector<format::DataSegment>& segments) {
  const bool is_list = form_ == SrqForm::list;
  const auto counter = static_cast<std::uint16_t>(posted_);
  const auto slot = static_cast<std::uint16_t>(posted_ & ((1u << log_wqes_) - 1));
  const std::uint16_t index = is_list ? head_ : slot;
  const std::size_t begin = form_ == SrqForm::basic_cyclic ? 0 : sizeof(format::SrqNextSegment);
  std::vector<format::DataSegment> all = segments;
  const std::size_t most = ((std::size_t{1} << log_stride_) - begin) / sizeof(all[0]);
  if (all.size() < most) all.push_back(format::data(0, Be32{kEndOfList}, 0));
  std::memcpy(at(index) + begin, all.data(), all.size() * sizeof(all[0]));
  if (is_list) head_ = next_of(index);
  const Be32 value{static_cast<std::uint16_t>(++posted_)};
  std::memcpy(record_.data(), &value, sizeof value);
  return is_list ? index : counter;
}

void SrqClient::free(std::uint16_t index) {
  store_next(tail_, index);
  tail_ = index;
}

SrqRig::SrqRig(const SrqRigOptions& options)
    : srq(options.form, options.log_wqes, options.log_stride),
      rig(options.rig),
      pd(rig.b.pd),
      key(rig.b.key),
      options_(options.rig) {
  Engine& engine = rig.b.engine;
  if (options.own_pd) {
    pd = *engine.alloc_pd();
    MrAttributes mr;
    mr.pd = pd;
    mr.base = host_address(rig.b.heap.data());
    mr.start = mr.base.value;
    mr.length = rig.b.heap.size();
    mr.access = Access::all;
    key = *engine.reg_mr(mr);
  }
  srqn = *engine.create_srq(srq.attributes(pd));
  for (std::uint32_t i = 0; i < options.pairs; ++i) {
    pairs.push_back(std::make_unique<Pair>());
    make_sender(*pairs.back());
    make_receiver(*pairs.back(), kUserIndex + i);
    connect(i);
  }
}

void SrqRig::make_sender(Pair& pair) {
  QpAttributes from = rig.a.another_qp(pair.record);
  from.service = options_.service;
  from.send_queue = host_address(pair.sq.data());
  from.log_send_wqebbs = Pair::kLogSq;
  pair.from = *rig.a.engine.create_qp(from);
}

void SrqRig::make_receiver(Pair& pair, std::uint32_t user_index) {
  QpAttributes to = rig.b.another_qp(pair.unused_record);
  to.service = options_.service;
  to.send_queue = host_address(pair.unused_sq.data());
  to.srq = srqn;
  to.receive_cq = rig.b.receive_cqn;
  to.user_index = user_index;
  pair.to = *rig.b.engine.create_qp(to);
}

void SrqRig::remake(std::size_t pair) {
  ASSERT_TRUE(rig.b.engine.destroy_qp(pairs[pair]->to));
  make_receiver(*pairs[pair], kUserIndex + static_cast<std::uint32_t>(pair));
}

void SrqRig::connect(std::size_t pair) {
  const auto way = [&](Side& side, QpNumber qpn, const Side& peer, QpNumber remote) {
    QpModify modify = options_.settings;
    modify.access = Access::all;
    modify.path.endpoint = peer.wire->endpoint();
    modify.remote_qpn = remote;
    for (const QpState state : {QpState::reset, QpState::init, QpState::rtr, QpState::rts}) {
      modify.state = state;
      const Outcome<> modified = side.engine.modify_qp(qpn, modify);
      ASSERT_TRUE(modified) << status_text(modified.status());
    }
  };
  pairs[pair]->producer = 0;
  std::memset(pairs[pair]->record.data(), 0, pairs[pair]->record.size());
  way(rig.a, pairs[pair]->from, rig.b, pairs[pair]->to);
  way(rig.b, pairs[pair]->to, rig.a, pairs[pair]->from);
}

void SrqRig::modify(std::size_t pair, QpState state) {
  QpModify modify;
  modify.state = state;
  ASSERT_TRUE(rig.b.engine.modify_qp(pairs[pair]->to, modify));
}

void SrqRig::send(std::size_t pair, std::size_t from, std::uint32_t size, format::Opcode opcode,
                  std::uint32_t imm) {
  Pair& p = *pairs[pair];
  const bool is_write = opcode == format::Opcode::rdma_write_imm;
  std::vector<format::Segment> segments = {format::to_segment(format::control(
      opcode, 0, format::wire_index(p.producer), p.from, (is_write ? 2u : 1u) + (size != 0 ? 1 : 0),
      format::fm_ce_se(format::FenceMode::none, format::Completion::always), Be32{imm}))};
  if (is_write) segments.push_back(rig.b.remote(from));
  if (size != 0) segments.push_back(rig.a.data(from, size));
  const std::uint64_t slot = p.producer & ((1u << Pair::kLogSq) - 1);
  std::memcpy(p.sq.data() + slot * format::kWqebbBytes, segments.data(),
              segments.size() * sizeof segments[0]);
  const Be32 value = format::doorbell_record_value(++p.producer);
  std::memcpy(p.record.data() + offsetof(format::DoorbellRecord, snd_dbr), &value, sizeof value);
  rig.a.engine.doorbell(rig.a.uar, format::kUarDoorbellBegin,
                        format::doorbell_value(p.producer, p.from));
}

void SrqRig::send_a_part(std::size_t pair, std::uint32_t size) {
  const std::uint64_t before = rig.b.engine.counters().bytes_received;
  send(pair, 0, size);
  for (int steps = 0; rig.b.engine.counters().bytes_received == before; ++steps) {
    ASSERT_LT(steps, 1000);
    step();
  }
  ASSERT_LT(rig.b.engine.counters().bytes_received - before, size);
}

void SrqRig::expect_flush_before_last_wqe(std::uint32_t size) {
  for (int i = 0; i < 3; ++i) post(0, size);
  send_a_part(0, size);
  modify(0, QpState::err);
  // Both are seen after the same step, unless the event comes too early.
  for (int steps = 0; rig.b.events.of(EventKind::last_wqe).empty(); ++steps) {
    ASSERT_LT(steps, 1000);
    step();
  }
  const auto cqes = received();
  ASSERT_EQ(cqes.size(), 1u);
  EXPECT_EQ(syndrome_of(cqes[0]), format::Syndrome::flushed);
  EXPECT_EQ(cqes[0].wqe_counter, 0);
  ASSERT_TRUE(run());
  EXPECT_THAT(rig.b.events.take(), testing::ElementsAre(Event{EventKind::last_wqe, pairs[0]->to}));
  EXPECT_THAT(received(), testing::IsEmpty());
  EXPECT_EQ(info().taken, 1);
}

}  // namespace gdakit::softnic::test
