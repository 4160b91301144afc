// One round: both ends post their messages, see every completion, and compare every byte.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/verbs/verify/end.h"

namespace gdakit::verify {

struct Verified {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;  // compared, guards and all
};

class Round {
 public:
  Round(End& end, int side, int number);

  // Gives up at the first thing that is not as it must be.
  Verified run(const Meeting& meeting, std::uint64_t counted_before);
  // How often the other end's counter was raised by this one.
  std::uint64_t counts() const { return counts_; }

 private:
  void prepare();
  void post_receives();
  void post_messages();
  std::size_t post_list(std::size_t queue, std::size_t first);
  void take(const ibv_wc& completion);
  void take_sent(const ibv_wc& completion, std::size_t queue);
  void take_received(const ibv_wc& completion, std::size_t queue);
  void check(std::uint64_t counted_before) const;
  void check_targets() const;
  Pieces receive_pieces(std::size_t slot) const;
  bool is_inline(const Message& message) const;
  Area::Contents mine_at_first(const Message& message) const;
  Area::Contents mine_at_last(const Message& message) const;

  End& end_;
  std::vector<Message> out_, in_;
  std::size_t depth_;
  std::uint32_t grh_;
  std::vector<std::size_t> next_sent_, next_received_;  // of each queue, in out_ and in in_
  std::vector<std::size_t> receives_;                   // the slots that are posted
  std::vector<std::size_t> received_by_;                // which message of in_ came to a slot
  std::size_t missing_ = 0;                             // completions
  std::uint64_t counts_ = 0;
};

}  // namespace gdakit::verify
