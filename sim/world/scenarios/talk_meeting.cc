#include "sim/world/scenarios/talk_meeting.h"

namespace gdakit::sim::scenarios {
namespace {

std::uint64_t own_word(std::uint32_t pe, std::uint32_t at) {
  std::uint64_t word = 0;
  for (std::uint32_t i = 0; i < 8; ++i) word |= std::uint64_t{own_byte(pe, at + i)} << 8 * i;
  return word;
}

}  // namespace

std::vector<std::int32_t> meeting_members(const TalkShape& shape, std::uint32_t number) {
  std::vector<std::int32_t> members;
  for (std::uint32_t i = 0; i < shape.pes; ++i) {
    members.push_back(static_cast<std::int32_t>(number == 0 ? shape.pes - 1 - i : i));
  }
  return members;
}

std::uint32_t words_read(const TalkStep& step, std::uint32_t pes) {
  return step.meeting == TalkMeeting::alltoall ? pes * step.count : step.count;
}

std::vector<std::uint64_t> words_brought(const TalkShape& shape, const TalkStep& step,
                                         std::uint32_t number, std::uint32_t pe) {
  const std::vector<std::int32_t> members = meeting_members(shape, number);
  const auto word_of = [&](std::size_t rank, std::uint32_t index) {
    return own_word(static_cast<std::uint32_t>(members[rank]), step.local + 8 * index);
  };
  std::vector<std::uint64_t> brought;
  const auto take = [&](std::size_t rank, std::uint32_t first) {
    for (std::uint32_t i = 0; i < step.count; ++i) brought.push_back(word_of(rank, first + i));
  };
  const std::uint32_t mine = number == 0 ? shape.pes - 1 - pe : pe;  // my rank
  switch (step.meeting) {
    case TalkMeeting::barrier:
    case TalkMeeting::sync: break;
    case TalkMeeting::broadcast: take(step.root, 0); break;
    case TalkMeeting::fcollect:
      for (std::size_t rank = 0; rank < members.size(); ++rank) take(rank, 0);
      break;
    case TalkMeeting::alltoall:
      for (std::size_t rank = 0; rank < members.size(); ++rank) take(rank, mine * step.count);
      break;
    case TalkMeeting::reduce:
      brought.assign(step.count, 0);
      for (std::size_t rank = 0; rank < members.size(); ++rank) {
        for (std::uint32_t i = 0; i < step.count; ++i) brought[i] += word_of(rank, i);
      }
      break;
  }
  return brought;
}

}  // namespace gdakit::sim::scenarios
