// The firmware as a client finds it where something of the NIC is broken (failures.h): it refuses
// commands, has few objects, or denies what it can do.
//
//   if (failing.refuses(in, out, status)) return;      // `out` has the answer
//   status = firmware.execute(in, out, sender);
//   failing.answered(in, out, status);
//
// Calls come one at a time.
#pragma once

#include <cstdint>
#include <span>

#include "backends/softnic/objects/status.h"
#include "backends/softnic/uverbs/failures.h"

namespace gdakit::softnic::uverbs {

class FailingFirmware {
 public:
  // They must outlive this. Of RoCE's ports all packets have a global routing header.
  FailingFirmware(const NicFailures& failures, bool is_infiniband)
      : failures_(failures), is_infiniband_(is_infiniband) {}

  // Whether the command is refused; the answer and its status are written then. `out` has at least
  // MboxOut::kBytes, and `in` MboxIn::kBytes.
  bool refuses(std::span<const std::uint8_t> in, std::span<std::uint8_t> out,
               CommandStatus& status) const;
  // Of a command that the firmware has carried out: counts objects, takes back what a query of
  // capabilities says that the NIC has not, and adds what is odd.
  void answered(std::span<const std::uint8_t> in, std::span<std::uint8_t> out,
                CommandStatus status);

 private:
  const Refusal* refusal_of(std::span<const std::uint8_t> in) const;
  const Refusal* path_refusal_of(std::span<const std::uint8_t> in) const;
  const Refusal* port_refusal_of(std::span<const std::uint8_t> in) const;
  void deny(std::uint16_t page, std::span<std::uint8_t> capability) const;

  const NicFailures& failures_;
  const bool is_infiniband_;
  std::uint64_t qps_ = 0, cqs_ = 0;
};

}  // namespace gdakit::softnic::uverbs
