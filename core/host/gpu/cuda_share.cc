// Chunks of a GPU's memory that another process maps: physical memory travels as a POSIX file
// descriptor.
#include <algorithm>
#include <string>

#include "core/host/gpu/cuda_range.h"

namespace gdakit {

Result<SharedChunk> CudaRange::export_chunk(std::uint64_t offset) {
  const auto found = std::find_if(chunks_.begin(), chunks_.end(),
                                  [offset](const Chunk& chunk) { return chunk.offset == offset; });
  if (found == chunks_.end()) {
    return Error(Code::invalid_argument, "export_chunk: no chunk begins at this offset");
  }
  const cuda::Driver& driver = provider_.driver();
  int descriptor = -1;
  auto exported = cuda::check(
      driver,
      driver.export_handle(&descriptor, found->memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
      "cuMemExportToShareableHandle");
  if (!exported) return exported.error();
  return SharedChunk{UniqueFileDescriptor(descriptor), 0, found->bytes};
}

Result<void> CudaRange::import_chunk(const SharedChunk& shared) {
  if (Result<void> fits = check_commit(shared.bytes); !fits) return fits;
  const cuda::Driver& driver = provider_.driver();
  const int ordinal = *provider_.gpu();
  const std::string what = " of " + std::to_string(shared.bytes) + " bytes of another process";
  // The driver takes the descriptor in the place of a pointer.
  void* const descriptor =
      reinterpret_cast<void*>(static_cast<std::uintptr_t>(shared.descriptor.get()));
  Chunk chunk{committed_, shared.bytes, 0};
  auto imported = cuda::check(
      driver,
      driver.import_handle(&chunk.memory, descriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
      "cuMemImportFromShareableHandle" + what);
  if (!imported) return imported;
  auto mapped =
      cuda::check(driver, driver.map(address(chunk.offset), chunk.bytes, 0, chunk.memory, 0),
                  "cuMemMap" + what);
  if (!mapped) {
    driver.release(chunk.memory);
    return mapped;
  }
  // Where the memory lies the driver knows; only this GPU's NIC reads it here.
  CUmemAccessDesc access{};
  access.location = {CU_MEM_LOCATION_TYPE_DEVICE, ordinal};
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  auto allowed =
      cuda::check(driver, driver.set_access(address(chunk.offset), chunk.bytes, &access, 1),
                  "cuMemSetAccess" + what + " for GPU " + std::to_string(ordinal));
  if (!allowed) {
    driver.unmap(address(chunk.offset), chunk.bytes);
    driver.release(chunk.memory);
    return Error(Code::unavailable,
                 allowed.error().message() + "; can this GPU reach the memory of the other?");
  }
  chunks_.push_back(chunk);
  committed_ += chunk.bytes;
  return {};
}

}  // namespace gdakit
