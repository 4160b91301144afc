// Backends whose limits a test chooses: small messages, devices that ask for CST or for a proxy,
// PEs that are no direct peers.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "backends/registry.h"

namespace gdakit::test {

class LimitedBackend : public Backend {
 public:
  // Which kinds of queues there are, and how many NICs, the NIC says.
  LimitedBackend(std::unique_ptr<Backend> inner, BackendLimits limits)
      : inner_(std::move(inner)), limits_(limits) {
    limits_.has_dc = inner_->limits().has_dc;
    limits_.has_recordless = inner_->limits().has_recordless;
    limits_.nics = inner_->limits().nics;
  }

  const char* name() const override { return inner_->name(); }
  BackendLimits limits() const override { return limits_; }
  NicCounters counters() const override { return inner_->counters(); }
  NicCount count() const override { return inner_->count(); }
  Backend& nic(std::uint32_t index) override {
    return limits_.nics == 1 ? *this : inner_->nic(index);
  }
  Result<MemoryKeys> register_memory(void* base, std::uint64_t bytes, MemoryUse use) override {
    return inner_->register_memory(base, bytes, use);
  }
  Result<void> deregister_memory(MemoryKeys keys) override {
    return inner_->deregister_memory(keys);
  }
  Result<void> share_heap(AddressRange& heap) override { return inner_->share_heap(heap); }
  Result<QueueResources> create_queue(const QueueMemory& memory) override {
    return inner_->create_queue(memory);
  }
  Result<void> connect_queue(QueueNumber queue, const Bytes& card) override {
    return inner_->connect_queue(queue, card);
  }
  Result<void> destroy_queue(QueueNumber queue) override { return inner_->destroy_queue(queue); }
  Result<Bytes> dc_target() override { return inner_->dc_target(); }
  Result<format::AvSegment> dc_address(const Bytes& card) override {
    return inner_->dc_address(card);
  }
  void begin_end() override { inner_->begin_end(); }
  std::string describe_queue(QueueNumber queue) const override {
    return inner_->describe_queue(queue);
  }
  std::vector<BrokenQueue> broken_queues() const override { return inner_->broken_queues(); }
  ProgressEngine* progress_engine() override { return inner_->progress_engine(); }
  Result<void> pause() override { return inner_->pause(); }
  Result<void> resume() override { return inner_->resume(); }

 private:
  std::unique_ptr<Backend> inner_;
  BackendLimits limits_;
};

// Wraps the soft NIC of each PE of a job within this process; one, whatever GDAKIT_NICS_PER_PE is.
class WrappingProvider : public BackendProvider {
 public:
  using Wrap = std::function<std::unique_ptr<Backend>(std::unique_ptr<Backend> inner, int pe)>;
  explicit WrappingProvider(Wrap wrap) : wrap_(std::move(wrap)) {}

  Result<std::unique_ptr<Backend>> open(const Options& options, Bootstrap& bootstrap,
                                        MemoryProvider& memory) override {
    Options of_one = options;
    of_one.nics_per_pe = 1;
    Result<std::unique_ptr<Backend>> inner = inner_->open(of_one, bootstrap, memory);
    if (!inner) return inner.error();
    return wrap_(std::move(*inner), bootstrap.rank());
  }

 private:
  std::unique_ptr<BackendProvider> inner_ = *make_backend_provider({}, JobKind::in_process);
  Wrap wrap_;
};

class LimitedProvider final : public WrappingProvider {
 public:
  explicit LimitedProvider(BackendLimits limits)
      : LimitedProvider([limits](int) { return limits; }) {}
  // With limits for each PE.
  explicit LimitedProvider(std::function<BackendLimits(int)> limits_of)
      : WrappingProvider([limits_of = std::move(limits_of)](auto inner, int pe) {
          return std::make_unique<LimitedBackend>(std::move(inner), limits_of(pe));
        }) {}
};

}  // namespace gdakit::test
