// What the emulator's tests share: a launch that must succeed, and orders by their shortest names.
#pragma once

#include <gtest/gtest.h>

#include "sim/emulator.h"

namespace gdakit::sim {

inline constexpr order::RelaxedSystem kRelaxed{};

struct Acquire {
  static constexpr Kind kind = Kind::acquire;
  static constexpr Scope scope = Scope::system;
};
struct Release {
  static constexpr Kind kind = Kind::release;
  static constexpr Scope scope = Scope::system;
};
struct AcqRel {
  static constexpr Kind kind = Kind::acq_rel;
  static constexpr Scope scope = Scope::system;
};
inline constexpr Acquire kAcquire{};
inline constexpr Release kRelease{};
inline constexpr AcqRel kAcqRel{};

template <class Kernel>
void run(LaunchShape shape, const Kernel& kernel, const EmulatorOptions& options = {}) {
  const Result<void> done = launch(shape, options, kernel);
  EXPECT_TRUE(done) << done.error().message();
}

inline void spin_times(HostMachine& m, std::uint32_t times) {
  for (std::uint32_t i = 0; i != times; ++i) m.spin(Site::user);
}

}  // namespace gdakit::sim
