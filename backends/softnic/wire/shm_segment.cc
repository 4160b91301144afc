#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <numeric>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/softnic/wire/shm_parts.h"
#include "backends/softnic/wire/shm_slot.h"
#include "backends/softnic/wire/shm_wire.h"
#include "core/host/memory/memory_file.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint64_t kMagic = 0x6764616b69745731;  // "gdakitW1"
constexpr std::uint32_t kVersion = 9;
constexpr std::size_t kHeaderBytes = 4096;
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

struct flock lock_of(std::size_t byte, int type) {
  return {static_cast<short>(type), SEEK_SET, static_cast<off_t>(byte), /*l_len=*/1, /*l_pid=*/0};
}

bool are_numbers(const std::vector<Endpoint>& numbers, std::uint32_t endpoints) {
  std::vector<Endpoint> sorted = numbers;
  std::sort(sorted.begin(), sorted.end());
  return sorted.size() == endpoints && sorted.back() < ShmSegment::kMaxNumbers &&
         std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
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
std::size_t ShmLayout::callers(Endpoint endpoint) const {
  const std::size_t bytes = round_up(caller_words(options_.endpoints) * sizeof(CallerBits), 64);
  return claim(options_.endpoints) + endpoint * bytes;
}
std::size_t ShmLayout::bytes_of_words() const {
  return sizeof(RingWords) + round_up(void_words(options_.slots) * sizeof(VoidBits), 64);
}
std::size_t ShmLayout::words(Endpoint from, Endpoint to) const {
  return callers(options_.endpoints) + number(from, to) * bytes_of_words();
}
std::size_t ShmLayout::void_bits(Endpoint from, Endpoint to) const {
  return words(from, to) + sizeof(RingWords);
}
std::size_t ShmLayout::slot(Endpoint from, Endpoint to, std::uint32_t index) const {
  const std::size_t begin = callers(options_.endpoints) + rings() * bytes_of_words();
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
                     std::to_string(kMaxNumbers));
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

}  // namespace gdakit::softnic
