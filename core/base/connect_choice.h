// ConnectChoice: to which PEs a PE has queues from the start (GDAKIT_CONNECT).
//
//   all       to each
//   none      to itself alone
//   rails     to those of its host, and to those that have its place among the PEs of theirs
//   0-3,8     a list: those named have queues to all, and all to those named
//
// What is chosen is mutual: of two PEs either both have queues to the other, or neither. Each PE
// has queues to itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gdakit {

// Where a PE runs.
struct PlaceOfPe {
  int pe = 0;
  int host = 0;        // a number that the PEs of a host share
  int local_rank = 0;  // among them
};

class ConnectChoice {
 public:
  // Nothing if the text is no such choice.
  static std::optional<ConnectChoice> parse(std::string_view text);

  bool connects(const PlaceOfPe& one, const PlaceOfPe& other) const;
  // The greatest number that a list names; -1: there is no list.
  int last_named() const;
  // As parse() takes it.
  const std::string& text() const { return text_; }

 private:
  enum class Kind { all, none, rails, list };
  using Range = std::pair<int, int>;  // both are named

  bool names(int pe) const;

  std::string text_;
  Kind kind_ = Kind::all;
  std::vector<Range> named_;
};

}  // namespace gdakit
