// Memory in which a read from one place takes as long as the test likes.
#pragma once

#include <optional>

#include "backends/softnic/dma/host_dma.h"

namespace gdakit::softnic::test {

class SlowDma final : public HostDma {
 public:
  std::optional<DmaAddress> slow;  // the place

  DmaOp read(void* to, DmaAddress from, std::size_t size) override {
    const DmaOp op = HostDma::read(to, from, size);
    if (!slow || slow->value != from.value) return op;
    under_way = true;
    return {1};
  }
  DmaOp fence() override { return under_way ? DmaOp{1} : DmaOp{}; }
  bool done(DmaOp op) override { return op.id == 0 || !under_way; }

  bool under_way = false;
};

}  // namespace gdakit::softnic::test
