// PEs with several soft NICs each, for jobs within this process: the NICs of one place are a fabric
// of their own, as the rails of a cluster are. No two NICs have the same key for the same memory,
// so that a WQE with the key of another NIC fails.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/host/nic_set.h"
#include "tests/support/limited_backend.h"

namespace gdakit::test {

class SoftNicSets final : public BackendProvider {
 public:
  // Two NICs or more for each PE, with the limits of a LimitedBackend.
  explicit SoftNicSets(std::uint32_t nics, const BackendLimits& limits = {}) : limits_(limits) {
    for (std::uint32_t place = 0; place < nics; ++place) {
      rails_.push_back(*make_backend_provider({}, JobKind::in_process));
    }
  }

  Result<std::unique_ptr<Backend>> open(const Options& options, Bootstrap& bootstrap,
                                        MemoryProvider& memory) override {
    std::vector<std::unique_ptr<Backend>> nics;
    for (const std::unique_ptr<BackendProvider>& rail : rails_) {
      Result<std::unique_ptr<Backend>> nic = rail->open(options, bootstrap, memory);
      if (!nic) return nic.error();
      if (auto shifted = shift_keys(**nic, nics.size()); !shifted) return shifted.error();
      nics.push_back(std::make_unique<LimitedBackend>(std::move(*nic), limits_));
    }
    return make_nic_set(std::move(nics));
  }

 private:
  // A NIC hands out the same keys in the same order: so many of them to nobody.
  static Result<void> shift_keys(Backend& nic, std::size_t keys) {
    static std::uint64_t word;
    for (std::size_t i = 0; i < keys; ++i) {
      const auto made = nic.register_memory(&word, sizeof word, MemoryUse::local);
      if (!made) return made.error();
    }
    return {};
  }

  const BackendLimits limits_;
  std::vector<std::unique_ptr<BackendProvider>> rails_;
};

}  // namespace gdakit::test
