// Counters to print, and a place for files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdlib.h>
#include <string>

#include <gtest/gtest.h>

#include "core/host/pe_counters.h"

namespace gdakit::testing_job {

// Two queue pairs, one of which is no queue to a peer, and some that are gone.
inline PeCounters sample_pe(int rank) {
  PeCounters pe;
  pe.pe = rank;
  pe.started_ms = 1'000'500;
  pe.sampled_ms = 1'002'500;
  pe.queues = {{.number = 3, .position = QueuePosition{1, 2}}, {.number = 5}};
  pe.queues[0].counters.bytes_sent = 100;
  pe.queues[1].counters.bytes_sent = 20;
  pe.nic.bytes_sent = 127;
  pe.nic.dropped_packets = 4;
  return pe;
}

// Of a NIC that counts for its two queues together, one of which is broken.
inline PeCounters pe_counted_together(int rank) {
  PeCounters pe = sample_pe(rank);
  pe.counts = Counts::together;
  pe.queues[0].broken = false;
  pe.queues[1].broken = true;
  pe.queues[0].counters = pe.queues[1].counters = {};
  pe.nic = {};
  pe.nic.out_of_sequence = 6;
  pe.nic.req_remote_access_errors = 2;
  return pe;
}

// Queue i has sent i bytes.
inline PeCounters pe_with_queues(std::uint32_t count) {
  PeCounters pe;
  pe.started_ms = 1'000'500;
  pe.sampled_ms = 1'002'500;
  for (std::uint32_t i = 0; i < count; ++i) {
    pe.queues.push_back({.number = 100 + i, .position = QueuePosition{static_cast<int>(i), 0}});
    pe.queues.back().counters.bytes_sent = i;
    pe.nic.bytes_sent += i;
  }
  return pe;
}

class TemporaryDirectory {
 public:
  TemporaryDirectory() : path_(testing::TempDir() + "gdakit-counters-XXXXXX") {
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace gdakit::testing_job
