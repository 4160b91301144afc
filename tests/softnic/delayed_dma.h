// A DMA port double that finishes operations later: in random order, or with the writes of a chain
// in order, as its contract says, and reads in any. What it shows: the engine itself keeps the
// order that clients rely on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/dma/dma.h"
#include "backends/softnic/dma/host_dma.h"

namespace gdakit::softnic::test {

class DelayedDma final : public DmaPort {
 public:
  DelayedDma(std::uint32_t seed, bool ordered) : random_(seed), ordered_(ordered) {}
  ~DelayedDma() override { EXPECT_TRUE(pending_.empty()); }

  bool ordered() const override { return ordered_; }
  void order_chain(std::uint64_t chain) override { chain_ = chain; }

  DmaOp read(void* to, DmaAddress from, std::size_t size) override {
    return queue({.kind = Kind::read, .to_pointer = to, .from = from, .size = size});
  }
  DmaOp write(DmaAddress to, const void* from, std::size_t size) override {
    const auto* bytes = static_cast<const std::uint8_t*>(from);
    return queue({.kind = Kind::write, .to = to, .size = size, .bytes = {bytes, bytes + size}});
  }
  DmaOp copy(DmaAddress to, DmaAddress from, std::size_t size) override {
    return queue({.kind = Kind::copy, .to = to, .from = from, .size = size});
  }
  DmaOp atomic(DmaAddress at, const AtomicRequest& request, std::uint64_t* old) override {
    return queue({.kind = Kind::atomic, .to_pointer = old, .to = at, .request = request});
  }
  DmaOp write_cqe(DmaAddress to, const format::Cqe64& cqe) override {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&cqe);
    return queue({.kind = Kind::cqe, .to = to, .bytes = {bytes, bytes + sizeof cqe}});
  }
  DmaOp fence() override {
    if (pending_.empty()) return {};
    return queue({.kind = Kind::fence});
  }
  bool done(DmaOp op) override {
    return std::none_of(pending_.begin(), pending_.end(),
                        [op](const Pending& p) { return p.id == op.id; });
  }
  void submit() override {
    for (Pending& pending : pending_) pending.submitted = true;
  }
  void poll() override {
    // Some of what was submitted, from none to all.
    for (std::size_t tries = random_() % (pending_.size() + 2); tries != 0; --tries) {
      if (pending_.empty()) return;
      const std::size_t pick = random_() % pending_.size();
      if (!pending_[pick].submitted || !may_finish(pick)) continue;
      finish(pending_[pick]);
      pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(pick));
    }
  }

 private:
  enum class Kind { read, write, copy, atomic, cqe, fence };
  struct Pending {
    Kind kind;
    void* to_pointer = nullptr;
    DmaAddress to = {};
    DmaAddress from = {};
    std::size_t size = 0;
    std::vector<std::uint8_t> bytes = {};
    AtomicRequest request = {};
    std::uint64_t id = 0;
    std::uint64_t chain = 0;
    bool submitted = false;
  };

  DmaOp queue(Pending pending) {
    pending.id = ++last_id_;
    pending.chain = chain_;
    pending_.push_back(std::move(pending));
    return {last_id_};
  }
  bool may_finish(std::size_t pick) const {
    const Pending& picked = pending_[pick];
    if (picked.kind == Kind::fence) return pick == 0;
    if (!ordered_ || picked.kind == Kind::read) return true;
    return std::none_of(
        pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(pick),
        [&](const Pending& p) { return p.kind != Kind::read && p.chain == picked.chain; });
  }
  void finish(const Pending& pending) {
    switch (pending.kind) {
      case Kind::read: host_.read(pending.to_pointer, pending.from, pending.size); break;
      case Kind::write: host_.write(pending.to, pending.bytes.data(), pending.size); break;
      case Kind::copy: host_.copy(pending.to, pending.from, pending.size); break;
      case Kind::atomic:
        host_.atomic(pending.to, pending.request, static_cast<std::uint64_t*>(pending.to_pointer));
        break;
      case Kind::cqe: {
        format::Cqe64 cqe;
        std::memcpy(&cqe, pending.bytes.data(), sizeof cqe);
        host_.write_cqe(pending.to, cqe);
        break;
      }
      case Kind::fence: break;
    }
  }

  std::mt19937 random_;
  bool ordered_;
  HostDma host_;
  std::vector<Pending> pending_;
  std::uint64_t last_id_ = 0;
  std::uint64_t chain_ = 0;
};

}  // namespace gdakit::softnic::test
