#include "backends/softnic/gpu/copy_context.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <utility>

#include "backends/softnic/gpu/two_row_copy.h"

namespace gdakit::softnic {
namespace {

CUstreamBatchMemOpParams memory_operation(const GpuWord& word) {
  CUstreamBatchMemOpParams out{};
  out.writeValue.address = word.to;
  out.writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
  if (word.size == 8) {
    out.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    out.writeValue.value64 = word.value;
  } else {
    out.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    out.writeValue.value = static_cast<cuuint32_t>(word.value);
  }
  return out;
}

// One context of each GPU that is not used any more, for the next Context of this process: to make
// one takes CUDA longer than all else that a PE needs, and the longer the more connections it has.
class SpareContexts {
 public:
  static SpareContexts& of_process() {
    static auto* const all = new SpareContexts;  // CUDA may end before static objects do
    return *all;
  }

  // Null if there is none.
  CUcontext take(int ordinal) {
    const std::lock_guard lock(mutex_);
    return std::exchange(by_gpu_[ordinal], nullptr);
  }
  // False if there is one already.
  bool give(int ordinal, CUcontext context) {
    const std::lock_guard lock(mutex_);
    CUcontext& spare = by_gpu_[ordinal];
    if (spare != nullptr) return false;
    spare = context;
    return true;
  }

 private:
  std::mutex mutex_;
  std::map<int, CUcontext> by_gpu_;
};

}  // namespace

Result<std::unique_ptr<CopyContext>> CopyContext::create(int ordinal) {
  const Result<const cuda::Driver*> driver = cuda::driver();
  if (!driver) return driver.error();
  CUdevice device = 0;
  if (auto got = cuda::check(**driver, (*driver)->device(&device, ordinal), "cuDeviceGet"); !got) {
    return got.error();
  }
  if (const CUcontext spare = SpareContexts::of_process().take(ordinal); spare != nullptr) {
    return std::unique_ptr<CopyContext>(new CopyContext(**driver, ordinal, spare));
  }
  CUcontext context = nullptr;
  const CUresult code = (*driver)->context_create(&context, /*affinities=*/nullptr, /*count=*/0,
                                                  CU_CTX_SCHED_AUTO, device);
  if (auto made = cuda::of_context(cuda::check(**driver, code, "cuCtxCreate")); !made) {
    return made.error();
  }
  std::unique_ptr<CopyContext> made_context(new CopyContext(**driver, ordinal, context));
  // It was made the thread's current one.
  CUcontext popped = nullptr;
  if (auto left = cuda::check(**driver, (*driver)->context_pop(&popped), "cuCtxPopCurrent");
      !left) {
    made_context->healthy_ = false;
    return left.error();
  }
  return made_context;
}

CopyContext::~CopyContext() {
  if (healthy_ && SpareContexts::of_process().give(ordinal_, context_)) return;
  driver_.context_destroy(context_);
}

// Calls act() where the context is the thread's current one.
template <class Act>
CUresult CopyContext::here(const Act& act) {
  CUresult code = driver_.context_push(context_);
  if (code == CUDA_SUCCESS) {
    code = act();
    CUcontext popped = nullptr;
    const CUresult left = driver_.context_pop(&popped);
    if (code == CUDA_SUCCESS) code = left;
  }
  if (code != CUDA_SUCCESS) healthy_ = false;
  return code;
}

CUresult CopyContext::make_stream(int priority, Stream& made) {
  return here([&] {
    const CUresult code = driver_.stream_create(&made.stream, CU_STREAM_NON_BLOCKING, priority);
    return code != CUDA_SUCCESS ? code : driver_.event_create(&made.event, CU_EVENT_DISABLE_TIMING);
  });
}

CUresult CopyContext::destroy_stream(const Stream& stream) {
  return here([&] {
    // One that make_stream could not make whole lacks the event, or both.
    const CUresult event =
        stream.event == nullptr ? CUDA_SUCCESS : driver_.event_destroy(stream.event);
    if (stream.stream == nullptr) return event;
    const CUresult idle = driver_.stream_query(stream.stream);
    const CUresult done = driver_.stream_destroy(stream.stream);
    if (event != CUDA_SUCCESS) return event;
    return idle != CUDA_SUCCESS ? idle : done;
  });
}

// Two rows of so many bytes, one behind the other. The current context is this one.
CUresult CopyContext::copy_rows(const Stream& stream, std::uint64_t to, const Source& from,
                                std::size_t row_bytes) {
  CUDA_MEMCPY2D rows{};
  rows.srcMemoryType = from.type;
  rows.srcHost = reinterpret_cast<const void*>(from.address);
  rows.srcDevice = from.address;
  rows.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  rows.dstDevice = to;
  rows.srcPitch = rows.dstPitch = rows.WidthInBytes = row_bytes;
  rows.Height = 2;
  return driver_.copy_rows(&rows, stream.stream);
}

// A small copy to a GPU, if linear, becomes part of the commands for the engine that runs kernels,
// and waits for this context's turn there: 2.4 ms beside a kernel on an H200, driver 580. One of
// two rows goes to the copy engine: 8 us.
template <class Linear>
CUresult CopyContext::copy_by_engine(const Stream& stream, std::uint64_t to, const Source& from,
                                     std::size_t size, const Linear& linear) {
  const TwoRows rows = two_rows(to, size);
  if (rows.row_bytes == 0 || size >= kLargeCopy) return here(linear);
  return here([&] {
    const CUresult code = copy_rows(stream, to, from, rows.row_bytes);
    if (code != CUDA_SUCCESS || rows.end_row_bytes == 0) return code;
    const std::size_t at = size - 2 * rows.end_row_bytes;
    return copy_rows(stream, to + at, {from.type, from.address + at}, rows.end_row_bytes);
  });
}

CUresult CopyContext::copy_in(const Stream& stream, std::uint64_t to, const void* from,
                              std::size_t size) {
  const Source source{CU_MEMORYTYPE_HOST, reinterpret_cast<std::uintptr_t>(from)};
  return copy_by_engine(stream, to, source, size,
                        [&] { return driver_.copy_in(to, from, size, stream.stream); });
}

CUresult CopyContext::copy_out(const Stream& stream, void* to, std::uint64_t from,
                               std::size_t size) {
  return here([&] { return driver_.copy_out(to, from, size, stream.stream); });
}

CUresult CopyContext::copy_across(const Stream& stream, std::uint64_t to, std::uint64_t from,
                                  std::size_t size) {
  return copy_by_engine(stream, to, {CU_MEMORYTYPE_DEVICE, from}, size,
                        [&] { return driver_.copy_across(to, from, size, stream.stream); });
}

CUresult CopyContext::write_words(const Stream& stream, const GpuWord* words, std::size_t count) {
  std::array<CUstreamBatchMemOpParams, kGpuWordsAtOnce> operations;
  std::transform(words, words + count, operations.begin(), memory_operation);
  return here([&] {
    return driver_.stream_words(stream.stream, static_cast<unsigned>(count), operations.data(),
                                /*flags=*/0);
  });
}

CUresult CopyContext::record(const Stream& stream) {
  return here([&] { return driver_.event_record(stream.event, stream.stream); });
}

CUresult CopyContext::synchronize(const Stream& stream) {
  return here([&] { return driver_.stream_synchronize(stream.stream); });
}

}  // namespace gdakit::softnic
