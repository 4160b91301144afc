#include "backends/mlx5/firmware_answer.h"

#include "core/base/hex.h"
#include "core/format/prm/command.h"

namespace gdakit::mlx5 {
namespace {

constexpr std::uint64_t kLimitsExceeded = 0x08;

const char* status_name(std::uint64_t status) {
  switch (status) {
    case 0x01: return "internal error";
    case 0x02: return "bad operation";
    case 0x03: return "bad parameter";
    case 0x04: return "bad system state";
    case 0x05: return "bad resource";
    case 0x06: return "resource busy";
    case 0x08: return "limits exceeded";
    case 0x09: return "bad resource state";
    case 0x0a: return "bad index";
    case 0x0f: return "no resources";
    case 0x10: return "bad state of the queue pair";
    case 0x50: return "bad input length";
    case 0x51: return "bad output length";
    default: return "unknown";
  }
}

}  // namespace

std::string firmware_answer(std::span<const std::uint8_t> out) {
  using format::prm::MboxOut;
  const format::prm::View<MboxOut> answer(out);
  const std::uint64_t status = answer.get(MboxOut::status);
  if (status == 0) return {};
  const std::string text = "; the firmware's status is " + hex_number(status) + " (" +
                           status_name(status) + "), syndrome " +
                           hex_number(answer.get(MboxOut::syndrome));
  if (status != kLimitsExceeded) return text;
  return text +
         ": the NIC, or the virtual function, has no more of it (`rdma resource show` counts what "
         "is in use; GDAKIT_QUEUES_PER_PEER asks for less)";
}

}  // namespace gdakit::mlx5
