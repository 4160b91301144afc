#include "core/host/bootstrap/local_bootstrap.h"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>

#include "core/host/bootstrap/bootstrap_round.h"
#include "core/host/bootstrap/job_proof.h"

namespace gdakit {
namespace {

std::vector<Bytes> copy_of(const std::vector<std::span<const std::byte>>& spans) {
  std::vector<Bytes> blobs;
  blobs.reserve(spans.size());
  for (const std::span<const std::byte> span : spans) blobs.emplace_back(span.begin(), span.end());
  return blobs;
}

// Where the threads meet. The last to come puts out everybody's answer and opens the next round.
// Each copies its own, without the lock: hundreds of PEs would wait for it, and for the allocator,
// if one copied for all.
class LocalHub {
 public:
  LocalHub(int size, const JobSecret& secret, std::chrono::milliseconds timeout)
      : round_(size),
        answers_(static_cast<std::size_t>(size)),
        told_(static_cast<std::size_t>(size)),
        secret_(secret),
        timeout_(timeout) {}

  // Which does not leave the process.
  const JobSecret& secret() const { return secret_; }

  Result<std::vector<Bytes>> exchange(int rank, const CollectiveCall& call,
                                      std::vector<Bytes> blobs,
                                      const std::shared_ptr<const WaitClock>& clock) {
    const WaitLimit limit(clock, timeout_);
    std::shared_ptr<const std::vector<Bytes>>& answer = answers_[static_cast<std::size_t>(rank)];
    std::unique_lock lock(mutex_);
    if (failure_) return *failure_;
    if (Result<void> added = round_.add(rank, call, std::move(blobs)); !added) {
      return fail(added.error());
    }
    if (round_.complete()) finish_round();
    bool woken = false;
    do {
      woken = changed_.wait_for(lock, limit.rest(), [&] { return answer != nullptr || failure_; });
    } while (!woken && !limit.passed());
    // An answer that came together with a later failure is still this call's answer.
    if (answer != nullptr) {
      const auto mine = std::exchange(answer, nullptr);
      lock.unlock();
      return *mine;
    }
    if (!woken) return fail(round_.timed_out(timeout_));
    return *failure_;
  }

  void keep(std::shared_ptr<void> thing) {
    const std::lock_guard lock(mutex_);
    kept_.push_back(std::move(thing));
  }

  void leave(int rank) {
    const std::lock_guard lock(mutex_);
    if (std::optional<LostPe> loss = left_failed_job(rank, failure_)) note(std::move(*loss));
    if (Result<void> left = round_.leave(rank); !left && !failure_) set_failure(left.error());
  }

  void abort(int rank, const std::string& message) {
    const std::lock_guard lock(mutex_);
    if (failure_) return;
    set_failure(aborted_by(rank, message));
    note({rank, failure_->message(), true});
  }

  // Those that this one was not told of yet.
  std::vector<LostPe> take_losses(int rank) {
    const std::lock_guard lock(mutex_);
    std::size_t& told = told_[static_cast<std::size_t>(rank)];
    std::vector<LostPe> losses;
    for (; told != losses_.size(); ++told) {
      if (losses_[told].pe != rank) losses.push_back(losses_[told]);
    }
    return losses;
  }

 private:
  // With mutex_ held, as the functions below.
  void set_failure(Error error) {
    failure_ = std::move(error);
    changed_.notify_all();
  }

  Error fail(Error error) {
    set_failure(std::move(error));
    return *failure_;
  }

  // Who aborts is lost once, though it leaves later.
  void note(LostPe loss) {
    if (std::ranges::find(losses_, loss.pe, &LostPe::pe) == losses_.end()) {
      losses_.push_back(std::move(loss));
    }
  }

  void finish_round() {
    if (round_.one_answer()) {
      const std::shared_ptr<const std::vector<Bytes>> common =
          std::make_shared<std::vector<Bytes>>(copy_of(round_.answer(0)));
      std::ranges::fill(answers_, common);
    } else {
      for (std::size_t rank = 0; rank < answers_.size(); ++rank) {
        answers_[rank] =
            std::make_shared<std::vector<Bytes>>(round_.take_answer(static_cast<int>(rank)));
      }
    }
    round_.next();
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  BootstrapRound round_;
  // Given out, not yet taken, by rank.
  std::vector<std::shared_ptr<const std::vector<Bytes>>> answers_;
  std::optional<Error> failure_;
  std::vector<LostPe> losses_;               // in their order
  std::vector<std::size_t> told_;            // how many of those, by rank
  std::vector<std::shared_ptr<void>> kept_;  // until the last PE has left
  const JobSecret secret_;
  const std::chrono::milliseconds timeout_;
};

class LocalBootstrap final : public Bootstrap {
 public:
  LocalBootstrap(int rank, int size, std::shared_ptr<LocalHub> hub)
      : Bootstrap(rank, size), hub_(std::move(hub)) {}
  ~LocalBootstrap() override { hub_->leave(rank()); }

  void keep(std::shared_ptr<void> thing) override { hub_->keep(std::move(thing)); }
  // Threads of one process die together; but one may end the job, and others leave it then.
  std::vector<LostPe> take_losses() override { return hub_->take_losses(rank()); }
  std::optional<JobKey> key(std::string_view label) const override {
    return make_job_key(hub_->secret(), label);
  }

 private:
  Result<std::vector<Bytes>> exchange(const CollectiveCall& call,
                                      std::vector<Bytes> blobs) override {
    return hub_->exchange(rank(), call, std::move(blobs), clock());
  }
  void send_abort(const std::string& message) override { hub_->abort(rank(), message); }

  std::shared_ptr<LocalHub> hub_;
};

}  // namespace

Result<std::vector<std::unique_ptr<Bootstrap>>> make_local_bootstraps(
    int size, std::chrono::milliseconds timeout) {
  if (size < 1) {
    return Error(Code::invalid_argument, "make_local_bootstraps: a job of " + std::to_string(size) +
                                             " PEs was asked for; it needs at least 1");
  }
  const Result<JobSecret> secret = make_job_secret();
  if (!secret) return secret.error();
  const auto hub = std::make_shared<LocalHub>(size, *secret, timeout);
  std::vector<std::unique_ptr<Bootstrap>> members;
  for (int rank = 0; rank < size; ++rank) {
    members.push_back(std::make_unique<LocalBootstrap>(rank, size, hub));
  }
  return members;
}

}  // namespace gdakit
