// The one table that says what each number of counters.h means. Whatever prints counters (JSON,
// Prometheus' format, tables, docs) goes through it, so that a new counter is a member and a row.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/format/cqe.h"
#include "core/host/counters.h"

namespace gdakit {

enum class CounterOf : std::uint8_t { queue, nic };
enum class ErrorSide : std::uint8_t { none, requester, responder };

struct CounterRow {
  std::string_view name;
  std::string_view unit;
  std::string_view what;  // one sentence, without a full stop
  std::uint64_t NicCounters::*member;
  CounterOf of = CounterOf::queue;
  // What it counts the errors with, if it does.
  ErrorSide side = ErrorSide::none;
  format::Syndrome syndrome = format::Syndrome::none;
};

std::span<const CounterRow> counter_table();

// Whether QUERY_Q_COUNTER tells it (q_counters.h).
bool is_q_counter(const CounterRow& row);

inline std::uint64_t value_of(const NicCounters& counters, const CounterRow& row) {
  return counters.*row.member;
}
// Of a row with CounterOf::queue.
inline std::uint64_t value_of(const QueueCounters& counters, const CounterRow& row) {
  return counters.*static_cast<std::uint64_t QueueCounters::*>(row.member);
}

// "remote_access", for labels; "" for none.
std::string_view syndrome_label(format::Syndrome syndrome);

// An error of this side with the syndrome; of those that have no counter nothing is counted.
void count_error(QueueCounters& counters, ErrorSide side, format::Syndrome syndrome);

}  // namespace gdakit
