// What a PE has of DC besides its initiators, which are queue pairs (queue_pair.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "backends/mlx5/completion_queue.h"
#include "backends/mlx5/host_page.h"
#include "backends/mlx5/open_nic.h"

namespace gdakit::mlx5 {

// A shared receive queue and its CQ, which firmware wants to be named by targets and initiators. No
// receive is ever posted: peers write, read and change memory.
class DcReceives {
 public:
  // `uar_page` is that of a doorbell register, which nobody rings for the CQ.
  static Result<std::unique_ptr<DcReceives>> make(const OpenNic& nic, std::uint32_t uar_page);
  std::uint32_t srqn() const { return srqn_; }
  std::uint32_t cqn() const { return cq_.number(); }

 private:
  explicit DcReceives(HostPage page) : page_(std::move(page)) {}
  Result<void> create_srq(const OpenNic& nic);

  HostPage page_;
  CompletionQueue cq_;
  std::optional<DevxObject> srq_;
  std::uint32_t srqn_ = 0;
};

struct DcTargetOptions {
  std::uint64_t key = 0;  // that peers have to name
  std::uint8_t mtu = 0;   // ibv_mtu
  std::uint8_t counter_set = 0;
};

// Where the initiators of all peers come in. It goes before the receives.
class DcTarget {
 public:
  static Result<DcTarget> create(const OpenNic& nic, const DcReceives& receives,
                                 const DcTargetOptions& options);
  std::uint32_t number() const { return number_; }
  // Where its GID was in the port's table when it was made, which no command changes.
  std::uint8_t gid_index() const { return gid_index_; }

 private:
  DcTarget(DevxObject object, std::uint32_t number, std::uint8_t gid_index)
      : object_(std::move(object)), number_(number), gid_index_(gid_index) {}
  // The kernel drains it and waits, before it destroys it.
  DevxObject object_;
  std::uint32_t number_;
  std::uint8_t gid_index_;
};

}  // namespace gdakit::mlx5
