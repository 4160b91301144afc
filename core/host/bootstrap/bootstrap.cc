#include "core/host/bootstrap/bootstrap.h"

#include <utility>

#include "core/base/other_processes.h"

namespace gdakit {

const char* collective_name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::join: return "join";
    case CollectiveKind::barrier: return "barrier";
    case CollectiveKind::allgather: return "allgather";
    case CollectiveKind::alltoall: return "alltoall";
    case CollectiveKind::broadcast: return "broadcast";
  }
  return "unknown";
}

namespace {

Result<void> check_size(CollectiveKind kind, std::uint64_t total) {
  if (total <= kMaxContributionBytes) return {};
  return Error(Code::invalid_argument, std::string(collective_name(kind)) + ": this PE gave " +
                                           std::to_string(total) + " bytes; at most " +
                                           std::to_string(kMaxContributionBytes) +
                                           " are allowed in one call: split the blob");
}

}  // namespace

Result<std::vector<Bytes>> Bootstrap::collective(CollectiveKind kind, int root,
                                                 std::vector<Bytes> blobs) {
  if (process_ != ::getpid()) {
    return Error(Code::invalid_argument,
                 std::string(collective_name(kind)) + ": this process is a child by fork of PE " +
                     std::to_string(rank_) +
                     ", and no PE of the job; call it in the process that called init");
  }
  if (const std::optional<Error> before = failure()) return *before;
  std::uint64_t total = 0;
  for (const Bytes& blob : blobs) total += blob.size();
  if (Result<void> fits = check_size(kind, total); !fits) return fits.error();
  const CollectiveCall call{kind, root, next_sequence_++, purpose_};
  tell_other_processes();
  Result<std::vector<Bytes>> answer = exchange(call, std::move(blobs));
  hear_other_processes();
  if (!answer && answer.error().code() != Code::peer_lost) keep_failure(answer.error());
  return answer;
}

std::optional<Error> Bootstrap::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Bootstrap::keep_failure(Error error) {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(error);
}

Result<std::vector<Bytes>> Bootstrap::allgather(const Bytes& mine) {
  // Checked before the copy, so that a blob that is too large costs no memory.
  if (Result<void> fits = check_size(CollectiveKind::allgather, mine.size()); !fits) {
    return fits.error();
  }
  return collective(CollectiveKind::allgather, 0, {mine});
}

Result<std::vector<Bytes>> Bootstrap::alltoall(std::vector<Bytes> to_each) {
  if (to_each.size() != static_cast<std::size_t>(size_)) {
    return Error(Code::invalid_argument, "alltoall: " + std::to_string(to_each.size()) +
                                             " blobs given in a job of " + std::to_string(size_) +
                                             " PEs; give one for each PE");
  }
  return collective(CollectiveKind::alltoall, 0, std::move(to_each));
}

Result<Bytes> Bootstrap::broadcast(int root, const Bytes& blob) {
  if (root < 0 || root >= size_) {
    return Error(Code::invalid_argument, "broadcast: root " + std::to_string(root) +
                                             " is not a PE of this job; PEs are 0 to " +
                                             std::to_string(size_ - 1));
  }
  if (root == rank_) {
    Result<void> fits = check_size(CollectiveKind::broadcast, blob.size());
    if (!fits) return fits.error();
  }
  std::vector<Bytes> blobs;
  if (root == rank_) blobs.push_back(blob);
  Result<std::vector<Bytes>> answer = collective(CollectiveKind::broadcast, root, std::move(blobs));
  if (!answer) return answer.error();
  return std::move(answer->front());
}

Result<void> Bootstrap::barrier() {
  Result<std::vector<Bytes>> answer = collective(CollectiveKind::barrier, 0, {});
  if (!answer) return answer.error();
  return {};
}

void Bootstrap::abort(const std::string& message) {
  if (process_ != ::getpid() || failure()) return;
  send_abort(message);
  keep_failure(Error(Code::aborted, "this PE ended the job: " + message));
}

}  // namespace gdakit
