#include "backends/softnic/dma/on_demand.h"

#include <algorithm>
#include <array>
#include <sys/uio.h>
#include <unistd.h>

namespace gdakit::softnic {
namespace {

iovec at(DmaAddress address, std::size_t size) {
  return {reinterpret_cast<void*>(plain_address(address)), size};
}

}  // namespace

bool has_on_demand_memory() {
  static const bool has = [] {
    std::uint8_t from = 1, to = 0;
    const DmaAddress place{reinterpret_cast<std::uint64_t>(&to)};
    return write_on_demand(place, &from, 1) && read_on_demand(&from, place, 1);
  }();
  return has;
}

bool read_on_demand(void* to, DmaAddress from, std::size_t size) {
  const iovec local{to, size};
  const iovec remote = at(from, size);
  return ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

bool write_on_demand(DmaAddress to, const void* from, std::size_t size) {
  // The system copies piece by piece.
  const std::size_t into_word = (plain_address(to) + size - 1) % 8;
  const std::size_t tail = std::min(size, into_word + 1);
  const iovec local{const_cast<void*>(from), size};
  const std::array remote{at(to, size - tail), at(to + (size - tail), tail)};
  return ::process_vm_writev(::getpid(), &local, 1, remote.data(), remote.size(), 0) ==
         static_cast<ssize_t>(size);
}

bool atomic_on_demand(DmaAddress at, const AtomicRequest& request, std::uint64_t* old) {
  std::uint64_t before = 0;
  if (!read_on_demand(&before, at, request.size)) return false;
  const std::uint64_t after = atomic_result(request, before);
  if (!write_on_demand(at, &after, request.size)) return false;
  *old = before;
  return true;
}

}  // namespace gdakit::softnic
