// The DMA port of a NIC that learns late of a GPU, or never: host memory alone, until a port that
// reaches a GPU's, too, takes over.
//
// A NIC of a program that mentions no GPU has nothing to do with CUDA.
#pragma once

#include <memory>

#include "backends/softnic/dma/host_dma.h"

namespace gdakit::softnic {

class LateGpuDma final : public DmaPort {
 public:
  // From now on every operation is the port's, which is ordered and orders ends. Between two steps
  // of the engine, whose operations up to here are done: those in host memory are so at once.
  void take_over(std::unique_ptr<DmaPort> port) {
    gpu_ = std::move(port);
    port_ = gpu_.get();
  }

  bool ordered() const override { return true; }
  bool orders_ends() const override { return true; }
  void order_chain(std::uint64_t chain) override { port_->order_chain(chain); }

  void attach(DmaAddress base, std::uint64_t bytes) override { port_->attach(base, bytes); }
  void detach(DmaAddress base, std::uint64_t bytes) override { port_->detach(base, bytes); }

  DmaOp read(void* to, DmaAddress from, std::size_t size) override {
    return port_->read(to, from, size);
  }
  DmaOp write(DmaAddress to, const void* from, std::size_t size) override {
    return port_->write(to, from, size);
  }
  DmaOp copy(DmaAddress to, DmaAddress from, std::size_t size) override {
    return port_->copy(to, from, size);
  }
  DmaOp write_last(DmaAddress to, const void* from, std::size_t size) override {
    return port_->write_last(to, from, size);
  }
  DmaOp copy_last(DmaAddress to, DmaAddress from, std::size_t size) override {
    return port_->copy_last(to, from, size);
  }
  DmaOp atomic(DmaAddress at, const AtomicRequest& request, std::uint64_t* old) override {
    return port_->atomic(at, request, old);
  }
  DmaOp write_cqe(DmaAddress to, const format::Cqe64& cqe) override {
    return port_->write_cqe(to, cqe);
  }
  DmaOp fence() override { return port_->fence(); }
  DmaOp read_fence() override { return port_->read_fence(); }

  bool lost() const override { return port_->lost(); }
  bool done(DmaOp op) override { return port_->done(op); }
  void submit() override { port_->submit(); }
  void poll() override { port_->poll(); }

 private:
  HostDma host_;
  std::unique_ptr<DmaPort> gpu_;
  DmaPort* port_ = &host_;
};

}  // namespace gdakit::softnic
