// A DMA port of PE 0 over a NicRig's memory, without an engine.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "sim/world/dma_port.h"
#include "tests/world/nic_rig.h"

namespace gdakit::sim::test {

struct Port {
  explicit Port(Strategy& strategy, const Knobs& knobs = {}, Trace* trace = nullptr)
      : rig(knobs), chooser(strategy) {
    chooser.begin();
    start(chooser, trace);
  }
  Port(Chooser& given, const Knobs& knobs) : rig(knobs), chooser(given) { start(given, nullptr); }

  void start(Chooser& given, Trace* trace) {
    rig.begin(given, trace, /*bare=*/true);
    dma = std::make_unique<SimDma>(rig.memory, given, rig.knobs, rig.space, rig.layout,
                                   rig.port_place(0));
  }
  std::uint64_t read_word(std::uint64_t offset) {
    std::uint64_t value = ~std::uint64_t{0};
    dma->read(&value, rig.at(offset), sizeof value);
    while (dma->pending()) dma->advance();
    return value;
  }
  void write_word(std::uint64_t offset, std::uint64_t value) {
    EXPECT_EQ(dma->write(rig.at(offset), &value, sizeof value).id, 0u);
  }

  NicRig rig;
  Chooser chooser;
  std::unique_ptr<SimDma> dma;
};

// Bytes that all differ from their neighbours.
inline std::vector<std::uint8_t> pattern(std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + 1);
  return bytes;
}

}  // namespace gdakit::sim::test
