// Rows of one subject in a timeline ("queue 0 to PE 1"), as many as have spans at the same time: a
// lane takes spans that overlap only if one lies in the other, and WQEs of a queue begin and end in
// turn.
//
//   queue 0 to PE 1       |-- WQE 0 --| |----- WQE 2 -----|
//   queue 0 to PE 1 (2)      |---- WQE 1 ----|
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/timeline_events.h"

namespace gdakit::tools {

class TimelineRows {
 public:
  TimelineRows(TimelineEvents& events, int pe, std::string name, std::uint64_t order)
      : events_(&events), pe_(pe), name_(std::move(name)), order_(order) {}

  // The first row that has no span at this time, by its number.
  std::size_t take(std::uint64_t begin_ns) {
    std::size_t row = 0;
    while (row < rows_.size() && (rows_[row].taken || rows_[row].free_ns > begin_ns)) ++row;
    if (row == rows_.size()) rows_.push_back({add_lane(row)});
    rows_[row].taken = true;
    return row;
  }
  // Its span ends. One that comes next begins later, whatever viewers round.
  void give_back(std::size_t row, std::uint64_t end_ns) {
    rows_[row].taken = false;
    rows_[row].free_ns = end_ns + 2;
  }
  Lane lane(std::size_t row) const { return rows_[row].lane; }

 private:
  struct Row {
    Lane lane;
    bool taken = false;
    std::uint64_t free_ns = 0;
  };

  Lane add_lane(std::size_t row) {
    const std::string text = row == 0 ? name_ : name_ + " (" + std::to_string(row + 1) + ')';
    return events_->add_lane(pe_, text, order_ + row);
  }

  TimelineEvents* events_;
  int pe_;
  std::string name_;
  std::uint64_t order_;
  std::vector<Row> rows_;
};

}  // namespace gdakit::tools
