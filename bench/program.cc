#include "bench/program.h"

#include <cstdio>

#include <CLI/CLI.hpp>

#include "bench/perf_lines.h"
#include "core/host/gpu/gpu.h"

namespace gdakit::bench {

struct Program::Parts {
  Parts(const char* program_name, const char* question, Needs what)
      : name(program_name), needs(what), app(question, program_name) {}

  std::string name;
  Needs needs;
  CLI::App app;
  std::string json;
  bool perf_lines = false;
  bool quick = false;
};

namespace {

// The facts of a machine, or false if there is no GPU.
bool add_gpus(Report& report, const GpuReport& found) {
  if (found.gpus.empty()) return false;
  report.add_fact("gpu", found.gpus.front().name);
  report.add_fact("gpus", std::to_string(found.gpus.size()));
  report.add_fact("cuda", found.driver);
  return true;
}

}  // namespace

Program::Program(const char* name, const char* question, Needs needs)
    : parts_(std::make_unique<Parts>(name, question, needs)) {
  parts_->app.add_option("--json", parts_->json, "Also write the figures to this file")
      ->type_name("FILE");
  parts_->app
      .add_flag("--perf-lines", parts_->perf_lines,
                "Print the tables by size as lines of NVSHMEM's perftests")
      ->envname("NVSHMEM_MACHINE_READABLE_OUTPUT");
  add_flag("--quick", &parts_->quick,
           "Few repetitions and sizes, whatever other options say: to see that the bench works");
}

Program::~Program() = default;

void Program::add_number(const char* option, std::uint64_t* place, const char* sentence) {
  parts_->app.add_option(option, *place, sentence)->type_name("N")->capture_default_str();
}

void Program::add_flag(const char* option, bool* place, const char* sentence) {
  parts_->app.add_flag(option, *place, sentence);
}

void Program::add_numbers(const char* option, std::vector<std::uint64_t>* place,
                          const char* sentence) {
  parts_->app.add_option(option, *place, sentence)
      ->delimiter(',')
      ->type_name("N,...")
      ->capture_default_str();
}

void Program::add_choices(const char* option, std::vector<std::string>* place,
                          const std::vector<std::string>& allowed, const char* sentence) {
  parts_->app.add_option(option, *place, sentence)
      ->delimiter(',')
      ->check(CLI::IsMember(allowed))
      ->capture_default_str();
}

bool Program::quick() const { return parts_->quick; }

int Program::main(int argc, char** argv, const std::function<Result<void>(Report&)>& run) {
  try {
    parts_->app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return parts_->app.exit(error) == 0 ? 0 : 2;
  }
  Report report(parts_->name);
  if (parts_->needs == Needs::nothing) {
    report.add_fact("gpu", "none: the CPU emulator");
  } else if (const GpuReport found = report_gpus(); !add_gpus(report, found)) {
    std::printf("%s: skipped, %s\n", parts_->name.c_str(), found.sentence.c_str());
    return kSkipped;
  }
  Result<void> done = run(report);
  if (parts_->perf_lines) {
    print_perf_lines(report, stdout);
  } else {
    report.print(stdout);
  }
  if (done && !parts_->json.empty()) done = report.write_json(parts_->json);
  if (done) return 0;
  std::fprintf(stderr, "%s: %s\n", parts_->name.c_str(), done.error().message().c_str());
  return 1;
}

}  // namespace gdakit::bench
