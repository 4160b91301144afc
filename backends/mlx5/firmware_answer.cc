#include "backends/mlx5/firmware_answer.h"

#include "core/base/hex.h"
#include "core/format/prm/command.h"

namespace gdakit::mlx5 {
namespace {

constexpr std::uint64_t kBadResource = 0x05;
constexpr std::uint64_t kLimitsExceeded = 0x08;
constexpr std::uint64_t kBadResourceState = 0x09;
constexpr std::uint64_t kBadIndex = 0x0a;
constexpr std::uint64_t kBadQueuePairState = 0x10;

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

bool tells_of_object(std::span<const std::uint8_t> out) {
  const std::uint64_t status = status_of(out);
  return status == kBadResource || status == kBadResourceState || status == kBadIndex ||
         status == kBadQueuePairState;
}

}  // namespace gdakit::mlx5
