// `gdakit top DIR`
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>

#include "tools/command.h"
#include "tools/counters_reader.h"
#include "tools/interrupt.h"
#include "tools/top_table.h"

namespace gdakit::tools {
namespace {

using Clock = std::chrono::system_clock;

constexpr const char* kDetails = R"(
Shows what the NICs of a job do, while it runs: so many packets, bytes, WQEs and retries a second,
for each PE or for each of its queues. DIR is where the PEs write their counters, twice a second:

  GDAKIT_COUNTERS=counters gdakit run -n 4 ./ring &
  gdakit top counters

losses are packets that came out of sequence or twice; drops are those that came and that no queue
took (between hosts strangers' too, and what the socket's buffer had no room for), and none of one
queue; errors are those since the job began. A rate
of a PE that has written no second file yet, or none for 2.5 s, is -, and so is what its NIC does
not count: a ConnectX counts for all queues of a PE together. docs/counters.md says what is counted.
^C ends it.

Exit status: 0, also after ^C; 1 if DIR cannot be read or has no counters; 2 for bad usage.
)";

const std::map<std::string, TopBy> kBy = {{"pe", TopBy::pe}, {"queue", TopBy::queue}};

struct Arguments {
  std::string directory;
  double interval_seconds = 1;
  std::string sort = "pe";
  std::string by = "pe";
  bool once = false;
};

// The newest file of each PE, and what it has counted since the one before.
class Watch {
 public:
  explicit Watch(std::string directory) : directory_(std::move(directory)) {}

  Result<void> look() {
    auto read = read_counters(directory_);
    if (!read) return read.error();
    if (read->empty()) {
      return Error(Code::not_found, directory_ +
                                        " has no counters (pe0.prom and so on): run the job with "
                                        "GDAKIT_COUNTERS=" +
                                        directory_);
    }
    std::map<int, TopPe> pes;
    for (PeCounters& now : *read) take(pes[now.pe], std::move(now));
    pes_ = std::move(pes);
    return {};
  }

  std::vector<TopPe> pes() const {
    std::vector<TopPe> all;
    for (const auto& [rank, pe] : pes_) all.push_back(pe);
    return all;
  }

 private:
  void take(TopPe& pe, PeCounters now) {
    const std::chrono::duration<double, std::milli> since = Clock::now().time_since_epoch();
    pe.age_seconds = std::max(0.0, (since.count() - static_cast<double>(now.sampled_ms)) / 1000);
    const auto before = pes_.find(now.pe);
    if (before != pes_.end()) {
      const PeCounters& then = before->second.now;
      const bool is_new = then.sampled_ms != now.sampled_ms || then.started_ms != now.started_ms;
      if (!is_new) now = then;
      pe.rates = is_new ? rates_between(then, now) : before->second.rates;
    }
    pe.now = std::move(now);
  }

  std::string directory_;
  std::map<int, TopPe> pes_;
};

// False: ^C came, or nobody reads any more.
bool goes_on_after(std::chrono::duration<double> time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (!interrupt_request() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return !interrupt_request() && std::cout.good();
}

int fail(const Error& error) {
  std::cerr << "gdakit top: " << error.message() << '\n';
  return kFailed;
}

int top(const Arguments& arguments) {
  if (!(arguments.interval_seconds >= 0.1 && arguments.interval_seconds <= 3600)) {
    std::cerr << "gdakit top: --interval takes seconds, from 0.1 to 3600\n";
    return kBadUsage;
  }
  const std::chrono::duration<double> interval(arguments.interval_seconds);
  const bool on_terminal = ::isatty(STDOUT_FILENO) != 0 && !arguments.once;
  Watch watch(arguments.directory);
  if (const Result<void> first = watch.look(); !first) return fail(first.error());
  bool is_first = true;
  while (goes_on_after(interval)) {
    if (const Result<void> looked = watch.look(); !looked) return fail(looked.error());
    const std::string table = top_table(watch.pes(), kBy.at(arguments.by), arguments.sort);
    // Home, the table, and nothing below it.
    if (on_terminal) std::cout << "\x1b[H\x1b[J";
    if (!on_terminal && !std::exchange(is_first, false)) std::cout << '\n';
    std::cout << table << std::flush;
    if (arguments.once) break;
  }
  return 0;
}

std::vector<std::string> sort_names() {
  std::vector<std::string> names = {"pe"};
  for (const TopColumn& column : top_columns()) names.emplace_back(column.name);
  return names;
}

}  // namespace

Command add_top(CLI::App& parent) {
  CLI::App* const app = parent.add_subcommand("top", "Show what the NICs of a running job do");
  const auto arguments = std::make_shared<Arguments>();
  app->add_option("DIR", arguments->directory, "Where the PEs write their counters")->required();
  app->add_option("--interval", arguments->interval_seconds,
                  "Time between two tables; 1 by default")
      ->check(CLI::Number)
      ->type_name("SECONDS");
  app->add_option("--sort", arguments->sort, "The column whose greatest values come first")
      ->check(CLI::IsMember(sort_names()))
      ->type_name("COLUMN");
  app->add_option("--by", arguments->by, "A line for each PE, or for each queue: pe or queue")
      ->check(CLI::IsMember(&kBy))
      ->type_name("WHAT");
  app->add_flag("--once", arguments->once, "Show one table, after one interval");
  app->footer(kDetails);
  return {app, [=] { return top(*arguments); }};
}

}  // namespace gdakit::tools
