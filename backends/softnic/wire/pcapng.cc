#include "backends/softnic/wire/pcapng.h"

#include <algorithm>
#include <cstring>

#include "core/base/bits.h"

namespace gdakit::softnic::pcapng {
namespace {

constexpr std::uint32_t kSection = 0x0a0d0d0a;
constexpr std::uint32_t kInterface = 1;
constexpr std::uint32_t kStatistics = 5;
constexpr std::uint32_t kEnhancedPacket = 6;
constexpr std::uint32_t kByteOrder = 0x1a2b3c4d;
constexpr std::uint64_t kUnknownLength = ~std::uint64_t{0};
constexpr std::uint16_t kRawIp = 101;

// Options, by the block that they are of.
constexpr std::uint16_t kEnd = 0, kComment = 1;
constexpr std::uint16_t kSectionApplication = 4;
constexpr std::uint16_t kInterfaceName = 2, kInterfaceResolution = 9;
constexpr std::uint16_t kPacketFlags = 2, kPacketDropCount = 4;
constexpr std::uint16_t kReceived = 4, kDropped = 5;  // of statistics
constexpr std::uint8_t kNanoseconds = 9;              // the power of ten

// How much of a text an option holds, in whole characters.
std::size_t longest_part(std::string_view text) {
  constexpr std::size_t kMost = 0xffff;
  if (text.size() <= kMost) return text.size();
  std::size_t size = kMost;
  while (size != 0 && (text[size] & 0xc0) == 0x80) --size;
  return size;
}

// Builds one block behind the bytes that are there: type, length, body, length.
class Block {
 public:
  Block(std::vector<std::uint8_t>& out, std::uint32_t type) : out_(out), begin_(out.size()) {
    put(type);
    put(std::uint32_t{0});
  }
  template <class Integer>
  void put(Integer value) {
    put_bytes(&value, sizeof value);
  }
  void put_bytes(const void* bytes, std::size_t size) {
    const auto* const from = static_cast<const std::uint8_t*>(bytes);
    out_.insert(out_.end(), from, from + size);
  }
  void put_padded(const void* bytes, std::size_t size) {
    put_bytes(bytes, size);
    out_.resize(out_.size() + round_up(size, 4) - size);
  }
  void put_option(std::uint16_t code, const void* bytes, std::size_t size) {
    put(code);
    put(static_cast<std::uint16_t>(size));
    put_padded(bytes, size);
  }
  void put_option(std::uint16_t code, std::uint64_t value) {
    put_option(code, &value, sizeof value);
  }
  void put_option(std::uint16_t code, std::string_view text) {
    const std::size_t size = longest_part(text);
    if (size != 0) put_option(code, text.data(), size);
  }
  void put_time(std::uint64_t time_ns) {
    put(static_cast<std::uint32_t>(time_ns >> 32));
    put(static_cast<std::uint32_t>(time_ns));
  }
  void end() {
    put(kEnd);
    put(std::uint16_t{0});
    const auto length = static_cast<std::uint32_t>(out_.size() - begin_ + sizeof(std::uint32_t));
    put(length);
    std::memcpy(&out_[begin_ + sizeof(std::uint32_t)], &length, sizeof length);
  }

 private:
  std::vector<std::uint8_t>& out_;
  const std::size_t begin_;
};

}  // namespace

void add_section(std::vector<std::uint8_t>& out, std::string_view application) {
  Block block(out, kSection);
  block.put(kByteOrder);
  block.put(std::uint16_t{1});
  block.put(std::uint16_t{0});
  block.put(kUnknownLength);
  block.put_option(kSectionApplication, application);
  block.end();
}

void add_interface(std::vector<std::uint8_t>& out, std::string_view name) {
  Block block(out, kInterface);
  block.put(kRawIp);
  block.put(std::uint16_t{0});
  block.put(std::uint32_t{0});  // packets of any length
  block.put_option(kInterfaceName, name);
  block.put_option(kInterfaceResolution, &kNanoseconds, sizeof kNanoseconds);
  block.end();
}

void add_packet(std::vector<std::uint8_t>& out, const Captured& captured,
                std::span<const std::uint8_t> frame) {
  const auto size = static_cast<std::uint32_t>(frame.size());
  Block block(out, kEnhancedPacket);
  block.put(captured.interface);
  block.put_time(captured.time_ns);
  block.put(size);
  block.put(std::max(size, captured.original_bytes));
  block.put_padded(frame.data(), frame.size());
  if (captured.direction != Direction::unknown) {
    block.put_option(kPacketFlags, &captured.direction, sizeof captured.direction);
  }
  if (captured.dropped != 0) block.put_option(kPacketDropCount, captured.dropped);
  block.put_option(kComment, captured.comment);
  block.end();
}

void add_statistics(std::vector<std::uint8_t>& out, const Statistics& statistics) {
  Block block(out, kStatistics);
  block.put(statistics.interface);
  block.put_time(statistics.time_ns);
  block.put_option(kReceived, statistics.received);
  block.put_option(kDropped, statistics.dropped);
  block.end();
}

}  // namespace gdakit::softnic::pcapng
