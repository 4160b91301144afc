// NVSHMEM's symmetric memory and registered buffers.
#include <algorithm>

#include "core/base/bits.h"
#include "nvshmem/detail/collectives.h"
#include "nvshmem/detail/setup.h"
#include "nvshmem/library/state.h"

namespace gdakit::nvshmem {
namespace {

void* allocate(const char* call, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const Result<std::byte*> memory = context(call).allocate<std::byte>(bytes);
  if (!memory) {
    static_cast<void>(status_of(call, memory.error()));
    return nullptr;
  }
  refresh();  // the heap may have grown
  return *memory;
}

void zero(const char* call, void* memory, std::size_t bytes) {
  const std::vector<std::byte> zeros(std::min<std::size_t>(bytes, std::size_t{1} << 20));
  for (std::size_t at = 0; at < bytes; at += zeros.size()) {
    require(call, context(call).upload(static_cast<std::byte*>(memory) + at, zeros.data(),
                                       std::min(zeros.size(), bytes - at)));
  }
}

}  // namespace
}  // namespace gdakit::nvshmem

namespace nv = gdakit::nvshmem;

void* nvshmem_malloc(size_t size) { return nv::allocate("nvshmem_malloc", size); }

void* nvshmem_calloc(size_t count, size_t size) {
  constexpr const char* kCall = "nvshmem_calloc";
  if (size != 0 && count > ~size_t{0} / size) {
    static_cast<void>(
        nv::status_of(kCall, gdakit::Error(gdakit::Code::invalid_argument,
                                           std::to_string(count) + " objects of " +
                                               std::to_string(size) + " bytes: too many")));
    return nullptr;
  }
  void* const memory = nv::allocate(kCall, count * size);
  if (memory == nullptr) return nullptr;
  nv::zero(kCall, memory, count * size);
  nv::require(kCall, nv::context(kCall).barrier());  // nobody writes into it before
  return memory;
}

void* nvshmem_align(size_t alignment, size_t size) {
  constexpr size_t kPage = 4096;
  constexpr size_t kGpuPage = size_t{2} << 20;
  constexpr const char* kCall = "nvshmem_align";
  if (!gdakit::is_power_of_two(alignment)) {
    static_cast<void>(nv::status_of(
        kCall, gdakit::Error(gdakit::Code::invalid_argument, "an alignment of " +
                                                                 std::to_string(alignment) +
                                                                 " bytes; give a power of two")));
    return nullptr;
  }
  if (alignment <= gdakit::kHeapAlignment || size == 0) return nv::allocate(kCall, size);
  // What every heap is aligned to, wherever it lies.
  const size_t most = nv::context(kCall).on_gpu() ? kGpuPage : kPage;
  if (alignment > most || size > ~size_t{0} - alignment) {
    static_cast<void>(nv::status_of(
        kCall,
        gdakit::Error(gdakit::Code::invalid_argument,
                      std::to_string(size) + " bytes, aligned to " + std::to_string(alignment) +
                          ": heaps are aligned to pages; give at most " + std::to_string(most))));
    return nullptr;
  }
  auto* const memory = static_cast<std::byte*>(nv::allocate(kCall, size + alignment));
  if (memory == nullptr) return nullptr;
  // By the offset in the heap, which is the same on all PEs.
  const std::uint64_t base = nv::device_context()->heap.base;
  const std::uint64_t offset = reinterpret_cast<std::uint64_t>(memory) - base;
  void* const aligned = memory + (gdakit::round_up(offset, alignment) - offset);
  nv::library().aligned[aligned] = memory;
  return aligned;
}

void nvshmem_free(void* memory) {
  if (memory == nullptr || nv::is_ending()) return;
  constexpr const char* kCall = "nvshmem_free";
  auto& aligned = nv::library().aligned;
  if (const auto found = aligned.find(memory); found != aligned.end()) {
    memory = found->second;
    aligned.erase(found);
  }
  nvshmem_barrier_all();  // what was put there has arrived, here and elsewhere
  nv::require(kCall, nv::context(kCall).free(memory));
  nv::refresh();  // kernels are told of it where memory is checked
}

int nvshmemx_buffer_register(void* address, size_t length) {
  constexpr const char* kCall = "nvshmemx_buffer_register";
  const int status = nv::status_of(kCall, nv::context(kCall).register_buffer(address, length));
  if (status != NVSHMEMX_SUCCESS) return status;
  nv::library().buffers.push_back(address);
  nv::refresh();
  return NVSHMEMX_SUCCESS;
}

int nvshmemx_buffer_unregister(void* address) {
  if (nv::is_ending()) return NVSHMEMX_SUCCESS;
  constexpr const char* kCall = "nvshmemx_buffer_unregister";
  const int status = nv::status_of(kCall, nv::context(kCall).unregister_buffer(address));
  if (status != NVSHMEMX_SUCCESS) return status;
  std::erase(nv::library().buffers, address);
  nv::refresh();
  return NVSHMEMX_SUCCESS;
}

void nvshmemx_buffer_unregister_all() {
  const std::vector<void*> buffers = nv::library().buffers;
  for (void* const address : buffers) static_cast<void>(nvshmemx_buffer_unregister(address));
}
