// Knobs: everything about a NIC, its bus and its memory that real machines do differently, or that
// nobody promises. One execution has one setting of all of them.
//
// A scenario says which knobs may be turned; draw() then chooses for each execution (Choice::knob,
// pick 0 is the base's own setting). kTable in knobs.cc holds for each knob its values, its default
// (the first), what it means and the fact behind it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sim/choice/choice.h"

namespace gdakit::sim {

enum class ReadOrder : std::uint8_t { any, ascending };
enum class InboundOrder : std::uint8_t { all, owner, none };
enum class PayloadOrder : std::uint8_t { in_order, relaxed };
enum class PlacementOrder : std::uint8_t { in_order, any };
enum class SignalPath : std::uint8_t { same, relaxed, split };
enum class CqeBytes : std::uint8_t { in_order, any };
enum class RecordRead : std::uint8_t { early, late, recovery, never };
enum class DoorbellLoss : std::uint8_t { never, lost };
enum class DoorbellMerge : std::uint8_t { never, merge };
enum class DoorbellProducer : std::uint8_t { doorbell, record };
enum class Prefetch : std::uint8_t { off, on };
enum class YesNo : std::uint8_t { no, yes };

struct Knobs {
  std::uint8_t dma_atom_bytes = 8;
  ReadOrder read_order = ReadOrder::any;
  InboundOrder inbound_order = InboundOrder::all;
  PayloadOrder payload_write_order = PayloadOrder::in_order;
  PlacementOrder placement = PlacementOrder::in_order;
  SignalPath signal_path = SignalPath::same;
  CqeBytes cqe_bytes = CqeBytes::in_order;
  RecordRead record_read = RecordRead::early;
  DoorbellLoss doorbell_loss = DoorbellLoss::never;
  DoorbellMerge doorbell_merge = DoorbellMerge::never;
  DoorbellProducer doorbell_producer = DoorbellProducer::doorbell;
  Prefetch wqe_prefetch = Prefetch::off;
  YesNo gpu_scope_reaches_nic = YesNo::no;
  YesNo host_native_atomics = YesNo::yes;
  YesNo device_native_atomics = YesNo::yes;
  YesNo wire_loss = YesNo::no;
  YesNo wire_repeats = YesNo::no;
  YesNo early_acks = YesNo::no;

  bool operator==(const Knobs&) const = default;
};

// The rows of the table, in its order.
enum class Knob : std::uint8_t {
  dma_atom_bytes,
  read_order,
  inbound_order,
  payload_write_order,
  placement,
  signal_path,
  cqe_bytes,
  record_read,
  doorbell_loss,
  doorbell_merge,
  doorbell_producer,
  wqe_prefetch,
  gpu_scope_reaches_nic,
  host_native_atomics,
  device_native_atomics,
  wire_loss,
  wire_repeats,
  early_acks,
  count,
};
inline constexpr std::size_t kKnobCount = static_cast<std::size_t>(Knob::count);

// Which knobs may be turned.
struct KnobSet {
  std::uint32_t bits = 0;

  constexpr KnobSet() = default;
  constexpr KnobSet(std::initializer_list<Knob> knobs) {
    for (const Knob knob : knobs) bits |= 1u << static_cast<unsigned>(knob);
  }
  constexpr bool has(Knob knob) const { return (bits >> static_cast<unsigned>(knob) & 1) != 0; }
  constexpr KnobSet without(Knob knob) const {
    KnobSet rest = *this;
    rest.bits &= ~(1u << static_cast<unsigned>(knob));
    return rest;
  }
  static constexpr KnobSet all() {
    KnobSet set;
    set.bits = (1u << kKnobCount) - 1;
    return set;
  }
  // What NICs, buses and wires do differently under one and the same GPU, as far as an ordering
  // that libraries promise to their users holds with it: what worlds draw if they are not told
  // otherwise. Without what the GPU decides (inbound_order, gpu_scope_reaches_nic), networks that
  // place puts as they come, which libraries must be told of, a way for signals by which they
  // overtake data, and CQEs and acknowledges that come too early.
  static constexpr KnobSet of_nics() {
    return all()
        .without(Knob::inbound_order)
        .without(Knob::gpu_scope_reaches_nic)
        .without(Knob::placement)
        .without(Knob::signal_path)
        .without(Knob::cqe_bytes)
        .without(Knob::early_acks);
  }
};

struct KnobRow {
  Knob knob;
  std::string_view name;
  std::span<const std::string_view> values;  // the default comes first
  std::string_view sentence;                 // what it means
  std::string_view fact;                     // why a machine may be so
  std::uint32_t (*get)(const Knobs& knobs);  // an index into values
  void (*set)(Knobs& knobs, std::uint32_t value);
};
std::span<const KnobRow> knob_table();
const KnobRow& knob_row(Knob knob);

// A GPU that shows all inbound writes in order, and one of before that: it needs a read behind what
// came in (needs_cst).
Knobs hopper();
Knobs ampere();
// "hopper" or "ampere".
Result<Knobs> knobs_of_gpu(std::string_view gpu);
bool needs_cst(const Knobs& knobs);
// Whether puts may be placed in any order, which the library must be told of (GDAKIT_PLACEMENT).
bool places_in_any_order(const Knobs& knobs);

// Sets one knob by its names: "inbound_order", "none".
Result<> set_knob(Knobs& knobs, std::string_view name, std::string_view value);

// Chooses each of `allowed`, the rest stays as in `base`. Settings that leave a NIC no way to find
// out what it has lost are not drawn.
Knobs draw(Chooser& chooser, const Knobs& base, KnobSet allowed);

// "inbound_order=none" for each knob that is not as in `base`.
std::vector<std::string> describe(const Knobs& knobs, const Knobs& base = {});

}  // namespace gdakit::sim
