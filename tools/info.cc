// `gdakit info`: what this build has, what this machine can do, and every option.
#include <iomanip>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "backends/mlx5/devices.h"
#include "backends/registry.h"
#include "core/base/option_table.h"
#include "core/base/options.h"
#include "tools/columns.h"
#include "tools/command.h"
#include "tools/info_gpu.h"
#include "tools/info_launch.h"
#include "tools/info_nics.h"

namespace gdakit::tools {
namespace {

struct Fact {
  const char* name;
  std::string value;
};

std::vector<Fact> build_facts() {
  const std::string sanitizer = GDAKIT_SANITIZER_NAME;
  return {{"version", GDAKIT_VERSION},
          {"build_type", GDAKIT_BUILD_TYPE},
          {"compiler", GDAKIT_COMPILER},
          {"sanitizer", sanitizer.empty() ? "none" : sanitizer},
          {"cuda", GDAKIT_WITH_CUDA ? "built in" : "not built in"},
          {"rdma_core", mlx5::built_in() ? "built in" : "not built in"}};
}

std::vector<GpuInfo> infos_of(const GpuSection& section) {
  std::vector<GpuInfo> infos;
  for (const GpuFacts& facts : section.gpus) infos.push_back(facts.gpu);
  return infos;
}

std::string usability(bool usable) { return usable ? "usable: " : "unusable: "; }

std::string gpu_text(const GpuInfo& gpu) {
  return gpu.name + ", " + memory_text(gpu.memory_bytes) + ", compute capability " +
         std::to_string(gpu.compute_major) + '.' + std::to_string(gpu.compute_minor) + ", " +
         gpu.bus + ", dma-buf export " + (gpu.exports_dma_buf ? "yes" : "no") +
         ", memory shared by file descriptors " + (gpu.shares_memory ? "yes" : "no");
}

void print_gpus(const GpuSection& section) {
  std::cout << '\n' << heading("GPUs") << '\n';
  if (section.gpus.empty()) std::cout << entry("none", section.sentence);
  for (const GpuFacts& facts : section.gpus) {
    std::cout << entry(std::to_string(facts.gpu.ordinal), gpu_text(facts.gpu));
    for (const softnic::DmaMethodReport& method : facts.methods) {
      std::cout << entry("", "DMA by " + std::string(dma_method_name(method.method)) + ' ' +
                                 usability(method.usable) + method.sentence);
    }
  }
  if (!section.driver.empty()) std::cout << entry("driver", section.driver);
  std::cout << entry("MPS", section.mps) << entry("DMA", section.dma)
            << entry("queues", section.queue_memory) << entry("payload", section.payload)
            << entry("handler", section.handler) << entry("transport", section.transport);
}

// What may be said of a value. Sizes and times name their unit themselves.
std::string allowed_text(const OptionRow& row) {
  const bool counts = std::string_view(row.type) == "integer" && *row.unit != '\0';
  return row.allowed + (counts ? std::string(" (") + row.unit + ')' : std::string());
}

void print_option(const OptionRow& row, const Options& options) {
  constexpr std::size_t kIndent = 6;
  const std::string margin(kIndent, ' ');
  const std::string value = shown_value(row, options);
  std::cout << "  " << std::left << std::setw(26) << row.name << std::setw(14)
            << (value.empty() ? "-" : value) << option_source_name(option_source(row, options))
            << '\n'
            << margin << wrapped(row.sentence, kIndent) << '\n'
            << margin << wrapped("Allowed: " + allowed_text(row) + '.', kIndent) << '\n';
}

void print_text(const Options& options) {
  const GpuSection gpus = describe_gpus(options);
  const NicSection nics = describe_nics(options, infos_of(gpus));
  std::cout << "gdakit " << GDAKIT_VERSION << "\n\n" << heading("Build") << '\n';
  for (const Fact& fact : build_facts()) std::cout << entry(fact.name, fact.value);
  std::cout << '\n' << heading("Backends") << '\n';
  for (const BackendReport& backend : report_backends(nics.nics)) {
    std::cout << entry(backend.name, usability(backend.usable) + backend.sentence);
  }
  std::cout << '\n' << heading("Launch") << '\n';
  for (const LaunchFact& fact : describe_launch(options)) std::cout << entry(fact.name, fact.text);
  print_nics(nics);
  print_gpus(gpus);
  std::cout << '\n' << heading("Options (environment variables)") << '\n';
  for (const OptionRow& row : option_table()) print_option(row, options);
}

// A few lines: where kernels would run, and what somebody has set.
void print_brief(const Options& options) {
  std::string build;
  for (const Fact& fact : build_facts()) {
    build += (build.empty() ? "" : ", ") + std::string(fact.name) + ' ' + fact.value;
  }
  std::cout << entry("build", build);
  const GpuSection gpus = describe_gpus(options);
  if (gpus.gpus.empty()) std::cout << entry("no GPU", gpus.sentence);
  for (const GpuFacts& facts : gpus.gpus) {
    std::cout << entry("GPU " + std::to_string(facts.gpu.ordinal), gpu_text(facts.gpu));
  }
  const LaunchFact launch = describe_launch(options).front();  // the launcher, or why there is none
  std::cout << entry(launch.name, launch.text);
  std::string set;
  for (const OptionRow& row : option_table()) {
    if (option_source(row, options) == OptionSource::fallback) continue;
    set += (set.empty() ? "" : " ") + std::string(row.name) + '=' + shown_value(row, options);
  }
  std::cout << entry("options", set.empty() ? "all as by default" : set);
}

std::string quoted(std::string_view text) {
  std::ostringstream out;
  out << '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out << '\\' << c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out << "\\u" << std::hex << std::setw(4) << std::setfill('0') << static_cast<int>(c);
    } else {
      out << c;
    }
  }
  out << '"';
  return out.str();
}

const char* boolean(bool value) { return value ? "true" : "false"; }

void print_json_gpus(const GpuSection& section) {
  std::cout << "  \"gpus\": [";
  const char* separator = "\n";
  for (const GpuFacts& facts : section.gpus) {
    const GpuInfo& gpu = facts.gpu;
    std::cout << std::exchange(separator, ",\n") << "    {\"ordinal\": " << gpu.ordinal
              << ", \"name\": " << quoted(gpu.name) << ", \"memory_bytes\": " << gpu.memory_bytes
              << ", \"compute_capability\": \"" << gpu.compute_major << '.' << gpu.compute_minor
              << "\", \"bus\": " << quoted(gpu.bus)
              << ", \"dma_buf\": " << boolean(gpu.exports_dma_buf)
              << ", \"shares_memory\": " << boolean(gpu.shares_memory) << ", \"dma_methods\": [";
    const char* comma = "";
    for (const softnic::DmaMethodReport& method : facts.methods) {
      std::cout << std::exchange(comma, ", ")
                << "{\"name\": " << quoted(dma_method_name(method.method))
                << ", \"usable\": " << boolean(method.usable)
                << ", \"sentence\": " << quoted(method.sentence) << '}';
    }
    std::cout << "]}";
  }
  std::cout << "\n  ],\n";
  for (const Fact& fact :
       {Fact{"gpu_driver", section.driver}, Fact{"no_gpus_because", section.sentence},
        Fact{"mps", section.mps}, Fact{"dma", section.dma}, Fact{"queues", section.queue_memory},
        Fact{"payload", section.payload}, Fact{"handler", section.handler},
        Fact{"transport", section.transport}}) {
    std::cout << "  " << quoted(fact.name) << ": " << quoted(fact.value) << ",\n";
  }
}

void print_json(const Options& options) {
  const GpuSection gpus = describe_gpus(options);
  const NicSection nics = describe_nics(options, infos_of(gpus));
  std::cout << "{\n";
  for (const Fact& fact : build_facts()) {
    std::cout << "  " << quoted(fact.name) << ": " << quoted(fact.value) << ",\n";
  }
  std::cout << "  \"backends\": [";
  const char* separator = "\n";
  for (const BackendReport& backend : report_backends(nics.nics)) {
    std::cout << std::exchange(separator, ",\n") << "    {\"name\": " << quoted(backend.name)
              << ", \"usable\": " << (backend.usable ? "true" : "false")
              << ", \"sentence\": " << quoted(backend.sentence) << '}';
  }
  std::cout << "\n  ],\n";
  std::cout << "  \"launch\": {";
  separator = "";
  for (const LaunchFact& fact : describe_launch(options)) {
    std::cout << std::exchange(separator, ", ") << quoted(fact.name) << ": " << quoted(fact.text);
  }
  std::cout << "},\n";
  print_nics_json(nics);
  print_json_gpus(gpus);
  std::cout << "  \"options\": [";
  separator = "\n";
  const Options defaults;
  for (const OptionRow& row : option_table()) {
    std::cout << std::exchange(separator, ",\n") << "    {\"name\": " << quoted(row.name)
              << ", \"value\": " << quoted(shown_value(row, options))
              << ", \"source\": " << quoted(option_source_name(option_source(row, options)))
              << ", \"default\": " << quoted(row.text(defaults))
              << ", \"type\": " << quoted(row.type) << ", \"unit\": " << quoted(row.unit)
              << ", \"allowed\": " << quoted(row.allowed)
              << ", \"sentence\": " << quoted(row.sentence) << '}';
  }
  std::cout << "\n  ]\n}\n";
}

enum class Form { full, brief, json };

int run_info(Form form) {
  const Result<Options> options = Options::from_environment();
  if (!options) {
    std::cerr << "gdakit info: " << options.error().message() << '\n';
    return kFailed;
  }
  switch (form) {
    case Form::full: print_text(*options); break;
    case Form::brief: print_brief(*options); break;
    case Form::json: print_json(*options); break;
  }
  return 0;
}

}  // namespace

Command add_info(CLI::App& parent) {
  CLI::App* const app = parent.add_subcommand(
      "info", "Show what this build and this machine can do, and all options");
  const auto form = std::make_shared<Form>(Form::full);
  CLI::Option* const json = app->add_flag_callback(
      "--json", [form] { *form = Form::json; }, "Print all of it as JSON");
  app->add_flag_callback(
         "--brief", [form] { *form = Form::brief; },
         "Print a few lines: the build, the GPUs, the launcher, the options that are set")
      ->excludes(json);
  app->footer("\nExample:\n  GDAKIT_QUEUE_DEPTH=64 gdakit info --json\n");
  return {app, [form] { return run_info(*form); }};
}

}  // namespace gdakit::tools
