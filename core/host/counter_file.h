// A file with what the NIC of a PE counts, in Prometheus' text format (pe_counters.h), for
// node_exporter's textfile collector and for `gdakit top`.
//
// A thread of its own writes DIRECTORY/pe<rank>.prom twice a second, and once more at the end. Who
// reads finds a whole file at any time: each one takes the place of the last at once. The NIC is
// asked between two of its steps.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "core/base/log.h"
#include "core/base/result.h"
#include "core/host/backend.h"
#include "core/host/pe_counters.h"

namespace gdakit {

class CounterFile {
 public:
  // Writes the first file. Error: that is not possible. `backend` outlives it. On a file system
  // that hangs, this and the end wait for it without a limit.
  static Result<std::unique_ptr<CounterFile>> open(const std::string& directory, int pe, Log log,
                                                   const Backend& backend);
  // Writes the last file.
  ~CounterFile();
  CounterFile(const CounterFile&) = delete;
  CounterFile& operator=(const CounterFile&) = delete;

  // Which queue to which peer it is.
  void name_queue(QueueNumber queue, QueuePosition position);

 private:
  CounterFile(std::string directory, int pe, Log log, const Backend& backend);
  void run();
  Result<void> write();

  const std::string path_;
  const std::string next_path_;  // where a file is written before it takes the other's place
  const Log log_;
  const Backend& backend_;
  PeCounters counters_;  // of the thread, once that runs
  bool failed_ = false;  // a file could not be written: said once
  std::mutex mutex_;     // of what follows
  std::condition_variable changed_;
  bool stopping_ = false;
  std::map<QueueNumber, QueuePosition> positions_;
  std::thread thread_;
};

}  // namespace gdakit
