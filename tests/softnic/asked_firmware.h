// A device that is asked about itself, by mailboxes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include <gtest/gtest.h>

#include "backends/softnic/firmware/firmware.h"
#include "core/format/prm/command.h"
#include "tests/softnic/firmware_rig.h"

namespace gdakit::softnic::test {

inline std::uint64_t bits_set(std::span<const std::uint8_t> bytes) {
  std::uint64_t count = 0;
  for (const std::uint8_t byte : bytes) count += static_cast<std::uint64_t>(std::popcount(byte));
  return count;
}

// Its engine does nothing.
class AskedFirmware {
 public:
  explicit AskedFirmware(FirmwareIdentity identity = {})
      : firmware_(engine_, nullptr, std::move(identity)) {}

  template <class Request>
  Status ask(prm::Opcode opcode, prm::Mailbox<Request> in, std::span<std::uint8_t> out) {
    in.set(prm::MboxIn::opcode, static_cast<std::uint64_t>(opcode));
    in.set(prm::MboxIn::uid, kUid);
    std::ranges::fill(out, std::uint8_t{0xee});
    const CommandStatus status = firmware_.execute(in.bytes(), out);
    if (out.size() < prm::MboxOut::kBytes) return {status, CommandSyndrome::none};
    const prm::View<prm::MboxOut> view(out);
    EXPECT_EQ(view.get(prm::MboxOut::status), static_cast<std::uint64_t>(status));
    const auto syndrome = static_cast<CommandSyndrome>(view.get(prm::MboxOut::syndrome));
    if (status != CommandStatus::ok) {
      EXPECT_EQ(bits_set(out.subspan(8)), 0u);
    }
    return {status, syndrome};
  }

 private:
  std::shared_ptr<LoopbackFabric> fabric_ = LoopbackFabric::create();
  std::unique_ptr<Wire> wire_ = std::move(*fabric_->attach(0));
  HostDma dma_;
  Engine engine_{EngineOptions{}, dma_, *wire_};
  Firmware firmware_;
};

}  // namespace gdakit::softnic::test
