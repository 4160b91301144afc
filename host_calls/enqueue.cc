#include "host_calls/enqueue.h"

#include "gdakit.h"

namespace gdakit {
namespace {

// A kernel that reads or writes a null pointer would take the GPU's context with it.
Result<void> check_pointers(const HostOperation& what) {
  const bool asks =
      what.kind == HostOperation::Kind::wait || what.kind == HostOperation::Kind::test;
  if (!asks || what.count == 0) return {};
  const char* null = nullptr;
  if (what.source == nullptr) null = "words";
  if (what.each && what.values == nullptr) null = "values";
  if (what.which == HostOperation::Which::some && what.dest == nullptr) null = "indices";
  if (null == nullptr) return {};
  return Error(Code::invalid_argument, std::string("a wait for words, or a test of them, takes ") +
                                           null + ", which is a null pointer");
}

}  // namespace

Result<void> enqueue(Context& context, Stream stream, const HostOperation& operation) {
  if (auto checked = check_pointers(operation); !checked) return checked;
  return with_kernel_for(operation, [&](const auto& kernel) -> Result<void> {
    if (context.on_gpu()) return detail::enqueue_on_gpu(context, stream, kernel);
    using Kernel = std::remove_cvref_t<decltype(kernel)>;
    return context.launch_on<Kernel, CompiledForCpu>(
        stream, kernel, {.blocks = 1, .threads = detail::kEmulatedOperationThreads});
  });
}

}  // namespace gdakit
