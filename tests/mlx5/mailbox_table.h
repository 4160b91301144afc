// Compares the commands of a case with what other clients of the same firmware send:
//
//   tests/data/mlx5_clients.csv     what NVSHMEM's ibgda and DOCA GPUNetIO set in each command,
//                                   a row for each field that anybody sets
//   tests/data/mlx5_mailboxes.csv   each difference between us and one of them, with its reason
//   tests/data/mlx5_dc_*.csv        likewise of DC: NVSHMEM, whose target mlx5_ib makes for it,
//   UCX,
//                                   and DOCA, which has shared receive queues and no DC
//
// A row's case is a name, several with | between them, or the begin of names with a * behind it. A
// client's value is one of
//
//   (empty)        it does not set the field, which then is 0
//   none           it sends no such command, so nothing is compared
//   0x403, 12      a number
//   peer_qpn       a number of the case by its name (Case::numbers)
//   option SL      what its user or the program that calls it chooses: a difference, always
//   object srq     the number of an object that we do not have: a difference, always
//
// Ours is the number that was sent; of more than 64 bits it stands in hexadecimal digits.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/format/csv.h"
#include "tests/mlx5/mailboxes.h"

namespace gdakit::mlx5 {

struct Case {
  std::string name;
  std::vector<Command> commands;
  std::map<std::string, std::string> numbers = {};
  // Null: it has not been sent.
  const Command* find(const std::string& command) const;
};

bool matches(const std::string& pattern, const std::string& name);

struct MailboxTable {
  std::vector<std::string> names;  // of the clients, which are columns
  std::vector<format::CsvRow> clients;
  std::vector<format::CsvRow> differences;
};

// What is wrong between the case, what clients do, and the differences that are known, each in a
// sentence: a difference without a row, a row without a difference or with other values, a bit that
// is set where no row has a field, a name that nothing has.
std::vector<std::string> compare(const Case& played, const MailboxTable& table);

}  // namespace gdakit::mlx5
