#include "backends/softnic/uverbs/client_memory.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <unistd.h>

#include "backends/softnic/gpu/gpu_dma.h"
#include "backends/softnic/uverbs/context.h"
#include "backends/softnic/uverbs/gpus.h"
#include "backends/softnic/uverbs/user_memory.h"
#include "core/base/log.h"

namespace gdakit::softnic::uverbs {
namespace {

int refuse(const Error& error) {
  Log(LogLevel::error).error("verbs: " + error.message());
  return EOPNOTSUPP;
}

int take_gpu_memory(Device& device, const GpuMemory& memory, DmaAddress& base) {
  const Result<void> reached = device.reach_gpu(memory.ordinal);
  if (!reached) return refuse(reached.error());
  base = {memory.address | kGpuMemoryBit};
  return 0;
}

// As the system names it in /proc: "/dmabuf:" and what its exporter calls it.
bool is_dma_buf(int file) {
  std::array<char, 64> name{};
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  const ssize_t size = ::readlink(path.c_str(), name.data(), name.size());
  return size > 0 &&
         std::string_view(name.data(), static_cast<std::size_t>(size)).starts_with("/dmabuf:");
}

}  // namespace

int take_memory(Device& device, std::uint64_t start, std::uint64_t length, bool writable,
                DmaAddress& base) {
  base = {start};
  const int error = pin(start, length, writable);
  if (error == 0) return 0;
  const auto memory = gpu_memory_at(start, length);
  return memory ? take_gpu_memory(device, *memory, base) : error;
}

int take_dma_buf(Device& device, int file, std::uint64_t offset, std::uint64_t length,
                 MemoryRange& memory) {
  if (const int error = device.failures().dma_buf) return error;
  if (!has_gpu_dma()) return EOPNOTSUPP;
  if (::fcntl(file, F_GETFD) < 0) return EBADF;
  const auto known = memory_of_dma_buf(file);
  if (!known && !is_dma_buf(file)) return EINVAL;
  if (!known) {
    return refuse(Error(Code::unavailable,
                        "a dma-buf that this process has not made of memory of a CUDA GPU "
                        "(cuMemGetHandleForAddressRange); register the memory where it was made"));
  }
  const auto part = known->part(offset, length);
  if (!part || length == 0) return EINVAL;
  memory.length = length;
  return take_gpu_memory(device, *part, memory.base);
}

int read_memory(Device& device, DmaAddress from, void* to, std::size_t size) {
  if (!is_gpu(from)) return read_user(to, from.value, size);
  return device.transfer([&](DmaPort& port) { return port.read(to, from, size); }) ? 0 : EFAULT;
}

int write_memory(Device& device, DmaAddress to, const void* from, std::size_t size) {
  if (!is_gpu(to)) return write_user(to.value, from, size);
  return device.transfer([&](DmaPort& port) {
    port.write(to, from, size);
    return port.fence();
  })
             ? 0
             : EFAULT;
}

}  // namespace gdakit::softnic::uverbs
