// `gdakit info`: what this build has, what this machine can do, and every option.
#include <iomanip>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "backends/registry.h"
#include "core/base/option_table.h"
#include "core/base/options.h"
#include "tools/command.h"
#include "tools/info_gpu.h"
#include "tools/info_launch.h"

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
          {"rdma_core", "not built in"}};
}

void print_gpus(const GpuSection& section) {
  std::cout << "\nGPUs\n";
  if (section.gpus.empty()) std::cout << "  none        " << section.sentence << '\n';
  for (const GpuFacts& facts : section.gpus) {
    const GpuInfo& gpu = facts.gpu;
    std::cout << "  " << std::left << std::setw(12) << gpu.ordinal << gpu.name << ", "
              << memory_text(gpu.memory_bytes) << ", compute capability " << gpu.compute_major
              << '.' << gpu.compute_minor << ", " << gpu.bus << "\n              dma-buf export "
              << (gpu.exports_dma_buf ? "yes" : "no") << ", memory shared by file descriptors "
              << (gpu.shares_memory ? "yes" : "no") << '\n';
    for (const softnic::DmaMethodReport& method : facts.methods) {
      std::cout << "              DMA by " << std::setw(12) << dma_method_name(method.method)
                << (method.usable ? "usable    " : "unusable  ") << method.sentence << '\n';
    }
  }
  if (!section.driver.empty()) std::cout << "  driver      " << section.driver << '\n';
  std::cout << "  MPS         " << section.mps << "\n  DMA         " << section.dma
            << "\n  queues      " << section.queue_memory << "\n  payload     " << section.payload
            << "\n  handler     " << section.handler << "\n  transport   " << section.transport
            << '\n';
}

void print_text(const Options& options) {
  std::cout << "gdakit " << GDAKIT_VERSION << "\n\nBuild\n";
  for (const Fact& fact : build_facts()) {
    std::cout << "  " << std::left << std::setw(12) << fact.name << fact.value << '\n';
  }
  std::cout << "\nBackends\n";
  for (const BackendReport& backend : report_backends()) {
    std::cout << "  " << std::left << std::setw(12) << backend.name
              << (backend.usable ? "usable    " : "unusable  ") << backend.sentence << '\n';
  }
  std::cout << "\nLaunch\n";
  for (const LaunchFact& fact : describe_launch(options)) {
    std::cout << "  " << std::left << std::setw(12) << fact.name << fact.text << '\n';
  }
  print_gpus(describe_gpus(options));
  std::cout << "\nOptions (environment variables)\n";
  for (const OptionRow& row : option_table()) {
    const std::string value = shown_value(row, options);
    std::cout << "  " << std::left << std::setw(26) << row.name << std::setw(14)
              << (value.empty() ? "-" : value) << option_source_name(option_source(row, options))
              << "\n      " << row.sentence << "\n      " << row.type
              << (*row.unit == '\0' ? "" : ", ") << row.unit << ": " << row.allowed << '\n';
  }
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
  std::cout << "{\n";
  for (const Fact& fact : build_facts()) {
    std::cout << "  " << quoted(fact.name) << ": " << quoted(fact.value) << ",\n";
  }
  std::cout << "  \"backends\": [";
  const char* separator = "\n";
  for (const BackendReport& backend : report_backends()) {
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
  print_json_gpus(describe_gpus(options));
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

int run_info(bool json) {
  const Result<Options> options = Options::from_environment();
  if (!options) {
    std::cerr << "gdakit info: " << options.error().message() << '\n';
    return kFailed;
  }
  json ? print_json(*options) : print_text(*options);
  return 0;
}

}  // namespace

Command add_info(CLI::App& parent) {
  CLI::App* const app = parent.add_subcommand(
      "info", "Show what this build and this machine can do, and all options");
  const auto json = std::make_shared<bool>(false);
  app->add_flag("--json", *json, "Print JSON");
  app->footer("\nExample:\n  GDAKIT_QUEUE_DEPTH=64 gdakit info --json\n");
  return {app, [json] { return run_info(*json); }};
}

}  // namespace gdakit::tools
