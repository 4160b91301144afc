// Memory that a client names and the NIC will use: of the process itself, or of a GPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/uverbs/device.h"

namespace gdakit::softnic::uverbs {

// By its address, where a GPU's memory has one in this process: as with a driver for peer memory.
// Pages are made, as by pin(). 0, or pin()'s errors; EOPNOTSUPP for a GPU that the NIC does not
// reach, and then the log says why.
int take_memory(Device& device, std::uint64_t start, std::uint64_t length, bool writable,
                DmaAddress& base);

// By a dma-buf, of which it is the part at `offset`. 0; EBADF if `file` is none that is open;
// EINVAL if it is no dma-buf, or that part is not in it; EOPNOTSUPP if the process has not exported
// it from a GPU's memory, and as above.
int take_dma_buf(Device& device, int file, std::uint64_t offset, std::uint64_t length,
                 MemoryRange& memory);

// Between the memory that a DmaAddress names and the caller's. 0, or EFAULT.
int read_memory(Device& device, DmaAddress from, void* to, std::size_t size);
int write_memory(Device& device, DmaAddress to, const void* from, std::size_t size);

}  // namespace gdakit::softnic::uverbs
