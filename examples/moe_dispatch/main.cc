// Expert-parallel dispatch and combine: the job of a mixture-of-experts layer, as DeepEP's
// low-latency kernels do it. Tokens are the words of a text. Every token goes to k experts, most of
// which live on other PEs; each answers, and the token's source adds the answers up.
//
//   gdakit run -n 4 build/cpu/examples/moe_dispatch           the PEs are processes
//   build/cpu/examples/moe_dispatch --pes 8                   the PEs are threads of this process
//
// Compiled by nvcc (build/cuda) its kernels run on a GPU if there is one; the first line that it
// prints says where.
//
// Where to read on, in this order:
//
//   model.h      the network: which experts a token goes to, and what they compute
//   buffers.h    the memory of a PE, with a picture of who puts what where
//   dispatch.h   kernel 1: tokens to experts
//   experts.h    kernel 2: messages to answers
//   answer.h     kernel 3: answers back to the tokens' sources
//   combine.h    kernel 4: answers to outputs
//   end_step.h   kernel 5: ready for the next batch
//   run_pe.cc    the host's side: batch after batch, each verified against reference.cc
#include <cstdio>

#include "examples/moe_dispatch/arguments.h"
#include "examples/moe_dispatch/run_pe.h"
#include "examples/moe_dispatch/text.h"
#include "gdakit.h"

namespace {

using gdakit::Context;
using gdakit::Options;
using gdakit::Result;

int fail(int status, const gdakit::Error& error) {
  std::fprintf(stderr, "moe_dispatch: %s\n", error.message().c_str());
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

Result<void> run(const moe::Arguments& arguments) {
  Result<moe::Words> words = moe::read_words(arguments.text, arguments.tokens);
  if (!words) return words.error();
  Result<Options> options = Options::from_environment();
  if (!options) return options.error();
  const auto pe_main = [&](Context& context) { return moe::run_pe(context, arguments, *words); };
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
  Result<moe::Arguments> arguments = moe::parse_arguments(argc, argv);
  if (!arguments) return fail(2, arguments.error());
  if (!arguments->help.empty()) return std::fputs(arguments->help.c_str(), stdout), 0;
  const Result<void> done = run(*arguments);
  return done ? 0 : fail(1, done.error());
}
