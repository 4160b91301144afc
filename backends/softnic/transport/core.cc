#include "backends/softnic/transport/core.h"

#include <algorithm>

namespace gdakit::softnic {

Core::Core(DmaPort& dma_port, Wire& packet_wire, std::uint32_t buffers, bool short_cqes)
    : port(dma_port),
      wire(packet_wire),
      ordered(dma_port.ordered()),
      orders_ends(dma_port.orders_ends()),
      psn_bytes(packet_wire.psn_bytes()),
      mtu(packet_wire.mtu() - packet_wire.mtu() % psn_bytes),
      value_mtu(packet_wire.value_mtu()),
      short_cqes_(short_cqes),
      buffers_(buffers, packet_wire.value_mtu()) {}

// The value is judged by the counter as it was when the read began, which the record cannot be
// behind if it is written before each doorbell. The counter may have gone on by a whole queue
// since, and then what is old looks new.
bool Core::poll_record(RecordRead& record, DmaAddress address, std::uint64_t& producer,
                       std::uint64_t depth) {
  if (!record.reading) {
    if (!record.wanted) return false;
    record.wanted = false;
    record.since = producer;
    record.op = port.read(&record.word, address, sizeof record.word);
    record.reading = true;
  }
  if (!done(record.op)) return false;
  record.reading = false;
  const auto value = static_cast<std::uint16_t>(record.word);
  const std::uint64_t advance = producer_advance(record.since, value, depth);
  const bool says_less = advance == 0 && value != static_cast<std::uint16_t>(record.since);
  record.behind |= record.rung && says_less;
  producer = std::max(producer, record.since + advance);
  return true;
}

}  // namespace gdakit::softnic
