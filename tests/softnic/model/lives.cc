// The lives of connections: how they begin, and how they end in mid-traffic.
#include "tests/softnic/model/world.h"

namespace gdakit::softnic::test::model {
namespace {

// Far from all that an earlier life may have left on a wire, and not so far that it looks new.
constexpr std::uint32_t kPsnsOfALife = 1 << 18;
constexpr std::uint32_t kStepsOfOldPackets = 200;

}  // namespace

void World::make_connection() {
  Connection& connection = *connections_.emplace_back(std::make_unique<Connection>());
  const std::uint32_t one = random_.below(weather_.nics);
  // Seldom with itself.
  const std::uint32_t other =
      random_.percent(10) ? one : (one + random_.between(1, weather_.nics - 1)) % weather_.nics;
  const std::uint32_t numbers[2] = {one, other};
  for (int i = 0; i < 2; ++i) {
    connection.ends[i] =
        std::make_unique<End>(*nics_[numbers[i]], random_, connection.rules, next_end_++);
  }
  for (int i = 0; i < 2; ++i) {
    End& end = *connection.ends[i];
    end.peer = connection.ends[1 - i].get();
    end.flow =
        std::make_unique<Flow>(journal_, end.nic.memory, end.peer->nic.memory, end.peer->target);
    end.register_local();
    end.register_target();
  }
  open(connection);
}

// A collapsed queue is one end's alone, for what it sends.
ClientCq& World::choose_cq(ClientNic& nic, bool sends, End& end) {
  if (sends && end.own_cq == nullptr && random_.percent(20)) {
    nic.make_cq(0, true, true, choose_cqe_size());
    end.own_cq = nic.cqs.back().get();
  }
  if (sends && end.own_cq != nullptr) return *end.own_cq;
  for (;;) {
    ClientCq& cq = *nic.cqs[random_.below(static_cast<std::uint32_t>(nic.cqs.size()))];
    if (!cq.collapsed) return cq;
  }
}

// A packet of the last life may ask for a READ by a key that is bad. Its PSN says that it was
// answered before, and the refusal breaks a queue of the new life: so it must have come by then.
void World::let_old_packets_come(Connection& connection) {
  if (!connection.rules.bad_keys) return;
  for (const auto& nic : nics_) nic->stalled_until_ns = 0;
  steps(kStepsOfOldPackets);
}

void World::open(Connection& connection) {
  let_old_packets_come(connection);
  ConnectionRules& rules = connection.rules;
  rules = {};
  rules.strict = weather_.strict;
  rules.impatient = weather_.impatient;
  rules.lossless = weather_.drop_percent == 0 && weather_.delay_percent == 0 &&
                   weather_.repeat_percent == 0 && !weather_.impatient && !weather_.starving;
  if (weather_.strict) rules.rnr_retry = 1;
  if (weather_.starving) rules.rnr_retry = static_cast<std::uint8_t>(random_.below(2));
  QpModify settings;
  settings.log_rra_max = settings.log_sra_max = static_cast<std::uint8_t>(random_.below(4));
  settings.min_rnr_nak = static_cast<std::uint8_t>(random_.between(1, 4));
  // A request that the wire repeats is refused twice: both times before it is sent again.
  if (weather_.strict) settings.min_rnr_nak = 8;
  settings.ack_timeout = weather_.ack_timeout;
  settings.retry_count = weather_.strict ? 1 : 7;
  settings.rnr_retry = rules.rnr_retry;
  settings.path.mtu = random_.percent(50) ? 256 : 0;
  constexpr std::uint64_t kCounters[] = {0, 0xfff8, 0x7ffe, 0x1fff0};
  for (const auto& end : connection.ends) {
    end->start_over(random_.pick(kCounters));
    if (!end->exists) {
      end->create(choose_cq(end->nic, true, *end), choose_cq(end->nic, false, *end));
    }
    end->psn = psn_add(end->psn, kPsnsOfALife + random_.below(kPsnsOfALife));
    if (end->target_key_gone) end->register_target();
    if (end->local_key_gone) end->register_local();
  }
  journal_.note("open: ends, psn", {connection.ends[0]->id, connection.ends[1]->id,
                                    connection.ends[0]->psn, connection.ends[1]->psn});
  for (const auto& end : connection.ends) {
    end->connect(settings);
    end->lives = true;
  }
}

void World::wait_until_unused(ClientNic& nic) {
  run_until("the end of a NIC's removals", [&] { return nic.engine->drained(); });
}

// Both ends in error: every WQE and every receive comes back.
void World::flush_all(Connection& connection) {
  QpModify modify;
  modify.state = QpState::err;
  for (const auto& end : connection.ends) {
    end->ring(random_.percent(50));
    static_cast<void>(end->nic.engine->modify_qp(end->qpn, modify));
    steps(random_.below(10));
  }
  run_until("the flush of a queue in error",
            [&] { return connection.ends[0]->is_at_rest() && connection.ends[1]->is_at_rest(); });
}

void World::remove(End& end, bool destroys) {
  journal_.note("remove: end, destroys", {end.id, destroys});
  end.lives = false;
  if (destroys) {
    static_cast<void>(end.nic.engine->destroy_qp(end.qpn));
  } else {
    QpModify modify;
    static_cast<void>(end.nic.engine->modify_qp(end.qpn, modify));
  }
  wait_until_unused(end.nic);
  end.nic.poll();
  if (journal_.failed()) return;
  end.exists &= !destroys;
  end.abandon();
}

void World::end_life(Connection& connection) {
  const auto& ends = connection.ends;
  const bool is_quiet = !connection.rules.doomed && ends[0]->is_at_rest() && ends[1]->is_at_rest();
  connection.rules.doomed = true;
  connection.rules.exact = nullptr;
  if (random_.percent(50) && (weather_.breaks || is_quiet)) flush_all(connection);
  for (const auto& end : connection.ends) {
    if (!journal_.failed()) remove(*end, random_.percent(50));
  }
  for (const auto& end : connection.ends) {
    if (journal_.failed()) return;
    // A packet of this life may still write by value until both are gone.
    const std::vector<std::uint8_t>& frozen = end->frozen_target;
    if (end->target_key_gone && !frozen.empty() &&
        std::memcmp(end->nic.memory.at(end->target), frozen.data(), frozen.size()) != 0) {
      journal_.fail("a region has changed whose key is gone");
    }
    end->frozen_target.clear();
    // That a queue has failed may have been told only now.
    end->flow->settle(!is_quiet || ends[0]->failed || ends[1]->failed);
  }
}

}  // namespace gdakit::softnic::test::model
