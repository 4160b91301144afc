#include "tests/verbs/verify/plan.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace gdakit::verify {
namespace {

constexpr std::uint32_t kGap = 24;  // bytes between two pieces, at most
constexpr std::uint32_t kFirst = 64;
// Each fourth message or so is as long as one of these, or a byte more or less: packets, inline
// data, cache lines and pages end there.
constexpr std::array<std::uint32_t, 11> kBorders{1, 4, 8, 16, 32, 64, 256, 1024, 4096, 8192, 65536};

[[noreturn]] void refuse(const char* what) {
  std::fprintf(stderr, "verbs_verify: %s\n", what);
  std::exit(2);
}

std::uint32_t longest_of(const Options& options) {
  return options.transport == "ud" ? std::min(options.longest, options.path_mtu) : options.longest;
}

std::uint32_t length_from(Numbers& numbers, const Options& options) {
  const std::uint32_t longest = longest_of(options);
  switch (numbers.below(4)) {
    case 0:
      return std::min(longest, kBorders[numbers.below(kBorders.size())] + numbers.below(3) - 1);
    case 1: return numbers.below(std::min<std::uint32_t>(longest, 200) + 1);
    case 2: return std::min(longest, options.path_mtu * numbers.below(4) + numbers.below(3));
    default: return numbers.below(longest + 1);
  }
}

// Cuts `length` bytes into pieces: some of them adjacent, some with gaps, at any alignment.
Pieces cut(Numbers& numbers, std::uint32_t length, std::uint32_t most) {
  Pieces pieces;
  std::uint32_t at = kFirst + numbers.below(64);
  const std::uint32_t count = length == 0 ? numbers.below(2) : 1 + numbers.below(most);
  for (std::uint32_t left = length, i = 0; i < count; ++i) {
    const std::uint32_t part = i + 1 == count ? left : numbers.below(left + 1);
    pieces.push_back({at, part});
    at += part + (numbers.chance(2) ? numbers.below(kGap) : 0);
    left -= part;
  }
  return pieces;
}

Kind kind_from(Numbers& numbers, ibv_qp_type type) {
  constexpr std::array kinds{Kind::send, Kind::send_imm, Kind::write, Kind::write_imm,
                             Kind::read, Kind::add,      Kind::count, Kind::swap};
  const std::uint32_t known = type == IBV_QPT_UD ? 2 : type == IBV_QPT_UC ? 4 : kinds.size();
  return kinds[numbers.below(known)];
}

Message make_message(Numbers& numbers, const Options& options) {
  Message message;
  message.kind = kind_from(numbers, type_of(options));
  message.key = numbers.next();
  message.length = message.is_atomic() ? kWordBytes : length_from(numbers, options);
  message.immediate = static_cast<std::uint32_t>(numbers.next());
  message.may_inline = numbers.chance(2);
  message.wants_completion = numbers.chance(2);
  message.begins_list = numbers.chance(3);
  message.mine = cut(numbers, message.length, message.is_atomic() ? 1 : kMostPieces);
  if (message.is_send()) {
    message.theirs = cut(numbers, message.length + numbers.below(64), kMostPieces);
  } else {
    message.theirs = {{kFirst + (message.is_atomic() ? 0 : numbers.below(64)), message.length}};
  }
  return message;
}

}  // namespace

std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

std::uint64_t Numbers::next() {
  state_ += 0x9e3779b97f4a7c15;
  return mixed(state_);
}

std::uint64_t Message::after() const {
  if (kind == Kind::add) return before() + key;
  return swap_succeeds() ? mixed(before()) : before();
}

std::string_view name_of(Kind kind) {
  constexpr std::array<std::string_view, 8> names{"send", "send_imm", "write", "write_imm",
                                                  "read", "add",      "count", "swap"};
  return names[static_cast<std::size_t>(kind)];
}

ibv_qp_type type_of(const Options& options) {
  if (options.transport == "ud") return IBV_QPT_UD;
  if (options.transport == "xrc") return IBV_QPT_XRC_SEND;
  return options.transport == "uc" ? IBV_QPT_UC : IBV_QPT_RC;
}

std::vector<Message> plan_round(const Options& options, int side, int round) {
  Numbers numbers(mixed(options.seed * 4096 + static_cast<std::uint64_t>(round * 2 + side)));
  std::vector<Message> messages;
  for (int queue = 0; queue < options.queues; ++queue) {
    for (int i = 0; i < options.depth; ++i) messages.push_back(make_message(numbers, options));
    Message& last = messages.back();
    last.wants_completion = true;
    // A receiver of UC learns from a message behind the others that they have come or are lost.
    while (options.transport == "uc" && !last.takes_receive()) {
      last = make_message(numbers, options);
      last.wants_completion = true;
    }
  }
  return messages;
}

std::uint32_t slot_bytes(const Options& options) {
  const std::uint32_t room =
      longest_of(options) + kGrhBytes + 2 * kFirst + kMostPieces * kGap + 128;
  return (room + 63) / 64 * 64;
}

Options read_options(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    const auto value = [&] {
      return i + 1 < count ? words[++i] : (refuse("a value is missing"), "");
    };
    const auto number = [&](int least, int most) {
      const int given = std::atoi(value());
      if (given < least || given > most) refuse("a number is out of range");
      return given;
    };
    if (word == "--transport")
      options.transport = value();
    else if (word == "--device")
      options.device = value();
    else if (word == "--gid")
      options.gid = number(0, 255);
    else if (word == "--queues")
      options.queues = number(1, 1024);
    else if (word == "--rounds")
      options.rounds = number(1, 1 << 20);
    else if (word == "--depth")
      options.depth = number(1, 256);
    else if (word == "--longest")
      options.longest = static_cast<std::uint32_t>(number(0, 1 << 24));
    else if (word == "--mtu")
      options.path_mtu = static_cast<std::uint32_t>(number(256, 4096));
    else if (word == "--seed")
      options.seed = static_cast<std::uint64_t>(number(0, 1 << 30));
    else if (word == "--events")
      options.events = true;
    else if (word == "--shared")
      options.shared = true;
    else if (word == "--late")
      options.late = true;
    else if (word == "--threads")
      options.threads = true;
    else
      refuse("an unknown option");
  }
  const std::array<std::string_view, 4> known{"rc", "xrc", "uc", "ud"};
  if (std::find(known.begin(), known.end(), options.transport) == known.end()) {
    refuse("--transport is rc, xrc, uc or ud");
  }
  const bool is_xrc = options.transport == "xrc";
  if (options.late && options.transport != "rc" && !is_xrc) refuse("--late is for rc and xrc");
  options.shared = options.shared || is_xrc;
  return options;
}

}  // namespace gdakit::verify
