#include "sim/test.h"

#include <sstream>

#include "core/base/files.h"

namespace gdakit::sim {
namespace {

// A failure of what was asked for rather than of the world.
Exploration refused(const World& world, const ExploreOptions& options, std::string why) {
  Exploration found;
  found.name = world.name();
  found.seed = options.seed;
  found.strategy = options.strategy;
  found.failure.emplace();
  found.failure->result.finding = FindingKind::setup;
  found.failure->result.text = std::move(why);
  return found;
}

// What is true of the file afterwards, for the report.
std::string write_to(const std::string& path, const Trace& trace) {
  std::ostringstream page;
  write_page(trace, page);
  const Result<void> written = write_file(path, page.str());
  return written ? path : written.error().message();
}

}  // namespace

Exploration explore_in_test(World& world, const ExploreOptions& options,
                            const ReportOptions& report) {
  Exploration found;
  if (report.replay.empty()) {
    found = explore(world, options);
  } else {
    const Result<Token> token = Token::parse(report.replay);
    if (!token) return refused(world, options, "ReportOptions::replay: " + token.error().message());
    found = replay(world, *token, options);
  }
  if (!found.failure) return found;
  Failure& failure = *found.failure;
  if (options.replay_command.empty()) {
    failure.trace.replay = "sim::explore_in_test(world, {}, {.replay = \"" + failure.token.text() +
                           "\"});  // the call in this test";
  }
  if (!report.page.empty()) failure.page = write_to(report.page, failure.trace);
  return found;
}

}  // namespace gdakit::sim
