// Where an operation of the host is performed: by a kernel of this library on a stream of a GPU, or
// at once on the emulator.
#pragma once

#include "core/host/context.h"
#include "host_calls/operation.h"

namespace gdakit {

// Returns when the kernel is in the stream; on the emulator, when it has ended. What it reports,
// Context::synchronize says.
Result<void> enqueue(Context& context, Stream stream, const HostOperation& operation);

namespace detail {

// Threads of the block that performs an operation.
inline constexpr std::uint32_t kOperationThreads = 256;
inline constexpr std::uint32_t kEmulatedOperationThreads = 4;  // enough to share work out

// One for each kernel of operation.h, in a file of its own: they take long to compile.
template <class Kernel>
Result<void> enqueue_on_gpu(Context& context, Stream stream, const Kernel& kernel);

}  // namespace detail
}  // namespace gdakit
