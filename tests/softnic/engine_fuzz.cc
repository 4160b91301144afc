#include "tests/softnic/engine_fuzz.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/format/srq.h"
#include "tests/softnic/fuzz_control.h"
#include "tests/softnic/fuzz_dc.h"
#include "tests/softnic/fuzz_input.h"
#include "tests/softnic/fuzz_side.h"
#include "tests/softnic/fuzz_wqes.h"
#include "tests/softnic/lossy_wire.h"

namespace gdakit::softnic::test {
namespace {

constexpr std::uint32_t kFuzzMtu = 256;

class Run {
 public:
  Run(const std::uint8_t* data, std::size_t size) : input_(data, size) {
    sides_[0] = make_side(0xfffff0);
    sides_[1] = make_side(7);
    for (const auto& side : sides_) controls_.emplace_back(*side);
    sides_[0]->connect(*sides_[1]);
    sides_[1]->connect(*sides_[0]);
  }
  std::string play();

 private:
  FuzzSide& pick(FuzzSide** peer) {
    const std::uint32_t which = input_.below(2);
    *peer = sides_[1 - which].get();
    return *sides_[which];
  }
  void ring(FuzzSide& side);
  void store_record(FuzzSide& side);
  void post_receive(FuzzSide& side);
  void send_packet(FuzzSide& side, const FuzzSide& peer);
  void change_state(FuzzSide& side, FuzzSide& peer);
  std::string control(FuzzSide& side, FuzzSide& peer);
  std::string steps(std::uint32_t count);
  std::string come_to_rest();
  // A quarter of the inputs have congestion control, on a wire that marks.
  EngineOptions choose_options(Input& input) {
    EngineOptions options;
    options.addresses = &addresses_;
    options.dc = {.responders = 1 + input.below(2), .tenure_ns = 20'000};
    options.congestion_control = input.take<std::uint8_t>() % 4 == 0;
    return options;
  }
  // In a quarter the first side is an initiator of XRC, and the second one its target; in another
  // both are of DC.
  static ServiceType choose_service(Input& input) {
    switch (input.take<std::uint8_t>() % 4) {
      case 0: return ServiceType::xrc;
      case 1: return ServiceType::dc;
      default: return ServiceType::rc;
    }
  }
  FuzzKind choose_kind() const {
    if (service_ == ServiceType::dc) return FuzzKind::dc;
    if (service_ == ServiceType::rc) return FuzzKind::rc;
    return sides_[0] == nullptr ? FuzzKind::initiator : FuzzKind::target;
  }
  // Half of the sides take what they receive from a shared receive queue.
  static std::optional<SrqForm> choose_form(Input& input) {
    const auto choice = input.take<std::uint8_t>();
    if (choice % 2 == 0) return std::nullopt;
    return static_cast<SrqForm>(choice / 2 % 3);
  }
  std::unique_ptr<FuzzSide> make_side(std::uint32_t psn) {
    std::unique_ptr<Wire> wire = std::move(*fabric_->attach());
    if (options_.congestion_control) {
      wire = std::make_unique<LossyWire>(std::move(wire), Losses{.mark_percent = 30});
    }
    const FuzzKind kind = choose_kind();
    auto form = choose_form(input_);
    if ((kind == FuzzKind::target || kind == FuzzKind::dc) && !form) form = SrqForm::list;
    return std::make_unique<FuzzSide>(std::move(wire), psn, options_, kind, form);
  }

  Input input_;
  FuzzAddresses addresses_;
  const EngineOptions options_ = choose_options(input_);
  const ServiceType service_ = choose_service(input_);
  std::shared_ptr<LoopbackFabric> fabric_ = LoopbackFabric::create({.mtu = kFuzzMtu, .slots = 8});
  std::array<std::unique_ptr<FuzzSide>, 2> sides_;
  std::vector<FuzzControl> controls_;
  std::uint64_t now_ns_ = 1000;
};

void Run::store_record(FuzzSide& side) {
  const std::uint64_t value = input_.below(8) == 0 ? input_.take<std::uint64_t>() : side.producer;
  const Be32 word = format::doorbell_record_value(value);
  side.record.write(offsetof(format::DoorbellRecord, snd_dbr), &word, sizeof word);
}

void Run::ring(FuzzSide& side) {
  std::uint64_t value = format::doorbell_value(side.producer, side.qpn);
  const auto kind = input_.take<std::uint8_t>() % 16;
  if (kind == 0) value = input_.take<std::uint64_t>();
  if (kind == 1) value ^= std::uint64_t{input_.take<std::uint8_t>()} << (8 * input_.below(8));
  const std::uint32_t offset = kind == 2 ? input_.take<std::uint32_t>() : format::kUarDoorbellBegin;
  side.engine.doorbell(kind == 3 ? side.uar + 1 : side.uar, offset, value);
}

void Run::post_receive(FuzzSide& side) {
  std::array<format::DataSegment, 4> wqe{};
  for (std::uint32_t i = 0; i < 4; ++i) {
    wqe[i] = input_.below(4) == 0 ? format::data(0, Be32{0x100}, 0) : some_data(input_, side);
  }
  if (side.shared == SrqForm::list) {
    // Now and then it leads out of the queue.
    format::SrqNextSegment link{};
    link.next_wqe_index = Be16{static_cast<std::uint16_t>(input_.below((1u << kLogRq) + 1))};
    std::memcpy(wqe.data(), &link, sizeof link);
  }
  const std::uint64_t slot = side.receive_producer & ((1u << kLogRq) - 1);
  side.rq.write(slot << kLogRqStride, wqe.data(), sizeof wqe);
  side.receive_producer += input_.below(16) == 0 ? input_.take<std::uint32_t>() : 1;
  const Be32 word = format::doorbell_record_value(side.receive_producer);
  side.record.write(offsetof(format::DoorbellRecord, rcv_dbr), &word, sizeof word);
}

// What a broken peer may send: any header, on a wire that keeps its contract.
void Run::send_packet(FuzzSide& side, const FuzzSide& peer) {
  Packet packet;
  PacketHeader& header = packet.header;
  std::uint8_t bytes[kFuzzMtu] = {0xab};
  const QpInfo info = *peer.engine.query_qp(peer.qpn);
  const std::uint32_t region = input_.below(kKeys);
  header.opcode =
      static_cast<PacketOpcode>(input_.below(static_cast<std::uint32_t>(PacketOpcode::count)));
  header.service = input_.below(8) == 0 ? ServiceType::ud : service_;
  if (service_ == ServiceType::xrc) header.xrc_srq = some_srq(input_, peer);
  header.pkey = input_.below(8) == 0 ? input_.take<PartitionKey>() : kDefaultPartition;
  header.ack_request = input_.below(2) == 0;
  header.destination = peer.wire->endpoint();
  header.destination_qpn = peer.qpn;
  packet.sender = side.qpn;
  const std::uint32_t near =
      is_response(header.opcode) ? info.last_acked_psn : info.next_receive_psn;
  header.psn = psn_add(near, input_.below(4)) & kPsnMask;
  header.imm = input_.take<std::uint32_t>();
  header.traffic_class = input_.take<std::uint8_t>();
  header.payload_size = input_.below(2) == 0 ? kFuzzMtu : input_.below(kSmallPayload + 1);
  header.psns = input_.below(8) == 0 ? input_.take<std::uint32_t>() : 1;
  if (extension_of(header.opcode) == ExtensionKind::aeth) {
    const auto said = input_.below(static_cast<std::uint32_t>(Acknowledge::count));
    header.aeth = {.atomic_result = input_.take<std::uint64_t>(),
                   .msn = input_.take<std::uint32_t>(),
                   .acknowledge = static_cast<Acknowledge>(said),
                   .rnr_timer = input_.take<std::uint8_t>()};
  } else {
    header.reth.address = some_address(input_, peer, region);
    header.reth.rkey = some_key(input_, peer, region);
    header.reth.length = input_.below(2) == 0 ? header.payload_size : input_.take<std::uint32_t>();
  }
  packet.atomic = {};
  packet.atomic.size = input_.take<std::uint8_t>() % 10;
  packet.atomic.swap_add = input_.take<std::uint64_t>();
  packet.payload = bytes;
  if (service_ == ServiceType::dc) make_dc(input_, side, peer, header);
  static_cast<void>(side.wire->send(packet));
  side.wire->flush();
}

void Run::change_state(FuzzSide& side, FuzzSide& peer) {
  QpModify modify;
  if (side.kind == FuzzKind::target && input_.below(4) == 0) {
    static_cast<void>(side.engine.destroy_srq(side.named_srq));
    side.make_named_srq();
    return;
  }
  if (side.kind == FuzzKind::dc && input_.below(4) == 0) {
    side.renew_target();
    return;
  }
  switch (input_.below(4)) {
    case 0:
      modify.state = QpState::err;
      static_cast<void>(side.engine.modify_qp(side.qpn, modify));
      return;
    case 1:
      for (FuzzSide* each : {&side, &peer}) {
        static_cast<void>(each->engine.modify_qp(each->qpn, modify));
        each->producer = each->receive_producer = 0;
        const std::uint64_t zero = 0;
        each->record.write(0, &zero, sizeof zero);
      }
      side.connect(peer);
      peer.connect(side);
      return;
    default: {
      const std::uint32_t key = input_.below(kKeys);
      const bool comes_back = input_.below(4) != 0;
      if (key == kListKey) {
        static_cast<void>(side.engine.destroy_mkey(side.keys[key]));
        if (comes_back) side.make_list(some_entries(input_, side));
        return;
      }
      static_cast<void>(side.engine.dereg_mr(side.keys[key]));
      if (comes_back) side.register_region(key);
    }
  }
}

std::string Run::control(FuzzSide& side, FuzzSide& peer) {
  FuzzControl& control = controls_[&side == sides_[0].get() ? 0 : 1];
  switch (input_.below(4)) {
    case 0: change_state(side, peer); return {};
    case 1: return control.modify_busy_qp(input_);
    default: return control.act(input_, peer);
  }
}

std::string Run::steps(std::uint32_t count) {
  for (; count != 0; --count) {
    for (const auto& side : sides_) {
      side->engine.step(now_ns_ += 50);
      const std::string wrong = side->check();
      if (!wrong.empty()) return wrong;
    }
  }
  return {};
}

// Long enough for every timer to run out as often as it may.
std::string Run::come_to_rest() {
  constexpr int kTimers = 3000;
  for (FuzzControl& control : controls_) {
    std::string wrong = control.remove_all();
    if (!wrong.empty()) return wrong;
  }
  for (int i = 0; i < kTimers; ++i) {
    std::string wrong = steps(20);
    if (!wrong.empty()) return wrong;
    const auto timer = earliest_timer_ns({&sides_[0]->engine, &sides_[1]->engine});
    now_ns_ = std::max(now_ns_, timer.value_or(now_ns_));
    if (!timer && i > 10) break;
  }
  for (const auto& side : sides_) static_cast<void>(side->engine.drain_dct(side->dct));
  std::string wrong = steps(400);  // several sweeps
  for (const auto& side : sides_) {
    if (wrong.empty()) wrong = side->check_memory();
    if (wrong.empty()) wrong = side->check_rest();
  }
  return wrong;
}

std::string Run::play() {
  std::string wrong;
  for (int actions = 0; actions < 400 && !input_.empty() && wrong.empty(); ++actions) {
    FuzzSide* peer = nullptr;
    FuzzSide& side = pick(&peer);
    switch (input_.take<std::uint8_t>() % 16) {
      case 0: post_rubbish(input_, side); break;
      case 1:
      case 2:
      case 3:
      case 4: post_some(input_, side, *peer); break;
      case 5:
      case 6: ring(side); break;
      case 7:
      case 8: store_record(side); break;
      case 9:
      case 10: post_receive(side); break;
      case 11: send_packet(side, *peer); break;
      case 12: wrong = control(side, *peer); break;
      case 13: now_ns_ += input_.take<std::uint16_t>() * std::uint64_t{100}; break;
      default: wrong = steps(1 + input_.below(6)); break;
    }
  }
  return wrong.empty() ? come_to_rest() : wrong;
}

}  // namespace

std::string fuzz_one(const std::uint8_t* data, std::size_t size) { return Run(data, size).play(); }

}  // namespace gdakit::softnic::test
