#include "tests/softnic/model/world.h"

#include <algorithm>

#include "tests/softnic/delayed_dma.h"

namespace gdakit::softnic::test::model {
namespace {

constexpr std::uint32_t kIdleBeforeTimers = 60;  // several sweeps
// As many as DMA takes for what a queue can have under way: time that jumps meanwhile is a retry.
constexpr std::uint32_t kIdleWithDelayedDma = 300;
constexpr std::uint32_t kIdleAtRest = 400;
constexpr std::uint32_t kMostSteps = 300'000;  // until something comes to its end

std::size_t memory_of_nic() {
  constexpr std::size_t kMostCqeBytes = entry_bytes(CqeSize::bytes_128);
  const auto room = [](std::size_t size) { return ShadowedMemory::room(size); };
  const std::size_t end = room(std::size_t{format::kWqebbBytes} << kMostLogSq) +
                          room(kLocalBytes + (std::size_t{kInboxSlot} << kMostLogRq)) +
                          room(std::size_t{1} << (kMostLogRq + kMostLogStride)) + room(8) +
                          room(kTargetBytes) + room(kMostCqeBytes) + room(8);
  const std::size_t cq = room(kMostCqeBytes << kMostLogCq) + room(8);
  return room(kConstantBytes) + room(64) + kMostCqs * cq + kEndsOfANic * end + 4096;
}

}  // namespace

Weather World::choose_weather(Random& random) {
  Weather weather;
  weather.nics = random.between(2, 4);
  weather.connections = random.between(1, 4);
  constexpr std::uint32_t kMtus[] = {256, 256, 512, 1024};
  weather.mtu = random.pick(kMtus);
  constexpr std::uint32_t kSlots[] = {2, 4, 16, 64};
  weather.slots = random.pick(kSlots);
  constexpr std::uint32_t kWindows[] = {2, 8, 64, kMaxPsnWindow, kMaxPsnWindow};
  weather.psn_window = random.pick(kWindows);
  weather.by_value = random.percent(30);
  weather.delayed_dma = random.percent(35);
  weather.ordered_dma = random.percent(85);
  constexpr std::uint32_t kChances[] = {0, 0, 2, 10};
  weather.drop_percent = random.pick(kChances);
  weather.repeat_percent = random.pick(kChances);
  weather.delay_percent = random.pick(kChances);
  weather.skipped_steps_percent = random.percent(50) ? 0 : random.below(40);
  weather.actions = random.between(10, 70);
  weather.strict = random.percent(15);
  if (weather.strict) {
    weather.ordered_dma = true;  // otherwise a responder drops what it cannot take yet
    weather.repeat_percent = 30;
    weather.delay_percent = 0;
  }
  weather.breaks = !weather.strict && (weather.ordered_dma || !weather.delayed_dma);
  weather.impatient = weather.breaks && random.percent(10);
  weather.starving = weather.breaks && random.percent(10);
  weather.ack_timeout = static_cast<std::uint8_t>(weather.impatient ? random.below(3) + 1 : 9);
  EngineOptions& engine = weather.engine;
  constexpr std::uint32_t kFew[] = {1, 4, 64};
  engine.window = 4u << random.below(4);
  engine.payload_buffers = 1 + random.pick(kFew);
  engine.packets_per_step = random.pick(kFew);
  engine.queues_per_step = random.pick(kFew);
  engine.sweep_idle_steps = random.percent(50) ? 1 : 8;
  engine.sweep_busy_steps = random.percent(50) ? 4 : 256;
  engine.record_after_doorbell = random.percent(50);
  engine.short_cqes = random.percent(50);
  engine.adaptive_retransmission = random.percent(50);
  engine.selective_repeat = random.percent(50);
  // Later than what the requester measures, so that it sends again before it counts.
  if (engine.adaptive_retransmission && !weather.impatient) weather.ack_timeout = 14;
  engine.congestion_control = random.percent(25);
  constexpr std::uint32_t kMarks[] = {0, 5, 50};
  if (engine.congestion_control) weather.mark_percent = random.pick(kMarks);
  return weather;
}

World::World(std::uint64_t seed)
    : seed_(seed), random_(seed), losses_(~seed), weather_(choose_weather(random_)) {
  if (weather_.by_value) {
    ShmOptions options;
    options.endpoints = weather_.nics;
    options.slots = weather_.slots;
    options.rooms = weather_.slots;
    options.mtu = options.value_mtu = weather_.mtu;
    segment_ = std::move(*ShmSegment::create(options));
  } else {
    fabric_ = LoopbackFabric::create(
        {.mtu = weather_.mtu, .slots = weather_.slots, .endpoints = weather_.nics});
  }
  for (std::uint32_t i = 0; i < weather_.nics; ++i) make_nic();
  for (std::uint32_t i = 0; i < weather_.connections; ++i) make_connection();
}

// Engines go before the memory of all that they may still name.
World::~World() {
  for (const auto& nic : nics_) nic->engine.reset();
  for (const auto& nic : nics_) nic->wire.reset();
}

std::unique_ptr<Wire> World::make_wire(ClientNic& nic, std::uint32_t number) {
  Losses losses;
  losses.seed = static_cast<std::uint32_t>(losses_.next());
  losses.drop = [this, &nic](const Packet& packet) { return may_drop(nic, packet); };
  losses.repeat_percent = static_cast<int>(weather_.repeat_percent);
  losses.delay_percent = static_cast<int>(weather_.delay_percent);
  losses.mark_percent = static_cast<int>(weather_.mark_percent);
  losses.psn_window = weather_.psn_window;
  losses.full = [this, &nic] { return journal_.now_ns < nic.stalled_until_ns; };
  std::unique_ptr<Wire> inner;
  if (weather_.by_value) {
    inner = std::move(*segment_->attach(number));
  } else {
    inner = std::move(*fabric_->attach(number));
  }
  return std::make_unique<LossyWire>(std::move(inner), losses);
}

void World::make_nic() {
  const auto number = static_cast<std::uint32_t>(nics_.size());
  ClientNic& nic = *nics_.emplace_back(std::make_unique<ClientNic>(memory_of_nic(), journal_));
  nic.wire.reset(static_cast<LossyWire*>(make_wire(nic, number).release()));
  if (weather_.delayed_dma) {
    nic.port = std::make_unique<DelayedDma>(random_.next(), weather_.ordered_dma);
  } else {
    nic.port = std::make_unique<HostDma>();
  }
  nic.engine = std::make_unique<Engine>(weather_.engine, *nic.port, *nic.wire);
  nic.pd = *nic.engine->alloc_pd();
  nic.uar = *nic.engine->alloc_uar(UarType::dense);
  nic.constants = nic.memory.carve(kConstantBytes);
  std::vector<std::uint8_t> bytes(kConstantBytes);
  random_.fill(bytes.data(), bytes.size());
  nic.memory.store(nic.constants, bytes.data(), bytes.size());
  nic.spare_cq = nic.memory.carve(sizeof(format::Cqe64));
  MrAttributes mr;
  mr.pd = nic.pd;
  mr.base = nic.memory.address(nic.constants);
  mr.start = mr.base.value;
  mr.length = kConstantBytes;
  mr.access = Access::local_read | Access::remote_read;
  nic.constants_key = *nic.engine->reg_mr(mr);
  for (std::uint32_t i = random_.between(1, kMostCqs); i != 0; --i) {
    const std::uint32_t log_entries = random_.between(5, kMostLogCq);
    const bool overrun_ignore = random_.percent(50);
    nic.make_cq(log_entries, false, overrun_ignore, choose_cqe_size());
  }
}

CqeSize World::choose_cqe_size() {
  return random_.percent(30) ? CqeSize::bytes_128 : CqeSize::bytes_64;
}

// No more losses at a time than the retries make good.
bool World::may_drop(ClientNic& nic, const Packet& packet) {
  if (!losses_.percent(weather_.drop_percent)) return false;
  const PacketHeader& header = packet.header;
  const bool answers = is_response(header.opcode);
  for (End* end : nic.ends) {
    if (!end->exists || end->qpn != packet.sender) continue;
    End& requester = answers ? *end->peer : *end;
    if (!requester.lives || !requester.can_lose()) return false;
    requester.lose(header.psn);
    journal_.note("drop: end, opcode, psn",
                  {end->id, static_cast<std::uint64_t>(header.opcode), header.psn});
    return true;
  }
  return false;
}

bool World::step() {
  journal_.now_ns += 100;
  // Whoever has one retry must not wait for long.
  if (weather_.strict && ++steps_ % 40 == 0) post_owed_receives();
  bool worked = false;
  const auto count = static_cast<std::uint32_t>(nics_.size());
  const std::uint32_t first = random_.below(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    ClientNic& nic = *nics_[(first + i) % count];
    if (random_.percent(weather_.skipped_steps_percent)) continue;
    worked |= nic.engine->step(journal_.now_ns);
    nic.poll();
  }
  // A NIC that was stalled is to have its steps before time jumps.
  const bool is_stalled = std::any_of(nics_.begin(), nics_.end(), [this](const auto& nic) {
    return journal_.now_ns < nic->stalled_until_ns;
  });
  idle_steps_ = worked || is_stalled ? 0 : idle_steps_ + 1;
  return worked;
}

void World::steps(std::uint32_t count) {
  for (; count != 0 && !journal_.failed(); --count) step();
}

// Lets the clock jump to the next timer when nothing else happens.
void World::run_until(const char* what, const std::function<bool()>& done) {
  const std::uint32_t patience = weather_.delayed_dma ? kIdleWithDelayedDma : kIdleBeforeTimers;
  idle_steps_ = 0;
  for (std::uint32_t count = 0; !journal_.failed() && !done(); ++count) {
    step();
    if (count > kMostSteps || idle_steps_ > kIdleAtRest) {
      journal_.fail(std::string("never comes: ") + what);
    }
    if (idle_steps_ == 0 || idle_steps_ % patience != 0) continue;
    std::uint64_t next = ~std::uint64_t{0};
    for (const auto& nic : nics_) {
      next = std::min(next, nic->engine->next_timer_ns().value_or(next));
    }
    if (next == ~std::uint64_t{0}) continue;
    idle_steps_ = 0;
    if (weather_.strict) post_owed_receives();
    journal_.now_ns = std::max(journal_.now_ns, next);
  }
}

void World::check_memory() {
  for (std::size_t i = 0; i < nics_.size() && !journal_.failed(); ++i) {
    const std::ptrdiff_t at = nics_[i]->memory.difference();
    if (at < 0) continue;
    journal_.note("NIC, byte, is, should be",
                  {i, static_cast<std::uint64_t>(at), *nics_[i]->memory.at(at),
                   *nics_[i]->memory.expected(at)});
    journal_.fail("a byte has changed that nobody was to write");
  }
}

void World::finish() {
  for (const auto& connection : connections_) {
    for (const auto& end : connection->ends) end->ring(true);
  }
  run_until("all that was posted", [this] {
    bool all = true;
    for (const auto& connection : connections_) {
      for (const auto& end : connection->ends) {
        post_receives(*end, true);
        all &= end->is_at_rest();
      }
    }
    return all;
  });
  for (const auto& connection : connections_) {
    if (!journal_.failed()) end_life(*connection);
  }
  steps(kIdleBeforeTimers);
  check_memory();
}

std::string World::run() {
  for (std::uint32_t i = 0; i < weather_.actions && !journal_.failed(); ++i) act();
  if (!journal_.failed()) finish();
  if (!journal_.failed()) return {};
  return journal_.wrong() + "\n" + journal_.tail() + describe();
}

// How each end stands.
std::string World::describe() const {
  std::string text = "  weather:";
  const auto add = [&text](const char* name, std::uint64_t value) {
    text += std::string(" ") + name + " " + std::to_string(value);
  };
  add("mtu", weather_.mtu);
  add("slots", weather_.slots);
  add("by value", weather_.by_value);
  add("delayed DMA", weather_.delayed_dma);
  add("ordered", weather_.ordered_dma);
  add("drop", weather_.drop_percent);
  add("repeat", weather_.repeat_percent);
  add("delay", weather_.delay_percent);
  add("congestion control", weather_.engine.congestion_control);
  add("mark", weather_.mark_percent);
  add("strict", weather_.strict);
  add("impatient", weather_.impatient);
  add("starving", weather_.starving);
  text += "\n";
  for (const auto& connection : connections_) {
    for (const auto& end : connection->ends) {
      text += "  end";
      add("", end->id);
      add("nic", end->nic.wire->endpoint());
      add("qpn", end->qpn);
      const Outcome<QpInfo> info = end->nic.engine->query_qp(end->qpn);
      if (info) {
        add("state", static_cast<std::uint64_t>(info->state));
        add("completed", info->send_completed);
        add("producer", info->send_producer);
        add("acked", info->last_acked_psn);
        add("next", info->next_send_psn);
        add("expects", info->next_receive_psn);
        add("error", static_cast<std::uint64_t>(info->first_error.syndrome));
        add("responder", info->first_error.responder);
      }
      add("posted", end->producer);
      add("in flight", end->flow->in_flight().size());
      add("receives", end->peer->flow->receives().size());
      add("doomed", connection->rules.doomed);
      text += "\n";
    }
  }
  return text;
}

}  // namespace gdakit::softnic::test::model
