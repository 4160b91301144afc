#include "sim/world/scenarios/talk_meeting.h"

namespace gdakit::sim::scenarios {
namespace {

std::uint64_t own_word(std::uint32_t pe, std::uint32_t at) {
  std::uint64_t word = 0;
  for (std::uint32_t i = 0; i < 8; ++i) word |= std::uint64_t{own_byte(pe, at + i)} << 8 * i;
  return word;
}

// The PE of a rank, and the rank of a PE.
std::uint32_t across(std::uint32_t pes, std::uint32_t number, std::uint32_t at) {
  return number == 0 ? pes - 1 - at : at;
}

}  // namespace

std::vector<std::int32_t> meeting_members(std::uint32_t pes, std::uint32_t number) {
  std::vector<std::int32_t> members;
  for (std::uint32_t rank = 0; rank < pes; ++rank) {
    members.push_back(static_cast<std::int32_t>(across(pes, number, rank)));
  }
  return members;
}

std::uint32_t words_read(const TalkStep& step, std::uint32_t pes) {
  return step.meeting == TalkMeeting::alltoall ? pes * step.count : step.count;
}

std::vector<std::uint64_t> words_brought(const TalkStep& step, std::uint32_t pes,
                                         std::uint32_t number, std::uint32_t pe) {
  const auto word_of = [&](std::uint32_t rank, std::uint32_t index) {
    return own_word(across(pes, number, rank), step.local + 8 * index);
  };
  std::vector<std::uint64_t> brought;
  const auto take = [&](std::uint32_t rank, std::uint32_t first) {
    for (std::uint32_t i = 0; i < step.count; ++i) brought.push_back(word_of(rank, first + i));
  };
  const std::uint32_t mine = across(pes, number, pe) * step.count;
  switch (step.meeting) {
    case TalkMeeting::barrier:
    case TalkMeeting::sync: break;
    case TalkMeeting::broadcast: take(step.root, 0); break;
    case TalkMeeting::fcollect:
      for (std::uint32_t rank = 0; rank < pes; ++rank) take(rank, 0);
      break;
    case TalkMeeting::alltoall:
      for (std::uint32_t rank = 0; rank < pes; ++rank) take(rank, mine);
      break;
    case TalkMeeting::reduce:
      brought.assign(step.count, 0);
      for (std::uint32_t rank = 0; rank < pes; ++rank) {
        for (std::uint32_t i = 0; i < step.count; ++i) brought[i] += word_of(rank, i);
      }
      break;
  }
  return brought;
}

}  // namespace gdakit::sim::scenarios
