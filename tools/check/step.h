// What `gdakit check` finds: one report for each step, and in it a finding for each thing that is
// not as it should be. Plain values, which printing, JSON and the gathering of a job's reports
// share.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gdakit::tools::check {

// From best to worst.
enum class Verdict : std::uint8_t { skipped, ok, warning, failed };
const char* verdict_name(Verdict verdict);

// One thing that is wrong, or may be.
struct Finding {
  Verdict verdict = Verdict::failed;
  std::string on = {};      // "mlx5_0 port 1", "GPU 0"; empty: the host
  std::string tried = {};   // what was done, or looked at
  std::string answer = {};  // what the system said, by name and number
  std::string cause = {};   // the likely one
  std::string proof = {};   // one command that shows it
  std::string remedy = {};
  std::string otherwise = {};  // what works without the remedy
  bool operator==(const Finding&) const = default;
};

struct StepReport {
  std::string step;  // its name in the table of steps
  Verdict verdict = Verdict::ok;
  std::string summary;  // a line: what was seen; of a skipped step, why
  std::vector<Finding> findings = {};
  // What all PEs of a job should have alike.
  std::map<std::string, std::string> facts = {};

  void add(Finding finding);  // the verdict follows
  // "; " between the parts.
  void say(std::string_view part);
};

StepReport skipped(std::string_view why);

// The worst of them.
Verdict verdict_of(const std::vector<StepReport>& reports);

// ", " between the words; "none" of none.
std::string joined(const std::vector<std::string>& words);

// "ENOMEM, 12".
std::string code_text(int code);
// "said (ENOMEM, 12)", of a call that failed.
std::string answer_text(const std::string& said, int code);

}  // namespace gdakit::tools::check
