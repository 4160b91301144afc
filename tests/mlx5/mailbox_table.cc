#include "tests/mlx5/mailbox_table.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <sstream>
#include <stdexcept>

namespace gdakit::mlx5 {
namespace {

using format::CsvRow;

bool starts_with_any(const std::string& value, std::initializer_list<const char*> words) {
  for (const char* word : words) {
    if (value.starts_with(word)) return true;
  }
  return false;
}

class Comparison {
 public:
  Comparison(const Case& played, const MailboxTable& table)
      : played_(played),
        names_(table.names),
        clients_(table.clients),
        differences_(table.differences) {}

  std::vector<std::string> run() {
    for (const Command& command : played_.commands) compare_command(command);
    for (const CsvRow& row : differences_) {
      if (!is_of(row, row.at("command"), row.at("field")) ||
          played_.find(row.at("command")) == nullptr)
        continue;
      if (!find(clients_, row.at("command"), row.at("field"))) say(row, "no client's row has this");
    }
    return std::move(wrong_);
  }

 private:
  bool is_of(const CsvRow& row, const std::string& command, const std::string& field) const {
    return matches(row.at("case"), played_.name) && row.at("command") == command &&
           row.at("field") == field;
  }
  void say(const CsvRow& row, const std::string& what) {
    wrong_.push_back(played_.name + ", " + row.at("command") + ", " + row.at("field") + ": " +
                     what);
  }

  // The one row of the case; null: there is none.
  const CsvRow* find(const std::vector<CsvRow>& rows, const std::string& command,
                     const std::string& field) {
    const CsvRow* found = nullptr;
    for (const CsvRow& row : rows) {
      if (!is_of(row, command, field)) continue;
      if (found != nullptr) say(row, "there are two rows");
      found = &row;
    }
    return found;
  }

  void compare_command(const Command& command) {
    std::vector<Place> places;
    for (const CsvRow& row : clients_) {
      if (!is_of(row, command.name, row.at("field"))) continue;
      const auto place = find_field(command.layout, row.at("field"));
      if (place) {
        places.push_back(*place);
        compare_field(row, value_at(command, *place));
      } else {
        say(row, "prm_fields.csv has no such field of " + command.layout);
      }
    }
    if (const auto stray = find_stray_bit(command, places)) {
      wrong_.push_back(played_.name + ", " + command.name + ": bit " + std::to_string(*stray) +
                       " is set, and no row names it");
    }
  }

  // Whether the client does it as we do.
  bool is_same(const CsvRow& row, const std::string& value, const std::string& ours) {
    if (value == "none") return true;
    if (starts_with_any(value, {"option ", "object "})) return false;
    if (value.empty()) return ours.find_first_not_of('0') == std::string::npos;
    if (const auto named = played_.numbers.find(value); named != played_.numbers.end()) {
      return named->second == ours;
    }
    try {
      return std::to_string(std::stoull(value, nullptr, 0)) == ours;
    } catch (const std::exception&) {
      say(row, "the case has no number \"" + value + '"');
      return true;
    }
  }

  void compare_field(const CsvRow& row, const std::string& ours) {
    bool differs = false;
    std::string line = ours;
    for (const std::string& client : names_) {
      if (!is_same(row, row.at(client), ours)) differs = true;
      line += ',' + row.at(client);
    }
    const CsvRow* const known = find(differences_, row.at("command"), row.at("field"));
    if (known == nullptr) {
      if (differs) say(row, "differs and has no row: " + line);
      return;
    }
    if (!differs) return say(row, "has a row, and is the same: " + line);
    if (known->at("reason").empty()) say(row, "has a row without a reason");
    std::string said = known->at("ours");
    for (const std::string& client : names_) said += ',' + known->at(client);
    if (said != line) {
      say(row, "its row has other values than these: " + line);
    }
  }

  const Case& played_;
  const std::vector<std::string>& names_;
  const std::vector<CsvRow>& clients_;
  const std::vector<CsvRow>& differences_;
  std::vector<std::string> wrong_;
};

}  // namespace

const Command* Case::find(const std::string& command) const {
  const auto found = std::ranges::find(commands, command, &Command::name);
  return found == commands.end() ? nullptr : &*found;
}

bool matches(const std::string& pattern, const std::string& name) {
  std::istringstream names(pattern);
  std::string one;
  while (std::getline(names, one, '|')) {
    if (one == name || (one.ends_with('*') && name.starts_with(one.substr(0, one.size() - 1)))) {
      return true;
    }
  }
  return false;
}

std::vector<std::string> compare(const Case& played, const MailboxTable& table) {
  return Comparison(played, table).run();
}

}  // namespace gdakit::mlx5
