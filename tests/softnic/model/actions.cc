// What the clients of a world do, one thing after the other.
#include <algorithm>

#include "tests/softnic/model/traffic.h"
#include "tests/softnic/model/world.h"

namespace gdakit::softnic::test::model {

End& World::any_end() {
  const auto count = static_cast<std::uint32_t>(connections_.size());
  return *connections_[random_.below(count)]->ends[random_.below(2)];
}

void World::act() {
  End& end = any_end();
  const std::uint32_t kind = random_.below(100);
  if (kind < 40) {
    post(end);
  } else if (kind < 55) {
    post_receives(end, false);
  } else if (kind < 85) {
    steps(random_.between(1, random_.percent(20) ? 150 : 20));
  } else if (kind < 91) {
    change_spare_objects(end.nic);
  } else if (kind < 93) {
    end.nic.stalled_until_ns = journal_.now_ns + 100 * random_.below(150);
  } else if (!weather_.strict) {
    Connection& connection =
        *connections_[random_.below(static_cast<std::uint32_t>(connections_.size()))];
    if (kind < 97) {
      break_something(connection);
    } else if (kind < 99) {
      end_life(connection);
      if (!journal_.failed()) open(connection);
    }
  }
}

void World::post_owed_receives() {
  for (const auto& connection : connections_) {
    for (const auto& end : connection->ends) post_receives(*end, true);
  }
}

void World::post(End& end) {
  // A queue in error takes WQEs, too, and flushes them.
  const bool is_burst = random_.percent(10);
  std::uint32_t count = random_.between(1, random_.percent(20) ? 40 : 5);
  if (is_burst) count = 64;
  for (; count != 0; --count) {
    const Wish wish = is_burst ? Wish::brief : Wish::anything;
    if (!post_something(end, weather_.mtu, wish)) break;
  }
  const std::uint32_t how = random_.below(10);
  if (how < 8) end.ring(how != 0);
  if (!is_burst) return;
  steps(random_.below(3));
  change_spare_objects(end.nic);
}

void World::post_receives(End& end, bool all) {
  std::uint32_t count = all ? 100 : random_.between(1, 4);
  for (; count != 0 && end.has_receive_room(); --count) {
    if (all && !end.owes_receive()) break;
    end.post_receive();
  }
}

// The packets that name memory of this NIC are lost, which counts for all its connections.
void World::recall(ClientNic& nic) {
  for (End* end : nic.ends) {
    end->rules.lossless = false;
    end->rules.exact = nullptr;
    for (End* requester : {end, end->peer}) {
      if (!requester->lives) continue;
      requester->lose(
          psn_add(requester->nic.engine->query_qp(requester->qpn)->next_send_psn, kPsnMask));
    }
  }
  journal_.note("recall: nic", {nic.wire->endpoint()});
  static_cast<void>(nic.wire->recall({.everything = true}));
}

// Comes and goes, and concerns nobody.
void World::change_spare_objects(ClientNic& nic) {
  switch (random_.below(4)) {
    case 0: {
      MrAttributes mr;
      mr.pd = nic.pd;
      mr.base = nic.memory.address(nic.constants);
      mr.start = mr.base.value;
      mr.length = random_.between(1, kConstantBytes);
      mr.access = Access::local_read;
      nic.spare_keys.push_back(*nic.engine->reg_mr(mr));
      break;
    }
    case 1: {
      CqAttributes cq;
      cq.entries = nic.memory.address(nic.spare_cq);
      cq.overrun_ignore = true;
      const CqNumber number = *nic.engine->create_cq(cq);
      static_cast<void>(nic.engine->destroy_cq(number));
      break;
    }
    default: {
      if (nic.spare_keys.empty()) break;
      journal_.note("dereg_mr: nic", {nic.wire->endpoint()});
      static_cast<void>(nic.engine->dereg_mr(nic.spare_keys.back()));
      nic.spare_keys.pop_back();
      const bool all_can = std::all_of(nic.ends.begin(), nic.ends.end(), [](End* end) {
        return end->lives && end->can_lose() && end->peer->lives && end->peer->can_lose();
      });
      if (!weather_.strict && all_can && random_.percent(50)) recall(nic);
    }
  }
}

// What a client does wrong, or its end.
void World::break_something(Connection& connection) {
  if (connection.rules.doomed || !weather_.breaks) return;
  End& end = *connection.ends[random_.below(2)];
  const std::uint32_t kind = random_.below(10);
  if (kind < 6) {
    if (post_something(end, weather_.mtu, Wish::spoiled)) post(end);
    return;
  }
  connection.rules.doomed = true;
  if (kind < 8) {
    journal_.note("modify to err: end", {end.id});
    QpModify modify;
    modify.state = QpState::err;
    static_cast<void>(end.nic.engine->modify_qp(end.qpn, modify));
    if (random_.percent(50)) post(end);
  } else {
    remove_key(end);
  }
}

void World::remove_key(End& end) {
  end.rules.bad_keys = true;
  const bool is_target = random_.percent(60);
  journal_.note("key goes: end, is target", {end.id, is_target});
  (is_target ? end.target_key_gone : end.local_key_gone) = true;
  static_cast<void>(end.nic.engine->dereg_mr(is_target ? end.target_key : end.local_key));
  wait_until_unused(end.nic);
  if (journal_.failed()) return;
  if (!is_target) return end.flow->reuse_payloads();
  // From now on the region is as it is.
  const std::uint8_t* const target = end.nic.memory.at(end.target);
  end.frozen_target.assign(target, target + kTargetBytes);
}

}  // namespace gdakit::softnic::test::model
