#include "bench/gpu/program.h"

#include <cstdio>

#include <CLI/CLI.hpp>

#include "core/host/gpu.h"

namespace gdakit::bench {

struct Program::Parts {
  explicit Parts(const char* program_name, const char* question)
      : name(program_name), app(question, program_name) {}

  std::string name;
  CLI::App app;
  std::string json;
  bool quick = false;
};

Program::Program(const char* name, const char* question)
    : parts_(std::make_unique<Parts>(name, question)) {
  parts_->app.add_option("--json", parts_->json, "Also write the figures to this file")
      ->type_name("FILE");
  add_flag("--quick", &parts_->quick, "Few repetitions: to see that the bench works");
}

Program::~Program() = default;

void Program::add_number(const char* option, std::uint64_t* place, const char* sentence) {
  parts_->app.add_option(option, *place, sentence)->type_name("N")->capture_default_str();
}

void Program::add_flag(const char* option, bool* place, const char* sentence) {
  parts_->app.add_flag(option, *place, sentence);
}

bool Program::quick() const { return parts_->quick; }

int Program::main(int argc, char** argv, const std::function<Result<void>(Report&)>& run) {
  try {
    parts_->app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return parts_->app.exit(error) == 0 ? 0 : 2;
  }
  const GpuReport found = report_gpus();
  if (found.gpus.empty()) {
    std::printf("%s: skipped, %s\n", parts_->name.c_str(), found.sentence.c_str());
    return kSkipped;
  }
  Report report(parts_->name);
  report.add_fact("gpu", found.gpus.front().name);
  report.add_fact("gpus", std::to_string(found.gpus.size()));
  report.add_fact("cuda", found.driver);
  Result<void> done = run(report);
  report.print(stdout);
  if (done && !parts_->json.empty()) done = report.write_json(parts_->json);
  if (done) return 0;
  std::fprintf(stderr, "%s: %s\n", parts_->name.c_str(), done.error().message().c_str());
  return 1;
}

}  // namespace gdakit::bench
