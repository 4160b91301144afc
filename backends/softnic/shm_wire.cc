#include "backends/softnic/shm_wire.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "core/base/other_processes.h"
#include "core/host/memory_file.h"
#include "core/host/process.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint64_t kMagic = 0x6764616b69745731;  // "gdakitW1"
constexpr std::uint32_t kVersion = 2;
constexpr std::size_t kHeaderBytes = 4096;
constexpr std::size_t kClaimBytes = 64;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

struct SegmentHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t endpoints;
  std::uint32_t slots;
  std::uint32_t mtu;
  std::uint32_t value_mtu;
  std::uint32_t check;  // of the two, which the total does not depend on alone
  std::uint64_t total;
};

std::uint32_t check_of(const ShmOptions& options) { return ~(options.mtu ^ options.value_mtu); }

// A packet's headers in a slot, in integers alone: any bytes are a value of this type.
struct SlotHeader {
  std::uint8_t opcode;
  std::uint8_t acknowledge;
  std::uint8_t rnr_timer;
  std::uint8_t solicited;
  std::uint8_t atomic_kind;
  std::uint8_t atomic_size;
  std::uint8_t fragment_count;  // above 0: SlotFragments instead of a payload
  std::uint8_t reserved;
  std::uint32_t psn;
  std::uint32_t destination_qpn;
  std::uint32_t source_qpn;
  std::uint32_t imm;
  std::uint32_t payload_size;
  std::uint32_t reth_rkey;
  std::uint64_t reth_address;
  std::uint64_t reth_length;
  std::uint64_t atomic_result;
  std::uint64_t swap_add;
  std::uint64_t compare;
  std::uint64_t swap_mask;
  std::uint64_t compare_mask;
  std::uint64_t boundary;
};
constexpr std::size_t kSlotHeaderBytes = 128;
static_assert(sizeof(SlotHeader) <= kSlotHeaderBytes);

// Bytes of the sender's heap.
struct SlotFragment {
  std::uint64_t offset;
  std::uint64_t size;
};
constexpr std::uint32_t kLeastRoom = 256;  // of a slot, for payload or fragments
static_assert(kMaxFragments * sizeof(SlotFragment) <= kLeastRoom);

SlotHeader pack(const Packet& packet) {
  const PacketHeader& h = packet.header;
  SlotHeader slot{};
  slot.opcode = static_cast<std::uint8_t>(h.opcode);
  slot.acknowledge = static_cast<std::uint8_t>(h.acknowledge);
  slot.rnr_timer = h.rnr_timer;
  slot.solicited = h.solicited ? 1 : 0;
  slot.atomic_kind = static_cast<std::uint8_t>(packet.atomic.kind);
  slot.atomic_size = packet.atomic.size;
  slot.fragment_count = h.fragment_count;
  slot.psn = h.psn;
  slot.destination_qpn = h.destination_qpn;
  slot.source_qpn = h.source_qpn;
  slot.imm = h.imm;
  slot.payload_size = h.payload_size;
  slot.reth_rkey = h.reth_rkey;
  slot.reth_address = h.reth_address;
  slot.reth_length = h.reth_length;
  slot.atomic_result = h.atomic_result;
  slot.swap_add = packet.atomic.swap_add;
  slot.compare = packet.atomic.compare;
  slot.swap_mask = packet.atomic.swap_mask;
  slot.compare_mask = packet.atomic.compare_mask;
  slot.boundary = packet.atomic.boundary;
  return slot;
}

// False: no NIC of this version has written that.
bool unpack(const SlotHeader& slot, const ShmLayout& layout, Packet& packet) {
  const std::uint32_t most = slot.fragment_count != 0 ? layout.options().mtu : layout.value_mtu();
  if (slot.opcode >= static_cast<std::uint8_t>(PacketOpcode::count) ||
      slot.acknowledge >= static_cast<std::uint8_t>(Acknowledge::count) ||
      slot.atomic_kind > static_cast<std::uint8_t>(AtomicKind::compare_swap) ||
      slot.fragment_count > kMaxFragments || slot.payload_size > most || slot.psn > kPsnMask) {
    return false;
  }
  packet = Packet{};
  PacketHeader& h = packet.header;
  h.opcode = static_cast<PacketOpcode>(slot.opcode);
  h.acknowledge = static_cast<Acknowledge>(slot.acknowledge);
  h.rnr_timer = slot.rnr_timer;
  h.solicited = slot.solicited != 0;
  h.fragment_count = slot.fragment_count;
  h.psn = slot.psn;
  h.destination_qpn = slot.destination_qpn;
  h.source_qpn = slot.source_qpn;
  h.imm = slot.imm;
  h.payload_size = slot.payload_size;
  h.reth_rkey = slot.reth_rkey;
  h.reth_address = slot.reth_address;
  h.reth_length = slot.reth_length;
  h.atomic_result = slot.atomic_result;
  packet.atomic.kind = static_cast<AtomicKind>(slot.atomic_kind);
  packet.atomic.size = slot.atomic_size;
  packet.atomic.swap_add = slot.swap_add;
  packet.atomic.compare = slot.compare;
  packet.atomic.swap_mask = slot.swap_mask;
  packet.atomic.compare_mask = slot.compare_mask;
  packet.atomic.boundary = slot.boundary;
  return true;
}

Result<> check(const ShmOptions& options) {
  const bool good = options.endpoints >= 1 && options.endpoints <= ShmSegment::kMaxEndpoints &&
                    is_power_of_two(options.slots) && options.slots <= 65536 &&
                    options.mtu >= kLeastRoom && options.mtu <= (1u << 30) &&
                    options.mtu % 64 == 0 && options.value_mtu >= kLeastRoom &&
                    options.value_mtu <= 65536 && options.value_mtu % 64 == 0;
  if (good) return {};
  return Error(Code::invalid_argument,
               "ShmSegment: endpoints must be 1 to 64, slots a power of two up to 65536, mtu a "
               "multiple of 64 from 256 to 2^30, value_mtu one from 256 to 65536");
}

// What stands before the slots of a ring.
struct RingWords {
  RingIndices indices;
  RecallWords recall;
};

std::atomic<std::int32_t>* claim_word(const ShmSegment& segment, Endpoint endpoint) {
  return reinterpret_cast<std::atomic<std::int32_t>*>(segment.at(segment.layout().claim(endpoint)));
}

RingWords* ring_words(const ShmSegment& segment, Endpoint from, Endpoint to) {
  return reinterpret_cast<RingWords*>(segment.at(segment.layout().ring(from, to)));
}

}  // namespace

std::size_t ShmLayout::slot_bytes() const { return kSlotHeaderBytes + value_mtu(); }
std::size_t ShmLayout::claim(Endpoint endpoint) const {
  return kHeaderBytes + endpoint * kClaimBytes;
}
std::size_t ShmLayout::ring(Endpoint from, Endpoint to) const {
  const std::size_t ring_bytes = sizeof(RingWords) + options_.slots * slot_bytes();
  const std::size_t number = std::size_t{from} * options_.endpoints + to;
  return claim(options_.endpoints) + number * ring_bytes;
}
std::size_t ShmLayout::slot(Endpoint from, Endpoint to, std::uint32_t index) const {
  return ring(from, to) + sizeof(RingWords) + index * slot_bytes();
}
std::size_t ShmLayout::total() const { return ring(options_.endpoints - 1, options_.endpoints); }

ShmSegment::ShmSegment(UniqueFileDescriptor fd, const ShmLayout& layout, std::byte* memory)
    : fd_(std::move(fd)), layout_(layout), memory_(memory) {}

ShmSegment::~ShmSegment() { ::munmap(memory_, layout_.total()); }

Result<std::shared_ptr<ShmSegment>> ShmSegment::map(UniqueFileDescriptor fd,
                                                    const ShmLayout& layout) {
  void* memory = ::mmap(nullptr, layout.total(), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) {
    return Error::from_errno("ShmSegment: mapping " + std::to_string(layout.total()) + " bytes",
                             errno);
  }
  return std::shared_ptr<ShmSegment>(
      new ShmSegment(std::move(fd), layout, static_cast<std::byte*>(memory)));
}

Result<std::shared_ptr<ShmSegment>> ShmSegment::create(const ShmOptions& options) {
  const Result<> checked = check(options);
  if (!checked) return checked.error();
  const ShmLayout layout(options);
  Result<UniqueFileDescriptor> file = make_memory_file("gdakit-wire");
  if (!file) return file.error().within("ShmSegment::create");
  if (Result<void> sized = resize_memory_file(*file, layout.total()); !sized) {
    return sized.error().within("ShmSegment::create");
  }
  if (::fcntl(file->get(), F_ADD_SEALS, kSeals) != 0) {
    return Error::from_errno("ShmSegment::create: F_ADD_SEALS", errno);
  }
  Result<std::shared_ptr<ShmSegment>> segment = map(std::move(*file), layout);
  if (!segment) return segment;
  for (Endpoint from = 0; from < options.endpoints; ++from) {
    new ((*segment)->at(layout.claim(from))) std::atomic<std::int32_t>(0);
    for (Endpoint to = 0; to < options.endpoints; ++to) {
      new ((*segment)->at(layout.ring(from, to))) RingWords;
    }
  }
  const SegmentHeader header{kMagic,      kVersion,          options.endpoints, options.slots,
                             options.mtu, options.value_mtu, check_of(options), layout.total()};
  std::memcpy((*segment)->at(0), &header, sizeof header);
  return segment;
}

Result<std::shared_ptr<ShmSegment>> ShmSegment::open(const std::string& path) {
  UniqueFileDescriptor fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd) return Error::from_errno("ShmSegment::open: " + path, errno);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) {
    return Error::from_errno("ShmSegment::open: " + path, errno);
  }
  const auto foreign = [&path](const char* what) {
    return Error(Code::invalid_argument, "ShmSegment::open: " + path + " " + what +
                                             "; give the path that the creator's path() returned");
  };
  // Without the seal a peer could shrink the file, and touching it would end this process.
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) return foreign("is not a sealed memfd");
  SegmentHeader header{};
  if (::pread(fd.get(), &header, sizeof header, 0) != sizeof header) return foreign("is too short");
  if (header.magic != kMagic) return foreign("is not a gdakit wire");
  if (header.version != kVersion) return foreign("is of another version of gdakit");
  const ShmOptions options{header.endpoints, header.slots, header.mtu, header.value_mtu};
  if (!check(options) || header.check != check_of(options)) {
    return foreign("has a header that no gdakit writes");
  }
  const ShmLayout layout(options);
  if (header.total != layout.total() ||
      static_cast<std::uint64_t>(status.st_size) != layout.total()) {
    return foreign("has another size than its header says");
  }
  return map(std::move(fd), layout);
}

std::string ShmSegment::path() const {
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd_.get());
}

Result<std::unique_ptr<ShmWire>> ShmSegment::attach(Endpoint endpoint,
                                                    std::shared_ptr<const PeerMemory> memory) {
  if (endpoint >= layout_.options().endpoints) {
    return Error(Code::invalid_argument, "ShmSegment::attach: endpoint " +
                                             std::to_string(endpoint) + " is not below " +
                                             std::to_string(layout_.options().endpoints));
  }
  std::atomic<std::int32_t>* claim = claim_word(*this, endpoint);
  std::int32_t owner = claim->load();
  // A process that was killed leaves its claim behind.
  while (owner == 0 || !process_runs(owner)) {
    if (claim->compare_exchange_strong(owner, ::getpid())) {
      return std::make_unique<ShmWire>(shared_from_this(), endpoint, std::move(memory));
    }
  }
  return Error(Code::invalid_argument, "ShmSegment::attach: process " + std::to_string(owner) +
                                           " has endpoint " + std::to_string(endpoint) +
                                           "; take another");
}

ShmWire::ShmWire(std::shared_ptr<ShmSegment> segment, Endpoint endpoint,
                 std::shared_ptr<const PeerMemory> memory)
    : segment_(std::move(segment)),
      memory_(std::move(memory)),
      endpoint_(endpoint),
      endpoints_(segment_->layout().options().endpoints),
      outbound_(endpoints_),
      inbound_(endpoints_) {
  const std::uint32_t slots = segment_->layout().options().slots;
  for (Endpoint peer = 0; peer < endpoints_; ++peer) {
    RingWords* const out = ring_words(*segment_, endpoint_, peer);
    RingWords* const in = ring_words(*segment_, peer, endpoint_);
    outbound_[peer].writer = RingWriter(&out->indices, slots);
    outbound_[peer].recall = RecallSender(&out->recall);
    inbound_[peer].reader = RingReader(&in->indices, slots);
    inbound_[peer].recall = RecallReader(&in->recall);
    inbound_[peer].packets.resize(slots);
  }
}

ShmWire::~ShmWire() {
  flush();
  // What was received and not retired is given up: its memory is not read any more.
  for (Inbound& inbound : inbound_) {
    if (inbound.recall.entered()) inbound.recall.leave();
  }
  const bool waited_in_vain = !recalled();
  recall();
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (!waited_in_vain && !recalled() && std::chrono::steady_clock::now() < limit) {
    std::this_thread::yield();
  }
  claim_word(*segment_, endpoint_)->store(0);
}

bool ShmWire::by_reference(const Packet& packet) const {
  if (memory_ == nullptr) return false;
  return std::all_of(
      packet.fragments, packet.fragments + packet.header.fragment_count,
      [this](const Fragment& fragment) { return memory_->offset_of(fragment).has_value(); });
}

bool ShmWire::send(const Packet& packet) {
  const Endpoint to = packet.header.destination;
  if (to >= endpoints_) return true;
  Outbound& outbound = outbound_[to];
  const auto index = outbound.writer.reserve();
  if (!index) return outbound.writer.broken();
  std::byte* slot = segment_->at(segment_->layout().slot(endpoint_, to, *index));
  const SlotHeader header = pack(packet);
  std::memcpy(slot, &header, sizeof header);
  if (packet.header.fragment_count != 0) {
    write_fragments(packet, slot + kSlotHeaderBytes);
  } else if (packet.header.payload_size != 0) {
    std::memcpy(slot + kSlotHeaderBytes, packet.payload, packet.header.payload_size);
  }
  outbound.writer.commit();
  outbound.unpublished = true;
  return true;
}

void ShmWire::write_fragments(const Packet& packet, std::byte* to) const {
  GDAKIT_ASSERT(by_reference(packet));
  SlotFragment fragments[kMaxFragments];
  for (std::uint32_t i = 0; i < packet.header.fragment_count; ++i) {
    fragments[i] = {*memory_->offset_of(packet.fragments[i]), packet.fragments[i].size};
  }
  std::memcpy(to, fragments, packet.header.fragment_count * sizeof(SlotFragment));
}

// False: they name what is not mapped here, or not what the header says.
bool ShmWire::read_fragments(Endpoint peer, const std::byte* from, Packet& packet) const {
  if (memory_ == nullptr) return false;
  SlotFragment fragments[kMaxFragments];
  std::memcpy(fragments, from, packet.header.fragment_count * sizeof(SlotFragment));
  std::uint64_t left = packet.header.payload_size;
  for (std::uint32_t i = 0; i < packet.header.fragment_count; ++i) {
    const SlotFragment& fragment = fragments[i];
    const auto here = memory_->at(peer, fragment.offset, fragment.size);
    if (!here || fragment.size == 0 || fragment.size > left) return false;
    packet.fragments[i] = {*here, fragment.size};
    left -= fragment.size;
  }
  return left == 0;
}

// Copies the packet out of its slot; false if no NIC of this version has written that.
bool ShmWire::read_slot(Endpoint peer, std::uint32_t index, Packet& packet) const {
  const std::byte* slot = segment_->at(segment_->layout().slot(peer, endpoint_, index));
  SlotHeader header;
  std::memcpy(&header, slot, sizeof header);
  if (!unpack(header, segment_->layout(), packet)) return false;
  packet.header.source = peer;
  packet.header.destination = endpoint_;
  packet.payload = reinterpret_cast<const std::uint8_t*>(slot + kSlotHeaderBytes);
  return packet.header.fragment_count == 0 || read_fragments(peer, slot + kSlotHeaderBytes, packet);
}

const Packet* ShmWire::receive_from(Endpoint peer) {
  Inbound& inbound = inbound_[peer];
  while (const auto index = inbound.reader.peek()) {
    inbound.recall.enter();
    Packet& packet = inbound.packets[*index];
    if (!read_slot(peer, *index, packet)) {
      inbound.reader.mark_broken();
      return nullptr;
    }
    const bool names_memory = packet.header.fragment_count != 0;
    switch (next_packet(inbound.reader, inbound.recall, names_memory)) {
      case NextPacket::use: return &packet;
      case NextPacket::wait: return nullptr;
      case NextPacket::skip: inbound.unpublished = true;
    }
  }
  return nullptr;
}

const Packet* ShmWire::receive() {
  for (Endpoint tried = 0; tried < endpoints_; ++tried) {
    turn_ = turn_ + 1 < endpoints_ ? turn_ + 1 : 0;
    const Packet* const packet = receive_from(turn_);
    if (packet == nullptr) continue;
    hear_other_processes();
    return packet;
  }
  return nullptr;
}

void ShmWire::retire(const Packet* packet) {
  Inbound& inbound = inbound_[packet->header.source];
  inbound.reader.retire();
  inbound.unpublished = true;
}

void ShmWire::publish(Outbound& outbound) {
  tell_other_processes();
  outbound.writer.publish();
  outbound.unpublished = false;
}

void ShmWire::flush() {
  for (Endpoint peer = 0; peer < endpoints_; ++peer) {
    if (outbound_[peer].unpublished) publish(outbound_[peer]);
    Inbound& inbound = inbound_[peer];
    if (inbound.unpublished) inbound.reader.publish();
    inbound.unpublished = false;
    if (inbound.recall.entered() && inbound.reader.unretired() == 0) inbound.recall.leave();
  }
}

bool ShmWire::runs(Endpoint peer) const {
  const std::int32_t owner = claim_word(*segment_, peer)->load();
  return owner != 0 && process_runs(owner);
}

// A peer that has ended reads nothing, whatever it has left behind in the ring.
bool ShmWire::still_read(Endpoint peer) {
  return outbound_[peer].recall.still_read(ring_words(*segment_, endpoint_, peer)->indices) &&
         runs(peer);
}

void ShmWire::recall() {
  if (memory_ == nullptr) return;
  for (Outbound& outbound : outbound_) {
    publish(outbound);
    outbound.recall.begin(outbound.writer.tail());
  }
}

bool ShmWire::recalled() {
  bool all_left = true;
  for (Endpoint peer = 0; peer < endpoints_; ++peer) {
    if (still_read(peer)) all_left = false;
  }
  return all_left;
}

bool ShmWire::unread(Endpoint endpoint) const {
  if (endpoint >= endpoints_ || broken(endpoint)) return false;
  const RingWords* const words = ring_words(*segment_, endpoint_, endpoint);
  return words->indices.head.load(std::memory_order_acquire) != outbound_[endpoint].writer.tail() &&
         runs(endpoint);
}

bool ShmWire::broken(Endpoint peer) const {
  return outbound_[peer].writer.broken() || inbound_[peer].reader.broken();
}

}  // namespace gdakit::softnic
