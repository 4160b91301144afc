#include "core/host/bootstrap/bootstrap_round.h"

#include <utility>

#include "core/base/seconds_text.h"

namespace gdakit {
namespace {

std::string pe_name(int rank) { return "PE " + std::to_string(rank); }

std::size_t blobs_expected(const CollectiveCall& call, int rank, int size) {
  switch (call.kind) {
    case CollectiveKind::allgather: return 1;
    case CollectiveKind::alltoall: return static_cast<std::size_t>(size);
    case CollectiveKind::broadcast: return rank == call.root ? 1 : 0;
    case CollectiveKind::join:
    case CollectiveKind::barrier: break;
  }
  return 0;
}

// What the program called; null where it called the bootstrap itself.
const char* purpose_name(Purpose purpose) {
  switch (purpose) {
    case Purpose::none: break;
    case Purpose::init: return "init";
    case Purpose::allocate: return "allocate";
    case Purpose::free: return "free";
    case Purpose::add_queues: return "add_queues";
    case Purpose::add_channels: return "add_channels";
    case Purpose::connect: return "connect";
    case Purpose::barrier: return "barrier";
    case Purpose::end: return "the end of the Context";
  }
  return nullptr;
}

std::string numbered(const CollectiveCall& call) {
  std::string text = collective_name(call.kind);
  if (call.kind == CollectiveKind::broadcast) text += " from " + pe_name(call.root);
  return text + " (call " + std::to_string(call.sequence) + ")";
}

// "PE 1 ended its Context while PE 0 called allocate": who has ended comes first.
std::string mismatch_text(int one, const CollectiveCall& ones, int other,
                          const CollectiveCall& others) {
  const bool told = ones.purpose != others.purpose;
  if (told && others.purpose == Purpose::end) return mismatch_text(other, others, one, ones);
  const auto did = [told](int rank, const CollectiveCall& call) {
    if (told && call.purpose == Purpose::end) return pe_name(rank) + " ended its Context";
    return pe_name(rank) + " called " + (told ? describe(call) : numbered(call));
  };
  return did(one, ones) + " while " + did(other, others);
}

Error left_error(int rank, const CollectiveCall& call) {
  return Error(Code::aborted, describe(call) + " cannot complete: " + pe_name(rank) +
                                  " has left the job (its bootstrap was closed)");
}

}  // namespace

std::string describe(const CollectiveCall& call) {
  const char* const name = purpose_name(call.purpose);
  return name != nullptr ? name : numbered(call);
}

Error aborted_by(int rank, const std::string& message) {
  return Error(Code::aborted, pe_name(rank) + " ended the job: " + message);
}

std::optional<LostPe> left_failed_job(int rank, const std::optional<Error>& failure) {
  if (!failure || failure->code() == Code::timed_out) return std::nullopt;
  return LostPe{rank, pe_name(rank) + " has left the job, which has failed: " + failure->message(),
                true};
}

BootstrapRound::BootstrapRound(int size) : members_(static_cast<std::size_t>(size)) {}

template <class Holds>
std::string BootstrapRound::names_of(const Holds& holds) const {
  std::string names;
  for (int rank = 0; rank < size(); ++rank) {
    if (!holds(members_[static_cast<std::size_t>(rank)])) continue;
    if (!names.empty()) names += ", ";
    names += pe_name(rank);
  }
  return names;
}

std::optional<int> BootstrapRound::any_left() const {
  for (int rank = 0; rank < size(); ++rank) {
    if (members_[static_cast<std::size_t>(rank)].left) return rank;
  }
  return std::nullopt;
}

Result<void> BootstrapRound::add(int rank, const CollectiveCall& call, std::vector<Bytes> blobs) {
  GDAKIT_ASSERT(rank >= 0 && rank < size());
  Member& member = members_[static_cast<std::size_t>(rank)];
  if (member.arrived) {
    return Error(Code::internal, pe_name(rank) + " began " + describe(call) + " before " +
                                     describe(call_) +
                                     " was answered; a bootstrap serves one thread at a time");
  }
  if (arrived_count_ != 0 && call != call_) {
    return Error(Code::invalid_argument,
                 "collective calls do not match: " + mismatch_text(rank, call, first_, call_) +
                     "; every PE must make the same calls in the same order");
  }
  if (call.root < 0 || call.root >= size()) {
    return Error(Code::invalid_argument, pe_name(rank) + " came to " + describe(call) +
                                             ", but the job has " + std::to_string(size()) +
                                             " PEs");
  }
  if (blobs.size() != blobs_expected(call, rank, size())) {
    return Error(Code::internal, pe_name(rank) + " came to " + describe(call) + " with " +
                                     std::to_string(blobs.size()) + " blobs");
  }
  if (const std::optional<int> gone = any_left()) return left_error(*gone, call);
  if (arrived_count_ == 0) {
    call_ = call;
    first_ = rank;
  }
  member.arrived = true;
  member.blobs = std::move(blobs);
  ++arrived_count_;
  return {};
}

Result<void> BootstrapRound::leave(int rank) {
  members_[static_cast<std::size_t>(rank)].left = true;
  if (!empty()) return left_error(rank, call_);
  return {};
}

void BootstrapRound::lose(int rank) {
  Member& member = members_[static_cast<std::size_t>(rank)];
  GDAKIT_ASSERT(!member.lost);
  if (member.arrived) --arrived_count_;
  member.arrived = false;
  member.lost = true;
  ++lost_count_;
}

std::optional<Error> BootstrapRound::refusal() const {
  if (lost_count_ == 0 || call_.kind == CollectiveKind::barrier) return std::nullopt;
  const std::string lost = names_of([](const Member& member) { return member.lost; });
  return Error(Code::peer_lost, describe(call_) + " takes all PEs of the job, and " + lost +
                                    (lost_count_ == 1 ? " is lost" : " are lost") +
                                    "; what was allocated before can still be used");
}

std::vector<std::span<const std::byte>> BootstrapRound::answer(int rank) const {
  GDAKIT_ASSERT(complete() && !refusal());
  std::vector<std::span<const std::byte>> blobs;
  switch (call_.kind) {
    case CollectiveKind::join:
    case CollectiveKind::barrier: break;
    case CollectiveKind::broadcast:
      blobs.emplace_back(members_[static_cast<std::size_t>(call_.root)].blobs.front());
      break;
    case CollectiveKind::allgather:
      for (const Member& member : members_) blobs.emplace_back(member.blobs.front());
      break;
    case CollectiveKind::alltoall:
      for (const Member& member : members_) {
        blobs.emplace_back(member.blobs[static_cast<std::size_t>(rank)]);
      }
      break;
  }
  return blobs;
}

std::vector<Bytes> BootstrapRound::take_answer(int rank) {
  GDAKIT_ASSERT(complete() && !refusal() && call_.kind == CollectiveKind::alltoall);
  std::vector<Bytes> blobs;
  for (Member& member : members_) {
    blobs.push_back(std::move(member.blobs[static_cast<std::size_t>(rank)]));
  }
  return blobs;
}

void BootstrapRound::next() {
  for (Member& member : members_) {
    member.arrived = false;
    member.blobs.clear();
  }
  arrived_count_ = 0;
}

Error BootstrapRound::timed_out(std::chrono::milliseconds timeout) const {
  const std::string missing =
      names_of([](const Member& member) { return !member.arrived && !member.lost; });
  const char* const purpose = purpose_name(call_.purpose);
  const std::string call = purpose != nullptr ? purpose : collective_name(call_.kind);
  return Error(Code::timed_out,
               call + " timed out after " + seconds_text(timeout) + ": no message from " + missing);
}

}  // namespace gdakit
