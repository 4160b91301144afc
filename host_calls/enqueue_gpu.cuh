// How each kernel of operation.h is launched on a GPU; the .cu files each compile one of them.
#pragma once

#define GDAKIT_ON_GPU_ONLY
#include "gdakit.h"
#include "host_calls/enqueue.h"

namespace gdakit::detail {

template <class Kernel>
Result<void> enqueue_on_gpu(Context& context, Stream stream, const Kernel& kernel) {
  return context.launch_on<Kernel, CompiledForGpu>(stream, kernel,
                                                   {.blocks = 1, .threads = kOperationThreads});
}

}  // namespace gdakit::detail
