#include "tests/softnic/fuzz_control.h"

#include <algorithm>

#include "core/format/doorbell.h"

namespace gdakit::softnic::test {
namespace {

constexpr std::uint32_t kOwners = 3;
constexpr std::size_t kMostObjects = 40;
// In an order in which users are removed before what they use.
constexpr ObjectKind kUsersFirst[] = {ObjectKind::qp, ObjectKind::srq, ObjectKind::mkey,
                                      ObjectKind::cq, ObjectKind::uar, ObjectKind::pd};

// A value that the field may have, or now and then any.
template <class T>
T some_value(Input& input, std::uint32_t least, std::uint32_t most) {
  if (input.below(16) == 0) return input.take<T>();
  return static_cast<T>(least + input.below(most - least + 1));
}

QpModify some_modify(Input& input, const FuzzSide& peer) {
  QpModify modify;
  modify.state = static_cast<QpState>(input.below(8));
  // Mostly what the transition requires, and one field more or less.
  if (input.below(2) == 0) modify.given = QpFields::of_bits(input.take<std::uint32_t>());
  modify.access = static_cast<Access>(input.below(32));
  modify.path.endpoint = input.below(4) == 0 ? input.below(4) : peer.wire->endpoint();
  modify.path.service_level = some_value<std::uint8_t>(input, 0, 15);
  modify.path.mtu = some_value<std::uint32_t>(input, 0, 1) << 8;
  modify.path.pkey = some_value<PartitionKey>(input, 0x7fff, kDefaultPartition);
  modify.remote_qpn = some_value<std::uint32_t>(input, 0, 8);
  modify.next_receive_psn = some_value<std::uint32_t>(input, 0, 4);
  modify.log_rra_max = some_value<std::uint8_t>(input, 0, 8);
  modify.min_rnr_nak = some_value<std::uint8_t>(input, 0, 32);
  modify.log_msg_max = some_value<std::uint8_t>(input, 0, 31);
  modify.next_send_psn = some_value<std::uint32_t>(input, 0, 4);
  modify.log_sra_max = some_value<std::uint8_t>(input, 0, 8);
  modify.ack_timeout = some_value<std::uint8_t>(input, 0, 32);
  modify.retry_count = some_value<std::uint8_t>(input, 0, 8);
  modify.rnr_retry = some_value<std::uint8_t>(input, 0, 8);
  modify.send_wqebb_counter = some_value<std::uint64_t>(input, 0, 4);
  return modify;
}

}  // namespace

FuzzControl::Named FuzzControl::name(Input& input, ObjectKind kind, Uid uid) {
  std::vector<Object> all;
  std::copy_if(objects_.begin(), objects_.end(), std::back_inserter(all),
               [&](const Object& object) { return object.kind == kind; });
  // Mostly one's own.
  if (input.below(8) != 0) {
    std::erase_if(all, [&](const Object& object) { return object.owner != uid; });
  }
  if (all.empty()) return {input.take<std::uint32_t>(), Seen::unknown};
  const Object& object = all[input.below(static_cast<std::uint32_t>(all.size()))];
  return {object.number, object.owner == uid ? Seen::own : Seen::foreign};
}

std::string FuzzControl::act(Input& input, const FuzzSide& peer) {
  const auto uid = static_cast<Uid>(input.below(kOwners));
  switch (input.below(8)) {
    case 0:
    case 1:
    case 2: return create(input, uid);
    case 3: return remove(input, uid);
    case 4: ring(input); return {};
    case 5: return arm(input, uid);
    default: return modify(input, uid, peer);
  }
}

Outcome<std::uint32_t> FuzzControl::create_mkey(Input& input, Uid uid, Seen& seen) {
  const Named pd = name(input, ObjectKind::pd, uid);
  // The one that only clients write stays so.
  const std::uint32_t region = input.below(2);
  MrAttributes mr;
  mr.pd = pd.number;
  mr.base = host_address(side_.regions[region]);
  mr.start = mr.base.value;
  mr.length = 1 + input.below(kRegion);
  mr.access = static_cast<Access>(input.below(32)) | Access::local_write;
  seen = pd.seen;
  return engine_.reg_mr(mr, uid);
}

// With the receive queue of the queue pair under traffic for its memory.
Outcome<std::uint32_t> FuzzControl::create_srq(Input& input, Uid uid, Seen& seen) {
  const Named pd = name(input, ObjectKind::pd, uid);
  seen = pd.seen;
  return side_.create_srq(pd.number, static_cast<SrqForm>(input.below(3)), uid);
}

// With the queues and the record of the queue pair under traffic: what is posted there is not meant
// for this one, which fails of it.
Outcome<std::uint32_t> FuzzControl::create_qp(Input& input, Uid uid, Seen& seen) {
  const Named pd = name(input, ObjectKind::pd, uid), send_cq = name(input, ObjectKind::cq, uid),
              receive_cq = name(input, ObjectKind::cq, uid),
              uar = name(input, ObjectKind::uar, uid), srq = name(input, ObjectKind::srq, uid);
  QpAttributes qp;
  qp.pd = pd.number;
  qp.send_cq = send_cq.number;
  qp.receive_cq = receive_cq.number;
  qp.uar = uar.number;
  qp.send_queue = host_address(side_.sq.data());
  qp.log_send_wqebbs = kLogSq;
  qp.has_receive_queue = input.below(2) == 0;
  qp.receive_queue = host_address(side_.rq.data());
  qp.log_receive_wqes = kLogRq;
  qp.log_receive_stride = kLogRqStride;
  qp.doorbell_record = host_address(side_.record.data());
  seen = std::max({pd.seen, send_cq.seen, uar.seen});
  const bool is_shared = !qp.has_receive_queue && input.below(2) == 0;
  if (is_shared) qp.srq = srq.number;
  if (is_shared) seen = std::max(seen, srq.seen);
  if (is_shared || qp.has_receive_queue) seen = std::max(seen, receive_cq.seen);
  if (input.below(16) == 0) {
    qp.log_send_wqebbs = 16 + input.below(100);
    seen = Seen::unknown;
  }
  return engine_.create_qp(qp, uid);
}

std::string FuzzControl::create(Input& input, Uid uid) {
  if (objects_.size() >= kMostObjects) return {};
  const ObjectKind kind = kUsersFirst[input.below(std::size(kUsersFirst))];
  Seen seen = Seen::own;
  Outcome<std::uint32_t> created = 0;
  switch (kind) {
    case ObjectKind::pd: created = engine_.alloc_pd(uid); break;
    case ObjectKind::uar:
      created = engine_.alloc_uar(input.below(2) == 0 ? UarType::dense : UarType::registers, uid);
      break;
    case ObjectKind::cq:
      created = engine_.create_cq(
          {host_address(side_.other_cq), kLogOtherCq, input.below(2) == 0, true, {}}, uid);
      break;
    case ObjectKind::mkey: created = create_mkey(input, uid, seen); break;
    case ObjectKind::srq: created = create_srq(input, uid, seen); break;
    default: created = create_qp(input, uid, seen);
  }
  if (created) objects_.push_back({kind, *created, uid});
  if (seen == Seen::own && !created) return "an object of own ones was not created";
  if (seen == Seen::foreign && created.status().status != CommandStatus::bad_res) {
    return "an object was created of another owner's";
  }
  return {};
}

Status FuzzControl::remove(ObjectKind kind, std::uint32_t number, Uid uid) {
  switch (kind) {
    case ObjectKind::pd: return engine_.dealloc_pd(number, uid).status();
    case ObjectKind::uar: return engine_.free_uar(number, uid).status();
    case ObjectKind::cq: return engine_.destroy_cq(number, uid).status();
    case ObjectKind::mkey: return engine_.dereg_mr(number, uid).status();
    case ObjectKind::srq: return engine_.destroy_srq(number, uid).status();
    default: return engine_.destroy_qp(number, uid).status();
  }
}

std::string FuzzControl::remove(Input& input, Uid uid) {
  const ObjectKind kind = kUsersFirst[input.below(std::size(kUsersFirst))];
  const Named named = name(input, kind, uid);
  if (named.seen == Seen::unknown) return {};
  const Status status = remove(kind, named.number, uid);
  if (named.seen == Seen::foreign) {
    return status.status == CommandStatus::bad_res ? "" : "an object was removed by a stranger";
  }
  const bool may_be_busy = kind != ObjectKind::qp && kind != ObjectKind::mkey;
  if (!status.ok()) {
    const bool busy = status.status == CommandStatus::res_busy;
    return may_be_busy && busy ? "" : "an object that nobody uses was not removed";
  }
  std::erase_if(objects_, [&](const Object& object) {
    return object.kind == kind && object.number == named.number;
  });
  return {};
}

std::string FuzzControl::remove_all() {
  for (const ObjectKind kind : kUsersFirst) {
    for (const Object& object : objects_) {
      if (object.kind != kind) continue;
      if (!remove(kind, object.number, object.owner).ok()) return "an object cannot be removed";
    }
  }
  objects_.clear();
  return {};
}

std::string FuzzControl::modify(QpNumber qpn, const QpModify& modify, Uid uid) {
  const QpState before = engine_.query_qp(qpn, uid)->state;
  const Outcome<> modified = engine_.modify_qp(qpn, modify, uid);
  const QpState after = engine_.query_qp(qpn, uid)->state;
  return after == (modified ? modify.state : before) ? "" : "a queue pair is in a wrong state";
}

std::string FuzzControl::modify(Input& input, Uid uid, const FuzzSide& peer) {
  const Named qp = name(input, ObjectKind::qp, uid);
  const QpModify some = some_modify(input, peer);
  if (qp.seen == Seen::own) return modify(qp.number, some, uid);
  if (qp.seen == Seen::unknown) return {};
  const Status status = engine_.modify_qp(qp.number, some, uid).status();
  return status.status == CommandStatus::bad_res ? "" : "a queue pair was modified by a stranger";
}

std::string FuzzControl::arm(Input& input, Uid uid) {
  const Named srq = name(input, ObjectKind::srq, uid);
  if (srq.seen == Seen::unknown) return {};
  const Status status = engine_.arm_srq(srq.number, input.below(1 << kLogRq), uid).status();
  if (srq.seen == Seen::own) return status.ok() ? "" : "a limit was not armed";
  return status.status == CommandStatus::bad_res ? "" : "a limit was armed by a stranger";
}

std::string FuzzControl::modify_busy_qp(Input& input) {
  constexpr QpState kStates[] = {QpState::init, QpState::rtr, QpState::rts, QpState::rts,
                                 QpState::sqd,  QpState::sqd, QpState::sqer};
  QpModify modify = some_modify(input, side_);
  modify.state = kStates[input.below(std::size(kStates))];
  // Such that it comes to rest, whatever happens.
  modify.ack_timeout = static_cast<std::uint8_t>(1 + input.below(5));
  modify.retry_count = static_cast<std::uint8_t>(input.below(4));
  modify.rnr_retry = static_cast<std::uint8_t>(input.below(4));
  return this->modify(side_.qpn, modify, kNicUid);
}

void FuzzControl::ring(Input& input) {
  const auto uid = static_cast<Uid>(input.below(kOwners));
  const Named qp = name(input, ObjectKind::qp, uid), uar = name(input, ObjectKind::uar, uid);
  engine_.doorbell(uar.number, format::kUarDoorbellBegin,
                   format::doorbell_value(input.below(64), qp.number & 0xffffff));
}

}  // namespace gdakit::softnic::test
