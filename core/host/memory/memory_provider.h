// Memory that the device's threads, the NIC and the host share. Where it lies is the provider's
// business: in the host's own memory (host_memory.h) or on a GPU (cuda_memory.h).
//
// The host never dereferences memory of Place::device: it may lie on a GPU. It goes through
// MemoryProvider::copy, or MemoryBlock::read and write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/base/file_descriptor.h"
#include "core/base/result.h"

namespace gdakit {

enum class Place : std::uint8_t {
  device,  // fast for the device's threads
  shared,  // the host and the device's threads both read and write it in place
};

enum class MemoryKind : std::uint8_t {
  host,    // pageable memory of this process
  pinned,  // host memory that the GPU maps at the same address
  gpu,     // where the host cannot reach it
};

// What a GPU can do to the memory of another one.
enum class GpuReach : std::uint8_t { none, loads_and_stores, atomics };

class MemoryProvider;

// A piece of memory, zeroed at first, given back on destruction.
class MemoryBlock {
 public:
  virtual ~MemoryBlock() = default;

  void* data() const { return data_; }
  std::uint64_t size() const { return size_; }

  // Between the block, from byte `at` on, and the host's own memory. Returns when the bytes have
  // arrived.
  Result<void> write(std::uint64_t at, const void* from, std::uint64_t bytes);
  Result<void> read(std::uint64_t at, void* to, std::uint64_t bytes) const;

 protected:
  MemoryBlock(MemoryProvider& provider, void* data, std::uint64_t size)
      : provider_(provider), data_(data), size_(size) {}
  MemoryBlock(const MemoryBlock&) = delete;
  MemoryBlock& operator=(const MemoryBlock&) = delete;

 private:
  MemoryProvider& provider_;
  void* data_;
  std::uint64_t size_;
};

// A piece of memory on its way to another process of this host.
struct SharedChunk {
  UniqueFileDescriptor descriptor;
  std::uint64_t offset = 0;  // of its first byte in what the descriptor names
  std::uint64_t bytes = 0;
};

// A range of addresses that gets memory from its beginning on, piece by piece.
class AddressRange {
 public:
  virtual ~AddressRange() = default;

  char* base() const { return base_; }
  std::uint64_t size() const { return size_; }
  std::uint64_t committed() const { return committed_; }

  // Puts zeroed memory behind the next `bytes` bytes, a multiple of the provider's granularity.
  // Errors: beyond size() or no memory left (exhausted).
  virtual Result<void> commit(std::uint64_t bytes) = 0;

  // What another process of this host needs to map the piece that was committed at `offset`, whole.
  // Errors: no piece begins there (invalid_argument); memory of this kind cannot be shared
  // (unavailable).
  virtual Result<SharedChunk> export_chunk(std::uint64_t offset);
  // Puts a piece that another process has exported behind the next chunk.bytes bytes, instead of
  // memory of its own. It stays there, whatever becomes of the other process. Errors: as commit's;
  // memory of this kind cannot be shared, or not by this device (unavailable).
  virtual Result<void> import_chunk(const SharedChunk& chunk);

 protected:
  AddressRange(char* base, std::uint64_t size) : base_(base), size_(size) {}
  AddressRange(const AddressRange&) = delete;
  AddressRange& operator=(const AddressRange&) = delete;

  // ok, or why `bytes` more do not fit into the range.
  Result<void> check_commit(std::uint64_t bytes) const;

  char* base_;
  std::uint64_t size_;
  std::uint64_t committed_ = 0;
};

// Keeps memory until the process ends, whatever becomes of its provider: what a NIC may still use
// when nobody waits any longer for it to be through.
void leave_to_nic(std::shared_ptr<void> memory);

// Outlives the blocks and ranges that it hands out.
class MemoryProvider {
 public:
  virtual ~MemoryProvider() = default;

  // Sizes of commits are multiples of this many bytes, a power of two; so are whole blocks.
  virtual std::uint64_t granularity() const = 0;

  virtual Result<std::unique_ptr<MemoryBlock>> allocate(std::uint64_t bytes, Place place) = 0;
  virtual Result<std::unique_ptr<AddressRange>> reserve(std::uint64_t bytes) = 0;

  // Copies bytes between any two of the host's and this provider's memory. Returns when they have
  // arrived. Orders nothing but itself: kernels and NIC may write the same bytes meanwhile.
  virtual Result<void> copy(void* to, const void* from, std::uint64_t bytes) = 0;

  // A dma-buf file descriptor, the caller's to close, of memory of this provider: what a real NIC
  // registers. `base` and `bytes` are multiples of the system's page size. Errors: memory of this
  // kind has none (unavailable).
  virtual Result<int> export_dma_buf(void* base, std::uint64_t bytes);

  // The CUDA device whose memory this provider hands out, or none.
  virtual std::optional<int> gpu() const { return std::nullopt; }
  // That GPU's PCI address, the same in every process; empty for host memory.
  virtual std::string bus() const { return {}; }
  // How far that GPU reaches into the memory of the GPU at another PCI address; none, too, where
  // this process does not see that GPU.
  virtual GpuReach reach(const std::string&) const { return GpuReach::none; }
  // Lets that GPU's threads load from and store to memory of the user's, at the same addresses,
  // until unpin. True: that needs unpin; false: they reach it anyhow. Errors: what is not the
  // host's to pin, or a limit on pinned memory.
  virtual Result<bool> pin(void*, std::uint64_t) { return false; }
  virtual Result<void> unpin(void*) { return {}; }
  // Lets the device's threads store to a page of a NIC's registers, which this process has mapped,
  // until unmap_registers. Returns where they find it. Errors: the driver refuses it.
  virtual Result<void*> map_registers(void* page, std::uint64_t) { return page; }
  virtual Result<void> unmap_registers(void*) { return {}; }
  // Whether the device's threads see what a NIC writes in the order in which it does so, without a
  // flush (device/quiet.h).
  virtual bool orders_nic_writes() const { return true; }
  // Of memory of this provider or the user's.
  virtual MemoryKind kind_of(const void*) const { return MemoryKind::host; }
};

}  // namespace gdakit
