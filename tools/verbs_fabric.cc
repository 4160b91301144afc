#include "tools/verbs_fabric.h"

#include <fstream>
#include <iomanip>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "backends/softnic/uverbs/fabric_control.h"
#include "core/base/files.h"
#include "core/host/pe_counters.h"
#include "tools/command.h"
#include "tools/counters_reader.h"
#include "tools/counters_report.h"
#include "tools/verbs_program.h"

namespace gdakit::tools {
namespace {

using softnic::uverbs::ask;
using softnic::uverbs::fabric_members;
using softnic::uverbs::Member;

// What a NIC says of itself, by name: "device", "port", "qps", ...
std::map<std::string, std::string> parse_state(const std::string& text) {
  std::map<std::string, std::string> state;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) state[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return state;
}

std::string program_of(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return name.empty() ? "?" : name;
}

// One line; the last column may be of any width.
template <class... Texts>
void print_line(const Texts&... texts) {
  constexpr int kWidths[] = {5, 8, 16, 8, 5, 6, 12, 12, 0};
  std::size_t column = 0;
  ((std::cout << std::left << std::setw(kWidths[column++]) << texts << ' '), ...);
  std::cout << '\n';
}

int say(const Error& error) { return verbs_failed(error.message(), kFailed); }

int nobody(const std::string& fabric) {
  return verbs_failed("no NIC is on in the fabric " + fabric +
                          ": run a program by `gdakit verbs --fabric " + fabric + " -- PROGRAM`",
                      kFailed);
}

// "1234", "1234/mlx5_0", "all".
struct Whose {
  std::optional<int> pid;
  std::string device;
};

std::optional<Whose> parse_whose(const std::string& text) {
  Whose whose;
  if (text == "all") return whose;
  const std::size_t slash = text.find('/');
  const std::string pid = text.substr(0, slash);
  if (slash != std::string::npos) whose.device = text.substr(slash + 1);
  if (pid.empty() || pid.size() > 9) return std::nullopt;
  if (pid.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  whose.pid = std::stoi(pid);
  return whose;
}

// Those who are meant; by its device one is known who answers.
Result<std::vector<Member>> find_those(const std::string& fabric, const Whose& whose) {
  std::vector<Member> those;
  for (Member& member : fabric_members(fabric)) {
    if (whose.pid && *whose.pid != member.pid) continue;
    if (!whose.device.empty()) {
      const Result<std::string> state = ask(member, "state");
      if (!state && state.error().code() == Code::permission_denied) continue;
      if (!state) return state.error();
      if (parse_state(*state)["device"] != whose.device) continue;
    }
    those.push_back(std::move(member));
  }
  return those;
}

// "port=down" as a NIC is told it; nothing if it is none.
std::optional<std::string> request_of(std::string_view word) {
  if (word == "port=up" || word == "port=down") return "port " + std::string(word.substr(5));
  if (word == "gids=renumber") return "gids renumber";
  constexpr std::string_view kFaults = "faults=";
  if (!word.starts_with(kFaults)) return std::nullopt;
  const std::string_view faults = word.substr(kFaults.size());
  return faults.empty() ? "faults" : "faults " + std::string(faults);
}

int bad_words(const std::string& what) {
  return verbs_failed(what +
                          ": say whose NICs (PID, PID/mlx5_0 or all, as `gdakit verbs ls` has "
                          "them) and port=up, port=down, gids=renumber or faults=drop=1%",
                      kBadUsage);
}

// Asks each of them, and hands on what it answers. Returns the status: what is not answered, or
// `take` cannot use, is said and is a failure. A name that another user has made up is no NIC.
template <class Take>
int ask_each(const std::string& fabric, const std::vector<Member>& members,
             const std::vector<std::string>& requests, Take take) {
  int status = 0;
  bool is_any = false;
  for (const Member& member : members) {
    for (const std::string& request : requests) {
      const Result<std::string> answer = ask(member, request);
      if (!answer && answer.error().code() == Code::permission_denied) continue;
      const Result<void> taken = answer ? take(member, *answer) : Result<void>(answer.error());
      if (!taken) status = say(taken.error());
      is_any |= static_cast<bool>(taken);
    }
  }
  return is_any || status != 0 ? status : nobody(fabric);
}

}  // namespace

int list_fabric(const std::string& fabric) {
  const std::vector<Member> members = fabric_members(fabric);
  if (members.empty()) return nobody(fabric);
  print_line("PLACE", "PID", "PROGRAM", "DEVICE", "PORT", "QPS", "SENT", "RECEIVED", "FAULTS");
  return ask_each(fabric, members, {"state"}, [](const Member& member, const std::string& answer) {
    auto state = parse_state(answer);
    print_line(member.place, member.pid, program_of(member.pid), state["device"], state["port"],
               state["qps"], state["packets_sent"], state["packets_received"], state["faults"]);
    return Result<void>();
  });
}

int show_fabric_counters(const std::string& fabric, const std::string& file) {
  std::vector<PeCounters> all;
  const auto take = [&all](const Member& member, const std::string& answer) -> Result<void> {
    const auto counters = parse_counters(answer, "process " + std::to_string(member.pid));
    if (!counters) return counters.error();
    all.insert(all.end(), counters->begin(), counters->end());
    return {};
  };
  const int status = ask_each(fabric, fabric_members(fabric), {"counters"}, take);
  if (all.empty()) return status;
  const std::string report = counters_report(all, file, "place");
  if (file.empty()) {
    std::cout << report;
    return status;
  }
  const Result<void> written = replace_file(file, file + ".new", report);
  return written ? status : say(written.error());
}

int set_fabric(const std::string& fabric, const std::vector<std::string>& words) {
  if (words.size() < 2) return bad_words("too few words");
  const std::optional<Whose> whose = parse_whose(words[0]);
  if (!whose) return bad_words("\"" + words[0] + "\"");
  std::vector<std::string> requests;
  for (auto word = words.begin() + 1; word != words.end(); ++word) {
    const auto request = request_of(*word);
    if (!request) return bad_words("\"" + *word + "\"");
    requests.push_back(*request);
  }
  const Result<std::vector<Member>> those = find_those(fabric, *whose);
  if (!those) return say(those.error());
  if (those->empty()) {
    return verbs_failed(
        words[0] + " has no NIC in the fabric " + fabric + "; `gdakit verbs ls` says who has",
        kFailed);
  }
  return ask_each(fabric, *those, requests,
                  [](const Member&, const std::string&) { return Result<void>(); });
}

}  // namespace gdakit::tools
