// A NIC that moves nothing: it notes what it is asked, hands out keys and QPNs that tell whose they
// are, and refuses what is not its own. For what a PE's host side does with several NICs.
//
//   auto set = test::fake_nics(2, 0);      // of PE 0
//   set.nics[1]->refuse("register_memory");
//   NicKeys::create(*set.backend, ...)
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/host/nic_set.h"

namespace gdakit::test {

// What stands in each key, QPN and card of a fake NIC.
struct FakeOwner {
  std::uint32_t pe = 0;
  std::uint32_t place = 0;   // of the NIC among the PE's
  std::uint32_t number = 0;  // counts what the NIC has handed out

  // 24 bits.
  constexpr std::uint32_t word() const { return pe << 16 | place << 12 | number; }
  static constexpr FakeOwner of(std::uint32_t word) {
    return {word >> 16, word >> 12 & 0xf, word & 0xfff};
  }
  friend bool operator==(const FakeOwner&, const FakeOwner&) = default;
};

class FakeNic final : public Backend {
 public:
  struct Region {
    void* base;
    std::uint64_t bytes;
  };

  FakeNic(std::uint32_t place, int pe) : owner_{static_cast<std::uint32_t>(pe), place} {
    limits_.has_dc = true;
  }

  // ---- What a test sets and sees. Set before it is asked.

  BackendLimits limits_;
  NicCount count_;
  std::vector<BrokenQueue> broken_;
  std::vector<QueueNumber> recordless_;
  ProgressEngine* engine_ = nullptr;

  // From now on a call of this name fails, behind `times` that do not.
  void refuse(const std::string& call, int times = 0) {
    const std::lock_guard lock(mutex_);
    refused_[call] = times;
  }
  void refuse_no_longer() {
    const std::lock_guard lock(mutex_);
    refused_.clear();
  }
  // What was asked for, in its order: "destroy_queue 3".
  std::vector<std::string> notes() const {
    const std::lock_guard lock(mutex_);
    return notes_;
  }
  // What is registered, by lkey.
  std::map<std::uint32_t, Region> regions() const {
    const std::lock_guard lock(mutex_);
    return regions_;
  }
  // What each queue was made of.
  std::map<QueueNumber, QueueMemory> queues() const {
    const std::lock_guard lock(mutex_);
    return queues_;
  }

  // ---- Backend.

  const char* name() const override { return "fake"; }
  BackendLimits limits() const override { return limits_; }
  NicCounters counters() const override { return count_.nic; }
  NicCount count() const override { return count_; }

  Result<MemoryKeys> register_memory(void* base, std::uint64_t bytes, MemoryUse) override {
    const std::lock_guard lock(mutex_);
    if (auto may = note("register_memory"); !may) return may.error();
    const std::uint32_t key = next();
    regions_[key] = {base, bytes};
    return MemoryKeys{Be32{key}, Be32{key | kRemote}};
  }
  Result<void> deregister_memory(MemoryKeys keys) override {
    const std::lock_guard lock(mutex_);
    if (regions_.erase(keys.lkey) == 0) return unknown("key", keys.lkey);
    return note("deregister_memory");
  }
  Result<void> share_heap(AddressRange&) override { return locked_note("share_heap"); }

  Result<QueueResources> create_queue(const QueueMemory& memory) override {
    const std::lock_guard lock(mutex_);
    if (auto may = note("create_queue"); !may) return may.error();
    if (memory.nic != 0) return Error(Code::internal, "a queue of another NIC");
    const std::uint32_t qpn = next();
    queues_[owner_.number] = memory;
    return QueueResources{owner_.number, qpn, &doorbell_, &doorbell_, to_bytes(&qpn, 1)};
  }
  // Only with a queue of the NIC of the same place.
  Result<void> connect_queue(QueueNumber queue, const Bytes& card) override {
    const std::lock_guard lock(mutex_);
    if (!queues_.contains(queue)) return unknown("queue", queue);
    const auto peer = FakeOwner::of(word_of(card));
    if (peer.place != owner_.place) {
      return Error(Code::internal, "a card of NIC " + std::to_string(peer.place));
    }
    return note("connect_queue " + std::to_string(queue));
  }
  Result<void> destroy_queue(QueueNumber queue) override {
    const std::lock_guard lock(mutex_);
    if (queues_.erase(queue) == 0) return unknown("queue", queue);
    return note("destroy_queue " + std::to_string(queue));
  }

  Result<Bytes> dc_target() override {
    if (auto may = locked_note("dc_target"); !may) return may.error();
    const std::uint32_t word = owner_.word();
    return to_bytes(&word, 1);
  }
  // Counts the calls for each card, in place of a source port.
  Result<format::AvSegment> dc_address(const Bytes& card) override {
    const std::lock_guard lock(mutex_);
    const auto peer = FakeOwner::of(word_of(card));
    if (peer.place != owner_.place) {
      return Error(Code::internal, "a target of NIC " + std::to_string(peer.place));
    }
    format::AvSegment address{};
    address.dqp_dct = Be32{peer.word()};
    address.rlid = Be16{++addressed_[peer.word()]};
    return address;
  }

  void begin_end() override { static_cast<void>(locked_note("begin_end")); }
  std::string describe_queue(QueueNumber queue) const override {
    return "queue " + std::to_string(queue) + " is fine";
  }
  std::vector<BrokenQueue> broken_queues() const override { return broken_; }
  std::vector<QueueNumber> recordless_queues() const override { return recordless_; }
  ProgressEngine* progress_engine() override { return engine_; }
  Result<void> pause() override { return locked_note("pause"); }
  Result<void> resume() override { return locked_note("resume"); }

  static constexpr std::uint32_t kRemote = 0x80000000u;  // in rkeys

 private:
  static std::uint32_t word_of(const Bytes& card) {
    std::uint32_t word = 0;
    if (card.size() == sizeof word) std::memcpy(&word, card.data(), sizeof word);
    return word;
  }
  Error unknown(const std::string& kind, std::uint32_t number) const {
    return Error(Code::invalid_argument, "there is no " + kind + ' ' + std::to_string(number));
  }
  std::uint32_t next() {
    ++owner_.number;
    return owner_.word();
  }
  Result<void> note(const std::string& text) {
    notes_.push_back(text);
    const auto found = refused_.find(text.substr(0, text.find(' ')));
    if (found == refused_.end() || found->second-- > 0) return {};
    found->second = 0;
    return Error(Code::exhausted, "refused " + found->first);
  }
  Result<void> locked_note(const std::string& text) {
    const std::lock_guard lock(mutex_);
    return note(text);
  }

  mutable std::mutex mutex_;
  FakeOwner owner_;
  std::map<std::string, int> refused_;
  std::vector<std::string> notes_;
  std::map<std::uint32_t, Region> regions_;
  std::map<QueueNumber, QueueMemory> queues_;
  std::map<std::uint32_t, std::uint16_t> addressed_;  // by card
  std::uint64_t doorbell_ = 0;
};

struct FakeNics {
  std::unique_ptr<Backend> backend;
  std::vector<FakeNic*> nics;  // of it
};

// `nics` of them as one backend of that PE; one of them is by itself.
inline FakeNics fake_nics(std::uint32_t nics, int pe) {
  FakeNics made;
  std::vector<std::unique_ptr<Backend>> all;
  for (std::uint32_t place = 0; place < nics; ++place) {
    auto nic = std::make_unique<FakeNic>(place, pe);
    made.nics.push_back(nic.get());
    all.push_back(std::move(nic));
  }
  made.backend = nics == 1 ? std::move(all.front()) : make_nic_set(std::move(all));
  return made;
}

// For each PE of a job in this process as many.
class FakeProvider final : public BackendProvider {
 public:
  explicit FakeProvider(std::uint32_t nics) : nics_(nics) {}

  // What is done to each NIC before its PE has it, if anything.
  std::function<void(FakeNic& nic, int pe, std::uint32_t place)> before_use;

  Result<std::unique_ptr<Backend>> open(const Options&, Bootstrap& bootstrap,
                                        MemoryProvider&) override {
    FakeNics made = fake_nics(nics_, bootstrap.rank());
    for (std::uint32_t place = 0; place < nics_ && before_use; ++place) {
      before_use(*made.nics[place], bootstrap.rank(), place);
    }
    const std::lock_guard lock(mutex_);
    of_pe_[bootstrap.rank()] = made.nics;
    return std::move(made.backend);
  }

  // As long as its Context.
  FakeNic& nic(int pe, std::uint32_t place) {
    const std::lock_guard lock(mutex_);
    return *of_pe_.at(pe).at(place);
  }

 private:
  const std::uint32_t nics_;
  std::mutex mutex_;
  std::map<int, std::vector<FakeNic*>> of_pe_;
};

}  // namespace gdakit::test
