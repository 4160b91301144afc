// What a client does with its end of a connection.
#include <algorithm>
#include <string>

#include "backends/softnic/engine/status_text.h"
#include "core/format/doorbell.h"
#include "tests/softnic/model/client.h"

namespace gdakit::softnic::test::model {
namespace {

std::uint32_t losses_allowed(const ConnectionRules& rules) { return rules.strict ? 1 : 2; }

}  // namespace

End::End(ClientNic& owner, Random& chance, ConnectionRules& agreed, std::uint32_t number)
    : nic(owner),
      random(chance),
      rules(agreed),
      id(number),
      log_sq(chance.between(4, kMostLogSq)),
      log_rq(chance.between(1, kMostLogRq)),
      log_stride(chance.between(4, kMostLogStride)) {
  ShadowedMemory& memory = nic.memory;
  sq = memory.carve(std::size_t{format::kWqebbBytes} << log_sq);
  // The bytes that send WQEs name, and behind them those of the receives: one key is for both.
  local = memory.carve(kLocalBytes + (std::size_t{kInboxSlot} << log_rq));
  rq = memory.carve(std::size_t{1} << (log_rq + log_stride));
  record = memory.carve(sizeof(format::DoorbellRecord));
  target = memory.carve(kTargetBytes);
  std::vector<std::uint8_t> bytes(kTargetBytes);
  random.fill(bytes.data(), bytes.size());
  memory.store(target, bytes.data(), bytes.size());
  psn = random.percent(50) ? kPsnMask - random.below(40) : random.below(kPsnMask);
  nic.ends.push_back(this);
}

void End::register_target() {
  MrAttributes mr;
  mr.pd = nic.pd;
  mr.base = nic.memory.address(target);
  mr.start = target_iova = random.percent(50) ? mr.base.value : 64 * random.below(1 << 20);
  mr.length = kTargetBytes;
  mr.access = Access::all;
  target_key = *nic.engine->reg_mr(mr);
  target_key_gone = false;
}

void End::register_local() {
  MrAttributes mr;
  mr.pd = nic.pd;
  mr.base = nic.memory.address(local);
  mr.start = local_iova = random.percent(50) ? mr.base.value : 64 * random.below(1 << 20);
  mr.length = kLocalBytes + (std::size_t{kInboxSlot} << log_rq);
  mr.access = Access::local_read | Access::local_write;
  local_key = *nic.engine->reg_mr(mr);
  local_key_gone = false;
}

void End::create(ClientCq& sends, ClientCq& receives) {
  send_cq = &sends;
  receive_cq = &receives;
  QpAttributes qp;
  qp.pd = nic.pd;
  qp.send_cq = sends.number;
  qp.receive_cq = receives.number;
  qp.uar = nic.uar;
  qp.send_queue = nic.memory.address(sq);
  qp.log_send_wqebbs = log_sq;
  qp.has_receive_queue = true;
  qp.receive_queue = nic.memory.address(rq);
  qp.log_receive_wqes = log_rq;
  qp.log_receive_stride = log_stride;
  qp.doorbell_record = nic.memory.address(record);
  qp.user_index = id;
  qpn = *nic.engine->create_qp(qp);
  exists = true;
}

void End::start_over(std::uint64_t wqebb_counter) {
  producer = completed = rung = wqebb_counter;
  receive_producer = 0;
  failed = receive_failed = false;
  local_head_ = local_tail_ = 0;
  losses_ = 0;
  // A CQE of the last life may say just what one of the new life will.
  if (own_cq != nullptr) nic.clear(*own_cq);
  nic.memory.fill(sq, static_cast<std::uint8_t>(random.next()),
                  std::size_t{format::kWqebbBytes} << log_sq);
  nic.memory.fill(rq, static_cast<std::uint8_t>(random.next()),
                  std::size_t{1} << (log_rq + log_stride));
  const format::DoorbellRecord zero{Be32{0}, format::doorbell_record_value(wqebb_counter)};
  nic.memory.store(record, &zero, sizeof zero);
}

void End::connect(QpModify settings) {
  settings.access = Access::all;
  settings.path.endpoint = peer->nic.wire->endpoint();
  settings.remote_qpn = peer->qpn;
  settings.next_send_psn = psn;
  settings.next_receive_psn = peer->psn;
  settings.send_wqebb_counter = producer;
  for (const QpState state : {QpState::init, QpState::rtr, QpState::rts}) {
    settings.state = state;
    if (const Outcome<> done = nic.engine->modify_qp(qpn, settings); !done) {
      nic.journal.fail(status_text(done.status()));
    }
  }
}

void End::release(std::size_t count, bool succeeded) {
  auto& in_flight = flow->in_flight();
  if (count == 0) return;
  const Operation& last = in_flight[count - 1];
  completed = last.index + last.wqebbs;
  const bool is_free = succeeded || kPayloadIsFreeAfterErrors;
  for (std::size_t i = 0; i < count && is_free; ++i) local_tail_ += in_flight[i].local_bytes;
  if (!send_cq->collapsed) send_cq->reserved -= static_cast<std::uint32_t>(count);
  if (succeeded) {
    flow->succeed(count);
  } else {
    flow->give_up(count);
  }
}

void End::abandon() {
  if (!flow->in_flight().empty()) release(flow->in_flight().size(), false);
  flow->reuse_payloads();
  if (receive_cq != nullptr) {
    receive_cq->reserved -= static_cast<std::uint32_t>(peer->flow->receives().size());
  }
  while (!nic.journal.failed() && !peer->flow->receives().empty()) peer->flow->flush_receive();
}

bool End::has_room(std::uint32_t wqebbs, std::uint32_t wqes) const {
  const std::uint64_t free = (std::uint64_t{1} << log_sq) - (producer - completed);
  return free >= wqebbs && send_cq->has_room(wqes + 2 * kEndsOfANic);
}

std::optional<std::size_t> End::allocate_local(std::uint32_t bytes, std::uint32_t& charge) {
  const std::uint64_t at = local_head_ % kLocalBytes;
  const std::uint64_t skipped = at + bytes > kLocalBytes ? kLocalBytes - at : 0;
  if (local_head_ - local_tail_ + skipped + bytes > kLocalBytes) return std::nullopt;
  charge = static_cast<std::uint32_t>(skipped + bytes);
  local_head_ += charge;
  return local + (skipped != 0 ? 0 : at);
}

Naming End::naming() const {
  Naming naming;
  naming.lkey = local_key;
  naming.rkey = peer->target_key;
  naming.constants_key = peer->nic.constants_key;
  naming.local = local;
  naming.local_iova = local_iova;
  naming.remote_iova = peer->target_iova;
  naming.constants_iova = peer->nic.memory.address(peer->nic.constants).value;
  naming.remote_size = kTargetBytes;
  return naming;
}

void End::post(Operation operation, const std::vector<format::Segment>& body) {
  const auto ds = static_cast<std::uint32_t>(1 + body.size());
  operation.index = producer;
  operation.wqebbs = format::wqebbs_of(ds);
  const auto opcode =
      operation.flaw == Flaw::bad_opcode ? static_cast<format::Opcode>(0x3f) : operation.opcode;
  std::vector<format::Segment> segments = {format::to_segment(
      format::control(opcode, operation.opmod, static_cast<std::uint16_t>(producer), qpn, ds,
                      format::fm_ce_se(operation.fence, operation.completion, operation.solicited),
                      Be32{operation.imm}))};
  segments.insert(segments.end(), body.begin(), body.end());
  const std::uint64_t mask = (format::kSegmentsPerWqebb << log_sq) - 1;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::uint64_t slot = (producer * format::kSegmentsPerWqebb + i) & mask;
    nic.memory.store(sq + slot * format::kSegmentBytes, &segments[i], format::kSegmentBytes);
  }
  nic.journal.note("post: end, index, opcode, length",
                   {id, producer, static_cast<std::uint64_t>(opcode), operation.length});
  producer += operation.wqebbs;
  if (!send_cq->collapsed) ++send_cq->reserved;
  if (operation.flaw != Flaw::none) {
    rules.doomed = rules.bad_keys = true;
    rules.exact = rules.lossless ? this : nullptr;
  }
  flow->post(std::move(operation));
}

void End::ring(bool doorbell) {
  const Be32 value = format::doorbell_record_value(producer);
  nic.memory.store(record + offsetof(format::DoorbellRecord, snd_dbr), &value, sizeof value);
  rung = producer;
  if (!doorbell) return;
  nic.engine->doorbell(nic.uar, format::kUarDoorbellBegin, format::doorbell_value(producer, qpn));
}

bool End::has_receive_room() const {
  // One for each end can always be had: whoever waits for it holds entries, too.
  const std::size_t posted = peer->flow->receives().size();
  return posted < (std::size_t{1} << log_rq) &&
         receive_cq->has_room(posted == 0 ? 1 : 1 + kEndsOfANic);
}

// Large enough for the message that will take it, if that is posted and not too long on purpose.
void End::post_receive() {
  const std::uint64_t slot = receive_producer & ((std::uint64_t{1} << log_rq) - 1);
  const Message* const message = peer->flow->message_of_next_receive();
  Receive receive{receive_producer, {}, 0};
  std::uint32_t least = 0, most = kMostReceived;
  if (message != nullptr && message->opcode != format::Opcode::rdma_write_imm) {
    (message->flaw == Flaw::too_long ? most : least) =
        message->length - (message->flaw == Flaw::too_long ? 1 : 0);
  }
  receive.capacity = random.between(least, most);
  const std::uint32_t most_pieces = (1u << log_stride) / format::kSegmentBytes;
  std::uint32_t pieces = std::min(receive.capacity, random.between(1, most_pieces));
  std::size_t at = local + kLocalBytes + slot * kInboxSlot;
  std::vector<format::DataSegment> wqe;
  for (std::uint32_t left = receive.capacity; pieces != 0; --pieces) {
    const std::uint32_t size = pieces == 1 ? left : random.between(1, left - (pieces - 1));
    receive.pieces.push_back({at, size});
    wqe.push_back(format::data(local_iova + (at - local), Be32{local_key}, size));
    at += size + random.below(4);
    left -= size;
  }
  if (wqe.size() < most_pieces) wqe.push_back(format::data(0, Be32{0x100}, 0));
  nic.memory.store(rq + (slot << log_stride), wqe.data(), wqe.size() * sizeof wqe[0]);
  ++receive_producer;
  const Be32 value = format::doorbell_record_value(receive_producer);
  nic.memory.store(record + offsetof(format::DoorbellRecord, rcv_dbr), &value, sizeof value);
  ++receive_cq->reserved;
  nic.journal.note("receive: end, index, capacity", {id, receive_producer - 1, receive.capacity});
  peer->flow->post_receive(std::move(receive));
}

bool End::is_at_rest() {
  if (!lives) return true;
  auto& in_flight = flow->in_flight();
  const auto signalled = [](const Operation& op) { return op.is_signalled(); };
  const QpInfo info = *nic.engine->query_qp(qpn);
  if (std::any_of(in_flight.begin(), in_flight.end(), signalled)) return false;
  if (info.send_completed != producer) return false;
  if (info.state == QpState::err) {
    // Of WQEs that make no CQE it is not known whether they had completed before the error.
    return (in_flight.empty() || !failed) && peer->flow->receives().empty();
  }
  release(in_flight.size(), true);
  return true;
}

bool End::can_lose() {
  // Behind one loss the responder drops more: what it is asked again and has not answered yet.
  const QpInfo info = *nic.engine->query_qp(qpn);
  if (rules.strict) lost_psn_ = psn_add(info.next_send_psn, kPsnMask);
  if (losses_ != 0 && psn_distance(info.last_acked_psn, lost_psn_) >= 0) losses_ = 0;
  return losses_ < losses_allowed(rules);
}

void End::lose(std::uint32_t lost) {
  if (losses_ == 0 || psn_distance(lost, lost_psn_) > 0) lost_psn_ = lost;
  ++losses_;
}

}  // namespace gdakit::softnic::test::model
