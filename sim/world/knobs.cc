#include "sim/world/knobs.h"

#include <array>
#include <type_traits>

#include "core/base/assert.h"

namespace gdakit::sim {
namespace {

template <class T>
struct MemberOf;
template <class T>
struct MemberOf<T Knobs::*> {
  using Type = T;
};

template <auto kMember>
std::uint32_t get(const Knobs& knobs) {
  return static_cast<std::uint32_t>(knobs.*kMember);
}
template <auto kMember>
void set(Knobs& knobs, std::uint32_t value) {
  using Type = typename MemberOf<decltype(kMember)>::Type;
  knobs.*kMember = static_cast<Type>(value);
}

// Members whose default is not their first enumerator: the table's order of values is turned round.
template <auto kMember>
std::uint32_t get_flipped(const Knobs& knobs) {
  return 1 - get<kMember>(knobs);
}
template <auto kMember>
void set_flipped(Knobs& knobs, std::uint32_t value) {
  set<kMember>(knobs, 1 - value);
}

constexpr std::array<std::uint8_t, 7> kAtomBytes = {8, 1, 2, 4, 16, 32, 64};

std::uint32_t get_atom(const Knobs& knobs) {
  std::uint32_t index = 0;
  while (kAtomBytes[index] != knobs.dma_atom_bytes) ++index;
  return index;
}
void set_atom(Knobs& knobs, std::uint32_t value) { knobs.dma_atom_bytes = kAtomBytes[value]; }

constexpr std::string_view kAtomNames[] = {"8", "1", "2", "4", "16", "32", "64"};
constexpr std::string_view kReadOrderNames[] = {"any", "ascending"};
constexpr std::string_view kInboundNames[] = {"all", "owner", "none"};
constexpr std::string_view kPayloadNames[] = {"in_order", "relaxed"};
constexpr std::string_view kPlacementNames[] = {"in_order", "any"};
constexpr std::string_view kSignalNames[] = {"same", "relaxed", "split"};
constexpr std::string_view kCqeNames[] = {"in_order", "any"};
constexpr std::string_view kRecordNames[] = {"early", "late", "recovery", "never"};
constexpr std::string_view kLossNames[] = {"never", "lost"};
constexpr std::string_view kMergeNames[] = {"never", "merge"};
constexpr std::string_view kProducerNames[] = {"doorbell", "record"};
constexpr std::string_view kPrefetchNames[] = {"off", "on"};
constexpr std::string_view kNoYes[] = {"no", "yes"};
constexpr std::string_view kYesNo[] = {"yes", "no"};

constexpr KnobRow kTable[] = {
    {Knob::dma_atom_bytes, "dma_atom_bytes", kAtomNames,
     "So many bytes of a read are taken at one moment; others may write in between.",
     "PCIe completions are split at any boundary the root complex likes, and nothing but naturally "
     "aligned words of at most 8 bytes is read in one piece.",
     get_atom, set_atom},
    {Knob::read_order, "read_order", kReadOrderNames,
     "Whether the parts of reads are taken in any order, or one after the other.",
     "PCIe lets completions of different reads pass each other, and a NIC splits a long read into "
     "several.",
     get<&Knobs::read_order>, set<&Knobs::read_order>},
    {Knob::inbound_order, "inbound_order", kInboundNames,
     "For whom the NIC's writes into GPU memory are in order: everybody, the threads of the GPU "
     "that owns the memory, or nobody before a flush.",
     "The CUDA device attribute GPU_DIRECT_RDMA_WRITES_ORDERING is none, owner or all devices; "
     "Hopper and later need no flush, before that libraries post a DUMP behind what came in.",
     get<&Knobs::inbound_order>, set<&Knobs::inbound_order>},
    {Knob::payload_write_order, "payload_write_order", kPayloadNames,
     "Whether payload is written in order, or may overtake what the NIC wrote before it; ordered "
     "writes never overtake it.",
     "Memory registered with relaxed ordering, which libraries ask for by default, sets PCIe's "
     "RO bit on its writes: such a write may pass earlier posted writes.",
     get<&Knobs::payload_write_order>, set<&Knobs::payload_write_order>},
    {Knob::placement, "placement", kPlacementNames,
     "Whether what packets bring is placed in their order, or each packet as it comes; READs, "
     "atomics, completions and acknowledges wait for all before them.",
     "With adaptive routing packets arrive in any order, and ConnectX may place WRITEs and READ "
     "responses as they come (dp_ordering_ooo_rw); completions stay in order.",
     get<&Knobs::placement>, set<&Knobs::placement>},
    {Knob::signal_path, "signal_path", kSignalNames,
     "How remote atomics, and writes to signal words, go to memory: in order with the payload, "
     "overtaking it, or by another way altogether.",
     "Relaxed ordering may hold for atomics, too; machines with a second path from NIC to GPU "
     "(NVLink-C2C beside PCIe) order nothing between the two.",
     get<&Knobs::signal_path>, set<&Knobs::signal_path>},
    {Knob::cqe_bytes, "cqe_bytes", kCqeNames,
     "Whether the last eight bytes of a CQE, with its owner bit, become visible last.",
     "The last eight bytes are one store; that the rest is there before them holds for writes in "
     "ascending order, which PCIe does not promise within one write.",
     get<&Knobs::cqe_bytes>, set<&Knobs::cqe_bytes>},
    {Knob::record_read, "record_read", kRecordNames,
     "When the NIC looks at doorbell records: at any time, only after a doorbell, or also when "
     "nothing else happens any more; or never, so that the doorbell alone says how far to go.",
     "The device takes the index that a doorbell carries and reads the record in a recovery state "
     "only, when a doorbell was lost or its context was not resident; nothing says that it does "
     "not read it at other times.",
     get<&Knobs::record_read>, set<&Knobs::record_read>},
    {Knob::doorbell_loss, "doorbell_loss", kLossNames,
     "Whether a doorbell may be lost on its way; the record then has to tell.",
     "The doorbell record exists because a doorbell may be dropped.", get<&Knobs::doorbell_loss>,
     set<&Knobs::doorbell_loss>},
    {Knob::doorbell_merge, "doorbell_merge", kMergeNames,
     "Whether a doorbell may be overwritten by the next one to the same register before the NIC "
     "has seen it.",
     "A doorbell register is no FIFO, and write-combining maps merge stores.",
     get<&Knobs::doorbell_merge>, set<&Knobs::doorbell_merge>},
    {Knob::doorbell_producer, "doorbell_producer", kProducerNames,
     "Whether a doorbell tells the NIC the producer index, or only that it shall read the record.",
     "Public clients ring again once the record is current, so a NIC that takes the index from the "
     "record alone is right for all of them; in its recovery state a device does so.",
     get<&Knobs::doorbell_producer>, set<&Knobs::doorbell_producer>},
    {Knob::wqe_prefetch, "wqe_prefetch", kPrefetchNames,
     "Whether the NIC reads the WQE behind the ones that are announced, and throws it away.",
     "Fetches are of whole read requests; software writes WQEs beside those that the NIC fetches.",
     get<&Knobs::wqe_prefetch>, set<&Knobs::wqe_prefetch>},
    {Knob::gpu_scope_reaches_nic, "gpu_scope_reaches_nic", kNoYes,
     "Whether a release at gpu scope suffices for the NIC, where all its memory is the GPU's.",
     "No PTX rule speaks of NICs. DOCA GPUNetIO releases at gpu scope by default, and NVSHMEM's "
     "queues in GPU memory rely on the same: inbound reads are served by the GPU's L2.",
     get<&Knobs::gpu_scope_reaches_nic>, set<&Knobs::gpu_scope_reaches_nic>},
    {Knob::host_native_atomics, "host_native_atomics", kYesNo,
     "Whether remote atomics on host memory are atomic for threads, too.",
     "System-scope atomics on mapped host memory are atomic only with hostNativeAtomicSupported; "
     "else the NIC's atomic is a read and a write.",
     get_flipped<&Knobs::host_native_atomics>, set_flipped<&Knobs::host_native_atomics>},
    {Knob::device_native_atomics, "device_native_atomics", kYesNo,
     "Whether remote atomics on GPU memory are atomic for threads, too.",
     "IBV_ATOMIC_HCA promises atomicity among operations of the same NIC and nothing else.",
     get_flipped<&Knobs::device_native_atomics>, set_flipped<&Knobs::device_native_atomics>},
    {Knob::wire_loss, "wire_loss", kNoYes, "Whether packets may get lost.",
     "Reliable connections repair loss; what they promise must hold with it.",
     get<&Knobs::wire_loss>, set<&Knobs::wire_loss>},
    {Knob::wire_repeats, "wire_repeats", kNoYes, "Whether packets may arrive twice.",
     "A retransmission whose original was only slow is a repetition.", get<&Knobs::wire_repeats>,
     set<&Knobs::wire_repeats>},
    {Knob::early_acks, "early_acks", kNoYes,
     "Whether an acknowledge of a write or an atomic says nothing of memory: that it is there for "
     "the NIC that acknowledged, and not yet for threads and other NICs.",
     "A responder acknowledges what it has taken. Its writes are posted on PCIe, and who reaches "
     "that memory by another way may come before them; only a READ by the same NIC pushes them.",
     get<&Knobs::early_acks>, set<&Knobs::early_acks>},
};
static_assert(std::size(kTable) == kKnobCount);

}  // namespace

std::span<const KnobRow> knob_table() { return kTable; }

const KnobRow& knob_row(Knob knob) {
  const KnobRow& row = kTable[static_cast<std::size_t>(knob)];
  GDAKIT_ASSERT(row.knob == knob);
  return row;
}

Knobs hopper() { return {}; }

Knobs ampere() {
  Knobs knobs;
  knobs.inbound_order = InboundOrder::none;
  return knobs;
}

Result<Knobs> knobs_of_gpu(std::string_view gpu) {
  if (gpu == "hopper") return hopper();
  if (gpu == "ampere") return ampere();
  return Error(Code::invalid_argument,
               "there is no GPU \"" + std::string(gpu) + "\"; name hopper or ampere");
}

bool needs_cst(const Knobs& knobs) { return knobs.inbound_order == InboundOrder::none; }

bool places_in_any_order(const Knobs& knobs) { return knobs.placement == PlacementOrder::any; }

Result<> set_knob(Knobs& knobs, std::string_view name, std::string_view value) {
  std::string known;
  for (const KnobRow& row : kTable) {
    known += (known.empty() ? "" : ", ") + std::string(row.name);
    if (row.name != name) continue;
    std::string values;
    for (std::uint32_t i = 0; i < row.values.size(); ++i) {
      values += (i == 0 ? "" : ", ") + std::string(row.values[i]);
      if (row.values[i] != value) continue;
      row.set(knobs, i);
      return {};
    }
    return Error(Code::invalid_argument, "the knob " + std::string(name) + " has no value \"" +
                                             std::string(value) + "\"; it has " + values);
  }
  return Error(Code::invalid_argument,
               "there is no knob \"" + std::string(name) + "\"; there are " + known);
}

Knobs draw(Chooser& chooser, const Knobs& base, KnobSet allowed) {
  Knobs knobs = base;
  for (const KnobRow& row : kTable) {
    if (!allowed.has(row.knob)) continue;
    const std::uint32_t pick =
        chooser.choose(Choice::knob, static_cast<std::uint32_t>(row.values.size()));
    // Pick 0 is the base's own value, the others follow in the table's order.
    const std::uint32_t own = row.get(base);
    row.set(knobs, pick == 0 ? own : (pick <= own ? pick - 1 : pick));
  }
  const bool alone = knobs.record_read == RecordRead::never;
  const bool forgets = knobs.doorbell_loss == DoorbellLoss::lost;
  if (forgets && (alone || knobs.record_read == RecordRead::late)) {
    knobs.record_read = RecordRead::recovery;
  } else if (alone && knobs.doorbell_producer == DoorbellProducer::record) {
    knobs.record_read = RecordRead::late;
  }
  return knobs;
}

std::vector<std::string> describe(const Knobs& knobs, const Knobs& base) {
  std::vector<std::string> texts;
  for (const KnobRow& row : kTable) {
    const std::uint32_t value = row.get(knobs);
    if (value == row.get(base)) continue;
    texts.push_back(std::string(row.name) + "=" + std::string(row.values[value]));
  }
  return texts;
}

}  // namespace gdakit::sim
