#include "host_calls/enqueue.h"

#include "gdakit.h"

namespace gdakit {

Result<void> enqueue(Context& context, Stream stream, const HostOperation& operation) {
  return with_kernel_for(operation, [&](const auto& kernel) -> Result<void> {
    if (context.on_gpu()) return detail::enqueue_on_gpu(context, stream, kernel);
    using Kernel = std::remove_cvref_t<decltype(kernel)>;
    return context.launch_on<Kernel, CompiledForCpu>(
        stream, kernel, {.blocks = 1, .threads = detail::kEmulatedOperationThreads});
  });
}

}  // namespace gdakit
