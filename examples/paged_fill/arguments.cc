#include "examples/paged_fill/arguments.h"

#include <algorithm>

#include <CLI/CLI.hpp>

namespace fill {
namespace {

using gdakit::Code;
using gdakit::Error;

constexpr std::uint32_t kMany = 1u << 20;
constexpr std::uint32_t kMostInFlight = 1000;

constexpr const char* kFooter = R"(
Examples:
  gdakit run -n 4 paged_fill                        PE 0 serves three clients
  paged_fill --pes 6 --servers 0,3                  the PEs are threads of one process
  gdakit run -n 2 paged_fill --page-bytes 65536 --pages 64
  GDAKIT_NIC_ADDRESS=127.0.0.0/8 GDAKIT_NIC_FAULTS=drop=2% gdakit run -n 3 paged_fill)";

void add_options(CLI::App& app, Arguments& to) {
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  const auto number = [&](const char* name, std::uint32_t& place, std::uint32_t most,
                          const char* sentence) {
    app.add_option(name, place, sentence)
        ->check(CLI::Range(1u, most))
        ->type_name("N")
        ->capture_default_str();
  };
  number("--pages", to.pages, kMany, "Pages of a request");
  number("--page-bytes", to.page_bytes, 1u << 26, "Bytes of a page, a multiple of 8");
  number("--requests", to.requests, kMany, "Requests of each client");
  number("--in-flight", to.in_flight, kMostInFlight, "Requests of a client in flight at a time");
  number("--buffers", to.buffers, kMany, "Pages that a client has, in requests");
  app.add_option("--servers", to.servers, "PEs that serve, with commas between; the others ask")
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("PE")
      ->capture_default_str();
  app.add_option("--pes", to.pes, "Outside of a job: how many PEs, as threads of this process")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
}

gdakit::Result<void> check(const Arguments& arguments) {
  if (arguments.page_bytes % 8 != 0) {
    return Error(Code::invalid_argument, "--page-bytes " + std::to_string(arguments.page_bytes) +
                                             ": pages are made of words; use a multiple of 8");
  }
  if (arguments.buffers < arguments.in_flight) {
    return Error(Code::invalid_argument,
                 "--buffers " + std::to_string(arguments.buffers) + " with --in-flight " +
                     std::to_string(arguments.in_flight) +
                     ": each request in flight fills pages of its own; raise the one or lower the "
                     "other");
  }
  return {};
}

}  // namespace

gdakit::Result<Arguments> parse_arguments(int argc, const char* const* argv) {
  Arguments arguments;
  CLI::App app{"Servers fill pages of their clients' memory", "paged_fill"};
  app.footer(kFooter);
  add_options(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    arguments.help = app.help();
  } catch (const CLI::ParseError& error) {
    return Error(Code::invalid_argument, std::string(error.what()) + " (see --help)");
  }
  if (gdakit::Result<void> good = check(arguments); !good) return good.error();
  return arguments;
}

gdakit::Result<Roles> make_roles(const Arguments& arguments, int pes) {
  Roles roles;
  for (const int server : arguments.servers) {
    if (server < 0 || server >= pes) {
      return Error(Code::invalid_argument, "--servers " + std::to_string(server) + " in a job of " +
                                               std::to_string(pes) + " PEs: give PEs from 0 to " +
                                               std::to_string(pes - 1));
    }
  }
  for (int pe = 0; pe < pes; ++pe) {
    const bool serves = std::find(arguments.servers.begin(), arguments.servers.end(), pe) !=
                        arguments.servers.end();
    (serves ? roles.servers : roles.clients).push_back(pe);
  }
  if (roles.clients.empty()) {
    return Error(Code::invalid_argument,
                 "all " + std::to_string(pes) +
                     " PEs are servers, and none is a client; start more PEs (gdakit run -n, or "
                     "--pes), or name fewer by --servers");
  }
  return roles;
}

}  // namespace fill
