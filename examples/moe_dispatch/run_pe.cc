#include "examples/moe_dispatch/run_pe.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

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
    std::transform(words.begin(), words.end(), buffers_.tokens, token_of);
    const Clock::time_point begin = Clock::now();
    if (Result<void> ran = launch_kernels(static_cast<std::uint32_t>(words.size())); !ran) {
      return ran.error().within("step " + std::to_string(steps_));
    }
    seconds_ += std::chrono::duration<double>(Clock::now() - begin).count();
    tokens_ += words.size();
    Result<void> verified = verify(
        words, first, {buffers_.output, words.size() * buffers_.shape.hidden}, buffers_.shape);
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
    mine.seconds = seconds_;
    mine.least_load = *std::min_element(loads_.begin(), loads_.end());
    mine.greatest_load = *std::max_element(loads_.begin(), loads_.end());
    mine.correct = static_cast<bool>(correct_);
    return mine;
  }

 private:
  Result<void> launch_kernels(std::uint32_t tokens) {
    if (auto ran = context_.launch(Dispatch{buffers_, tokens}, launch_); !ran) return ran;
    if (auto ran = context_.launch(Experts{buffers_}, launch_); !ran) return ran;
    if (auto ran = context_.launch(Combine{buffers_, tokens, steps_}, launch_); !ran) return ran;
    add_loads();
    return context_.launch(EndStep{buffers_}, {.blocks = 1, .threads = launch_.threads});
  }

  void add_loads() {
    const Shape& shape = buffers_.shape;
    for (std::uint32_t local = 0; local < loads_.size(); ++local) {
      for (std::uint32_t pe = 0; pe < shape.pes; ++pe) {
        loads_[local] += *buffers_.count_word(local, static_cast<int>(pe)) - 1;
      }
    }
  }

  Context& context_;
  Buffers buffers_;
  gdakit::LaunchShape launch_;
  std::uint64_t steps_ = 0;
  std::uint64_t tokens_ = 0;
  double seconds_ = 0;
  std::vector<std::uint64_t> loads_;  // messages of each local expert
  Result<void> correct_;
};

std::string place(Context& context, const Arguments& arguments) {
  const std::string backend = context.backend().name();
  const std::string nic = backend == "softnic" ? "soft NIC" : backend;
  const std::string machine = "CPU emulator of GPU threads, " + nic + ", ";
  if (context.n_pes() == 1) return machine + "one PE";
  return machine + std::to_string(context.n_pes()) + " PEs as " +
         (arguments.pes ? "threads of one process" : "processes");
}

void print_header(Context& context, const Arguments& arguments, std::size_t tokens) {
  std::printf("%s\n", place(context, arguments).c_str());
  std::printf("%zu tokens of %u values, the words of %s, in batches of %u to a PE\n", tokens,
              arguments.hidden, arguments.text.c_str(), arguments.batch);
  std::fflush(stdout);
}

// All shares of the words, step by step. A PE whose share has ended goes on without tokens: its
// experts serve the others.
Result<void> run_steps(PeRun& run, Share words, const Shape& shape, int pe) {
  const Share mine = share_of(words, pe, static_cast<int>(shape.pes));
  const auto first = static_cast<std::uint64_t>(mine.data() - words.data());
  const std::size_t longest_share = (words.size() + shape.pes - 1) / shape.pes;
  for (std::size_t at = 0; at < longest_share; at += shape.batch) {
    const std::size_t begin = std::min(at, mine.size());
    const std::size_t count = std::min<std::size_t>(shape.batch, mine.size() - begin);
    if (Result<void> ran = run.step(mine.subspan(begin, count), first + begin); !ran) return ran;
  }
  return {};
}

Result<void> report(Context& context, const PeRun& run, const Shape& shape, std::size_t tokens) {
  auto all = gdakit::allgather_value(context.bootstrap(), run.statistics());
  if (!all) return all.error();
  if (context.my_pe() == 0) print_table(*all, shape.experts);
  if (!run.correct()) return run.correct();
  for (std::size_t pe = 0; pe < all->size(); ++pe) {
    if ((*all)[pe].correct) continue;
    return gdakit::Error(gdakit::Code::aborted, "PE " + std::to_string(pe) + " got wrong outputs");
  }
  if (context.my_pe() == 0) {
    std::printf(
        "verified: %zu tokens, %u experts, top-k %u: every output equals the sequential "
        "reference\n",
        tokens, shape.experts, shape.top_k);
  }
  return {};
}

}  // namespace

Result<void> run_pe(Context& context, const Arguments& arguments, Share words) {
  Result<Shape> shape = make_shape(arguments, context.n_pes());
  if (!shape) return shape.error();
  if (context.my_pe() == 0) print_header(context, arguments, words.size());
  Result<Buffers> buffers = allocate_buffers(context, *shape);
  if (!buffers) return buffers.error();
  PeRun run(context, *buffers, arguments.launch);
  if (Result<void> ran = run_steps(run, words, *shape, context.my_pe()); !ran) return ran;
  return report(context, run, *shape, words.size());
}

}  // namespace moe
