// Doorbell pages in a sparse file: the NIC maps them for itself, and a client maps the same ones by
// its open device, which is that file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/softnic/engine/uar.h"
#include "backends/softnic/uverbs/own_files.h"
#include "core/base/result.h"

namespace gdakit::softnic::uverbs {

class MemoryPages final : public HostPages {
 public:
  static Result<std::shared_ptr<MemoryPages>> create();
  ~MemoryPages() override;

  Result<void*> take() override;
  void give_back(void* page) override;

  // Where a page that was taken lies in the file, for the client's mmap.
  std::uint64_t offset_of(const void* page) const;
  // Of a page that no NIC looks at.
  static std::uint64_t unwatched();
  // Another descriptor of the file.
  Result<int> open_file() const;
  // Maps memory of a fixed place, as the client will by mmap's command; it lives with this object.
  Result<void*> map_at(std::uint64_t offset, std::size_t bytes);

 private:
  explicit MemoryPages(KeptFile file) : file_(std::move(file)) {}

  const KeptFile file_;
  mutable std::mutex mutex_;
  std::unordered_map<const void*, std::uint64_t> offsets_;
  std::vector<std::uint64_t> free_;
  std::vector<std::pair<void*, std::size_t>> fixed_;
  std::uint64_t next_;
};

}  // namespace gdakit::softnic::uverbs
