// Which PEs are lost: gone without having left the job. What the bootstrap hears of them, and how
// the PE's kernels hear of it (device/loss.h).
//
// A thread of its own asks the bootstrap some twenty times a second, writes what is new to memory
// that the kernels read, and says it as a warning of the log. Those who go because the job has
// ended are no news.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/log.h"
#include "core/base/result.h"
#include "core/host/bootstrap/bootstrap.h"
#include "core/host/memory/memory_provider.h"
#include "device/views.h"

namespace gdakit {

class LostPes {
 public:
  // The bootstrap outlives it; `memory` gives what kernels read besides their PeState.
  static Result<std::unique_ptr<LostPes>> watch(Bootstrap& bootstrap, MemoryProvider& memory,
                                                Log log);
  ~LostPes();
  LostPes(const LostPes&) = delete;
  LostPes& operator=(const LostPes&) = delete;

  // Asks the bootstrap now. Behind a barrier all PEs know the same of what came before.
  void look();
  // From now on nobody is lost any more: the PEs end.
  void stop();

  // Those whose waits go by `state` hear of losses, also earlier ones, until forget(). Threads of
  // the host have states of their own. Any thread.
  void tell(PeState& state);
  void forget(PeState& state);

  // Those that are known to be lost, ascending.
  std::vector<int> pes() const;
  // The same. What any PE may end waits on after these losses.
  std::vector<int> acknowledge();
  // The loss that has ended the job, the first that is not acknowledged, or that of one PE; none
  // if there was none.
  std::optional<LostPe> end_of_job() const;
  std::optional<LostPe> new_loss() const;
  std::optional<LostPe> loss_of(int pe) const;

 private:
  LostPes(Bootstrap& bootstrap, std::unique_ptr<MemoryBlock> table, Log log);
  void run();
  void note(const LostPe& loss);
  // With mutex_ held, as what follows.
  const LostPe* find(int pe) const;
  std::vector<int> known() const;
  void write(PeState& state) const;

  Bootstrap& bootstrap_;
  const std::unique_ptr<MemoryBlock> table_;  // a word for each PE
  const Log log_;
  mutable std::mutex mutex_;  // of what follows, and of what is written for kernels
  std::condition_variable changed_;
  bool stopping_ = false;
  std::vector<PeState*> states_;
  std::vector<LostPe> lost_;  // in the order of the news
  int new_loss_ = -1;         // the first of those that are not acknowledged
  std::thread thread_;
};

}  // namespace gdakit
