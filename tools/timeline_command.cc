// `gdakit timeline DIR FILE`
#include <iostream>
#include <memory>
#include <string>

#include "tools/command.h"
#include "tools/job_trace.h"
#include "tools/trace_parts.h"

namespace gdakit::tools {
namespace {

constexpr const char* kSpeaker = "gdakit timeline: ";

constexpr const char* kDetails = R"(
DIR is where the PEs of one job wrote with GDAKIT_TRACE=DIR, and no others; of PEs on several hosts,
bring all files into one folder. FILE opens in https://ui.perfetto.dev and in chrome://tracing. For
a job on one host, `gdakit run --trace FILE` does all of it. docs/timeline.md says what is shown.

Exit status: 0; 1 if DIR has no traces or a file cannot be read or written; 2 for bad usage.
)";

struct Arguments {
  std::string directory;
  std::string file;
};

Result<void> make(const Arguments& arguments) {
  const Result<TraceParts> found = find_trace_parts(arguments.directory);
  if (!found) return found.error();
  if (!found->unread.empty()) return found->unread.front().error;
  if (!found->parts.empty()) return write_timeline_file(found->parts, arguments.file, kSpeaker);
  return Error(Code::not_found, arguments.directory +
                                    " has no traces (pe0-nic.trace and so on): run the job with "
                                    "GDAKIT_TRACE=" +
                                    arguments.directory);
}

}  // namespace

Command add_timeline(CLI::App& parent) {
  CLI::App* const app =
      parent.add_subcommand("timeline", "Make a timeline of what the PEs of a job have traced");
  const auto arguments = std::make_shared<Arguments>();
  app->add_option("DIR", arguments->directory, "Where the PEs wrote")->required();
  app->add_option("FILE", arguments->file, "The timeline, as JSON")->required();
  app->footer(kDetails);
  return {app, [=] {
            const Result<void> made = make(*arguments);
            if (made) return 0;
            std::cerr << kSpeaker << made.error().message() << '\n';
            return kFailed;
          }};
}

}  // namespace gdakit::tools
