// CUDA as the host side uses it: errors in words, and the driver's functions, found at run time so
// that programs start on machines without a driver.
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>
#include <string>

#include "core/base/result.h"

namespace gdakit::cuda {

// The driver functions that have no counterpart in the runtime, or act in another context.
struct Driver {
  decltype(&cuGetErrorString) get_error_string;
  decltype(&cuMemAddressReserve) address_reserve;
  decltype(&cuMemAddressFree) address_free;
  decltype(&cuMemCreate) create;
  decltype(&cuMemRelease) release;
  decltype(&cuMemMap) map;
  decltype(&cuMemUnmap) unmap;
  decltype(&cuMemSetAccess) set_access;
  decltype(&cuMemGetAllocationGranularity) granularity;
  decltype(&cuMemExportToShareableHandle) export_handle;
  decltype(&cuMemImportFromShareableHandle) import_handle;
  decltype(&cuMemGetHandleForAddressRange) range_handle;
  decltype(&cuDeviceGetAttribute) device_attribute;
  decltype(&cuModuleGetLoadingMode) loading_mode;
  decltype(&cuStreamBatchMemOp) stream_words;
  decltype(&cuDeviceGet) device;
  PFN_cuCtxCreate_v11040 context_create;
  decltype(&cuCtxDestroy) context_destroy;
  decltype(&cuCtxPushCurrent) context_push;
  decltype(&cuCtxPopCurrent) context_pop;
  decltype(&cuStreamCreateWithPriority) stream_create;
  decltype(&cuStreamDestroy) stream_destroy;
  decltype(&cuStreamSynchronize) stream_synchronize;
  decltype(&cuStreamQuery) stream_query;
  decltype(&cuMemcpyHtoDAsync) copy_in;
  decltype(&cuMemcpyDtoHAsync) copy_out;
  decltype(&cuMemcpyAsync) copy_across;
  decltype(&cuMemcpy2DAsync) copy_rows;
  decltype(&cuEventCreate) event_create;
  decltype(&cuEventDestroy) event_destroy;
  decltype(&cuEventRecord) event_record;
};

// The table, filled by the first call. Errors: no driver, or one that is too old (unavailable).
Result<const Driver*> driver();

// ok, or what `call` on `object` came to.
Result<void> check(cudaError_t code, const std::string& call);
Result<void> check(const Driver& driver, CUresult code, const std::string& call);

// The same for a call that made a CUDA context; under MPS with a word on what it may lack.
Result<void> of_context(const Result<void>& made);

}  // namespace gdakit::cuda
