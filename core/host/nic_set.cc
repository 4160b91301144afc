#include "core/host/nic_set.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "core/base/assert.h"
#include "core/host/counter_table.h"

namespace gdakit {
namespace {

std::string place_name(std::size_t nic) { return "NIC " + std::to_string(nic); }

Error ask_one(const char* call) {
  return Error(Code::invalid_argument, std::string(call) +
                                           ": each NIC of the PE has its own; ask nic(i), one "
                                           "after the other");
}

// What a thread that waits does for all of them: it does not know by which NIC its operation went.
class JointEngine final : public ProgressEngine {
 public:
  explicit JointEngine(std::vector<ProgressEngine*> engines) : engines_(std::move(engines)) {}

  bool progress() override {
    bool changed = false;
    for (ProgressEngine* const engine : engines_) changed = engine->progress() || changed;
    return changed;
  }

 private:
  const std::vector<ProgressEngine*> engines_;
};

// The one of the two that knows less.
Counts less_of(Counts a, Counts b) { return std::max(a, b); }
static_assert(Counts::each_queue < Counts::together && Counts::together < Counts::nothing);

// Sums of what some of the NICs do not count would say less than they did.
NicCounters known_of(const NicCounters& counters, Counts counts) {
  if (counts == Counts::each_queue) return counters;
  NicCounters known;
  for (const CounterRow& row : counter_table()) {
    if (counts == Counts::together && is_q_counter(row)) known.*row.member = counters.*row.member;
  }
  return known;
}

class NicSet final : public Backend {
 public:
  explicit NicSet(std::vector<std::unique_ptr<Backend>> nics)
      : nics_(std::move(nics)), engine_(engines_of(nics_)) {}

  const char* name() const override { return nics_.front()->name(); }
  BackendLimits limits() const override;
  NicCounters counters() const override;
  NicCount count() const override;

  Backend& nic(std::uint32_t index) override {
    GDAKIT_ASSERT(index < nics_.size());
    return *nics_[index];
  }

  Result<MemoryKeys> register_memory(void*, std::uint64_t, MemoryUse) override {
    return ask_one("register_memory");
  }
  Result<void> deregister_memory(MemoryKeys) override { return ask_one("deregister_memory"); }
  Result<Bytes> dc_target() override { return ask_one("dc_target"); }
  Result<format::AvSegment> dc_address(const Bytes&) override { return ask_one("dc_address"); }

  Result<void> share_heap(AddressRange& heap) override;

  Result<QueueResources> create_queue(const QueueMemory& memory) override;
  Result<void> connect_queue(QueueNumber queue, const Bytes& card) override {
    return named(queue, owner_of(queue).connect_queue(inner(queue), card));
  }
  Result<void> destroy_queue(QueueNumber queue) override {
    return named(queue, owner_of(queue).destroy_queue(inner(queue)));
  }

  void begin_end() override {
    for (const std::unique_ptr<Backend>& nic : nics_) nic->begin_end();
  }

  std::string describe_queue(QueueNumber queue) const override {
    return place_name(place_of(queue)) + ": " + owner_of(queue).describe_queue(inner(queue));
  }
  std::vector<BrokenQueue> broken_queues() const override;
  std::vector<QueueNumber> recordless_queues() const override;

  ProgressEngine* progress_engine() override {
    return engine_ == nullptr ? nullptr : engine_.get();
  }

  Result<void> pause() override;
  Result<void> resume() override;

 private:
  static std::unique_ptr<JointEngine> engines_of(const std::vector<std::unique_ptr<Backend>>& nics);

  // Of a queue of the set: the place of its NIC, and the number that its NIC has for it.
  std::size_t place_of(QueueNumber queue) const { return queue % nics_.size(); }
  QueueNumber inner(QueueNumber queue) const {
    return queue / static_cast<QueueNumber>(nics_.size());
  }
  Backend& owner_of(QueueNumber queue) const { return *nics_[place_of(queue)]; }
  QueueNumber number_of(std::size_t nic, QueueNumber inner) const {
    return inner * static_cast<QueueNumber>(nics_.size()) + static_cast<QueueNumber>(nic);
  }
  Result<void> named(QueueNumber queue, const Result<void>& done) const {
    return done ? done : done.error().within(place_name(place_of(queue)));
  }

  const std::vector<std::unique_ptr<Backend>> nics_;
  const std::unique_ptr<JointEngine> engine_;  // null: no NIC has one
};

std::unique_ptr<JointEngine> NicSet::engines_of(const std::vector<std::unique_ptr<Backend>>& nics) {
  std::vector<ProgressEngine*> engines;
  for (const std::unique_ptr<Backend>& nic : nics) {
    if (ProgressEngine* const engine = nic->progress_engine()) engines.push_back(engine);
  }
  return engines.empty() ? nullptr : std::make_unique<JointEngine>(std::move(engines));
}

BackendLimits NicSet::limits() const {
  BackendLimits all = nics_.front()->limits();
  for (const std::unique_ptr<Backend>& nic : nics_) {
    const BackendLimits one = nic->limits();
    all.max_message_bytes = std::min(all.max_message_bytes, one.max_message_bytes);
    all.max_queue_depth = std::min(all.max_queue_depth, one.max_queue_depth);
    all.needs_cst = all.needs_cst || one.needs_cst;
    all.device_rings = all.device_rings && one.device_rings;
    all.device_queues = all.device_queues && one.device_queues;
    all.auto_direct = all.auto_direct && one.auto_direct;
    all.direct_peers = all.direct_peers && one.direct_peers;
    all.on_bus = all.on_bus || one.on_bus;
    all.has_dc = all.has_dc && one.has_dc;
    all.has_recordless = all.has_recordless && one.has_recordless;
  }
  all.nics = static_cast<std::uint32_t>(nics_.size());
  return all;
}

NicCounters NicSet::counters() const { return count().nic; }

NicCount NicSet::count() const {
  NicCount all;
  for (std::size_t i = 0; i < nics_.size(); ++i) {
    const NicCount one = nics_[i]->count();
    all.nic += one.nic;
    all.counts = less_of(all.counts, one.counts);
    for (const QueueCount& queue : one.queues) {
      all.queues.push_back({number_of(i, queue.number), queue.counters});
    }
  }
  all.nic = known_of(all.nic, all.counts);
  // Queues are named all the same: each may be broken.
  for (QueueCount& queue : all.queues) {
    if (all.counts != Counts::each_queue) queue.counters = {};
  }
  return all;
}

// One after the other, on all PEs: it fails on all of them alike.
Result<void> NicSet::share_heap(AddressRange& heap) {
  for (std::size_t i = 0; i < nics_.size(); ++i) {
    const Result<void> shared = nics_[i]->share_heap(heap);
    if (!shared) return shared.error().within(place_name(i));
  }
  return {};
}

Result<QueueResources> NicSet::create_queue(const QueueMemory& memory) {
  GDAKIT_ASSERT(memory.nic < nics_.size());
  QueueMemory of_one = memory;
  of_one.nic = 0;
  Result<QueueResources> made = nics_[memory.nic]->create_queue(of_one);
  if (!made) return made.error().within(place_name(memory.nic));
  made->number = number_of(memory.nic, made->number);
  return made;
}

std::vector<BrokenQueue> NicSet::broken_queues() const {
  std::vector<BrokenQueue> all;
  for (std::size_t i = 0; i < nics_.size(); ++i) {
    for (const BrokenQueue& queue : nics_[i]->broken_queues()) {
      all.push_back({number_of(i, queue.number), place_name(i) + ": " + queue.why});
    }
  }
  return all;
}

std::vector<QueueNumber> NicSet::recordless_queues() const {
  std::vector<QueueNumber> all;
  for (std::size_t i = 0; i < nics_.size(); ++i) {
    for (const QueueNumber queue : nics_[i]->recordless_queues()) {
      all.push_back(number_of(i, queue));
    }
  }
  return all;
}

Result<void> NicSet::pause() {
  for (std::size_t i = 0; i < nics_.size(); ++i) {
    const Result<void> paused = nics_[i]->pause();
    if (paused) continue;
    while (i-- > 0) static_cast<void>(nics_[i]->resume());
    return paused;
  }
  return {};
}

Result<void> NicSet::resume() {
  Result<void> first;
  for (const std::unique_ptr<Backend>& nic : nics_) {
    const Result<void> resumed = nic->resume();
    if (first) first = resumed;
  }
  return first;
}

}  // namespace

std::unique_ptr<Backend> make_nic_set(std::vector<std::unique_ptr<Backend>> nics) {
  GDAKIT_ASSERT(nics.size() >= 2 && nics.size() <= kMaxNicsPerPe);
  return std::make_unique<NicSet>(std::move(nics));
}

}  // namespace gdakit
