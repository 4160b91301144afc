// The soft ConnectXes of `gdakit verbs`, as a process finds them that was given some: what it may
// ask of them and of no real NIC. Nothing of it makes, changes or reads an object: that goes
// through libibverbs and libmlx5 alone.
#pragma once

#include <cstdint>
#include <memory>

#include <infiniband/verbs.h>

#include "core/base/progress_engine.h"

namespace gdakit::mlx5 {

class SoftNic : public ProgressEngine {
 public:
  virtual ~SoftNic() = default;
  // The NIC behind an open device; null if that is a real one.
  static std::unique_ptr<SoftNic> of(const ibv_context* context);
  // Whether this process was given soft NICs, in the place of all others.
  static bool given();

  // How the calls of this process have come to its soft NICs so far.
  struct Calls {
    std::uint64_t by_libraries = 0;  // through libibverbs and libmlx5
    std::uint64_t by_others = 0;
  };
  static Calls calls();

  // Between the two nothing that is posted, and no packet, has any effect: what a stalled NIC looks
  // like. It stops for all that this process has open of it.
  virtual void pause() = 0;
  virtual void resume() = 0;

  // Threads that wait for the NIC will call progress(), until this object's end: the NIC's own
  // thread leaves the cores to them.
  virtual void expect_help() = 0;
};

}  // namespace gdakit::mlx5
