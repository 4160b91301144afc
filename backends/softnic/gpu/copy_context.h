// CopyContext: a CUDA context of the soft NIC's own, in which its copies go.
//
// The driver lets nobody copy or launch in a context while a thread waits there in a call such as
// cudaMemcpy or cudaFree for the kernels before it (seen on an H200 with driver 580). If those
// kernels wait for the NIC, its copies must not wait for them: in another context they do not, as
// long as they are of memory that belongs to no context: pinned host memory, and what was mapped by
// cuMemMap. Kernels stay in the program's context, for those of two contexts take turns of
// milliseconds.
//
// Calls may come from any thread and return at once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "backends/softnic/gpu/gpu_device.h"
#include "core/host/gpu/cuda_driver.h"

namespace gdakit::softnic {

class CopyContext {
 public:
  // One that an earlier CopyContext of the process has left, or a new one; it stays with the
  // process unless a call failed in it. Errors: what CUDA says.
  static Result<std::unique_ptr<CopyContext>> create(int ordinal);
  ~CopyContext();
  CopyContext(const CopyContext&) = delete;
  CopyContext& operator=(const CopyContext&) = delete;

  // A stream, and an event for it. Everything on a stream happens in the order issued.
  struct Stream {
    CUstream stream = nullptr;
    CUevent event = nullptr;
  };
  CUresult make_stream(int priority, Stream& made);
  // CUDA_ERROR_NOT_READY if something is still under way there: the context goes with it then.
  CUresult destroy_stream(const Stream& stream);

  // One side in host memory; or two GPUs. A copy of a word (1, 2, 4 or 8 bytes) to a GPU may take
  // some milliseconds while a kernel runs; longer ones do not. Words arrive whole if `to`, `from`
  // and `size` are multiples of their size: the elements of an array do.
  CUresult copy_in(const Stream& stream, std::uint64_t to, const void* from, std::size_t size);
  CUresult copy_out(const Stream& stream, void* to, std::uint64_t from, std::size_t size);
  CUresult copy_across(const Stream& stream, std::uint64_t to, std::uint64_t from,
                       std::size_t size);
  // Each store after everything before it on the stream has become visible (release).
  CUresult write_words(const Stream& stream, const GpuWord* words, std::size_t count);

  // The stream's event happens when all that has been issued to it is done.
  CUresult record(const Stream& stream);
  CUresult synchronize(const Stream& stream);

 private:
  CopyContext(const cuda::Driver& driver, int ordinal, CUcontext context)
      : driver_(driver), ordinal_(ordinal), context_(context) {}
  template <class Act>
  CUresult here(const Act& act);
  struct Source {
    CUmemorytype type;
    std::uint64_t address;
  };
  CUresult copy_rows(const Stream& stream, std::uint64_t to, const Source& from,
                     std::size_t row_bytes);
  template <class Linear>
  CUresult copy_by_engine(const Stream& stream, std::uint64_t to, const Source& from,
                          std::size_t size, const Linear& linear);

  const cuda::Driver& driver_;
  const int ordinal_;
  const CUcontext context_;
  std::atomic<bool> healthy_{true};  // no call has failed there
};

}  // namespace gdakit::softnic
