// What a NIC tells a timeline of a WQE's way, of errors, and of its packets.
#include "backends/softnic/objects/nic_trace.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/softnic/wire/trace_wire.h"
#include "core/host/trace/trace_file.h"
#include "tests/softnic/engine_rig.h"

namespace gdakit::softnic::test {
namespace {

using format::Completion;
using testing::ElementsAre;

// A rig whose engines tell one trace what they do, and whose first wire does, too.
class TracedRig : public testing::Test {
 protected:
  void SetUp() override { make({}); }
  // In place of what was there.
  void make(RigOptions options) {
    rig_.reset();
    trace_.reset();
    std::filesystem::create_directories(folder_);
    auto file = TraceFile::create(folder_, 0, "nic", Log());
    ASSERT_TRUE(file) << file.error().message();
    trace_ = std::make_unique<NicTrace>(std::move(*file));
    options.engine.trace = trace_.get();
    options.wrap_wire = [this](std::unique_ptr<Wire> wire, int side) -> std::unique_ptr<Wire> {
      if (side == 1) return wire;
      return std::make_unique<TraceWire>(std::move(wire), *trace_);
    };
    rig_.emplace(options);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  EngineRig& rig() { return *rig_; }
  void run() {
    rig().a.ring();
    ASSERT_TRUE(rig().run());
  }
  // All that was told, once. The rig ends.
  std::vector<TraceRecord> records() {
    rig_.reset();
    trace_.reset();
    std::ifstream file(folder_ + "/pe0-nic.trace", std::ios::binary);
    file.seekg(sizeof(TraceHeader));
    std::vector<TraceRecord> all;
    TraceRecord record;
    while (file.read(reinterpret_cast<char*>(&record), sizeof record)) all.push_back(record);
    return all;
  }
  std::vector<TraceRecord> records_of(TraceKind kind) {
    std::vector<TraceRecord> some;
    for (const TraceRecord& record : records()) {
      if (record.kind == kind) some.push_back(record);
    }
    return some;
  }

 private:
  const std::string folder_ = testing::TempDir() + "gdakit-nic-trace-" + std::to_string(::getpid());
  std::unique_ptr<NicTrace> trace_;
  std::optional<EngineRig> rig_;
};

Wqe silent(Wqe wqe) {
  wqe.completion = Completion::on_error;
  return wqe;
}

std::vector<TraceKind> kinds_of(const std::vector<TraceRecord>& records) {
  std::vector<TraceKind> kinds;
  for (const TraceRecord& record : records) kinds.push_back(record.kind);
  return kinds;
}

TEST_F(TracedRig, TellsOfAWqeFromTheDoorbellToTheCqe) {
  rig().a.post(write_wqe(rig(), 0, 0, 100));
  run();
  const QpNumber qpn = rig().a.qpn;
  const auto all = records();
  ASSERT_THAT(kinds_of(all), ElementsAre(TraceKind::doorbell, TraceKind::fetch,
                                         TraceKind::wqe_begin, TraceKind::packet_out,
                                         TraceKind::packet_in, TraceKind::cqe, TraceKind::wqe_end));
  for (const TraceRecord& record : all) EXPECT_EQ(record.queue, qpn);
  EXPECT_EQ(all[0].index, 1u) << "the producer counter";
  EXPECT_EQ(all[1].size, 1u);
  EXPECT_EQ(all[2].size, 100u);
  EXPECT_EQ(all[2].of.opcode, static_cast<std::uint32_t>(format::Opcode::rdma_write));
  EXPECT_EQ(all[3].of.opcode, static_cast<std::uint32_t>(PacketOpcode::write_only));
  EXPECT_EQ(all[3].size, 100u);
  EXPECT_EQ(all[4].of.opcode, static_cast<std::uint32_t>(PacketOpcode::acknowledge));
  EXPECT_EQ(all[4].of.psn, all[3].of.psn);
  EXPECT_EQ(all[6].of.detail, static_cast<std::uint32_t>(TraceEnd::told));
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_GE(all[i].time_ns, all[i - 1].time_ns);
  EXPECT_LE(all[5].value, all[5].time_ns);
  EXPECT_GE(all[5].value, all[4].time_ns);
}

TEST_F(TracedRig, TellsOfWqesWithoutACqe) {
  for (int i = 0; i < 2; ++i) rig().a.post(silent(write_wqe(rig(), 0, 0, 8)));
  rig().a.post(write_wqe(rig(), 0, 0, 8));
  run();
  const auto ends = records_of(TraceKind::wqe_end);
  ASSERT_EQ(ends.size(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(ends[i].index, i);
    const TraceEnd how = i == 2 ? TraceEnd::told : TraceEnd::silent;
    EXPECT_EQ(ends[i].of.detail, static_cast<std::uint32_t>(how));
  }
}

TEST_F(TracedRig, TellsWhichWqeFailedAndWhichWereFlushed) {
  Wqe bad = silent(write_wqe(rig(), 0, 0, 8));
  bad.opcode = static_cast<format::Opcode>(0x7f);
  rig().a.post(write_wqe(rig(), 0, 0, 8));
  rig().a.post(bad);
  rig().a.post(silent(write_wqe(rig(), 0, 0, 8)));
  run();
  std::vector<TraceEnd> ends;
  std::vector<std::uint32_t> syndromes;
  for (const TraceRecord& record : records()) {
    if (record.kind == TraceKind::wqe_end) {
      ends.push_back(static_cast<TraceEnd>(record.of.detail));
    }
    if (record.kind == TraceKind::cqe) syndromes.push_back(record.of.detail);
  }
  EXPECT_THAT(ends, ElementsAre(TraceEnd::told, TraceEnd::failed, TraceEnd::flushed));
  EXPECT_THAT(syndromes, ElementsAre(0u, static_cast<std::uint32_t>(kMalformedWqe.syndrome),
                                     static_cast<std::uint32_t>(format::Syndrome::flushed)));
}

TEST_F(TracedRig, TellsWhichCqesAreLostToAnOverrun) {
  RigOptions options;
  options.log_cq = 1;
  options.overrun_ignore = false;
  make(options);
  for (int i = 0; i < 4; ++i) rig().a.post(write_wqe(rig(), 0, 0, 8));
  run();
  const NicCounters counted = rig().a.engine.counters();
  std::uint64_t written = 0, lost = 0;
  for (const TraceRecord& record : records()) {
    if (record.kind == TraceKind::cqe) ++written;
    if (record.kind != TraceKind::cqe_lost) continue;
    EXPECT_EQ(record.index, 2 + lost);
    ++lost;
  }
  EXPECT_EQ(written, 2u);
  EXPECT_EQ(written, counted.cqes);
  EXPECT_GE(lost, 1u);
  EXPECT_EQ(lost, counted.cq_overflow);
}

}  // namespace
}  // namespace gdakit::softnic::test
