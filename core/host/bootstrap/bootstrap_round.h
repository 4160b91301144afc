// One collective call as the hub of a bootstrap sees it: who has come, with what, and what each PE
// gets.
//
// It moves no bytes between threads or processes and knows no time: the hubs of local_bootstrap and
// tcp_bootstrap do, and both use this, so that both give the same errors. A PE has at most one call
// under way and gets its answer only when all have come: so a hub has one round at a time.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/host/bootstrap/bootstrap.h"

namespace gdakit {

class BootstrapRound {
 public:
  explicit BootstrapRound(int size);

  // PE `rank` came with `blobs`. An error if it should not have: another call than the others are
  // in, the wrong number of blobs, or a call that needs a PE which has left.
  Result<void> add(int rank, const CollectiveCall& call, std::vector<Bytes> blobs);

  // PE `rank` left in an orderly way. An error if the others are waiting for it.
  Result<void> leave(int rank);

  // PE `rank` is gone, and the others go on: their rounds are complete without it.
  void lose(int rank);

  bool empty() const { return arrived_count_ == 0; }
  bool complete() const { return arrived_count_ == size() - lost_count_; }
  // Of a complete round: why it has no answer, because it takes all PEs and one is lost.
  std::optional<Error> refusal() const;

  // What PE `rank` gets from a complete round; valid until next().
  std::vector<std::span<const std::byte>> answer(int rank) const;
  // The same of an alltoall, as blobs of its own: once for each PE.
  std::vector<Bytes> take_answer(int rank);
  // True where every PE gets the same answer.
  bool one_answer() const { return call_.kind != CollectiveKind::alltoall; }
  const CollectiveCall& call() const { return call_; }

  // Forgets the round's blobs: the next call may begin.
  void next();

  // "barrier timed out after 60 s: no message from PE 3, PE 5".
  Error timed_out(std::chrono::milliseconds timeout) const;

 private:
  int size() const { return static_cast<int>(members_.size()); }
  std::optional<int> any_left() const;

  struct Member {
    bool arrived = false;
    bool left = false;
    bool lost = false;
    std::vector<Bytes> blobs;
  };

  // "PE 3, PE 5": those of whom it holds.
  template <class Holds>
  std::string names_of(const Holds& holds) const;

  std::vector<Member> members_;
  CollectiveCall call_;  // of the first that came
  int first_ = 0;        // who that was
  int arrived_count_ = 0;
  int lost_count_ = 0;
};

// "barrier (call 5)", "broadcast from PE 2 (call 6)"; "allocate", where that is what the program
// called.
std::string describe(const CollectiveCall& call);
// What the other PEs are told when PE `rank` calls abort(message).
Error aborted_by(int rank, const std::string& message);
// Why PE `rank`, which leaves in an orderly way, is lost to the others: the job has failed before.
// None if it failed by a timeout: the others may be at work that takes longer, without that PE.
std::optional<LostPe> left_failed_job(int rank, const std::optional<Error>& failure);

}  // namespace gdakit
