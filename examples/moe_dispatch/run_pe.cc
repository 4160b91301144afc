#include "examples/moe_dispatch/run_pe.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <set>
#include <vector>

#include "examples/moe_dispatch/answer.h"
#include "examples/moe_dispatch/combine.h"
#include "examples/moe_dispatch/dispatch.h"
#include "examples/moe_dispatch/end_step.h"
#include "examples/moe_dispatch/experts.h"
#include "examples/moe_dispatch/reference.h"
#include "examples/moe_dispatch/statistics.h"
#include "examples/moe_dispatch/text.h"
#include "gdakit.h"

namespace moe {
namespace {

using gdakit::Context;
using gdakit::Result;
using Clock = std::chrono::steady_clock;
using Share = std::span<const std::string>;

// The upper one of the two in the middle.
double median(std::vector<double> of) {
  if (of.empty()) return 0;
  const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
  std::nth_element(of.begin(), middle, of.end());
  return *middle;
}

class PeRun {
 public:
  PeRun(Context& context, const Buffers& buffers, gdakit::LaunchShape launch)
      : context_(context),
        buffers_(buffers),
        launch_(launch),
        loads_(buffers.shape.experts_per_pe()) {}

  // One step, with at most a batch of words; `first` is the number of the first one in the text.
  Result<void> step(Share words, std::uint64_t first) {
    ++steps_;
    if (Result<void> ran = compute(words); !ran) {
      return ran.error().within("step " + std::to_string(steps_));
    }
    tokens_ += words.size();
    std::vector<float> outputs(buffers_.shape.batch * std::size_t{buffers_.shape.hidden});
    const std::size_t count = words.size() * buffers_.shape.hidden;
    if (auto copied = context_.download(outputs.data(), buffers_.output, count); !copied) {
      return copied;
    }
    Result<void> verified = verify(words, first, {outputs.data(), count}, buffers_.shape);
    if (correct_) correct_ = verified;
    return {};
  }

  // The first wrong output, if there was one.
  const Result<void>& correct() const { return correct_; }

  PeStatistics statistics() const {
    PeStatistics mine;
    mine.tokens = tokens_;
    mine.messages_sent = tokens_ * buffers_.shape.top_k;
    for (const std::uint64_t load : loads_) mine.messages_received += load;
    mine.nic = context_.nic_counters();
    mine.dispatch_us = median(dispatch_us_);
    mine.combine_us = median(combine_us_);
    mine.least_load = *std::min_element(loads_.begin(), loads_.end());
    mine.greatest_load = *std::max_element(loads_.begin(), loads_.end());
    mine.correct = static_cast<bool>(correct_);
    return mine;
  }

 private:
  Result<void> compute(Share words) {
    std::vector<Token> tokens(buffers_.shape.batch);
    std::transform(words.begin(), words.end(), tokens.begin(), token_of);
    if (auto copied = context_.upload(buffers_.tokens, tokens.data(), words.size()); !copied) {
      return copied;
    }
    const auto count = static_cast<std::uint32_t>(words.size());
    auto dispatched = timed(dispatch_us_, [&] {
      return context_.launch(Dispatch{buffers_, count}, launch_);
    });
    if (!dispatched) return dispatched;
    if (auto ran = context_.launch(Experts{buffers_}, launch_); !ran) return ran;
    auto combined = timed(combine_us_, [&] {
      auto answered = context_.launch(Answer{buffers_, steps_}, launch_);
      return answered ? context_.launch(Combine{buffers_, count}, launch_) : answered;
    });
    if (!combined) return combined;
    if (auto added = add_loads(); !added) return added;
    return context_.launch(EndStep{buffers_}, {.blocks = 1, .threads = launch_.threads});
  }

  // The host threads meet first, so that no time is spent on waiting for another PE's host.
  template <class Act>
  Result<void> timed(std::vector<double>& times_us, Act act) {
    if (auto met = context_.barrier(); !met) return met;
    const Clock::time_point begin = Clock::now();
    auto done = act();
    times_us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    return done;
  }

  Result<void> add_loads() {
    const Shape& shape = buffers_.shape;
    std::vector<std::uint64_t> counts(shape.experts);
    auto copied = context_.download(counts.data(), buffers_.received_count, counts.size());
    if (!copied) return copied;
    // Each is one more than its messages, and the PEs of one local expert stand in a row.
    for (std::uint32_t i = 0; i < counts.size(); ++i) loads_[i / shape.pes] += counts[i] - 1;
    return {};
  }

  Context& context_;
  Buffers buffers_;
  gdakit::LaunchShape launch_;
  std::uint64_t steps_ = 0;
  std::uint64_t tokens_ = 0;
  std::vector<double> dispatch_us_;  // of each step
  std::vector<double> combine_us_;
  std::vector<std::uint64_t> loads_;  // messages of each local expert
  Result<void> correct_;
};

// Collective. How many different GPUs the PEs run on.
Result<std::size_t> count_gpus(Context& context) {
  const int mine = context.on_gpu() ? context.gpu()->ordinal() : -1;
  auto all = gdakit::allgather_value(context.bootstrap(), mine);
  if (!all) return all.error();
  return std::set<int>(all->begin(), all->end()).size();
}

std::string place(Context& context, const Arguments& arguments, std::size_t gpus) {
  const std::string backend = context.backend().name();
  const std::string nic = backend == "softnic" ? "soft NIC" : backend;
  const std::string others = gpus > 1 ? " and " + std::to_string(gpus - 1) + " more" : "";
  const std::string machine = "on " + context.device_name() + others + ", " + nic + ", ";
  if (context.n_pes() == 1) return machine + "one PE";
  return machine + std::to_string(context.n_pes()) + " PEs as " +
         (arguments.pes ? "threads of one process" : "processes");
}

gdakit::LaunchShape launch_shape(const Context& context, const Arguments& arguments) {
  gdakit::LaunchShape launch = arguments.launch;
  if (launch.blocks == 0) launch.blocks = context.on_gpu() ? kBlocksOnGpu : kBlocksOnEmulator;
  return launch;
}

void print_header(Context& context, const Arguments& arguments, std::size_t gpus,
                  std::size_t tokens) {
  std::printf("%s\n", place(context, arguments, gpus).c_str());
  std::printf("%s of %s, %u to a PE in a step: the words of %s\n", counted(tokens, "token").c_str(),
              counted(arguments.hidden, "value").c_str(), arguments.batch, arguments.text.c_str());
  std::fflush(stdout);
}

// The first step says how long all will take; then each quarter is told of.
class Progress {
 public:
  explicit Progress(std::size_t steps) : steps_(steps) {}
  void step_done() {
    const std::size_t quarter = 4 * done_++ / steps_;
    const bool is_due = done_ == 1 || 4 * done_ / steps_ != quarter;
    if (!is_due || done_ == steps_) return;
    const std::chrono::duration<double> taken = Clock::now() - begin_;
    std::printf("step %zu of %zu after %.1f s\n", done_, steps_, taken.count());
    std::fflush(stdout);
  }

 private:
  std::size_t steps_;
  std::size_t done_ = 0;
  Clock::time_point begin_ = Clock::now();
};

// All shares of the words, step by step. A PE whose share has ended goes on without tokens: its
// experts serve the others.
Result<void> run_steps(PeRun& run, Share words, const Shape& shape, int pe) {
  const Share mine = share_of(words, pe, static_cast<int>(shape.pes));
  const auto first = static_cast<std::uint64_t>(mine.data() - words.data());
  const std::size_t longest_share = (words.size() + shape.pes - 1) / shape.pes;
  Progress progress((longest_share + shape.batch - 1) / shape.batch);
  for (std::size_t at = 0; at < longest_share; at += shape.batch) {
    const std::size_t begin = std::min(at, mine.size());
    const std::size_t count = std::min<std::size_t>(shape.batch, mine.size() - begin);
    if (Result<void> ran = run.step(mine.subspan(begin, count), first + begin); !ran) return ran;
    if (pe == 0) progress.step_done();
  }
  return {};
}

Result<void> report(Context& context, const PeRun& run, const Shape& shape, std::size_t tokens) {
  auto all = gdakit::allgather_value(context.bootstrap(), run.statistics());
  if (!all) return all.error();
  if (context.my_pe() == 0) print_table(*all, shape);
  if (!run.correct()) return run.correct();
  for (std::size_t pe = 0; pe < all->size(); ++pe) {
    if ((*all)[pe].correct) continue;
    return gdakit::Error(gdakit::Code::aborted, "PE " + std::to_string(pe) + " got wrong outputs");
  }
  if (context.my_pe() == 0) {
    std::printf("verified: %s, %s, top-k %u: every output equals the sequential reference\n",
                counted(tokens, "token").c_str(), counted(shape.experts, "expert").c_str(),
                shape.top_k);
  }
  return {};
}

}  // namespace

Result<void> run_pe(Context& context, const Arguments& arguments, Share words) {
  Result<Shape> shape = make_shape(arguments, context.n_pes());
  if (!shape) return shape.error();
  Result<std::size_t> gpus = count_gpus(context);
  if (!gpus) return gpus.error();
  if (context.my_pe() == 0) print_header(context, arguments, *gpus, words.size());
  Result<Buffers> buffers = allocate_buffers(context, *shape);
  if (!buffers) return buffers.error();
  PeRun run(context, *buffers, launch_shape(context, arguments));
  if (Result<void> ran = run_steps(run, words, *shape, context.my_pe()); !ran) return ran;
  return report(context, run, *shape, words.size());
}

}  // namespace moe
