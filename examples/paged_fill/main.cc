// Paged fill: servers fill pages of their clients' memory, as a prefill node hands a KV cache to
// decode nodes, or a trainer its weights to inference nodes. One WRITE a page, to wherever the
// client wants that page, and one immediate when all of them are there.
//
//   gdakit run -n 4 build/cpu/examples/paged_fill            PE 0 serves the others
//   build/cpu/examples/paged_fill --pes 5 --servers 0,1      the PEs are threads of this process
//
// Compiled by nvcc (build/cuda) the servers' kernels run on a GPU if there is one, and the pages
// lie in its memory.
//
// Where to read on, in this order:
//
//   messages.h   what clients and servers tell each other, with a picture of who sends what
//   pages.h      what a page holds
//   serve.h      the server: a kernel, with a block for each client
//   client.cc    the client: a host thread, with many requests in flight
//   run_pe.cc    both together: memory, channels, and the table at the end
#include <cstdio>

#include "examples/paged_fill/arguments.h"
#include "examples/paged_fill/run_pe.h"
#include "gdakit.h"

namespace {

using gdakit::Context;
using gdakit::Options;
using gdakit::Result;

int fail(int status, const gdakit::Error& error) {
  std::fprintf(stderr, "paged_fill: %s\n", error.message().c_str());
  return status;
}

// This process as one PE of its job.
Result<void> run_as_pe(const Options& options, const gdakit::PeMain& pe_main) {
  Result<std::unique_ptr<Context>> context = gdakit::init(options);
  if (!context) return context.error();
  Result<void> done = pe_main(**context);
  if (done) return done;
  (*context)->abort(done.error().message());  // or the others would wait for this PE
  return done.error().within("PE " + std::to_string((*context)->my_pe()));
}

Result<void> run(const fill::Arguments& arguments) {
  Result<Options> options = Options::from_environment();
  if (!options) return options.error();
  const auto pe_main = [&](Context& context) { return fill::run_pe(context, arguments); };
  if (!arguments.pes) return run_as_pe(*options, pe_main);
  const Result<gdakit::LaunchInfo> place = gdakit::find_launch_info(*options);
  if (!place) return place.error();
  if (place->launcher != gdakit::LauncherChoice::none) {
    return gdakit::Error(gdakit::Code::invalid_argument,
                         "--pes is for a run outside of a job; this process is a PE of one "
                         "already, so leave the option out");
  }
  return gdakit::run_in_process(*arguments.pes, *options, pe_main);
}

}  // namespace

int main(int argc, char** argv) {
  Result<fill::Arguments> arguments = fill::parse_arguments(argc, argv);
  if (!arguments) return fail(2, arguments.error());
  if (!arguments->help.empty()) return std::fputs(arguments->help.c_str(), stdout), 0;
  const Result<void> done = run(*arguments);
  return done ? 0 : fail(1, done.error());
}
