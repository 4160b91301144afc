// Streams whose kernels may wait for kernels of other streams.
//
// CUDA gives a stream one of the GPU's hardware queues when the stream gets its first work. When
// several threads give several new streams their first work at the same time, two streams may get
// the same queue although others are free (driver 580.159 on an H100: most runs of three threads
// with one new stream each). Then a kernel of one stream starts only when those before it in the
// other have ended, and if they wait for that kernel, both hang. So a stream gets its first work
// here, one stream after the other.
#pragma once

#include <cuda_runtime_api.h>
#include <mutex>

#include "core/base/result.h"

namespace gdakit::cuda {

// Held by whoever gives a new stream of this process its first work.
std::mutex& first_work();

// Launches a kernel that does nothing on a stream of the current device. first_work() is held.
// Errors: what CUDA says.
Result<void> give_work(cudaStream_t stream);

// A new stream that waits for no other one, and that has had its first work. Errors: what CUDA
// says.
Result<cudaStream_t> make_stream();

}  // namespace gdakit::cuda
