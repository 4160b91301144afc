// A completion queue, made by a firmware command.
#pragma once

#include <cstdint>
#include <optional>

#include "backends/mlx5/open_nic.h"
#include "backends/mlx5/umem.h"

namespace gdakit::mlx5 {

// Where a piece of memory lies.
struct UmemPlace {
  const Umem* umem = nullptr;
  std::uint64_t offset = 0;
};

struct CqOptions {
  UmemPlace cqes;
  UmemPlace record;  // of the doorbell, which nobody writes
  std::uint32_t uar_page = 0;
  std::uint32_t log_size = 0;
  bool collapsed = false;
};

class CompletionQueue {
 public:
  // Of one that is not there.
  Result<void> create(const OpenNic& nic, const CqOptions& options);
  // If it fails, the queue is still there, and can be destroyed later. One that is not there is
  // destroyed already.
  Result<void> destroy(const OpenNic& nic);
  std::uint32_t number() const { return number_; }

 private:
  std::optional<DevxObject> object_;
  std::uint32_t number_ = 0;
};

}  // namespace gdakit::mlx5
