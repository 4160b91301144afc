#include "examples/moe_dispatch/arguments.h"

#include <CLI/CLI.hpp>

#include "examples/moe_dispatch/model.h"

namespace moe {
namespace {

using gdakit::Code;
using gdakit::Error;

constexpr std::uint32_t kMany = 1u << 20;

constexpr const char* kFooter = R"(
Examples:
  gdakit run -n 4 moe_dispatch                the PEs are processes
  moe_dispatch --pes 8                        the PEs are threads of one process
  GDAKIT_GPUS=0,1 moe_dispatch --pes 8        half of them on each of two GPUs
  gdakit run -n 2 moe_dispatch --text README.md --tokens 1000)";

void add_options(CLI::App& app, Arguments& to) {
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  const auto number = [&](const char* name, std::uint32_t& place, std::uint32_t most,
                          const char* sentence) {
    app.add_option(name, place, sentence)
        ->check(CLI::Range(1u, most))
        ->type_name("N")
        ->capture_default_str();
  };
  app.add_option("--text", to.text, "The file whose words are the tokens")
      ->type_name("FILE")
      ->capture_default_str();
  app.add_option("--tokens", to.tokens, "How many of its words, at most; 0 for all")
      ->type_name("N")
      ->capture_default_str();
  number("--hidden", to.hidden, kMany, "Values of a token");
  number("--experts", to.experts, 1u << 16, "Experts, a multiple of the PEs");
  number("--top-k", to.top_k, kMaxTopK, "Experts of a token");
  number("--batch", to.batch, kMany, "Tokens of a PE in one step");
  app.add_option("--blocks", to.launch.blocks,
                 "Blocks of each launch; 0 for 8 on the CPU emulator and 16 on a GPU")
      ->check(CLI::Range(0u, 1024u))
      ->type_name("N")
      ->capture_default_str();
  number("--threads", to.launch.threads, 1024, "Threads of a block, a multiple of 32");
  app.add_option("--pes", to.pes, "Outside of a job: how many PEs, as threads of this process")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
}

}  // namespace

gdakit::Result<Arguments> parse_arguments(int argc, const char* const* argv) {
  Arguments arguments;
  CLI::App app{"Expert-parallel dispatch and combine over the words of a text", "moe_dispatch"};
  app.footer(kFooter);
  add_options(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    arguments.help = app.help();
  } catch (const CLI::ParseError& error) {
    return Error(Code::invalid_argument, std::string(error.what()) + " (see --help)");
  }
  if (arguments.launch.threads % gdakit::kWarpSize != 0) {
    return Error(Code::invalid_argument,
                 "--threads " + std::to_string(arguments.launch.threads) +
                     ": blocks are made of whole warps; use a multiple of " +
                     std::to_string(gdakit::kWarpSize));
  }
  if (arguments.top_k > arguments.experts) {
    return Error(Code::invalid_argument,
                 "--top-k " + std::to_string(arguments.top_k) + " of --experts " +
                     std::to_string(arguments.experts) +
                     ": a token goes to distinct experts; lower the one or raise the other");
  }
  return arguments;
}

gdakit::Result<Shape> make_shape(const Arguments& arguments, int pes) {
  const auto n = static_cast<std::uint32_t>(pes);
  if (arguments.experts % n != 0) {
    const std::uint32_t more = (arguments.experts / n + 1) * n;
    return Error(Code::invalid_argument,
                 "--experts " + std::to_string(arguments.experts) + " on " + std::to_string(pes) +
                     " PEs: each PE owns as many as the others; use a multiple of " +
                     std::to_string(pes) + ", such as " + std::to_string(more));
  }
  return Shape{n, arguments.experts, arguments.top_k, arguments.hidden, arguments.batch};
}

}  // namespace moe
