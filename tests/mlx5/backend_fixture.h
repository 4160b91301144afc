// Backend mlx5 as a PE uses it, on a played host.
#pragma once

#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "backends/mlx5/mlx5_backend.h"
#include "core/host/bootstrap/local_bootstrap.h"
#include "core/host/memory/host_memory.h"
#include "tests/mlx5/fixture.h"

namespace gdakit::mlx5 {

class PlayedProvider : public PlayedHost {
 protected:
  Result<std::unique_ptr<Backend>> open(const Options& options, MemoryProvider& memory) {
    const auto bootstraps = make_local_bootstraps(1, std::chrono::seconds(1));
    return make_provider(libraries_)->open(options, *bootstraps->front(), memory);
  }
  Result<std::unique_ptr<Backend>> open(const Options& options = {}) {
    return open(options, host_);
  }
};

class PlayedBackend : public PlayedProvider {
 protected:
  // `prepare` makes the played host another one; calls fail only while the backend is opened.
  explicit PlayedBackend(void (*prepare)() = [] {}) : backend_(*open_prepared(prepare)) {}

  Result<std::unique_ptr<Backend>> open_prepared(void (*prepare)()) {
    prepare();
    auto backend = open();
    played().errors.clear();
    return backend;
  }
  Result<QueueResources> create(std::size_t block = 0) {
    return backend_->create_queue(blocks_[block].memory());
  }
  ConnectionCard card_of(const QueueResources& queue) {
    ConnectionCard card;
    EXPECT_EQ(queue.card.size(), sizeof card);
    std::memcpy(&card, queue.card.data(), sizeof card);
    return card;
  }

  std::vector<QueueBlock> blocks_ = std::vector<QueueBlock>(8);
  const std::unique_ptr<Backend> backend_;
};

// Why a call failed.
template <class T>
std::string refusal_of(const Result<T>& result) {
  EXPECT_FALSE(result);
  return result ? "" : result.error().message();
}

}  // namespace gdakit::mlx5
