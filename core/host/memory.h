// Memory that the device's threads, the NIC and the host share. Where it lies is the provider's
// business: here in the host's own memory (host_memory.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/base/result.h"

namespace gdakit {

// A piece of memory, zeroed at first, given back on destruction.
class MemoryBlock {
 public:
  virtual ~MemoryBlock() = default;

  void* data() const { return data_; }
  std::uint64_t size() const { return size_; }

 protected:
  MemoryBlock(void* data, std::uint64_t size) : data_(data), size_(size) {}
  MemoryBlock(const MemoryBlock&) = delete;
  MemoryBlock& operator=(const MemoryBlock&) = delete;

 private:
  void* data_;
  std::uint64_t size_;
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

 protected:
  AddressRange(char* base, std::uint64_t size) : base_(base), size_(size) {}
  AddressRange(const AddressRange&) = delete;
  AddressRange& operator=(const AddressRange&) = delete;

  char* base_;
  std::uint64_t size_;
  std::uint64_t committed_ = 0;
};

class MemoryProvider {
 public:
  virtual ~MemoryProvider() = default;

  // Sizes of commits, and of whole blocks, are rounded up to this many bytes, a power of two.
  virtual std::uint64_t granularity() const = 0;

  virtual Result<std::unique_ptr<MemoryBlock>> allocate(std::uint64_t bytes) = 0;
  virtual Result<std::unique_ptr<AddressRange>> reserve(std::uint64_t bytes) = 0;
};

}  // namespace gdakit
