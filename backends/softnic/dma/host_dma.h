// The DMA port for memory of this process: a DmaAddress is a pointer, every operation is done at
// once. Of what a write or a copy brings the last byte becomes visible last, however long it is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/softnic/dma/dma.h"

namespace gdakit::softnic {

// The address under which HostDma reaches what `pointer` points to.
inline DmaAddress host_address(const void* pointer) {
  return {reinterpret_cast<std::uintptr_t>(pointer)};
}

class HostDma : public DmaPort {
 public:
  bool ordered() const override { return true; }

  DmaOp read(void* to, DmaAddress from, std::size_t size) override;
  DmaOp write(DmaAddress to, const void* from, std::size_t size) override;
  DmaOp copy(DmaAddress to, DmaAddress from, std::size_t size) override;
  DmaOp atomic(DmaAddress at, const AtomicRequest& request, std::uint64_t* old) override;
  DmaOp write_cqe(DmaAddress to, const format::Cqe64& cqe) override;
  DmaOp fence() override { return {}; }

  bool done(DmaOp) override { return true; }
  void submit() override {}
  void poll() override {}
};

}  // namespace gdakit::softnic
