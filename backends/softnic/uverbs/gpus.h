// The GPUs of this process, as far as its memory and files lead to them. The program loads CUDA's
// driver, if anybody does.
#pragma once

#include <cstdint>
#include <optional>

namespace gdakit::softnic::uverbs {

// Memory of a GPU as the program has it mapped.
struct GpuMemory {
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  int ordinal = 0;  // of the GPU, as the program counts them

  bool operator==(const GpuMemory&) const = default;

  // A part of it; nothing where not all of that is in here.
  std::optional<GpuMemory> part(std::uint64_t offset, std::uint64_t bytes) const;
};

// Nothing where it does not both begin and end on one GPU.
std::optional<GpuMemory> gpu_memory_at(std::uint64_t address, std::uint64_t length);

// A function of the driver, where the program has loaded the driver by now. `find` is a dlsym.
void* driver_function(const char* name, void* (*find)(void* library, const char* name));

// What a dma-buf is of: the process has exported it from there. Of another process's, or another
// driver's, nothing is known.
void note_dma_buf(int file, const GpuMemory& memory);
std::optional<GpuMemory> memory_of_dma_buf(int file);

}  // namespace gdakit::softnic::uverbs
