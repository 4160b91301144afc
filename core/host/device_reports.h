// What the device's threads of one PE report, in words: to whoever asks, and on stderr once nobody
// has asked for a while, so that a kernel that never ends is heard of, too. Queues that break, and
// those that a program rings without their doorbell records, are said there, once each, when the
// NIC knows.
//
// A thread of its own looks, some twenty times a second. It reads memory of the host alone, and
// asks the NIC, so that a kernel of a GPU that runs meanwhile does not matter.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/base/log.h"
#include "core/base/result.h"
#include "core/host/backend.h"
#include "core/host/stall.h"
#include "core/host/symmetric_heap.h"
#include "device/views.h"

namespace gdakit {

class DeviceReports {
 public:
  // What is given outlives it. Reports are warnings of `log`.
  DeviceReports(int my_pe, Log log, PeState& state, const SymmetricHeap& heap,
                const Backend& backend);
  // Says what has not been said.
  ~DeviceReports();
  DeviceReports(const DeviceReports&) = delete;
  DeviceReports& operator=(const DeviceReports&) = delete;

  // One more queue that may break; `index` among those to its peer.
  void watch(QueueNumber number, const QueuePeers& peers, std::uint32_t index);

  // The first stall, or else bad argument, since the last clear(). What it returns is not said on
  // stderr any more.
  Result<void> check();
  // The same for a queue whose breaking the caller tells.
  void note_said(QueueNumber queue);

  // Forgets both. False if there was nothing. Waits wait again.
  bool clear();
  // The device's waits wait again, although one has stalled.
  void let_wait();

 private:
  struct Watched {
    QueueNumber number;
    QueuePeers peers;
    std::uint32_t index;
    bool said = false;             // that it is broken
    bool recordless_said = false;  // that it has no doorbell record
  };

  void run();
  // What is new, in words.
  std::vector<std::string> look();
  std::string stall_text();
  void look_at_queues(std::vector<std::string>* news);
  Watched* find(QueueNumber number);

  const int my_pe_;
  const Log log_;
  PeState& state_;
  const SymmetricHeap& heap_;
  const Backend& backend_;
  std::mutex mutex_;  // of what follows; and no report is forgotten while it is read
  std::condition_variable changed_;
  bool stopping_ = false;
  std::vector<Watched> queues_;
  std::uint64_t stall_said_ = 0;  // the state of the report that was said last
  std::uint64_t fault_said_ = 0;
  std::thread thread_;
};

}  // namespace gdakit
