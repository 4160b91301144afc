// Reports of the device in words: stalls (stall.cc), bad arguments (fault.cc), broken queues.
#pragma once

#include <string>
#include <vector>

#include "core/format/cqe.h"
#include "device/status.h"
#include "device/views.h"

namespace gdakit {

class SymmetricHeap;

// What the host knows beside a report.
struct HostView {
  struct Queue {
    int peer;
    std::string text;  // "the queue to PE 3 is broken: ..."
  };

  const SymmetricHeap* heap = nullptr;  // names objects, and tells who is a direct peer
  std::vector<Queue> broken_queues;
};

// A syndrome's name and what usually causes it: "remote access error: ...".
std::string describe(format::Syndrome syndrome);

// The name of a WQE's opcode as the PRM writes it, or its number.
std::string opcode_name(std::uint8_t opcode);

// The PEs at the other end of a queue: one, or of DC each that is a multiple of `step` on, too.
struct QueuePeers {
  int first = 0;
  int step = 0;  // 0: RC

  bool has(int pe) const { return pe == first || (step != 0 && pe % step == first); }
  // "PE 3", or, where others share it, "PE 3, PE 11 and so on (DC)".
  std::string text() const;
};

// "the queue to PE 3 is broken: remote access error (...) at WQE 12, RDMA_WRITE".
std::string describe(const QueueError& error, const QueuePeers& peers);

// "queue 1", or "channel 0" where the number is one of a channel.
std::string queue_name(std::uint32_t queue);
// "the queue to PE 3 is broken: transport retry exceeded: ... (queue 0)", in the NIC's words.
std::string broken_queue_text(std::uint32_t queue, const QueuePeers& peers, const std::string& why);

// A Status in words; for kernels' results that reach the host.
std::string describe(const Status& status);

// What a thread that waits at `site` waits for.
const char* waited_for(Site site);
// ", in quiet or the end of an operation": what the thread has called, as far as the site tells.
const char* called_there(Site site);

// Whether what is waited for there is one queue's.
bool concerns_queue(Site site);

// Several lines: who waited where and for what, how far the queue has come or which queues are
// broken, and which side is to blame, where that can be known.
std::string describe(const StallReport& report, int my_pe, const HostView& host = {});

// Which operation, of which thread, and which of its arguments. `heap` may be null.
std::string describe(const FaultReport& report, int my_pe, const SymmetricHeap* heap = nullptr);

// "'counts' (4096 bytes) + 256 [0x7f31a0806100]", or "address 0x7f31a0806100" where that is not
// memory of the heap. `heap` may be null.
std::string place_text(std::uint64_t address, const SymmetricHeap* heap);

}  // namespace gdakit
