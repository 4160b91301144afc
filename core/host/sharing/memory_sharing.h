// The symmetric heaps of the PEs of one host, mapped into one process: what lets a NIC move payload
// straight from one PE's memory to another's.
//
//   this PE's heap      |--- chunk ---|--- chunk ---| ...      given away by file descriptors
//   PE 1's heap, here   |--- chunk ---|--- chunk ---| ...      at an address of this process's own
//   PE 2's heap, here   ...
//
// Strict: every PE maps every chunk of every other of its host, or a share() fails on all of them.
// What is mapped stays so until the MemorySharing ends, whatever becomes of its owner.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "core/host/bootstrap/bootstrap.h"
#include "core/host/memory/memory_provider.h"
#include "core/host/sharing/handle_exchange.h"

namespace gdakit {

class MemorySharing {
 public:
  // Collective. Tries it with a small piece of memory, whose bytes every PE reads. An error comes
  // to all PEs and says which of them cannot share memory, or cannot map another's, and why.
  // `group`: by rank, the PEs of this one's host, itself included; each of them has the same group.
  // Empty: all PEs of the job.
  static Result<std::unique_ptr<MemorySharing>> open(Bootstrap& bootstrap, MemoryProvider& memory,
                                                     std::chrono::milliseconds timeout,
                                                     std::vector<bool> group = {});

  // Collective. Shows the other PEs what has been committed to `mine` since the last call, and maps
  // what they show. `mapped` runs when this PE has mapped everything, before any PE's call returns.
  // Always the same range. The first error is final.
  Result<void> share(AddressRange& mine, const std::function<void()>& mapped);

  // PE `pe`'s memory as this process maps it. Null: nothing is mapped, or it is this PE or one of
  // another group.
  const AddressRange* peer(int pe) const { return peers_[static_cast<std::size_t>(pe)].get(); }

 private:
  MemorySharing(Bootstrap& bootstrap, MemoryProvider& memory,
                std::unique_ptr<HandleExchange> exchange, std::vector<bool> group);

  // It is another PE of the group.
  bool is_mapped(std::size_t pe) const {
    return group_[pe] && pe != static_cast<std::size_t>(bootstrap_.rank());
  }
  Result<void> probe();
  Result<void> check_probe() const;
  Result<std::vector<SharedChunk>> new_chunks(AddressRange& mine);
  Result<void> map(std::uint64_t range_bytes, std::vector<std::vector<SharedChunk>> given);
  void forget();

  Bootstrap& bootstrap_;
  MemoryProvider& memory_;
  std::unique_ptr<HandleExchange> exchange_;
  const std::vector<bool> group_;  // by rank
  std::uint64_t shown_ = 0;        // bytes of this PE's range that the others have mapped
  std::vector<std::unique_ptr<AddressRange>> peers_;  // by rank
  std::optional<Error> failure_;
};

}  // namespace gdakit
