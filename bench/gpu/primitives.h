// What the steps of a put cost by themselves, without queue protocol and NIC: the bounds that
// latency_bench holds the whole path against. Raw CUDA on memory of its own.
//
//   GPU thread       host thread                    GPU thread
//   doorbell ------> sees it
//                    fetch: 64 bytes of GPU memory
//                    gather: 8 bytes more, where a copy between two places of one GPU takes two
//                    write: payload, then CQE ----> sees the CQE
//
// With queues in pinned host memory the host loads the WQE (line), waits for the payload to be in
// place (deliver), and stores the CQE (as long as a doorbell, the other way).
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/options.h"
#include "core/base/result.h"

namespace gdakit::bench {

// Medians, in microseconds.
struct Primitives {
  struct Method {
    double fetch_us;    // 64 bytes of GPU memory to the host, until the host knows that they came
    double write_us;    // payload and CQE from the host to GPU memory, until a thread sees the CQE
    double deliver_us;  // payload to GPU memory, until the host knows that it is there
  };

  double doorbell_us;  // half of a round trip through two words of pinned host memory
  double line_us;      // 64 bytes of pinned host memory that the GPU has just written
  Method copy_engine;
  Method kernels;

  // What an operation of 8 bytes needs at least by that method, or nothing for one that was not
  // measured. `from_memory`: the bytes come from GPU memory in place of the WQE.
  std::optional<double> sum_us(DmaChoice dma, QueuePlace queues, bool from_memory) const;
};

// Each by `rounds` rounds on one GPU.
Result<Primitives> measure_primitives(int gpu, std::uint32_t rounds);

}  // namespace gdakit::bench
