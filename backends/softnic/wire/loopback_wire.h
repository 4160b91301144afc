// The wire between NICs of one process: a ring of packets per directed pair, payload by reference,
// unless it is small or was gathered.
//
//   auto fabric = LoopbackFabric::create();
//   std::unique_ptr<Wire> a = *fabric->attach(), b = *fabric->attach();   // endpoints 0 and 1
//
// A fabric lives until its last endpoint is gone. attach() and an endpoint's destruction are safe
// from any thread; a destroyed endpoint first recalls what it sent, so that no peer reads its
// memory later.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/softnic/wire/wire.h"
#include "core/base/result.h"

namespace gdakit::softnic {

class LoopbackWire;
class RingBells;
struct LoopbackRing;

struct LoopbackOptions {
  std::uint32_t mtu = 65536;
  std::uint32_t slots = 512;  // packets per directed pair; a power of two
  std::uint32_t endpoints = 64;

  // For so many endpoints: slots become fewer as rings become more, so that the rings grow with the
  // endpoints and not with their square, by about 1 MB for each; slots that have carried gathered
  // payload keep 4 KiB more.
  static LoopbackOptions for_endpoints(std::uint32_t endpoints);
};

class LoopbackFabric : public std::enable_shared_from_this<LoopbackFabric> {
 public:
  static std::shared_ptr<LoopbackFabric> create(const LoopbackOptions& options = {});
  ~LoopbackFabric();

  // A new endpoint: the lowest number that is free, or `wanted`.
  Result<std::unique_ptr<Wire>> attach();
  Result<std::unique_ptr<Wire>> attach(Endpoint wanted);

  // What the rings take, all of them together, without room for gathered payload. One is made when
  // its sender has its first packet for its receiver.
  std::size_t ring_bytes();

  // At how many rings an endpoint looks when it asks for a packet.
  std::uint32_t rings_looked_at(Endpoint endpoint) const;

 private:
  friend class LoopbackWire;

  explicit LoopbackFabric(const LoopbackOptions& options);
  LoopbackRing* ring(Endpoint from, Endpoint to) const {
    return rings_[ring_number(from, to)].load(std::memory_order_acquire);
  }
  std::size_t ring_number(Endpoint from, Endpoint to) const {
    return std::size_t{from} * options_.endpoints + to;
  }
  LoopbackRing& make_ring(Endpoint from, Endpoint to);
  Result<std::unique_ptr<Wire>> attach_locked(Endpoint endpoint);
  void detach(Endpoint endpoint);

  const LoopbackOptions options_;
  std::mutex mutex_;  // attach, detach, and owned_
  std::vector<std::unique_ptr<LoopbackRing>> owned_;
  std::vector<std::atomic<LoopbackRing*>> rings_;
  std::vector<std::atomic<bool>> attached_;
  std::vector<std::unique_ptr<RingBells>> bells_;  // by receiver
};

}  // namespace gdakit::softnic
