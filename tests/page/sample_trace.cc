#include "tests/page/sample_trace.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gdakit::sim {
namespace {

using Index = std::uint32_t;

enum : std::uint32_t {
  kPoster,
  kFirstPoster,
  kSleeper,
  kHelper,
  kOtherBlock,
  kIdle,
  kNic,
  kWire,
  kWaiter,
  kSecondWaiter,
  kThirdWaiter,
  kRemoteNic,
};

constexpr std::uint32_t kWords = 8;

std::string wqe_word(std::uint32_t word) {
  return "PE 0 queue 1 WQE 0 +" + std::to_string(8 * word);
}

std::int32_t as_source(Index index) { return static_cast<std::int32_t>(index); }

class Story {
 public:
  Story();

  Trace take() { return std::move(trace_); }
  void reserve(std::uint32_t lane, std::uint64_t slot);
  void store_wqe(std::uint32_t lane, std::uint64_t lap);
  void publish(std::uint32_t lane, std::uint64_t bits);
  void ring(std::uint32_t lane, std::uint64_t index, bool with_fence);
  void fetch(bool stale);
  void transfer(std::uint64_t data);
  void wait(std::uint32_t rounds);
  void see_data();
  void fail();

 private:
  Index add(std::uint32_t lane, EventKind kind, std::string what, std::string where = "",
            std::uint32_t bytes = 0, std::uint64_t value = 0);
  Event& last() { return trace_.events.back(); }
  void at(std::string file, std::uint32_t line, std::string order = "");

  Trace trace_;
  std::vector<Index> old_words_;
  std::vector<Index> words_;
  Index fence_ = 0;
  Index record_ = 0;
  Index rang_ = 0;
  Index data_ = 0;
};

Story::Story() {
  trace_.scenario = "post-from-two-threads";
  trace_.verdict =
      "The NIC of PE 0 executed the WQE of the lap before: it read word 0 of WQE 0 before the "
      "store of thread 0 had reached it.";
  trace_.token = "w1:7f3a";
  trace_.replay = "gdakit sim replay post-from-two-threads --token w1:7f3a9c --html run.html";
  trace_.deviations = "2 preemptions, 1 stale read";
  trace_.knobs = {"NIC works from: doorbell record", "DMA atom: 8 bytes"};
  trace_.lanes = {{"PE 0 block 0 thread 0", "PE 0"},
                  {"PE 0 block 0 thread 1", "PE 0"},
                  {"PE 0 block 0 thread 2", "PE 0"},
                  {"PE 0 block 0 thread 3", "PE 0"},
                  {"PE 0 block 1 thread 0", "PE 0"},
                  {"PE 0 block 1 thread 1", "PE 0"},
                  {"PE 0 NIC", "PE 0"},
                  {"wire", ""},
                  {"PE 1 block 0 thread 0", "PE 1"},
                  {"PE 1 block 0 thread 1", "PE 1"},
                  {"PE 1 block 0 thread 2", "PE 1"},
                  {"PE 1 NIC", "PE 1"}};
}

Index Story::add(std::uint32_t lane, EventKind kind, std::string what, std::string where,
                 std::uint32_t bytes, std::uint64_t value) {
  Event event;
  event.lane = lane;
  event.kind = kind;
  event.what = std::move(what);
  event.where = std::move(where);
  event.bytes = bytes;
  event.value = value;
  trace_.events.push_back(std::move(event));
  return static_cast<Index>(trace_.events.size() - 1);
}

void Story::at(std::string file, std::uint32_t line, std::string order) {
  last().file = std::move(file);
  last().line = line;
  last().order = std::move(order);
}

void Story::reserve(std::uint32_t lane, std::uint64_t slot) {
  add(lane, EventKind::rmw, "add.relaxed.gpu", "PE 0 queue 1 reserved", 8, slot + 1);
  last().old_value = slot;
  at("device/send_queue.h", 88);
  add(lane, EventKind::load, "load.acquire.gpu", "PE 0 queue 1 completed", 8, slot);
  last().reads_from = kReadInitial;
  at("device/send_queue.h", 102, "SlotFreeBeforeReuse");
}

void Story::store_wqe(std::uint32_t lane, std::uint64_t lap) {
  old_words_ = std::exchange(words_, {});
  for (std::uint32_t word = 0; word != kWords; ++word) {
    const std::uint64_t value = 0x0800000001000000 + (lap << 40) + word * 0x101;
    words_.push_back(add(lane, EventKind::store, "store.weak", wqe_word(word), 8, value));
    at("device/wqe_writer.h", 61);
  }
}

void Story::publish(std::uint32_t lane, std::uint64_t bits) {
  add(lane, EventKind::rmw, "xor.acq_rel.gpu", "PE 0 queue 1 ready word 0", 8, bits);
  last().old_value = bits ^ 1;
  at("device/publication.h", 143, "PublishReady");
}

void Story::ring(std::uint32_t lane, std::uint64_t index, bool with_fence) {
  if (with_fence) {
    fence_ = add(lane, EventKind::fence, "fence.release.system");
    at("device/ring.h", 37, "WqeBeforeDoorbellRecord");
  }
  record_ =
      add(lane, EventKind::store, "store.relaxed.system", "PE 0 queue 1 doorbell record", 4, index);
  at("device/ring.h", 40);
  const Index release = add(lane, EventKind::fence, "fence.release.system");
  at("device/ring.h", 44, "RecordBeforeDoorbell");
  rang_ = add(lane, EventKind::mmio_store, "mmio_store", "PE 0 queue 1 doorbell", 8, index << 8);
  at("device/ring.h", 46);
  if (!with_fence) return;
  add(kNic, EventKind::doorbell, "doorbell arrives", "PE 0 queue 1 doorbell", 8, index << 8);
  last().reads_from = as_source(rang_);
  last().follows = {release};
}

void Story::fetch(bool stale) {
  add(kNic, EventKind::dma_read, "dma_read", "PE 0 queue 1 doorbell record", 4, stale ? 5 : 1);
  last().reads_from = as_source(record_);
  if (!stale) last().follows = {fence_};
  for (std::uint32_t word = 0; word != kWords; ++word) {
    const bool old = stale && word == 0;
    const Index source = old ? old_words_[word] : words_[word];
    const std::uint64_t value = trace_.events[source].value;
    const Index read = add(kNic, EventKind::dma_read, "dma_read", wqe_word(word), 8, value);
    last().reads_from = as_source(source);
    last().stale_by = old ? 1 : 0;
    if (!old) continue;
    trace_.missing = {{words_[word], read,
                       "This read may see the old WQE, because no release at system scope lies "
                       "between the store of the WQE and the doorbell record that the NIC read."}};
  }
}

void Story::transfer(std::uint64_t data) {
  add(kNic, EventKind::dma_read, "dma_read", "PE 0 heap +0x40", 8, data);
  last().reads_from = kReadInitial;
  add(kNic, EventKind::packet, "sends RDMA WRITE, PSN 12");
  add(kWire, EventKind::packet, "carries PSN 12 to PE 1");
  add(kRemoteNic, EventKind::packet, "receives RDMA WRITE, PSN 12");
  data_ = add(kRemoteNic, EventKind::dma_write, "dma_write", "PE 1 heap +0x40", 8, data);
  add(kRemoteNic, EventKind::packet, "sends ACK, PSN 12");
  add(kWire, EventKind::packet, "carries ACK of PSN 12 to PE 0");
  add(kNic, EventKind::packet, "receives ACK, PSN 12");
  add(kNic, EventKind::dma_write, "dma_write", "PE 0 queue 1 CQE", 8, 0x01000000000000ff);
}

void Story::wait(std::uint32_t rounds) {
  for (std::uint32_t round = 0; round != rounds; ++round) {
    for (const std::uint32_t lane : {kWaiter, kSecondWaiter, kThirdWaiter}) {
      add(lane, EventKind::load, "load.acquire.system", "PE 1 heap +0x40", 8, 0);
      last().reads_from = kReadInitial;
      at("device/wait.h", 52, "SignalBeforeData");
    }
  }
  add(kSleeper, EventKind::barrier, "sync_warp");
  add(kHelper, EventKind::barrier, "sync_warp");
  add(kOtherBlock, EventKind::wait, "spins on ready word 0");
}

void Story::see_data() {
  for (const std::uint32_t lane : {kWaiter, kSecondWaiter, kThirdWaiter}) {
    add(lane, EventKind::load, "load.acquire.system", "PE 1 heap +0x40", 8, 0xfeedfacecafebeef);
    last().reads_from = as_source(data_);
    last().follows = {data_};
    at("device/wait.h", 52, "SignalBeforeData");
  }
}

void Story::fail() {
  add(kNic, EventKind::note, "executes WQE index 0 where index 4 was due");
  add(kNic, EventKind::dma_write, "dma_write", "PE 0 queue 1 CQE", 8, 0x0d00000000000004);
  add(kPoster, EventKind::load, "load.acquire.system", "PE 0 queue 1 CQE", 8, 0x0d00000000000004);
  last().reads_from = as_source(static_cast<Index>(trace_.events.size() - 2));
  at("device/completion.h", 77, "CompletionBeforeUse");
}

}  // namespace

Trace sample_trace() {
  Story story;
  story.wait(2);
  story.reserve(kFirstPoster, 0);
  story.store_wqe(kFirstPoster, 0);
  story.publish(kFirstPoster, 1);
  story.wait(2);
  story.ring(kFirstPoster, 1, true);
  story.fetch(false);
  story.wait(2);
  story.transfer(0xfeedfacecafebeef);
  story.see_data();
  story.reserve(kPoster, 4);
  story.store_wqe(kPoster, 1);
  story.publish(kPoster, 0);
  story.wait(3);
  story.ring(kPoster, 5, false);
  story.fetch(true);
  story.wait(1);
  story.fail();
  return story.take();
}

}  // namespace gdakit::sim
