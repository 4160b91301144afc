// Channels of a PE on the host's side: queue pairs with receive queues, and the tables of them that
// those threads read who drive them (device/channel.h).
//
// They stand apart from the queues of the QueueTable, which become neither slower nor larger by
// them. What Context::add_channels makes at once is one set.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/options.h"
#include "core/host/queue_rows.h"
#include "device/channel_views.h"

namespace gdakit {

inline constexpr std::uint32_t kMaxChannelsPerPeer = 1024;

// Who drives this PE's end of a channel. PEs may differ.
enum class ChannelEnd : std::uint8_t {
  kernels,  // kernels (Pe::channel); on the emulator host threads, too, but not at the same time
  host,     // host threads (host_calls/host_channel.h): all of it lies in the host's memory
};

struct ChannelOptions {
  std::uint32_t count = 1;            // channels to each PE, the PE itself included
  std::uint32_t receive_depth = 256;  // receives that may be posted at once: 1, 2, 4 ... 32768
  ChannelEnd end = ChannelEnd::kernels;
  // How often the NIC sends a message again to a PE that has no receive posted, with 0.64 ms
  // between (the receiver's RNR timer): 0 .. 6; 7 for ever. Then the channel breaks.
  std::uint8_t rnr_retry = 7;
};

class ChannelSet {
 public:
  // Collective. Channels to `peers`, and void views for other PEs. `first` is the number of the
  // first channel; `options` give the depth of the send queues, `handler` says who rings for
  // kernels.
  static Result<std::unique_ptr<ChannelSet>> create(const Options& options, Bootstrap& bootstrap,
                                                    Backend& backend, MemoryProvider& memory,
                                                    const ChannelOptions& wanted,
                                                    std::uint32_t first, Handler handler,
                                                    Place place, const std::vector<int>& peers);

  Channels channels() const;
  // Channel by channel, and of each in the order of the peers.
  const HostQueues& queues() const { return rows_.queues; }
  ChannelEnd end() const { return end_; }
  // The states of all send queues as they are now.
  Result<std::vector<QueueState>> read_states() const { return rows_.arena->read_states(); }

 private:
  ChannelSet(ChannelEnd end, std::uint32_t count, std::uint32_t first)
      : end_(end), count_(count), first_(first) {}

  Result<void> make_tables(MemoryProvider& memory, std::size_t queues, Place place);
  // Tells the threads that will use them, of `n` PEs.
  Result<void> show(const std::vector<int>& peers, std::size_t n);

  const ChannelEnd end_;
  const std::uint32_t count_;
  const std::uint32_t first_;
  std::unique_ptr<MemoryBlock> queue_table_;     // QueueView[count][size]
  std::unique_ptr<MemoryBlock> receive_table_;   // ReceiveView[count][size]
  std::unique_ptr<MemoryBlock> receive_states_;  // ReceiveState[count][size]
  RowsOfQueues rows_;
};

}  // namespace gdakit
