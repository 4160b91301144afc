// What a queue's Status says of the NIC's faults, on the emulator.
#include "tests/device/nic_status.h"

#include "sim/emulator.h"

namespace gdakit::test {
namespace {

struct OnEmulator {
  static std::pmr::memory_resource* memory() { return std::pmr::get_default_resource(); }
  static std::shared_ptr<softnic::HostPages> doorbell_pages() { return nullptr; }

  template <class Kernel>
  static Result<void> run(const Kernel& kernel) {
    return sim::launch({1, 1}, {}, kernel);
  }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Emulator, QueueOnNic, OnEmulator);

}  // namespace
}  // namespace gdakit::test
