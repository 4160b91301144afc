#include "backends/mlx5/firmware_answer.h"

#include <algorithm>

#include "core/base/hex.h"
#include "core/format/prm/command.h"

namespace gdakit::mlx5 {
namespace {

constexpr std::uint64_t kBadResource = 0x05;
constexpr std::uint64_t kLimitsExceeded = 0x08;
constexpr std::uint64_t kBadResourceState = 0x09;
constexpr std::uint64_t kBadIndex = 0x0a;
constexpr std::uint64_t kBadQueuePairState = 0x10;

constexpr std::size_t kMarkBytes = 4;
constexpr std::uint8_t kMark = 0xa5;

std::uint64_t status_of(std::span<const std::uint8_t> out) {
  using format::prm::MboxOut;
  return format::prm::View<MboxOut>(out).get(MboxOut::status);
}

const char* status_name(std::uint64_t status) {
  switch (status) {
    case 0x01: return "internal error";
    case 0x02: return "bad operation";
    case 0x03: return "bad parameter";
    case 0x04: return "bad system state";
    case kBadResource: return "bad resource";
    case 0x06: return "resource busy";
    case kLimitsExceeded: return "limits exceeded";
    case kBadResourceState: return "bad resource state";
    case kBadIndex: return "bad index";
    case 0x0f: return "no resources";
    case kBadQueuePairState: return "bad state of the queue pair";
    case 0x50: return "bad input length";
    case 0x51: return "bad output length";
    default: return "unknown";
  }
}

}  // namespace

std::string firmware_answer(std::span<const std::uint8_t> out) {
  using format::prm::MboxOut;
  const format::prm::View<MboxOut> answer(out);
  const std::uint64_t status = status_of(out);
  if (status == 0) return {};
  const std::string text = "; the firmware's status is " + hex_number(status) + " (" +
                           status_name(status) + "), syndrome " +
                           hex_number(answer.get(MboxOut::syndrome));
  if (status != kLimitsExceeded) return text;
  return text +
         ": the NIC, or the virtual function, has no more of it (`rdma resource show` counts what "
         "is in use; GDAKIT_QUEUES_PER_PEER asks for less)";
}

void mark_end(std::span<std::uint8_t> out) { std::ranges::fill(out.last(kMarkBytes), kMark); }

std::string wrong_with_answer(std::span<const std::uint8_t> out) {
  const auto is_mark = [](std::uint8_t byte) { return byte == kMark; };
  if (std::ranges::all_of(out.last(kMarkBytes), is_mark)) {
    return "fewer bytes than the " + std::to_string(out.size()) + " of its answer";
  }
  const std::string status = firmware_answer(out);
  return status.empty() ? "" : "success" + status;
}

bool tells_of_object(std::span<const std::uint8_t> out) {
  const std::uint64_t status = status_of(out);
  return status == kBadResource || status == kBadResourceState || status == kBadIndex ||
         status == kBadQueuePairState;
}

}  // namespace gdakit::mlx5
