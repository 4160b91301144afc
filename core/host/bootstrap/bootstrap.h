// Bootstrap: how the PEs of a job exchange blobs before, and beside, the data path: keys,
// addresses, queue numbers.
//
//   Result<std::vector<Bytes>> cards = bootstrap.allgather(my_card);
//   if (!cards) return cards.error();
//   use(cards->at(pe));   // what that PE gave
//
// Every operation is collective: all PEs make the same calls in the same order. A call that does
// not match is an error on every PE that says who called what, never a hang. Every call ends within
// the bootstrap's timeout, by the clock of go_by(), with an error that names the PEs that did not
// come. The first error is final: each later call returns it again, because the PEs no longer agree
// on where they are. All but Code::peer_lost: with PeerLoss::go_on on PE 0, once all have joined,
// the loss of another PE ends no job. A barrier is then one of those that are left, and any other
// call fails on all of them alike, and may be followed by the next.
//
// Blobs may differ in size from PE to PE and may be empty; what one PE gives to one call is at most
// kMaxContributionBytes. A Bootstrap serves one thread at a time. Destroying it is how a PE leaves
// in an orderly way: calls that need it afterwards fail with "PE 3 has left the job", whereas a PE
// that died is reported as "PE 3 is gone". A child by fork is no PE: its calls fail.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unistd.h>
#include <vector>

#include "core/base/result.h"
#include "core/base/wait_clock.h"

namespace gdakit {

using Bytes = std::vector<std::byte>;

// What `count` objects of T consist of.
template <class T>
Bytes to_bytes(const T* objects, std::size_t count) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto* const bytes = reinterpret_cast<const std::byte*>(objects);
  return Bytes(bytes, bytes + count * sizeof(T));
}

// A key that only the PEs of a job can make.
using JobKey = std::array<std::uint8_t, 32>;

// The most that one PE may give to one collective call, all of its blobs together.
inline constexpr std::uint64_t kMaxContributionBytes = std::uint64_t{64} << 20;

enum class CollectiveKind : std::uint32_t { join = 1, barrier, allgather, alltoall, broadcast };

// The kind's name as it stands in this file.
const char* collective_name(CollectiveKind kind);

// What a program called that needs the bootstrap. PEs that are in different calls hear of these
// rather than of what they are made of.
enum class Purpose : std::uint16_t {
  none,
  init,
  allocate,
  free,
  add_queues,
  add_channels,
  connect,
  barrier,
  end
};

// Which call this is. PEs that meet in a call must agree on all four.
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::barrier;
  int root = 0;                // of a broadcast; else 0
  std::uint64_t sequence = 0;  // counts the calls of this bootstrap
  Purpose purpose = Purpose::none;

  bool operator==(const CollectiveCall& other) const {
    return kind == other.kind && root == other.root && sequence == other.sequence &&
           purpose == other.purpose;
  }
};

// A PE that is gone without having left the job, and how that was noticed, in a sentence.
struct LostPe {
  int pe;
  std::string why;
  bool ends_job;  // or the others go on without it
};

class Bootstrap {
 public:
  Bootstrap(const Bootstrap&) = delete;
  Bootstrap& operator=(const Bootstrap&) = delete;
  virtual ~Bootstrap() = default;

  int rank() const { return rank_; }
  int size() const { return size_; }
  // This PE's number among those of its host, where the launcher has told it.
  std::optional<int> local_rank() const { return local_rank_; }

  // The job's key of this label: the same in all PEs, and nothing is sent for it. None if the job
  // has no secret, or one that is made of what others may know.
  virtual std::optional<JobKey> key(std::string_view) const { return {}; }

  // Every PE's blob, by rank.
  Result<std::vector<Bytes>> allgather(const Bytes& mine);
  // Gives to_each[pe] to that PE; the result's [pe] is what that PE gave to this one. `to_each` has
  // size() blobs.
  Result<std::vector<Bytes>> alltoall(std::vector<Bytes> to_each);
  // The root's blob, on every PE. What the others pass is not looked at.
  Result<Bytes> broadcast(int root, const Bytes& blob);
  // Returns once every PE has called it.
  Result<void> barrier();

  // The PEs whose loss was heard of since the last time, also those that ended the job by abort(),
  // or that have left it after it had failed. Any thread, also while another one is in a call; it
  // waits for nobody.
  virtual std::vector<LostPe> take_losses() { return {}; }

  // Timeouts of calls are by this clock from now on. Between calls.
  virtual void go_by(std::shared_ptr<const WaitClock> clock) { clock_ = std::move(clock); }
  // Null: none was given.
  const std::shared_ptr<const WaitClock>& clock() const { return clock_; }

  // Keeps something until the last PE has left, where all PEs are of one process; else drops it.
  // For memory that other PEs' threads may still use when this PE leaves before they know.
  virtual void keep(std::shared_ptr<void> thing) { thing.reset(); }

  // What the calls are for, as long as it lives; the outermost one counts. By the thread that makes
  // the calls.
  class For {
   public:
    For(Bootstrap& bootstrap, Purpose purpose)
        : bootstrap_(bootstrap), before_(bootstrap.purpose_) {
      if (before_ == Purpose::none) bootstrap.purpose_ = purpose;
    }
    ~For() { bootstrap_.purpose_ = before_; }
    For(const For&) = delete;
    For& operator=(const For&) = delete;

   private:
    Bootstrap& bootstrap_;
    Purpose before_;
  };

  // Fails every pending and later call of every PE with "PE 2 ended the job: message". Best effort:
  // returns when the message is on its way. May be called while another thread is in a call.
  void abort(const std::string& message);

 protected:
  Bootstrap(int rank, int size, std::optional<int> local_rank = {})
      : rank_(rank), size_(size), local_rank_(local_rank), process_(::getpid()) {}

  // Carries this PE's blobs to the others and returns what the call gives to this PE:
  //   join, barrier  no blobs -> none          allgather  one blob -> size() blobs, by rank
  //   broadcast      root one, others none -> one          alltoall  size() blobs -> size() blobs
  virtual Result<std::vector<Bytes>> exchange(const CollectiveCall& call,
                                              std::vector<Bytes> blobs) = 0;
  virtual void send_abort(const std::string& message) = 0;

  // Numbers the call, runs it, and keeps the first error.
  Result<std::vector<Bytes>> collective(CollectiveKind kind, int root, std::vector<Bytes> blobs);

 private:
  std::optional<Error> failure() const;
  void keep_failure(Error error);

  int rank_;
  int size_;
  std::optional<int> local_rank_;
  std::shared_ptr<const WaitClock> clock_;
  const pid_t process_;  // a child of it by fork is no PE
  std::uint64_t next_sequence_ = 0;
  Purpose purpose_ = Purpose::none;
  mutable std::mutex mutex_;  // of failure_
  std::optional<Error> failure_;
};

// Every PE's value, by rank. T holds no pointers that mean anything elsewhere.
template <class T>
Result<std::vector<T>> allgather_value(Bootstrap& bootstrap, const T& mine) {
  static_assert(std::is_default_constructible_v<T>);
  Result<std::vector<Bytes>> blobs = bootstrap.allgather(to_bytes(&mine, 1));
  if (!blobs) return blobs.error();
  std::vector<T> values(blobs->size());
  for (std::size_t pe = 0; pe < values.size(); ++pe) {
    const Bytes& blob = (*blobs)[pe];
    if (blob.size() != sizeof(T)) {
      return Error(Code::invalid_argument,
                   "allgather: PE " + std::to_string(pe) + " gave " + std::to_string(blob.size()) +
                       " bytes where this PE gave " + std::to_string(sizeof(T)) +
                       "; do all PEs run the same program?");
    }
    std::memcpy(static_cast<void*>(&values[pe]), blob.data(), sizeof(T));
  }
  return values;
}

}  // namespace gdakit
