#include "backends/softnic/wire/shm_wire.h"

#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <numeric>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "backends/softnic/wire/shm_slot.h"
#include "core/base/other_processes.h"
#include "core/base/wait_clock.h"
#include "core/host/memory/memory_file.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint64_t kMagic = 0x6764616b69745731;  // "gdakitW1"
constexpr std::uint32_t kVersion = 8;
constexpr std::size_t kHeaderBytes = 4096;
constexpr std::size_t kClaimBytes = 64;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

struct SegmentHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t endpoints;
  std::uint32_t slots;
  std::uint32_t rooms;
  std::uint32_t mtu;
  std::uint32_t value_mtu;
  std::uint64_t total;
  std::uint64_t check;  // of the options, several of which come to the same total
};

std::uint64_t check_of(const ShmOptions& options) {
  std::uint64_t check = kMagic;
  for (const std::uint32_t value :
       {options.endpoints, options.slots, options.rooms, options.mtu, options.value_mtu}) {
    check = (check ^ value) * 0x9e3779b97f4a7c15;
  }
  return check;
}

constexpr std::uint32_t kLeastMtu = 256;

Result<> check(const ShmOptions& options) {
  const bool good = options.endpoints >= 1 && options.endpoints <= ShmSegment::kMaxEndpoints &&
                    is_power_of_two(options.slots) && options.slots <= 65536 &&
                    options.rooms != 0 && options.mtu >= kLeastMtu && options.mtu <= (1u << 30) &&
                    options.mtu % 64 == 0 && options.value_mtu >= kLeastMtu &&
                    options.value_mtu <= 65536 && options.value_mtu % 64 == 0;
  if (good) return {};
  return Error(Code::invalid_argument,
               "ShmSegment: endpoints must be 1 to 512, slots a power of two up to 65536, rooms "
               "above 0, mtu a multiple of 64 from 256 to 2^30, value_mtu one from 256 to 65536");
}

struct RingWords {
  RingIndices indices;
  RecallWords recall;
};

// Who has an endpoint. A process that was killed leaves its claim behind, and so does one that has
// become another program by exec, whose number lives on: of that one the lock is gone, which it had
// on the claim's first byte by a file that closes then.
struct Claim {
  std::atomic<std::int32_t> owner{0};   // a process; 0: nobody
  std::atomic<std::int32_t> locked{0};  // the owner, once it has the lock
};
static_assert(sizeof(Claim) <= kClaimBytes);

Claim& claim_of(const ShmSegment& segment, Endpoint endpoint) {
  return *reinterpret_cast<Claim*>(segment.at(segment.layout().claim(endpoint)));
}

struct flock lock_of(std::size_t byte, int type) {
  return {static_cast<short>(type), SEEK_SET, static_cast<off_t>(byte), /*l_len=*/1, /*l_pid=*/0};
}

VoidBits* void_bits(const ShmSegment& segment, Endpoint from, Endpoint to) {
  return reinterpret_cast<VoidBits*>(segment.at(segment.layout().void_bits(from, to)));
}

RingWords* ring_words(const ShmSegment& segment, Endpoint from, Endpoint to) {
  return reinterpret_cast<RingWords*>(segment.at(segment.layout().words(from, to)));
}

bool are_numbers(const std::vector<Endpoint>& numbers, std::uint32_t endpoints) {
  std::vector<Endpoint> sorted = numbers;
  std::sort(sorted.begin(), sorted.end());
  return sorted.size() == endpoints && sorted.back() < ShmSegment::kMaxEndpoints &&
         std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
}

// By number; of those that no endpoint has, the number of all places.
std::vector<Endpoint> places_of(const std::vector<Endpoint>& numbers) {
  const Endpoint most = *std::max_element(numbers.begin(), numbers.end());
  std::vector<Endpoint> places(most + 1, static_cast<Endpoint>(numbers.size()));
  for (Endpoint place = 0; place < numbers.size(); ++place) places[numbers[place]] = place;
  return places;
}

}  // namespace

ShmOptions ShmOptions::for_endpoints(std::uint32_t endpoints) {
  // Of the rings of one endpoint, together.
  constexpr std::uint32_t kSlotsOfOne = 4096, kRoomsOfOne = 512;
  constexpr std::uint32_t kFewest = 8, kMost = 256;
  ShmOptions options;
  options.endpoints = endpoints;
  options.slots = std::clamp(std::bit_floor(kSlotsOfOne / endpoints), kFewest, kMost);
  options.rooms = std::clamp(std::bit_floor(kRoomsOfOne / endpoints), 1u, options.slots);
  return options;
}

std::size_t ShmLayout::claim(Endpoint endpoint) const {
  return kHeaderBytes + endpoint * kClaimBytes;
}
std::size_t ShmLayout::bytes_of_words() const {
  return sizeof(RingWords) + round_up(void_words(options_.slots) * sizeof(VoidBits), 64);
}
std::size_t ShmLayout::words(Endpoint from, Endpoint to) const {
  return claim(options_.endpoints) + number(from, to) * bytes_of_words();
}
std::size_t ShmLayout::void_bits(Endpoint from, Endpoint to) const {
  return words(from, to) + sizeof(RingWords);
}
std::size_t ShmLayout::slot(Endpoint from, Endpoint to, std::uint32_t index) const {
  const std::size_t begin = claim(options_.endpoints) + rings() * bytes_of_words();
  return begin + (number(from, to) * options_.slots + index) * kSlotBytes;
}
std::size_t ShmLayout::room(Endpoint from, Endpoint to, std::uint32_t index) const {
  const std::size_t begin = slot(0, options_.endpoints, 0);  // behind the last ring's slots
  return begin + (number(from, to) * rooms() + index) * value_mtu();
}
std::size_t ShmLayout::total() const { return room(0, options_.endpoints, 0); }

ShmSegment::ShmSegment(KeptFile fd, const ShmLayout& layout, std::byte* memory)
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
      new ShmSegment(keep_file(std::move(fd)), layout, static_cast<std::byte*>(memory)));
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
    new ((*segment)->at(layout.claim(from))) Claim;
    for (Endpoint to = 0; to < options.endpoints; ++to) {
      new ((*segment)->at(layout.words(from, to))) RingWords;
    }
  }
  const SegmentHeader header{kMagic,           kVersion,    options.endpoints, options.slots,
                             options.rooms,    options.mtu, options.value_mtu, layout.total(),
                             check_of(options)};
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
  const ShmOptions options{header.endpoints, header.slots, header.rooms, header.mtu,
                           header.value_mtu};
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

bool ShmSegment::lock(Endpoint place) const {
  struct flock lock = lock_of(layout_.claim(place), F_WRLCK);
  return ::fcntl(fd_.get(), F_OFD_SETLK, &lock) == 0;
}

// Asked as a lock of the process, which those of its own files are in the way of, too. True where
// the system does not tell.
bool ShmSegment::is_locked(Endpoint place) const {
  struct flock lock = lock_of(layout_.claim(place), F_WRLCK);
  return ::fcntl(fd_.get(), F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

bool ShmSegment::is_held(Endpoint place) const {
  const Claim& claim = claim_of(*this, place);
  const std::int32_t owner = claim.owner.load();
  if (owner == 0 || !process_runs(owner)) return false;
  return claim.locked.load() != owner || is_locked(place);
}

void ShmSegment::release(Endpoint place) const {
  Claim& claim = claim_of(*this, place);
  claim.locked.store(0);
  claim.owner.store(0);
  struct flock lock = lock_of(layout_.claim(place), F_UNLCK);
  static_cast<void>(::fcntl(fd_.get(), F_OFD_SETLK, &lock));
}

// Where another process has locked it, it is that one's, whatever the claim says.
bool ShmSegment::take(Endpoint place) const {
  Claim& claim = claim_of(*this, place);
  while (!is_held(place)) {
    std::int32_t owner = claim.owner.load();
    const bool locked = lock(place);
    if (!locked && errno == EAGAIN) return false;
    if (!claim.owner.compare_exchange_strong(owner, ::getpid())) continue;
    claim.locked.store(locked ? ::getpid() : 0);
    return true;
  }
  return false;
}

Result<std::unique_ptr<ShmWire>> ShmSegment::attach(Endpoint place,
                                                    std::shared_ptr<const PeerMemory> memory,
                                                    std::vector<Endpoint> numbers) {
  const std::uint32_t endpoints = layout_.options().endpoints;
  if (place >= endpoints) {
    return Error(Code::invalid_argument, "ShmSegment::attach: endpoint " + std::to_string(place) +
                                             " is not below " + std::to_string(endpoints));
  }
  if (numbers.empty()) {
    numbers.resize(endpoints);
    std::iota(numbers.begin(), numbers.end(), Endpoint{0});
  }
  if (!are_numbers(numbers, endpoints)) {
    return Error(Code::invalid_argument,
                 "ShmSegment::attach: the numbers of " + std::to_string(endpoints) +
                     " endpoints must be as many, each another one, and below " +
                     std::to_string(kMaxEndpoints));
  }
  if (take(place)) {
    return std::make_unique<ShmWire>(shared_from_this(), place, std::move(memory),
                                     std::move(numbers));
  }
  return Error(Code::invalid_argument, "ShmSegment::attach: process " +
                                           std::to_string(claim_of(*this, place).owner.load()) +
                                           " has endpoint " + std::to_string(place) +
                                           "; take another");
}

ShmWire::ShmWire(std::shared_ptr<ShmSegment> segment, Endpoint place,
                 std::shared_ptr<const PeerMemory> memory, std::vector<Endpoint> numbers)
    : segment_(std::move(segment)),
      memory_(std::move(memory)),
      place_(place),
      endpoints_(segment_->layout().options().endpoints),
      numbers_(std::move(numbers)),
      places_(places_of(numbers_)),
      outbound_(endpoints_),
      inbound_(endpoints_) {
  const std::uint32_t slots = segment_->layout().options().slots;
  for (Endpoint peer = 0; peer < endpoints_; ++peer) {
    RingWords* const out = ring_words(*segment_, place_, peer);
    RingWords* const in = ring_words(*segment_, peer, place_);
    RingWriter& writer = outbound_[peer].writer = RingWriter(&out->indices, slots);
    if (writer.broken() && !segment_->is_held(peer)) writer.restart();
    outbound_[peer].recall = RecallSender(&out->recall, void_bits(*segment_, place_, peer), slots,
                                          outbound_[peer].writer);
    // What a predecessor has sent and nobody has read yet may lie in any room.
    outbound_[peer].free_from.assign(segment_->layout().rooms(), outbound_[peer].writer.tail());
    inbound_[peer].reader = RingReader(&in->indices, slots);
    inbound_[peer].reader.skip_all();
    inbound_[peer].recall = RecallReader(&in->recall, void_bits(*segment_, peer, place_));
    inbound_[peer].packets.resize(slots);
  }
}

ShmWire::~ShmWire() {
  flush();
  // What was received and not retired is given up: its memory is not read any more.
  for (Inbound& inbound : inbound_) {
    if (inbound.recall.entered()) inbound.recall.leave();
  }
  Recall all = recall({.everything = true});
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (!recalled(all) && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  segment_->release(place_);
}

bool ShmWire::by_reference(const Packet& packet) const {
  if (memory_ == nullptr) return false;
  return std::all_of(
      packet.fragments, packet.fragments + packet.header.fragment_count,
      [this](const Fragment& fragment) { return memory_->offset_of(fragment).has_value(); });
}

bool ShmWire::send(const Packet& packet) {
  const Endpoint to = place_of(packet.header.destination);
  if (to >= endpoints_) return true;
  Outbound& outbound = outbound_[to];
  const auto index = outbound.writer.reserve();
  if (!index) return outbound.writer.broken();
  std::byte* slot = segment_->at(segment_->layout().slot(place_, to, *index));
  outbound.recall.fill(*index, packet);
  SlotHeader header = pack(packet);
  if (packet.header.fragment_count != 0) {
    write_fragments(packet, slot + kSlotHeaderBytes);
  } else if (has_room(packet.header)) {
    header.room = outbound.next_room;
    if (!outbound.writer.retired(outbound.free_from[header.room])) return outbound.writer.broken();
    std::memcpy(segment_->at(segment_->layout().room(place_, to, header.room)), packet.payload,
                packet.header.payload_size);
    outbound.free_from[header.room] = outbound.writer.tail() + 1;
    outbound.next_room = header.room + 1 < outbound.free_from.size() ? header.room + 1 : 0;
  } else if (packet.header.payload_size != 0) {
    std::memcpy(slot + kSlotHeaderBytes, packet.payload, packet.header.payload_size);
  }
  std::memcpy(slot, &header, sizeof header);
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
    const auto here = memory_->at(numbers_[peer], fragment.offset, fragment.size);
    if (!here || fragment.size == 0 || fragment.size > left) return false;
    packet.fragments[i] = {*here, fragment.size};
    left -= fragment.size;
  }
  return left == 0;
}

// Copies the packet out of its slot; false if no NIC of this version has written that.
bool ShmWire::read_slot(Endpoint peer, std::uint32_t index, Packet& packet) const {
  const std::byte* slot = segment_->at(segment_->layout().slot(peer, place_, index));
  SlotHeader header;
  std::memcpy(&header, slot, sizeof header);
  if (!is_sane(header, segment_->layout())) return false;
  unpack(header, packet);
  packet.header.source = numbers_[peer];
  packet.header.destination = numbers_[place_];
  const std::byte* const payload =
      has_room(packet.header) ? segment_->at(segment_->layout().room(peer, place_, header.room))
                              : slot + kSlotHeaderBytes;
  packet.payload = reinterpret_cast<const std::uint8_t*>(payload);
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
    switch (next_packet(inbound.reader, inbound.recall, *index)) {
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
  Inbound& inbound = inbound_[place_of(packet->header.source)];
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

// A peer that has ended reads nothing, whatever it has left behind in the ring.
bool ShmWire::still_read(const Recall::Wait& wait) {
  Outbound& outbound = outbound_[wait.peer];
  if (!outbound.recall.still_read(wait, outbound.writer)) return false;
  const std::int32_t owner = claim_of(*segment_, wait.peer).owner.load();
  return owner != 0 && outbound.process.runs(owner, steady_ns());
}

Recall ShmWire::recall(const RecallScope& scope) {
  Recall recall;
  for (Endpoint peer = 0; peer < endpoints_; ++peer) {
    Outbound& outbound = outbound_[peer];
    outbound.recall.recall(scope, peer, outbound.writer, recall);
  }
  return recall;
}

bool ShmWire::recalled(Recall& recall) {
  std::erase_if(recall.waits, [this](const Recall::Wait& wait) { return !still_read(wait); });
  return recall.waits.empty();
}

bool ShmWire::unread(Endpoint endpoint) const {
  const Endpoint peer = place_of(endpoint);
  return peer < endpoints_ && !is_broken(peer) && outbound_[peer].writer.unretired() != 0 &&
         segment_->is_held(peer);
}

bool ShmWire::broken(Endpoint peer) const { return is_broken(place_of(peer)); }

bool ShmWire::is_broken(Endpoint peer) const {
  return outbound_[peer].writer.broken() || inbound_[peer].reader.broken();
}

}  // namespace gdakit::softnic
